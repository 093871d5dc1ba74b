#include "dynamics/motion.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/run.h"
#include "dynamics/modal_subspace.h"

static rf_modal_subspace *modes_of(const rf_motion *m) { return (rf_modal_subspace *)m->subspace; }

// `system` and `own`, the settings of the scheme, are read only.
static void layout(rf_motion *m, const rf_system *system, const void *own, rf_arena *a) {
  const size_t ld = (size_t)system->ld;
  double **const vectors[] = {&m->q,          &m->qdot,       &m->qddot,
                              &m->step,       &m->step_rate,  &m->x,
                              &m->xdot,       &m->xddot,      &m->load,
                              &m->applied,    &m->force,      &m->residual,
                              &m->increment,  &m->product,    &m->change,
                              &m->start,      &m->middle,     &m->part,
                              &m->part_rate,  &m->known_rate, &m->known_acceleration,
                              &m->known_force};
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; ++i)
    *vectors[i] = rf_arena_take(a, ld, sizeof(double));
  m->set.own = rf_arena_take(a, m->set.scheme->settings_bytes, 1);
  if (!m->set.scheme->layout) return;
  // the first piece of the scheme is its struct
  m->scheme_work = a->base ? a->base + a->used : NULL;
  m->set.scheme->layout(system, own, a);
}

#define SETTING(name, field, kind) RF_SETTING(rf_motion_settings, name, field, kind, 0)
static const rf_setting STEP[] = {SETTING("dt", dt_s, DOUBLE), {0}};
static const rf_setting ITERATED[] = {SETTING("dt", dt_s, DOUBLE),
                                      SETTING("newton_max", newton_max, INT32),
                                      SETTING("tol", tolerance, DOUBLE),
                                      SETTING("line_search", line_search, BOOL),
                                      {0}};
static const rf_setting WITH_MODES[] = {SETTING("dt", dt_s, DOUBLE),
                                        SETTING("newton_max", newton_max, INT32),
                                        SETTING("tol", tolerance, DOUBLE),
                                        SETTING("exact", exact, INT32),
                                        SETTING("modes", modes, INT32),
                                        SETTING("line_search", line_search, BOOL),
                                        {0}};

const rf_setting *rf_motion_settings_of(const rf_scheme *scheme) {
  if (scheme->with_modes) return WITH_MODES;
  return rf_scheme_iterates(scheme) ? ITERATED : STEP;
}

static rf_status check(const rf_motion_settings *set, rf_error *err) {
  if (!(isfinite(set->dt_s) && set->dt_s > 0.0))
    return rf_fail(err, RF_ERR_ARG, "dt must be finite and positive, got %g", set->dt_s);
  const rf_status st = set->scheme->check ? set->scheme->check(set->own, err) : RF_OK;
  if (st < 0 || !rf_scheme_iterates(set->scheme)) return st;
  if (!(isfinite(set->tolerance) && set->tolerance >= 0.0))
    return rf_fail(err, RF_ERR_ARG, "tol must be finite and >= 0, got %g", set->tolerance);
  if (!(set->newton_max >= 1 && set->newton_max <= 1000))
    return rf_fail(err, RF_ERR_ARG, "newton_max must be between 1 and 1000, got %d",
                   set->newton_max);
  if (!(set->exact >= 0 && set->modes >= 0 && set->modes < RF_SUBSPACE_MODES))
    return rf_fail(err, RF_ERR_ARG, "exact must be at least 0, got %d", set->exact);
  return RF_OK;
}

