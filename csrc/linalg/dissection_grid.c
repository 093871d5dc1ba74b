// Dissections that serve for comparison: of regular grids (George 1973), and by cut elements (Z00).
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "linalg/dissection_internal.h"

enum { AXES = RF_AXES };

// Numbers the layers of nodes across an axis: w->layer, by value.  Returns their number.
static int32_t number_layers(rf_dissection_work *w, int axis) {
  int32_t layers = 0, *number = w->layer;
  memset(number, 0, RF_BINS * sizeof *number);
  for (int32_t i = 0; i < w->part.n; ++i) number[w->value[i].at[axis]] = 1;
  for (int32_t k = 0; k < RF_BINS; ++k)
    if (number[k]) number[k] = layers++;
  return layers;
}

// Tries a layer of nodes as separator: w->side and sizes.  Returns true if it separates.
static bool try_layer(rf_dissection_work *w, int axis, int32_t layer, int32_t size[RF_SIDES]) {
  const rf_adjacency *g = &w->part;
  memset(size, 0, RF_SIDES * sizeof *size);
  for (int32_t i = 0; i < g->n; ++i) {
    const int32_t own = w->layer[w->value[i].at[axis]];
    w->side[i] = own < layer ? RF_SIDE_LEFT : own > layer ? RF_SIDE_RIGHT : RF_SIDE_SEPARATOR;
    ++size[w->side[i]];
  }
  for (int32_t a = 0; a < g->n; ++a)
    for (int32_t p = g->ptr[a]; p < g->ptr[a + 1]; ++p)
      if (w->side[a] + w->side[g->neighbor[p]] == RF_SIDE_LEFT + RF_SIDE_RIGHT &&
          w->side[a] != w->side[g->neighbor[p]])
        return false;
  return true;
}

static rf_status divide_grid(rf_dissection_work *w, int32_t size[RF_SIDES], bool *divided,
                             rf_error *err) {
  int longest = 0;
  int32_t layers = 0;
  rf_dissection_places(w);
  for (int a = 0; a < AXES; ++a) {
    const int32_t n = number_layers(w, a);
    if (n > layers) longest = a;
    if (n > layers) layers = n;
  }
  *divided = false;
  if (layers < 3) return RF_OK;
  number_layers(w, longest);
  // layers through edges of second-order elements do not separate; those beside them do
  const int32_t middle = layers / 2;
  if (!try_layer(w, longest, middle, size) && !try_layer(w, longest, middle - 1, size) &&
      !try_layer(w, longest, middle + 1, size))
    return rf_fail(err, RF_ERR_ARG,
                   "the method \"nested\" takes regular grids: a layer of %d nodes across %c does "
                   "not separate the others; use \"dissection\"",
                   (int)size[RF_SIDE_SEPARATOR], "xyz"[longest]);
  *divided = size[0] != 0 || size[1] != 0;
  return RF_OK;
}

rf_status rf_dissection_nested(const rf_adjacency *graph, const double *points, int32_t *order,
                               rf_error *err) {
  const rf_dissection_rule rule = {.divide = divide_grid, .least = 1};
  return rf_dissection_run(graph, points, &rule, order, err);
}

// Elements during a simple dissection.
typedef struct elements_work {
  const rf_dissection_elements *e;
  double *range;       // (count, 3, 2) least and largest coordinates
  double *centroid;    // (count, 3)
  double *sorted;      // (count)
  int32_t *swap;       // (count)
  uint8_t *side;       // (count)
  int32_t *order;      // nodes, filled from the end
  int32_t left;        // nodes that have no place yet
  uint8_t *has_place;  // (unknowns)
} elements_work;

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// Sides of elements for the plane through the median of centroids; it cuts at least one element.
static void cut_elements(elements_work *w, int32_t count, const int32_t *element, int axis,
                         int32_t size[RF_SIDES]) {
  for (int32_t i = 0; i < count; ++i) w->sorted[i] = w->centroid[AXES * (int64_t)element[i] + axis];
  qsort(w->sorted, (size_t)count, sizeof *w->sorted, compare);
  const double plane = w->sorted[count / 2];
  memset(size, 0, RF_SIDES * sizeof *size);
  for (int32_t i = 0; i < count; ++i) {
    const double *range = w->range + 2 * (AXES * (int64_t)element[i] + axis);
    w->side[element[i]] = range[1] < plane   ? RF_SIDE_LEFT
                          : range[0] > plane ? RF_SIDE_RIGHT
                                             : RF_SIDE_SEPARATOR;
    ++size[w->side[element[i]]];
  }
}

