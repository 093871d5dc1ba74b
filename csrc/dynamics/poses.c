// Poses for the training of cubatures.
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "dynamics/statics.h"
#include "linalg/vector.h"
#include "model/sampled.h"

static const double RIGID = 1e-9;  // eigenvalues below this part of the largest are rigid motions
static const double TURN = 6.283185307179586;

enum { ATTEMPTS = 4, ITERATIONS = 60, HALVINGS = 6 };

// Generator splitmix64.
static uint64_t next_bits(uint64_t *state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// Returns a number in (0, 1].
static double next_uniform(uint64_t *state) {
  return (double)((next_bits(state) >> 11) + 1) * 0x1p-53;
}

static double next_normal(uint64_t *state) {
  const double radius = sqrt(-2.0 * log(next_uniform(state)));
  return radius * cos(TURN * next_uniform(state));
}

typedef struct draw {
  const rf_projected *model;
  const rf_run *run;
  double *values, *vectors;  // modes at rest
  double *modal;             // coordinates of a pose in them
  double *load;
  double *u;  // (n, 3)
} draw;

// q = factor V a
static void combine(const draw *d, double factor, const double *modal, double *q) {
  const int32_t r = d->model->r;
  memset(q, 0, (size_t)r * sizeof *q);
  for (int32_t i = 0; i < r; ++i)
    for (int32_t k = 0; k < r; ++k) q[k] += factor * modal[i] * d->vectors[i * r + k];
}

// Draws a pose of the linear equations in thermal equilibrium, scaled to a strain.
static rf_status draw_linear(draw *d, double strain, uint64_t *state, double *q, rf_error *err) {
  const int32_t r = d->model->r;
  const double least = RIGID * d->values[r - 1];
  for (int32_t i = 0; i < r; ++i) {
    const double normal = next_normal(state);
    d->modal[i] = d->values[i] > least ? normal / sqrt(d->values[i]) : 0.0;
  }
  combine(d, 1.0, d->modal, q);
  const rf_status st = rf_projected_displacement(d->model, d->run, q, d->u, err);
  if (st < 0) return st;
  const double factor = rf_solid_strain_factor(d->model->solid, d->u, strain);
  if (!isfinite(factor))
    return rf_fail(err, RF_ERR_ARG, "no vector of the basis deforms the solid");
  for (int32_t i = 0; i < r; ++i) d->modal[i] *= factor;
  for (int32_t i = 0; i < r; ++i) q[i] *= factor;
  return st;
}

// Computes the load M V (lambda a), whose linear response is the pose drawn.
static void find_load(draw *d, double part) {
  const int32_t r = d->model->r;
  double *forces = d->u;  // of the modes; u has 3 n >= r numbers where the basis is independent
  for (int32_t i = 0; i < r; ++i) forces[i] = d->values[i] * d->modal[i];
  double *q = forces + r;
  combine(d, part, forces, q);
  for (int32_t i = 0; i < r; ++i) d->load[i] = rf_dot(r, d->model->mass + (int64_t)i * r, q);
}

// Replaces a linear pose by the equilibrium under its load, or under a part of it; without any the
// pose stays linear, and small.
static rf_status balance(draw *d, double *q, rf_error *err) {
  const int32_t r = d->model->r;
  const rf_static_settings set = {
      .tolerance = 1e-6, .load_steps = 1, .newton_max = ITERATIONS, .halvings = HALVINGS};
  const rf_run quiet = {.threads = d->run->threads};
  double part = 1.0;
  for (int k = 0; k < ATTEMPTS; ++k, part *= 0.5) {
    rf_static_report report;
    find_load(d, part);
    memset(q, 0, (size_t)r * sizeof *q);
    const rf_status st =
        rf_statics_solve_projected(d->model, &quiet, &set, d->load, q, &report, err);
    if (st != RF_ERR_NO_CONVERGENCE) return st;
  }
  combine(d, part, d->modal, q);
  return RF_OK;
}

rf_status rf_statics_draw_poses(const rf_projected *model, const rf_run *run, int32_t count,
                                double strain, uint64_t seed, double *q, rf_error *err) {
  rf_status st = RF_OK;
  const int32_t r = model->r;
  const int64_t n = 3 * (int64_t)model->solid->mesh->n_nodes;
  draw d = {.model = model, .run = run};
  if (!(isfinite(strain) && strain > 0.0))
    return rf_fail(err, RF_ERR_ARG, "strain must be finite and positive, got %g", strain);
  RF_ALLOC(d.values, r);
  RF_ALLOC(d.vectors, r * r);
  RF_ALLOC(d.modal, r);
  RF_ALLOC(d.load, r);
  RF_ALLOC(d.u, n > 2 * r ? n : 2 * r);
  RF_TRY(rf_projected_modes(model, run, d.values, d.vectors, err));
  for (int32_t k = 0; k < count; ++k) {
    // a golden ratio spreads the strains evenly, also over those that are held out
    const double share = 0.5 + 0.6180339887498949 * k;
    const double size = strain * fmax(share - floor(share), 0.02);
    RF_TRY(draw_linear(&d, size, &seed, q + (int64_t)k * r, err));
    RF_TRY(balance(&d, q + (int64_t)k * r, err));
    RF_TRY(rf_run_progress(run, k + 1, count, err));
  }
done:
  rf_free(d.values);
  rf_free(d.vectors);
  rf_free(d.modal);
  rf_free(d.load);
  rf_free(d.u);
  return st;
}
