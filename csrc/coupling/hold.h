// Keeps the object that is held from getting deeper than is allowed, whatever pulls it.
//
// No point of a rigid object travels farther in a motion (dx, dw) of its grasp point than
//     |dx| + reach |dw|,
// and no distance to a surface changes by more than its point travels.  From a pose whose contact
// is known to be d deep, motions with a travel of up to (D - d) / 2, D the largest depth, so lead
// to poses that are less than D deep, without looking.  In free space the clearance that the
// contact search has found comes on top.
//
// Half of what is left, cycle by cycle, would let an object that is deep hardly move, nor out
// again. So it is a trial: a pose that is deeper than 3/4 D is left for the last one that was not.
// From there the next trials are straight to the manipulandum, all of it, and its place only, then
// the step of the coupling again, half as far; a trial that succeeds makes the next one twice as
// far. Where they have become short, as where contact itself leads deeper, the next one is far
// again, with the whole coupling, so that a hand that leaves is followed.  In a rigid scene then,
// whatever forces, levers and wedges there are, every pose is at most
//     3/4 D + 1/2 (1 - 3/4) D = 7/8 D
// deep, if the first one was not deeper than 3/4 D: with exact distances, with all points looked
// at, and with a reach that is none too short.  Interpolated distances may change faster than
// points travel, by a factor sqrt(3) at the very most: 7/8 D is then 0.967 D.
//
// Where one that leads straight to the manipulandum has arrived, the coupling takes over again,
// else contact would not act there.
//
// What begins deeper than 3/4 D, because of its first pose, of a new D, or of a shell that has
// moved by itself, makes trials of 1/8 D each. They may lead 1/8 D deeper than the least deep pose
// since then: points and grids make every way out uneven.  That limit only falls, but by as much as
// depth changes at a pose that was returned to, which is what others have done.
#ifndef RF_COUPLING_HOLD_H
#define RF_COUPLING_HOLD_H

#include "coupling/dynamic_coupling.h"

typedef struct rf_hold {
  bool begun, returned;
  bool arrived;         // the last trial led straight to the manipulandum, all the way
  int32_t kind;         // of the next trial
  rf_pose safe;         // where the last trial began
  double safe_depth_m;  // there
  double taken_m;       // up to where a pose is taken, if that is more than the part of D
  double trust_m;       // how long the next trial may be
} rf_hold;

// After a step of a coupling from the pose `before` under `load`: cuts its motion, or takes it
// back. `velocity` of a dynamic coupling follows; NULL: static.
void rf_hold_rt(const rf_coupling_settings *set, const rf_pose *manipulandum, const rf_pose *before,
                const rf_coupling_load *load, rf_hold *hold, rf_coupling_state *state,
                double *velocity, rf_coupling_report *report);

#endif
