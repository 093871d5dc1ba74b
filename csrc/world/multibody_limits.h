// Limits of friction in the solve for the forces of all contacts (multibody_solve.h).
//
// Limits s follow from normal forces, s = mu f, which change with the limits.  Such a fixed point
// can have a rate near one, or none: limits and their residuals r = mu f - s of the last choices
// are therefore mixed as by Anderson (1965): of all combinations of r with sum 1 the smallest, by
// least squares over the points that slip.  Points that stick have the limit of their own force.
// If the residual stalls, each limit moves a part of its way instead, until the residual is half
// of the least one: a larger part after each move in the same direction, a smaller one after each
// turn.  At large coefficients slip can raise its own limit until the point sticks.  Residuals grow
// on the way there, and mixing, which makes them small, would return.  Parts that shrink end cycles
// of points that stick and slip, or touch and part, in turn.
#ifndef RF_WORLD_MULTIBODY_LIMITS_H
#define RF_WORLD_MULTIBODY_LIMITS_H

#include "world/pair_rows.h"

// Zero to begin with, and to forget.
typedef struct rf_multibody_limits {
  int32_t count, next;  // choices that are kept, and the place of the next one
  double last, least;   // residual of the last choice, and the least one; 0: none yet
  int32_t waited;       // choices since the least one
  bool damped;          // each limit moves a part of its way instead
  bool begins;          // with the first part
} rf_multibody_limits;

// Replaces limits that follow from the present forces by others; left: the residual with the
// former; far: too large a residual for mixing.
void rf_multibody_limits_mix(rf_multibody_limits *l, double left, bool far, int32_t n_pairs,
                             rf_pair_rows *const *pairs);

#endif
