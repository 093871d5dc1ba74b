#include "touch/explicit_display.h"

#include <math.h>
#include <string.h>

#include "linalg/vec3.h"

void rf_explicit_display_begin_rt(rf_explicit_display *d, double time_s) {
  memset(&d->now, 0, sizeof d->now);
  memset(&d->next, 0, sizeof d->next);
  memset(&d->before, 0, sizeof d->before);
  d->begun_s = d->arrived_s = time_s;
}

// Returns the part of the present state in what is shown; the rest is of the law before.
static double part_at(const rf_explicit_display *d, double time_s) {
  return fmin(fmax((time_s - d->begun_s) / d->period_s, 0.0), 1.0);
}

// Adds a part of the force and torque by a law at a place.
static void add(const rf_explicit_law *law, double part, const double hand_m[3], double force_n[3],
                double torque_nm[3]) {
  double way[3];
  rf_vec3_sub(hand_m, law->hand_m, way);
  for (int i = 0; i < 3; ++i) {
    force_n[i] += part * (law->force_n[i] - rf_vec3_dot(law->stiffness + 3 * i, way));
    torque_nm[i] += part * law->torque_nm[i];
  }
}

static void mix(const double a[3], const double b[3], double part, double out[3]) {
  for (int i = 0; i < 3; ++i) out[i] = (1.0 - part) * a[i] + part * b[i];
}

// Limits a force across a normal force by friction, or by what a force of the states has there.
static void limit_across(const double normal_n[3], double friction, const double states_n[3],
                         double force_n[3]) {
  const double size = rf_vec3_length(normal_n);
  if (size == 0.0) return;
  double n[3], held[3], across[3];
  for (int i = 0; i < 3; ++i) n[i] = normal_n[i] / size;
  const double along = rf_vec3_dot(force_n, n), along_states = rf_vec3_dot(states_n, n);
  for (int i = 0; i < 3; ++i) {
    held[i] = states_n[i] - along_states * n[i];
    across[i] = force_n[i] - along * n[i];
  }
  if (rf_vec3_limit(across, fmax(friction * size, rf_vec3_length(held))))
    for (int i = 0; i < 3; ++i) force_n[i] = along * n[i] + across[i];
}

static void show(const rf_explicit_display *d, double part, const double hand_m[3],
                 double force_n[3], double torque_nm[3]) {
  for (int i = 0; i < 3; ++i) force_n[i] = torque_nm[i] = 0.0;
  add(&d->before, 1.0 - part, hand_m, force_n, torque_nm);
  add(&d->now.law, part, hand_m, force_n, torque_nm);
  if (!d->local) return;
  // the local stiffness must not pull: it changes the force of the states by at most its size
  double towards[3], normal[3], change[3];
  mix(d->before.force_n, d->now.law.force_n, part, towards);
  mix(d->before.normal_n, d->now.law.normal_n, part, normal);
  limit_across(normal, d->friction, towards, force_n);
  const double size = rf_vec3_length(towards);
  rf_vec3_sub(force_n, towards, change);
  if (rf_vec3_limit(change, size))
    for (int i = 0; i < 3; ++i) force_n[i] = towards[i] + change[i];
  const double left = size > 0.0 ? fmin(rf_vec3_length(force_n) / size, 1.0) : 0.0;
  for (int i = 0; i < 3; ++i) torque_nm[i] *= left;
}

// The next state becomes the present one; what is shown now becomes the law before.
static void advance(rf_explicit_display *d, double time_s, const double hand_m[3]) {
  const double part = part_at(d, time_s);
  rf_explicit_law shown;
  show(d, part, hand_m, shown.force_n, shown.torque_nm);
  memcpy(shown.hand_m, hand_m, sizeof shown.hand_m);
  mix(d->before.normal_n, d->now.law.normal_n, part, shown.normal_n);
  for (int i = 0; i < 9; ++i)
    shown.stiffness[i] = (1.0 - part) * d->before.stiffness[i] + part * d->now.law.stiffness[i];
  d->before = shown;
  d->now = d->next;
  d->next.number = 0;
  d->begun_s = time_s;
}

bool rf_explicit_display_ready_rt(rf_explicit_display *d, double time_s, const double hand_m[3]) {
  // times are sums of cycles, of limited accuracy
  if (d->next.number > 0 && time_s > d->next.hand_s + d->period_s - 0.5 * d->cycle_s)
    advance(d, time_s, hand_m);
  return d->next.number == 0;
}

void rf_explicit_display_take_rt(rf_explicit_display *d, const rf_explicit_state *state,
                                 double time_s) {
  d->next = *state;
  d->arrived_s = time_s;
}

void rf_explicit_display_show_rt(rf_explicit_display *d, double time_s, const double hand_m[3],
                                 double force_n[3], double torque_nm[3]) {
  (void)rf_explicit_display_ready_rt(d, time_s, hand_m);
  const double part = part_at(d, time_s);
  show(d, part, hand_m, force_n, torque_nm);
}
