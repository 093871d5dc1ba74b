// An unreduced solid in motion: its state, the step being computed and the forces in it, for the
// implicit and the explicit scheme.  Fixed nodes do not move.
#ifndef RF_INTEGRATOR_SOLID_MOTION_H
#define RF_INTEGRATOR_SOLID_MOTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "fem/fem.h"

typedef struct rf_solid_motion {
  const rf_solid *solid;     // borrowed: must outlive this
  double damping_stiff;      // beta, s
  double *viscosity;         // of each material, NULL: no strain-rate damping (n_materials, 2)
  double *u, *v, *a;         // state                                          (n, 3)
  double *x, *xdot, *xddot;  // the step being computed                        (n, 3)
  double *load;              // constant external force                        (n, 3)
  double *applied;           // external force, with the constant one          (n, 3)
  double *internal;          // R(x)                                           (n, 3)
  double *product;           // of a matrix with xdot                          (n, 3)
  double *stiffness;         // K(x), where it is needed                       (entries, 3, 3)
} rf_solid_motion;

// At rest.  K(x) is needed where `tangent` is true or beta > 0; viscosity and load (n, 3) are
// nullable, and copied.
RF_MUST_CHECK rf_status rf_solid_motion_init(rf_solid_motion *m, const rf_solid *solid,
                                             bool tangent, double damping_stiff,
                                             const double *viscosity, const double *load,
                                             rf_error *err);
void rf_solid_motion_release(rf_solid_motion *m);  // all zero is fine

// The step's own arrays become the given state (nullable: zero); RF_ERR_ARG, naming the first
// fixed node that moves.
RF_MUST_CHECK rf_status rf_solid_motion_start(rf_solid_motion *m, const double *u, const double *v,
                                              const double *a, rf_error *err);
// External force of the next steps beside the constant one, nullable: zero.
void rf_solid_motion_apply(rf_solid_motion *m, const double *force);
// R(x) and K(x)
RF_MUST_CHECK rf_status rf_solid_motion_evaluate(rf_solid_motion *m, const rf_run *run,
                                                 rf_error *err);
// sum += (beta K(x) + D(x)) xdot, K being evaluated; matrix: D(x) itself, nullable (entries, 3, 3)
RF_MUST_CHECK rf_status rf_solid_motion_damp(rf_solid_motion *m, const rf_run *run, double *matrix,
                                             double *sum, rf_error *err);
// The step becomes the state; false, with the state as it was, unless all of it is finite.
RF_MUST_CHECK bool rf_solid_motion_keep(rf_solid_motion *m);

#endif
