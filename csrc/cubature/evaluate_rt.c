#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "cubature/cubature.h"
#include "cubature/points_rt.h"

static void layout(rf_cubature_work *w, int32_t r, rf_arena *a) {
  const size_t padded = (size_t)(r + RF_CUBATURE_PAD - 1) / RF_CUBATURE_PAD * RF_CUBATURE_PAD;
  w->q = rf_arena_take(a, padded, sizeof(double));
  w->energy = rf_arena_take(a, RF_CUBATURE_LANES, sizeof(double));
  w->force = rf_arena_take(a, padded * RF_CUBATURE_LANES, sizeof(double));
  w->rows = rf_arena_take(a, 9 * padded * RF_CUBATURE_LANES, sizeof(double));
  w->matrix = rf_arena_take(a, padded * padded * RF_CUBATURE_LANES, sizeof(double));
}

size_t rf_cubature_work_bytes(int32_t r) {
  rf_arena count = {0};
  rf_cubature_work unused;
  layout(&unused, r, &count);
  return count.used;
}

static double sum_lanes(int lanes, const double *x) {
  double sum = 0.0;
  for (int l = 0; l < lanes; ++l) sum += x[l];
  return sum;
}

// Adds the part whose stiffness is constant.
static void add_linear(const rf_cubature *c, const double *q, double *energy, double *force,
                       double *stiffness, int32_t ld) {
  for (int32_t i = 0; i < c->r; ++i) {
    const double *row = c->linear + (int64_t)i * c->r;
    double sum = 0.0;
    for (int32_t j = 0; j < c->r; ++j) sum += row[j] * q[j];
    if (energy) *energy += 0.5 * q[i] * sum;
    if (force) force[i] += sum;
    for (int32_t j = 0; stiffness && j < c->r; ++j) stiffness[(int64_t)i * ld + j] += row[j];
  }
}

void rf_cubature_evaluate_rt(const rf_cubature *c, bool definite, const double *q, void *work,
                             double *energy, double *force, double *stiffness, int32_t ld) {
  const rf_cubature_tangent kind = definite ? RF_CUBATURE_DEFINITE : RF_CUBATURE_TANGENT;
  rf_arena carve = {.base = work};
  rf_cubature_work w;
  const int32_t r = c->r, padded = c->padded, lanes = rf_law_lanes(c->simd);
  layout(&w, r, &carve);
  memcpy(w.q, q, (size_t)r * sizeof *q);
  for (int32_t k = r; k < padded; ++k) w.q[k] = 0.0;
  RF_SIMD_CALL(c->simd, rf_cubature_add, c, &w, stiffness ? kind : RF_CUBATURE_NO_TANGENT);
  if (energy) *energy = sum_lanes(lanes, w.energy);
  for (int32_t k = 0; force && k < r; ++k) force[k] = sum_lanes(lanes, w.force + k * lanes);
  for (int32_t k = 0; stiffness && k < r; ++k)
    for (int32_t l = k; l < r; ++l)
      stiffness[(int64_t)k * ld + l] = stiffness[(int64_t)l * ld + k] =
          sum_lanes(lanes, w.matrix + ((int64_t)k * padded + l) * lanes);
  if (c->linear) add_linear(c, q, energy, force, stiffness, ld);
}

// Computes the gradient G of the displacement of a point at q, row by row.
static void gradient_at(const rf_cubature *c, int32_t point, const double *q, double g[9]) {
  const double *gradient = c->gradient + 9 * (int64_t)point * c->r;
  for (int i = 0; i < 9; ++i) g[i] = 0.0;
  for (int32_t k = 0; k < c->r; ++k)
    for (int64_t i = 0; i < 9; ++i) g[i] += q[k] * gradient[i * c->r + k];
}

void rf_cubature_deform_rt(const rf_cubature *c, int32_t point, const double *q, double f[9]) {
  gradient_at(c, point, q, f);
  for (int i = 0; i < 9; i += 4) f[i] += 1.0;
}

double rf_cubature_strain_rt(const rf_cubature *c, const double *q, int32_t first, int32_t count) {
  double largest = 0.0, g[9];
  for (int32_t n = 0; n < count; ++n) {
    gradient_at(c, (int32_t)(((int64_t)first + n) % c->n_points), q, g);
    largest = fmax(largest, rf_cubature_green(g, 1));
  }
  return largest;
}
