// Accelerations that bring the node onto the surface a step later, and keep it from sliding there:
//   x'' = x' + h w + h^2 a'   on the surface,   w + h a' along it zero
// (Carpenter, Taylor and Katona 1991).  The node loses the energy of its approach.
//
// A node already inside goes outwards no faster than it entered, or by a part of its depth:
// a body that is put into the solid does not throw it off.
#include <math.h>

#include "dynamics/collide.h"
#include "linalg/vec3.h"

static bool require_rt(const rf_collide_point *p, double change[3]) {
  const double h = p->step_s, entered = h * fabs(rf_vec3_dot(p->halfway, p->normal));
  const double most = fmax(entered, p->recovery * p->depth_m);
  const double outwards = (fmin(0.0, most - p->depth_m) - p->distance_m) / (h * h);
  double sliding[3];
  for (int k = 0; k < 3; ++k) sliding[k] = p->halfway[k] / h + p->free[k];
  const double along = rf_vec3_dot(sliding, p->normal);
  for (int k = 0; k < 3; ++k)
    change[k] = outwards * p->normal[k] - (sliding[k] - along * p->normal[k]);
  return outwards > 0.0;
}

const rf_collide_rule rf_collide_surface = {
    .name = "surface", .ahead = true, .require_rt = require_rt};
