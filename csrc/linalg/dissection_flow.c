// The smallest separator near a given one: a minimum vertex cut within the layers of nodes around
// it, from a largest set of paths without common nodes.
//
//   C. Ashcraft, J. Liu: Applications of the Dulmage-Mendelsohn decomposition and network flow to
//   graph bisection improvement. SIAM Journal on Matrix Analysis and Applications 19 (1998)
//   E. Dinic: Algorithm for solution of a problem of maximum flow in networks with power
//   estimation. Soviet Mathematics Doklady 11 (1970)
//
// Paths lead from the source, one side without its band, to the sink, the other one.  Each node has
// two states, before and after: its capacity is 1 between them.
#include <string.h>

#include "linalg/dissection_internal.h"

// Layers of the band on each side of the separator: one in graphs of many neighbours, whose layers
// are thick.
enum { LAYERS = 2, MANY = 45 };
enum { NONE = -1, SOURCE = -2, SINK = -3, FAR = INT32_MAX };
// Zones: the source and the sink are parts of the sides, all other nodes are in the band.
enum { BAND = RF_SIDE_SEPARATOR, AT_SOURCE = 1, AT_SINK = 2 };

static inline int32_t before(int32_t node) { return 2 * node; }
static inline int32_t after(int32_t node) { return 2 * node + 1; }

// Sets the zones: the band is the separator and the layers around it, with at most `most` nodes of
// each side.  Returns its size.
static int32_t set_band(rf_dissection_work *w, const int32_t most[2]) {
  const rf_adjacency *g = &w->part;
  uint8_t *zone = w->best;  // free once the best division is refined
  int32_t *band = w->band, end = 0, left[2] = {most[0], most[1]};
  const int layers = g->ptr[g->n] > (int64_t)MANY * g->n ? 1 : LAYERS;
  memcpy(zone, w->side, (size_t)g->n);
  for (int32_t i = 0; i < g->n; ++i)
    if (zone[i] == BAND) band[end++] = i;
  for (int32_t at = 0, layer = 0; layer < layers; ++layer)
    for (const int32_t last = end; at < last; ++at)
      for (int32_t a = band[at], p = g->ptr[a]; p < g->ptr[a + 1]; ++p) {
        const int32_t b = g->neighbor[p];
        if (zone[b] == BAND || left[zone[b]] == 0) continue;
        --left[zone[b]];
        zone[b] = BAND;
        band[end++] = b;
      }
  return end;
}

// Returns the zones next to a node of the band: AT_SOURCE, AT_SINK or both.
static uint8_t ends_of(const rf_dissection_work *w, int32_t node, int source) {
  const rf_adjacency *g = &w->part;
  unsigned zones = 0;
  for (int32_t p = g->ptr[node]; p < g->ptr[node + 1]; ++p) zones |= 1u << w->best[g->neighbor[p]];
  return (uint8_t)((zones >> source & 1u) * AT_SOURCE | (zones >> (1 - source) & 1u) * AT_SINK);
}

// Sets the levels of states: lengths of residual paths from the source.  Returns true if one ends
// at the sink.
static bool find_levels(rf_dissection_work *w, int32_t count) {
  const rf_adjacency *g = &w->part;
  int32_t *level = w->level, *queue = w->queue, end = 0, last = FAR;
  for (int32_t k = 0; k < count; ++k) {
    const int32_t i = w->band[k];
    level[before(i)] = level[after(i)] = FAR;
    w->next[i] = g->ptr[i];
    if (!(w->ends[i] & AT_SOURCE)) continue;
    level[before(i)] = 0;
    queue[end++] = before(i);
  }
  for (int32_t at = 0; at < end && level[queue[at]] < last; ++at) {
    const int32_t i = queue[at] / 2, far = level[queue[at]] + 1;
    if (queue[at] == before(i)) {
      const int32_t to = w->onward[i] == NONE ? i : w->mate[i];
      if (to < 0 || level[after(to)] != FAR) continue;
      level[after(to)] = far;
      queue[end++] = after(to);
      continue;
    }
    if (w->ends[i] & AT_SINK && w->onward[i] != SINK) last = far;
    if (w->onward[i] != NONE && level[before(i)] == FAR) {
      level[before(i)] = far;
      queue[end++] = before(i);
    }
    for (int32_t p = g->ptr[i]; p < g->ptr[i + 1]; ++p) {
      const int32_t b = g->neighbor[p];
      if (w->best[b] != BAND || level[before(b)] != FAR) continue;
      level[before(b)] = far;
      queue[end++] = before(b);
    }
  }
  return last != FAR;
}

