// The solid inside a sampled distance field, and shortest paths along its samples (Dijkstra's
// algorithm over 26 neighbours).
#ifndef RF_DEFORM_PATHS_H
#define RF_DEFORM_PATHS_H

#include "base/run.h"
#include "base/status.h"
#include "sdf/field.h"

typedef struct rf_deformed_solid {
  const rf_grid *grid;  // borrowed
  int32_t n;            // samples of the solid
  int32_t *index;       // number in the solid of each sample of the grid; -1: outside
  int32_t *sample;      // its inverse                                     (n)
  double half;          // half a diagonal of a voxel, m

  // paths
  double *length;   // from the nearest seed, m; infinite: unreached       (n)
  int32_t *label;   // label of that seed; -1: unreached                   (n)
  int32_t *heap;    // queued samples by length                            (n)
  int32_t *place;   // in the heap; -1: not queued                         (n)
  int32_t waiting;  // number of queued samples
} rf_deformed_solid;

// Coordinates of a sample in the grid.
static inline void rf_deformed_sample_place(const rf_grid *g, int32_t sample, int32_t at[3]) {
  at[2] = sample % g->n[2];
  at[1] = sample / g->n[2] % g->n[1];
  at[0] = sample / g->n[2] / g->n[1];
}

// Collects the samples inside the field or within `half` of the inside, in a solid that is zero.
RF_MUST_CHECK rf_status rf_deformed_solid_make(const rf_grid *grid, rf_deformed_solid *s,
                                               rf_error *err);
void rf_deformed_solid_free(rf_deformed_solid *s);  // its content; zero is fine

// Forgets all paths and seeds.
void rf_deformed_solid_forget(rf_deformed_solid *s);
// Makes sample i a seed.
void rf_deformed_solid_start(rf_deformed_solid *s, int32_t i, int32_t label);
// Follows paths from all queued samples, up to a length.
RF_MUST_CHECK rf_status rf_deformed_solid_follow(rf_deformed_solid *s, double limit,
                                                 const rf_run *run, rf_error *err);
// Neighbours of a sample in the solid, and the distances to them; returns their number.
int rf_deformed_solid_neighbours(const rf_deformed_solid *s, int32_t i, int32_t to[26],
                                 double way[26]);
// Nearest sample of the solid; of equally near ones the lowest.
int32_t rf_deformed_solid_nearest(const rf_deformed_solid *s, const double p[3]);

#endif
