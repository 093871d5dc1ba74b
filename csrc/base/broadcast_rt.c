#include "base/broadcast_rt.h"

#include <string.h>

enum { WORD = 8, NUMBER = 0, BYTES = 1, VALUE = 2 };  // words of a slot
enum { LINE = 8 };                                    // words of a cache line

static size_t words_of(size_t bytes) { return (bytes + WORD - 1) / WORD; }

static size_t stride_of(size_t words) { return (VALUE + words + LINE - 1) / LINE * LINE; }

size_t rf_broadcast_bytes_rt(size_t bytes) {
  return RF_BROADCAST_SLOTS * WORD * stride_of(words_of(bytes));
}

void rf_broadcast_begin_rt(rf_broadcast *b, size_t bytes, void *memory) {
  b->words = words_of(bytes);
  // touches the pages, so that the writer causes no page faults
  memset(memory, 0, rf_broadcast_bytes_rt(bytes));
  for (size_t k = 0; k < RF_BROADCAST_SLOTS; ++k)
    b->slot[k] = (_Atomic uint64_t *)memory + k * stride_of(b->words);
  atomic_init(&b->newest, 0);
}

void rf_broadcast_write_rt(rf_broadcast *b, const void *value, size_t bytes) {
  const uint64_t number = atomic_load_explicit(&b->newest, memory_order_relaxed) + 1;
  _Atomic uint64_t *slot = b->slot[number % RF_BROADCAST_SLOTS];
  if (bytes > WORD * b->words) bytes = WORD * b->words;
  atomic_store_explicit(slot + NUMBER, 0, memory_order_relaxed);
  atomic_store_explicit(slot + BYTES, (uint64_t)bytes, memory_order_release);
  for (size_t i = 0; i < words_of(bytes); ++i) {
    uint64_t word = 0;
    memcpy(&word, (const char *)value + WORD * i,
           bytes - WORD * i < WORD ? bytes - WORD * i : WORD);
    atomic_store_explicit(slot + VALUE + i, word, memory_order_release);
  }
  atomic_store_explicit(slot + NUMBER, number, memory_order_release);
  atomic_store_explicit(&b->newest, number, memory_order_release);
}

// Returns false if the slot held another value at the end.
static bool copy(const _Atomic uint64_t *slot, uint64_t number, size_t most, void *out,
                 size_t *bytes) {
  if (atomic_load_explicit(slot + NUMBER, memory_order_acquire) != number) return false;
  *bytes = (size_t)atomic_load_explicit(slot + BYTES, memory_order_acquire);
  for (size_t i = 0; i < words_of(*bytes) && i < most; ++i) {
    const uint64_t word = atomic_load_explicit(slot + VALUE + i, memory_order_acquire);
    memcpy((char *)out + WORD * i, &word, WORD);
  }
  return atomic_load_explicit(slot + NUMBER, memory_order_relaxed) == number;
}

uint64_t rf_broadcast_read_rt(const rf_broadcast *b, void *out, size_t *bytes) {
  for (int k = 0; k < RF_BROADCAST_TRIES; ++k) {
    const uint64_t number = atomic_load_explicit(&b->newest, memory_order_acquire);
    if (number == 0) return 0;
    if (copy(b->slot[number % RF_BROADCAST_SLOTS], number, b->words, out, bytes)) return number;
  }
  return RF_BROADCAST_LOST;
}
