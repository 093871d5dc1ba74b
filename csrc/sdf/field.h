// Signed distance as a function of place, m, in the field's own frame; d < 0 is inside.
//
// A field is a list of parts, shapes with a formula or regular grids of float32 samples, in groups.
// A part's value is that of its shape or grid, or minus that (what is outside of it), less an
// offset; a group's value is the largest of its parts', the field's value the smallest of its
// groups'.  As min and max distribute over each other, and -max(a, b) is min(-a, -b), any nesting
// of unions, intersections, complements and offsets is such a list, and queries recurse not. Fields
// without intersections have groups of one part.
//
// A grid is interpolated trilinearly inside its box.  Outside, what a box holds is at least as
// far as the box is, and further by what the sides of the box are away from it (B07 3.14):
//     d(p) = distance to the box + max(boundary, 0),  boundary = the smallest sample of the sides,
// of distances less what they may be lower between samples.  At the sides the value thus drops
// from the interpolant to `boundary`, never below.
#ifndef RF_SDF_FIELD_H
#define RF_SDF_FIELD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "linalg/simd.h"

enum {
  RF_GRID_LEVELS = 256,  // intervals of values in which gradients are told apart
  RF_FIELD_BANDS = 8,
  RF_FIELD_MAX_PARTS = 1 << 16
};

// Immutable once sealed.
typedef struct rf_grid {
  int32_t n[3];       // samples along x, y, z, 2 or more; voxels are one less
  double origin[3];   // place of sample (0, 0, 0), m
  double spacing[3];  // m
  float *values;      // m                                             (n0, n1, n2), z fastest
  double error;       // how far samples may be from those of distances, if they are larger than
                      // twice as much; INFINITY: any, m
  double boundary;   // no place on the sides of the box is nearer, m; set by rf_grid_seal, as below
  double low, high;  // smallest and largest sample
  double steepest;   // largest gradient of the interpolant
  double *gradient;  // the same of the cells that have values in an interval; 0: none
                     //                                               (RF_GRID_LEVELS)
  double corner[3];  // opposite to the origin, m
  double inverse[3];  // 1 / spacing
  // the same for queries of one place by vectors, whose fourth lane repeats z
  double lanes_low[4], lanes_high[4], lanes_inverse[4];
  double lanes_cell[4], lanes_end[4];  // last cell, last sample
} rf_grid;

// With zeros for samples, for rooms that compute them; to be sealed.
RF_MUST_CHECK rf_status rf_grid_allocate(const int32_t n[3], const double origin[3],
                                         const double spacing[3], rf_grid **out, rf_error *err);
// Checks the samples and measures them.  Finite errors claim that they are, but for so much, the
// signed distances from something in the box; where neighbours show otherwise, the error becomes
// infinite.
RF_MUST_CHECK rf_status rf_grid_seal(rf_grid *grid, double error, const rf_run *run, rf_error *err);
// Both, of given samples.
RF_MUST_CHECK rf_status rf_grid_from_values(const int32_t n[3], const double origin[3],
                                            const double spacing[3], const float *values,
                                            double error, const rf_run *run, rf_grid **out,
                                            rf_error *err);
void rf_grid_free(rf_grid *grid);  // NULL is fine

typedef enum rf_shape {
  RF_SHAPE_GRID,
  RF_SHAPE_SPHERE,   // a: centre
  RF_SHAPE_BOX,      // a: low, b: high corner
  RF_SHAPE_PLANE,    // a: a point, b: unit normal, outwards
  RF_SHAPE_CAPSULE,  // a, b: ends of the axis
} rf_shape;

typedef struct rf_field_part {
  rf_shape shape;
  double a[3], b[3], radius;
  double offset;  // taken off the value: positive ones make the shape, or what is outside, larger
  bool outside;   // what is outside of the shape
  bool joined;    // to the group of the part before
  const rf_grid *grid;  // borrowed; NULL for others
} rf_field_part;

