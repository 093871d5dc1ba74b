// Depth limiter: bounds the penetration of the held object, whatever pulls it.
//
// No point of a rigid object travels farther in a motion (dx, dw) of its grasp point than
//     |dx| + reach |dw|,
// and no distance to a surface changes by more than its point travels.  From a pose of known depth
// d, motions with a travel of up to (D - d) / 2, D the largest depth, therefore lead to poses less
// than D deep, without a contact query.  In free space the clearance found by the contact search is
// added.
//
// With that bound alone a deep object could hardly move, nor leave.  So motions are trials: from a
// pose deeper than 3/4 D the object returns to the last one that was not.  From there the next
// trials lead straight to the manipulandum, first its pose, then its position only, then follow the
// coupling again, half as far; a successful trial doubles the next one.  When trials have become
// short, for example where contact itself leads deeper, the next one is long again, with the whole
// coupling, to follow a hand that leaves.  In a rigid scene, under any forces, levers and wedges,
// every pose is at most
//     3/4 D + 1/2 (1 - 3/4) D = 7/8 D
// deep, if the first one was not deeper than 3/4 D, with exact distances, all points evaluated and
// a sufficient reach.  Interpolated distances may change faster than
// points travel, by a factor sqrt(3) at the very most: 7/8 D is then 0.967 D.
//
// After a trial has reached the manipulandum the coupling takes over again, as contact must act
// there.
//
// An object that begins deeper than 3/4 D, by its first pose, a new D, or a shell that moved, makes
// trials of 1/8 D each.  They may lead 1/8 D deeper than the least deep pose since then, as points
// and grids make every way out uneven.  That limit only falls, except by the change of depth at a
// pose that was returned to, which other objects have caused.
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