// No method that may cross a barrier is allowed near one.
static rf_status check_barrier(const rf_system *system, const rf_motion_settings *set,
                               rf_error *err) {
  if (!set->barrier) return RF_OK;
  if (!set->scheme->takes_barriers)
    return rf_fail(err, RF_ERR_ARG,
                   "contact by a barrier is not for steps of %s, which may cross it or ring at it: "
                   "use backward_euler or bdf2",
                   set->scheme->name);
  if (set->newton_max < 2)
    return rf_fail(err, RF_ERR_ARG,
                   "newton_max is 1, but a step by one linearization ends far from the balance of "
                   "forces at a barrier, or behind it: take newton_max=50");
  if (!set->line_search)
    return rf_fail(err, RF_ERR_ARG,
                   "line_search is False, but whole increments cross a barrier: take True");
  if (set->exact > 0)
    return rf_fail(err, RF_ERR_ARG,
                   "exact is %d: exponentials may cross a barrier, so no modes can be exact",
                   set->exact);
  const rf_barrier *b = set->barrier;
  const bool fits = b->basis ? !system->operations->add_blocks && b->n_coordinates == system->n
                             : system->operations->add_blocks && b->n_all * (int64_t)3 == system->n;
  if (!fits) return rf_fail(err, RF_ERR_ARG, "contact by a barrier is of another system");
  return rf_constraints_require_free(system->constraints, (int64_t)b->points.n * b->points.corners,
                                     b->points.node, err);
}

static void set_up(rf_motion *m, const rf_motion_settings *set) {
  const rf_scheme *scheme = set->scheme;
  void *own = m->set.own;
  double *load = m->load;
  m->set = *set;
  m->set.own = own;
  m->set.load = set->load ? load : NULL;
  m->set.collide = NULL;  // it was read
  if (scheme->settings_bytes) memcpy(own, set->own, scheme->settings_bytes);
  if (set->load) memcpy(load, set->load, (size_t)m->n * sizeof *load);
  for (int kind = 0; kind < RF_STEP_KINDS; ++kind)
    for (int32_t k = 0; k < scheme->stages; ++k) {
      m->stages[kind][k] = (rf_stage){.inertia = {1.0, 0.0}};
      scheme->tabulate(own, set->dt_s, (rf_step_kind)kind, k, &m->stages[kind][k]);
    }
}

rf_status rf_motion_create(rf_system *system, const rf_motion_settings *set, const rf_run *run,
                           rf_motion **out, rf_error *err) {
  const rf_scheme *scheme = set->scheme;
  rf_status st = RF_OK;
  rf_motion sizes = {.set.scheme = scheme}, *m = NULL;
  rf_arena count = {0};
  const size_t head = (sizeof *m + 63) / 64 * 64;
  *out = NULL;
  RF_TRY(check(set, err));
  RF_TRY(check_barrier(system, set, err));
  if (system->explicit_steps != scheme->mass_only) {
    st = rf_fail(err, RF_ERR_ARG, "the system was made for another kind of scheme than %s",
                 scheme->name);
    goto done;
  }
  if (!rf_system_moves(system)) {
    st = rf_fail(err, RF_ERR_MESH, "all %d nodes are fixed: nothing can move", system->n_fixed);
    goto done;
  }
  if ((set->exact > 0 || scheme->exact) && system->own_damping) {
    st = rf_fail(err, RF_ERR_ARG, "exact modes and steps take Rayleigh damping only");
    goto done;
  }
  layout(&sizes, system, set->own, &count);
  // the struct first, its arrays behind it
  m = rf_alloc(head + count.used, 1);
  if (!m) {
    st = rf_fail(err, RF_ERR_MEMORY, "out of memory: a simulation of %lld values needs %zu bytes",
                 (long long)system->n, head + count.used);
    goto done;
  }
  m->n = system->n;
  m->set.scheme = scheme;
  rf_arena carve = {.base = (char *)m + head};
  layout(m, system, set->own, &carve);
  set_up(m, set);
  m->system = system;
  system = NULL;
  if (set->exact > 0) {
    rf_modal_subspace *modes;
    RF_TRY(rf_modal_subspace_create(m->system, run, set->exact, (rf_subspace_modes)set->modes,
                                    &modes, err));
    m->subspace = &modes->base;
  }
  if (set->barrier) RF_TRY(rf_barrier_work_create(set->barrier, m->system->ld, &m->barrier, err));
  if (set->barrier && m->barrier->touch) m->barrier->touch->system = m->system;
  if (set->collide) RF_TRY(rf_collide_create(set->collide, m->system, set->dt_s, &m->collide, err));
  RF_TRY(rf_motion_reset(m, run, NULL, NULL, NULL, err));
  *out = m;
  m = NULL;
done:
  rf_motion_free(m);
  rf_system_free(system);
  return st;
}

