// Choice of the points and weights of a cubature, from forces at training poses.
#ifndef RF_CUBATURE_BUILD_H
#define RF_CUBATURE_BUILD_H

#include "cubature/cubature.h"
#include "fem/fem.h"

// Every fifth pose is held out: it measures the error and does not train.
enum {
  RF_CUBATURE_HOLD = 5,
  RF_CUBATURE_MAX_POINTS = 4096,
  RF_CUBATURE_MAX_NUMBERS = 1 << 17,  // coordinates of all poses together
  RF_CUBATURE_FREQUENCIES = 6,        // that are compared, at most
};

typedef struct rf_cubature_settings {
  int32_t points;        // most; all points of the mesh with their own weights if there are fewer
  double tolerance;      // on the training error; more points are chosen until it is met
  int32_t n_poses;       // RF_CUBATURE_HOLD or more
  const double *poses;   // (n_poses, r)
  double drawn;          // strain for which they were drawn; 0: they were given
  const double *metric;  // S: training weighs errors of a force f by the norm of S f    (r, r)
  const double *linear;  // stiffness of a linear part that the cubature gets; NULL      (r, r)
} rf_cubature_settings;

typedef struct rf_cubature_report {
  int32_t training, held_out;  // poses
  int64_t candidates;          // points from which the cubature was chosen; 0: it has all points
  double strain;               // largest Green strain (Frobenius norm) at the poses
  double training_error;       // |S (f - f~)| / |S f|, root of the mean square over the poses
  double error;                // |f - f~| / |f| of the poses held out, the same mean
  double largest_error;        // and the largest
  // of rf_reduced_build_sampled
  int32_t exercised;       // directions of the coordinates in which the poses that train extend
  double frequency_error;  // relative, largest of the lowest frequencies at rest
} rf_cubature_report;

// point: of each point the element and its quadrature point (points, 2), for at most
// settings->points points.
RF_MUST_CHECK rf_status rf_cubature_build(const rf_solid *solid, const rf_run *run, int32_t r,
                                          const double *basis, const rf_cubature_settings *set,
                                          rf_simd simd, rf_cubature **out,
                                          rf_cubature_report *report, rf_error *err);

// Creates an untrained cubature of about `points` points, fewer than the mesh has, each of which
// stands for equal shares of the volume.  linear as in rf_cubature_settings.
RF_MUST_CHECK rf_status rf_cubature_spread(const rf_solid *solid, int32_t r, const double *basis,
                                           int32_t points, const double *linear, rf_simd simd,
                                           rf_cubature **out, rf_error *err);

// Non-negative least squares: chooses up to `most` columns of A (n_columns, n_rows) and positive
// weights so that their sum approaches b (n_rows), until the residual is at most `tolerance` |b|
// (Lawson and Hanson 1974, chapter 23).  chosen, weight (most); count: chosen ones.
RF_MUST_CHECK rf_status rf_cubature_select(const rf_run *run, int32_t n_rows, int32_t n_columns,
                                           const double *a, const double *b, int32_t most,
                                           double tolerance, int32_t *chosen, double *weight,
                                           int32_t *count, rf_error *err);

#endif
