#include "touch/explicit.h"

#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/run.h"

// Time without a state after which the body does not answer: periods, or some milliseconds.
static const double STALL_PERIODS = 5.0, STALL_S = 0.02;
// Speed of ways of the tool that count as noise; time that the local stiffness remembers.
static const double NOISE_M_S = 1e-3, MEMORY_S = 0.05;
static const double FEWEST = 10.0;  // states of a measured stiffness
// Least number of states without contact, and time, after which it has ended.
static const double OPEN = 3.0, OPEN_S = 0.02;
static const double EQUAL = 1e-6;  // relative, of times

static const rf_run ALONE = {.threads = 1};

// Number of the tool among the bodies that the solid touches; -1: it does not touch the tool.
static int32_t tool_of(const rf_explicit_settings *set) {
  const rf_collide *c = set->motion->collide;
  for (int32_t k = 0; c && k < c->n_bodies; ++k)
    if (c->body[k].proxy == set->proxy) return k;
  return -1;
}

static rf_status check(const rf_explicit_settings *set, rf_error *err) {
  const rf_motion *m = set->motion;
  const double period_s = set->cycle_s * set->cycles;
  if (!(isfinite(set->cycle_s) && set->cycle_s > 0.0 && set->cycles >= 1 && set->steps >= 1))
    return rf_fail(err, RF_ERR_ARG, "a period needs cycles and steps, got %d of %g s and %d",
                   (int)set->cycles, set->cycle_s, (int)set->steps);
  if (tool_of(set) < 0)
    return rf_fail(err, RF_ERR_ARG, "the simulation has no contact with this RigidProxy");
  if (!(fabs(set->steps * m->set.dt_s - period_s) <= EQUAL * period_s))
    return rf_fail(err, RF_ERR_ARG, "%d steps of %g s do not fill a period of %g s",
                   (int)set->steps, m->set.dt_s, period_s);
  if (set->way == RF_EXPLICIT_direct && set->cycles != 1)
    return rf_fail(err, RF_ERR_ARG, "without interpolation a period is one cycle, got %d",
                   (int)set->cycles);
  const rf_system *system = m->system;
  const char *kind = system->inside ? "with damping inside"
                     : system->constraints && system->damping_stiff > 0.0
                         ? "with stiffness damping of a graded mesh"
                         : NULL;
  if (set->way == RF_EXPLICIT_direct && kind)
    return rf_fail(err, RF_ERR_ARG,
                   "interpolation is None, but steps %s allocate memory, which a haptic cycle must "
                   "not: take \"delay\" or \"stiffness\"",
                   kind);
  return RF_OK;
}

// Solves in advance for what steps in contact would wait for.
static rf_status prepare(rf_motion *m, rf_error *err) {
  m->system->run = &ALONE;
  m->system->err = err;
  const rf_status st = rf_collide_prepare(m->collide, m->system, m->set.dt_s);
  m->system->run = NULL;
  m->system->err = NULL;
  return st;
}

static int asks_to_stop(void *context, int64_t done, int64_t total) {
  rf_explicit *x = context;
  (void)done, (void)total;
  return atomic_load(&x->stop);
}

static void release(void *self) {
  rf_explicit *x = self;
  if (!x) return;
  rf_explicit_stop(x);
  if (x->report != &x->first) atomic_store(&x->report->taken, false);
  rf_free(x->hands_memory);
  rf_free(x->states_memory);
  rf_free(x->run);
  rf_free(x->last);
  rf_free(x->known);
  rf_free(x->spare);
  rf_free(x);
}