rf_status rf_motion_clone(const rf_motion *from, const rf_motion_settings *set, rf_motion **out,
                          rf_error *err) {
  rf_system *system = NULL;
  *out = NULL;
  if (!from->system->life->copy)
    return rf_fail(err, RF_ERR_ARG, "simulations of this kind of system cannot be copied");
  rf_status st = from->system->life->copy(from->system, &system, err);
  if (st >= 0) st = rf_motion_create(system, set ? set : &from->set, NULL, out, err);
  if (st >= 0) st = rf_motion_take(*out, from, err);
  if (st >= 0) return st;
  rf_motion_free(*out);
  *out = NULL;
  return st;
}

void rf_motion_free(rf_motion *m) {
  if (!m) return;
  rf_modal_subspace_free(modes_of(m));
  rf_barrier_work_free(m->barrier);
  rf_collide_free(m->collide);
  rf_system_free(m->system);
  rf_free(m);
}

static rf_status not_finite(rf_error *err) {
  return rf_fail(err, RF_ERR_DIVERGED,
                 "the initial state or its acceleration is not finite; q or qdot is too large");
}

// xddot := M^-1 (load - (alpha M + beta K + D) v - R)
static rf_status accelerate(rf_motion *m) {
  rf_system *s = m->system;
  const rf_system_operations *op = s->operations;
  rf_status st = op->evaluate(s, m->x, false, NULL, m->force);
  if (st >= 0) st = op->balance(s, m->x, m->xdot, NULL, m->force, m->load, m->residual);
  for (int64_t i = 0; i < m->n; ++i) m->residual[i] = 0.0 - m->residual[i];  // no negative zeros
  if (st >= 0 && s->inside) {
    st = op->damp(s, m->xdot, m->product);
    for (int64_t i = 0; i < m->n; ++i) m->residual[i] -= m->product[i];
  }
  if (st >= 0 && !s->explicit_steps) st = op->factorize(s, 1.0, 0.0, 0.0, NULL);
  if (st >= 0) st = (s->explicit_steps ? op->mass_solve : op->solve)(s, m->residual, m->xddot);
  for (int64_t i = 0; i < m->n; ++i) m->xddot[i] -= s->damping_mass * m->xdot[i];
  return st;
}

rf_status rf_motion_reset(rf_motion *m, const rf_run *run, const double *q, const double *qdot,
                          const double *qddot, rf_error *err) {
  rf_system *s = m->system;
  const double *const given[] = {q, qdot, qddot};
  double *const step[] = {m->x, m->xdot, m->xddot}, *const state[] = {m->q, m->qdot, m->qddot};
  static const char *const names[] = {"q", "qdot", "qddot"};
  const size_t bytes = (size_t)m->n * sizeof(double);
  rf_status st = RF_OK;
  for (int i = 0; i < 3 && s->life->check; ++i)
    if (given[i]) RF_TRY(s->life->check(s, given[i], names[i], err));
  for (int i = 0; i < 3; ++i)
    if (given[i])
      memcpy(step[i], given[i], bytes);
    else
      memset(step[i], 0, bytes);
  for (int i = 0; i < 3; ++i) rf_constraints_fill_rt(s->constraints, step[i]);
  rf_motion_clean_rt(m);
  rf_motion_apply_rt(m, NULL);
  s->run = run;
  s->err = err;
  if (q) RF_TRY(rf_system_require_defined(s, m->x, "q", err));
  if (m->barrier) RF_TRY(rf_barrier_require_apart(m->barrier->barrier, m->x, err));
  if (!qddot && (q || qdot || m->set.load)) st = accelerate(m);
  if (st == RF_ERR_SINGULAR) st = rf_fail(err, st, "the mass matrix is not positive definite");
  if (st < 0) goto done;
  rf_constraints_fill_rt(s->constraints, m->xddot);
  for (int i = 0; i < 3; ++i)
    for (int64_t d = 0; d < m->n; ++d)
      if (!isfinite(step[i][d])) {
        st = not_finite(err);
        goto done;
      }
  for (int i = 0; i < 3; ++i) memcpy(state[i], step[i], bytes);
  m->time_s = m->origin_s = 0.0;
  m->origin_steps = 0;
  m->follows = false;
  if (m->subspace) modes_of(m)->known = modes_of(m)->modes == RF_SUBSPACE_REST;
  m->displaced_m = m->farthest_m = 0.0;
  m->report = (rf_motion_report){0};
  s->iterations = 0;
  if (m->collide) rf_collide_reset(m->collide);
  if (m->barrier) st = rf_barrier_begin_rt(m->barrier, m->q, m->qdot);
done:
  s->run = NULL;
  s->err = NULL;
  rf_motion_clean_rt(m);
  return st;
}

