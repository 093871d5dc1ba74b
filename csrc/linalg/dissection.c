#include "linalg/dissection.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "linalg/dissection_internal.h"

void rf_adjacency_free(rf_adjacency *a) {
  rf_free(a->ptr);
  rf_free(a->neighbor);
  *a = (rf_adjacency){0};
}

static void free_work(rf_dissection_work *w) {
  void *const all[] = {w->set,    w->side, w->best, w->layer, w->sorted,   w->swap,
                       w->key,    w->left, w->right, w->before, w->mate,   w->level,
                       w->queue,  w->next, w->boundary, w->place, w->bits, w->moved, w->log,
    w->queue_to[0].pulls, w->queue_to[0].next, w->queue_to[0].last,
    w->queue_to[1].pulls, w->queue_to[1].next, w->queue_to[1].last};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) rf_free(all[i]);
}

static rf_status create_work(const rf_adjacency *graph, const double *points,
                             rf_dissection_work *w, rf_error *err) {
  rf_status st = RF_OK;
  const size_t n = (size_t)graph->n;
  *w = (rf_dissection_work){.graph = graph, .points = points};
  RF_ALLOC(w->set, n);
  RF_ALLOC(w->side, n);
  RF_ALLOC(w->best, n);
  RF_ALLOC(w->layer, n);
  RF_ALLOC(w->sorted, n);
  RF_ALLOC(w->swap, n);
  RF_ALLOC(w->key, n);
  RF_ALLOC(w->left, n + 1);
  RF_ALLOC(w->right, n + 1);
  RF_ALLOC(w->before, n + 1);
  RF_ALLOC(w->mate, n);
  RF_ALLOC(w->level, n);
  RF_ALLOC(w->queue, n);
  RF_ALLOC(w->next, n);
  RF_ALLOC(w->boundary, n);
  RF_ALLOC(w->place, n);
  RF_ALLOC(w->moved, n);
  w->room = 4 * graph->n;
  RF_ALLOC(w->log, w->room);
  for (int k = 0; k < 2; ++k) {
    RF_ALLOC(w->queue_to[k].pulls, n);
    RF_ALLOC(w->queue_to[k].next, n);
    RF_ALLOC(w->queue_to[k].last, n);
  }
  RF_ALLOC(w->bits, RF_LEAF * RF_LEAF_BITS / 64);
  for (size_t i = 0; i < n; ++i) w->place[i] = -1;
done:
  return st;
}

// Sets the sides of a set; returns the nodes on the left and right, or false if no plane divides it.
static bool divide(rf_dissection_work *w, int32_t count, const int32_t *node, int32_t size[3]) {
  static const double DIRECTIONS[][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}
#ifdef MORE
, {.7071,.7071,0},{.7071,-.7071,0},{.7071,0,.7071},{.7071,0,-.7071},{0,.7071,.7071},{0,.7071,-.7071}
#endif
};
  double least = INFINITY;
  ++w->stamp;
  for (int32_t i = 0; i < count; ++i) w->set[node[i]] = w->stamp;
  for (size_t d = 0; d < sizeof DIRECTIONS / sizeof *DIRECTIONS; ++d) {
    const int32_t bound = rf_dissection_plane(w, count, node, DIRECTIONS[d]);
    if (bound < 0) continue;
    rf_dissection_cover(w, count, node);
    int32_t sizes[3] = {0};
    for (int32_t i = 0; i < count; ++i) ++sizes[w->side[node[i]]];
#ifdef EACH
    if (sizes[0] && sizes[1]) rf_dissection_refine(w, count, node, sizes);
#endif
    const double cost = rf_dissection_cost(count, sizes[0], sizes[1], sizes[2]);
    if (cost >= least || sizes[0] == 0 || sizes[1] == 0) continue;
    least = cost;
    memcpy(size, sizes, sizeof sizes);
    for (int32_t i = 0; i < count; ++i) w->best[node[i]] = w->side[node[i]];
  }
#if !defined(EACH) && !defined(NOREF)
  if (least < INFINITY) {
    for (int32_t i = 0; i < count; ++i) w->side[node[i]] = w->best[node[i]];
    rf_dissection_refine(w, count, node, size);
    for (int32_t i = 0; i < count; ++i) w->best[node[i]] = w->side[node[i]];
  }
#endif
  return least < INFINITY;
}

// Orders nodes in place: left, right, separator.
static void dissect(rf_dissection_work *w, int32_t count, int32_t *node) {
  int32_t size[3];
  while (count > RF_LEAF && divide(w, count, node, size)) {
    int32_t at[3] = {0, size[0], size[0] + size[1]};
    for (int32_t i = 0; i < count; ++i) w->swap[at[w->best[node[i]]]++] = node[i];
    memcpy(node, w->swap, (size_t)count * sizeof *node);
    dissect(w, size[0], node);
    node += size[0];
    count = size[1];
  }
  for (int32_t i = 0; i < count; i += RF_LEAF)
    rf_dissection_leaf(w, count - i < RF_LEAF ? count - i : RF_LEAF, node + i);
}

rf_status rf_dissection(const rf_adjacency *graph, const double *points, int32_t *order,
                        rf_error *err) {
  rf_dissection_work w;
  rf_status st;
  RF_TRY(create_work(graph, points, &w, err));
  for (int32_t i = 0; i < graph->n; ++i) order[i] = i;
  dissect(&w, graph->n, order);
done:
  free_work(&w);
  return st;
}
