#include "pyext/py_schemes.h"

#include "integrator/central_solid.h"
#include "integrator/newmark_projected.h"
#include "integrator/newmark_solid.h"

enum { MOST_STEPS = 256 };
static const double WORK_PER_CHUNK = 1e7;  // numbers, of which a core reads some in a nanosecond

double py_step_work(const rf_reduced *model, const rf_newmark_settings *set) {
  double numbers = (double)model->polynomial->count;
  if (set->strain_rate) numbers += (double)set->strain_rate->count;
  return numbers * (set->newton_max > 1 ? set->newton_max : 1);
}

int64_t py_step_chunk(double work) {
  const double steps = WORK_PER_CHUNK / work;
  return steps < 1.0 ? 1 : steps < MOST_STEPS ? (int64_t)steps : MOST_STEPS;
}

static rf_status newmark_reduced_create(const void *system, const rf_run *run,
                                        const rf_newmark_settings *set, void **out, rf_error *err) {
  (void)run;
  rf_newmark *s;
  const rf_status st = rf_newmark_create(system, set, &s, err);
  *out = s;
  return st;
}
static void newmark_reduced_free(void *s) { rf_newmark_free(s); }
static rf_status newmark_reduced_step(void *s, const rf_run *run, const double *force, int64_t n,
                                      rf_error *err) {
  (void)run;
  const rf_status st = rf_newmark_step_within_rt(s, force, n);
  return st < 0 ? rf_newmark_explain(s, "the simulation", "smaller forces", err) : st;
}
static rf_status newmark_reduced_reset(void *s, const rf_run *run, const double *q,
                                       const double *qdot, const double *qddot, rf_error *err) {
  (void)run;
  return rf_newmark_reset(s, q, qdot, qddot, err);
}
static void newmark_reduced_set_steps(void *of, int64_t steps) {
  rf_newmark *s = of;
  s->report.steps = steps;
  s->time_s = (double)steps * s->set.dt_s;
}

static py_scheme_state newmark_reduced_look(const void *from) {
  const rf_newmark *s = from;
  return (py_scheme_state){s->q, s->qdot, s->qddot, s->time_s};
}
static rf_newmark_report newmark_reduced_report(const void *s) {
  return ((const rf_newmark *)s)->report;
}
const py_scheme py_newmark_reduced = {.kind = PY_IS_REDUCED,
                                      .implicit = true,
                                      .create = newmark_reduced_create,
                                      .release = newmark_reduced_free,
                                      .step = newmark_reduced_step,
                                      .reset = newmark_reduced_reset,
                                      .set_steps = newmark_reduced_set_steps,
                                      .look = newmark_reduced_look,
                                      .report = newmark_reduced_report};

static rf_status newmark_projected_create(const void *system, const rf_run *run,
                                          const rf_newmark_settings *set, void **out,
                                          rf_error *err) {
  rf_projected_newmark *s;
  const rf_status st = rf_projected_newmark_create(system, run, set, &s, err);
  *out = s;
  return st;
}
static void newmark_projected_free(void *s) { rf_projected_newmark_free(s); }
static rf_status newmark_projected_step(void *s, const rf_run *run, const double *force, int64_t n,
                                        rf_error *err) {
  return rf_projected_newmark_step(s, run, force, n, err);
}
static rf_status newmark_projected_reset(void *s, const rf_run *run, const double *q,
                                         const double *qdot, const double *qddot, rf_error *err) {
  return rf_projected_newmark_reset(s, run, q, qdot, qddot, err);
}
static void newmark_projected_set_steps(void *of, int64_t steps) {
  rf_projected_newmark *s = of;
  s->report.steps = steps;
  s->time_s = (double)steps * s->set.dt_s;
}

static py_scheme_state newmark_projected_look(const void *from) {
  const rf_projected_newmark *s = from;
  return (py_scheme_state){s->q, s->qdot, s->qddot, s->time_s};
}
static rf_newmark_report newmark_projected_report(const void *s) {
  return ((const rf_projected_newmark *)s)->report;
}
const py_scheme py_newmark_projected = {.kind = PY_IS_PROJECTED,
                                        .implicit = true,
                                        .create = newmark_projected_create,
                                        .release = newmark_projected_free,
                                        .step = newmark_projected_step,
                                        .reset = newmark_projected_reset,
                                        .set_steps = newmark_projected_set_steps,
                                        .look = newmark_projected_look,
                                        .report = newmark_projected_report};

static rf_status newmark_solid_create(const void *system, const rf_run *run,
                                      const rf_newmark_settings *set, void **out, rf_error *err) {
  rf_solid_newmark *s;
  const rf_status st = rf_solid_newmark_create(system, run, set, &s, err);
  *out = s;
  return st;
}
static void newmark_solid_free(void *s) { rf_solid_newmark_free(s); }
static rf_status newmark_solid_step(void *s, const rf_run *run, const double *force, int64_t n,
                                    rf_error *err) {
  return rf_solid_newmark_step(s, run, force, n, err);
}
static rf_status newmark_solid_reset(void *s, const rf_run *run, const double *q,
                                     const double *qdot, const double *qddot, rf_error *err) {
  return rf_solid_newmark_reset(s, run, q, qdot, qddot, err);
}
static void newmark_solid_set_steps(void *s, int64_t steps) {
  rf_solid_newmark_set_steps(s, steps);
}

