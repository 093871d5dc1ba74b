// Refinement of a separator: single nodes move from it to a side, and neighbours on the other side
// come into it.  The best state of a sequence of moves, also bad ones, is kept.
//
//   C. Fiduccia, R. Mattheyses: A linear-time heuristic for improving network partitions. 19th
//   Design Automation Conference (1982)
//   C. Ashcraft, J. Liu: Robust ordering of sparse matrices using multisection. SIAM Journal on
//   Matrix Analysis and Applications 19 (1998)
#include <string.h>

#include "linalg/dissection_internal.h"

enum { END = -1 };

static int other(int side) { return 1 - side; }

static void unlink_node(rf_refine_queue *q, int32_t node) {
  const int32_t next = q->next[node], last = q->last[node], pulls = q->pulls[node];
  if (last == END)
    q->first[pulls < RF_PULLS ? pulls : RF_PULLS - 1] = next;
  else
    q->next[last] = next;
  if (next != END) q->last[next] = last;
}

static void link_node(rf_refine_queue *q, int32_t node) {
  const int32_t pulls = q->pulls[node], bucket = pulls < RF_PULLS ? pulls : RF_PULLS - 1;
  q->next[node] = q->first[bucket];
  q->last[node] = END;
  if (q->first[bucket] != END) q->last[q->first[bucket]] = node;
  q->first[bucket] = node;
  if (bucket < q->least) q->least = bucket;
}

// Returns the node that pulls the fewest others into the separator by moving to a side.
static int32_t best_of(rf_refine_queue *q) {
  while (q->least < RF_PULLS - 1 && q->first[q->least] == END) ++q->least;
  return q->least < RF_PULLS - 1 ? q->first[q->least] : END;
}

// A node comes into the separator; `locked` ones may not leave it in this pass.
static void enter(rf_dissection_work *w, int32_t node) {
  const rf_adjacency *g = w->graph;
  int32_t count[2] = {0, 0};
  for (int32_t p = g->ptr[node]; p < g->ptr[node + 1]; ++p) {
    const int32_t to = g->neighbor[p];
    if (rf_dissection_inside(w, to) && w->side[to] != RF_SIDE_SEPARATOR) ++count[w->side[to]];
  }
  for (int side = 0; side < 2; ++side) {
    w->queue_to[side].pulls[node] = count[other(side)];
    if (w->moved[node] != w->pass) link_node(&w->queue_to[side], node);
  }
}

static void change_pulls(rf_dissection_work *w, int side, int32_t node, int32_t change) {
  rf_refine_queue *q = &w->queue_to[side];
  const bool listed = w->moved[node] != w->pass;
  if (listed) unlink_node(q, node);
  q->pulls[node] += change;
  if (listed) link_node(q, node);
}

static void note(rf_dissection_work *w, int32_t node, int from) {
  w->log[w->logged++] = 4 * (int64_t)node + from;
}

// Moves a node from the separator to a side.
static void move(rf_dissection_work *w, int32_t node, int side, int32_t size[3]) {
  const rf_adjacency *g = w->graph;
  for (int s = 0; s < 2; ++s) unlink_node(&w->queue_to[s], node);
  w->moved[node] = w->pass;
  note(w, node, RF_SIDE_SEPARATOR);
  w->side[node] = (uint8_t)side;
  ++size[side];
  --size[RF_SIDE_SEPARATOR];
  for (int32_t p = g->ptr[node]; p < g->ptr[node + 1]; ++p) {
    const int32_t a = g->neighbor[p];
    if (!rf_dissection_inside(w, a) || w->side[a] == side) continue;
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
      if (b != node && rf_dissection_inside(w, b) && w->side[b] == RF_SIDE_SEPARATOR)
        change_pulls(w, side, b, -1);
    }
    enter(w, a);
  }
}

static bool improve(rf_dissection_work *w, int32_t count, const int32_t *node, int32_t size[3]) {
  const double start = rf_dissection_cost(count, size[0], size[1], size[2]);
  double least = start;
  int32_t idle = 0, kept = 0, best[3];
  memcpy(best, size, sizeof best);
  ++w->pass;
  w->logged = 0;
  for (int s = 0; s < 2; ++s) {
    w->queue_to[s].least = RF_PULLS - 1;
    for (int32_t b = 0; b < RF_PULLS; ++b) w->queue_to[s].first[b] = END;
  }
  for (int32_t i = 0; i < count; ++i)
    if (w->side[node[i]] == RF_SIDE_SEPARATOR) enter(w, node[i]);
  const int32_t patience = 
#ifdef PAT
  PAT
#else
  100
#endif
  ;
  while (idle++ < patience && w->logged < w->room) {
    int32_t choice[2], pulls[2];
    for (int s = 0; s < 2; ++s) {
      choice[s] = best_of(&w->queue_to[s]);
      pulls[s] = choice[s] == END ? RF_PULLS : w->queue_to[s].pulls[choice[s]];
      // no side may become too small
      if (choice[s] != END && pulls[s] > 0 && size[other(s)] - pulls[s] < 0.2 * count) pulls[s] = RF_PULLS;
    }
    int side = pulls[0] == pulls[1] ? size[0] > size[1] : pulls[1] < pulls[0];
    if (pulls[side] >= RF_PULLS) break;
    if (w->logged + pulls[side] + 1 > w->room) break;
    move(w, choice[side], side, size);
    const double cost = rf_dissection_cost(count, size[0], size[1], size[2]);
    if (cost >= least) continue;
    least = cost;
    kept = w->logged;
    idle = 0;
    memcpy(best, size, sizeof best);
  }
  while (w->logged > kept) {
    const int64_t entry = w->log[--w->logged];
    w->side[entry / 4] = (uint8_t)(entry % 4);
  }
  memcpy(size, best, sizeof best);
  return least < start * (1.0 - 1e-9);
}

void rf_dissection_refine(rf_dissection_work *w, int32_t count, const int32_t *node,
                          int32_t size[3]) {
#ifndef PASSES
#define PASSES 4
#endif
  for (int pass = 0; pass < PASSES; ++pass)
    if (!improve(w, count, node, size)) break;
}
