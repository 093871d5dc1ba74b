#include "base/ring_rt.h"

#include <string.h>

void rf_ring_begin_rt(rf_ring *r, size_t item_bytes, uint64_t capacity, void *memory) {
  r->bytes = item_bytes;
  r->capacity = capacity;
  r->items = memory;
  // touches the pages, so that the writer causes no page faults
  memset(memory, 0, (size_t)capacity * item_bytes);
  atomic_init(&r->written, 0);
  atomic_init(&r->read, 0);
}

bool rf_ring_write_rt(rf_ring *r, const void *item) {
  const uint64_t at = atomic_load_explicit(&r->written, memory_order_relaxed);
  if (at - atomic_load_explicit(&r->read, memory_order_acquire) >= r->capacity) return false;
  memcpy(r->items + (at & (r->capacity - 1)) * r->bytes, item, r->bytes);
  atomic_store_explicit(&r->written, at + 1, memory_order_release);
  return true;
}

uint64_t rf_ring_read_rt(rf_ring *r, uint64_t most, void *out) {
  const uint64_t at = atomic_load_explicit(&r->read, memory_order_relaxed);
  const uint64_t there = atomic_load_explicit(&r->written, memory_order_acquire) - at;
  const uint64_t n = there < most ? there : most;
  for (uint64_t k = 0; k < n; ++k)
    memcpy((char *)out + k * r->bytes, r->items + ((at + k) & (r->capacity - 1)) * r->bytes,
           r->bytes);
  atomic_store_explicit(&r->read, at + n, memory_order_release);
  return n;
}
