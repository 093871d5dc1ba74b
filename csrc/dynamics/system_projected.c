// A projected solid as a system: dense matrices, forces by way of the mesh (model/projected.h).
#include "dynamics/system.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "linalg/dense_rt.h"
#include "mesh/mesh.h"
#include "model/projected.h"

// Rows of matrices have ld values.
typedef struct projected_system {
  rf_system base;
  const rf_projected *model;
  double *viscosity;           // of each material, NULL: no strain-rate damping (n_materials, 2)
  double *mass, *mass_factor;  // M~, and its factor of explicit steps           (r, ld)
  double *stiffness, *damping, *factor;  // K~(x), D~(x), matrix of a solve      (r, ld)
  double *product;                       // of a matrix with a vector                      (ld)
  double *displacement;  // U x                                            (n_nodes, 3)
  bool joined;           // the stiffness has its part of D already
  rf_projected_work *projection;
} projected_system;

static projected_system *self(rf_system *s) { return (projected_system *)s; }

static void release(rf_system *base) {
  projected_system *s = self(base);
  double *const blocks[] = {s->viscosity, s->mass,   s->mass_factor, s->stiffness,
                            s->damping,   s->factor, s->product,     s->displacement};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; ++i) rf_free(blocks[i]);
  rf_projected_work_free(s->projection);
  rf_free(s);
}

static rf_status evaluate(rf_system *base, const double *x, bool tangent, double *energy,
                          double *force) {
  projected_system *s = self(base);
  const int32_t ld = (int32_t)base->ld;
  const bool needed = tangent || base->damping_stiff > 0.0;
  s->joined = false;
  const rf_status st = rf_projected_evaluate(s->model, base->run, s->projection, x, energy, force,
                                             needed ? s->stiffness : NULL, ld, base->err);
  if (st < 0 || !s->viscosity) return st;
  return rf_projected_damping(s->model, base->run, s->projection, s->viscosity, x, s->damping, ld,
                              base->err);
}

static rf_status make_definite(rf_system *base, const double *x) {
  projected_system *s = self(base);
  s->joined = false;
  return rf_projected_evaluate_as(s->model, base->run, s->projection, RF_TANGENT_DEFINITE, x, NULL,
                                  NULL, s->stiffness, (int32_t)base->ld, base->err);
}

// sum += factor A v
static void add_product(projected_system *s, double factor, const double *a, const double *v,
                        double *sum) {
  const int32_t r = s->model->r;
  rf_dense_multiply_rt(s->base.simd, r, a, (int32_t)s->base.ld, v, s->product);
  for (int32_t i = 0; i < r; ++i) sum[i] += factor * s->product[i];
}

static rf_status balance(rf_system *base, const double *x, const double *v, const double *w,
                         const double *force, const double *load, double *out) {
  projected_system *s = self(base);
  (void)x;
  if (w)
    rf_dense_multiply_rt(base->simd, s->model->r, s->mass, (int32_t)base->ld, w, out);
  else
    memset(out, 0, (size_t)base->ld * sizeof *out);
  for (int32_t i = 0; i < s->model->r; ++i) out[i] += force[i] - load[i];
  if (base->damping_stiff > 0.0) add_product(s, base->damping_stiff, s->stiffness, v, out);
  if (s->viscosity) add_product(s, 1.0, s->damping, v, out);
  return RF_OK;
}

static rf_status factorize(rf_system *base, double mass, double stiffness, double damping,
                           const double *added) {
  projected_system *s = self(base);
  const int32_t r = s->model->r, ld = (int32_t)base->ld;
  // D joins the stiffness, which is evaluated anew for each solve
  if (s->viscosity && damping != 0.0 && !s->joined)
    for (int64_t i = 0; i < (int64_t)ld * ld; ++i)
      s->stiffness[i] += damping / stiffness * s->damping[i];
  s->joined = s->joined || damping != 0.0;
  // a stiffness that is not finite is no part of the mass
  const double *k = stiffness > 0.0 ? s->stiffness : s->mass;
  rf_dense_combine_rt(base->simd, r, mass, s->mass, stiffness, k, ld, s->factor);
  if (added) rf_dense_combine_rt(base->simd, r, 1.0, s->factor, 1.0, added, ld, s->factor);
  return rf_dense_cholesky_rt(base->simd, r, s->factor, ld) ? RF_OK : RF_ERR_SINGULAR;
}

static rf_status solve(rf_system *base, const double *b, double *x) {
  const projected_system *s = self(base);
  rf_dense_cholesky_solve_rt(base->simd, s->model->r, s->factor, (int32_t)base->ld, b, x);
  return RF_OK;
}

static rf_status mass_solve(rf_system *base, const double *b, double *x) {
  const projected_system *s = self(base);
  rf_dense_cholesky_solve_rt(base->simd, s->model->r, s->mass_factor, (int32_t)base->ld, b, x);
  return RF_OK;
}

