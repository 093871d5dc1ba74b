// Law of friction at one point, and its sums over the points of a pair.
#include "world/pair_friction.h"

#include <math.h>
#include <string.h>

#include "linalg/vec3.h"
#include "world/pair_rows.h"

void rf_pair_friction_axes_rt(const double axis[3], double out[6]) {
  // across the smallest part of the axis
  int least = 0;
  double unit[3] = {0.0};
  for (int i = 1; i < 3; ++i)
    if (fabs(axis[i]) < fabs(axis[least])) least = i;
  unit[least] = 1.0;
  rf_vec3_cross(axis, unit, out);
  const double length = rf_vec3_length(out);
  for (int i = 0; i < 3; ++i) out[i] /= length;
  rf_vec3_cross(axis, out, out + 3);
}

static double size_of(const double v[2]) { return sqrt(v[0] * v[0] + v[1] * v[1]); }

void rf_pair_friction_return_rt(const double trial[2], double limit, double out[2]) {
  const double size = size_of(trial), part = size <= limit ? 1.0 : limit / size;
  for (int i = 0; i < 2; ++i) out[i] = part * trial[i];
}

void rf_pair_friction_derive_rt(const double trial[2], double limit, bool secant,
                                const double change[2], double out[2]) {
  const double size = size_of(trial);
  memcpy(out, change, 2 * sizeof *out);
  if (size <= limit) return;
  const double along = (trial[0] * change[0] + trial[1] * change[1]) / (size * size);
  const double taken = secant ? 0.0 : along;
  for (int i = 0; i < 2; ++i) out[i] = limit / size * (change[i] - taken * trial[i]);
}

// ---- sums

// Points with a dimple have dampers across the axis too: its coordinates are one c-th of it.
static double stiffness_of(const rf_pair_rows *t, int32_t i) {
  return t->dimple_damping * t->stiff[i];
}

// T . u of both tangents of a point
static void slip_of(const rf_pair_rows *t, int32_t i, const rf_pair_slots *u, double out[2]) {
  for (int e = 0; e < 2; ++e) out[e] = rf_pair_rows_closing_rt(t, i, 1 + e, u);
}

static void apply(rf_pair_rows *t, int32_t i, const double force[2]) {
  const double *rows = t->friction.rows + 2 * (size_t)i * (size_t)t->size;
  for (int32_t j = 0; j < t->size; ++j)
    t->applied[j] += force[0] * rows[j] + force[1] * rows[t->size + j];
  for (int e = 0; e < 2; ++e) rf_pair_rows_pull_rt(t, i, 1 + e, force[e]);
}

void rf_pair_friction_push_rt(rf_pair_rows *t, bool held, const rf_pair_slots *u) {
  rf_pair_friction *f = &t->friction;
  for (int32_t i = 0; i < t->n_rows; ++i) {
    double slip[2], force[2], *trial = f->trial + 2 * i;
    slip_of(t, i, u, slip);
    for (int e = 0; e < 2; ++e) trial[e] = f->last[2 * i + e] - stiffness_of(t, i) * slip[e];
    if (!held) {
      f->before[i] = f->limit[i];
      f->limit[i] = t->force[i] < 0.0 ? -f->mu * t->force[i] : 0.0;
    }
    if (!(f->limit[i] > 0.0)) continue;
    rf_pair_friction_return_rt(trial, f->limit[i], force);
    apply(t, i, force);
  }
}

void rf_pair_friction_multiply_rt(rf_pair_rows *t, bool secant, const rf_pair_slots *u) {
  const rf_pair_friction *f = &t->friction;
  for (int32_t i = 0; i < t->n_rows; ++i) {
    if (!(f->limit[i] > 0.0)) continue;
    double slip[2], force[2];
    slip_of(t, i, u, slip);
    for (int e = 0; e < 2; ++e) slip[e] *= -stiffness_of(t, i);
    rf_pair_friction_derive_rt(f->trial + 2 * i, f->limit[i], secant, slip, force);
    apply(t, i, force);
  }
}

void rf_pair_friction_aim_rt(rf_pair_rows *t, const rf_pair_slots *u) {
  for (int32_t i = 0; i < t->n_rows; ++i) {
    double *slope = t->friction.slope + 2 * i;
    slip_of(t, i, u, slope);
    for (int e = 0; e < 2; ++e) slope[e] *= -stiffness_of(t, i);
  }
}

double rf_pair_friction_work_rt(const rf_pair_rows *t, double part) {
  const rf_pair_friction *f = &t->friction;
  double sum = 0.0;
  for (int32_t i = 0; i < t->n_rows; ++i) {
    if (!(f->limit[i] > 0.0)) continue;
    const double *slope = f->slope + 2 * i;
    double trial[2], force[2];
    for (int e = 0; e < 2; ++e) trial[e] = f->trial[2 * i + e] + part * slope[e];
    rf_pair_friction_return_rt(trial, f->limit[i], force);
    sum -= (force[0] * slope[0] + force[1] * slope[1]) / stiffness_of(t, i);
  }
  return sum;
}

static void add_square(int32_t n, double factor, const double *row, double *own, int32_t ld) {
  for (int32_t j = 0; j < n; ++j) {
    double *to = own + (size_t)j * (size_t)ld;
    for (int32_t m = 0; m < n && row[j] != 0.0; ++m) to[m] += factor * row[j] * row[m];
  }
}

double rf_pair_friction_stiffness_rt(const rf_pair_rows *t, int32_t i) {
  const double size = size_of(t->friction.trial + 2 * i), limit = t->friction.limit[i];
  if (!(limit > 0.0)) return 0.0;
  return stiffness_of(t, i) * (size <= limit ? 1.0 : limit / size);
}

void rf_pair_friction_add_own_rt(const rf_pair_rows *t, int side, double *own, int32_t ld) {
  const rf_pair_friction *f = &t->friction;
  const int32_t from = side ? t->side[0].size : 0;
  for (int32_t i = 0; i < t->n_rows; ++i) {
    const double k = rf_pair_friction_stiffness_rt(t, i);
    const double *rows = f->rows + 2 * (size_t)i * (size_t)t->size + from;
    for (int e = 0; e < 2 && k > 0.0; ++e)
      add_square(t->side[side].size, k, rows + e * t->size, own, ld);
  }
}

double rf_pair_friction_springs_rt(const rf_pair_rows *t, double *stored) {
  const rf_pair_friction *f = &t->friction;
  double sum = 0.0;
  for (int32_t i = 0; i < t->n_rows; ++i) {
    const double force = fmin(f->limit[i], size_of(f->trial + 2 * i));
    const double last = size_of(f->last + 2 * i);
    sum += force * force / t->stiff[i];
    *stored += 0.5 * last * last / t->stiff[i];
  }
  return sum;
}

void rf_pair_friction_limit_rt(rf_pair_rows *t, double part) {
  rf_pair_friction *f = &t->friction;
  for (int32_t i = 0; i < t->n_rows; ++i)
    f->limit[i] = part * fmin(f->limit[i], size_of(f->trial + 2 * i));
}

void rf_pair_friction_reduce_rt(rf_pair_rows *t, double part) {
  const rf_pair_friction *f = &t->friction;
  for (int32_t i = 0; i < t->n_rows; ++i) {
    double force[2];
    if (!(f->limit[i] > 0.0)) continue;
    rf_pair_friction_return_rt(f->trial + 2 * i, f->limit[i], force);
    for (int e = 0; e < 2; ++e) force[e] *= part;
    apply(t, i, force);
  }
}
