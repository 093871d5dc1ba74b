// Shapes with a formula, the parts of a field besides grids.
//
// To add a shape: a header with its functions and its facts, a row in sdf/shape_list_body.h, and a
// class in Python.
#ifndef RF_SDF_SHAPE_H
#define RF_SDF_SHAPE_H

#include <stdbool.h>

#include "sdf/grid.h"
#include "sdf/shape_list_body.h"

#define RF_SHAPE_CONSTANT(NAME, name) RF_SHAPE_##NAME,
typedef enum rf_shape { RF_SHAPE_GRID, RF_SHAPES(RF_SHAPE_CONSTANT) RF_SHAPE_COUNT } rf_shape;
#undef RF_SHAPE_CONSTANT

typedef struct rf_field_part {
  rf_shape shape;
  double a[3], b[3], radius;
  double offset;        // subtracted: positive offsets enlarge the shape or its complement
  bool outside;         // use the complement of the shape
  bool joined;          // in the same group as the previous part
  const rf_grid *grid;  // borrowed; NULL for other shapes
} rf_field_part;

// Returns the shape of a name; RF_SHAPE_GRID: there is none.
rf_shape rf_field_shape_named(const char *name);
// RF_ERR_ARG unless coordinates and radius are those of a shape.
RF_MUST_CHECK rf_status rf_field_shape_check(const rf_field_part *part, rf_error *err);
// Computes the bounding box of a shape, m, without offset; unbounded sides are left as they are.
void rf_field_shape_bounds(const rf_field_part *part, double low[3], double high[3]);
// Returns the depth of the deepest point of a shape, m, without offset; INFINITY: there is none.
double rf_field_shape_depth(const rf_field_part *part);
// True if the value of a part is linear everywhere, as of a half-space.
bool rf_field_shape_is_flat(const rf_field_part *part);

#endif
