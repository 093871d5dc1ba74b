// The locks of the process, for what several threads share although no object owns it.
//
// A fork waits until they are free and hands them over free to both sides: the child has
// no thread that could give back what another thread of its parent held.
#ifndef RF_LINALG_PROCESS_LOCK_H
#define RF_LINALG_PROCESS_LOCK_H

typedef enum rf_process_lock {
  RF_LOCK_ANALYSIS,      // rand() of the C library, while an ordering is found
  RF_LOCK_BLAS_THREADS,  // thread count of the BLAS
  RF_LOCK_COUNT
} rf_process_lock;

// Never one while another one is held.
void rf_process_lock_take(rf_process_lock lock);
void rf_process_lock_give(rf_process_lock lock);

#endif
