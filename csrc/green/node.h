// Nodes of a solid that can move; constrained nodes follow their masters (mesh/constraints.h).
#ifndef RF_GREEN_NODE_H
#define RF_GREEN_NODE_H

#include "fem/fem.h"

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
