// Lock-free exchange between two threads, by copy; neither thread ever waits.
//
// An exchange hands over the newest value: of three slots one belongs to the writer, one to the
// reader, and the third changes owners by one atomic swap.  A ring hands over all items in order; a
// full ring rejects new items, which the writer counts.  Each has exactly one writer and one
// reader.
#ifndef RF_BASE_EXCHANGE_RT_H
#define RF_BASE_EXCHANGE_RT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rf_exchange {
  size_t bytes;
  char *slot[3];             // owned by the creator of the exchange
  _Atomic uint32_t between;  // slot in transit, with a flag: newer than the reader's
  uint32_t back, front;      // slots of the writer and of the reader
} rf_exchange;

// Memory for three values, each rounded up to RF_EXCHANGE_LINE bytes.
enum { RF_EXCHANGE_LINE = 64 };
size_t rf_exchange_bytes_rt(size_t value_bytes);
void rf_exchange_begin_rt(rf_exchange *x, size_t value_bytes, void *memory);

void rf_exchange_write_rt(rf_exchange *x, const void *value);
// Copies the newest value; false when none came since the last read (`out` is then the last value
// again, zeros before the first).
bool rf_exchange_read_rt(rf_exchange *x, void *out);

typedef struct rf_ring {
  size_t bytes;                  // size of an item
  uint64_t capacity;             // items, a power of two
  char *items;                   // owned by the creator of the ring
  char apart[RF_EXCHANGE_LINE];  // keeps the two counts on separate cache lines
  _Atomic uint64_t written;
  char apart_too[RF_EXCHANGE_LINE];
  _Atomic uint64_t read;
  char apart_again[RF_EXCHANGE_LINE];
} rf_ring;

void rf_ring_begin_rt(rf_ring *r, size_t item_bytes, uint64_t capacity, void *memory);
// Appends an item; false when the ring is full (nothing is written).
bool rf_ring_write_rt(rf_ring *r, const void *item);
// Removes at most `most` items; returns their number.
uint64_t rf_ring_read_rt(rf_ring *r, uint64_t most, void *out);

#endif