static void place_nodes(elements_work *w, int32_t element) {
  const rf_dissection_elements *e = w->e;
  for (int32_t c = 0; c < e->corners; ++c) {
    const int32_t node = e->node[(int64_t)e->corners * element + c];
    const int32_t unknown = e->unknown ? e->unknown[node] : node;
    if (unknown < 0 || w->has_place[unknown]) continue;
    w->has_place[unknown] = 1;
    w->order[--w->left] = unknown;
  }
}

// A set is not divided if a plane cuts a larger part of it: each level would take only a few
// elements off.
static const double MOST_CUT = 0.95;

// The procedure of Z00 4.1.1.1: nodes of cut elements get the last places.
static void dissect_elements(elements_work *w, int32_t count, int32_t *element) {
  int32_t size[RF_SIDES], fewest[RF_SIDES] = {0, 0, INT32_MAX};
  int best = 0;
  for (int a = 0; a < AXES && count > 1; ++a) {
    cut_elements(w, count, element, a, size);
    if (size[RF_SIDE_SEPARATOR] >= fewest[RF_SIDE_SEPARATOR]) continue;
    memcpy(fewest, size, sizeof size);
    best = a;
  }
  if (count <= 1 || fewest[RF_SIDE_SEPARATOR] > MOST_CUT * count) {
    for (int32_t i = 0; i < count; ++i) place_nodes(w, element[i]);
    return;
  }
  cut_elements(w, count, element, best, size);
  int32_t at[RF_SIDES] = {0, size[0], size[0] + size[1]};
  for (int32_t i = 0; i < count; ++i) w->swap[at[w->side[element[i]]]++] = element[i];
  memcpy(element, w->swap, (size_t)count * sizeof *element);
  dissect_elements(w, size[RF_SIDE_SEPARATOR], element + size[0] + size[1]);
  dissect_elements(w, size[0], element);
  dissect_elements(w, size[1], element + size[0]);
}

rf_status rf_dissection_simple(const rf_dissection_elements *e, const double *points, int32_t n,
                               int32_t *order, rf_error *err) {
  rf_status st = RF_OK;
  int32_t *element = NULL;
  elements_work w = {.e = e, .order = order, .left = n};
  RF_ALLOC(element, e->count);
  RF_ALLOC(w.range, 2 * AXES * (int64_t)e->count);
  RF_ALLOC(w.centroid, AXES * (int64_t)e->count);
  RF_ALLOC(w.sorted, e->count);
  RF_ALLOC(w.swap, e->count);
  RF_ALLOC(w.side, e->count);
  RF_ALLOC(w.has_place, n);
  for (int32_t i = 0; i < e->count; ++i) {
    element[i] = i;
    for (int a = 0; a < AXES; ++a) {
      double *range = w.range + 2 * (AXES * (int64_t)i + a), sum = 0.0;
      range[0] = INFINITY, range[1] = -INFINITY;
      for (int32_t c = 0; c < e->corners; ++c) {
        const double x = points[AXES * (int64_t)e->node[(int64_t)e->corners * i + c] + a];
        range[0] = fmin(range[0], x);
        range[1] = fmax(range[1], x);
        sum += x;
      }
      w.centroid[AXES * (int64_t)i + a] = sum / e->corners;
    }
  }
  dissect_elements(&w, e->count, element);
  if (w.left != 0)
    st = rf_fail(err, RF_ERR_ARG, "%d of %d unknown nodes belong to no element", (int)w.left,
                 (int)n);
done:
  rf_free(element);
  rf_free(w.range);
  rf_free(w.centroid);
  rf_free(w.sorted);
  rf_free(w.swap);
  rf_free(w.side);
  rf_free(w.has_place);
  return st;
}
