#include "integrator/newmark_projected.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "linalg/dense_rt.h"
#include "linalg/vector.h"

// Vectors have ld entries, matrices ld rows of ld; beyond r all are zero.
struct rf_projected_newmark_work {
  int32_t ld;
  rf_simd simd;
  double *mass, *stiffness, *system;  // M~, K~(x), a1 M~ + a4 C~ + K~
  double *damping;                    // D~(x), with strain-rate damping only
  double *x, *xdot, *xddot;           // the step being computed
  double *force;                      // R~(x)
  double *residual;                   // and then the increment
  double *product;
  double *applied;  // external force, with the constant one
  rf_projected_work *projection;
};

static void free_work(rf_projected_newmark_work *w) {
  if (!w) return;
  double *const blocks[] = {w->mass,  w->stiffness, w->system,   w->damping, w->x,      w->xdot,
                            w->xddot, w->force,     w->residual, w->product, w->applied};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; ++i) rf_free(blocks[i]);
  rf_projected_work_free(w->projection);
  rf_free(w);
}

static rf_status create_work(const rf_projected *model, bool strain_rate,
                             rf_projected_newmark_work **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_projected_newmark_work *w = NULL;
  const int32_t r = model->r, ld = rf_dense_ld(r);
  *out = NULL;
  RF_ALLOC(w, 1);
  w->ld = ld;
  w->simd = model->solid->simd;
  double **const matrices[] = {&w->mass, &w->stiffness, &w->system};
  double **const vectors[] = {&w->x,        &w->xdot,    &w->xddot,  &w->force,
                              &w->residual, &w->product, &w->applied};
  for (size_t i = 0; i < sizeof matrices / sizeof *matrices; ++i)
    RF_ALLOC(*matrices[i], (int64_t)ld * ld);
  if (strain_rate) RF_ALLOC(w->damping, (int64_t)ld * ld);
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; ++i) RF_ALLOC(*vectors[i], ld);
  for (int32_t i = 0; i < r; ++i)
    memcpy(w->mass + (int64_t)i * ld, model->mass + (int64_t)i * r, (size_t)r * sizeof(double));
  RF_TRY(rf_projected_work_create(model, &w->projection, err));
  *out = w;
  w = NULL;
done:
  free_work(w);
  return st;
}

rf_status rf_projected_newmark_create(const rf_projected *model, const rf_run *run,
                                      const rf_newmark_settings *set, rf_projected_newmark **out,
                                      rf_error *err) {
  rf_status st = RF_OK;
  rf_projected_newmark *s = NULL;
  *out = NULL;
  if (set->strain_rate)
    return rf_fail(err, RF_ERR_ARG, "a projected solid takes the viscosities of its solid");
  const int32_t n_materials = model->solid->n_materials;
  RF_ALLOC(s, 1);
  s->set = *set;
  s->model = model;
  RF_TRY(rf_newmark_check(set, &s->coef, err));
  if (set->viscosity) {
    RF_TRY(rf_viscosity_check(n_materials, set->viscosity, err));
    RF_ALLOC(s->viscosity, 2 * (int64_t)n_materials);
    memcpy(s->viscosity, set->viscosity, 2 * (size_t)n_materials * sizeof(double));
  }
  s->set.viscosity = s->viscosity;
  if (set->load) {
    RF_ALLOC(s->load, model->r);
    memcpy(s->load, set->load, (size_t)model->r * sizeof(double));
  }
  s->set.load = s->load;
  RF_ALLOC(s->q, model->r);
  RF_ALLOC(s->qdot, model->r);
  RF_ALLOC(s->qddot, model->r);
  RF_TRY(create_work(model, s->viscosity != NULL, &s->work, err));
  RF_TRY(rf_projected_newmark_reset(s, run, NULL, NULL, NULL, err));
  *out = s;
  s = NULL;
done:
  rf_projected_newmark_free(s);
  return st;
}

void rf_projected_newmark_free(rf_projected_newmark *s) {
  if (!s) return;
  rf_free(s->q);
  rf_free(s->qdot);
  rf_free(s->qddot);
  rf_free(s->viscosity);
  rf_free(s->load);
  free_work(s->work);
  rf_free(s);
}

