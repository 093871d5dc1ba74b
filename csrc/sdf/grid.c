#include "sdf/grid.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "linalg/vec3.h"

static const double BEYOND = 1e-5;  // in spacings: allowance for the rounding of float32 samples

static rf_status check_layout(const int32_t n[3], const double origin[3], const double spacing[3],
                              rf_error *err) {
  static const char axis[] = "xyz";
  for (int c = 0; c < 3; ++c) {
    if (!(n[c] >= 2))
      return rf_fail(err, RF_ERR_ARG, "a grid needs 2 samples or more along %c, got %d", axis[c],
                     (int)n[c]);
    if (!(isfinite(spacing[c]) && spacing[c] > 0.0))
      return rf_fail(err, RF_ERR_ARG, "spacing[%d] must be finite and positive, got %g", c,
                     spacing[c]);
    const double far = fabs(origin[c]) + spacing[c] * n[c];
    // squares of distances and inverse spacings must be finite
    if (!(far < 1e150 && spacing[c] > 1e-150))
      return rf_fail(err, RF_ERR_ARG,
                     "origin[%d] and spacing[%d] must be within 1e-150 and 1e150 m, got %g and %g",
                     c, c, origin[c], spacing[c]);
  }
  // vector code uses signed 32-bit indices
  const double total = (double)n[0] * n[1] * n[2];
  if (!(total <= INT32_MAX))
    return rf_fail(
        err, RF_ERR_ARG,
        "a grid of %d x %d x %d samples needs %.1f GB; at most 2^31 - 1 samples (8.6 GB) "
        "are possible",
        (int)n[0], (int)n[1], (int)n[2], 4e-9 * total);
  return RF_OK;
}

rf_status rf_grid_allocate(const int32_t n[3], const double origin[3], const double spacing[3],
                           rf_grid **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_grid *g = NULL;
  *out = NULL;
  RF_TRY(check_layout(n, origin, spacing, err));
  RF_ALLOC(g, 1);
  RF_ALLOC(g->gradient, RF_GRID_LEVELS);
  RF_ALLOC(g->values, (size_t)n[0] * (size_t)n[1] * (size_t)n[2]);
  for (int c = 0; c < 3; ++c) {
    g->n[c] = n[c];
    g->origin[c] = origin[c];
    g->spacing[c] = spacing[c];
    g->inverse[c] = 1.0 / spacing[c];
    g->corner[c] = origin[c] + spacing[c] * (n[c] - 1);
    for (int lane = c; lane < 4; ++lane) {
      g->lanes_low[lane] = g->origin[c];
      g->lanes_high[lane] = g->corner[c];
      g->lanes_inverse[lane] = g->inverse[c];
      g->lanes_cell[lane] = n[c] - 2;
      g->lanes_end[lane] = n[c] - 1;
    }
  }
  *out = g;
  return RF_OK;
done:
  rf_grid_free(g);
  return st;
}

void rf_grid_free(rf_grid *g) {
  if (!g) return;
  rf_free(g->gradient);
  rf_free(g->values);
  rf_free(g);
}

typedef struct sealing {
  rf_grid *grid;
  double *low, *high;  // range of each slab of samples      (n0)
  double *gradient;    // squared, per slab of cells and level (workers, RF_GRID_LEVELS)
  double per_level;    // levels per metre
} sealing;

static const float *row_of(const rf_grid *g, int32_t i, int32_t j) {
  return g->values + ((size_t)i * (size_t)g->n[1] + (size_t)j) * (size_t)g->n[2];
}

static rf_status slab_range(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker;
  const sealing *s = context;
  const rf_grid *g = s->grid;
  const int32_t i = (int32_t)task;
  float low = INFINITY, high = -INFINITY;
  for (int32_t j = 0; j < g->n[1]; ++j) {
    const float *v = row_of(g, i, j);
    for (int32_t k = 0; k < g->n[2]; ++k) {
      if (!(fabsf(v[k]) < 1e30f))
        return rf_fail(err, RF_ERR_ARG,
                       "values[%d, %d, %d] is %g; every value must be finite and below 1e30",
                       (int)i, (int)j, (int)k, (double)v[k]);
      low = v[k] < low ? v[k] : low;
      high = v[k] > high ? v[k] : high;
    }
  }
  s->low[task] = (double)low;
  s->high[task] = (double)high;
  return RF_OK;
}

