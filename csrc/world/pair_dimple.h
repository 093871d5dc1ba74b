// Dimple of a side of a pair in a step of many: a shell with a local compliance (contact/local.h)
// beside its coordinates (pair_rows.h).
//
// The dimple is a part of the solve with coordinates of its own, three for each point of the shell
// that touches or lies beside a place of contact (multibody_dimple.h).  A row of the tree's dimple
// reads and loads those of its point.  A row of the field's reads those of the points around its
// place by the weights of pointshell/blend.h, and loads them by the same: the system stays
// symmetric.  Both do so along a copy of axis and tangents in the frame of the shell.
//
// Coordinates are d / c, with d = S f the displacements and c the factor of the damping, as dampers
// act on the motion of bodies only: rows of c k (W . u + N d / c) have k N d, and stay symmetric,
// with S / c.  Tangents have c as well, for the same d.
#ifndef RF_WORLD_PAIR_DIMPLE_H
#define RF_WORLD_PAIR_DIMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "contact/local.h"
#include "linalg/vec3.h"
#include "pointshell/blend.h"

enum { RF_DIMPLE_CORNERS = RF_SHELL_BLEND_NEAREST };

// Forces on the points of a shell by the last step, in its frame.
typedef struct rf_pair_dimple_forces {
  const rf_contact_local *local;
  int32_t n;
  const int32_t *point;  // (n)
  const double *force;   // N                                                    (n, 3)
  const bool *known;     // points whose displacement is computed already  (local->n_points)
  const double *way;     // these displacements, m                         (local->n_points, 3)
} rf_pair_dimple_forces;

typedef struct rf_pair_dimple {
  bool yields;      // false: no dimple, and nothing below is used
  int32_t node;     // its number among the dimples of the solve
  int32_t corners;  // points of a row: 1 of the tree, RF_DIMPLE_CORNERS of the field
  int32_t *point;   // of the shell; -1: none                            (n_rows, corners)
  double *weight;   //                                                   (n_rows, corners)
  int32_t *at;      // first coordinate of each point                    (n_rows, corners)
  double *axes;     // W and both T                                               (n_rows, 9)
  double *pull;     // factors of these in the generalised force                  (n_rows, 3)
  int32_t n_room;
} rf_pair_dimple;

// Vectors of the bodies of a pair, tree and field, and of their dimples; NULL: zero.
typedef struct rf_pair_slots {
  const double *side[2], *dimple[2];
} rf_pair_slots;

// Returns the displacement of row i along its axis e, of coordinates u.
static inline double rf_pair_dimple_along_rt(const rf_pair_dimple *d, int32_t i, int e,
                                             const double *u) {
  const double *axis = d->axes + 9 * (size_t)i + 3 * (size_t)e;
  double sum = 0.0;
  for (size_t k = (size_t)i * (size_t)d->corners; k < (size_t)(i + 1) * (size_t)d->corners; ++k)
    if (d->point[k] >= 0) sum += d->weight[k] * rf_vec3_dot(axis, u + d->at[k]);
  return sum;
}

// Makes room for n rows.
RF_MUST_CHECK rf_status rf_pair_dimple_reserve(rf_pair_dimple *d, int32_t n, rf_error *err);
void rf_pair_dimple_free(rf_pair_dimple *d);  // its content; zero is fine

// Computes the displacement of a point by the forces of the last step, in the frame of the shell.
void rf_pair_dimple_displacement_rt(const rf_pair_dimple_forces *last, int32_t point,
                                    double out[3]);
// Computes the largest displacement of a point that bears a force, m.
double rf_pair_dimple_deepest_rt(const rf_pair_dimple_forces *last);

#endif
