// A spring that pulls a point of a reduced body towards a place, as a pointer on a screen does.
//
// The force k (p - x) on x = X + U_X q during a step is that at its end, so it joins the step as
// the force k U_X^T (p - x_i) and the stiffness k U_X^T U_X of rf_motion_step_added_rt.  The spring
// is stable at any stiffness.
#ifndef RF_DYNAMICS_PULL_H
#define RF_DYNAMICS_PULL_H

#include "dynamics/motion.h"
#include "model/reduced_model.h"

typedef struct rf_pull {
  int32_t r;
  int64_t ld;
  double rest_m[3];       // X
  double stiffness;       // k, N/m, >= 0
  double *rows;           // U_X, kg^-1/2, zero beyond r       (3 rows of ld)
  double *added, *force;  // of a step                          (ld rows of ld), (ld)
} rf_pull;

// rows (3, r).
RF_MUST_CHECK rf_status rf_pull_create(int32_t r, const double rest_m[3], const double *rows,
                                       double stiffness, rf_pull **out, rf_error *err);
void rf_pull_free(rf_pull *pull);  // NULL is fine

// Stiffness of the body itself at the point, N/m: the reciprocal of the trace of the compliance
// U_X K^-1 U_X^T at rest.  RF_ERR_SINGULAR where the stiffness at rest is not positive definite,
// and where the point cannot move.
RF_MUST_CHECK rf_status rf_pull_body_stiffness(const rf_reduced *model, const double *rows,
                                               double *stiffness, rf_error *err);

// Point of the body in the present state of the motion.
void rf_pull_point_rt(const rf_pull *pull, const rf_motion *m, double point_m[3]);

// n >= 0 steps towards the place, under `force` (r, nullable) besides; force_n: that of the spring
// on the body at the end of the last one.  Errors as of rf_motion_step_rt.
RF_MUST_CHECK rf_status rf_pull_step_rt(rf_pull *pull, rf_motion *m, const double place_m[3],
                                        const double *force, int64_t n, double force_n[3]);

#endif
