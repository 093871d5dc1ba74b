#include "mesh/edges.h"

#include "base/alloc.h"
#include "base/run.h"

enum { ASK = 1 << 16 };  // sides between polls

void rf_edges_free(rf_edges *e) {
  rf_free(e->corner);
  rf_free(e->edge);
  rf_free(e->first);
  rf_free(e->side);
  *e = (rf_edges){0};
}

static uint64_t hash_pair(int32_t low, int32_t high) {
  uint64_t h = ((uint64_t)(uint32_t)low << 32 | (uint32_t)high) * UINT64_C(0x9E3779B97F4A7C15);
  return h ^ (h >> 31);
}

static bool has_edges(const int32_t *corner) {
  return corner[0] != corner[1] && corner[1] != corner[2] && corner[2] != corner[0];
}

// Numbers the edges in the order of their first sides.
static rf_status number_edges(rf_edges *e, const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  int32_t *table = NULL, *sample = NULL;  // edge + 1, 0: empty; one side of each edge
  const int32_t sides = 3 * e->n_triangles;
  size_t size = 16;
  while (size < 2 * (size_t)sides) size *= 2;
  RF_ALLOC(table, size);
  RF_ALLOC(sample, sides);
  for (int32_t s = 0; s < sides; ++s) {
    if (s % ASK == 0) RF_TRY(rf_run_poll(run, err));
    e->edge[s] = -1;
    if (!has_edges(e->corner + s / 3 * 3)) continue;
    const int32_t from = rf_edges_from(e, s), to = rf_edges_to(e, s);
    const int32_t low = from < to ? from : to, high = from < to ? to : from;
    size_t at = (size_t)hash_pair(low, high) & (size - 1);
    for (; table[at]; at = (at + 1) & (size - 1)) {
      const int32_t a = rf_edges_from(e, sample[table[at] - 1]),
                    b = rf_edges_to(e, sample[table[at] - 1]);
      if ((a == low && b == high) || (a == high && b == low)) break;
    }
    if (!table[at]) {
      sample[e->n_edges] = s;
      table[at] = ++e->n_edges;
    }
    e->edge[s] = table[at] - 1;
  }
done:
  rf_free(table);
  rf_free(sample);
  return st;
}

// Lists the sides of each edge by counting sort.
static rf_status list_sides(rf_edges *e, rf_error *err) {
  rf_status st = RF_OK;
  int32_t *next = NULL;
  const int32_t sides = 3 * e->n_triangles;
  RF_ALLOC(e->first, (size_t)e->n_edges + 1);
  RF_ALLOC(e->side, sides);
  RF_ALLOC(next, e->n_edges);
  for (int32_t s = 0; s < sides; ++s)
    if (e->edge[s] >= 0) e->first[e->edge[s] + 1] += 1;
  for (int32_t i = 0; i < e->n_edges; ++i) {
    e->first[i + 1] += e->first[i];
    next[i] = e->first[i];
  }
  for (int32_t s = 0; s < sides; ++s)
    if (e->edge[s] >= 0) e->side[next[e->edge[s]]++] = s;
done:
  rf_free(next);
  return st;
}

rf_status rf_edges_create(const rf_surface *s, const rf_run *run, rf_edges *out, rf_error *err) {
  rf_status st = RF_OK;
  int32_t *merged = NULL;
  rf_edges e = {.n_triangles = s->n_triangles};
  *out = (rf_edges){0};
  if (!(s->n_triangles <= INT32_MAX / 6))
    return rf_fail(err, RF_ERR_ARG,
                   "a surface of %d triangles is too large: at most %d are allowed",
                   (int)s->n_triangles, (int)(INT32_MAX / 6));
  const size_t sides = 3 * (size_t)s->n_triangles;
  RF_ALLOC(merged, s->n_vertices);
  RF_ALLOC(e.corner, sides);
  RF_ALLOC(e.edge, sides);
  RF_TRY(rf_surface_merge(s->n_vertices, s->vertices, merged, err));
  for (size_t i = 0; i < sides; ++i) e.corner[i] = merged[s->triangles[i]];
  RF_TRY(number_edges(&e, run, err));
  RF_TRY(list_sides(&e, err));
  *out = e;
  e = (rf_edges){0};
done:
  rf_edges_free(&e);
  rf_free(merged);
  return st;
}
