// Capsule, the region within a radius of a line segment.  a, b: ends of the segment.
#ifndef RF_SDF_SHAPE_CAPSULE_H
#define RF_SDF_SHAPE_CAPSULE_H

#include "sdf/shape_sphere.h"

static inline double rf_field_capsule_value(const rf_field_part *s, const double *p,
                                            double *gradient) {
  double axis[3], offset[3], foot[3];
  rf_vec3_sub(s->b, s->a, axis);
  rf_vec3_sub(p, s->a, offset);
  const double square = rf_vec3_dot(axis, axis);
  double t = square > 0.0 ? rf_vec3_dot(offset, axis) / square : 0.0;
  t = t > 0.0 ? (t < 1.0 ? t : 1.0) : 0.0;
  for (int c = 0; c < 3; ++c) foot[c] = s->a[c] + t * axis[c];
  return rf_field_ball_value(p, foot, axis, s->radius, gradient);
}

static inline rf_status rf_field_capsule_check(const rf_field_part *s, rf_error *err) {
  return rf_field_sphere_check(s, err);
}

static inline void rf_field_capsule_bounds(const rf_field_part *s, double low[3], double high[3]) {
  for (int c = 0; c < 3; ++c) {
    low[c] = fmin(s->a[c], s->b[c]) - s->radius;
    high[c] = fmax(s->a[c], s->b[c]) + s->radius;
  }
}

static inline double rf_field_capsule_depth(const rf_field_part *s) { return s->radius; }

static inline bool rf_field_capsule_is_flat(void) { return false; }

#endif
