// Refinement of a separator: single nodes move from it to a side, and neighbours on the other side
// come into it.  The best state of a sequence of moves, also bad ones, is kept.
//
//   C. Fiduccia, R. Mattheyses: A linear-time heuristic for improving network partitions. 19th
//   Design Automation Conference (1982)
//   C. Ashcraft, J. Liu: Robust ordering of sparse matrices using multisection. SIAM Journal on
//   Matrix Analysis and Applications 19 (1998)
#include <string.h>

#include "linalg/dissection_internal.h"

enum { NONE = -1 };

static int other(int side) { return 1 - side; }

static int32_t *head(rf_pull_queue *q, int32_t node) {
  return &q->first[q->pulls[node] < RF_PULLS ? q->pulls[node] : RF_PULLS - 1];
}

static void unlink_node(rf_pull_queue *q, int32_t node) {
  const int32_t next = q->next[node], last = q->last[node];
  *(last == NONE ? head(q, node) : &q->next[last]) = next;
  if (next != NONE) q->last[next] = last;
}

static void link_node(rf_pull_queue *q, int32_t node) {
  int32_t *first = head(q, node);
  q->next[node] = *first;
  q->last[node] = NONE;
  if (*first != NONE) q->last[*first] = node;
  *first = node;
  if (first - q->first < q->least) q->least = (int32_t)(first - q->first);
}

// Returns the node that pulls the fewest others into the separator by moving to a side.
static int32_t best_of(rf_pull_queue *q) {
  while (q->least < RF_PULLS - 1 && q->first[q->least] == NONE) ++q->least;
  return q->least < RF_PULLS - 1 ? q->first[q->least] : NONE;
}

// Lists a node of the separator, unless it has left it in this pass.
static void list_node(rf_dissection_work *w, int32_t node) {
  const rf_adjacency *g = &w->part;
  int32_t count[2] = {0, 0};
  for (int32_t p = g->ptr[node]; p < g->ptr[node + 1]; ++p) {
    const int32_t to = g->neighbor[p];
    if (w->side[to] != RF_SIDE_SEPARATOR) ++count[w->side[to]];
  }
  for (int side = 0; side < 2; ++side) {
    w->to[side].pulls[node] = count[other(side)];
    if (w->moved[node] != w->pass) link_node(&w->to[side], node);
  }
}

static void change_pulls(rf_dissection_work *w, int side, int32_t node, int32_t change) {
  rf_pull_queue *q = &w->to[side];
  const bool listed = w->moved[node] != w->pass;
  if (listed) unlink_node(q, node);
  q->pulls[node] += change;
  if (listed) link_node(q, node);
}

static void note(rf_dissection_work *w, int32_t node, int from) {
  w->log[w->logged++] = 4 * (int64_t)node + from;
}

// Moves a node from the separator to a side.
static void move(rf_dissection_work *w, int32_t node, int side, int32_t size[RF_SIDES]) {
  const rf_adjacency *g = &w->part;
  for (int s = 0; s < 2; ++s) unlink_node(&w->to[s], node);
  w->moved[node] = w->pass;
  note(w, node, RF_SIDE_SEPARATOR);
  w->side[node] = (uint8_t)side;
  ++size[side];
  --size[RF_SIDE_SEPARATOR];
  for (int32_t p = g->ptr[node]; p < g->ptr[node + 1]; ++p) {
    const int32_t a = g->neighbor[p];
    if (w->side[a] == side) continue;
    if (w->side[a] == RF_SIDE_SEPARATOR) {
      change_pulls(w, other(side), a, 1);
      continue;
    }
    note(w, a, w->side[a]);
    w->side[a] = RF_SIDE_SEPARATOR;
    --size[other(side)];
    ++size[RF_SIDE_SEPARATOR];
    for (int32_t q = g->ptr[a]; q < g->ptr[a + 1]; ++q) {
      const int32_t b = g->neighbor[q];
      if (b != node && w->side[b] == RF_SIDE_SEPARATOR) change_pulls(w, side, b, -1);
    }
    list_node(w, a);
  }
}

// Selects the side and the node to move; returns the node, NONE: no move is left.
static int32_t select_move(rf_dissection_work *w, int32_t count, const int32_t size[RF_SIDES],
                           int *side) {
  int32_t choice[2], pulls[2];
  for (int s = 0; s < 2; ++s) {
    choice[s] = best_of(&w->to[s]);
    pulls[s] = choice[s] == NONE ? RF_PULLS : w->to[s].pulls[choice[s]];
    const bool small = size[other(s)] - pulls[s] < RF_LEAST_PART * count;
    if (small && pulls[s] > 0) pulls[s] = RF_PULLS;
  }
  *side = pulls[0] == pulls[1] ? size[0] > size[1] : pulls[1] < pulls[0];
  const bool possible = pulls[*side] < RF_PULLS && w->logged + pulls[*side] < w->room;
  return possible ? choice[*side] : NONE;
}

// Makes one pass; returns true if it has reduced the cost.
static bool improve(rf_dissection_work *w, int patience, int32_t size[RF_SIDES]) {
  const int32_t count = w->part.n;
  const double start = rf_dissection_cost(count, size);
  double least = start;
  int32_t best[RF_SIDES], chosen;
  int64_t kept = 0;
  int side;
  memcpy(best, size, sizeof best);
  ++w->pass;
  w->logged = 0;
  for (int s = 0; s < 2; ++s) {
    w->to[s].least = RF_PULLS - 1;
    for (int32_t b = 0; b < RF_PULLS; ++b) w->to[s].first[b] = NONE;
  }
  for (int32_t i = 0; i < count; ++i)
    if (w->side[i] == RF_SIDE_SEPARATOR) list_node(w, i);
  for (int idle = 0; idle < patience; ++idle) {
    if ((chosen = select_move(w, count, size, &side)) == NONE) break;
    move(w, chosen, side, size);
    const double cost = rf_dissection_cost(count, size);
    if (cost >= least) continue;
    least = cost;
    kept = w->logged;
    idle = 0;
    memcpy(best, size, sizeof best);
  }
  // back to the best state
  while (w->logged > kept) {
    const int64_t entry = w->log[--w->logged];
    w->side[entry / 4] = (uint8_t)(entry % 4);
  }
  memcpy(size, best, sizeof best);
  return least < start;
}

void rf_dissection_refine(rf_dissection_work *w, int passes, int patience, int32_t size[RF_SIDES]) {
  for (int pass = 0; pass < passes && improve(w, patience, size); ++pass) continue;
}
