#include <string.h>

#include "dynamics/pull.h"

// Displacement of the point.
static double moved(const rf_pull *pull, const double *q, int axis) {
  const rf_system_points *at = &pull->spring.at;
  double sum = 0.0;
  for (int32_t i = 0; pull->rows && i < pull->n; ++i) sum += pull->rows[axis * pull->ld + i] * q[i];
  for (int32_t i = 0; i < at->corners; ++i)
    sum += at->weight[i] * q[3 * (int64_t)at->node[i] + axis];
  return sum;
}

void rf_pull_point_rt(const rf_pull *pull, const rf_motion *m, double point_m[3]) {
  for (int a = 0; a < 3; ++a) point_m[a] = pull->rest_m[a] + moved(pull, m->q, a);
}

static void stiffen(const rf_pull *pull) {
  memset(pull->added, 0, (size_t)(pull->ld * pull->ld) * sizeof *pull->added);
  for (int a = 0; a < 3; ++a) {
    const double *row = pull->rows + a * pull->ld;
    for (int32_t i = 0; i < pull->n; ++i)
      for (int32_t j = 0; j < pull->n; ++j)
        pull->added[i * pull->ld + j] += pull->stiffness * row[i] * row[j];
  }
}

static void spring(const rf_pull *pull, const rf_motion *m, const double place_m[3],
                   double force_n[3]) {
  rf_pull_point_rt(pull, m, force_n);
  for (int a = 0; a < 3; ++a) force_n[a] = pull->stiffness * (place_m[a] - force_n[a]);
}

// pull->force: `force` (nullable) and that of the spring.
static void apply(rf_pull *pull, const double *force, const double spring_n[3]) {
  const rf_system_points *at = &pull->spring.at;
  for (int32_t i = 0; i < pull->n; ++i) {
    double sum = force ? force[i] : 0.0;
    for (int a = 0; a < 3 && pull->rows; ++a) sum += spring_n[a] * pull->rows[a * pull->ld + i];
    pull->force[i] = sum;
  }
  for (int32_t i = 0; i < at->corners; ++i)
    for (int a = 0; a < 3; ++a)
      pull->force[3 * (int64_t)at->node[i] + a] += at->weight[i] * spring_n[a];
}

rf_status rf_pull_step_rt(rf_pull *pull, rf_motion *m, const double place_m[3], const double *force,
                          int64_t n, double force_n[3]) {
  rf_status st = RF_OK;
  if (pull->rows) stiffen(pull);
  // as in rf_motion_step_within_rt: a body that is thrown away is noticed in time
  m->bounded = true;
  for (int64_t k = 0; k < n && st >= 0; ++k) {
    spring(pull, m, place_m, force_n);
    apply(pull, force, force_n);
    if (pull->rows)
      st = rf_motion_step_added_rt(m, pull->force, pull->added);
    else if (pull->stiffness > 0.0)
      st = rf_motion_step_sprung_rt(m, pull->force, &pull->spring);
    else
      st = rf_motion_step_added_rt(m, pull->force, NULL);
  }
  m->bounded = false;
  spring(pull, m, place_m, force_n);
  return st;
}