static double farthest(const rf_system *base, const double *x) {
  const projected_system *s = (const projected_system *)base;
  const rf_solid *solid = s->model->solid;
  // without memory the bound is not checked: the next step reports that
  if (rf_projected_displacement(s->model, base->run, x, s->displacement, NULL) < 0) return 0.0;
  return rf_system_largest_stretch(solid->mesh, s->displacement);
}

static rf_status multiply(rf_system *base, const double *x, double *out) {
  const projected_system *s = self(base);
  rf_dense_multiply_rt(base->simd, s->model->r, s->stiffness, (int32_t)base->ld, x, out);
  return RF_OK;
}

static double rounding(const rf_system *base, const double *x) {
  const projected_system *s = (const projected_system *)base;
  return rf_system_rounding_rt(base, s->stiffness, x);
}

static double stiffness_per_mass(const rf_system *base) {
  const projected_system *s = (const projected_system *)base;
  return rf_system_trace_ratio_rt(base, s->stiffness, s->mass);
}

static rf_system_dense dense(const rf_system *base) {
  const projected_system *s = (const projected_system *)base;
  return (rf_system_dense){.mass = s->mass,
                           .stiffness = s->stiffness,
                           .factor = s->factor,
                           .mass_factor = s->mass_factor};
}

static rf_status require_defined(rf_system *base, const double *x, const char *subject,
                                 rf_error *err) {
  static const rf_run ONE = {.threads = 1};
  const projected_system *s = self(base);
  return rf_projected_require_defined(s->model, base->run ? base->run : &ONE, s->projection, x,
                                      subject, err);
}

static const rf_system_operations OPERATIONS = {.evaluate = evaluate,
                                                .make_definite = make_definite,
                                                .balance = balance,
                                                .factorize = factorize,
                                                .solve = solve,
                                                .mass_solve = mass_solve,
                                                .farthest = farthest,
                                                .multiply = multiply,
                                                .rounding = rounding,
                                                .dense = dense,
                                                .stiffness_per_mass = stiffness_per_mass};
static const rf_system_life LIFE = {.release = release, .require_defined = require_defined};

rf_status rf_system_projected(const void *of, const rf_run *run, const rf_system_damping *damping,
                              rf_system_steps steps, rf_system **out, rf_error *err) {
  const bool explicit_steps = steps != RF_STEPS_IMPLICIT;
  const rf_projected *model = of;
  (void)run;
  rf_status st = RF_OK;
  projected_system *s = NULL;
  const int32_t r = model->r, ld = rf_dense_ld(r), n_materials = model->solid->n_materials;
  const int64_t square = (int64_t)ld * ld;
  *out = NULL;
  RF_TRY(rf_system_damping_check(damping, err));
  if (damping->strain_rate)
    return rf_fail(err, RF_ERR_ARG, "a projected solid takes the viscosities of its solid");
  RF_ALLOC(s, 1);
  s->base = (rf_system){
      .operations = &OPERATIONS,
      .life = &LIFE,
      .model = model,
      .n = r,
      .ld = ld,
      .damping_mass = damping->mass,
      .damping_stiff = damping->stiffness,
      .length_m = rf_mesh_length(model->solid->mesh->n_nodes, model->solid->mesh->nodes),
      .cubic_force = rf_solid_is_quadratic(model->solid),
      .own_damping = damping->viscosity != NULL,
      .explicit_steps = explicit_steps,
      .simd = model->solid->simd};
  s->model = model;
  if (damping->viscosity) {
    RF_TRY(rf_viscosity_check(n_materials, damping->viscosity, err));
    RF_ALLOC(s->viscosity, 2 * (int64_t)n_materials);
    memcpy(s->viscosity, damping->viscosity, 2 * (size_t)n_materials * sizeof(double));
    RF_ALLOC(s->damping, square);
  }
  RF_ALLOC(s->mass, square);
  RF_ALLOC(s->stiffness, square);
  RF_ALLOC(s->product, ld);
  RF_ALLOC(s->displacement, 3 * (int64_t)model->solid->mesh->n_nodes);
  RF_TRY(rf_projected_work_create(model, &s->projection, err));
  for (int32_t i = 0; i < r; ++i)
    memcpy(s->mass + (int64_t)i * ld, model->mass + (int64_t)i * r, (size_t)r * sizeof(double));
  if (explicit_steps) {
    RF_ALLOC(s->mass_factor, square);
    memcpy(s->mass_factor, s->mass, (size_t)square * sizeof(double));
    if (!rf_dense_cholesky_rt(s->base.simd, r, s->mass_factor, ld)) {
      st = rf_fail(err, RF_ERR_SINGULAR, "reduced mass matrix is not positive definite");
      goto done;
    }
  } else {
    RF_ALLOC(s->factor, square);
  }
  *out = &s->base;
  s = NULL;
done:
  if (s) release(&s->base);
  return st;
}