void rf_motion_set_steps(rf_motion *m, int64_t steps) {
  m->report.steps = steps;
  m->time_s = (double)steps * m->set.dt_s;
}

void rf_motion_pace(const rf_motion *m, double *pace) {
  pace[0] = (double)m->report.steps;
  pace[1] = (double)m->origin_steps;
  pace[2] = m->origin_s;
  if (m->collide)
    rf_collide_remember(m->collide, pace + 3);
  else
    memset(pace + 3, 0, 4 * sizeof *pace);
}

rf_status rf_motion_recall_pace(rf_motion *m, const double *pace, rf_error *err) {
  static const double MOST = 9007199254740992.0;  // 2^53: steps are whole numbers
  bool past = pace[2] >= 0.0 && pace[3] >= 0.0;   // times
  for (int32_t k = 0; m->collide && k < m->collide->n_bodies; ++k)
    past = past && pace[4 + 4 * (int64_t)k] >= 0.0;
  if (!(0.0 <= pace[1] && pace[1] <= pace[0] && pace[0] < MOST && past))
    return rf_fail(err, RF_ERR_ARG,
                   "pace must be 0 <= origin <= steps < 2^53 and times of at least 0, got %g of %g "
                   "steps, %g s and %g s",
                   pace[1], pace[0], pace[2], pace[3]);
  m->report.steps = (int64_t)pace[0];
  m->origin_steps = (int64_t)pace[1];
  m->origin_s = pace[2];
  m->time_s = rf_motion_time_rt(m);
  if (m->collide) rf_collide_recall(m->collide, pace + 3);
  return RF_OK;
}

rf_status rf_motion_set_dt(rf_motion *m, double dt_s, rf_error *err) {
  if (dt_s == m->set.dt_s) return RF_OK;
  if (!m->set.scheme->varies)
    return rf_fail(err, RF_ERR_ARG, "dt is constant in steps of %s", m->set.scheme->name);
  if (!(isfinite(dt_s) && dt_s > 0.0))
    return rf_fail(err, RF_ERR_ARG, "dt must be finite and positive, got %g", dt_s);
  m->origin_s = m->time_s;
  m->origin_steps = m->report.steps;
  m->set.dt_s = dt_s;
  return RF_OK;
}

void rf_motion_recall(rf_motion *m, const double *step, const double *step_rate) {
  memcpy(m->step, step, (size_t)m->n * sizeof *step);
  memcpy(m->step_rate, step_rate, (size_t)m->n * sizeof *step_rate);
  m->follows = m->set.scheme->remembers;
}

