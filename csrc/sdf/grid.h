// Regular grid of float32 samples of a signed distance, m.
//
// A grid is interpolated trilinearly inside its box.  Outside, the content of the box is at least
// as far away as the box, plus the distance of the content from the sides (B07 3.14):
//     d(p) = distance to the box + max(boundary, 0),  boundary = the smallest sample of the sides,
// for distances less a bound on how much lower they may be between samples.  Crossing a side
// outwards the value thus drops from the interpolant to `boundary`, never below.
#ifndef RF_SDF_GRID_H
#define RF_SDF_GRID_H

#include <stdint.h>

#include "base/status.h"

enum { RF_GRID_LEVELS = 256 };  // intervals of values with separate bounds of the gradient

// Immutable once sealed.
typedef struct rf_grid {
  int32_t n[3];       // samples along x, y, z, 2 or more; voxels are one less
  double origin[3];   // position of sample (0, 0, 0), m
  double spacing[3];  // m
  float *values;      // m                                             (n0, n1, n2), z fastest
  double error;       // largest error of samples as distances, for samples above twice this value;
                      // INFINITY: not distances, m
  double boundary;    // lower bound on the sides of the box, m; set by rf_grid_seal
  double low, high;   // smallest and largest sample
  double steepest;    // largest gradient of the interpolant
  double *gradient;   // largest gradient of the cells with values in each interval; 0: none
                      // (RF_GRID_LEVELS)
  double corner[3];   // opposite to the origin, m
  double inverse[3];  // 1 / spacing
  // the same for vectorised queries of one point; the fourth lane repeats z
  double lanes_low[4], lanes_high[4], lanes_inverse[4];
  double lanes_cell[4], lanes_end[4];  // last cell, last sample
} rf_grid;

// Allocates a grid of zero samples, for rooms that compute them; it has to be sealed.
RF_MUST_CHECK rf_status rf_grid_allocate(const int32_t n[3], const double origin[3],
                                         const double spacing[3], rf_grid **out, rf_error *err);
// Checks the samples and measures them.  A finite error claims that they are signed distances from
// an object in the box up to that error; if neighbouring samples contradict it, the error becomes
// infinite.
RF_MUST_CHECK rf_status rf_grid_seal(rf_grid *grid, double error, const rf_run *run, rf_error *err);
// Allocates and seals a grid of given samples.
RF_MUST_CHECK rf_status rf_grid_from_values(const int32_t n[3], const double origin[3],
                                            const double spacing[3], const float *values,
                                            double error, const rf_run *run, rf_grid **out,
                                            rf_error *err);
void rf_grid_free(rf_grid *grid);  // NULL is allowed

// Returns the largest gradient of the cells of a sealed grid that have values in an interval.
double rf_grid_gradient_within(const rf_grid *grid, double from, double to);
// Returns a bound of the distance, m, from a point of a cell to the nearest of its samples.
double rf_grid_half_diagonal(const rf_grid *grid);

#endif