typedef struct rf_field {
  int32_t n_parts;
  rf_field_part *parts;  // (n_parts)
  bool plain;            // no part is joined to others, or outside
  rf_simd simd;          // variant of the queries
  // for rf_field_slack_rt; derived in field.c
  double lipschitz;                 // of the field where it is continuous, 1 or more
  double error;                     // of samples of distances, m; infinite where unknown
  double bend;                      // half the diagonal of a cell, m
  double cap, top;                  // values at which the field drops at the side of a box
  double shrink;                    // of values outside of boxes that cut their contents
  double rounding;                  // m
  double reach[RF_FIELD_BANDS];     // band of values above zero
  double gradient[RF_FIELD_BANDS];  // largest one in it, 1 or more
  // 1 / lipschitz and 1 / gradient, less so much that products are not above the quotients
  double gentle, inverse[RF_FIELD_BANDS];
} rf_field;

// Copies the parts, not their grids.
RF_MUST_CHECK rf_status rf_field_create(int32_t n_parts, const rf_field_part *parts, rf_field **out,
                                        rf_error *err);
void rf_field_free(rf_field *field);  // NULL is fine

typedef enum rf_field_join {
  RF_FIELD_UNION,         // the smallest value
  RF_FIELD_INTERSECTION,  // the largest
  RF_FIELD_COMPLEMENT     // minus the value, of one field
} rf_field_join;

// A field of others, whose grids it borrows, less an offset.
RF_MUST_CHECK rf_status rf_field_create_joined(int32_t n, const rf_field *const *fields,
                                               rf_field_join how, double offset, rf_field **out,
                                               rf_error *err);

// A box outside of which no value is below a given one, m; infinite where there is none, low above
// high where no value is.
void rf_field_bounds(const rf_field *field, double value, double low[3], double high[3]);

// True if values below a given one may lie outside the box of a grid, where they are lower bounds
// only: the level set of that value then follows the box and not the object.
bool rf_field_leaves_box(const rf_field *field, double value);

// distance (n) and, unless NULL, gradient (n, 3) on the threads of a run.
RF_MUST_CHECK rf_status rf_field_evaluate(const rf_field *field, int64_t n, const double *points,
                                          double *distance, double *gradient, const rf_run *run,
                                          rf_error *err);

// Values at the samples of a grid, float32 (n0, n1, n2), z fastest; report: whether progress is
// told.
RF_MUST_CHECK rf_status rf_field_sample(const rf_field *field, const int32_t n[3],
                                        const double origin[3], const double spacing[3], int report,
                                        const rf_run *run, float *values, rf_error *err);
// A grid of them.  Its error is 0 where they are sure to be distances, outside, from something:
// those of shapes with a formula, none of them smaller than it, and of unions of them.  Values of
// grids, and where there are intersections or complements, are any samples.
RF_MUST_CHECK rf_status rf_grid_from_field(const rf_field *field, const int32_t n[3],
                                           const double origin[3], const double spacing[3],
                                           const rf_run *run, rf_grid **out, rf_error *err);

// Places that are no numbers give values that are no numbers.
double rf_field_distance_rt(const rf_field *f, const double p[3]);
// Returns the same distance; the gradient is that of the very function, at kinks of one side.
double rf_field_gradient_rt(const rf_field *f, const double p[3], double gradient[3]);
// points (n, 3), distance (n); the same bits as one by one.
void rf_field_distances_rt(const rf_field *f, int32_t n, const double *points, double *distance);
// and gradient (n, 3)
void rf_field_gradients_rt(const rf_field *f, int32_t n, const double *points, double *distance,
                           double *gradient);
// In place of the gradient, where the field is a grid, central differences over one spacing to each
// side (one-sided at the sides of the grid): continuous, where the gradient of the interpolant
// jumps from cell to cell.
void rf_field_slopes_rt(const rf_field *f, int32_t n, const double *points, double *distance,
                        double *slope);
// Asks for the samples around p; without effect on results.
void rf_field_prefetch_rt(const rf_field *f, const double p[3]);

// Culling.  Where it is positive, no point within R of a place c with distance d has a negative
// distance, and still so after c moved, and R grew, by less than the value in all: it would then be
// positive again for the distance found there.
double rf_field_slack_rt(const rf_field *f, double d, double R);

#endif
