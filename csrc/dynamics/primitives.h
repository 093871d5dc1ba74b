// Barrier energy of a vertex near a triangle, or of two edges near one another (Li et al. 2020,
// Incremental Potential Contact).
//
// The distance is |r|, r = sum_i w_i x_i, with the weights w of the nearest points.  These lie
// inside the primitives, on a side or at a corner: each dimension k in which they can move changes
// r by a tangent t_k (orthonormal) and the weights by w_k'.  With n = r / d, a_k = w (x) t_k and
// c_k = w_k' (x) n,
//   grad d = w (x) n,   Hess d = sum_fixed a_k a_k^T / d - sum_moving (a_k c_k^T + c_k a_k^T + d
//   c_k c_k^T):
// one formula for all positions of the nearest points.
//
// Nearest points of edges that become parallel jump.  So the energy of two edges u, v is m(c)
// kappa b(d), c = |u x v|^2, m = (2 - c / eps) c / eps below eps = 1e-3 |u_rest|^2 |v_rest|^2, else
// 1: it has continuous first derivatives.
#ifndef RF_DYNAMICS_PRIMITIVES_H
#define RF_DYNAMICS_PRIMITIVES_H

#include <stdbool.h>

#define RF_PRIMITIVE_PARALLEL 1e-3  // eps over the squares of the lengths at rest

// Four points: a vertex and the corners of a triangle, or the ends of two edges.
typedef struct rf_primitive {
  bool edges;
  double parallel;  // eps, m^4; of edges
  double x[4][3];   // positions, m
} rf_primitive;

typedef struct rf_primitive_nearest {
  double distance;     // m
  double weight[4];    // w; the last points have negative ones
  double normal[3];    // n, towards the vertex or the first edge
  int moving;          // dimensions in which the nearest points move: 0 to 2
  double along[2][3];  // t_k
  double moved[2][4];  // w_k', 1/m
} rf_primitive_nearest;

void rf_primitive_find(const rf_primitive *p, rf_primitive_nearest *out);

// Energy at 0 < distance < delta, its gradient (4, 3) and the normal force lambda = -m kappa b'.
typedef struct rf_primitive_energy {
  double value, normal_force, gradient[12];
} rf_primitive_energy;

void rf_primitive_evaluate(const rf_primitive *p, const rf_primitive_nearest *at, double kappa,
                           double delta, rf_primitive_energy *out);

// Derivative (4, 3) of the normal force by the positions, N/m.
void rf_primitive_force_slope(const rf_primitive *p, const rf_primitive_nearest *at, double kappa,
                              double delta, double *out);

// Unit vectors normal to n and to each other: t_k of the dimensions in which the nearest points
// move, then others.
void rf_primitive_tangents(const rf_primitive_nearest *at, double t[2][3]);

// Hessian (12, 12) of that energy.  definite: each term of at most two vectors contributes its
// positive part only, so that the sum is semidefinite and not below the Hessian.
void rf_primitive_linearize(const rf_primitive *p, const rf_primitive_nearest *at, double kappa,
                            double delta, bool definite, double *out);

// Returns the most by which the distance can fall along the changes dx.
double rf_primitive_nearing(bool edges, const double dx[4][3]);

// Returns a part, up to `most`, of the changes dx along which the points can move without coming
// nearer than a tenth of their distance, which falls by |dx| of both sides at most: steps of nine
// tenths of what it allows (additive continuous collision detection, Li et al. 2021).
double rf_primitive_reach(const rf_primitive *p, const double dx[4][3], double most);

#endif
