#include "sdf/build_open.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"

enum { CHUNK = 1024 };  // vertices per task

void rf_open_signs_free(rf_open_signs *s) {
  rf_free(s->below);
  *s = (rf_open_signs){0};
}

static double largest_step(const rf_grid *g) {
  return fmax(g->spacing[0], fmax(g->spacing[1], g->spacing[2]));
}

// ---- walls ------------------------------------------------------------------

// True if a triangle has inside on both sides, tested at several points.
static bool is_hidden(const rf_winding *w, const rf_surface *s, int32_t t) {
  static const double AT[7][3] = {{0.32, 0.33, 0.35}, {0.96, 0.02, 0.02}, {0.02, 0.96, 0.02},
                                  {0.02, 0.02, 0.96}, {0.49, 0.49, 0.02}, {0.02, 0.49, 0.49},
                                  {0.49, 0.02, 0.49}};
  // the winding numbers of the two sides differ by one
  for (int k = 0; k < 7; ++k)
    if (!(rf_winding_between(w, s, t, AT[k]) > RF_WINDING_INSIDE + 0.5)) return false;
  return true;
}

rf_status rf_open_walls_find(const rf_inside *inside, const rf_surface *s, const rf_run *run,
                             int32_t *triangles, int32_t *n, rf_error *err) {
  *n = 0;
  for (int32_t t = 0; t < s->n_triangles; ++t) {
    if (t % CHUNK == 0) {
      const rf_status st = rf_run_poll(run, err);
      if (st < 0) return st;
    }
    if (is_hidden(rf_inside_winding(inside), s, t)) continue;
    memcpy(triangles + 3 * (size_t)(*n)++, s->triangles + 3 * (size_t)t, 3 * sizeof *triangles);
  }
  return RF_OK;
}

// ---- signs ------------------------------------------------------------------

typedef struct signing {
  const rf_inside *inside;
  const rf_grid *g;
  float *below;
  int64_t *counts;  // samples inside, and in doubt, per column of blocks (columns, 2)
} signing;

// Returns the number of blocks along an axis.
static int32_t blocks_along(const rf_grid *g, int axis) {
  return (g->n[axis] + RF_INSIDE_BLOCK - 1) / RF_INSIDE_BLOCK;
}

// Returns the sample of a block at x, y, z; -1 beyond the grid.
static ptrdiff_t sample_of(const rf_grid *g, const int32_t at[3], int x, int y, int z) {
  const int32_t i = at[0] + x, j = at[1] + y, k = at[2] + z;
  if (i >= g->n[0] || j >= g->n[1] || k >= g->n[2]) return -1;
  return ((ptrdiff_t)i * g->n[1] + j) * g->n[2] + k;
}

// Two neighbouring samples more than half a step off the surface are not separated by it.
static void block_of(const rf_grid *g, const int32_t at[3], rf_inside_block *b) {
  const float off = (float)(0.5 * largest_step(g) * (1.0 + 1e-6));
  memset(b->ask, 0, sizeof b->ask);
  memset(b->open, 0, sizeof b->open);
  for (int c = 0; c < 3; ++c) {
    b->step[c] = g->spacing[c];
    b->origin[c] = g->origin[c] + g->spacing[c] * at[c];
  }
  for (int s = 0; s < RF_INSIDE_POINTS; ++s) {
    const ptrdiff_t from = sample_of(g, at, s & 7, s >> 3 & 7, s >> 6);
    if (from < 0) continue;
    const uint64_t bit = UINT64_C(1) << (s & 63);
    b->ask[s >> 6] |= bit;
    if (fabsf(g->values[from]) > off) b->open[s >> 6] |= bit;
  }
}

static rf_status sign_column(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const signing *s = context;
  const rf_grid *g = s->g;
  const int32_t by = blocks_along(g, 1);
  int32_t at[3] = {RF_INSIDE_BLOCK * (int32_t)(task / by), RF_INSIDE_BLOCK * (int32_t)(task % by),
                   0};
  for (; at[2] < g->n[2]; at[2] += RF_INSIDE_BLOCK) {
    rf_inside_block b;
    block_of(g, at, &b);
    rf_inside_decide(s->inside, &b);
    for (int p = 0; p < RF_INSIDE_POINTS; ++p) {
      const ptrdiff_t to = sample_of(g, at, p & 7, p >> 3 & 7, p >> 6);
      if (to < 0) continue;
      const bool in = b.inside[p >> 6] >> (p & 63) & 1;
      // rounding to float32 must not change the side
      const float below = (float)RF_WINDING_INSIDE - b.winding[p];
      s->below[to] = in ? fminf(below, -1e-6F) : fmaxf(below, 1e-6F);
      s->counts[2 * task] += in;
    }
    s->counts[2 * task + 1] += rf_inside_doubts(&b);
  }
  return RF_OK;
}

