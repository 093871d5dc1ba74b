// Virtual coupling between the hand and the object in the simulation (B07 chapter 4).
//
// The manipulandum follows the hand, the simulation object is stopped by contact; both are poses of
// the frame at the grasp point.  With e = x_m - x_s and
// p = vector(q_m q_s^-1), taken so that the scalar part s is not negative, |p| = sin(theta / 2),
// the coupling pulls the object by
//     F = f(|e|) e / |e|,   T = t(|p|) p / |p|,                                    (4.13, 4.14)
// f(r) = k r, t(u) = k_T u up to half of the largest force or torque, and from there on
//     f(r) = f_max (1 - 1/2 exp(-2 k (r - r_lin) / f_max)),   r_lin = f_max / (2 k),    (4.40)
// t likewise.  Gradients by the motion (dx, dw) of the object about its grasp point:
//     dF/dx = -(f/r) I + (f/r - f') e e^T / r^2,                                       (4.41)
//     dT/dw = -1/2 [(t/u) (s I + [p]x) + s (t' - t/u) p p^T / u^2],              (4.24 for t = k_T
//     u)
// and none of force by rotation or of torque by displacement.
//
// Static coupling: a cycle moves the object to where, by the gradients of coupling and contact,
// no net force and torque are left (4.1, 4.2): one step of Newton's method towards a moving
// target.  That motion is limited in speed (4.6), and the share 1 - damping of it is made (4.8).
// (4.10) treats directions with hardly any resistance.
//
// A load that is condensed holds the answers of bodies to the motion (haptic/coupled.h).  Its
// gradient is mostly their inertia in a cycle, so that (4.8) would brake them: soft bodies would
// feel viscous while the hand moves.  Damping then acts on the difference to the last motion, or to
// the part of it along the motion of the manipulandum: steady motion meets no resistance, and with
// the hand at rest it is (4.8).
//
// Choices that B07 leaves open.  (1) Gradients of contact and springs are in fixed axes, in which
// springs alone come to rest after one step; that of contact neglects the motion of the lines of
// its forces (contact/wrench.h), which does not change the equilibria.
// (2) Rows in N and N m, columns in m and rad cannot be compared: singular values are those of
// the system in N and N, m and m, made with the length l at which k l^2 = k_T / 2, so that both
// springs are equally stiff.  (3) A largest torque bounds no penetration where contact forces act
// as levers or wedges: with `max_depth_m` the whole coupling is relieved while the deepest point
// is deeper than half of that; coupling/hold.h then makes it a bound.  (4) Where f saturates, f'
// vanishes and a step by (4.41) leads far beyond the manipulandum, which a hand feels as a buzz:
// the system of a cycle has f/r in place of f', and t/u in place of t', which are larger and have
// the same equilibria.  (5) Singular values are small relative to the largest, that of contact:
// with contact 1000 times as stiff as the coupling, (4.10) would drop the coupling, the object
// would not come to rest, and k would not bound the felt stiffness (4.7).  So no direction is
// dropped if each is known to resist by a thousandth of k, which holds if contact nowhere pulls and
// neither relief nor saturation take more than that.  (4.10) serves the rest: springs stretched a
// thousand times their linear range, an object that is relieved or turned by half a turn, loads
// that pull or twist.
#ifndef RF_COUPLING_VIRTUAL_COUPLING_H
#define RF_COUPLING_VIRTUAL_COUPLING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "linalg/pose.h"

typedef struct rf_coupling_settings {
  double stiffness_n_per_m;  // k, > 0
  double torsion_nm;         // k_T, > 0
  double max_force_n;        // > 0; INFINITY: none
  double max_torque_nm;      // > 0; INFINITY: none
  double max_depth_m;        // > 0; INFINITY: no bound
  double reach_m;            // largest distance of the object from its grasp point, >= 0
  double damping;            // in [0, 1)
  double max_step_m;         // of the grasp point in a cycle, > 0; INFINITY: any
  double max_turn_rad;       // in a cycle, > 0; INFINITY: any
  double degenerate;         // in (0, 1): share of k, and of the largest singular value
} rf_coupling_settings;

// Wrench of the coupling at two poses.
typedef struct rf_coupling_wrench {
  double force_n[3], torque_nm[3];                // on the simulation object, about its grasp point
  double linear_force_n[3], linear_torque_nm[3];  // the same without saturation
  double gradient[36];  // of (force, torque) by (dx, dw) in fixed axes                (6, 6)
} rf_coupling_wrench;

// Contact load on the simulation object at its present pose.
typedef struct rf_coupling_load {
  double force_n[3], torque_nm[3];  // about the grasp point
  double gradient[36];              // by (dx, dw), in fixed axes                        (6, 6)
  double depth_m;                   // deepest penetration
  double clearance_m;               // how far any point can travel before one touches, >= 0
  bool condensed;                   // force and gradient: with the answers of bodies in the cycle
  double led[6];                    // motion of the manipulandum in the cycle; used if condensed
} rf_coupling_load;

typedef struct rf_coupling_state {
  rf_pose object;   // grasp point of the simulation object, and its rotation
  double share;     // of the wrench that acts, in (0, 1]: relief
  double moved[6];  // motion of the last cycle, before the depth limiter
} rf_coupling_state;

typedef struct rf_coupling_report {
  rf_coupling_wrench wrench;  // after the motion; on the hand acts the opposite
  double move[6];             // of the grasp point, m, and rotation, rad
  int32_t rank;               // of the system solved; -1: it was not finite, nothing was moved
  bool limited;               // the motion was cut by a largest speed
} rf_coupling_report;

RF_MUST_CHECK rf_status rf_coupling_check(const rf_coupling_settings *set, rf_error *err);

void rf_coupling_wrench_rt(const rf_coupling_settings *set, const rf_pose *manipulandum,
                           const rf_pose *object, rf_coupling_wrench *out);

// One cycle of static coupling.  RF_ERR_DIVERGED where something is not finite: the state is then
// as before.
RF_MUST_CHECK rf_status rf_coupling_step_rt(const rf_coupling_settings *set,
                                            const rf_pose *manipulandum,
                                            const rf_coupling_load *load, rf_coupling_state *state,
                                            rf_coupling_report *report);

#endif
