// Contact of the parts of a solid with one another by a barrier (barrier.h): vertices near
// triangles and edges near edges of different parts (primitives.h), with the energy kappa b(d)
// each, as in incremental potential contact (Li et al. 2020).
//
// The forces of a pair add up to zero, and those along the normal have no moment.  Friction has the
// weights, the tangential plane and the normal force of the beginning of the step, or of its end
// (rubbing.h).
//
// A part may touch itself: primitives that share no vertex.  Those nearer than 2 delta at rest have
// a barrier that begins at half of that distance, so that there is none at rest.
//
// Pairs that may touch along an increment are found before it by trees of boxes around the moved
// primitives; the increment ends before any of them touch.  One that sweeps so much that
// pairs would be far too many is shortened first.  Newton's matrix couples the nodes of
// such pairs.  Its pattern, whose analysis is dear, contains all pairs within 2 delta at the
// beginning of the step and grows only where one not among them touches; so it does not depend on
// steps before, nor do the bits.
#ifndef RF_DYNAMICS_BARRIER_PARTS_H
#define RF_DYNAMICS_BARRIER_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "dynamics/barrier.h"

typedef struct rf_barrier_surface {
  int32_t n_all;       // nodes of the solid
  const double *rest;  // their positions, m            (n_all, 3)
  int32_t n_vertices, n_triangles;
  const int32_t *node;       // of each vertex                (n_vertices)
  const int32_t *part;       // of each vertex, from 0 on     (n_vertices)
  const int32_t *fixed;      // 1: its node is fixed; else 0  (n_vertices)
  const int32_t *triangles;  // vertices                      (n_triangles, 3)
  bool self;                 // parts touch themselves too
} rf_barrier_surface;

// RF_ERR_ARG: an index or part is out of range, a triangle has no area or several parts, or there
// is one part only, which does not touch itself.
RF_MUST_CHECK rf_status rf_barrier_parts_create(const rf_barrier_surface *surface,
                                                rf_barrier_parts **out, rf_error *err);

// A pair nearer than delta.
typedef struct rf_barrier_contact {
  int32_t node[4];     // a vertex and the corners of a triangle, or the ends of two edges
  double weight[4];    // of the nearest points: 1 or positive ones, then negative ones
  double distance;     // m
  double normal[3];    // unit, towards the vertex or the first edge
  double force;        // along it, N
  double friction[3];  // on the vertex or first edge, N; of pairs that touched when the step began
} rf_barrier_contact;

// Copies those of the last evaluation, to be freed by rf_free, and returns the smallest distance of
// pairs examined, INFINITY without any.
RF_MUST_CHECK rf_status rf_barrier_parts_read(const rf_barrier_touch *touch,
                                              rf_barrier_contact **out, int32_t *n, double *least,
                                              rf_error *err);

#endif
