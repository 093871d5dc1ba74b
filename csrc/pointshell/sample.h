// Points drawn from a surface, each area with equal chance (B07 3.8.1, [Tur92]).
//
// The triangles are laid in a row, part by part, within a part along a curve that fills space,
// so that what is near on the row is near in space.  Cut into n pieces of equal area, with one
// point from each, the row gives a stratified sample: every part of the surface gets its share
// to within one point, and every region nearly so.
#ifndef RF_POINTSHELL_SAMPLE_H
#define RF_POINTSHELL_SAMPLE_H

#include <stdint.h>

#include "base/status.h"
#include "mesh/surface.h"

typedef struct rf_sampler {
  const rf_surface *surface;  // borrowed
  double area;                // m^2
  double longest;             // side of a triangle, m
  int32_t n_parts;            // connected ones
  int32_t *order;             // triangles along the row           (n_triangles)
  double *until;              // area up to the end of each, m^2    (n_triangles)
} rf_sampler;

// Vertices at the same place count as one.  RF_ERR_MESH for a surface without area; run: asked
// for stops.
RF_MUST_CHECK rf_status rf_sampler_create(const rf_surface *surface, const rf_run *run,
                                          rf_sampler *out, rf_error *err);
void rf_sampler_free(rf_sampler *s);  // zeroed is fine

// The point at a place on the row, along and across in [0, 1); returns its triangle.
int32_t rf_sampler_draw(const rf_sampler *s, double along, double across, double *point);

// Point k of so many that lie evenly along the row, at random within their share of it, which a
// seed selects; returns its triangle.
int32_t rf_sampler_draw_even(const rf_sampler *s, uint64_t seed, int64_t k, int64_t count,
                             double *point);

// Number k of a fixed sequence in [0, 1) that a seed selects.
double rf_uniform(uint64_t seed, uint64_t k);
// A seed of its own for each use.
uint64_t rf_seed(uint64_t seed, uint64_t use);

#endif
