// A reduced model in motion: its state, the step being computed and the forces in it, for the
// implicit and the explicit scheme; opaque outside this room.  One block of memory.
#ifndef RF_INTEGRATOR_REDUCED_MOTION_H
#define RF_INTEGRATOR_REDUCED_MOTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "model/reduced_model.h"
#include "polynomial/damping.h"

typedef struct rf_reduced_motion {
  const rf_reduced *model;        // borrowed: must outlive this
  double damping_stiff;           // beta, s
  const rf_damping *strain_rate;  // borrowed, NULL: none
  int32_t ld;                     // row length of the matrices
  double *mass;                   // M~; of the explicit scheme its factor   (r rows of ld)
  double *stiffness;              // K~(x)                                   (r rows of ld)
  double *system;                 // a1 M + a4 C + K, implicit scheme only   (r rows of ld)
  double *q, *qdot, *qddot;       // state                                   (ld)
  double *x, *xdot, *xddot;       // the step being computed                 (ld)
  double *load;                   // constant external force                 (ld)
  double *applied;                // external force, with the constant one   (ld)
  double *force;                  // R~(x), then the balance of forces       (ld)
  double *residual;               //                                         (ld)
  double *increment;              // of x, by a solve                        (ld)
  double *product;                // of a matrix with a vector               (ld)
  bool prepared;                  // force, K~ and D~ are those of x = q, for a step to come
  double *way;                    // x - q, where a stiffness is added       (ld)
  const double *added;            // to K of a step, symmetric, borrowed; NULL: none (ld rows of ld)
  double *damping;                // D~(x), with strain-rate damping only    (r rows of ld)
  void *strain_rate_work;
  void *polynomial_work;
} rf_reduced_motion;

// At rest; RF_ERR_ARG unless strain_rate (nullable) fits; load (r, nullable: zero) is copied.  To
// be freed by rf_free.
RF_MUST_CHECK rf_status rf_reduced_motion_create(const rf_reduced *model, bool implicit,
                                                 double damping_stiff,
                                                 const rf_damping *strain_rate, const double *load,
                                                 rf_reduced_motion **out, rf_error *err);

// The step's own arrays become the given state (nullable: zero), under the constant load alone.
void rf_reduced_motion_start(rf_reduced_motion *m, const double *q, const double *qdot,
                             const double *qddot);
// The step becomes the state; RF_ERR_DIVERGED, with the state as it was, unless all is finite.
RF_MUST_CHECK rf_status rf_reduced_motion_keep(rf_reduced_motion *m, rf_error *err);

// External force of the next steps beside the constant one, nullable: zero.
void rf_reduced_motion_apply_rt(rf_reduced_motion *m, const double *force);
// Evaluates D~(x), if there is any.
void rf_reduced_motion_viscosity_rt(rf_reduced_motion *m);
// sum += sign (beta K~(x) + D~(x)) xdot, K~ and D~ being evaluated
void rf_reduced_motion_damp_rt(rf_reduced_motion *m, double sign, double *sum);
// force = applied - R~(x) - (beta K~(x) + D~(x)) xdot
void rf_reduced_motion_balance_rt(rf_reduced_motion *m);

#endif
