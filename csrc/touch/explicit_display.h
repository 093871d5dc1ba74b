// Forces of a slower simulation at the rate of the hand.
//
// The simulation, of period S, takes the place x_j of the hand at t_j and gives the force F_j,
// which is shown from t_j + S on, or from its arrival if that is later:
//     delay      F(t) goes linearly from the force shown then to F_j, which it reaches after S
//     stiffness  F(t) = F_j - K_j (x(t) - x_j), zero where that would pull
//
// Stability: a body of stiffness k has F_j = -k x_j.  With weights a(t, s) of the speeds x'(s)
// since the states shown at t,
//     F(t) = -k x(t) + (k - K) int a(t, s) x'(s) ds,
// and by Young's inequality the energy of a hand of damping b falls if
//     b > |k - K| (int a(t, s) ds + int a(s, t) ds) / 2   at all t,
// which is 2 S k on average in "delay" (K = 0), and 3/2 S |k - K| in "stiffness".  K itself is held
// for a cycle T and needs K T / 2 likewise.  So no K from 0 to 2 k needs more damping by states
// than none, and K may change from state to state.
#ifndef RF_TOUCH_EXPLICIT_DISPLAY_H
#define RF_TOUCH_EXPLICIT_DISPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "linalg/pose.h"

// The contact at the end of a period of the simulation.
typedef struct rf_explicit_state {
  int64_t number;       // from 1 on
  int64_t jumps;        // of the hand, up to it
  double hand_s;        // t_j
  double hand_m[3];     // x_j
  double force_n[3];    // F_j, on the tool
  double torque_nm[3];  // about its position
  double stiffness[9];  // K_j, N/m; zero in "delay"
  rf_pose tool;         // in the simulation
  double slip_m[3];     // way of a sliding tool in the period
  double depth_m;       // of the deepest node in the tool
  double most_n_per_m;  // largest eigenvalue of the stiffness measured
  int32_t touching;     // nodes
  bool failed;          // the simulation has ended: the values are those before
} rf_explicit_state;

typedef struct rf_explicit_display {
  bool local;                    // "stiffness"
  double cycle_s, period_s;      // T and S
  rf_explicit_state now, next;   // shown; known, and shown later
  double from_n[3], from_nm[3];  // force and torque shown at begun_s
  double begun_s;                // time from which `now` is shown
  double arrived_s;              // of the newest state
} rf_explicit_display;

// Shows nothing, from a time on.
void rf_explicit_display_begin_rt(rf_explicit_display *d, double time_s);
// Takes a state that has arrived.
void rf_explicit_display_take_rt(rf_explicit_display *d, const rf_explicit_state *state,
                                 double time_s);
// Computes the force and torque shown with the hand at a place; times ascend.
void rf_explicit_display_show_rt(rf_explicit_display *d, double time_s, const double hand_m[3],
                                 double force_n[3], double torque_nm[3]);

#endif
