// Accelerations that make the velocity of a node zero at the end of the step in which it is inside
// and came nearer: a' = -2 v / h - a (Z00 3.2).  As v + h/2 a changes its sign, the node is
// reflected, and the solid gains a little energy, the less the smaller its elements.
//
// A node that the step would slow more without the rule is pulled: the rule is that of the thesis,
// which has no force of one sign.
//
// The rule knows no places: damping takes some of a velocity between two reflections, and a body at
// rest sinks by so much in each.  With damping, reflected nodes therefore recover a part of the
// depth that they had at the beginning of the step: a node that hits had little.
#include <math.h>

#include "dynamics/collide.h"
#include "linalg/vec3.h"

static const double ROUNDING = 1e-13;  // of the velocity: a node that was stopped does not approach

static bool require_rt(const rf_collide_point *p, double change[3]) {
  const double h = p->step_s, size = rf_vec3_length(p->before) + h * rf_vec3_length(p->started);
  if (!(rf_vec3_dot(p->before, p->normal) < -ROUNDING * size)) return false;
  // w' = -w, and the recovery
  const double was = fmax(0.0, p->depth_m + h * rf_vec3_dot(p->halfway, p->normal));
  const double more = p->recovery * was / (h * h);
  for (int k = 0; k < 3; ++k)
    change[k] = -2.0 * p->before[k] / h - p->started[k] - p->free[k] + more * p->normal[k];
  return true;
}

const rf_collide_rule rf_collide_mirror = {
    .name = "mirror", .ahead = false, .sinks = true, .require_rt = require_rt};
