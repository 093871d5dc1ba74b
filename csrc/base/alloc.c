#include "base/alloc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

static _Atomic int64_t live_blocks, live_bytes, peak_bytes, calls;
static _Atomic int64_t calls_until_failure = -1;

// each block is preceded by one aligned header that remembers its size
typedef struct header {
  size_t bytes;
} header;

static int may_proceed(void) {
  atomic_fetch_add(&calls, 1);
  int64_t left = atomic_load(&calls_until_failure);
  while (left > 0 && !atomic_compare_exchange_weak(&calls_until_failure, &left, left - 1)) {
  }
  return left != 0;
}

void rf_alloc_account(int64_t blocks, int64_t bytes, int64_t highest_bytes) {
  atomic_fetch_add(&live_blocks, blocks);
  const int64_t highest = atomic_fetch_add(&live_bytes, bytes) + highest_bytes;
  int64_t peak = atomic_load(&peak_bytes);
  while (highest > peak && !atomic_compare_exchange_weak(&peak_bytes, &peak, highest)) {
  }
}

void *rf_alloc(size_t count, size_t size) {
  if (size != 0 && count > (SIZE_MAX - 2 * ALIGNMENT) / size) return NULL;
  if (!may_proceed()) return NULL;

  const size_t bytes = count * size;
  const size_t padded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + ALIGNMENT;
  char *raw = aligned_alloc(ALIGNMENT, padded);
  if (!raw) return NULL;
  memset(raw, 0, padded);
  ((header *)raw)->bytes = bytes;

  rf_alloc_account(1, (int64_t)bytes, (int64_t)bytes);
  return raw + ALIGNMENT;
}

void rf_free(void *block) {
  if (!block) return;
  char *raw = (char *)block - ALIGNMENT;
  rf_alloc_account(-1, -(int64_t)((header *)raw)->bytes, 0);
  free(raw);
}

rf_alloc_counters rf_alloc_read_counters(void) {
  rf_alloc_counters c = {atomic_load(&live_blocks), atomic_load(&live_bytes),
                         atomic_load(&peak_bytes), atomic_load(&calls)};
  return c;
}

void rf_alloc_reset_peak(void) { atomic_store(&peak_bytes, atomic_load(&live_bytes)); }

void rf_alloc_fail_from(int64_t k) { atomic_store(&calls_until_failure, k); }
