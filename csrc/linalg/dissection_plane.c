// Planes that divide a set of nodes.
#include <math.h>
#include <string.h>

#include "linalg/dissection_internal.h"

enum { BINS = 65536, DIGIT = 256 };

static const double LEAST_PART = 0.2;  // smaller side, relative to the set
static const double BALANCE = 1.0;     // weight of the imbalance

double rf_dissection_cost(int32_t count, int32_t left, int32_t right, int32_t separator) {
  const double imbalance = fabs((double)left - right) / count;
  return (separator + 1e-3) * (1.0 + BALANCE * imbalance * imbalance);
}

// Sorts nodes into layers along a direction; returns the number of layers.
static int32_t sort_layers(rf_dissection_work *w, int32_t count, const int32_t *node,
                           const double direction[3]) {
  double low = INFINITY, high = -INFINITY;
  int32_t digits[2][DIGIT + 1] = {{0}};
  for (int32_t i = 0; i < count; ++i) {
    const double *x = w->points + 3 * (size_t)node[i];
    const double t = direction[0] * x[0] + direction[1] * x[1] + direction[2] * x[2];
    low = fmin(low, t);
    high = fmax(high, t);
  }
  if (!(high > low)) return 1;
  const double scale = (BINS - 2) / (high - low);
  for (int32_t i = 0; i < count; ++i) {
    const double *x = w->points + 3 * (size_t)node[i];
    const double t = direction[0] * x[0] + direction[1] * x[1] + direction[2] * x[2];
    // in the middle of a bin for a grid: rounding does not tear a layer
    const uint16_t key = (uint16_t)((t - low) * scale + 0.5);
    w->key[node[i]] = key;
    ++digits[0][key % DIGIT + 1];
    ++digits[1][key / DIGIT + 1];
  }
  for (int32_t d = 0; d < DIGIT; ++d) {
    digits[0][d + 1] += digits[0][d];
    digits[1][d + 1] += digits[1][d];
  }
  for (int32_t i = 0; i < count; ++i) w->swap[digits[0][w->key[node[i]] % DIGIT]++] = node[i];
  for (int32_t i = 0; i < count; ++i)
    w->sorted[digits[1][w->key[w->swap[i]] / DIGIT]++] = w->swap[i];

  int32_t layers = 0;
  for (int32_t i = 0; i < count; ++i) {
    if (i == 0 || w->key[w->sorted[i]] != w->key[w->sorted[i - 1]]) w->before[layers++] = i;
    w->layer[w->sorted[i]] = layers - 1;
  }
  w->before[layers] = count;
  return layers;
}

int32_t rf_dissection_plane(rf_dissection_work *w, int32_t count, const int32_t *node,
                            const double direction[3]) {
  const rf_adjacency *g = w->graph;
  const int32_t layers = sort_layers(w, count, node, direction);
  if (layers < 2) return -1;
  memset(w->left, 0, (size_t)(layers + 1) * sizeof *w->left);
  memset(w->right, 0, (size_t)(layers + 1) * sizeof *w->right);
  // a node is on the boundary of the left side for planes behind it and up to its last neighbour
  for (int32_t i = 0; i < count; ++i) {
    const int32_t a = node[i], own = w->layer[a];
    int32_t first = own, last = own;
    for (int32_t p = g->ptr[a]; p < g->ptr[a + 1]; ++p) {
      const int32_t b = g->neighbor[p];
      if (!rf_dissection_inside(w, b)) continue;
      first = w->layer[b] < first ? w->layer[b] : first;
      last = w->layer[b] > last ? w->layer[b] : last;
    }
    ++w->left[own + 1];
    --w->left[last + 1];
    ++w->right[first + 1];
    --w->right[own + 1];
  }
  int32_t best = -1, bound = 0, left = 0, right = 0;
  double least = INFINITY;
  for (int32_t k = 1; k < layers; ++k) {
    left += w->left[k];
    right += w->right[k];
    const int32_t smaller = left < right ? left : right, before = w->before[k];
    // the cover is taken from both sides alike
    const double cost =
        rf_dissection_cost(count, before, count - before, smaller) +
        (before < LEAST_PART * count || count - before < LEAST_PART * count ? 1e6 : 0.0) * count;
    if (cost >= least) continue;
    least = cost;
    best = k;
    bound = smaller;
  }
  for (int32_t i = 0; i < count; ++i)
    w->side[node[i]] = w->layer[node[i]] < best ? RF_SIDE_LEFT : RF_SIDE_RIGHT;
  return bound;
}
