// Snapshot of a session's state after a cycle, which describes itself.
//
// A snapshot is a block of bytes: the record of the cycle, then of each body its pose, its load and
// its reduced coordinates, then touching points.  The ground, which has no shell, is left out.  Its
// layout is a list of named fields, made once for a session, so that readers need none of these
// structs.  Points are copied only while a reader asks for them.  Each pair has an equal part of
// the room; of more points blocks of neighbours are chosen evenly.
#ifndef RF_HAPTIC_SNAPSHOT_H
#define RF_HAPTIC_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "haptic/tick.h"

enum { RF_SNAPSHOT_NAME = 48, RF_SNAPSHOT_POINTS = 256 };

// Part of a snapshot: `count` values of a NumPy format, `stride` bytes apart.
typedef struct rf_snapshot_field {
  char name[RF_SNAPSHOT_NAME];    // "record.force", "shell 0.q", "touch.anchor", "points.force"
  char format[RF_SNAPSHOT_NAME];  // "<f8", "(3,)<f8"
  size_t offset, stride;          // bytes
  int32_t count;                  // capacity of the points, else 1
} rf_snapshot_field;

typedef struct rf_snapshot_layout {
  int32_t n;
  rf_snapshot_field *field;  // owned                                       (n)
  size_t bytes;              // of the largest snapshot
  size_t n_points_at;        // number of points: int64, then the points
} rf_snapshot_layout;

// Fields of a record, which is the beginning of every snapshot.
const rf_snapshot_field *rf_snapshot_record(int32_t *n);

RF_MUST_CHECK rf_status rf_snapshot_layout_create(const rf_tick *tick, rf_snapshot_layout *out,
                                                  rf_error *err);
void rf_snapshot_layout_free(rf_snapshot_layout *layout);  // its content; zero is fine

// Writes a snapshot of at most layout->bytes bytes; returns how many.
size_t rf_snapshot_take_rt(const rf_snapshot_layout *layout, const rf_tick *tick,
                           const rf_tick_record *record, bool with_points, char *out);

#endif
