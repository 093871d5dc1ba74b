// Locks of the process, for state that several threads share without an owning object.
//
// A fork waits until they are free, so both sides get them free: the child has no thread that could
// release a lock held by another thread of its parent.
#ifndef RF_LINALG_PROCESS_LOCK_H
#define RF_LINALG_PROCESS_LOCK_H

typedef enum rf_process_lock {
  RF_LOCK_ANALYSIS,      // rand() of the C library, while an ordering is found
  RF_LOCK_BLAS_THREADS,  // thread count of the BLAS
  RF_LOCK_COUNT
} rf_process_lock;

// Never take one while holding another.
void rf_process_lock_take(rf_process_lock lock);
void rf_process_lock_give(rf_process_lock lock);

#endif
