// Forces and displacements of a node of a solid in vectors over its free nodes: constrained nodes
// (mesh/constraints.h) have those of their masters.
#ifndef RF_GREEN_NODE_H
#define RF_GREEN_NODE_H

#include "fem/fem.h"

// Adds a force of 1 along an axis to x (n_free, 3).
static inline void rf_green_push(const rf_solid *s, int32_t node, int axis, double *x) {
  const rf_constraints *c = s->mesh->constraints;
  if (s->free_of[node] >= 0) x[3 * (int64_t)s->free_of[node] + axis] += 1.0;
  const int32_t k = s->free_of[node] < 0 && c ? rf_constraints_find(c, node) : -1;
  for (int32_t p = k < 0 ? 0 : c->ptr[k]; k >= 0 && p < c->ptr[k + 1]; ++p) {
    const int32_t at = s->free_of[c->masters[p]];
    if (at >= 0) x[3 * (int64_t)at + axis] += c->weights[p];
  }
}

// Sets u to the displacement in x (n_free, 3).
static inline void rf_green_read(const rf_solid *s, int32_t node, const double *x, double u[3]) {
  const rf_constraints *c = s->mesh->constraints;
  const int32_t own = s->free_of[node], k = own < 0 && c ? rf_constraints_find(c, node) : -1;
  for (int i = 0; i < 3; ++i) u[i] = own < 0 ? 0.0 : x[3 * (int64_t)own + i];
  for (int32_t p = k < 0 ? 0 : c->ptr[k]; k >= 0 && p < c->ptr[k + 1]; ++p) {
    const int32_t at = s->free_of[c->masters[p]];
    for (int i = 0; i < 3 && at >= 0; ++i) u[i] += c->weights[p] * x[3 * (int64_t)at + i];
  }
}

// True if a node can move: it is free, or follows a free one.
static inline bool rf_green_moves(const rf_solid *s, int32_t node) {
  const rf_constraints *c = s->mesh->constraints;
  const int32_t k = s->free_of[node] < 0 && c ? rf_constraints_find(c, node) : -1;
  bool moves = s->free_of[node] >= 0;
  for (int32_t p = k < 0 ? 0 : c->ptr[k]; k >= 0 && p < c->ptr[k + 1]; ++p)
    moves = moves || s->free_of[c->masters[p]] >= 0;
  return moves;
}

#endif
