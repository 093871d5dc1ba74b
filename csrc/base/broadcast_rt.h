// Newest value of one writer for any number of readers, by copy.
//
// The writer never waits and does not know its readers.  Of four slots it fills the one after the
// newest; a slot carries the number of its value, and 0 while it is filled.  A reader copies the
// newest slot and discards the copy if the number has changed meanwhile: the writer has then gone
// round all slots, and the reader tries again.
//
// All words are atomic.  Those of a value are stored with release and loaded with acquire order, so
// that a reader of a word of a later value also sees that the number has changed.
#ifndef RF_BASE_BROADCAST_RT_H
#define RF_BASE_BROADCAST_RT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RF_BROADCAST_SLOTS = 4, RF_BROADCAST_TRIES = 1000 };

typedef struct rf_broadcast {
  size_t words;                                // of the largest value, 8 bytes each
  _Atomic uint64_t *slot[RF_BROADCAST_SLOTS];  // number, bytes, words of the value; owned by the
                                               // creator of the broadcast
  _Atomic uint64_t newest;                     // number of the last value, from 1 on; 0: none
} rf_broadcast;

// Memory for values of at most `bytes` bytes.
size_t rf_broadcast_bytes_rt(size_t bytes);
void rf_broadcast_begin_rt(rf_broadcast *b, size_t bytes, void *memory);

// Publishes a value of at most the bytes of rf_broadcast_begin_rt; what is beyond is left out.
void rf_broadcast_write_rt(rf_broadcast *b, const void *value, size_t bytes);
// Copies the newest value; returns its number.  0: there is none yet.  RF_BROADCAST_LOST: the
// writer was faster in RF_BROADCAST_TRIES tries; `out` is undefined.  out: room for the largest
// value, rounded up to 8 bytes.
#define RF_BROADCAST_LOST UINT64_MAX
uint64_t rf_broadcast_read_rt(const rf_broadcast *b, void *out, size_t *bytes);

#endif
