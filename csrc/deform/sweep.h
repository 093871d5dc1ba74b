// Squares of straight distances between samples of a grid, line by line along each axis: the lower
// envelope of parabolas (Felzenszwalb and Huttenlocher 2012).
#ifndef RF_DEFORM_SWEEP_H
#define RF_DEFORM_SWEEP_H

#include "base/run.h"
#include "base/status.h"

// Work arrays for the longest side of a grid; `border` has one more.
typedef struct rf_deformed_lines {
  double *value, *out, *border;
  int32_t *lowest;
} rf_deformed_lines;

RF_MUST_CHECK rf_status rf_deformed_lines_create(rf_deformed_lines *l, int32_t longest,
                                                 rf_error *err);
void rf_deformed_lines_free(rf_deformed_lines *l);  // its content; zero is fine

// Squares of distances to the samples that are 0, in squares of the unit of `spacing`; all others
// are infinite on entry.  square (n0, n1, n2): in place.
RF_MUST_CHECK rf_status rf_deformed_square_distances(const int32_t n[3], const double spacing[3],
                                                     float *square, rf_deformed_lines *l,
                                                     const rf_run *run, rf_error *err);

#endif
