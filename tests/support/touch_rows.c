// Rows of states and cycles through the kernels of explicit bodies that a hand touches.
#include <string.h>

#include "touch/explicit_display.h"
#include "touch/explicit_secant.h"

// Takes n states; writes the stiffness measured and shown after each (n, 9), its largest
// eigenvalue, and the parts of the changes missed. Contact ends after `open` states without it;
// tools stick after `sticks_after` states.
void secant_rows(int n, const int *touching, const int *held, const double *place,
                 const double *force, const double *normal, double noise, double memory, int open,
                 int sticks_after, double *stiffness, double *shown, double *most, double *missed) {
  rf_explicit_secant s;
  memset(&s, 0, sizeof s);
  s.noise_m = noise;
  s.memory = memory;
  s.most_open = open;
  s.sticks_after = sticks_after;
  for (int k = 0; k < n; ++k) {
    rf_explicit_touch now = {.touching = touching[k] != 0, .held = held[k] != 0};
    memcpy(now.place_m, place + 3 * k, sizeof now.place_m);
    memcpy(now.force_n, force + 3 * k, sizeof now.force_n);
    memcpy(now.normal_n, normal + 3 * k, sizeof now.normal_n);
    rf_explicit_secant_take_rt(&s, &now);
    memcpy(stiffness + 9 * k, s.stiffness, sizeof s.stiffness);
    memcpy(shown + 9 * k, s.used, sizeof s.used);
    most[k] = rf_explicit_secant_most_rt(&s);
  }
  missed[0] = s.changed_n2;
  missed[1] = s.missed_n2;
}

// Shows n cycles; state[k] >= 0: the state that arrives before cycle k, of m; it waits for those
// before, as in a broadcast.
void display_rows(int local, double friction, double cycle, double period, int n,
                  const double *hand, const int *state, const double *hand_s, const double *hand_m,
                  const double *force_of, const double *normal_of, const double *stiffness,
                  double *force, double *torque) {
  rf_explicit_display d;
  memset(&d, 0, sizeof d);
  d.local = local != 0;
  d.friction = friction;
  d.cycle_s = cycle;
  d.period_s = period;
  rf_explicit_display_begin_rt(&d, 0.0);
  double time = 0.0;
  int waits = -1;
  for (int k = 0; k < n; ++k) {
    if (state[k] >= 0) waits = state[k];
    const int j = waits;
    time += cycle;
    if (j >= 0 && rf_explicit_display_ready_rt(&d, time, hand + 3 * k)) {
      waits = -1;
      rf_explicit_state s;
      memset(&s, 0, sizeof s);
      s.number = j + 1;
      s.hand_s = hand_s[j];
      memcpy(s.law.hand_m, hand_m + 3 * j, sizeof s.law.hand_m);
      memcpy(s.law.force_n, force_of + 3 * j, sizeof s.law.force_n);
      memcpy(s.law.normal_n, normal_of + 3 * j, sizeof s.law.normal_n);
      for (int i = 0; i < 3; ++i) s.law.torque_nm[i] = 2.0 * s.law.force_n[i];
      if (local) memcpy(s.law.stiffness, stiffness + 9 * j, sizeof s.law.stiffness);
      rf_explicit_display_take_rt(&d, &s, time);
    }
    rf_explicit_display_show_rt(&d, time, hand + 3 * k, force + 3 * k, torque + 3 * k);
  }
}
