#include "dynamics/system_reduced.h"

#include <string.h>

#include "base/alloc.h"
#include "linalg/dense_rt.h"

static void layout(rf_reduced_system *s, const rf_reduced *model, rf_system_steps steps,
                   bool strain_rate, bool inside, rf_arena *a) {
  rf_system_dense_layout(&s->dense, model->r, steps, strain_rate || inside, a);
  s->energy_work = rf_arena_take(a, rf_reduced_work_bytes(model), 1);
  s->strain_rate_work = rf_arena_take(a, strain_rate ? rf_damping_work_bytes(model->r) : 0, 1);
}

static void release(rf_system *s) { rf_free(s); }

static rf_status copy(const rf_system *of, rf_system **out, rf_error *err) {
  const rf_reduced_system *s = (const rf_reduced_system *)of;
  return rf_system_reduced(s->model, NULL, &s->given,
                           of->explicit_steps ? RF_STEPS_EXPLICIT : RF_STEPS_IMPLICIT, out, err);
}

static rf_status require_defined(rf_system *s, const double *x, const char *subject,
                                 rf_error *err) {
  return rf_reduced_require_defined(s->model, x, subject, err);
}

// Evaluates the damping at rest, where x = 0 is in s->dense.product.
static void take_inside(rf_reduced_system *s) {
  const double *rest = s->dense.product;
  const int32_t ld = (int32_t)s->dense.base.ld;
  rf_reduced_evaluate_rt(s->model, rest, s->energy_work, NULL, NULL, s->dense.stiffness, ld);
  if (s->strain_rate)
    rf_damping_matrix_rt(s->strain_rate, rest, s->strain_rate_work, s->dense.damping, ld);
  rf_system_dense_take_inside(&s->dense, &s->given);
  s->strain_rate = NULL;
}

static const rf_system_life LIFE = {
    .release = release, .copy = copy, .require_defined = require_defined};

rf_status rf_system_reduced(const void *of, const rf_run *run, const rf_system_damping *damping,
                            rf_system_steps steps, rf_system **out, rf_error *err) {
  const bool explicit_steps = steps != RF_STEPS_IMPLICIT;
  const rf_reduced *model = of;
  (void)run;
  const int32_t r = model->r, ld = rf_dense_ld(r);
  const rf_damping *strain_rate = damping->strain_rate;
  const bool inside = explicit_steps && rf_system_dense_inside(damping);
  *out = NULL;
  rf_status st = rf_system_damping_check(damping, err);
  if (st >= 0) st = rf_system_damping_fits(strain_rate, model, err);
  if (st >= 0 && damping->viscosity)
    st = rf_fail(err, RF_ERR_ARG, "a reduced model takes no viscosities, but a reduced damping");
  if (st < 0) return st;
  rf_reduced_system sizes;
  rf_arena count = {0};
  layout(&sizes, model, steps, strain_rate != NULL, inside, &count);
  // the struct first, its arrays behind it
  const size_t head = (sizeof(rf_reduced_system) + 63) / 64 * 64;
  rf_reduced_system *s = rf_alloc(head + count.used, 1);
  if (!s)
    return rf_fail(err, RF_ERR_MEMORY, "out of memory: a simulation of r = %d needs %zu bytes", r,
                   head + count.used);
  rf_arena carve = {.base = (char *)s + head};
  layout(s, model, steps, strain_rate != NULL, inside, &carve);
  double numbers = rf_reduced_step_numbers(model);
  if (strain_rate) numbers += (double)strain_rate->count;
  s->dense.base =
      (rf_system){.operations = model->cubature ? &rf_system_cubature_rt : &rf_system_reduced_rt,
                  .life = &LIFE,
                  .model = model,
                  .n = r,
                  .ld = ld,
                  .damping_mass = damping->mass,
                  .damping_stiff = damping->stiffness,
                  .length_m = model->length_m,
                  .step_numbers = numbers,
                  .cubic_force = model->polynomial != NULL,
                  .own_damping = strain_rate != NULL,
                  .explicit_steps = explicit_steps,
                  .simd = rf_reduced_simd(model)};
  s->model = model;
  s->strain_rate = strain_rate;
  s->given = *damping;
  st = rf_system_dense_set_mass(&s->dense, model->mass, err);
  if (st < 0) {
    rf_free(s);
    return st;
  }
  if (inside) take_inside(s);
  *out = &s->dense.base;
  return st;
}

rf_status rf_system_damping_fits(const rf_damping *damping, const rf_reduced *model,
                                 rf_error *err) {
  if (!damping || damping->r == model->r) return RF_OK;
  return rf_fail(err, RF_ERR_ARG,
                 "strain_rate is the damping of %d reduced coordinates, but the model has %d",
                 damping->r, model->r);
}
