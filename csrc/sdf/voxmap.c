#include "sdf/voxmap.h"

#include <math.h>

#include "base/alloc.h"
#include "base/run.h"
#include "mesh/voxelize.h"

static rf_status allocate(const int32_t n[3], const double origin[3], double edge, rf_voxmap **out,
                          rf_error *err) {
  rf_status st = RF_OK;
  rf_voxmap *m = NULL;
  RF_ALLOC(m, 1);
  for (int c = 0; c < 3; ++c) {
    m->n[c] = n[c];
    m->origin[c] = origin[c];
  }
  m->edge = edge;
  m->words = ((size_t)n[0] + 31) / 32;
  RF_ALLOC(m->bits, (size_t)n[1] * (size_t)n[2] * m->words);
  *out = m;
  m = NULL;
done:
  rf_voxmap_free(m);
  return st;
}

void rf_voxmap_free(rf_voxmap *m) {
  if (!m) return;
  rf_free(m->bits);
  rf_free(m);
}

// ---- from a surface -----------------------------------------------------------

typedef struct coding {
  const uint64_t *surface;      // bitmap of the voxels that the surface meets
  const rf_voxel_grid *filled;  // these and the voxels they enclose
  rf_voxmap *map;
} coding;

// Returns the surface voxels in the 3 x 3 rows around row (j, k), 64 at a time; none outside the
// grid.
static uint64_t rows_around(const coding *c, int32_t j, int32_t k, size_t w) {
  const rf_voxel_grid *g = c->filled;
  if (w >= g->words) return 0;
  uint64_t bits = 0;
  for (int32_t dk = -1; dk <= 1; ++dk)
    for (int32_t dj = -1; dj <= 1; ++dj)
      if (j + dj >= 0 && j + dj < g->n && k + dk >= 0 && k + dk < g->n)
        bits |= c->surface[((size_t)(k + dk) * (size_t)g->n + (size_t)(j + dj)) * g->words + w];
  return bits;
}

// Moves bit b of x to bit 2 b.
static uint64_t spread(uint32_t x) {
  uint64_t v = x;
  v = (v | v << 16) & UINT64_C(0x0000FFFF0000FFFF);
  v = (v | v << 8) & UINT64_C(0x00FF00FF00FF00FF);
  v = (v | v << 4) & UINT64_C(0x0F0F0F0F0F0F0F0F);
  v = (v | v << 2) & UINT64_C(0x3333333333333333);
  return (v | v << 1) & UINT64_C(0x5555555555555555);
}

static rf_status code_plane(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const coding *c = context;
  const rf_voxel_grid *g = c->filled;
  const int32_t k = (int32_t)task;
  for (int32_t j = 0; j < g->n; ++j) {
    const size_t row = (size_t)k * (size_t)g->n + (size_t)j;
    uint64_t before = 0, here = rows_around(c, j, k, 0);
    for (size_t w = 0; w < g->words; ++w) {
      const uint64_t after = rows_around(c, j, k, w + 1);
      const uint64_t valid = w + 1 == g->words ? g->last : ~UINT64_C(0);
      const uint64_t surface = c->surface[row * g->words + w];
      const uint64_t inside = g->solid[row * g->words + w] & ~surface;
      const uint64_t near = here | here << 1 | before >> 63 | here >> 1 | after << 63;
      const uint64_t proximity = near & valid & ~surface & ~inside;
      // values 1, 2, 3
      const uint64_t low = inside | proximity, high = surface | proximity;
      uint64_t *to = c->map->bits + row * c->map->words + 2 * w;
      to[0] = spread((uint32_t)low) | spread((uint32_t)high) << 1;
      if (2 * w + 1 < c->map->words)
        to[1] = spread((uint32_t)(low >> 32)) | spread((uint32_t)(high >> 32)) << 1;
      before = here;
      here = after;
    }
  }
  return RF_OK;
}

rf_status rf_voxmap_build(const rf_surface *surface, int32_t resolution, double expand,
                          const rf_run *run, rf_voxmap **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_voxel_grid g = {0};
  uint64_t *marked = NULL;
  rf_voxmap *m = NULL;
  *out = NULL;
  const rf_voxel_settings set = {.resolution = resolution, .expand = expand, .fill = false};
  RF_TRY(rf_voxel_grid_create(surface, &set, run, &g, err));
  const size_t words = (size_t)g.n * (size_t)g.n * g.words;
  RF_ALLOC(marked, words);
  for (size_t w = 0; w < words; ++w) marked[w] = g.solid[w];
  RF_TRY(rf_voxel_grid_fill(&g, run, err));

  double origin[3];
  for (int c = 0; c < 3; ++c) origin[c] = g.centre[c] - 0.5 * g.n * g.h;
  RF_TRY(allocate((const int32_t[3]){g.n, g.n, g.n}, origin, g.h, &m, err));
  coding context = {.surface = marked, .filled = &g, .map = m};
  RF_TRY(rf_run_tasks(run, g.n, 0, code_plane, &context, err));
  *out = m;
  m = NULL;
done:
  rf_voxel_grid_free(&g);
  rf_free(marked);
  rf_voxmap_free(m);
  return st;
}

// ---- from and to values ---------------------------------------------------------

rf_status rf_voxmap_create(const int32_t n[3], const double origin[3], double edge,
                           const uint8_t *values, rf_voxmap **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_voxmap *m = NULL;
  *out = NULL;
  for (int c = 0; c < 3; ++c) {
    if (!(n[c] >= 1 && n[c] <= RF_VOXEL_MAX_RESOLUTION))
      return rf_fail(err, RF_ERR_ARG, "values has %d voxels along axis %d; allowed are 1 to %d",
                     (int)n[c], c, RF_VOXEL_MAX_RESOLUTION);
    if (!isfinite(origin[c]))
      return rf_fail(err, RF_ERR_ARG, "origin[%d] must be finite, got %g", c, origin[c]);
  }
  if (!(edge > 0.0 && edge < 1e90))
    return rf_fail(err, RF_ERR_ARG, "edge must be positive and finite, got %g m", edge);
  RF_TRY(allocate(n, origin, edge, &m, err));
  const uint8_t *value = values;
  for (int32_t i = 0; i < n[0]; ++i)
    for (int32_t j = 0; j < n[1]; ++j)
      for (int32_t k = 0; k < n[2]; ++k, ++value) {
        if (*value > RF_VOXEL_PROXIMITY) {
          st = rf_fail(err, RF_ERR_ARG, "values[%d, %d, %d] is %d; allowed are 0, 1, 2 and 3",
                       (int)i, (int)j, (int)k, (int)*value);
          goto done;
        }
        const size_t row = (size_t)k * (size_t)n[1] + (size_t)j;
        m->bits[row * m->words + (size_t)i / 32] |= (uint64_t)*value << (2 * (i % 32));
      }
  *out = m;
  m = NULL;
done:
  rf_voxmap_free(m);
  return st;
}

void rf_voxmap_values(const rf_voxmap *m, uint8_t *values) {
  for (int32_t i = 0; i < m->n[0]; ++i)
    for (int32_t j = 0; j < m->n[1]; ++j)
      for (int32_t k = 0; k < m->n[2]; ++k) {
        const size_t row = (size_t)k * (size_t)m->n[1] + (size_t)j;
        *values++ = (uint8_t)(m->bits[row * m->words + (size_t)i / 32] >> (2 * (i % 32)) & 3);
      }
}
