// Virtual coupling between the hand and the object in the simulation (B07 chapter 4).
//
// The manipulandum follows the hand, the simulation object is stopped by contact; both are poses of
// the frame at the grasp point.  With e = x_m - x_s and p = vector(q_m q_s^-1), its sign such that
// the scalar part s >= 0, |p| = sin(theta / 2), the coupling pulls the object by
//     F = f(|e|) e / |e|,   T = t(|p|) p / |p|,                                    (4.13, 4.14)
// f(r) = k r, t(u) = k_T u up to half of the largest force or torque, and from there on
//     f(r) = f_max (1 - 1/2 exp(-2 k (r - r_lin) / f_max)),   r_lin = f_max / (2 k),    (4.40)
// t likewise.  Gradients by the motion (dx, dw) of the object about its grasp point:
//     dF/dx = -(f/r) I + (f/r - f') e e^T / r^2,                                       (4.41)
//     dT/dw = -1/2 [(t/u) (s I + [p]x) + s (t' - t/u) p p^T / u^2],        (4.24 for t = k_T u)
// Force does not depend on rotation, nor torque on displacement.
//
// Static coupling: a cycle makes one Newton step, with the gradients of coupling and contact,
// towards the pose where net force and torque vanish (4.1, 4.2).  The step is limited in speed
// (4.6) and scaled by 1 - damping (4.8).  (4.10) treats directions with hardly any resistance.
//
// A condensed load includes the responses of bodies to the motion (world/coupled.h).  Its gradient
// is mostly their inertia in a cycle, so (4.8) would brake them: soft bodies would feel viscous
// while the hand moves.  Damping then acts on the difference to the part of the last motion that is
// along the motion of the manipulandum: steady motion meets no resistance, and with the hand at
// rest (4.8) applies unchanged.
//
// Choices that B07 leaves open:
// (1) Gradients of contact and springs are in fixed axes, in which springs alone come to rest after
// one step.  The gradient of contact neglects the motion of the lines of its forces
// (contact/wrench.h), which does not change the equilibria.
// (2) Rows in N and N m, columns in m and rad cannot be compared.  Singular values are therefore
// taken of the system in N and N, m and m, scaled by the length l at which k l^2 = k_T / 2, so that
// both springs are equally stiff.
// (3) A largest torque does not bound the penetration where contact forces act as levers or wedges.
// With `max_depth_m` the whole coupling is scaled down (relief) while the deepest point is deeper
// than half of it; the depth limiter (render/depth_limit.h) then makes it a bound.
// (4) Where f saturates, f' vanishes and a step by (4.41) leads far beyond the manipulandum, which
// a hand feels as a buzz.  The system of a cycle has f/r in place of f' and t/u in place of t':
// larger values with the same equilibria.
// (5) Singular values are small relative to the largest, that of contact: with contact 1000 times
// as stiff as the coupling, (4.10) would drop the coupling, the object would not come to rest, and
// k would not bound the felt stiffness (4.7).  So no direction is dropped if each is known to
// resist by at least degenerate * k, which holds if contact nowhere pulls and relief and saturation
// leave that share of the springs.  (4.10) serves the other cases: springs stretched far beyond
// their linear range, an object that is relieved or turned by half a turn, loads that pull or
// twist.
#ifndef RF_RENDER_VIRTUAL_COUPLING_H
#define RF_RENDER_VIRTUAL_COUPLING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "linalg/pose.h"

typedef struct rf_coupling_settings {
  double stiffness_n_per_m;  // k, > 0
  double torsion_nm;         // k_T, > 0
  double max_force_n;        // > 0; INFINITY: unlimited
  double max_torque_nm;      // > 0; INFINITY: unlimited
  double max_depth_m;        // largest penetration, > 0; INFINITY: unlimited
  double reach_m;            // largest distance of the object from its grasp point, >= 0
  double damping;            // in [0, 1)
  double max_step_m;         // motion of the grasp point in a cycle, > 0; INFINITY: unlimited
  double max_turn_rad;       // rotation in a cycle, > 0; INFINITY: unlimited
  double degenerate;         // in (0, 1): limit relative to k, and to the largest singular value
} rf_coupling_settings;