bool rf_motion_modes_shape(const rf_motion *m, int32_t shape[3]) {
  if (!m->subspace || modes_of(m)->modes != RF_SUBSPACE_FOLLOW) return false;
  shape[0] = RF_SUBSPACE_PARTS;
  shape[1] = modes_of(m)->most;
  shape[2] = modes_of(m)->blocks.n;
  return true;
}

bool rf_motion_modes(const rf_motion *m, double *out) {
  int32_t shape[3];
  if (!rf_motion_modes_shape(m, shape) || !modes_of(m)->known) return false;
  rf_modal_subspace_give(modes_of(m), out);
  return true;
}

void rf_motion_recall_modes(rf_motion *m, const double *modes) {
  rf_modal_subspace_take(modes_of(m), modes);
}

rf_status rf_motion_take(rf_motion *m, const rf_motion *from, rf_error *err) {
  if (m->system->model != from->system->model)
    return rf_fail(err, RF_ERR_ARG, "the two simulations are of different models");
  const rf_status st = rf_motion_reset(m, NULL, from->q, from->qdot, from->qddot, err);
  if (st < 0) return st;
  const bool same = from->set.scheme == m->set.scheme && from->set.dt_s == m->set.dt_s;
  if (from->follows && same) rf_motion_recall(m, from->step, from->step_rate);
  m->report = from->report;
  m->origin_s = from->origin_s;
  m->origin_steps = from->origin_steps;
  m->time_s = from->time_s;
  return RF_OK;
}

// Puts advice that is not followed already into the text.
static void advise(const rf_motion *m, rf_error *text) {
  const rf_scheme *scheme = m->set.scheme;
  const bool once = rf_scheme_iterates(scheme) && m->set.newton_max == 1;
  const bool krylov = scheme->exact && !m->system->operations->dense;
  if (scheme->remedy)
    (void)rf_fail(text, RF_ERR_DIVERGED, "%s", scheme->remedy);
  else
    (void)rf_fail(text, RF_ERR_DIVERGED, "try a smaller dt%s%s%s or more damping",
                  once ? ", newton_max=10" : "", m->subspace ? ", exact=0" : "",
                  krylov ? ", more vectors by krylov" : "");
}

rf_status rf_motion_explain(const rf_motion *m, const char *who, const char *remedy,
                            rf_error *err) {
  if (!(m->displaced_m > 0.0)) {
    const rf_scheme *scheme = m->set.scheme;
    rf_error why = {.text = "displacement, velocity or tangent is no longer finite or solvable"};
    if (scheme->mass_only) why = (rf_error){.text = "displacement or velocity is no longer finite"};
    if (scheme->exact)
      why = (rf_error){.text =
                           "a number is no longer finite, krylov vectors did not reach the "
                           "accuracy, or the highest mode is too stiff or damped for the step"};
    if (m->tally.stuck)
      why = (rf_error){.text = "no part of an increment lowers the energy of the step"};
    (void)rf_system_require_defined(m->system, m->x, "the step", &why);
    rf_error advice = {0};
    advise(m, &advice);
    return rf_fail(
        err, RF_ERR_DIVERGED,
        "the simulation diverged at t = %g s: %s; the state before this step is kept; %s",
        m->time_s, why.text, advice.text);
  }
  return rf_fail(err, RF_ERR_DIVERGED,
                 "%s diverged at t = %g s: the body would be displaced by up to %.3g m, more than "
                 "%g times its length of %.3g m; the state before this step is kept; try %s, "
                 "more damping or a shorter step",
                 who, m->time_s, m->displaced_m, RF_MOTION_FARTHEST, m->system->length_m, remedy);
}

rf_status rf_motion_step(rf_motion *m, const rf_run *run, const double *force, int64_t n,
                         rf_error *err) {
  m->system->run = run;
  m->system->err = err;
  rf_status st = rf_motion_step_within_rt(m, force, n);
  if (st == RF_ERR_DIVERGED) st = rf_motion_explain(m, "the simulation", "smaller forces", err);
  m->system->run = NULL;
  m->system->err = NULL;
  return st;
}