static void update_rates(rf_projected_newmark *s) {
  const rf_newmark_coefficients c = s->coef;
  rf_projected_newmark_work *w = s->work;
  for (int32_t i = 0; i < s->model->r; ++i) {
    const double dx = w->x[i] - s->q[i];
    w->xddot[i] = c.a1 * dx - c.a2 * s->qdot[i] - c.a3 * s->qddot[i];
    w->xdot[i] = c.a4 * dx + c.a5 * s->qdot[i] + c.a6 * s->qddot[i];
  }
}

// force, stiffness and damping at w->x
static rf_status evaluate(const rf_projected_newmark *s, const rf_run *run, rf_error *err) {
  rf_projected_newmark_work *w = s->work;
  const rf_status st = rf_projected_evaluate(s->model, run, w->projection, w->x, NULL, w->force,
                                             w->stiffness, w->ld, err);
  if (st < 0 || !s->viscosity) return st;
  return rf_projected_damping(s->model, run, w->projection, s->viscosity, w->x, w->damping, w->ld,
                              err);
}

// adds `factor` times what damps beside the mass, (beta K + D) v, to the sum
static void add_damping(const rf_projected_newmark *s, double factor, double *sum) {
  rf_projected_newmark_work *w = s->work;
  const int32_t r = s->model->r;
  rf_dense_multiply_rt(w->simd, r, w->stiffness, w->ld, w->xdot, w->product);
  for (int32_t i = 0; i < r; ++i) sum[i] += factor * s->set.damping_stiff * w->product[i];
  if (!s->viscosity) return;
  rf_dense_multiply_rt(w->simd, r, w->damping, w->ld, w->xdot, w->product);
  for (int32_t i = 0; i < r; ++i) sum[i] += factor * w->product[i];
}

// residual = M (acc + alpha v) + (beta K + D) v + R - f; its norm
static double residual_norm(const rf_projected_newmark *s) {
  rf_projected_newmark_work *w = s->work;
  const int32_t r = s->model->r;
  for (int32_t i = 0; i < r; ++i) w->product[i] = w->xddot[i] + s->set.damping_mass * w->xdot[i];
  rf_dense_multiply_rt(w->simd, r, w->mass, w->ld, w->product, w->residual);
  for (int32_t i = 0; i < r; ++i) w->residual[i] += w->force[i] - w->applied[i];
  add_damping(s, 1.0, w->residual);
  return rf_norm(r, w->residual);
}

// The factor of `of_mass` M + K + a4 (beta K + D); false when it is not positive definite.  K has
// that part of D already.
static bool factorize(const rf_projected_newmark *s, double of_mass) {
  rf_projected_newmark_work *w = s->work;
  const double of_stiffness = 1.0 + s->coef.a4 * s->set.damping_stiff;
  const int32_t r = s->model->r;
  rf_dense_combine_rt(w->simd, r, of_mass, w->mass, of_stiffness, w->stiffness, w->ld, w->system);
  return rf_dense_cholesky_rt(w->simd, r, w->system, w->ld);
}

// residual becomes the increment; false when no factor is found
static bool solve(rf_projected_newmark *s) {
  rf_projected_newmark_work *w = s->work;
  const int32_t r = s->model->r, ld = w->ld;
  const double of_stiffness = 1.0 + s->coef.a4 * s->set.damping_stiff;
  double of_mass = s->coef.a1 + s->coef.a4 * s->set.damping_mass;
  ++s->report.solves;
  // what damps by the rate of strain joins the stiffness, which is evaluated anew for each solve
  if (s->viscosity)
    for (int64_t i = 0; i < (int64_t)ld * ld; ++i)
      w->stiffness[i] += s->coef.a4 / of_stiffness * w->damping[i];
  for (int shift = 0; !factorize(s, of_mass); ++shift) {
    if (shift == 0) ++s->report.indefinite;
    if (shift == RF_NEWMARK_SHIFTS) return false;
    of_mass *= 4.0;
  }
  for (int32_t i = 0; i < r; ++i) w->residual[i] = -w->residual[i];
  rf_dense_cholesky_solve_rt(w->simd, r, w->system, ld, w->residual, w->residual);
  return true;
}

