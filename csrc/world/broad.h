// Broad phase: pairs of spheres that overlap, by sorting along an axis and sweeping.
//
// The axis is that of the largest variance of the centres.  Pairs come in ascending order, so that
// sums over them have the same bits however they were found.
#ifndef RF_WORLD_BROAD_H
#define RF_WORLD_BROAD_H

#include <stdint.h>

#include "base/status.h"

typedef struct rf_broad_sphere {
  double centre[3], radius;  // m; a negative radius meets nothing
} rf_broad_sphere;

typedef struct rf_broad_pair {
  int32_t first, second;  // first < second
} rf_broad_pair;

typedef struct rf_broad_end {
  double low, high;  // of a sphere along the axis
  int32_t sphere;
} rf_broad_end;

// Memory that grows; zero to begin with.
typedef struct rf_broad {
  int32_t n_pairs, room;
  rf_broad_pair *pairs;  // of the last search                                        (n_pairs)
  int32_t n_ends;
  rf_broad_end *ends;  // (n_ends)
} rf_broad;

// Finds all pairs of n spheres that overlap or touch.
RF_MUST_CHECK rf_status rf_broad_search(rf_broad *b, int32_t n, const rf_broad_sphere *spheres,
                                        rf_error *err);
void rf_broad_free(rf_broad *b);  // its content; zero is fine

#endif
