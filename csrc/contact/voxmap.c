#include "contact/voxmap.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "linalg/vec3.h"

rf_status rf_contact_voxmap_create(const rf_voxmap *voxmap, int32_t n, const double *points,
                                   const double *normals, double stiffness, rf_contact_voxmap **out,
                                   rf_error *err) {
  rf_status st = RF_OK;
  rf_contact_voxmap *c = NULL;
  *out = NULL;
  if (!(n >= 1)) return rf_fail(err, RF_ERR_ARG, "a shell needs 1 point or more, got %d", (int)n);
  if (!(isfinite(stiffness) && stiffness > 0.0))
    return rf_fail(err, RF_ERR_ARG, "stiffness must be positive and finite, got %g", stiffness);
  for (int32_t i = 0; i < n; ++i) {
    const double *x = points + 3 * (size_t)i, *normal = normals + 3 * (size_t)i;
    const double square = rf_vec3_dot(normal, normal);
    if (!(fabs(square - 1.0) < 1e-5))
      return rf_fail(err, RF_ERR_ARG, "normals[%d] is (%g, %g, %g); it must be a unit vector",
                     (int)i, normal[0], normal[1], normal[2]);
    if (!(isfinite(x[0]) && isfinite(x[1]) && isfinite(x[2])))
      return rf_fail(err, RF_ERR_ARG, "points[%d] must be finite", (int)i);
  }
  RF_ALLOC(c, 1);
  c->voxmap = voxmap;
  c->n_points = n;
  c->stiffness = stiffness;
  RF_ALLOC(c->points, 3 * (size_t)n);
  RF_ALLOC(c->normals, 3 * (size_t)n);
  memcpy(c->points, points, 3 * (size_t)n * sizeof *points);
  memcpy(c->normals, normals, 3 * (size_t)n * sizeof *normals);
  *out = c;
  c = NULL;
done:
  rf_contact_voxmap_free(c);
  return st;
}

void rf_contact_voxmap_free(rf_contact_voxmap *c) {
  if (!c) return;
  rf_free(c->points);
  rf_free(c->normals);
  rf_free(c);
}
