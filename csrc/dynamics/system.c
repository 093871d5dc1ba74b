#include "dynamics/system.h"

#include <math.h>

#include "linalg/vec3.h"
#include "mesh/mesh.h"

rf_status rf_system_damping_check(const rf_system_damping *damping, rf_error *err) {
  if (isfinite(damping->mass) && damping->mass >= 0.0 && isfinite(damping->stiffness) &&
      damping->stiffness >= 0.0)
    return RF_OK;
  return rf_fail(err, RF_ERR_ARG, "damping must be two finite numbers >= 0, got (%g, %g)",
                 damping->mass, damping->stiffness);
}

void rf_system_free(rf_system *s) {
  if (s) s->life->release(s);
}

double rf_system_largest_stretch(const rf_mesh *mesh, const double *displacement) {
  const int nodes = (int)mesh->type;
  double largest = 0.0;  // squared: one root instead of one for each pair of nodes
  for (int64_t e = 0; e < mesh->n_elements; ++e) {
    const int32_t *node = mesh->elements + nodes * e;
    for (int a = 1; a < nodes; ++a) {
      double apart[3];
      rf_vec3_sub(displacement + 3 * (int64_t)node[a], displacement + 3 * (int64_t)node[0], apart);
      const double square = rf_vec3_dot(apart, apart);
      if (square > largest) largest = square;
    }
  }
  return sqrt(largest);
}
