// Second order of the compliance of points, by the law of the material at rest.
//
// Forces g along directions of points move them, in these directions, by
//
//   d_p = sum_q G_pq g_q + 1/2 sum_qr T_pqr g_q g_r,    T_pqr = -int P(u_p, u_q) : grad u_r dV,
//
// u_p the linear response to a unit force at p, P the second derivative of the stress at rest (that
// of modal derivatives).  T is symmetric: d is the gradient of the complementary energy.  As
// gradients fall as the square of the distance, T_pqr is local, and only triples of near points are
// computed, over elements near them.  Of slender bodies, whose bending is not near the points, this
// is false: `off` tells.
#ifndef RF_GREEN_SECOND_H
#define RF_GREEN_SECOND_H

#include <stdint.h>

#include "base/status.h"
#include "linalg/cubic.h"

struct rf_solid;

typedef struct rf_green_points {
  int32_t n, corners;
  const int32_t *node;      // between which each point interpolates         (n, corners)
  const double *weight;     // zero at nodes that are fixed                  (n, corners)
  const double *direction;  // unit vectors                                  (n, 3)
  const double *place;      // at rest, m                                    (n, 3)
  // A reduced model of the solid, whose own second order is not a part of T: T is that of u less
  // that of v = U (U^T K U)^-1 U^T f.
  int32_t r;                // 0: none
  const double *basis;      // U, zero at fixed nodes                        (r, n_nodes, 3)
  const double *stiffness;  // U^T K U                                       (r, r)
} rf_green_points;

// Makes T of points at most `reach` apart.  RF_ERR_ARG: it would have more than `most` entries.
// off: error of T_ppp by the elements left out, at a few points, over the largest of these.
RF_MUST_CHECK rf_status rf_green_second(const struct rf_solid *solid, const rf_run *run,
                                        const rf_green_points *points, double reach, int64_t most,
                                        rf_cubic **out, double *off, rf_error *err);

#endif
