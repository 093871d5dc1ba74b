#include "touch/explicit_display.h"

#include <math.h>
#include <string.h>

#include "linalg/vec3.h"

void rf_explicit_display_begin_rt(rf_explicit_display *d, double time_s) {
  memset(&d->now, 0, sizeof d->now);
  memset(&d->next, 0, sizeof d->next);
  memset(d->from_n, 0, sizeof d->from_n);
  memset(d->from_nm, 0, sizeof d->from_nm);
  d->begun_s = d->arrived_s = time_s;
}

static void law(const rf_explicit_display *d, double time_s, const double hand_m[3],
                double force_n[3], double torque_nm[3]) {
  const rf_explicit_state *now = &d->now;
  const double age = (time_s - d->begun_s) / d->period_s;
  const double part = d->local ? 1.0 : fmin(fmax(age, 0.0), 1.0);
  double way[3];
  rf_vec3_sub(hand_m, now->hand_m, way);
  for (int i = 0; i < 3; ++i) {
    force_n[i] = d->from_n[i] + part * (now->force_n[i] - d->from_n[i]);
    torque_nm[i] = d->from_nm[i] + part * (now->torque_nm[i] - d->from_nm[i]);
  }
  if (!d->local) return;
  for (int i = 0; i < 3; ++i) force_n[i] -= rf_vec3_dot(now->stiffness + 3 * i, way);
  if (rf_vec3_dot(force_n, now->force_n) > 0.0) return;
  for (int i = 0; i < 3; ++i) force_n[i] = torque_nm[i] = 0.0;
}

void rf_explicit_display_take_rt(rf_explicit_display *d, const rf_explicit_state *state,
                                 double time_s) {
  d->next = *state;
  d->arrived_s = time_s;
}

void rf_explicit_display_show_rt(rf_explicit_display *d, double time_s, const double hand_m[3],
                                 double force_n[3], double torque_nm[3]) {
  // times are sums of cycles, of limited accuracy
  if (d->next.number > 0 && time_s > d->next.hand_s + d->period_s - 0.5 * d->cycle_s) {
    law(d, time_s, hand_m, force_n, torque_nm);
    memcpy(d->from_n, force_n, sizeof d->from_n);
    memcpy(d->from_nm, torque_nm, sizeof d->from_nm);
    d->now = d->next;
    d->next.number = 0;
    d->begun_s = time_s;
  }
  law(d, time_s, hand_m, force_n, torque_nm);
}
