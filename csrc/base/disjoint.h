// Disjoint sets as a forest: parent[i] is another member of the set of i, or i itself if it is the
// root.  Roots are the lowest members.
#ifndef RF_BASE_DISJOINT_H
#define RF_BASE_DISJOINT_H

#include <stdbool.h>
#include <stdint.h>

// Returns the root of a member's set; halves the path to it.
static inline int32_t rf_disjoint_root(int32_t *parent, int32_t i) {
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

// Merges the sets of two members; false if they were in the same set already.
static inline bool rf_disjoint_join(int32_t *parent, int32_t a, int32_t b) {
  a = rf_disjoint_root(parent, a);
  b = rf_disjoint_root(parent, b);
  if (a == b) return false;
  parent[a > b ? a : b] = a > b ? b : a;
  return true;
}

#endif
