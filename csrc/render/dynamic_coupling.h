// Dynamic virtual coupling: the simulation object has a mass and follows the manipulandum by
// springs and dampers (McNeely, Puterbaugh and Troy 1999), the baseline of B07 chapter 4.
//
// With v the velocity of the grasp point and the angular velocity, M mass and inertia, B the
// dampers and F the forces of springs and contact, a cycle makes `substeps` linearly implicit Euler
// steps of length h,
//     (M + h B - h^2 G) v_next = M v + h (F + B v_m),   x_next = x + h v_next,
// G the gradient of F in fixed axes at the beginning of the cycle.  The springs are evaluated anew
// in each step; contact, known at the beginning of the cycle only, follows its gradient.  The
// damper of a saturated spring is scaled by sqrt(force / (k r)), which keeps the damping ratio.
#ifndef RF_RENDER_DYNAMIC_COUPLING_H
#define RF_RENDER_DYNAMIC_COUPLING_H

#include "render/virtual_coupling.h"

typedef struct rf_dynamic_settings {
  rf_coupling_settings spring;  // damping and degenerate are not used here
  double mass_kg;               // > 0
  double inertia_kg_m2;         // about the grasp point, equal about all axes, > 0
  double damping_n_s_per_m;     // >= 0
  double torsion_damping_nm_s;  // >= 0
  double dt_s;                  // length of a cycle, > 0
  int32_t substeps;             // 1 to RF_DYNAMIC_MOST_SUBSTEPS
} rf_dynamic_settings;

enum { RF_DYNAMIC_MOST_SUBSTEPS = 64 };

typedef struct rf_dynamic_state {
  rf_coupling_state coupling;
  double velocity[6];  // m/s, rad/s
} rf_dynamic_state;

RF_MUST_CHECK rf_status rf_dynamic_check(const rf_dynamic_settings *set, rf_error *err);

// The motion of a cycle without contact, and C, both of one step with h the length of the cycle:
//     C = h^2 (M + h B - h^2 G)^-1,
// G the symmetric part of the springs' gradient; the motion of the substeps is `apart`.  Contact
// acts at the end of the cycle: over several substeps it would reverse the velocity.  A largest
// speed cuts y and C by the same factor, as a stronger damper would.
RF_MUST_CHECK rf_status rf_dynamic_free_rt(const rf_dynamic_settings *set,
                                           const rf_pose *manipulandum,
                                           const double manipulandum_velocity[6],
                                           const rf_coupling_load *load,
                                           const rf_dynamic_state *state, rf_coupling_free *out);
// Makes the cycle under a wrench of contact (6): that step, or the substeps if the wrench is zero.
// RF_ERR_DIVERGED as below.
RF_MUST_CHECK rf_status rf_dynamic_finish_rt(const rf_dynamic_settings *set,
                                             const rf_pose *manipulandum,
                                             const rf_coupling_free *free, const double wrench[6],
                                             rf_dynamic_state *state, rf_coupling_report *report);

// Runs one cycle; manipulandum_velocity: m/s, rad/s (6).  RF_ERR_DIVERGED: a result is not finite;
// the state is unchanged.
RF_MUST_CHECK rf_status rf_dynamic_step_rt(const rf_dynamic_settings *set,
                                           const rf_pose *manipulandum,
                                           const double manipulandum_velocity[6],
                                           const rf_coupling_load *load, rf_dynamic_state *state,
                                           rf_coupling_report *report);

#endif
