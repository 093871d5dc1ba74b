// Nodes of a solid that can move; constrained nodes follow their masters (mesh/constraints.h).
#ifndef RF_GREEN_NODE_H
#define RF_GREEN_NODE_H

#include "fem/fem.h"

// A free node that a node follows.
typedef struct rf_green_share {
  int32_t unknown;  // its first DOF
  double weight;
} rf_green_share;

// Fills the shares of a node, nullable: one of a free node, those of its free masters of a
// constrained one.  Returns their number; 0: the node is fixed, or follows fixed ones alone.
static inline int32_t rf_green_shares(const rf_solid *s, int32_t node, rf_green_share *out) {
  const rf_constraints *c = s->mesh->constraints;
  const int32_t k = c ? rf_constraints_find(c, node) : -1;
  const int32_t from = k < 0 ? 0 : c->ptr[k], to = k < 0 ? 1 : c->ptr[k + 1];
  int32_t n = 0;
  for (int32_t p = from; p < to; ++p) {
    const int32_t at = s->free_of[k < 0 ? node : c->masters[p]];
    if (at >= 0 && out) out[n] = (rf_green_share){3 * at, k < 0 ? 1.0 : c->weights[p]};
    n += at >= 0;
  }
  return n;
}

#endif
