// Records of cycles with the state of the bodies, from which views and replays show them.
//
// A record is a block of bytes: an rf_tick_record, then of the free bodies all positions and all
// rotations of their frames in the world, doubles (3) and (4) each, then the reduced coordinates of
// all bodies with a simulation, floats.  Bodies are in the order of snapshots: by contact, then the
// held object.  Of a touched body it has anchor and slip (render/touch.h), three doubles each,
// instead.  Of shells with a local compliance follow the forces that bend them: of n_sites places,
// contacts and points of their shells, int32, -1 where there is no force, and forces on the shells
// in their frames, floats (3).  Of sessions without all that it is the rf_tick_record alone.
#ifndef RF_HAPTIC_RECORD_H
#define RF_HAPTIC_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "haptic/tick.h"
#include "world/world.h"

typedef struct rf_record_layout {
  int32_t n_free, n_deforming;                          // bodies
  int32_t n_coordinates;                                // of all deforming bodies
  const rf_body *free[RF_TICK_MOST_CONTACTS];           // borrowed                 (n_free)
  const rf_body *deforming[RF_TICK_MOST_CONTACTS + 1];  // borrowed                 (n_deforming)
  const rf_touch_felt *felt;                            // borrowed; NULL: no touched body
  int32_t n_touched;                                    // 0 or 1
  const rf_world *world;                                // borrowed
  int32_t n_sites;                                      // of shells with a local compliance
  size_t positions_at, quaternions_at, touched_at, coordinates_at;  // bytes before them
  size_t contacts_at, points_at, forces_at;                         // likewise, of sites
  size_t bytes;                                                     // of a record
} rf_record_layout;

// Returns the layout of a session's records; borrows the bodies of the tick.
rf_record_layout rf_record_layout_of(const rf_tick *tick);
// Sets the places in records of n_free and n_touched bodies, n_coordinates coordinates and n_sites
// sites.
void rf_record_layout_place(rf_record_layout *layout);

// Writes a record of layout->bytes bytes, aligned as doubles.
void rf_record_take_rt(const rf_record_layout *layout, const rf_tick_record *record, char *out);

#endif
