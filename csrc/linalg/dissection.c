#include "linalg/dissection.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "linalg/dissection_internal.h"

// Planes are tried whose bound, times this, is below the least cost so far.  Large sets, relative
// to the graph, determine most of the fill: more planes are tried there.
static const double REDUCED = 0.9, REDUCED_LARGE = 0.8, LARGE = 0.2;
// Moves without a better state of the refinement of a plane to be compared, and of the best one.
enum { COMPARED = 8, REFINED = 40, PASSES = 2 };
static const double LEAF_NEIGHBORS = 1.3;  // nodes of a leaf over the mean number of neighbours

void rf_adjacency_free(rf_adjacency *a) {
  rf_free(a->ptr);
  rf_free(a->neighbor);
  *a = (rf_adjacency){0};
}

rf_status rf_dissection_work_init(rf_dissection_work *w, const rf_adjacency *graph, rf_error *err) {
  rf_status st = RF_OK;
  const int64_t n = graph->n, entries = graph->ptr[n];
  const double neighbors = n > 0 ? (double)entries / (double)n : 0.0;
  *w = (rf_dissection_work){.graph = graph, .room = 4 * n};
  w->leaf = (int32_t)fmin(fmax(RF_LEAF, LEAF_NEIGHBORS * neighbors), RF_MOST_LEAF);
  RF_ALLOC(w->side, n);
  RF_ALLOC(w->best, n);
  RF_ALLOC(w->ptr, 2 * n + 2);
  RF_ALLOC(w->neighbor, entries);
  RF_ALLOC(w->points, 3 * n);
  RF_ALLOC(w->sorted, n);
  RF_ALLOC(w->number, n);
  RF_ALLOC(w->right_ptr, n + 1);
  RF_ALLOC(w->right_neighbor, entries);
  RF_ALLOC(w->right_point, 3 * n);
  RF_ALLOC(w->value, n);
  RF_ALLOC(w->high, n);
  RF_ALLOC(w->counts, RF_BINS + 2);
  RF_ALLOC(w->boundary, n);
  RF_ALLOC(w->mate, n);
  RF_ALLOC(w->level, 2 * n);
  RF_ALLOC(w->queue, 2 * n);
  RF_ALLOC(w->band, n);
  RF_ALLOC(w->onward, n);
  RF_ALLOC(w->ends, n);
  RF_ALLOC(w->next, n);
  for (int s = 0; s < 2; ++s) {
    RF_ALLOC(w->to[s].pulls, n);
    RF_ALLOC(w->to[s].next, n);
    RF_ALLOC(w->to[s].last, n);
  }
  RF_ALLOC(w->moved, n);
  RF_ALLOC(w->log, w->room);
  RF_ALLOC(w->place, n);
  RF_ALLOC(w->bits, RF_MOST_LEAF * RF_LEAF_BITS / 64);
  for (int64_t i = 0; i < n; ++i) w->place[i] = -1;
done:
  return st;
}

void rf_dissection_work_release(rf_dissection_work *w) {
  void *const all[] = {w->side,        w->best,       w->ptr,         w->neighbor,
                       w->points,      w->sorted,     w->number,      w->right_ptr,
                       w->right_point, w->value,      w->high,        w->right_neighbor,
                       w->counts,      w->boundary,   w->mate,        w->level,
                       w->queue,       w->next,       w->to[0].pulls, w->to[0].next,
                       w->to[0].last,  w->to[1].next, w->to[1].pulls, w->to[1].last,
                       w->moved,       w->log,        w->place,       w->bits,
                       w->band,        w->onward,     w->ends};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) rf_free(all[i]);
}

