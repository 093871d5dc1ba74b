// Points drawn uniformly by area from a surface (B07 3.8.1, [Tur92]).
//
// The triangles are ordered part by part, and within a part along a space-filling curve, so that
// neighbours in the order are near in space.  One point from each of n pieces of equal area of this
// sequence gives a stratified sample: every part of the surface gets its share to within one point,
// and every region nearly so.
#ifndef RF_POINTSHELL_SAMPLE_H
#define RF_POINTSHELL_SAMPLE_H

#include <stdint.h>

#include "base/status.h"
#include "mesh/surface.h"

typedef struct rf_sampler {
  const rf_surface *surface;  // borrowed
  double area;                // m^2
  double longest;             // longest side of a triangle, m
  int32_t n_parts;            // number of connected parts
  int32_t *order;             // triangles in sequence                    (n_triangles)
  double *until;              // area up to the end of each, m^2          (n_triangles)
} rf_sampler;

// Prepares sampling; coincident vertices count as one.  RF_ERR_MESH for a surface without area;
// run: polled for a stop.
RF_MUST_CHECK rf_status rf_sampler_create(const rf_surface *surface, const rf_run *run,
                                          rf_sampler *out, rf_error *err);
void rf_sampler_free(rf_sampler *s);  // a zeroed struct is allowed

// Computes the point at position `along` of the sequence and `across` it, both in [0, 1); returns
// its triangle.
int32_t rf_sampler_draw(const rf_sampler *s, double along, double across, double *point);

// Draws point k of `count`, each at a random position of its share of the sequence selected by a
// seed; returns its triangle.
int32_t rf_sampler_draw_even(const rf_sampler *s, uint64_t seed, int64_t k, int64_t count,
                             double *point);

// Returns number k of a fixed sequence in [0, 1) selected by a seed.
double rf_uniform(uint64_t seed, uint64_t k);
// Derives a separate seed for each use.
uint64_t rf_seed(uint64_t seed, uint64_t use);

#endif
