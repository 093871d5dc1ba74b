// Sphere.  a: centre.
#ifndef RF_SDF_SHAPE_SPHERE_H
#define RF_SDF_SHAPE_SPHERE_H

#include <math.h>

#include "linalg/vec3.h"
#include "sdf/shape.h"

// Computes an outward direction at a point on an axis or at a centre: any vector perpendicular to
// `axis`.
static inline void rf_field_some_normal(const double *axis, double *out) {
  int least = 0;
  for (int c = 1; c < 3; ++c)
    if (fabs(axis[c]) < fabs(axis[least])) least = c;
  double unit[3] = {0.0, 0.0, 0.0};
  unit[least] = 1.0;
  rf_vec3_cross(axis, unit, out);
  const double length = rf_vec3_length(out);
  for (int c = 0; c < 3; ++c) out[c] = length > 0.0 ? out[c] / length : unit[c];
}

// Returns the distance from a ball; axis: its normal at the centre is perpendicular to this.
static inline double rf_field_ball_value(const double *p, const double *centre, const double *axis,
                                         double radius, double *gradient) {
  double offset[3];
  rf_vec3_sub(p, centre, offset);
  const double length = rf_vec3_length(offset);
  if (gradient && length == 0.0) rf_field_some_normal(axis, gradient);
  for (int c = 0; c < 3 && gradient && length != 0.0; ++c) gradient[c] = offset[c] / length;
  return length - radius;
}

static inline double rf_field_sphere_value(const rf_field_part *s, const double *p,
                                           double *gradient) {
  static const double up[3] = {0.0, 0.0, 0.0};
  return rf_field_ball_value(p, s->a, up, s->radius, gradient);
}

static inline rf_status rf_field_sphere_check(const rf_field_part *s, rf_error *err) {
  if (isfinite(s->radius) && s->radius > 0.0 && s->radius < 1e150) return RF_OK;
  return rf_fail(err, RF_ERR_ARG, "radius must be finite and positive, got %g", s->radius);
}

static inline void rf_field_sphere_bounds(const rf_field_part *s, double low[3], double high[3]) {
  for (int c = 0; c < 3; ++c) low[c] = s->a[c] - s->radius, high[c] = s->a[c] + s->radius;
}

static inline double rf_field_sphere_depth(const rf_field_part *s) { return s->radius; }

static inline bool rf_field_sphere_is_flat(void) { return false; }

#endif
