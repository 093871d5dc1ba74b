// A distance field at rest cut into overlapping domains (B07 3.12.1).
//
// The solid is the set of samples that are inside, or within half a diagonal of a voxel of the
// inside, so that every cell of the surface has one.  Distances within the solid are lengths of
// paths along neighbouring samples, at most 1.13 times the shortest way.  A sample has the label of
// its nearest seed on such paths, and domain j holds the samples within `overlap` of label j.
// With D+ and D- the straight distances of a sample x from the solid's samples inside and outside
// the domain, and s half a diagonal of a voxel, the field of the domain is
//     max(d_rest, D+ - s)  outside the domain's samples,   max(d_rest, -(D- - s))  on them.
//
// If x is outside and the nearest surface belongs to the domain, D+ <= d_rest + s and the value is
// d_rest.  If x is inside and the way to the nearest other sample leaves the solid, D- exceeds the
// depth and the value is d_rest again; otherwise D- is at least overlap / 1.13 for x of label j. So
// the smallest value of all domains is d_rest at every sample outside, and inside down to a depth
// of overlap / 1.13 - s; deeper values near a cut are too shallow, but never positive.  At another
// part of the object, w away from the domain, the value is w - s: that part is left out.
//
// Parts of the solid without a seed belong to all domains.
#ifndef RF_DEFORM_DOMAINS_H
#define RF_DEFORM_DOMAINS_H

#include "base/status.h"
#include "sdf/field.h"

typedef struct rf_deformed_domain {
  int32_t from[3], n[3];  // its part of the rest grid: first sample, number
  float *values;          // (n0, n1, n2)
  uint8_t *member;        // 1 for proxies that move the domain: those in it    (n_points)
} rf_deformed_domain;

typedef struct rf_deformed_domains {
  int32_t n_domains, n_points;
  double overlap;              // m
  int32_t *label;              // of each proxy         (n_points)
  rf_deformed_domain *domain;  // (n_domains)
} rf_deformed_domains;

// Cuts the field of a grid into domains.  label (n_points), nullable: seeds are then n_domains of
// the points, each the farthest from those before, the first the farthest from some point.
// overlap < 0: enough for the deepest place inside, but at most a tenth of the longest side.
RF_MUST_CHECK rf_status rf_deformed_domains_cut(const rf_grid *grid, int32_t n_points,
                                                const double *points, const int32_t *label,
                                                int32_t n_domains, double overlap,
                                                const rf_run *run, rf_deformed_domains **out,
                                                rf_error *err);
void rf_deformed_domains_free(rf_deformed_domains *domains);  // NULL is fine

#endif
