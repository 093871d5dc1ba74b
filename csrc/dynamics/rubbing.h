// Friction of a vertex on a triangle, or of two edges on one another (primitives.h).
//
// With the weights w and the normal n of the nearest points, P = I - n n^T and the normal force
// lambda, the friction energy mu lambda S(|vbar|) / rate (barrier.h) of the velocity
// vbar = P sum_i w_i v_i has the gradient
//   g_i = mu lambda w_i h vbar,  h = s(|vbar|) / |vbar|,
// by point i.  Its derivative by the velocities is symmetric.  Where lambda, w and n follow the
// positions, the rest of the derivative of g is not: with a_k and c_k of primitives.h,
//   dw = - sum_moving w_k' (a_k + d c_k) . dx,
//   dn = sum_fixed t_k (a_k / d) . dx - sum_moving t_k c_k . dx.
#ifndef RF_DYNAMICS_RUBBING_H
#define RF_DYNAMICS_RUBBING_H

#include "dynamics/primitives.h"

typedef struct rf_rubbing {
  double weight[4], normal[3];
  double force;       // mu lambda, N
  double sliding[3];  // vbar at the last evaluation, m/s
} rf_rubbing;

// Sets vbar and the gradient (4, 3) at the velocities v; returns the energy times the rate, W.
double rf_rubbing_evaluate(rf_rubbing *r, const double v[4][3], double slip, double *gradient);

// Friction on the first side at the last evaluation, N.
void rf_rubbing_force(const rf_rubbing *r, double slip, double out[3]);

// Derivative (12, 12) of the gradient by the velocities, times the rate.
void rf_rubbing_linearize(const rf_rubbing *r, double slip, double rate, double *out);

// Derivative (12, 12) of the gradient by the positions at constant velocities; at: nearest points,
// whose weights and normal r has; slope: of mu lambda by the positions (4, 3).
void rf_rubbing_turn(const rf_rubbing *r, const rf_primitive_nearest *at, const double *slope,
                     const double v[4][3], double slip, double *out);

#endif
