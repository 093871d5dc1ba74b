#include "linalg/dissection.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "linalg/dissection_internal.h"

#define HALF 0.70710678118654752

// Axes first; meshes of tetrahedra may have smaller separators across a diagonal.
enum { AXES = 3, DIRECTIONS = 9 };
static const double DIRECTION[DIRECTIONS][3] = {
    {1.0, 0.0, 0.0},   {0.0, 1.0, 0.0},    {0.0, 0.0, 1.0},   {HALF, HALF, 0.0}, {HALF, -HALF, 0.0},
    {HALF, 0.0, HALF}, {HALF, 0.0, -HALF}, {0.0, HALF, HALF}, {0.0, HALF, -HALF}};

static const double OBLIQUE = 1.1;  // oblique planes leave parts that are worse to divide
static const double COVERED = 0.9;  // a minimum cover is rarely smaller, relative to its bound

void rf_adjacency_free(rf_adjacency *a) {
  rf_free(a->ptr);
  rf_free(a->neighbor);
  *a = (rf_adjacency){0};
}

rf_status rf_dissection_work_init(rf_dissection_work *w, const rf_adjacency *graph,
                                  const double *points, rf_error *err) {
  rf_status st = RF_OK;
  const int64_t n = graph->n;
  *w = (rf_dissection_work){.graph = graph, .points = points, .room = 4 * n};
  RF_ALLOC(w->set, n);
  RF_ALLOC(w->side, n);
  RF_ALLOC(w->best, n);
  RF_ALLOC(w->sorted, n);
  RF_ALLOC(w->layer, n);
  RF_ALLOC(w->key, n);
  RF_ALLOC(w->left, n + 1);
  RF_ALLOC(w->right, n + 1);
  RF_ALLOC(w->before, n + 1);
  RF_ALLOC(w->mate, n);
  RF_ALLOC(w->level, n);
  RF_ALLOC(w->queue, n);
  RF_ALLOC(w->next, n);
  RF_ALLOC(w->boundary, n);
  for (int s = 0; s < 2; ++s) {
    RF_ALLOC(w->to[s].pulls, n);
    RF_ALLOC(w->to[s].next, n);
    RF_ALLOC(w->to[s].last, n);
  }
  RF_ALLOC(w->moved, n);
  RF_ALLOC(w->log, w->room);
  RF_ALLOC(w->place, n);
  RF_ALLOC(w->bits, RF_LEAF * RF_LEAF_BITS / 64);
  for (int64_t i = 0; i < n; ++i) w->place[i] = -1;
done:
  return st;
}

void rf_dissection_work_release(rf_dissection_work *w) {
  void *const all[] = {w->set,        w->side,       w->best,        w->sorted,     w->layer,
                       w->key,        w->left,       w->right,       w->before,     w->mate,
                       w->level,      w->queue,      w->next,        w->boundary,   w->to[0].pulls,
                       w->to[0].next, w->to[0].last, w->to[1].pulls, w->to[1].next, w->to[1].last,
                       w->moved,      w->log,        w->place,       w->bits};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) rf_free(all[i]);
}

void rf_dissection_enter(rf_dissection_work *w, int32_t count, const int32_t *node) {
  ++w->stamp;
  for (int32_t i = 0; i < count; ++i) w->set[node[i]] = w->stamp;
}

void rf_dissection_split(rf_dissection_work *w, int32_t count, int32_t *node, const uint8_t *side,
                         const int32_t size[RF_SIDES]) {
  int32_t at[RF_SIDES] = {0, size[0], size[0] + size[1]};
  for (int32_t i = 0; i < count; ++i) w->sorted[at[side[node[i]]]++] = node[i];
  memcpy(node, w->sorted, (size_t)count * sizeof *node);
}

