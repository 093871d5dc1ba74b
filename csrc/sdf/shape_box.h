// Box with sides along the axes.  a: low, b: high corner.
#ifndef RF_SDF_SHAPE_BOX_H
#define RF_SDF_SHAPE_BOX_H

#include <math.h>

#include "linalg/vec3.h"
#include "sdf/shape.h"

static inline double rf_field_box_value(const rf_field_part *s, const double *p, double *gradient) {
  double beyond[3];
  rf_vec3_beyond(p, s->a, s->b, beyond);
  const double square = rf_vec3_dot(beyond, beyond);
  if (!(square == 0.0)) {
    const double out = sqrt(square);
    for (int c = 0; c < 3 && gradient; ++c) gradient[c] = beyond[c] / out;
    return out;
  }
  // nearest of the six faces
  double best = -INFINITY, sign = 1.0;
  int axis = 0;
  for (int c = 0; c < 3; ++c) {
    const double below = s->a[c] - p[c], above = p[c] - s->b[c];
    if (below > best) best = below, axis = c, sign = -1.0;
    if (above > best) best = above, axis = c, sign = 1.0;
  }
  for (int c = 0; c < 3 && gradient; ++c) gradient[c] = c == axis ? sign : 0.0;
  return best;
}

static inline rf_status rf_field_box_check(const rf_field_part *s, rf_error *err) {
  for (int c = 0; c < 3; ++c)
    if (!(s->a[c] < s->b[c]))
      return rf_fail(err, RF_ERR_ARG,
                     "low must be below high along every axis; low[%d] is %g, high[%d] is %g", c,
                     s->a[c], c, s->b[c]);
  return RF_OK;
}

static inline void rf_field_box_bounds(const rf_field_part *s, double low[3], double high[3]) {
  for (int c = 0; c < 3; ++c) low[c] = s->a[c], high[c] = s->b[c];
}

static inline double rf_field_box_depth(const rf_field_part *s) {
  double least = INFINITY;
  for (int c = 0; c < 3; ++c) least = fmin(least, 0.5 * (s->b[c] - s->a[c]));
  return least;
}

static inline bool rf_field_box_is_flat(void) { return false; }

#endif
