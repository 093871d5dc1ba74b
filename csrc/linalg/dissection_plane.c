// Planes that divide a set of nodes.
#include <float.h>
#include <math.h>
#include <string.h>

#include "linalg/dissection_internal.h"

enum { BINS = 65536, DIGIT = 256 };  // of sorting by two digits

static const double IMBALANCE = 1.5;  // weight of unequal sides
static const double SMALL = 1e6;      // penalty for a side below RF_LEAST_PART

double rf_dissection_cost(int32_t count, const int32_t size[RF_SIDES]) {
  // the fill of the separator grows as its square, that of n nodes of a solid as n^(4/3)
  const double imbalance = fabs((double)size[0] - size[1]) / count;
  return (size[RF_SIDE_SEPARATOR] + 1e-3) * (1.0 + IMBALANCE * imbalance * imbalance);
}

static double along(const rf_dissection_work *w, int32_t node, const double d[3]) {
  const double *x = w->points + 3 * (size_t)node;
  return d[0] * x[0] + d[1] * x[1] + d[2] * x[2];
}

int32_t rf_dissection_layers(rf_dissection_work *w, int32_t count, const int32_t *node,
                             const double direction[3]) {
  double low = INFINITY, high = -INFINITY;
  int32_t begin[2][DIGIT + 1] = {{0}};
  for (int32_t i = 0; i < count; ++i) {
    const double t = along(w, node[i], direction);
    low = fmin(low, t);
    high = fmax(high, t);
  }
  // closer ones are equal, as the scale would overflow
  const double scale = high - low > DBL_MIN * BINS ? (BINS - 2) / (high - low) : 0.0;
  for (int32_t i = 0; i < count; ++i) {
    // rounds to the middle of a bin, so that rounding errors do not tear the layers of a grid
    const uint16_t key = (uint16_t)((along(w, node[i], direction) - low) * scale + 0.5);
    w->key[node[i]] = key;
    ++begin[0][key % DIGIT + 1];
    ++begin[1][key / DIGIT + 1];
  }
  for (int32_t d = 0; d < DIGIT; ++d) {
    begin[0][d + 1] += begin[0][d];
    begin[1][d + 1] += begin[1][d];
  }
  int32_t *half = w->queue;
  for (int32_t i = 0; i < count; ++i) half[begin[0][w->key[node[i]] % DIGIT]++] = node[i];
  for (int32_t i = 0; i < count; ++i) w->sorted[begin[1][w->key[half[i]] / DIGIT]++] = half[i];

  int32_t layers = 0;
  for (int32_t i = 0; i < count; ++i) {
    if (i == 0 || w->key[w->sorted[i]] != w->key[w->sorted[i - 1]]) w->before[layers++] = i;
    w->layer[w->sorted[i]] = layers - 1;
  }
  w->before[layers] = count;
  return layers;
}

// Counts boundary nodes: a node is on the boundary of the left side for the planes behind it and up
// to its last neighbour.
static void count_boundary(rf_dissection_work *w, int32_t count, const int32_t *node,
                           int32_t layers) {
  const rf_adjacency *g = w->graph;
  memset(w->left, 0, (size_t)(layers + 1) * sizeof *w->left);
  memset(w->right, 0, (size_t)(layers + 1) * sizeof *w->right);
  for (int32_t i = 0; i < count; ++i) {
    const int32_t a = node[i], own = w->layer[a];
    int32_t first = own, last = own;
    for (int32_t p = g->ptr[a]; p < g->ptr[a + 1]; ++p) {
      const int32_t b = g->neighbor[p];
      if (!rf_dissection_inside(w, b)) continue;
      if (w->layer[b] < first) first = w->layer[b];
      if (w->layer[b] > last) last = w->layer[b];
    }
    ++w->left[own + 1];
    --w->left[last + 1];
    ++w->right[first + 1];
    --w->right[own + 1];
  }
}

double rf_dissection_plane(rf_dissection_work *w, int32_t count, const int32_t *node,
                           const double direction[3]) {
  const int32_t layers = rf_dissection_layers(w, count, node, direction);
  if (layers < 2) return INFINITY;
  count_boundary(w, count, node, layers);
  int32_t best = -1, left = 0, right = 0;
  double least = INFINITY;
  for (int32_t k = 1; k < layers; ++k) {
    left += w->left[k];
    right += w->right[k];
    const int32_t size[RF_SIDES] = {w->before[k], count - w->before[k],
                                    left < right ? left : right};
    const bool small = size[size[0] > size[1]] < RF_LEAST_PART * count;
    const double cost = rf_dissection_cost(count, size) * (small ? SMALL : 1.0);
    if (cost >= least) continue;
    least = cost;
    best = k;
  }
  for (int32_t i = 0; i < count; ++i)
    w->side[node[i]] = w->layer[node[i]] < best ? RF_SIDE_LEFT : RF_SIDE_RIGHT;
  return least;
}