static int level_of(const sealing *s, double value) {
  const double at = (value - s->grid->low) * s->per_level;
  return at < RF_GRID_LEVELS - 1 ? (at > 0.0 ? (int)at : 0) : RF_GRID_LEVELS - 1;
}

// The gradient inside a cell is a mean, with equal weights for its components, of the gradients at
// the corners along adjacent edges: none is longer than the longest of the eight.
static rf_status slab_gradients(void *context, int64_t task, int worker, rf_error *err) {
  (void)err;
  const sealing *s = context;
  const rf_grid *g = s->grid;
  double *table = s->gradient + (size_t)worker * RF_GRID_LEVELS;
  const int32_t i = (int32_t)task;
  const double wx = g->inverse[0] * g->inverse[0], wy = g->inverse[1] * g->inverse[1],
               wz = g->inverse[2] * g->inverse[2];
  for (int32_t j = 0; j + 1 < g->n[1]; ++j) {
    const float *row[4] = {row_of(g, i, j), row_of(g, i, j + 1), row_of(g, i + 1, j),
                           row_of(g, i + 1, j + 1)};
    for (int32_t k = 0; k + 1 < g->n[2]; ++k) {
      double v[2][2][2], dx[2][2], dy[2][2], dz[2][2];
      double low = INFINITY, high = -INFINITY, most = 0.0;
      for (int a = 0; a < 8; ++a) {
        const double x = (double)row[a >> 1][k + (a & 1)];
        v[a >> 2][a >> 1 & 1][a & 1] = x;
        low = x < low ? x : low;
        high = x > high ? x : high;
      }
      for (int a = 0; a < 4; ++a) {
        const int p = a >> 1, q = a & 1;
        const double x = v[1][p][q] - v[0][p][q], y = v[p][1][q] - v[p][0][q],
                     z = v[p][q][1] - v[p][q][0];
        dx[p][q] = wx * x * x, dy[p][q] = wy * y * y, dz[p][q] = wz * z * z;
      }
      for (int a = 0; a < 8; ++a) {
        const int p = a >> 2, q = a >> 1 & 1, r = a & 1;
        const double sum = dx[q][r] + dy[p][r] + dz[p][q];
        most = sum > most ? sum : most;
      }
      const int last = level_of(s, high);
      for (int l = level_of(s, low); l <= last; ++l) table[l] = most > table[l] ? most : table[l];
    }
  }
  return RF_OK;
}

// Tests that neighbouring samples, along edges and diagonals, differ by at most their distance and
// the errors of both.
static rf_status slab_lipschitz(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const sealing *s = context;
  const rf_grid *g = s->grid;
  const int32_t i = (int32_t)task;
  bool good = true;
  for (int di = 0; di <= (i + 1 < g->n[0] ? 1 : 0); ++di)
    for (int dj = -di; dj <= 1; ++dj)
      for (int dk = di || dj ? -1 : 1; dk <= 1; ++dk) {
        const double way[3] = {di * g->spacing[0], dj * g->spacing[1], dk * g->spacing[2]};
        const double most = (1.0 + BEYOND) * rf_vec3_length(way) +
                            2e-7 * fmax(fabs(g->low), fabs(g->high)) + 2.0 * g->error;
        const int32_t from = dk < 0, to = g->n[2] - (dk > 0);
        for (int32_t j = dj < 0; j < g->n[1] - (dj > 0); ++j) {
          const float *u = row_of(g, i, j), *v = row_of(g, i + di, j + dj) + dk;
          double largest = 0.0;
          for (int32_t k = from; k < to; ++k) {
            const double change = fabs((double)v[k] - (double)u[k]);
            largest = change > largest ? change : largest;
          }
          good = good && largest <= most;
        }
      }
  s->low[task] = good ? 1.0 : 0.0;
  return RF_OK;
}

