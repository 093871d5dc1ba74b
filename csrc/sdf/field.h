// Signed distance as a function of position, m, in the field's own frame; d < 0 is inside.
//
// A field is a list of parts, shapes with a formula or regular grids of float32 samples, in groups.
// A part's value is that of its shape or grid, or its negative (the complement), less an offset; a
// group's value is the largest of its parts', the field's value the smallest of its groups'. As min
// and max distribute over each other, and -max(a, b) is min(-a, -b), any nesting of unions,
// intersections, complements and offsets is such a list, and queries need no recursion.  Fields
// without intersections have groups of one part.
#ifndef RF_SDF_FIELD_H
#define RF_SDF_FIELD_H

#include "linalg/simd.h"
#include "sdf/shape.h"

enum { RF_FIELD_BANDS = 8, RF_FIELD_MAX_PARTS = 1 << 16 };

typedef struct rf_field {
  int32_t n_parts;
  rf_field_part *parts;  // (n_parts)
  bool plain;            // all groups have one part, and none is a complement
  rf_simd simd;          // variant of the queries
  // bounds for rf_field_slack_rt, measured in field.c
  double lipschitz;                 // Lipschitz constant where the field is continuous, 1 or more
  double error;                     // error of samples as distances, m; INFINITY: unknown
  double bend;                      // half the diagonal of a cell, m
  double cap, top;                  // values at which the field may drop at the side of a box
  double shrink;                    // correction of values outside of boxes that cut their objects
  double rounding;                  // bound of rounding errors, m
  double reach[RF_FIELD_BANDS];     // upper ends of the bands of positive values
  double gradient[RF_FIELD_BANDS];  // largest gradient in each band, 1 or more
  // 1 / lipschitz and 1 / gradient, reduced so that products do not exceed the exact quotients
  double gentle, inverse[RF_FIELD_BANDS];
} rf_field;

// Creates a field; copies the parts, but not their grids.
RF_MUST_CHECK rf_status rf_field_create(int32_t n_parts, const rf_field_part *parts, rf_field **out,
                                        rf_error *err);
void rf_field_free(rf_field *field);  // NULL is allowed

typedef enum rf_field_join {
  RF_FIELD_UNION,         // the smallest value
  RF_FIELD_INTERSECTION,  // the largest
  RF_FIELD_COMPLEMENT     // the negative value, of one field
} rf_field_join;

// Combines fields, whose grids it borrows, less an offset.
RF_MUST_CHECK rf_status rf_field_create_joined(int32_t n, const rf_field *const *fields,
                                               rf_field_join how, double offset, rf_field **out,
                                               rf_error *err);

// Computes a box, m, outside of which no value is below a given one; infinite if there is none, low
// above high if no value is below it.
void rf_field_bounds(const rf_field *field, double value, double low[3], double high[3]);

// Returns the depth of the deepest point of a part, m; INFINITY: there is none.
double rf_field_part_depth(const rf_field_part *part);

// True if values below a given one may lie outside the box of a grid, where they are only lower
// bounds: the level set then follows the box instead of the object.
bool rf_field_leaves_box(const rf_field *field, double value);

// Computes distance (n) and, unless NULL, gradient (n, 3) on the threads of a run.
RF_MUST_CHECK rf_status rf_field_evaluate(const rf_field *field, int64_t n, const double *points,
                                          double *distance, double *gradient, const rf_run *run,
                                          rf_error *err);

// Computes the samples of a grid, float32 (n0, n1, n2), z fastest; report: report progress.
RF_MUST_CHECK rf_status rf_field_sample(const rf_field *field, const int32_t n[3],
                                        const double origin[3], const double spacing[3], int report,
                                        const rf_run *run, float *values, rf_error *err);
// Creates a grid of such samples.  Its error is 0 if the samples are certain to be distances from
// an object, outside it: for shapes with a formula, without negative offsets, and their unions.
// Samples of grids, intersections and complements count as arbitrary.
RF_MUST_CHECK rf_status rf_grid_from_field(const rf_field *field, const int32_t n[3],
                                           const double origin[3], const double spacing[3],
                                           const rf_run *run, rf_grid **out, rf_error *err);

// Returns the distance at p; NaN if p contains NaN.
double rf_field_distance_rt(const rf_field *f, const double p[3]);
// Returns the same distance, and the gradient of the same function, one-sided at kinks.
double rf_field_gradient_rt(const rf_field *f, const double p[3], double gradient[3]);
// Computes distance (n) at points (n, 3); the same bits as single queries.
void rf_field_distances_rt(const rf_field *f, int32_t n, const double *points, double *distance);
// Computes distance (n) and gradient (n, 3).
void rf_field_gradients_rt(const rf_field *f, int32_t n, const double *points, double *distance,
                           double *gradient);
// If the field is a single grid, replaces the gradient by central differences over one spacing to
// each side (one-sided at the sides of the grid): these are continuous, whereas the gradient of the
// interpolant jumps between cells.
void rf_field_slopes_rt(const rf_field *f, int32_t n, const double *points, double *distance,
                        double *slope);
// Prefetches the samples around p; does not affect results.
void rf_field_prefetch_rt(const rf_field *f, const double p[3]);

// Returns a bound for culling.  If positive, no point within R of a point c with distance d has a
// negative distance, also after c has moved and R has grown by less than the bound in total: for
// the distance found there the bound would still be positive.
double rf_field_slack_rt(const rf_field *f, double d, double R);

#endif
