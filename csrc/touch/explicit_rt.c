#include "touch/explicit.h"

#include <math.h>
#include <string.h>

#include "linalg/vec3.h"

static const int32_t BEGINS = 3;  // states of a contact, before its stiffness is shown
static const double LATE = 1.5;   // periods between two cycles that are too far apart

// Returns a number that other sets of touching nodes do not share, but for chance.
static uint64_t mark_of(const rf_collide_step *step) {
  uint64_t mark = 0;
  for (int32_t k = 0; k < step->n_touching; ++k) {
    uint64_t one = ((uint64_t)step->touching[k] + 1) * 0x9e3779b97f4a7c15u;
    one = (one ^ one >> 31) * 0xbf58476d1ce4e5b9u;
    mark += one ^ one >> 29;
  }
  return mark;
}

// Fills the state at the end of a period in which the tool came from a pose.
static void fill_state(rf_explicit *x, const rf_pose *from, const rf_explicit_hand *hand) {
  const rf_collide_step *step = &x->tool->last;
  rf_explicit_state *s = x->last;
  const bool slides = step->n_touching > 0 && step->n_sliding == step->n_touching;
  s->hand_s = hand->time_s;
  s->tool = hand->pose;
  s->depth_m = step->depth_m;
  s->touching = step->n_touching;
  for (int i = 0; i < 3; ++i) {
    s->law.hand_m[i] = hand->pose.position_m[i];
    s->law.force_n[i] = 0.0 - step->total[i];
    s->law.torque_nm[i] = 0.0 - step->torque[i];
    s->law.normal_n[i] = 0.0 - step->pushed[i];
    s->slip_m[i] = slides ? hand->pose.position_m[i] - from->position_m[i] : 0.0;
  }
  const rf_motion *m = x->set.motion;
  double *moved = (double *)(void *)(s + 1);
  for (int64_t k = 0; k < m->collide->n; ++k)
    memcpy(moved + 3 * k, m->q + 3 * (int64_t)m->collide->node[k], 3 * sizeof *moved);
  const uint64_t nodes = mark_of(step);
  rf_explicit_touch now = {.touching = s->touching > 0,
                           .held = nodes == x->nodes && step->n_sliding == 0};
  x->nodes = nodes;
  memcpy(now.place_m, s->law.hand_m, sizeof now.place_m);
  memcpy(now.force_n, s->law.force_n, sizeof now.force_n);
  memcpy(now.normal_n, s->law.normal_n, sizeof now.normal_n);
  rf_explicit_secant_take_rt(&x->secant, &now);
  const bool known = x->secant.states > x->fewest;
  s->most_n_per_m = known ? rf_explicit_secant_most_rt(&x->secant) : 0.0;
  memset(s->law.stiffness, 0, sizeof s->law.stiffness);
  const bool shown = x->set.way == RF_EXPLICIT_stiffness && x->secant.states > BEGINS;
  if (shown) memcpy(s->law.stiffness, x->secant.used, sizeof s->law.stiffness);
}

// Makes a period that ends with the tool at the hand; false: it was stopped.
static bool simulate(rf_explicit *x, const rf_explicit_hand *hand) {
  rf_motion *m = x->set.motion;
  rf_explicit_state *s = x->last;
  // a tool that jumps has no velocity: nodes inside of it leave it slowly
  const bool jumps =
      s->number == 0 || hand->jumps != s->jumps || hand->time_s - x->reached.time_s > x->stall_s;
  const rf_pose from = jumps ? hand->pose : x->reached.pose;
  if (jumps) rf_explicit_secant_forget_rt(&x->secant);
  rf_proxy_lead_rt(x->set.proxy, &from, &hand->pose, x->period_s);
  m->system->run = x->run;
  const rf_status st = rf_motion_step_within_rt(m, NULL, x->set.steps);
  m->system->run = NULL;
  if (st == RF_ERR_INTERRUPTED) {
    s->jumps = -1;  // the place of the tool is not known
    return false;
  }
  x->reached = *hand;
  ++s->number;
  s->jumps = hand->jumps;
  s->failed = st < 0;
  if (!s->failed) fill_state(x, &from, hand);
  const rf_explicit_secant *secant = &x->secant;
  if (secant->changed_n2 > 0.0)
    atomic_store(&x->report->missed, sqrt(secant->missed_n2 / secant->changed_n2));
  atomic_fetch_add(&x->report->periods, 1);
  if (s->failed) atomic_store(&x->report->failed, true);
  return true;
}

