#include <string.h>

#include "dynamics/pull.h"

void rf_pull_point_rt(const rf_pull *pull, const rf_motion *m, double point_m[3]) {
  for (int a = 0; a < 3; ++a) {
    const double *row = pull->rows + a * pull->ld;
    double sum = pull->rest_m[a];
    for (int32_t i = 0; i < pull->r; ++i) sum += row[i] * m->q[i];
    point_m[a] = sum;
  }
}

static void stiffen(const rf_pull *pull) {
  memset(pull->added, 0, (size_t)(pull->ld * pull->ld) * sizeof *pull->added);
  for (int a = 0; a < 3; ++a) {
    const double *row = pull->rows + a * pull->ld;
    for (int32_t i = 0; i < pull->r; ++i)
      for (int32_t j = 0; j < pull->r; ++j)
        pull->added[i * pull->ld + j] += pull->stiffness * row[i] * row[j];
  }
}

static void spring(const rf_pull *pull, const rf_motion *m, const double place_m[3],
                   double force_n[3]) {
  rf_pull_point_rt(pull, m, force_n);
  for (int a = 0; a < 3; ++a) force_n[a] = pull->stiffness * (place_m[a] - force_n[a]);
}

rf_status rf_pull_step_rt(rf_pull *pull, rf_motion *m, const double place_m[3], const double *force,
                          int64_t n, double force_n[3]) {
  rf_status st = RF_OK;
  stiffen(pull);
  // as in rf_motion_step_within_rt: a body that is thrown away is noticed in time
  m->bounded = true;
  for (int64_t k = 0; k < n && st >= 0; ++k) {
    spring(pull, m, place_m, force_n);
    for (int32_t i = 0; i < pull->r; ++i) {
      double sum = force ? force[i] : 0.0;
      for (int a = 0; a < 3; ++a) sum += force_n[a] * pull->rows[a * pull->ld + i];
      pull->force[i] = sum;
    }
    st = rf_motion_step_added_rt(m, pull->force, pull->added);
  }
  m->bounded = false;
  spring(pull, m, place_m, force_n);
  return st;
}
