// Level sets of distance fields: triangulation, and projection of nearby points.
#ifndef RF_POINTSHELL_LEVEL_SET_H
#define RF_POINTSHELL_LEVEL_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "sdf/field.h"
#include "sdf/isosurface.h"

typedef struct rf_level_set {
  const rf_field *field;
  double value;      // m
  double tolerance;  // tolerance of the field's value, m
} rf_level_set;

enum { RF_LEVEL_SET_MAX_RESOLUTION = 1024 };

// Triangulates the level set: a single grid on its own samples, other fields on a grid with
// `resolution` intervals along the longest side of their parts' bounding box.  RF_ERR_ARG if the
// level set is empty or unbounded: where it leaves the box of a grid, and for planes.
RF_MUST_CHECK rf_status rf_level_set_triangulate(const rf_field *field, double value,
                                                 int32_t resolution, const rf_run *run,
                                                 rf_isosurface *out, rf_error *err);

// Moves x to the level set by Newton's method, with bisection in case of oscillation; sets the unit
// normal there, along the gradient.  False on failure, also if the distance moved would exceed
// `reach`: x then is not on the level set.
bool rf_level_set_settle(const rf_level_set *t, double *x, double reach, double *normal);

// The same for n <= RF_LEVEL_SET_BLOCK points x (n, 3), reach (n); settled (n): 1 or 0.
enum { RF_LEVEL_SET_BLOCK = 64 };
void rf_level_set_settle_block(const rf_level_set *t, int32_t n, double *x, const double *reach,
                               double *normal, uint8_t *settled);

#endif
