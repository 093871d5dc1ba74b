// Coulomb friction of a pair of bodies in a step: memory of its tangents (pair_rows.h).
//
// Each row of force f <= 0 and axis a has two tangents t.  T is to t as W is to a, and the force
// along them is that of a spring of the stiffness k of the point, whose end slips,
//     tau = f_last - k T . u,   f_t = tau if |tau| <= s, else s tau / |tau|,   s = -mu f,
// f_last the force of the spring at the beginning of the step; with a dimple c k in the place of k
// (pair_dimple.h).  Points that stick do not creep, and
// those that slip bear mu times their normal force.  For a constant limit s the force has the
// convex potential
//     |tau|^2 / (2 k) if |tau| <= s, else (s |tau| - s^2 / 2) / k.
//
// The spring of the next step has the force f_last + k d, cut to s, with d the way of the point
// over the other body by its places before and after: sums of the linear parts T . u would miss
// that bodies turn within a step, and creep.  Friction takes the work of the slip, and gives back
// no more than its springs have.
#ifndef RF_WORLD_PAIR_FRICTION_H
#define RF_WORLD_PAIR_FRICTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

enum { RF_FRICTION_PAST = 4 };  // earlier choices that are kept

typedef struct rf_pair_friction {
  double mu;       // 0: no tangents, and nothing below is used
  double *rows;    // T                                                        (n_rows, 2, size)
  double *axes;    // t1, t2, in the axes of the tree                          (n_rows, 6)
  double turn[9];  // rotation from the frame of the field to the axes of the tree
  double *at;      // the point in the frame of the field                      (n_rows, 3)
  double *last;    // f_last                                                   (n_rows, 2)
  double *trial;   // tau                                                      (n_rows, 2)
  double *slope;   // of tau along a step                                      (n_rows, 2)
  double *limit;   // s                                                        (n_rows)
  double *before;  // s before the last choice                                 (n_rows)
  double *part;    // of its way that s moves, see multibody_limits.h           (n_rows)
  double *past;    // of earlier choices, see multibody_limits.h   (n_rows, RF_FRICTION_PAST, 2)
  int64_t row_room;
  int32_t n_room;
} rf_pair_friction;

// Makes room for n points with rows of `size` numbers.
RF_MUST_CHECK rf_status rf_pair_friction_reserve(rf_pair_friction *f, int32_t n, int32_t size,
                                                 rf_error *err);
void rf_pair_friction_free(rf_pair_friction *f);  // its content; zero is fine

// Writes two unit vectors across a unit axis and each other, (2, 3).
void rf_pair_friction_axes_rt(const double axis[3], double out[6]);
// Writes the force of a trial tau under a limit.
void rf_pair_friction_return_rt(const double trial[2], double limit, double out[2]);
// Writes the derivative of that force by tau, for a constant limit, times a change of tau; secant:
// the ratio of the force to tau in its place, which is larger along tau.
void rf_pair_friction_derive_rt(const double trial[2], double limit, bool secant,
                                const double change[2], double out[2]);

#endif
