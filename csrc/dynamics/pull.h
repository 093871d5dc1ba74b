// A spring that pulls a point of a body towards a place, as a pointer on a screen does.
//
// The force k (p - x) on x = X + U_X q during a step is that at its end, so it joins the step as
// the force k U_X^T (p - x_i) and the stiffness k U_X^T U_X: of a dense system by
// rf_motion_step_added_rt, of an unreduced solid, where U_X has the weights of the nodes of one
// element, by rf_motion_step_sprung_rt, within the pattern of its matrix.  The spring is stable at
// any stiffness.
#ifndef RF_DYNAMICS_PULL_H
#define RF_DYNAMICS_PULL_H

#include "dynamics/motion.h"

typedef struct rf_pull {
  int32_t n;  // coordinates
  int64_t ld;
  double rest_m[3];  // X
  double stiffness;  // k, N/m, >= 0
  double *force;     // of a step                                     (ld)
  // of a dense system
  double *rows;   // U_X, kg^-1/2, zero beyond n                   (3 rows of ld)
  double *added;  // of a step                                     (ld rows of ld)
  // of a solid
  rf_motion_spring spring;
} rf_pull;

// A point of the system: rows (3, n), or nodes of one element with their weights, in which case
// rows is NULL.  RF_ERR_ARG where the system does not have it.
typedef struct rf_pull_point {
  double rest_m[3];
  const double *rows;
  int32_t corners;
  const int32_t *nodes;   // (corners)
  const double *weights;  // (corners)
} rf_pull_point;

RF_MUST_CHECK rf_status rf_pull_create(const rf_system *s, const rf_pull_point *point,
                                       double stiffness, rf_pull **out, rf_error *err);
void rf_pull_free(rf_pull *pull);  // NULL is fine

// Factors K at rest, of an implicit system, for rf_pull_unit_forces.  RF_ERR_SINGULAR where it is
// not positive definite.
RF_MUST_CHECK rf_status rf_pull_factorize_rest(rf_system *s, const rf_run *run, rf_error *err);

// Displacements by unit forces at the point along the axes, m/N: K^-1 U_X^T (3 rows of ld), with
// the last factor of the system.  RF_ERR_ARG where the point cannot move.
RF_MUST_CHECK rf_status rf_pull_unit_forces(const rf_pull *pull, rf_system *s, const rf_run *run,
                                            double *moved, rf_error *err);

// Stiffness of the body itself at the point, N/m: the reciprocal of the trace of the compliance
// U_X K^-1 U_X^T at rest.  Errors as of the two functions above.
RF_MUST_CHECK rf_status rf_pull_body_stiffness(const rf_pull *pull, rf_system *s, const rf_run *run,
                                               double *stiffness, rf_error *err);

// The force along `way` by which linear statics moves the point as far along it, f = (d.d / d^T C
// d) d with C = U_X K^-1 U_X^T, and the displacements (n) of the body: `moved` of
// rf_pull_unit_forces, rows of n.  A way of zero gives zeros.
void rf_pull_drag(int32_t n, const rf_system_points *at, const double *moved, const double way[3],
                  double force[3], double *displacement);

// Point of the body in the present state of the motion.
void rf_pull_point_rt(const rf_pull *pull, const rf_motion *m, double point_m[3]);

// n >= 0 steps towards the place, under `force` (n, nullable) besides; force_n: that of the spring
// on the body at the end of the last one.  Errors as of rf_motion_step_rt.
RF_MUST_CHECK rf_status rf_pull_step_rt(rf_pull *pull, rf_motion *m, const double place_m[3],
                                        const double *force, int64_t n, double force_n[3]);
// The same for any system, with a text.
RF_MUST_CHECK rf_status rf_pull_step(rf_pull *pull, rf_motion *m, const rf_run *run,
                                     const double place_m[3], const double *force, int64_t n,
                                     double force_n[3], rf_error *err);

#endif