// what a step or a reset arrived at becomes the state, if it is finite
static bool accept(rf_projected_newmark *s) {
  const rf_projected_newmark_work *w = s->work;
  const int32_t r = s->model->r;
  const size_t bytes = (size_t)r * sizeof(double);
  // a sum of squares is finite only if every term is
  if (!isfinite(rf_dot(r, w->x, w->x) + rf_dot(r, w->xdot, w->xdot) +
                rf_dot(r, w->xddot, w->xddot)))
    return false;
  memcpy(s->q, w->x, bytes);
  memcpy(s->qdot, w->xdot, bytes);
  memcpy(s->qddot, w->xddot, bytes);
  return true;
}

static rf_status one_step(rf_projected_newmark *s, const rf_run *run, rf_error *err) {
  rf_projected_newmark_work *w = s->work;
  const int32_t r = s->model->r;
  double scale = 0.0, residual = 0.0, history[RF_NEWMARK_HISTORY];
  int32_t solves = 0;
  bool converged = false;

  memcpy(w->x, s->q, (size_t)r * sizeof(double));
  for (int32_t iteration = 0; iteration < s->set.newton_max; ++iteration) {
    update_rates(s);
    const rf_status st = evaluate(s, run, err);
    if (st < 0) return st;
    const double now = residual_norm(s);
    if (!isfinite(now)) return rf_newmark_diverged(s->time_s, err);
    if (iteration == 0) scale = fmax(now, fmax(rf_norm(r, w->force), rf_norm(r, w->applied)));
    residual = scale > 0.0 ? now / scale : 0.0;
    if (iteration < RF_NEWMARK_HISTORY) history[iteration] = residual;
    converged = now <= s->set.tolerance * scale;
    if (converged) break;
    if (!solve(s)) return rf_newmark_diverged(s->time_s, err);
    ++solves;
    for (int32_t i = 0; i < r; ++i) w->x[i] += w->residual[i];
  }
  update_rates(s);
  if (!accept(s)) return rf_newmark_diverged(s->time_s, err);
  rf_newmark_note_rt(&s->report, solves, converged, history, residual);
  s->time_s = (double)s->report.steps * s->set.dt_s;  // a sum would drift
  return RF_OK;
}

rf_status rf_projected_newmark_step(rf_projected_newmark *s, const rf_run *run, const double *force,
                                    int64_t n, rf_error *err) {
  for (int32_t i = 0; i < s->model->r; ++i)
    s->work->applied[i] = (s->load ? s->load[i] : 0.0) + (force ? force[i] : 0.0);
  for (int64_t i = 0; i < n; ++i) {
    const rf_status st = one_step(s, run, err);
    if (st < 0) return st;
  }
  return RF_OK;
}

rf_status rf_projected_newmark_reset(rf_projected_newmark *s, const rf_run *run, const double *q,
                                     const double *qdot, const double *qddot, rf_error *err) {
  rf_projected_newmark_work *w = s->work;
  const int32_t r = s->model->r;
  const size_t bytes = (size_t)r * sizeof(double);
  memset(w->x, 0, bytes);
  memset(w->xdot, 0, bytes);
  if (q) memcpy(w->x, q, bytes);
  if (qdot) memcpy(w->xdot, qdot, bytes);
  memset(w->xddot, 0, bytes);
  if (qddot) {
    memcpy(w->xddot, qddot, bytes);
  } else if (q || qdot || s->load) {
    // M a = load - (alpha M + beta K + D) v - R
    const rf_status st = evaluate(s, run, err);
    if (st < 0) return st;
    for (int32_t i = 0; i < r; ++i) w->xddot[i] = (s->load ? s->load[i] : 0.0) - w->force[i];
    add_damping(s, -1.0, w->xddot);
    memcpy(w->system, w->mass, (size_t)w->ld * (size_t)w->ld * sizeof(double));
    if (!rf_dense_lu_solve_rt(r, w->system, w->ld, w->xddot))
      return rf_fail(err, RF_ERR_SINGULAR, "reduced mass matrix is singular");
    for (int32_t i = 0; i < r; ++i) w->xddot[i] -= s->set.damping_mass * w->xdot[i];
  }
  if (!accept(s)) return rf_motion_not_finite(err);
  s->time_s = 0.0;
  s->report = (rf_newmark_report){0};
  return RF_OK;
}