rf_status rf_open_signs_find(const rf_inside *inside, const rf_grid *g, const rf_run *run,
                             rf_open_signs *out, rf_error *err) {
  rf_status st = RF_OK;
  const rf_run quiet = {run->threads, NULL, NULL};
  rf_open_signs made = {0};
  signing s = {.inside = inside, .g = g};
  const int64_t columns = (int64_t)blocks_along(g, 0) * blocks_along(g, 1);
  *out = made;
  RF_ALLOC(made.below, (size_t)g->n[0] * (size_t)g->n[1] * (size_t)g->n[2]);
  RF_ALLOC(s.counts, 2 * columns);
  s.below = made.below;
  RF_TRY(rf_run_poll(run, err));
  RF_TRY(rf_run_tasks(&quiet, columns, 0, sign_column, &s, err));
  for (int64_t i = 0; i < columns; ++i) {
    made.n_inside += s.counts[2 * i];
    made.n_doubtful += s.counts[2 * i + 1];
  }
  *out = made;
  made = (rf_open_signs){0};
done:
  rf_free(s.counts);
  rf_open_signs_free(&made);
  return st;
}

// ---- the cap ----------------------------------------------------------------

typedef struct snapping {
  const rf_closest *surface;
  rf_isosurface *iso;
  double near;
  uint8_t *snapped;  // of the vertices
} snapping;

static rf_status snap_chunk(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const snapping *s = context;
  const int64_t from = task * CHUNK, n = s->iso->n_vertices;
  for (int64_t i = from; i < n && i < from + CHUNK; ++i) {
    rf_closest_place place;
    double *x = s->iso->vertices + 3 * i;
    if (!rf_closest_find(s->surface, x, s->near, &place)) continue;
    memcpy(x, place.place, sizeof place.place);
    s->snapped[i] = 1;
  }
  return RF_OK;
}

static bool is_beyond(const rf_grid *g, const double *x) {
  for (int c = 0; c < 3; ++c)
    if (x[c] < g->origin[c] || x[c] > g->corner[c]) return true;
  return false;
}

// Drops triangles on the surface, and those that close the iso-surface at the sides of the box.
static void keep_cap(const rf_grid *g, const uint8_t *snapped, rf_isosurface *iso) {
  int32_t kept = 0;
  for (int32_t t = 0; t < iso->n_triangles; ++t) {
    const int32_t *v = iso->triangles + 3 * (size_t)t;
    bool on = true, beyond = false;
    for (int k = 0; k < 3; ++k) {
      on = on && snapped[v[k]];
      beyond = beyond || is_beyond(g, iso->vertices + 3 * (size_t)v[k]);
    }
    if (on || beyond) continue;
    memmove(iso->triangles + 3 * (size_t)kept++, v, 3 * sizeof *v);
  }
  iso->n_triangles = kept;
}

rf_status rf_open_cap_create(const rf_grid *g, const rf_open_signs *signs,
                             const rf_closest *surface, const rf_run *run, rf_isosurface *out,
                             rf_error *err) {
  rf_status st = RF_OK;
  rf_isosurface iso = {0};
  snapping s = {.surface = surface, .iso = &iso, .near = largest_step(g)};
  const rf_run quiet = {run->threads, NULL, NULL};
  *out = iso;
  RF_TRY(rf_isosurface_create(g->n, g->origin, g->spacing, signs->below, 0.0, &quiet, &iso, err));
  RF_ALLOC(s.snapped, iso.n_vertices);
  RF_TRY(rf_run_tasks(&quiet, (iso.n_vertices + CHUNK - 1) / CHUNK, 0, snap_chunk, &s, err));
  keep_cap(g, s.snapped, &iso);
  *out = iso;
  iso = (rf_isosurface){0};
done:
  rf_free(s.snapped);
  rf_isosurface_free(&iso);
  return st;
}
