// Explicit central differences, the Newmark scheme with beta = 0 and gamma = 1/2 (B07 2.9.1), for
// the reduced model, where a step is real-time code, and for the unreduced solid
// (central_solid.h), where no matrix is factored in a step.
//
//   x' = x + h v + h^2/2 a,   w = v + h/2 a                         (velocity in the middle)
//   M a' = f - R(x') - alpha M v' - (beta K(x') + D(x')) w,   v' = w + h/2 a'
//
// Mass damping is taken at the end of the step, which costs nothing; stiffness and strain-rate
// damping at its middle, for a matrix would have to be factored otherwise.  Undamped and with mass
// damping alone the scheme is of second order.
//
// With c = beta omega^2 + delta the damping rate of the highest mode, omega, a linear system is
// stable exactly for  h^2 omega^2 + 2 h c <= 4,  h <= 4 / (c + sqrt(c^2 + 4 omega^2)): undamped h
// <= 2 / omega.  (B07 2.9.1 has 2 pi / omega, a whole period, at which the scheme is far beyond its
// limit.)
#ifndef RF_INTEGRATOR_CENTRAL_H
#define RF_INTEGRATOR_CENTRAL_H

#include <stdint.h>

#include "base/status.h"
#include "integrator/motion.h"
#include "model/reduced_model.h"
#include "polynomial/damping.h"

typedef struct rf_central_settings {
  double dt_s;           // step, s, > 0
  double damping_mass;   // alpha, 1/s, >= 0
  double damping_stiff;  // beta, s, >= 0
  // strain-rate damping, NULL: none; of a reduced model (borrowed: must outlive the simulation),
  // and of an unreduced solid, phi and psi of each material (copied)
  const rf_damping *strain_rate;
  const double *viscosity;
  const double *load;  // constant external force, added to that of every step (copied); NULL: none
} rf_central_settings;

// Explains RF_ERR_DIVERGED.
rf_status rf_central_diverged(double time_s, rf_error *err);

// Eigenvalues of  K~(q) x = lambda M~ x, ascending (r); q NULL: rest.
RF_MUST_CHECK rf_status rf_reduced_eigenvalues(const rf_reduced *model, const double *q,
                                               double *values, rf_error *err);

// The stable step at q (NULL: rest) with stiffness and strain-rate damping (NULL: none), whose
// highest rate delta is added to c, as if it were that of the same mode: on the safe side.
RF_MUST_CHECK rf_status rf_reduced_stable_step(const rf_reduced *model, const double *q,
                                               double damping_stiff, const rf_damping *strain_rate,
                                               double *step, rf_error *err);

// State and work of one reduced simulation; the model is shared.  One thread at a time.
typedef struct rf_central {
  rf_central_settings set;
  const rf_reduced *model;  // borrowed: must outlive this
  double time_s;
  int64_t steps;             // since the last reset
  double *q, *qdot, *qddot;  // state, part of motion        (r)
  struct rf_reduced_motion *motion;
} rf_central;

RF_MUST_CHECK rf_status rf_central_create(const rf_reduced *model, const rf_central_settings *set,
                                          rf_central **out, rf_error *err);
void rf_central_free(rf_central *s);  // NULL is fine

// State at time 0: q, qdot (nullable: zero), acceleration consistent with the constant load
// alone unless qddot is given.
RF_MUST_CHECK rf_status rf_central_reset(rf_central *s, const double *q, const double *qdot,
                                         const double *qddot, rf_error *err);

// n steps under constant `force` (nullable: zero).  RF_ERR_DIVERGED when a number is no longer
// finite: the state is then that before the failing step.
RF_MUST_CHECK rf_status rf_central_step_rt(rf_central *s, const double *force, int64_t n);

#endif