// For a distance d to a set, d^2 - |p|^2 is concave, as a minimum of linear functions.  With
// weights w of the samples around a point p of a side therefore
//     d^2 >= sum w_i d_i^2 - sum w_i |p - p_i|^2 >= min d_i^2 - e^2,
// e half the diagonal of a cell of the side.  The same holds for samples that are interpolated
// themselves in cells of half diagonal `error`, as a mean of squares is at least the square of the
// mean.  Samples up to 2 `error` are exact: they are well within RF_FAST_BAND (build.h).
static double side_minimum(const rf_grid *g) {
  float low = INFINITY;
  for (int32_t i = 0; i < g->n[0]; ++i)
    for (int32_t j = 0; j < g->n[1]; ++j) {
      const bool side = i == 0 || j == 0 || i == g->n[0] - 1 || j == g->n[1] - 1;
      const float *v = row_of(g, i, j);
      for (int32_t k = 0; k < g->n[2]; k += side ? 1 : g->n[2] - 1) low = v[k] < low ? v[k] : low;
    }
  if (!(low > 0.0f) || !(g->error < INFINITY)) return (double)low;
  const double *h = g->spacing;
  const double across = rf_vec3_dot(h, h) - fmin(h[0] * h[0], fmin(h[1] * h[1], h[2] * h[2]));
  double least = (double)low * (1.0 - 1e-6);
  if (least > 2.0 * g->error)
    least = fmax(2.0 * g->error, sqrt(least * least - g->error * g->error));
  const double square = least * least - 0.25 * across;
  return square > 0.0 ? sqrt(square) : 0.0;
}

rf_status rf_grid_seal(rf_grid *g, double error, const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  const rf_run quiet = {run->threads, NULL, NULL};
  sealing s = {.grid = g};
  RF_ALLOC(s.low, g->n[0]);
  RF_ALLOC(s.high, g->n[0]);
  RF_ALLOC(s.gradient, (size_t)run->threads * RF_GRID_LEVELS);
  RF_TRY(rf_run_tasks(&quiet, g->n[0], 0, slab_range, &s, err));
  g->low = INFINITY, g->high = -INFINITY;
  for (int32_t i = 0; i < g->n[0]; ++i) {
    g->low = fmin(g->low, s.low[i]);
    g->high = fmax(g->high, s.high[i]);
  }

  s.per_level = g->high > g->low ? RF_GRID_LEVELS / (g->high - g->low) : 0.0;
  RF_TRY(rf_run_tasks(&quiet, g->n[0] - 1, 0, slab_gradients, &s, err));
  g->steepest = 0.0;
  for (int l = 0; l < RF_GRID_LEVELS; ++l) {
    double most = 0.0;
    for (int w = 0; w < run->threads; ++w) most = fmax(most, s.gradient[w * RF_GRID_LEVELS + l]);
    g->gradient[l] = sqrt(most);
    g->steepest = fmax(g->steepest, g->gradient[l]);
  }

  g->error = error >= 0.0 ? error : INFINITY;
  if (g->error < INFINITY) {
    RF_TRY(rf_run_tasks(&quiet, g->n[0], 0, slab_lipschitz, &s, err));
    for (int32_t i = 0; i < g->n[0]; ++i)
      if (!(s.low[i] > 0.0)) g->error = INFINITY;
  }
  g->boundary = side_minimum(g);
done:
  rf_free(s.low);
  rf_free(s.high);
  rf_free(s.gradient);
  return st;
}

rf_status rf_grid_from_values(const int32_t n[3], const double origin[3], const double spacing[3],
                              const float *values, double error, const rf_run *run, rf_grid **out,
                              rf_error *err) {
  rf_status st = RF_OK;
  rf_grid *g = NULL;
  *out = NULL;
  RF_TRY(rf_grid_allocate(n, origin, spacing, &g, err));
  memcpy(g->values, values, (size_t)n[0] * (size_t)n[1] * (size_t)n[2] * sizeof *values);
  RF_TRY(rf_grid_seal(g, error, run, err));
  *out = g;
  return RF_OK;
done:
  rf_grid_free(g);
  return st;
}

double rf_grid_gradient_within(const rf_grid *g, double from, double to) {
  if (!(from <= g->high && to >= g->low)) return 0.0;
  const double per_level = g->high > g->low ? RF_GRID_LEVELS / (g->high - g->low) : 0.0;
  double most = 0.0;
  for (int l = 0; l < RF_GRID_LEVELS; ++l) {
    // one more level at each end, for rounding
    const bool within =
        (l + 2) >= (from - g->low) * per_level && l - 1 <= (to - g->low) * per_level;
    if (within) most = fmax(most, g->gradient[l]);
  }
  return most;
}

double rf_grid_half_diagonal(const rf_grid *g) {
  return 0.5 * rf_vec3_length(g->spacing) * (1.0 + BEYOND);
}
