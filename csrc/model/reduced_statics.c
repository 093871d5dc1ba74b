// Static equilibrium in reduced coordinates, by fem/newton.c on a few dense ones.
#include "model/reduced_statics.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "fem/newton.h"
#include "linalg/dense_rt.h"
#include "linalg/vector.h"

// Equilibrium equations, by polynomials or by way of the mesh.
typedef struct equations {
  int32_t r;
  rf_simd simd;
  const double *mass;  // (r, r)
  // energy, force (r) and, unless NULL, stiffness (r rows of ld)
  rf_status (*evaluate)(const struct equations *e, const double *q, double *energy, double *force,
                        double *stiffness, int32_t ld, rf_error *err);
  const void *model;
  const rf_run *run;
  void *work;
} equations;

typedef struct statics {
  rf_newton newton;
  const equations *equations;
  const double *whole;  // load
  int32_t ld;
  double *mass, *stiffness, *factor;  // (r rows of ld)
  double *load, *force;               // part of the load, R   (ld)
} statics;

static void layout(statics *w, int32_t r, rf_arena *a) {
  w->ld = rf_dense_ld(r);
  const size_t ld = (size_t)w->ld;
  double **const matrices[] = {&w->mass, &w->stiffness, &w->factor};
  double **const vectors[] = {&w->load,        &w->force,           &w->newton.trial,
                              &w->newton.next, &w->newton.residual, &w->newton.direction};
  for (size_t i = 0; i < sizeof matrices / sizeof *matrices; ++i)
    *matrices[i] = rf_arena_take(a, ld * ld, sizeof(double));
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; ++i)
    *vectors[i] = rf_arena_take(a, ld, sizeof(double));
}

static rf_status begin(rf_newton *n, double part, double *q, rf_error *err) {
  (void)q, (void)err;
  statics *w = n->context;
  for (int32_t i = 0; i < w->equations->r; ++i) w->load[i] = part * w->whole[i];
  return RF_OK;
}

static rf_status evaluate(rf_newton *n, const double *q, bool tangent, rf_error *err) {
  statics *w = n->context;
  const equations *e = w->equations;
  const int32_t r = e->r;
  double energy;
  const rf_status st =
      e->evaluate(e, q, &energy, w->force, tangent ? w->stiffness : NULL, w->ld, err);
  if (st < 0) return st;
  const double work = rf_dot(r, w->load, q);
  n->potential = energy - work;
  n->magnitude = fabs(energy) + fabs(work);
  n->scale = fmax(rf_norm(r, w->load), rf_norm(r, w->force));
  for (int32_t i = 0; i < r; ++i) n->residual[i] = w->load[i] - w->force[i];
  return RF_OK;
}

static double rounding(const rf_newton *n, const double *q) {
  const statics *w = n->context;
  double sum = 0.0;
  for (int32_t i = 0; i < w->equations->r; ++i) {
    double row = 0.0;
    for (int32_t j = 0; j < w->equations->r; ++j) row += fabs(w->stiffness[i * w->ld + j] * q[j]);
    sum += row * row;
  }
  return DBL_EPSILON * sqrt(sum);
}

static double stiffness_per_mass(const rf_newton *n) {
  const statics *w = n->context;
  double stiffness = 0.0, mass = 0.0;
  for (int32_t i = 0; i < w->equations->r; ++i) {
    stiffness += fabs(w->stiffness[i * w->ld + i]);
    mass += w->mass[i * w->ld + i];
  }
  return stiffness / mass;
}

static rf_status factorize(rf_newton *n, double shift, rf_error *err) {
  statics *w = n->context;
  const rf_simd simd = w->equations->simd;
  rf_dense_combine_rt(simd, w->equations->r, shift, w->mass, 1.0, w->stiffness, w->ld, w->factor);
  if (rf_dense_cholesky_rt(simd, w->equations->r, w->factor, w->ld)) return RF_OK;
  return rf_fail(err, RF_ERR_SINGULAR, "the reduced stiffness is not positive definite");
}

static rf_status solve(rf_newton *n, rf_error *err) {
  (void)err;
  const statics *w = n->context;
  rf_dense_cholesky_solve_rt(w->equations->simd, w->equations->r, w->factor, w->ld, n->residual,
                             n->direction);
  return RF_OK;
}