// Divides by the plane whose separator is best after a short refinement.
static rf_status divide_by_planes(rf_dissection_work *w, int32_t size[RF_SIDES], bool *divided,
                                  rf_error *err) {
  (void)err;  // no failure: it has the type of the other ways to divide
  const int32_t n = w->part.n;
  const double reduced = n > LARGE * w->graph->n ? REDUCED_LARGE : REDUCED;
  double least = INFINITY;
  rf_plane plane[RF_FIELDS];
  const int planes = rf_dissection_planes(w, plane);
  for (int k = 0; k < planes && reduced * plane[k].cost < least; ++k) {
    rf_dissection_cut(w, plane + k);
    rf_dissection_cover(w);
    int32_t sizes[RF_SIDES] = {0};
    for (int32_t i = 0; i < n; ++i) ++sizes[w->side[i]];
    if (sizes[0] == 0 || sizes[1] == 0) continue;
    rf_dissection_refine(w, 1, COMPARED, sizes);
    const double cost = rf_dissection_cost(n, sizes);
    if (cost >= least) continue;
    least = cost;
    memcpy(size, sizes, sizeof sizes);
    memcpy(w->best, w->side, (size_t)n);
  }
  *divided = least < INFINITY;
  if (!*divided) return RF_OK;
  memcpy(w->side, w->best, (size_t)n);
  rf_dissection_flow(w, size);
  rf_dissection_refine(w, PASSES, REFINED, size);
  return RF_OK;
}

// Views of the storage of a set that begins with a node of the order.
static void enter(rf_dissection_work *w, int32_t first, int32_t count, int32_t *neighbor) {
  w->part = (rf_adjacency){.n = count, .ptr = w->ptr + 2 * (int64_t)first, .neighbor = neighbor};
  w->point = w->points + 3 * (int64_t)first;
}

// Splits the set: nodes to left, right, separator; graphs and places of left and right in its
// storage.  Returns where the neighbours of the right side begin.
static int32_t *split(rf_dissection_work *w, const int32_t size[RF_SIDES], int32_t *node) {
  const rf_adjacency *g = &w->part;
  int32_t at[RF_SIDES] = {0, size[0], size[0] + size[1]};
  for (int32_t i = 0; i < g->n; ++i) {
    w->number[i] = at[w->side[i]]++;
    w->sorted[w->number[i]] = node[i];
  }
  memcpy(node, w->sorted, (size_t)g->n * sizeof *node);
  // the left side moves down in place: it never passes what is still to be read
  int32_t nodes[2] = {0, 0}, entries[2] = {0, 0}, begin = g->ptr[0];
  for (int32_t i = 0; i < g->n; ++i) {
    const int32_t p0 = begin, side = w->side[i];
    begin = g->ptr[i + 1];
    if (side == RF_SIDE_SEPARATOR) continue;
    const bool right = side == RF_SIDE_RIGHT;
    int32_t *to = right ? w->right_neighbor : g->neighbor, end = entries[right];
    (right ? w->right_ptr : g->ptr)[nodes[right]] = end;
    memmove((right ? w->right_point : w->point) + 3 * (int64_t)nodes[right],
            w->point + 3 * (int64_t)i, 3 * sizeof(double));
    for (int32_t p = p0; p < begin; ++p) {
      const int32_t b = g->neighbor[p];
      if (w->side[b] == side) to[end++] = w->number[b] - (right ? size[0] : 0);
    }
    entries[right] = end;
    ++nodes[right];
  }
  g->ptr[nodes[0]] = entries[0];
  w->right_ptr[nodes[1]] = entries[1];
  memcpy(g->ptr + 2 * (int64_t)size[0], w->right_ptr, (size_t)(size[1] + 1) * sizeof *g->ptr);
  memcpy(g->neighbor + entries[0], w->right_neighbor, (size_t)entries[1] * sizeof *g->neighbor);
  memcpy(w->point + 3 * (int64_t)size[0], w->right_point, 3 * (size_t)size[1] * sizeof *w->point);
  return g->neighbor + entries[0];
}