static rf_status create(const rf_explicit_settings *set, rf_explicit **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_explicit *x = NULL;
  char *hands, *states, *simulated, *known, *spare;
  RF_ALLOC(x, 1);
  x->set = *set;
  x->tool = set->motion->collide->body + tool_of(set);
  x->report = &x->first;
  RF_ALLOC(x->run, 1);
  *x->run = (rf_run){.threads = 1, .progress = asks_to_stop, .progress_context = x};
  x->period_s = set->cycle_s * set->cycles;
  x->stall_s = fmax(STALL_PERIODS * x->period_s, STALL_S);
  x->display.local = set->way == RF_EXPLICIT_stiffness;
  x->display.friction = x->tool->proxy->friction;
  x->display.cycle_s = set->cycle_s;
  x->display.period_s = x->period_s;
  x->secant.noise_m = NOISE_M_S * x->period_s;
  x->secant.memory = exp(-x->period_s / MEMORY_S);
  x->secant.most_open = (int32_t)ceil(fmax(OPEN, OPEN_S / x->period_s));
  x->secant.sticks_after = (int32_t)ceil(MEMORY_S / x->period_s);
  x->fewest = (int32_t)fmax(FEWEST, MEMORY_S / x->period_s);
  RF_ALLOC(hands, rf_broadcast_bytes_rt(sizeof(rf_explicit_hand)));
  x->hands_memory = hands;
  x->n_moved = 3 * (int64_t)set->motion->collide->n;
  x->state_bytes = sizeof(rf_explicit_state) + (size_t)x->n_moved * sizeof(double);
  RF_ALLOC(simulated, x->state_bytes);
  x->last = (rf_explicit_state *)(void *)simulated;
  RF_ALLOC(known, x->state_bytes);
  x->known = (rf_explicit_state *)(void *)known;
  RF_ALLOC(spare, x->state_bytes);
  x->spare = (rf_explicit_state *)(void *)spare;
  RF_ALLOC(states, rf_broadcast_bytes_rt(x->state_bytes));
  x->states_memory = states;
  rf_broadcast_begin_rt(&x->hands, sizeof(rf_explicit_hand), hands);
  rf_broadcast_begin_rt(&x->states, x->state_bytes, states);
  *out = x;
  x = NULL;
done:
  release(x);
  return st;
}

static rf_status copy(const void *self, void **out, rf_error *err) {
  const rf_explicit *from = self;
  rf_explicit *x;
  if (atomic_exchange(&from->report->taken, true))
    return rf_fail(err, RF_ERR_ARG,
                   "another session moves this simulation: make a body of its own for each");
  const rf_status st = create(&from->set, &x, err);
  if (st < 0) {
    atomic_store(&from->report->taken, false);
    return st;
  }
  x->report = from->report;
  *out = x;
  return st;
}

static bool explain(const void *self, const char *who, rf_error *why) {
  const rf_explicit *x = self;
  char text[64];
  if (!atomic_load(&x->report->failed)) return false;
  (void)snprintf(text, sizeof text, "%s: the simulation", who);
  (void)rf_motion_explain(x->set.motion, text, "a slower hand", why);
  return true;
}

static const rf_touch_kind KIND = {.name = "explicit",
                                   .feel_rt = rf_explicit_feel_rt,
                                   .step_rt = rf_explicit_step_rt,
                                   .forget_rt = rf_explicit_forget_rt,
                                   .start = rf_explicit_start,
                                   .stop = rf_explicit_stop,
                                   .copy = copy,
                                   .publish_rt = rf_explicit_publish_rt,
                                   .explain = explain,
                                   .release = release};

double rf_explicit_lag(const rf_explicit *x) {
  return x->set.way == RF_EXPLICIT_direct ? 0.0 : 2.0 * x->period_s;
}

rf_status rf_explicit_create(const rf_explicit_settings *set, rf_touch **out, rf_error *err) {
  rf_explicit *x;
  *out = NULL;
  rf_status st = check(set, err);
  if (st >= 0) st = prepare(set->motion, err);
  if (st >= 0) st = create(set, &x, err);
  if (st < 0) return st;
  return rf_touch_create(&KIND, x, (int32_t)x->n_moved, rf_explicit_lag(x), out, err);
}
