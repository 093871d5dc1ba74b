// A distance field at rest cut into overlapping domains (B07 3.12.1).
//
// The solid is the samples of the grid that are inside or within half a diagonal of a voxel of
// it, so that the surface has one in every cell.  Distances within it are those of paths along
// neighbouring samples, at most 1.13 times as long as the way.  Samples belong to the label of
// the nearest seed on such paths, and domain j is what is within `overlap` of those of label j.
// With D+ and D- the distances of a sample x, as the crow flies, from the solid's samples in and
// not in the domain, and s half a diagonal of a voxel, the field of the domain is
//     max(d_rest, D+ - s)  outside the domain's samples,   max(d_rest, -(D- - s))  on them.
//
// If x is outside and the nearest surface belongs to the domain, D+ <= d_rest + s: the value is
// d_rest.  If x is inside and the way to the nearest other sample leaves the solid, D- is more than
// the depth: it is d_rest again; else D- is at least the overlap / 1.13 for x of label j.  So
// the smallest of all domains' values is d_rest at every sample outside, and inside down to a
// depth of overlap / 1.13 - s; deeper ones near a cut are too shallow, never positive.  Another
// part of the object at a distance w is, in the field of this domain, at w - s: no image of it.
//
// Parts of the solid without a seed belong to all domains.
#ifndef RF_CONTACT_DEFORMED_FIELD_DOMAINS_H
#define RF_CONTACT_DEFORMED_FIELD_DOMAINS_H

#include "base/status.h"
#include "sdf/field.h"

typedef struct rf_domain {
  int32_t from[3], n[3];  // samples of the rest grid that it has
  float *values;          // (n0, n1, n2)
  uint8_t *member;        // whether a proxy moves it: it is in the domain's part    (n_points)
} rf_domain;

typedef struct rf_domains {
  int32_t n_domains, n_points;
  double overlap;     // m
  int32_t *label;     // of each proxy         (n_points)
  rf_domain *domain;  // (n_domains)
} rf_domains;

// `label` (n_points) is nullable: then seeds are n_domains of the points, each as far as can be
// from those before, the first as far as can be from some point.  overlap < 0: what is enough for
// the deepest place inside, but no more than a tenth of the object's longest side.
RF_MUST_CHECK rf_status rf_domains_cut(const rf_grid *grid, int32_t n_points, const double *points,
                                       const int32_t *label, int32_t n_domains, double overlap,
                                       const rf_run *run, rf_domains **out, rf_error *err);
void rf_domains_free(rf_domains *domains);  // NULL is fine

#endif