bool rf_explicit_serve_rt(rf_explicit *x) {
  rf_explicit_hand hand;
  size_t bytes;
  if (x->last->failed) return false;
  const uint64_t found = rf_broadcast_read_rt(&x->hands, &hand, &bytes);
  if (found == 0 || found == RF_BROADCAST_LOST || hand.number == x->reached.number) return false;
  if (!simulate(x, &hand)) return false;
  rf_broadcast_write_rt(&x->states, x->last, x->state_bytes);
  return true;
}

// Takes the newest state, unless the hand has jumped since, or the one before still waits.
static void take(rf_explicit *x) {
  rf_explicit_state *read = x->spare;
  size_t bytes;
  if (!rf_explicit_display_ready_rt(&x->display, x->hand.time_s, x->hand.pose.position_m)) return;
  if (atomic_load(&x->states.newest) == x->taken) return;
  const uint64_t found = rf_broadcast_read_rt(&x->states, read, &bytes);
  if (found == 0 || found == RF_BROADCAST_LOST) return;
  x->spare = x->known;
  x->known = read;
  x->taken = found;
  if (x->known->jumps == x->hand.jumps && !x->known->failed)
    rf_explicit_display_take_rt(&x->display, x->known, x->hand.time_s);
}

// Returns true while no state comes, and after the last one.
static bool watch(rf_explicit *x) {
  const bool stalled = x->hand.time_s - x->display.arrived_s > x->stall_s;
  const bool failed = atomic_load(&x->report->failed);
  if (stalled && !x->stalled && !failed) atomic_fetch_add(&x->report->stalls, 1);
  x->stalled = stalled;
  return stalled || failed;
}

rf_status rf_explicit_feel_rt(void *self, const rf_pose *hand, double dt_s, rf_touch_felt *out) {
  rf_explicit *x = self;
  const rf_explicit_state *s = x->last;
  ++x->hand.number;
  x->hand.time_s += dt_s;
  x->hand.pose = *hand;
  if (x->set.way == RF_EXPLICIT_direct) {
    // the tool has made the way of missed cycles in the time of one
    if (dt_s > LATE * x->period_s) atomic_fetch_add(&x->report->late, 1);
    (void)simulate(x, &x->hand);  // nothing stops it
    if (s->failed) return RF_ERR_DIVERGED;
    memcpy(out->force_n, s->law.force_n, sizeof out->force_n);
    memcpy(out->torque_nm, s->law.torque_nm, sizeof out->torque_nm);
  } else {
    // cycles that paused gave the simulation no hand
    x->display.arrived_s += fmax(dt_s - x->period_s, 0.0);
    rf_broadcast_write_rt(&x->hands, &x->hand, sizeof x->hand);
    take(x);
    s = &x->display.now;
    rf_explicit_display_show_rt(&x->display, x->hand.time_s, hand->position_m, out->force_n,
                                out->torque_nm);
    if (watch(x)) out->flags |= RF_TOUCH_FAILED;
  }
  out->object = s->number > 0 ? s->tool : *hand;
  memcpy(out->anchor_m, out->object.position_m, sizeof out->anchor_m);
  for (int i = 0; i < 3; ++i) out->slip_m[i] = s->slip_m[i] / x->set.cycles;
  if (rf_vec3_length(s->slip_m) > 0.0) out->flags |= RF_TOUCH_SLIPS;
  out->depth_m = s->depth_m;
  out->touching = s->touching;
  out->stiffness_n_per_m = s->touching > 0 ? s->most_n_per_m : 0.0;
  return RF_OK;
}

rf_status rf_explicit_step_rt(void *self, double dt_s) {
  rf_explicit *x = self;
  (void)dt_s;
  if (x->set.way == RF_EXPLICIT_direct || x->thread) return RF_OK;
  // times are sums of cycles, of limited accuracy
  if (x->hand.time_s < x->due_s - 0.5 * x->set.cycle_s) return RF_OK;
  x->due_s = x->hand.time_s + x->period_s;
  (void)rf_explicit_serve_rt(x);
  return RF_OK;
}

void rf_explicit_forget_rt(void *self) {
  rf_explicit *x = self;
  ++x->hand.jumps;
  rf_explicit_display_begin_rt(&x->display, x->hand.time_s);
}

void rf_explicit_publish_rt(const void *self, double *out) {
  const rf_explicit *x = self;
  const rf_explicit_state *s = x->set.way == RF_EXPLICIT_direct ? x->last : x->known;
  memcpy(out, s + 1, (size_t)x->n_moved * sizeof *out);
}