// Wrench of the coupling at two poses.
typedef struct rf_coupling_wrench {
  double force_n[3], torque_nm[3];                // on the simulation object, about the grasp point
  double linear_force_n[3], linear_torque_nm[3];  // likewise, without saturation
  double gradient[36];  // of (force, torque) by (dx, dw), in fixed axes                 (6, 6)
} rf_coupling_wrench;

// Contact load on the simulation object at its present pose.
typedef struct rf_coupling_load {
  double force_n[3], torque_nm[3];  // about the grasp point
  double gradient[36];              // derivative by (dx, dw), fixed axes                    (6, 6)
  double depth_m;                   // deepest penetration
  double clearance_m;               // travel that leaves all points free of contact, >= 0
  bool condensed;                   // force and gradient include the responses of bodies
  double led[6];                    // motion of the manipulandum in the cycle, if condensed
} rf_coupling_load;

typedef struct rf_coupling_state {
  rf_pose object;   // pose of the grasp frame of the simulation object
  double share;     // share of the wrench that acts, in (0, 1]: relief
  double moved[6];  // motion of the last cycle, before the depth limiter
} rf_coupling_state;

typedef struct rf_coupling_report {
  rf_coupling_wrench wrench;  // after the motion; the hand gets the opposite
  double move[6];             // displacement of the grasp point, m, and rotation, rad
  int32_t rank;               // rank of the system; -1: not finite, nothing moved
  bool limited;               // the motion was cut by a largest speed
} rf_coupling_report;

RF_MUST_CHECK rf_status rf_coupling_check(const rf_coupling_settings *set, rf_error *err);

// Computes the wrench of the coupling at two poses.
void rf_coupling_wrench_rt(const rf_coupling_settings *set, const rf_pose *manipulandum,
                           const rf_pose *object, rf_coupling_wrench *out);

// Motion of the object in a cycle without contact, and what a wrench of contact adds to it.
typedef struct rf_coupling_free {
  double way[6];          // y, as `move` of the report
  double compliance[36];  // C, symmetric: y + C (force, torque) is the motion          (6, 6)
  // dynamic coupling only: motion, and velocity at its end, if nothing touches
  double apart[6], velocity[6];
  double share;  // of the coupling
  bool limited;  // y and C were cut by a largest speed
} rf_coupling_free;

// Computes both for static coupling: C = (1 - damping) G^-1, with G the symmetric part of the
// stiffness of the springs by their secants, at least `degenerate` k.  A cycle of
// rf_coupling_step_rt under a constant wrench makes the same motion, up to the antisymmetric part
// of G.  Of the load, depth and clearance count, and `led` where it is `condensed`.
void rf_coupling_free_rt(const rf_coupling_settings *set, const rf_pose *manipulandum,
                         const rf_coupling_load *load, const rf_coupling_state *state,
                         rf_coupling_free *out);
// Makes the cycle of static coupling under a wrench of contact (6).  RF_ERR_DIVERGED as below.
RF_MUST_CHECK rf_status rf_coupling_finish_rt(const rf_coupling_settings *set,
                                              const rf_pose *manipulandum,
                                              const rf_coupling_free *free, const double wrench[6],
                                              rf_coupling_state *state, rf_coupling_report *report);

// Runs one cycle of static coupling.  RF_ERR_DIVERGED: a result is not finite; the state is
// unchanged.
RF_MUST_CHECK rf_status rf_coupling_step_rt(const rf_coupling_settings *set,
                                            const rf_pose *manipulandum,
                                            const rf_coupling_load *load, rf_coupling_state *state,
                                            rf_coupling_report *report);

#endif
