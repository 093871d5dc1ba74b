// Lock-free queue between two threads, by copy; neither thread ever waits.
//
// A ring hands over all items in order; a full ring rejects new items, which the writer counts.  It
// has exactly one writer and one reader.
#ifndef RF_BASE_RING_RT_H
#define RF_BASE_RING_RT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RF_RING_LINE = 64 };  // bytes of a cache line

typedef struct rf_ring {
  size_t bytes;              // size of an item
  uint64_t capacity;         // items, a power of two
  char *items;               // owned by the creator of the ring
  char apart[RF_RING_LINE];  // keeps the two counts on separate cache lines
  _Atomic uint64_t written;
  char apart_too[RF_RING_LINE];
  _Atomic uint64_t read;
  char apart_again[RF_RING_LINE];
} rf_ring;

void rf_ring_begin_rt(rf_ring *r, size_t item_bytes, uint64_t capacity, void *memory);
// Appends an item; false when the ring is full (nothing is written).
bool rf_ring_write_rt(rf_ring *r, const void *item);
// Removes at most `most` items; returns their number.
uint64_t rf_ring_read_rt(rf_ring *r, uint64_t most, void *out);

#endif