static py_scheme_state newmark_solid_look(const void *s) {
  return (py_scheme_state){rf_solid_newmark_u(s), rf_solid_newmark_v(s), rf_solid_newmark_a(s),
                           rf_solid_newmark_time(s)};
}
static rf_newmark_report newmark_solid_report(const void *s) { return rf_solid_newmark_report(s); }
const py_scheme py_newmark_solid = {.kind = PY_IS_SOLID,
                                    .implicit = true,
                                    .create = newmark_solid_create,
                                    .release = newmark_solid_free,
                                    .step = newmark_solid_step,
                                    .reset = newmark_solid_reset,
                                    .set_steps = newmark_solid_set_steps,
                                    .look = newmark_solid_look,
                                    .report = newmark_solid_report};

static rf_central_settings explicit_part(const rf_newmark_settings *set) {
  return (rf_central_settings){.dt_s = set->dt_s,
                               .damping_mass = set->damping_mass,
                               .damping_stiff = set->damping_stiff,
                               .strain_rate = set->strain_rate,
                               .viscosity = set->viscosity,
                               .load = set->load};
}

static rf_status central_reduced_create(const void *system, const rf_run *run,
                                        const rf_newmark_settings *set, void **out, rf_error *err) {
  (void)run;
  const rf_central_settings part = explicit_part(set);
  rf_central *s;
  const rf_status st = rf_central_create(system, &part, &s, err);
  *out = s;
  return st;
}
static void central_reduced_free(void *s) { rf_central_free(s); }
static rf_status central_reduced_step(void *s, const rf_run *run, const double *force, int64_t n,
                                      rf_error *err) {
  (void)run;
  const rf_status st = rf_central_step_rt(s, force, n);
  return st < 0 ? rf_central_diverged(((rf_central *)s)->time_s, err) : st;
}
static rf_status central_reduced_reset(void *s, const rf_run *run, const double *q,
                                       const double *qdot, const double *qddot, rf_error *err) {
  (void)run;
  return rf_central_reset(s, q, qdot, qddot, err);
}
static void central_reduced_set_steps(void *of, int64_t steps) {
  rf_central *s = of;
  s->steps = steps;
  s->time_s = (double)steps * s->set.dt_s;
}

static py_scheme_state central_reduced_look(const void *from) {
  const rf_central *s = from;
  return (py_scheme_state){s->q, s->qdot, s->qddot, s->time_s};
}
static rf_newmark_report central_reduced_report(const void *s) {
  return (rf_newmark_report){.steps = ((const rf_central *)s)->steps};
}
const py_scheme py_central_reduced = {.kind = PY_IS_REDUCED,
                                      .implicit = false,
                                      .create = central_reduced_create,
                                      .release = central_reduced_free,
                                      .step = central_reduced_step,
                                      .reset = central_reduced_reset,
                                      .set_steps = central_reduced_set_steps,
                                      .look = central_reduced_look,
                                      .report = central_reduced_report};

static rf_status central_solid_create(const void *system, const rf_run *run,
                                      const rf_newmark_settings *set, void **out, rf_error *err) {
  const rf_central_settings part = explicit_part(set);
  rf_solid_central *s;
  const rf_status st = rf_solid_central_create(system, run, &part, &s, err);
  *out = s;
  return st;
}
static void central_solid_free(void *s) { rf_solid_central_free(s); }
static rf_status central_solid_step(void *s, const rf_run *run, const double *force, int64_t n,
                                    rf_error *err) {
  return rf_solid_central_step(s, run, force, n, err);
}
static rf_status central_solid_reset(void *s, const rf_run *run, const double *q,
                                     const double *qdot, const double *qddot, rf_error *err) {
  return rf_solid_central_reset(s, run, q, qdot, qddot, err);
}
static void central_solid_set_steps(void *of, int64_t steps) {
  rf_solid_central *s = of;
  s->steps = steps;
  s->time_s = (double)steps * s->set.dt_s;
}

static py_scheme_state central_solid_look(const void *from) {
  const rf_solid_central *s = from;
  return (py_scheme_state){s->motion.u, s->motion.v, s->motion.a, s->time_s};
}
static rf_newmark_report central_solid_report(const void *s) {
  return (rf_newmark_report){.steps = ((const rf_solid_central *)s)->steps};
}
const py_scheme py_central_solid = {.kind = PY_IS_SOLID,
                                    .implicit = false,
                                    .create = central_solid_create,
                                    .release = central_solid_free,
                                    .step = central_solid_step,
                                    .reset = central_solid_reset,
                                    .set_steps = central_solid_set_steps,
                                    .look = central_solid_look,
                                    .report = central_solid_report};
