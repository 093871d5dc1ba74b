// Forces of a slower simulation at the rate of the hand.
//
// The simulation, of period S, takes the place x_j of the hand at t_j and gives the force F_j, and
// in "stiffness" a local stiffness K_j (touch/explicit_secant.h), else zero.  From t_j + S on, or
// from its arrival if that is later, the law
//     F(x) = F_j - K_j (x - x_j)
// comes in linearly for the one before in a period: as the next one follows then, the force moves
// at the speed of the states: a shorter time would make a tool that begins to slide jump.  The
// local stiffness changes the force of the states by at most its size, so that it never pulls.
// Across the normal force N it makes forces no larger than friction times |N|, or than that of the
// states: a tool that begins to slide is held by no more.
//
// Stability: a body of stiffness k has F_j = -k x_j.  With weights a(t, s) of the speeds x'(s)
// since the states shown at t,
//     F(t) = -k x(t) + int (k - K) a(t, s) x'(s) ds,
// and by Young's inequality the energy of a hand of damping b falls if
//     b > |k - K| (int a(t, s) ds + int a(s, t) ds) / 2   at all t,
// which is 2 S |k - K| on average.  K itself is held for a cycle T and needs K T / 2 likewise.  So
// by their states no K from 0 to 2 k needs more damping than none, and K may change from state to
// state.
#ifndef RF_TOUCH_EXPLICIT_DISPLAY_H
#define RF_TOUCH_EXPLICIT_DISPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "linalg/pose.h"

// A force that depends on the place of the hand: force - stiffness (x - hand).
typedef struct rf_explicit_law {
  double hand_m[3];
  double force_n[3], torque_nm[3];  // on the tool, about its position
  double normal_n[3];               // of the force, the part without friction
  double stiffness[9];              // N/m
} rf_explicit_law;

// The contact at the end of a period of the simulation.
typedef struct rf_explicit_state {
  int64_t number;       // from 1 on
  int64_t jumps;        // of the hand, up to it
  double hand_s;        // t_j
  rf_explicit_law law;  // x_j, F_j, and K_j, which is zero in "delay"
  rf_pose tool;         // in the simulation
  double slip_m[3];     // way of a sliding tool in the period
  double depth_m;       // of the deepest node in the tool
  double most_n_per_m;  // largest eigenvalue of the stiffness measured
  int32_t touching;     // nodes
  bool failed;          // the simulation has ended: the values are those before
} rf_explicit_state;

typedef struct rf_explicit_display {
  bool local;                   // "stiffness"
  double friction;              // coefficient
  double cycle_s, period_s;     // T and S
  rf_explicit_state now, next;  // shown; known, and shown later
  rf_explicit_law before;       // shown at begun_s
  double begun_s;               // time from which `now` is shown
  double arrived_s;             // of the newest state
} rf_explicit_display;

// Shows nothing, from a time on.
void rf_explicit_display_begin_rt(rf_explicit_display *d, double time_s);
// Shows the state that waits, if it is due; false: it still waits, and no other may be taken, which
// would replace it before it was shown.
bool rf_explicit_display_ready_rt(rf_explicit_display *d, double time_s, const double hand_m[3]);
// Takes a state that has arrived, if none waits.
void rf_explicit_display_take_rt(rf_explicit_display *d, const rf_explicit_state *state,
                                 double time_s);
// Computes the force and torque shown with the hand at a place; times ascend.
void rf_explicit_display_show_rt(rf_explicit_display *d, double time_s, const double hand_m[3],
                                 double force_n[3], double torque_nm[3]);

#endif
