// Heap allocation of the offline code; nothing else calls malloc.
//
// Blocks are zeroed, aligned to 64 bytes (a cache line, and the widest vector) and counted.  Those
// of 64 MB and more are zero but untouched: real-time code must not be the first to touch them.
// The counters and the fault injection serve the allocation sweep in
// tests/house/test_alloc_failures.py: call k fails, the library must report RF_ERR_MEMORY, and the
// number of live blocks must return to its previous value.  They are shared by threads, hence
// atomic.  (Other process-wide state that the library touches: the thread count of the BLAS, see
// linalg/blas.h, and the locks of linalg/process_lock.h.)
#ifndef RF_BASE_ALLOC_H
#define RF_BASE_ALLOC_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

// Returns count * size zeroed bytes; NULL when memory is exhausted or the product overflows.  A
// product of 0 yields a valid block.
void *rf_alloc(size_t count, size_t size);

// Frees a block; NULL is allowed.
void rf_free(void *block);

typedef struct rf_alloc_counters {
  int64_t live_blocks;
  int64_t live_bytes;
  int64_t peak_bytes;
  int64_t calls;
} rf_alloc_counters;

rf_alloc_counters rf_alloc_read_counters(void);

// Counts memory that a third-party library allocates itself: change of its blocks and bytes, and
// the highest level in between relative to the level before.
void rf_alloc_account(int64_t blocks, int64_t bytes, int64_t highest_bytes);

// Sets the peak to the present level.
void rf_alloc_reset_peak(void);

// Makes the k-th call from now (k = 0: the next one) and all later calls fail; a negative k
// switches this off.
void rf_alloc_fail_from(int64_t k);

// Allocates `*pointer` or leaves through `done:` with the status set.  Both
// names must exist in the caller; see any .c file of this library.
#define RF_ALLOC(pointer, count)                                                                   \
  do {                                                                                             \
    (pointer) = rf_alloc((size_t)(count), sizeof *(pointer));                                      \
    if (!(pointer)) {                                                                              \
      st = rf_fail(err, RF_ERR_MEMORY, "out of memory: %s needs %zu items of %zu bytes", #pointer, \
                   (size_t)(count), sizeof *(pointer));                                            \
      goto done;                                                                                   \
    }                                                                                              \
  } while (0)

// Leaves through `done:` when a call fails.
#define RF_TRY(call)       \
  do {                     \
    st = (call);           \
    if (st < 0) goto done; \
  } while (0)

#endif
