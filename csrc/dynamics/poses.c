// Poses for the training of cubatures.
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "dynamics/statics.h"
#include "linalg/vector.h"
#include "model/sampled.h"

static const double RIGID = 1e-9;    // eigenvalues below this part of the largest are rigid motions
static const double EXCESS = 2.0;    // most strain of a pose, over that of the linear response
static const double RESIDUAL = 0.5;  // of a pose of the rough model, on the mesh, over the load
static const double TURN = 6.283185307179586;

enum { ATTEMPTS = 4, ROUGH_POINTS = 1024 };

static const rf_static_settings STATIC = {.tolerance = 1e-6, .load_steps = 1, .newton_max = 30};

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
  double *load, *force;
  double *u, *nodal;  // (n, 3)
  double strain;      // of the linear response
  rf_reduced *rough;  // of a large mesh; NULL: a small one
} draw;

// q = factor V a
static void combine(const draw *d, double factor, const double *modal, double *q) {
  const int32_t r = d->model->r;
  memset(q, 0, (size_t)r * sizeof *q);
  for (int32_t i = 0; i < r; ++i)
    for (int32_t k = 0; k < r; ++k) q[k] += factor * modal[i] * d->vectors[i * r + k];
}

// Draws a pose of the linear equations in thermal equilibrium, scaled to a strain.
static rf_status draw_linear(draw *d, uint64_t *state, double *q, rf_error *err) {
  const int32_t r = d->model->r;
  const double least = RIGID * d->values[r - 1];
  for (int32_t i = 0; i < r; ++i) {
    const double normal = next_normal(state);
    d->modal[i] = d->values[i] > least ? normal / sqrt(d->values[i]) : 0.0;
  }
  combine(d, 1.0, d->modal, q);
  const rf_status st = rf_projected_displacement(d->model, d->run, q, d->u, err);
  if (st < 0) return st;
  const double factor = rf_solid_strain_factor(d->model->solid, d->u, d->strain);
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

// Returns |x| in the norm of the energy, which stiff modes do not dominate.
static double size_of(const draw *d, const double *x) {
  const int32_t r = d->model->r;
  double sum = 0.0;
  for (int32_t i = 0; i < r; ++i) {
    const double modal = rf_dot(r, d->vectors + (int64_t)i * r, x);
    if (d->values[i] > RIGID * d->values[r - 1]) sum += modal * modal / d->values[i];
  }
  return sqrt(sum);
}

// RF_ERR_NO_CONVERGENCE at poses that a load has snapped to far away.
static rf_status refuse_far(draw *d, const double *q, rf_error *err) {
  const rf_status st = rf_projected_displacement(d->model, d->run, q, d->u, err);
  if (st < 0) return st;
  const double factor = rf_solid_strain_factor(d->model->solid, d->u, EXCESS * d->strain);
  return factor < 1.0 ? RF_ERR_NO_CONVERGENCE : RF_OK;
}

static rf_status balance_mesh(draw *d, const rf_run *run, double *q, rf_error *err) {
  rf_static_report report;
  const rf_status st = rf_statics_solve_projected(d->model, run, &STATIC, d->load, q, &report, err);
  return st < 0 ? st : refuse_far(d, q, err);
}

// Solves the rough model.  RF_ERR_NO_CONVERGENCE where the mesh is far from equilibrium, too, or
// its law is not defined.
static rf_status balance_roughly(draw *d, const rf_run *run, double *q, rf_error *err) {
  rf_status st = RF_OK;
  rf_static_report report;
  RF_TRY(rf_statics_solve_reduced(d->rough, run, &STATIC, d->load, q, &report, err));
  RF_TRY(refuse_far(d, q, err));
  RF_TRY(rf_solid_evaluate(d->model->solid, run, d->u, NULL, d->nodal, NULL, err));
  RF_TRY(rf_projected_project(d->model, run, d->nodal, d->force, err));
  for (int32_t i = 0; i < d->model->r; ++i) d->force[i] -= d->load[i];
  if (!(size_of(d, d->force) <= RESIDUAL * size_of(d, d->load))) st = RF_ERR_NO_CONVERGENCE;
done:
  return st;
}

// Replaces a linear pose by the equilibrium under its load, or under a part of it; without any the
// pose stays linear, and small.  Training needs no equilibria in the strict sense: those of a rough
// model serve as well, at a small part of the cost.
static rf_status balance(draw *d, double *q, rf_error *err) {
  const rf_run quiet = {.threads = d->run->threads};
  double part = 1.0;
  for (int k = 0; k < ATTEMPTS; ++k, part *= 0.5) {
    find_load(d, part);
    memset(q, 0, (size_t)d->model->r * sizeof *q);
    const rf_status st = (d->rough ? balance_roughly : balance_mesh)(d, &quiet, q, err);
    if (st != RF_ERR_NO_CONVERGENCE) return st;
  }
  combine(d, part, d->modal, q);
  return RF_OK;
}

static int64_t n_points(const rf_solid *solid) {
  int64_t sum = 0;
  for (int32_t e = 0; e < solid->mesh->n_elements; ++e) sum += rf_solid_points(solid, e);
  return sum;
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
  if (n_points(model->solid) > ROUGH_POINTS) {
    RF_ALLOC(d.nodal, n);
    RF_ALLOC(d.force, r);
    RF_TRY(rf_reduced_build_spread(model, run, ROUGH_POINTS, &d.rough, err));
  }
  for (int32_t k = 0; k < count; ++k) {
    // a golden ratio spreads the strains evenly, also over those that are held out
    const double share = 0.5 + 0.6180339887498949 * k;
    d.strain = strain * fmax(share - floor(share), 0.02);
    RF_TRY(draw_linear(&d, &seed, q + (int64_t)k * r, err));
    RF_TRY(balance(&d, q + (int64_t)k * r, err));
    RF_TRY(rf_run_progress(run, k + 1, count, err));
  }
done:
  rf_free(d.values);
  rf_free(d.vectors);
  rf_free(d.modal);
  rf_free(d.load);
  rf_free(d.u);
  rf_free(d.force);
  rf_free(d.nodal);
  rf_reduced_free(d.rough);
  return st;
}