// Divides a set: w->best and the sizes of its sides.  Returns false if no plane divides it.
static bool divide(rf_dissection_work *w, int32_t count, const int32_t *node,
                   int32_t size[RF_SIDES]) {
  double least = INFINITY;
  rf_dissection_enter(w, count, node);
  for (int d = 0; d < DIRECTIONS; ++d) {
    const double weight = d < AXES ? 1.0 : OBLIQUE;
    const double bound = weight * rf_dissection_plane(w, count, node, DIRECTION[d]);
    if (!(bound < INFINITY) || (d >= AXES && COVERED * bound > least)) continue;
    rf_dissection_cover(w, count, node);
    int32_t sizes[RF_SIDES] = {0};
    for (int32_t i = 0; i < count; ++i) ++sizes[w->side[node[i]]];
    const double cost = weight * rf_dissection_cost(count, sizes);
    if (cost >= least || sizes[0] == 0 || sizes[1] == 0) continue;
    least = cost;
    memcpy(size, sizes, sizeof sizes);
    for (int32_t i = 0; i < count; ++i) w->best[node[i]] = w->side[node[i]];
  }
  if (!(least < INFINITY)) return false;
  for (int32_t i = 0; i < count; ++i) w->side[node[i]] = w->best[node[i]];
  rf_dissection_refine(w, count, node, size);
  return true;
}

// Reorders nodes of a set by their graph alone.
static rf_status order_undivided(rf_dissection_work *w, int32_t count, int32_t *node,
                                 rf_order_graph *undivided, rf_error *err) {
  const rf_adjacency *g = w->graph;
  rf_status st = RF_OK;
  int32_t *order = NULL, pairs = 0, *number = w->next;
  rf_adjacency part = {.n = count};
  rf_dissection_enter(w, count, node);
  for (int32_t i = 0; i < count; ++i) number[node[i]] = i;
  RF_ALLOC(order, count);
  RF_ALLOC(part.ptr, (int64_t)count + 1);
  for (int pass = 0; pass < 2; ++pass) {
    pairs = 0;
    for (int32_t i = 0; i < count; ++i) {
      for (int32_t p = g->ptr[node[i]]; p < g->ptr[node[i] + 1]; ++p) {
        if (!rf_dissection_inside(w, g->neighbor[p])) continue;
        if (pass == 1) part.neighbor[pairs] = number[g->neighbor[p]];
        ++pairs;
      }
      part.ptr[i + 1] = pairs;
    }
    if (pass == 0) RF_ALLOC(part.neighbor, pairs);
  }
  RF_TRY(undivided(&part, order, err));
  for (int32_t i = 0; i < count; ++i) w->sorted[i] = node[order[i]];
  memcpy(node, w->sorted, (size_t)count * sizeof *node);
done:
  rf_free(order);
  rf_adjacency_free(&part);
  return st;
}

// Reorders nodes: the left side, the right side, the separator.
static rf_status dissect(rf_dissection_work *w, int32_t count, int32_t *node,
                         rf_order_graph *undivided, rf_error *err) {
  int32_t size[RF_SIDES];
  while (count > RF_LEAF) {
    if (!divide(w, count, node, size)) return order_undivided(w, count, node, undivided, err);
    rf_dissection_split(w, count, node, w->side, size);
    // the larger side next in this loop: the depth of the recursion is bounded
    const bool swap = size[0] > size[1];
    const rf_status st = dissect(w, size[swap], swap ? node + size[0] : node, undivided, err);
    if (st < 0) return st;
    if (!swap) node += size[0];
    count = size[!swap];
  }
  rf_dissection_leaves(w, count, node);
  return RF_OK;
}

rf_status rf_dissection(const rf_adjacency *graph, const double *points, rf_order_graph *undivided,
                        int32_t *order, rf_error *err) {
  rf_dissection_work w;
  rf_status st;
  RF_TRY(rf_dissection_work_init(&w, graph, points, err));
  for (int32_t i = 0; i < graph->n; ++i) order[i] = i;
  st = dissect(&w, graph->n, order, undivided, err);
done:
  rf_dissection_work_release(&w);
  return st;
}
