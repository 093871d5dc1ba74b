#include "sdf/build_signs.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"

// ---- contradictions -------------------------------------------------------------------

typedef struct checking {
  const rf_grid *grid;
  bool whole;
  atomic_bool wrong;
} checking;

static rf_status check_slab(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  checking *s = context;
  const rf_grid *g = s->grid;
  const int32_t i = (int32_t)task;
  const size_t ny = (size_t)g->n[1], nz = (size_t)g->n[2];
  bool wrong = false;
  for (int32_t j = 0; j < g->n[1]; ++j) {
    const float *row = g->values + ((size_t)i * ny + (size_t)j) * nz;
    const bool side = i == 0 || j == 0 || i == g->n[0] - 1 || j == g->n[1] - 1;
    for (int32_t k = 0; s->whole && k < g->n[2]; k += side ? 1 : g->n[2] - 1)
      wrong = wrong || row[k] < 0.0F;
    for (int axis = 0; axis < 2; ++axis) {
      if (axis == 0 ? i + 1 == g->n[0] : j + 1 == g->n[1]) continue;
      const float *next = row + (axis == 0 ? ny * nz : nz);
      const float apart = (float)(g->spacing[axis] * (1.0 + 1e-5));
      for (int32_t k = 0; k < g->n[2]; ++k)
        wrong |= (row[k] < 0.0F) != (next[k] < 0.0F) && fabsf(row[k] - next[k]) > apart;
    }
  }
  if (wrong) atomic_store(&s->wrong, true);
  return RF_OK;
}

rf_status rf_grid_signs_contradict(const rf_grid *g, bool whole, const rf_run *run, bool *wrong,
                                   rf_error *err) {
  const rf_run quiet = {run->threads, NULL, NULL};
  checking check = {.grid = g, .whole = whole};
  const rf_status st = rf_run_tasks(&quiet, g->n[0], 0, check_slab, &check, err);
  *wrong = check.wrong;
  return st;
}

// ---- windings -------------------------------------------------------------------------

typedef struct winding {
  const rf_surface *surface;
  rf_grid *grid;
  int32_t *change;  // change of the winding number in front of each sample of a plane   (workers,
                    // n1, n2 + 1)
} winding;

// Computes y and z of the cut of a side by the plane.
static void cut_side(const double *a, const double *b, double x, double out[2]) {
  for (int c = 0; c < 3; ++c) {
    if (a[c] == b[c]) continue;
    if (a[c] > b[c]) {
      const double *t = a;
      a = b;
      b = t;
    }
    break;
  }
  const double t = (x - a[0]) / (b[0] - a[0]);
  for (int c = 0; c < 2; ++c) out[c] = a[1 + c] + t * (b[1 + c] - a[1 + c]);
}

// Adds a directed piece of a polygon to the rows that it crosses.
static void cross_rows(const rf_grid *g, const double from[2], const double to[2],
                       int32_t *change) {
  const bool up = from[0] < to[0];
  const double *low = up ? from : to, *high = up ? to : from;
  const double first = fmax((low[0] - g->origin[1]) * g->inverse[1] - 1.0, 0.0);
  for (int32_t j = first < g->n[1] ? (int32_t)first : g->n[1]; j < g->n[1]; ++j) {
    const double y = g->origin[1] + g->spacing[1] * j;
    if (!(low[0] <= y)) continue;
    if (!(high[0] > y)) break;
    const double z = low[1] + (y - low[0]) / (high[0] - low[0]) * (high[1] - low[1]);
    const double t = fmax((z - g->origin[2]) * g->inverse[2] + 1.0, 0.0);
    const int32_t k = t < g->n[2] ? (int32_t)t : g->n[2];
    change[(size_t)j * ((size_t)g->n[2] + 1) + (size_t)k] += up ? 1 : -1;
  }
}

static rf_status sign_plane(void *context, int64_t task, int worker, rf_error *err) {
  (void)err;
  const winding *w = context;
  const rf_grid *g = w->grid;
  const rf_surface *s = w->surface;
  const size_t ny = (size_t)g->n[1], nz = (size_t)g->n[2];
  int32_t *change = w->change + (size_t)worker * ny * (nz + 1);
  memset(change, 0, ny * (nz + 1) * sizeof *change);
  const double x = g->origin[0] + g->spacing[0] * (double)task;
  for (int32_t t = 0; t < s->n_triangles; ++t) {
    const double *corner[3];
    bool above[3];
    for (int c = 0; c < 3; ++c) {
      corner[c] = s->vertices + 3 * (size_t)s->triangles[3 * (size_t)t + (size_t)c];
      above[c] = corner[c][0] > x;
    }
    if (above[0] == above[1] && above[1] == above[2]) continue;
    double from[2] = {0.0, 0.0}, to[2] = {0.0, 0.0};
    for (int c = 0; c < 3; ++c) {
      const int d = (c + 1) % 3;
      if (!above[c] && above[d]) cut_side(corner[c], corner[d], x, from);
      if (above[c] && !above[d]) cut_side(corner[c], corner[d], x, to);
    }
    if (from[0] != to[0]) cross_rows(g, from, to, change);
  }
  for (size_t j = 0; j < ny; ++j) {
    float *row = g->values + ((size_t)task * ny + j) * nz;
    int32_t windings = 0;
    for (size_t k = 0; k < nz; ++k) {
      windings += change[j * (nz + 1) + k];
      row[k] = windings != 0 ? -fabsf(row[k]) : fabsf(row[k]);
    }
  }
  return RF_OK;
}

rf_status rf_grid_sign_by_windings(const rf_surface *s, rf_grid *g, const rf_run *run,
                                   rf_error *err) {
  rf_status st = RF_OK;
  const rf_run quiet = {run->threads, NULL, NULL};
  winding w = {.surface = s, .grid = g};
  RF_ALLOC(w.change, (size_t)run->threads * (size_t)g->n[1] * ((size_t)g->n[2] + 1));
  RF_TRY(rf_run_tasks(&quiet, g->n[0], 0, sign_plane, &w, err));
done:
  rf_free(w.change);
  return st;
}
