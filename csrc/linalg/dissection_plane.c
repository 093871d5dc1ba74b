// Planes that divide a set of nodes: levels of fields along directions, and of distances in the
// graph, which follow limbs of a body that planes would cut lengthwise.
#include <float.h>
#include <math.h>
#include <string.h>

#include "linalg/dissection_internal.h"

enum {
  LEAST_BINS = 64,
  LEVELS = 400  // smaller sets are divided by directions alone
};

static const double IMBALANCE = 1.5;  // weight of unequal sides
static const double SMALL = 1e6;      // penalty for a side below RF_LEAST_PART

// An eighth, so that sums of finite coordinates are finite.
#define E 0.125
static const double DIRECTION[RF_DIRECTIONS][3] = {
    {E, 0, 0}, {0, E, 0},  {0, 0, E}, {E, E, 0},  {E, -E, 0}, {E, 0, E}, {E, 0, -E},
    {0, E, E}, {0, E, -E}, {E, E, E}, {E, E, -E}, {E, -E, E}, {-E, E, E}};
#undef E

double rf_dissection_cost(int32_t count, const int32_t size[RF_SIDES]) {
  // the fill of the separator grows as its square, that of n nodes of a solid as n^(4/3)
  const double imbalance = fabs((double)size[0] - size[1]) / count;
  return (size[RF_SIDE_SEPARATOR] + 1e-3) * (1.0 + IMBALANCE * imbalance * imbalance);
}

static int32_t bins_of(int32_t count) {
  return count < LEAST_BINS ? LEAST_BINS : count < RF_BINS ? count : RF_BINS;
}

static double along(const rf_dissection_work *w, int32_t i, int d) {
  const double *x = w->point + 3 * (size_t)i;
  return DIRECTION[d][0] * x[0] + DIRECTION[d][1] * x[1] + DIRECTION[d][2] * x[2];
}

void rf_dissection_places(rf_dissection_work *w) {
  const int32_t n = w->part.n, bins = bins_of(n);
  double low[RF_DIRECTIONS], scale[RF_DIRECTIONS], *extent = w->extent;
  for (int d = 0; d < RF_DIRECTIONS; ++d) {
    double high = along(w, 0, d);
    low[d] = high;
    for (int32_t i = 1; i < n; ++i) {
      const double t = along(w, i, d);
      low[d] = t < low[d] ? t : low[d];
      high = t > high ? t : high;
    }
    // closer ones are equal, as the scale would overflow
    extent[d] = high - low[d];
    scale[d] = extent[d] > DBL_MIN * RF_BINS ? (bins - 2) / extent[d] : 0.0;
  }
  // rounds to the middle of a bin, so that rounding errors do not tear the layers of a grid
  for (int32_t i = 0; i < n; ++i) {
    w->value[i] = (rf_field_values){{0}};
    for (int d = 0; d < RF_DIRECTIONS; ++d)
      w->value[i].at[d] = (int16_t)((along(w, i, d) - low[d]) * scale[d] + 0.5);
  }
}

// Sets the distance of each node from a first one; other parts of the graph follow at larger ones.
// Returns the last node of the part of the first.
static int32_t measure(rf_dissection_work *w, int32_t first, int32_t *distance) {
  const rf_adjacency *g = &w->part;
  int32_t end = 0, at = 0, other = 0, last = -1;
  for (int32_t i = 0; i < g->n; ++i) distance[i] = -1;
  distance[first] = 0;
  w->queue[end++] = first;
  for (;;) {
    int32_t far = 0;
    for (; at < end; ++at) {
      const int32_t a = w->queue[at];
      far = distance[a] + 1;
      for (int32_t p = g->ptr[a]; p < g->ptr[a + 1]; ++p) {
        const int32_t b = g->neighbor[p];
        if (distance[b] >= 0) continue;
        distance[b] = far;
        w->queue[end++] = b;
      }
    }
    if (last < 0) last = w->queue[end - 1];
    if (end == g->n) return last;
    while (distance[other] >= 0) ++other;
    distance[other] = far;
    w->queue[end++] = other;
  }
}

// Sets the values of a field of distances, or of their differences.
static void set_field(rf_dissection_work *w, int field, const int32_t *from, const int32_t *less) {
  const int32_t n = w->part.n;
  int32_t low = INT32_MAX, high = INT32_MIN;
  for (int32_t i = 0; i < n; ++i) {
    const int32_t t = from[i] - (less ? less[i] : 0);
    low = t < low ? t : low;
    high = t > high ? t : high;
  }
  const int32_t wide = (high - low) / (bins_of(n) - 1) + 1;
  for (int32_t i = 0; i < n; ++i)
    w->value[i].at[field] = (int16_t)((from[i] - (less ? less[i] : 0) - low) / wide);
}

// Sets the fields of distances from two nodes far apart.
static void set_distances(rf_dissection_work *w) {
  int32_t first = 0, *from_first = w->level, *from_last = w->mate;
  int longest = 0;
  for (int a = 1; a < RF_AXES; ++a) longest = w->extent[a] > w->extent[longest] ? a : longest;
  for (int32_t i = 1; i < w->part.n; ++i)
    if (w->value[i].at[longest] < w->value[first].at[longest]) first = i;
  const int32_t last = measure(w, first, from_first);
  measure(w, last, from_last);
  set_field(w, RF_DIRECTIONS, from_first, NULL);
  set_field(w, RF_DIRECTIONS + 1, from_last, NULL);
  set_field(w, RF_DIRECTIONS + 2, from_first, from_last);
}