// Searches a shortest residual path from a node at the source, and adds it to the flow.
static void augment(rf_dissection_work *w, int32_t start) {
  const rf_adjacency *g = &w->part;
  int32_t *level = w->level, *path = w->queue, depth = 0;
  path[0] = before(start);
  while (depth >= 0) {
    const int32_t state = path[depth], i = state / 2, far = level[state] + 1;
    int32_t onward = NONE;
    if (state == before(i)) {
      const int32_t to = w->onward[i] == NONE ? i : w->mate[i];
      if (to >= 0 && level[after(to)] == far) onward = after(to);
    } else {
      if (w->ends[i] & AT_SINK && w->onward[i] != SINK) break;
      for (; onward == NONE && w->next[i] < g->ptr[i + 1]; ++w->next[i]) {
        const int32_t b = g->neighbor[w->next[i]];
        if (w->best[b] == BAND && level[before(b)] == far) onward = before(b);
      }
      if (onward == NONE && w->onward[i] != NONE && level[before(i)] == far) onward = before(i);
    }
    if (onward != NONE) {
      path[++depth] = onward;
      continue;
    }
    level[state] = FAR;
    --depth;
  }
  if (depth < 0) return;
  w->mate[start] = SOURCE;
  for (int32_t k = 0; k < depth; ++k) {
    const int32_t a = path[k] / 2, b = path[k + 1] / 2;
    level[path[k]] = FAR;
    if (path[k] == before(a)) continue;
    w->onward[a] = a == b ? NONE : b;
    if (a != b) w->mate[b] = a;
  }
  level[path[depth]] = FAR;
  w->onward[path[depth] / 2] = SINK;
}

void rf_dissection_flow(rf_dissection_work *w, int32_t size[RF_SIDES]) {
  const int32_t n = w->part.n;
  const int source = size[1] > size[0], sink = 1 - source;
  // the rest of each side stays on it
  const int32_t least = (int32_t)(RF_LEAST_PART * n) + 1;
  const int32_t most[2] = {size[0] > least ? size[0] - least : 0,
                           size[1] > least ? size[1] - least : 0};
  const int32_t count = set_band(w, most);
  for (int32_t k = 0; k < count; ++k) {
    const int32_t i = w->band[k];
    w->onward[i] = w->mate[i] = NONE;
    w->ends[i] = ends_of(w, i, source);
  }
  while (find_levels(w, count))
    for (int32_t k = 0; k < count; ++k) {
      const int32_t i = w->band[k];
      if (w->ends[i] & AT_SOURCE && w->mate[i] != SOURCE) augment(w, i);
    }
  // the cut nearest to the source, the larger side: nodes that residual paths reach but not leave
  int32_t sizes[RF_SIDES] = {0};
  for (int32_t k = 0; k < count; ++k) {
    const int32_t i = w->band[k];
    const bool reached = w->level[before(i)] != FAR, left = w->level[after(i)] != FAR;
    w->ends[i] = (uint8_t)(left ? source : reached ? RF_SIDE_SEPARATOR : sink);
    ++sizes[w->ends[i]];
    if (w->side[i] != RF_SIDE_SEPARATOR) --sizes[w->side[i]];
  }
  sizes[0] += size[0];
  sizes[1] += size[1];
  if (rf_dissection_cost(n, sizes) >= rf_dissection_cost(n, size)) return;
  memcpy(size, sizes, sizeof sizes);
  for (int32_t k = 0; k < count; ++k) w->side[w->band[k]] = w->ends[w->band[k]];
}
