// Minimum vertex cover of a bipartite graph from a maximum matching.
//
//   J. Hopcroft, R. Karp: An n^(5/2) algorithm for maximum matchings in bipartite graphs. SIAM
//   Journal on Computing 2 (1973)
//   D. Koenig: Graphok es matrixok. Matematikai es Fizikai Lapok 38 (1931)
#include "linalg/dissection_internal.h"

enum { FREE = -1, FAR = INT32_MAX };  // no mate; no path

// Returns true if `to` is the other end of a crossing edge from a left node.
static inline bool crosses(const rf_dissection_work *w, int32_t to) {
  return w->side[to] == RF_SIDE_RIGHT;
}

// Sets the levels of left nodes: lengths of alternating paths from free ones.  Returns true if
// such a path ends at a free right node.
static bool find_levels(rf_dissection_work *w, int32_t count, const int32_t *left) {
  const rf_adjacency *g = &w->part;
  int32_t end = 0;
  bool found = false;
  for (int32_t i = 0; i < count; ++i) {
    w->level[left[i]] = w->mate[left[i]] == FREE ? 0 : FAR;
    if (w->mate[left[i]] == FREE) w->queue[end++] = left[i];
  }
  for (int32_t at = 0; at < end; ++at) {
    const int32_t a = w->queue[at];
    for (int32_t p = g->ptr[a]; p < g->ptr[a + 1]; ++p) {
      const int32_t b = g->neighbor[p];
      if (!crosses(w, b)) continue;
      const int32_t onward = w->mate[b];
      if (onward == FREE) {
        found = true;
      } else if (w->level[onward] == FAR) {
        w->level[onward] = w->level[a] + 1;
        w->queue[end++] = onward;
      }
    }
  }
  return found;
}

// Searches a shortest augmenting path from a free left node, without recursion, and applies it.
// next[a]: edge of a to be tried.  The queue is the path.
static void augment(rf_dissection_work *w, int32_t start) {
  const rf_adjacency *g = &w->part;
  int32_t depth = 0;
  w->queue[0] = start;
  while (depth >= 0) {
    const int32_t a = w->queue[depth];
    int32_t b = FREE, onward = FREE;
    bool step = false;
    for (; w->next[a] < g->ptr[a + 1]; ++w->next[a]) {
      b = g->neighbor[w->next[a]];
      if (!crosses(w, b)) continue;
      onward = w->mate[b];
      step = onward == FREE || w->level[onward] == w->level[a] + 1;
      if (step) break;
    }
    if (!step) {
      // a dead end: no other path of this phase comes here
      w->level[a] = FAR;
      if (--depth >= 0) ++w->next[w->queue[depth]];
      continue;
    }
    if (onward != FREE) {
      w->queue[++depth] = onward;
      continue;
    }
    for (; depth >= 0; --depth) {
      const int32_t left = w->queue[depth], right = g->neighbor[w->next[left]];
      w->mate[left] = right;
      w->mate[right] = left;
    }
  }
}

void rf_dissection_cover(rf_dissection_work *w) {
  const rf_adjacency *g = &w->part;
  const int32_t *left = w->boundary, n_left = w->n_boundary;
  for (int32_t i = 0; i < g->n; ++i) w->mate[i] = FREE;
  // most nodes find a mate at once
  for (int32_t i = 0; i < n_left; ++i)
    for (int32_t a = left[i], p = g->ptr[a]; p < g->ptr[a + 1]; ++p) {
      const int32_t b = g->neighbor[p];
      if (!crosses(w, b) || w->mate[b] != FREE) continue;
      w->mate[a] = b;
      w->mate[b] = a;
      break;
    }
  while (find_levels(w, n_left, left)) {
    for (int32_t i = 0; i < n_left; ++i) w->next[left[i]] = g->ptr[left[i]];
    for (int32_t i = 0; i < n_left; ++i)
      if (w->mate[left[i]] == FREE) augment(w, left[i]);
  }
  // Koenig: left nodes that no alternating path reaches, and right nodes that one does
  for (int32_t i = 0; i < n_left; ++i) {
    const int32_t a = left[i];
    if (w->mate[a] == FREE) continue;
    w->side[w->level[a] == FAR ? a : w->mate[a]] = RF_SIDE_SEPARATOR;
  }
}
