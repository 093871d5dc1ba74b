// Two threads hammer an exchange and a ring; says what went wrong, or nothing.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/exchange_rt.h"

enum { VALUES = 40000, WORDS = 40, CAPACITY = 64 };

static rf_exchange exchange;
static rf_ring ring;

static void fill(uint64_t *value, uint64_t k) {
  for (int i = 0; i < WORDS; ++i) value[i] = k * (uint64_t)(i + 1);
}

static void *write_all(void *unused) {
  uint64_t value[WORDS];
  for (uint64_t k = 1; k <= VALUES; ++k) {
    fill(value, k);
    rf_exchange_write_rt(&exchange, value);
    while (!rf_ring_write_rt(&ring, value)) {
    }
  }
  return unused;
}

static int torn(const uint64_t *value) {
  uint64_t whole[WORDS];
  fill(whole, value[0]);
  for (int i = 0; i < WORDS; ++i)
    if (value[i] != whole[i]) return 1;
  return 0;
}

int main(void) {
  uint64_t value[WORDS], items[7 * WORDS], last = 0, next = 1;
  void *slots = aligned_alloc(64, rf_exchange_bytes_rt(sizeof value));
  void *memory = aligned_alloc(64, CAPACITY * sizeof value);
  pthread_t writer;
  rf_exchange_begin_rt(&exchange, sizeof value, slots);
  rf_ring_begin_rt(&ring, sizeof value, CAPACITY, memory);
  if (rf_exchange_read_rt(&exchange, value) || value[0] != 0) return puts("fresh at first"), 1;
  if (pthread_create(&writer, NULL, write_all, NULL)) return 2;
  while (next <= VALUES) {
    const bool fresh = rf_exchange_read_rt(&exchange, value);
    if (torn(value)) return puts("a torn value"), 1;
    if (value[0] < last || (fresh && value[0] == last)) return puts("an old value is new"), 1;
    if (!fresh && value[0] != last) return puts("a new value is old"), 1;
    last = value[0];
    const uint64_t n = rf_ring_read_rt(&ring, 7, items);
    for (uint64_t k = 0; k < n; ++k, ++next) {
      if (torn(items + k * WORDS)) return puts("a torn item"), 1;
      if (items[k * WORDS] != next) return puts("an item is missing, or twice there"), 1;
    }
  }
  pthread_join(writer, NULL);
  (void)rf_exchange_read_rt(&exchange, value);
  if (value[0] != VALUES) return puts("the last value is not the newest"), 1;
  free(slots);
  free(memory);
  return 0;
}
