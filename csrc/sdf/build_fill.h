// Distances from a surface at all samples of a grid, with signs by one of several rules.
#ifndef RF_SDF_BUILD_FILL_H
#define RF_SDF_BUILD_FILL_H

#include <stdint.h>

#include "base/run.h"
#include "base/status.h"
#include "mesh/closest.h"
#include "mesh/surface.h"
#include "sdf/packet.h"

enum { RF_FAST_STEP = 4 };  // spacing of coarse samples, in samples

typedef enum rf_sign_rule {
  RF_SIGN_NONE,    // unsigned distances
  RF_SIGN_NORMAL,  // by pseudonormals
  RF_SIGN_LEVEL,   // negative where the sample was below a level before
  RF_SIGN_DEEPER,  // signed samples (including -0 on hidden walls) may become lower, others are
                   // unchanged
  RF_SIGN_NEARER   // samples may move nearer to 0 and keep their signs
} rf_sign_rule;

typedef struct rf_grid_filling rf_grid_filling;

// Fills all samples like rf_grid_fill_here, with the same bits, by workers elsewhere
// (build_blocks.h).
typedef rf_status rf_fill_fn(void *context, const rf_grid_filling *f, const rf_run *run,
                             rf_error *err);

struct rf_grid_filling {
  const rf_surface *surface;  // that of `closest`; needed by `elsewhere` only
  const rf_closest *closest;
  rf_fill_fn *elsewhere;  // NULL: samples are filled here
  void *elsewhere_context;
  rf_simd simd;  // kernel of distances: RF_SIMD_BEST, or one of rf_packet_simd
  rf_packet_fn *packet;
  int32_t start[2];  // first sample along x and y, of a part of a grid; multiples of RF_PACKET
  int32_t n[3], blocks[3];
  double origin[3], spacing[3];
  float *values;
  rf_sign_rule rule;
  double turn;  // -1: the surface faces inwards
  double level;
  double far;           // packets with all coarse distances above this are interpolated
  const float *coarse;  // distances at every RF_FAST_STEP-th sample; NULL: all are exact
  int32_t coarse_n[3];
  double *distance;  // scratch for the rows of a task  (workers, 16, 4 blocks[2])
  int32_t *nearest;  // scratch of the same shape; -1: not known
};

// Fills f->values; all of f down to `level` must be set, or zero.  Distances above `band` are
// interpolated from exact ones at every RF_FAST_STEP-th sample (build.h); INFINITY: none are.
RF_MUST_CHECK rf_status rf_grid_fill(rf_grid_filling *f, double band, const rf_run *run,
                                     rf_error *err);

// Fills f->values on the threads of the run; all of f except the scratch memory must be set.
RF_MUST_CHECK rf_status rf_grid_fill_here(rf_grid_filling *f, const rf_run *run, rf_error *err);

#endif