static void move(const rf_newton *n, double length, const double *from, double *to) {
  for (int64_t i = 0; i < n->n_values; ++i) to[i] = from[i] + length * n->direction[i];
}

static const rf_newton_problem PROBLEM = {.begin = begin,
                                          .evaluate = evaluate,
                                          .stiffness_per_mass = stiffness_per_mass,
                                          .factorize = factorize,
                                          .solve = solve,
                                          .move = move,
                                          .rounding = rounding};

static rf_status check(int32_t r, const rf_static_settings *set, const double *force,
                       const double *q, rf_error *err) {
  for (int32_t i = 0; i < r; ++i)
    if (!(isfinite(force[i]) && isfinite(q[i])))
      return rf_fail(err, RF_ERR_ARG, "force[%d] is %g and q0[%d] is %g; both must be finite", i,
                     force[i], i, q[i]);
  return rf_newton_check(set, err);
}

static rf_status balance(const equations *e, const rf_run *run, const rf_static_settings *set,
                         const double *force, double *q, rf_static_report *report, rf_error *err) {
  const int32_t r = e->r;
  rf_status st = check(r, set, force, q, err);
  if (st < 0) return st;
  // at_rest stays false: a free model has a singular stiffness at rest
  statics w = {.equations = e, .whole = force};
  w.newton = (rf_newton){.problem = &PROBLEM, .context = &w, .n_values = r, .n_unknowns = r};
  rf_arena count = {0};
  layout(&w, r, &count);
  void *memory = rf_alloc(count.used, 1);
  if (!memory)
    return rf_fail(err, RF_ERR_MEMORY, "out of memory: statics of r = %d need %zu bytes", r,
                   count.used);
  rf_arena carve = {.base = memory};
  layout(&w, r, &carve);
  for (int32_t i = 0; i < r; ++i)
    memcpy(w.mass + (int64_t)i * w.ld, e->mass + (int64_t)i * r, (size_t)r * sizeof(double));
  st = rf_newton_solve(&w.newton, run, set, q, report, err);
  rf_free(memory);
  return st;
}

static rf_status by_polynomials(const equations *e, const double *q, double *energy, double *force,
                                double *stiffness, int32_t ld, rf_error *err) {
  (void)err;
  const rf_reduced *model = e->model;
  rf_polynomial_evaluate_rt(model->polynomial, q, e->work, energy, force, stiffness, ld);
  return RF_OK;
}

rf_status rf_reduced_solve_static(const rf_reduced *model, const rf_run *run,
                                  const rf_static_settings *set, const double *force, double *q,
                                  rf_static_report *report, rf_error *err) {
  rf_status st = RF_OK;
  equations e = {.r = model->r,
                 .simd = model->polynomial->simd,
                 .mass = model->mass,
                 .evaluate = by_polynomials,
                 .model = model};
  memset(report, 0, sizeof *report);
  e.work = rf_alloc(rf_polynomial_work_bytes(e.r), 1);
  if (!e.work) return rf_fail(err, RF_ERR_MEMORY, "out of memory: statics of r = %d", e.r);
  st = balance(&e, run, set, force, q, report, err);
  rf_free(e.work);
  return st;
}

static rf_status by_the_mesh(const equations *e, const double *q, double *energy, double *force,
                             double *stiffness, int32_t ld, rf_error *err) {
  return rf_projected_evaluate(e->model, e->run, e->work, q, energy, force, stiffness, ld, err);
}

rf_status rf_projected_solve_static(const rf_projected *model, const rf_run *run,
                                    const rf_static_settings *set, const double *force, double *q,
                                    rf_static_report *report, rf_error *err) {
  rf_projected_work *work = NULL;
  memset(report, 0, sizeof *report);
  rf_status st = rf_projected_work_create(model, &work, err);
  if (st < 0) return st;
  const equations e = {.r = model->r,
                       .simd = model->solid->simd,
                       .mass = model->mass,
                       .evaluate = by_the_mesh,
                       .model = model,
                       .run = run,
                       .work = work};
  st = balance(&e, run, set, force, q, report, err);
  rf_projected_work_free(work);
  return st;
}
