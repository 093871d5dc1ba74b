// Lock-free exchange between two threads, by copy: neither ever waits.
//
// An exchange hands over the newest of some values of one size: three slots, of which one belongs
// to the writer, one to the reader, and the third changes owners by one atomic swap.  A ring hands
// over all of them in order; a full ring refuses new ones, which the writer counts.  Exactly one
// writer and one reader each.
#ifndef RF_BASE_EXCHANGE_RT_H
#define RF_BASE_EXCHANGE_RT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rf_exchange {
  size_t bytes;
  char *slot[3];             // owned by whoever made the exchange
  _Atomic uint32_t between;  // the slot between the two, and whether it is newer than the reader's
  uint32_t back, front;      // the writer's and the reader's
} rf_exchange;

// `memory` for three values, each rounded up to RF_EXCHANGE_LINE.
enum { RF_EXCHANGE_LINE = 64 };
size_t rf_exchange_bytes_rt(size_t value_bytes);
void rf_exchange_begin_rt(rf_exchange *x, size_t value_bytes, void *memory);

void rf_exchange_write_rt(rf_exchange *x, const void *value);
// The newest value; false when none came since the last time (`out` then gets the last one again,
// zeros before the first).
bool rf_exchange_read_rt(rf_exchange *x, void *out);

typedef struct rf_ring {
  size_t bytes;                  // of an item
  uint64_t capacity;             // items, a power of two
  char *items;                   // owned by whoever made the ring
  char apart[RF_EXCHANGE_LINE];  // the two counts are on lines of their own
  _Atomic uint64_t written;
  char apart_too[RF_EXCHANGE_LINE];
  _Atomic uint64_t read;
  char apart_again[RF_EXCHANGE_LINE];
} rf_ring;

void rf_ring_begin_rt(rf_ring *r, size_t item_bytes, uint64_t capacity, void *memory);
// false: no room, nothing was written
bool rf_ring_write_rt(rf_ring *r, const void *item);
// up to `most` items; how many there were
uint64_t rf_ring_read_rt(rf_ring *r, uint64_t most, void *out);

#endif
