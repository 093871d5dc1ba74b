// Half-space behind a plane.  a: a point, b: unit normal, outwards.
#ifndef RF_SDF_SHAPE_PLANE_H
#define RF_SDF_SHAPE_PLANE_H

#include <math.h>

#include "linalg/vec3.h"
#include "sdf/shape.h"

static inline double rf_field_plane_value(const rf_field_part *s, const double *p,
                                          double *gradient) {
  double offset[3];
  rf_vec3_sub(p, s->a, offset);
  for (int c = 0; c < 3 && gradient; ++c) gradient[c] = s->b[c];
  return rf_vec3_dot(offset, s->b);
}

static inline rf_status rf_field_plane_check(const rf_field_part *s, rf_error *err) {
  const double length = rf_vec3_length(s->b);
  if (fabs(length - 1.0) <= 1e-6) return RF_OK;
  return rf_fail(err, RF_ERR_ARG, "normal must be a unit vector, its length is %g", length);
}

static inline void rf_field_plane_bounds(const rf_field_part *s, double low[3], double high[3]) {
  (void)s, (void)low, (void)high;  // unbounded
}

static inline double rf_field_plane_depth(const rf_field_part *s) {
  (void)s;
  return INFINITY;
}

static inline bool rf_field_plane_is_flat(void) { return true; }

#endif
