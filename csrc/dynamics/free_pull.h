// A damped spring that pulls a point of a free body towards a place, as impulses before its steps.
//
// With x the point, v its velocity by the rigid motion and gravity, w that by the deformation, h
// the step, c the damping, V and W the inverse masses of both at the point, the force is that of
// the end of a step in which nothing else acts,
//     f = k (p - x - h (v' + w')) - c v',   v' = v + h V f,   w' = w + h W f:
//     (1 + h^2 k (V + W) + h c V) f = k (p - x - h (v + w)) - c v.
// W is that of a deformation without stiffness: the force is smaller than that of the end of the
// step, and bounded by the momentum that takes the point to the place in one step, at any k.  The
// damping is that of the rigid motion alone, where no stiffness is missing.  Contact of the body
// acts in the step itself.
#ifndef RF_DYNAMICS_FREE_PULL_H
#define RF_DYNAMICS_FREE_PULL_H

#include "dynamics/free_body.h"

typedef struct rf_free_body_pull {
  double rest_m[3];    // X, in the frame of the body at rest
  double stiffness;    // k, N/m, >= 0
  double damping;      // c, N s/m, >= 0
  const double *rows;  // U_X, kg^-1/2, borrowed                       (3, r)
  // state before the last impulse, for a step that fails
  rf_rigid_state rigid;
  double *qdot;  // borrowed                                           (r)
  int64_t steps;
  bool follows;
} rf_free_body_pull;

// RF_ERR_ARG unless all numbers are finite and k, c at least 0.
RF_MUST_CHECK rf_status rf_free_body_pull_check(const rf_free_body_pull *pull, int32_t r,
                                                rf_error *err);

// Point of the body in the world.
void rf_free_body_pull_point_rt(const rf_free_body_pull *pull, const rf_free_body *body,
                                double point_m[3]);
// Changes the momenta of the body, and the rates of its deformation, by the force of one step,
// which is returned; the step follows.  RF_ERR_DIVERGED: the force is not finite, nothing changes.
RF_MUST_CHECK rf_status rf_free_body_pull_rt(rf_free_body_pull *pull, rf_free_body *body,
                                             const double place_m[3], double force_n[3]);
// Takes the impulse back from a body whose step has failed.
void rf_free_body_pull_undo_rt(const rf_free_body_pull *pull, rf_free_body *body);

#endif