// Half of the values at a node, in a register.  Loops by lane compile to one instruction.
enum { HALF = RF_FIELDS / 2 };
typedef int16_t rf_half __attribute__((vector_size(HALF * sizeof(int16_t))));

static inline rf_half load(const int16_t *from) {
  rf_half v;
  memcpy(&v, from, sizeof v);
  return v;
}
static inline void store(int16_t *to, rf_half v) { memcpy(to, &v, sizeof v); }

static inline rf_half smaller(rf_half a, rf_half b) {
  rf_half out = a;
  for (int f = 0; f < HALF; ++f) out[f] = a[f] < b[f] ? a[f] : b[f];
  return out;
}
static inline rf_half larger(rf_half a, rf_half b) {
  rf_half out = a;
  for (int f = 0; f < HALF; ++f) out[f] = a[f] > b[f] ? a[f] : b[f];
  return out;
}

// Finds the least and the largest values of a node and its neighbours.
static void find_range(const rf_dissection_work *w, int32_t node, rf_field_values *low,
                       rf_field_values *high) {
  const rf_adjacency *g = &w->part;
  const int16_t *own = w->value[node].at;
  rf_half low0 = load(own), low1 = load(own + HALF), high0 = low0, high1 = low1;
  for (int32_t p = g->ptr[node]; p < g->ptr[node + 1]; ++p) {
    const int16_t *other = w->value[g->neighbor[p]].at;
    const rf_half other0 = load(other), other1 = load(other + HALF);
    low0 = smaller(other0, low0);
    low1 = smaller(other1, low1);
    high0 = larger(other0, high0);
    high1 = larger(other1, high1);
  }
  store(low->at, low0);
  store(low->at + HALF, low1);
  store(high->at, high0);
  store(high->at + HALF, high1);
}

// Counts boundary nodes: a node is on the boundary of the left side for the planes behind it and up
// to its last neighbour.
static void count_boundary(rf_dissection_work *w, int32_t bins) {
  const rf_adjacency *g = &w->part;
  rf_plane_counts *c = w->counts;
  memset(c, 0, (size_t)(bins + 2) * sizeof *c);
  for (int32_t a = 0; a < g->n; ++a) {
    const rf_field_values *own = w->value + a;
    rf_field_values low, high;
    find_range(w, a, &low, &high);
    w->high[a] = high;
    for (int f = 0; f < RF_FIELDS; ++f) {
      rf_plane_counts *next = c + own->at[f] + 1;
      ++next->before[f];
      ++next->left[f];
      --c[high.at[f] + 1].left[f];
      ++c[low.at[f] + 1].right[f];
      --next->right[f];
    }
  }
}

// Finds the best plane of a field; its cost is infinite if all values are equal.
static rf_plane best_of(const rf_dissection_work *w, int32_t bins, int field) {
  const int32_t n = w->part.n;
  rf_plane best = {.field = field, .cost = INFINITY};
  int32_t left = 0, right = 0, before = 0;
  for (int32_t k = 1; k < bins; ++k) {
    const rf_plane_counts *c = w->counts + k;
    left += c->left[field];
    right += c->right[field];
    before += c->before[field];
    if (before == n) break;
    if (c->before[field] == 0) continue;
    const int32_t size[RF_SIDES] = {before, n - before, left < right ? left : right};
    const bool small = size[size[0] > size[1]] < RF_LEAST_PART * n;
    const double cost = rf_dissection_cost(n, size) * (small ? SMALL : 1.0);
    if (cost >= best.cost) continue;
    best.cost = cost;
    best.value = (int16_t)k;
  }
  return best;
}

int rf_dissection_planes(rf_dissection_work *w, rf_plane plane[RF_FIELDS]) {
  const int32_t bins = bins_of(w->part.n);
  const int fields = w->part.n < LEVELS ? RF_DIRECTIONS : RF_FIELDS;
  int found = 0;
  rf_dissection_places(w);
  if (fields > RF_DIRECTIONS) set_distances(w);
  count_boundary(w, bins);
  for (int f = 0; f < fields; ++f) {
    const rf_plane one = best_of(w, bins, f);
    if (!(one.cost < INFINITY)) continue;
    int at = found++;
    for (; at > 0 && plane[at - 1].cost > one.cost; --at) plane[at] = plane[at - 1];
    plane[at] = one;
  }
  return found;
}

void rf_dissection_cut(rf_dissection_work *w, const rf_plane *plane) {
  const int f = plane->field;
  w->n_boundary = 0;
  for (int32_t i = 0; i < w->part.n; ++i) {
    const bool left = w->value[i].at[f] < plane->value;
    w->side[i] = left ? RF_SIDE_LEFT : RF_SIDE_RIGHT;
    if (left && w->high[i].at[f] >= plane->value) w->boundary[w->n_boundary++] = i;
  }
}
