#include "base/exchange_rt.h"

#include <string.h>

enum { NEWER = 4, SLOT = 3 };

static size_t rounded(size_t bytes) {
  return (bytes + RF_EXCHANGE_LINE - 1) / RF_EXCHANGE_LINE * RF_EXCHANGE_LINE;
}

size_t rf_exchange_bytes_rt(size_t value_bytes) { return 3 * rounded(value_bytes); }

void rf_exchange_begin_rt(rf_exchange *x, size_t value_bytes, void *memory) {
  x->bytes = value_bytes;
  memset(memory, 0, rf_exchange_bytes_rt(value_bytes));
  for (size_t k = 0; k < 3; ++k) x->slot[k] = (char *)memory + k * rounded(value_bytes);
  x->back = 0;
  x->front = 2;
  atomic_init(&x->between, 1);
}

void rf_exchange_write_rt(rf_exchange *x, const void *value) {
  memcpy(x->slot[x->back], value, x->bytes);
  // release: the reader that sees the slot sees its content; acquire: the reader has left the slot
  x->back = atomic_exchange_explicit(&x->between, x->back | NEWER, memory_order_acq_rel) & SLOT;
}

bool rf_exchange_read_rt(rf_exchange *x, void *out) {
  const bool newer = (atomic_load_explicit(&x->between, memory_order_relaxed) & NEWER) != 0;
  if (newer)
    x->front = atomic_exchange_explicit(&x->between, x->front, memory_order_acq_rel) & SLOT;
  memcpy(out, x->slot[x->front], x->bytes);
  return newer;
}

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
