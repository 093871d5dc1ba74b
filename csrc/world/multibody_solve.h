// Forces of all contacts of a step together, and the steps of the bodies under them (multibody.h).
#ifndef RF_WORLD_MULTIBODY_SOLVE_H
#define RF_WORLD_MULTIBODY_SOLVE_H

#include "base/run.h"
#include "world/multibody_joint.h"
#include "world/multibody_limits.h"

typedef struct rf_multibody_solve {
  double contact_damping, tolerance;
  int32_t most_iterations;
  double least_work;  // multiplications of a stage from which on it runs on all threads
  rf_multibody_touching touching;
  rf_multibody_joint *joint;    // borrowed
  bool friction;                // of any pair
  double node_work, pair_work;  // multiplications of a stage; set by the solve
  // state of the solve
  bool stale;       // the joint preconditioner is renewed with the next forces
  bool held;        // limits of friction stay
  bool secant;      // Newton's matrix has the secants of friction
  double mismatch;  // residual by the law of friction, when it was last computed
  double best;      // the least one
  rf_multibody_limits limits;
  // results
  int32_t solves;      // of Newton's method
  int32_t iterations;  // of conjugate gradients
  double left;         // relative residual: velocity change it would cause over that by contact
} rf_multibody_solve;

// Solves, and makes the step of all nodes.
RF_MUST_CHECK rf_status rf_multibody_solve_step(rf_multibody_solve *s, const rf_run *run,
                                                rf_error *err);

#endif
