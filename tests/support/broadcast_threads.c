// A thread writes to a broadcast, which three others read, and to a ring, which the main thread
// reads; prints what went wrong, or nothing.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/broadcast_rt.h"
#include "base/ring_rt.h"

enum { VALUES = 40000, WORDS = 40, CAPACITY = 64, READERS = 3 };

static rf_broadcast broadcast;
static rf_ring ring;

// The first word determines the others and their number.
static uint64_t words_of(uint64_t k) { return 1 + k % WORDS; }

static void fill(uint64_t *value, uint64_t k) {
  for (uint64_t i = 0; i < WORDS; ++i) value[i] = k * (i + 1);
}

static int torn(const uint64_t *value, uint64_t words) {
  for (uint64_t i = 0; i < words; ++i)
    if (value[i] != value[0] * (i + 1)) return 1;
  return 0;
}

static void *write_all(void *unused) {
  uint64_t value[WORDS];
  for (uint64_t k = 1; k <= VALUES; ++k) {
    fill(value, k);
    rf_broadcast_write_rt(&broadcast, value, words_of(k) * sizeof *value);
    while (!rf_ring_write_rt(&ring, value)) {
    }
  }
  return unused;
}

// Reads until the last value, which a reader must see; returns what went wrong, or NULL.
static void *read_newest(void *pause) {
  uint64_t value[WORDS], last = 0;
  size_t bytes = 0;
  while (last < VALUES) {
    const uint64_t number = rf_broadcast_read_rt(&broadcast, value, &bytes);
    if (number == 0 || number == RF_BROADCAST_LOST) continue;
    if (number < last) return "an older value after a newer one";
    if (value[0] != number) return "a value of another number";
    if (bytes != words_of(number) * sizeof *value) return "a value of another size";
    if (torn(value, bytes / sizeof *value)) return "a torn value";
    last = number;
    for (volatile int k = 0; k < *(int *)pause; ++k) {
    }
  }
  return NULL;
}

int main(void) {
  static int pause[READERS] = {0, 100, 10000};
  uint64_t value[WORDS], items[7 * WORDS], next = 1;
  size_t bytes = 7;
  void *slots = aligned_alloc(64, rf_broadcast_bytes_rt(sizeof value));
  void *memory = aligned_alloc(64, CAPACITY * sizeof value);
  pthread_t writer, reader[READERS];
  rf_broadcast_begin_rt(&broadcast, sizeof value, slots);
  rf_ring_begin_rt(&ring, sizeof value, CAPACITY, memory);
  if (rf_broadcast_read_rt(&broadcast, value, &bytes) != 0) return puts("a value at first"), 1;
  for (int k = 0; k < READERS; ++k)
    if (pthread_create(&reader[k], NULL, read_newest, &pause[k])) return 2;
  if (pthread_create(&writer, NULL, write_all, NULL)) return 2;
  while (next <= VALUES) {
    const uint64_t n = rf_ring_read_rt(&ring, 7, items);
    for (uint64_t k = 0; k < n; ++k, ++next) {
      if (torn(items + k * WORDS, WORDS)) return puts("a torn item"), 1;
      if (items[k * WORDS] != next) return puts("an item is missing"), 1;
    }
  }
  pthread_join(writer, NULL);
  for (int k = 0; k < READERS; ++k) {
    void *wrong;
    pthread_join(reader[k], &wrong);
    if (wrong) return puts(wrong), 1;
  }
  // more bytes than there is room for
  rf_broadcast_write_rt(&broadcast, items, sizeof items);
  if (rf_broadcast_read_rt(&broadcast, value, &bytes) != VALUES + 1 || bytes != sizeof value)
    return puts("more than the largest value"), 1;
  // as by a writer that is always filling the newest slot
  atomic_store(broadcast.slot[(VALUES + 1) % RF_BROADCAST_SLOTS], 0);
  if (rf_broadcast_read_rt(&broadcast, value, &bytes) != RF_BROADCAST_LOST)
    return puts("a copy that was lost"), 1;
  free(slots);
  free(memory);
  return 0;
}