// Orders a set that is not divided by its graph alone.
static rf_status order_undivided(rf_dissection_work *w, int32_t *node, rf_order_graph *undivided,
                                 rf_error *err) {
  rf_status st = RF_OK;
  int32_t *order = NULL;
  RF_ALLOC(order, w->part.n);
  RF_TRY(undivided(&w->part, order, err));
  for (int32_t i = 0; i < w->part.n; ++i) w->sorted[i] = node[order[i]];
  memcpy(node, w->sorted, (size_t)w->part.n * sizeof *node);
done:
  rf_free(order);
  return st;
}

static rf_status dissect(rf_dissection_work *w, const rf_dissection_rule *rule, int32_t first,
                         int32_t count, int32_t *neighbor, int32_t *order, rf_error *err);

// Orders a small set by dissection, or by minimum degree where that has fewer entries.
static rf_status compare(rf_dissection_work *w, const rf_dissection_rule *rule, int32_t first,
                         int32_t count, int32_t *neighbor, int32_t *order, rf_error *err) {
  int32_t other[RF_MOST_LEAF];
  const size_t bytes = (size_t)count * sizeof *other;
  memcpy(other, order + first, bytes);
  const int64_t entries = rf_dissection_leaf(w, count, other);
  w->small = true;
  const rf_status st = dissect(w, rule, first, count, neighbor, order, err);
  w->small = false;
  if (st >= 0 && entries < rf_dissection_entries(w, count, order + first))
    memcpy(order + first, other, bytes);
  return st;
}

// Reorders nodes first to first + count - 1 of the order: the left side, the right side, the
// separator.
static rf_status dissect(rf_dissection_work *w, const rf_dissection_rule *rule, int32_t first,
                         int32_t count, int32_t *neighbor, int32_t *order, rf_error *err) {
  int32_t size[RF_SIDES];
  bool divided;
  while (count > (rule->least ? rule->least : w->leaf)) {
    if (rule->compared && !w->small && count <= RF_MOST_LEAF)
      return compare(w, rule, first, count, neighbor, order, err);
    enter(w, first, count, neighbor);
    rf_status st = rule->divide(w, size, &divided, err);
    if (st < 0) return st;
    if (!divided && rule->undivided) return order_undivided(w, order + first, rule->undivided, err);
    if (!divided) break;
    int32_t *right = split(w, size, order + first);
    // the larger side next in this loop: the depth of the recursion is bounded
    const bool swap = size[0] > size[1];
    st = dissect(w, rule, swap ? first + size[0] : first, size[swap], swap ? right : neighbor,
                 order, err);
    if (st < 0) return st;
    if (!swap) first += size[0];
    if (!swap) neighbor = right;
    count = size[!swap];
  }
  rf_dissection_leaves(w, count, order + first);
  return RF_OK;
}

rf_status rf_dissection_run(const rf_adjacency *graph, const double *points,
                            const rf_dissection_rule *rule, int32_t *order, rf_error *err) {
  rf_dissection_work w;
  rf_status st;
  const size_t n = (size_t)graph->n;
  RF_TRY(rf_dissection_work_init(&w, graph, err));
  memcpy(w.ptr, graph->ptr, (n + 1) * sizeof *w.ptr);
  memcpy(w.neighbor, graph->neighbor, (size_t)graph->ptr[n] * sizeof *w.neighbor);
  memcpy(w.points, points, 3 * n * sizeof *w.points);
  for (int32_t i = 0; i < graph->n; ++i) order[i] = i;
  st = dissect(&w, rule, 0, graph->n, w.neighbor, order, err);
done:
  rf_dissection_work_release(&w);
  return st;
}

rf_status rf_dissection(const rf_adjacency *graph, const double *points, rf_order_graph *undivided,
                        int32_t *order, rf_error *err) {
  const rf_dissection_rule rule = {
      .divide = divide_by_planes, .undivided = undivided, .compared = true};
  return rf_dissection_run(graph, points, &rule, order, err);
}
