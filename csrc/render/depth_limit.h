// Depth limiter: bounds the penetration of the held object under any force.
//
// No point of a rigid object travels farther in a motion (dx, dw) of its grasp point than
//     |dx| + reach |dw|,
// and no distance to a surface changes by more than its point travels.  From a pose of known depth
// d, motions with a travel of up to (D - d) / 2, D the largest depth, therefore lead to poses less
// than D deep, without a contact query.  In free space the clearance found by the contact search is
// added.
//
// With that bound alone a deep object could hardly move or leave.  So motions are trials: from a
// pose deeper than 3/4 D the object returns to the last accepted pose.  From there the next trials
// lead straight to the manipulandum, first to its pose, then to its position only; the one after
// them follows the coupling again, with half the length.  A successful trial doubles the length of
// the next one.  When trials have become short, for example where contact itself leads deeper, the
// next one has the full length and the whole coupling, to follow a hand that leaves.
//
// In a rigid scene with exact distances, all points evaluated and a sufficient reach, every pose
// under any forces, levers and wedges is at most
//     3/4 D + 1/2 (1 - 3/4) D = 7/8 D
// deep, if the first one was at most 3/4 D deep.  Interpolated distances may change faster than
// points travel, by a factor of at most sqrt(3): 7/8 D is then 0.967 D.
//
// After a trial has reached the manipulandum, the coupling takes over again, so that contact acts
// there.
//
// An object that begins deeper than 3/4 D, by its first pose, a new D, or a shell that moved, makes
// trials of 1/8 D each.  They may lead 1/8 D deeper than the least deep pose since then, because
// points and grids make every way out uneven.  That limit only falls; if other objects have changed
// the depth at a pose that the object returned to, it shifts by that change.
#ifndef RF_RENDER_DEPTH_LIMIT_H
#define RF_RENDER_DEPTH_LIMIT_H

#include "render/dynamic_coupling.h"

typedef struct rf_depth_limit {
  bool begun, returned;  // a trial was made; the last one was taken back
  bool arrived;          // the last trial led straight to the manipulandum and reached it
  int32_t kind;          // kind of the next trial (depth_limit_rt.c)
  rf_pose safe;          // pose at which the last trial began
  double safe_depth_m;   // depth there
  double taken_m;        // largest accepted depth where the object began deeper than 3/4 D
  double trust_m;        // longest travel of the next trial
} rf_depth_limit;

// Limits the step that a coupling made from the pose `before` under `load`: shortens it, redirects
// it, or takes it back.  `velocity` of a dynamic coupling is adapted; NULL: static coupling.
void rf_depth_limit_rt(const rf_coupling_settings *set, const rf_pose *manipulandum,
                       const rf_pose *before, const rf_coupling_load *load, rf_depth_limit *limit,
                       rf_coupling_state *state, double *velocity, rf_coupling_report *report);

#endif
