#include "sdf/field.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "linalg/vec3.h"

static const double BEYOND = 1e-5;  // in spacings: allowance for the rounding of float32 samples
static const double UNIT = 1e-6;    // tolerance for the length of a normal

// ---- grids ------------------------------------------------------------------------

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

// Returns the largest gradient of the cells of a grid that have values in an interval.
static double grid_gradient(const rf_grid *g, double from, double to) {
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

// ---- fields -----------------------------------------------------------------------

static rf_status check_part(int32_t index, const rf_field_part *p, rf_error *err) {
  const bool grid = p->shape == RF_SHAPE_GRID;
  double size = 0.0;
  for (int c = 0; c < 3 && !grid; ++c) size = fmax(size, fmax(fabs(p->a[c]), fabs(p->b[c])));
  if (!isfinite(p->offset))
    return rf_fail(err, RF_ERR_ARG, "offset must be finite, got %g", p->offset);
  for (int c = 0; c < 3 && !grid; ++c)
    if (!(fabs(p->a[c]) < 1e150 && fabs(p->b[c]) < 1e150))
      return rf_fail(err, RF_ERR_ARG, "part %d: coordinates must be finite and below 1e150",
                     (int)index);
  if (index == 0 && p->joined)
    return rf_fail(err, RF_ERR_INTERNAL, "the first part is joined to none");
  switch (p->shape) {
    case RF_SHAPE_GRID:
      if (!p->grid) return rf_fail(err, RF_ERR_INTERNAL, "part %d has no grid", (int)index);
      return RF_OK;
    case RF_SHAPE_SPHERE:
    case RF_SHAPE_CAPSULE:
      if (!(isfinite(p->radius) && p->radius > 0.0 && p->radius < 1e150))
        return rf_fail(err, RF_ERR_ARG, "radius must be finite and positive, got %g", p->radius);
      return RF_OK;
    case RF_SHAPE_BOX:
      for (int c = 0; c < 3; ++c)
        if (!(p->a[c] < p->b[c]))
          return rf_fail(err, RF_ERR_ARG,
                         "low must be below high along every axis; low[%d] is %g, high[%d] is %g",
                         c, p->a[c], c, p->b[c]);
      return RF_OK;
    case RF_SHAPE_PLANE:
      if (!(fabs(rf_vec3_length(p->b) - 1.0) <= UNIT))
        return rf_fail(err, RF_ERR_ARG, "normal must be a unit vector, its length is %g",
                       rf_vec3_length(p->b));
      return RF_OK;
    default: return rf_fail(err, RF_ERR_ARG, "part %d has an unknown shape", (int)index);
  }
}

// Measures the bounds for rf_field_slack_rt; see the proof there.
static void measure(rf_field *f) {
  double size = 0.0;
  f->lipschitz = 1.0;
  f->cap = INFINITY;
  f->top = -INFINITY;
  for (int32_t i = 0; i < f->n_parts; ++i) {
    const rf_field_part *p = &f->parts[i];
    double largest = fabs(p->radius) + fabs(p->offset);
    if (p->shape == RF_SHAPE_GRID) {
      const rf_grid *g = p->grid;
      f->lipschitz = fmax(f->lipschitz, g->steepest * (1.0 + 1e-12));
      const double side = fmax(g->boundary, 0.0);
      if (p->outside) {
        f->top = fmax(f->top, fmax(-g->low, -side) - p->offset);
        if (g->boundary < 0.0 || -side - p->offset > 0.0)
          f->cap = fmin(f->cap, -fmax(g->high, side) - p->offset);
      } else {
        f->cap = fmin(f->cap, g->boundary - p->offset);
        f->top = fmax(f->top, fmax(g->high, side) - p->offset);
        if (g->boundary < 0.0) f->shrink = fmax(f->shrink, -p->offset);
      }
      largest += fmax(fabs(g->low), fabs(g->high));
      for (int c = 0; c < 3; ++c) largest += fabs(g->origin[c]) + fabs(g->corner[c]);
      // samples are also rounded to float32
      f->error = fmax(f->error, g->error + 2e-7 * largest);
      f->bend = fmax(f->bend, 0.5 * rf_vec3_length(g->spacing) * (1.0 + BEYOND));
    } else {
      for (int c = 0; c < 3; ++c) largest += fabs(p->a[c]) + fabs(p->b[c]);
    }
    size = fmax(size, largest);
  }
  f->rounding = 1e-14 * f->lipschitz * size;
  f->gentle = (1.0 - 1e-15) / f->lipschitz;

  for (int b = 0; b < RF_FIELD_BANDS; ++b) {
    // the last band covers all values
    const bool all = b == RF_FIELD_BANDS - 1;
    f->reach[b] = all ? INFINITY : ldexp(fmax(f->top, 0.0), b + 1 - RF_FIELD_BANDS);
    f->gradient[b] = 1.0;
    for (int32_t i = 0; i < f->n_parts; ++i) {
      const rf_field_part *p = &f->parts[i];
      if (p->shape != RF_SHAPE_GRID) continue;
      const double to = p->offset + f->reach[b];
      const double steep = p->outside ? grid_gradient(p->grid, -to, -p->offset)
                                      : grid_gradient(p->grid, p->offset, to);
      f->gradient[b] = fmax(f->gradient[b], steep * (1.0 + 1e-12));
    }
    f->inverse[b] = (1.0 - 1e-15) / f->gradient[b];
  }
}

rf_status rf_field_create(int32_t n_parts, const rf_field_part *parts, rf_field **out,
                          rf_error *err) {
  rf_status st = RF_OK;
  rf_field *f = NULL;
  *out = NULL;
  if (!(n_parts >= 1 && n_parts <= RF_FIELD_MAX_PARTS))
    return rf_fail(err, RF_ERR_ARG, "a field has 1 to %d parts, got %d", (int)RF_FIELD_MAX_PARTS,
                   (int)n_parts);
  for (int32_t i = 0; i < n_parts; ++i) {
    st = check_part(i, &parts[i], err);
    if (st < 0) return st;
  }
  RF_ALLOC(f, 1);
  RF_ALLOC(f->parts, n_parts);
  f->n_parts = n_parts;
  f->plain = true;
  for (int32_t i = 0; i < n_parts; ++i)
    f->plain = f->plain && !parts[i].outside && !parts[i].joined;
  f->simd = rf_simd_resolve(RF_SIMD_BEST);
  memcpy(f->parts, parts, (size_t)n_parts * sizeof *parts);
  measure(f);
  *out = f;
  return RF_OK;
done:
  rf_field_free(f);
  return st;
}

void rf_field_free(rf_field *f) {
  if (!f) return;
  rf_free(f->parts);
  rf_free(f);
}

// ---- fields composed of others -----------------------------------------------------------

// Returns the number of parts of a group.
static int32_t group_size(const rf_field *f, int32_t at) {
  int32_t n = 1;
  while (at + n < f->n_parts && f->parts[at + n].joined) ++n;
  return n;
}

static int32_t count_groups(const rf_field *f) {
  int32_t n = 0;
  for (int32_t k = 0; k < f->n_parts; ++k) n += !f->parts[k].joined;
  return n;
}

// Candidates: one group of each of several fields, or one part of each group of one field.
typedef struct choice {
  const rf_field_part *parts;  // first of the parts to choose from
  int32_t n_parts, chosen;     // number of parts; begin of the current choice
} choice;

static int32_t chosen_size(const choice *c, bool whole) {
  int32_t n = 1;
  while (whole && c->chosen + n < c->n_parts && c->parts[c->chosen + n].joined) ++n;
  return n;
}

// Lists the parts of all combinations, one group each; out NULL: only counts them.
static double choose(int32_t n, choice *choices, bool whole, rf_field_part *out) {
  double count = 0.0;
  size_t at = 0;
  if (!out) {
    // each part of one is combined with every choice from the others
    double ways = 1.0;
    for (int32_t i = 0; i < n; ++i) {
      int32_t of = 0;
      for (choice *c = &choices[i]; c->chosen < c->n_parts; ++of)
        c->chosen += chosen_size(c, whole);
      choices[i].chosen = 0;
      count = count * of + ways * choices[i].n_parts;
      ways *= of;
    }
    return count;
  }
  for (int32_t i = 0; i < n;) {
    const size_t first = at;
    for (int32_t k = 0; k < n; ++k) {
      const choice *c = &choices[k];
      const int32_t size = chosen_size(c, whole);
      for (int32_t j = 0; j < size; ++j) {
        out[at] = c->parts[c->chosen + j];
        out[at].joined = at > first;
        ++at;
      }
    }
    // next combination, the last choice varying fastest
    for (i = n - 1; i >= 0; --i) {
      choices[i].chosen += chosen_size(&choices[i], whole);
      if (choices[i].chosen < choices[i].n_parts) break;
      choices[i].chosen = 0;
    }
    if (i < 0) break;
    i = 0;
  }
  return (double)at;
}

rf_status rf_field_create_joined(int32_t n, const rf_field *const *fields, rf_field_join how,
                                 double offset, rf_field **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_field_part *parts = NULL;
  choice *choices = NULL;
  *out = NULL;
  if (!(n >= 1 && (how != RF_FIELD_COMPLEMENT || n == 1)))
    return rf_fail(err, RF_ERR_ARG, "a field has 1 to %d parts, got %d", (int)RF_FIELD_MAX_PARTS,
                   (int)n);
  const bool whole = how == RF_FIELD_INTERSECTION;
  const int32_t n_choices = how == RF_FIELD_COMPLEMENT ? count_groups(fields[0]) : n;
  double count = 0.0;
  RF_ALLOC(choices, n_choices);
  for (int32_t i = 0; i < n && how != RF_FIELD_COMPLEMENT; ++i) {
    choices[i] = (choice){fields[i]->parts, fields[i]->n_parts, 0};
    count += fields[i]->n_parts;
  }
  for (int32_t i = 0, at = 0; i < n_choices && how == RF_FIELD_COMPLEMENT; ++i) {
    const int32_t size = group_size(fields[0], at);
    choices[i] = (choice){fields[0]->parts + at, size, 0};
    at += size;
  }
  if (how != RF_FIELD_UNION) count = choose(n_choices, choices, whole, NULL);
  if (!(count <= RF_FIELD_MAX_PARTS)) {
    st = rf_fail(err, RF_ERR_ARG,
                 "a field has 1 to %d parts, this one would have %.0f: intersections of unions "
                 "have as many as there are ways to choose one of each; sample some of them on a "
                 "grid",
                 (int)RF_FIELD_MAX_PARTS, count);
    goto done;
  }
  RF_ALLOC(parts, (size_t)count);
  if (how == RF_FIELD_UNION) {
    size_t at = 0;
    for (int32_t i = 0; i < n; ++i) {
      memcpy(parts + at, fields[i]->parts, (size_t)fields[i]->n_parts * sizeof *parts);
      at += (size_t)fields[i]->n_parts;
    }
  } else {
    choose(n_choices, choices, whole, parts);
  }
  for (size_t i = 0; i < (size_t)count; ++i) {
    if (how == RF_FIELD_COMPLEMENT) {
      parts[i].outside = !parts[i].outside;
      parts[i].offset = -parts[i].offset;
    }
    parts[i].offset += offset;
  }
  RF_TRY(rf_field_create((int32_t)count, parts, out, err));
done:
  rf_free(parts);
  rf_free(choices);
  return st;
}

// Returns the distance, m, by which the region below a value extends beyond the box of a grid.
static double reach_beside(const rf_field_part *p, double value) {
  if (p->shape != RF_SHAPE_GRID || p->outside) return 0.0;
  // outside the box values increase with the distance to it
  return fmax(value + p->offset - fmax(p->grid->boundary, 0.0), 0.0);
}

// Computes the bounding box of the region below a value in a part, m; false if it is empty.
static bool part_bounds(const rf_field_part *p, double value, double low[3], double high[3]) {
  const double by = value + p->offset, beside = reach_beside(p, value);
  for (int c = 0; c < 3; ++c) {
    switch (p->outside ? RF_SHAPE_PLANE : p->shape) {
      case RF_SHAPE_GRID:
        low[c] = p->grid->origin[c] - beside;
        high[c] = p->grid->corner[c] + beside;
        break;
      case RF_SHAPE_SPHERE:
        low[c] = p->a[c] - p->radius - by;
        high[c] = p->a[c] + p->radius + by;
        break;
      case RF_SHAPE_BOX:
        low[c] = p->a[c] - by;
        high[c] = p->b[c] + by;
        break;
      case RF_SHAPE_CAPSULE:
        low[c] = fmin(p->a[c], p->b[c]) - p->radius - by;
        high[c] = fmax(p->a[c], p->b[c]) + p->radius + by;
        break;
      case RF_SHAPE_PLANE:
      default:
        low[c] = -INFINITY;
        high[c] = INFINITY;
        break;
    }
    if (!(low[c] < high[c])) return false;
  }
  return true;
}

// The same for the group that begins at a part.
static bool group_bounds(const rf_field *f, int32_t first, double value, double low[3],
                         double high[3]) {
  const int32_t n = group_size(f, first);
  for (int c = 0; c < 3; ++c) low[c] = -INFINITY, high[c] = INFINITY;
  for (int32_t k = first; k < first + n; ++k) {
    double a[3], b[3];
    if (!part_bounds(&f->parts[k], value, a, b)) return false;
    for (int c = 0; c < 3; ++c) {
      low[c] = fmax(low[c], a[c]), high[c] = fmin(high[c], b[c]);
      if (!(low[c] < high[c])) return false;
    }
  }
  return true;
}

void rf_field_bounds(const rf_field *f, double value, double low[3], double high[3]) {
  for (int c = 0; c < 3; ++c) low[c] = INFINITY, high[c] = -INFINITY;
  for (int32_t k = 0; k < f->n_parts; k += group_size(f, k)) {
    double from[3], to[3];
    if (!group_bounds(f, k, value, from, to)) continue;
    for (int c = 0; c < 3; ++c) low[c] = fmin(low[c], from[c]), high[c] = fmax(high[c], to[c]);
  }
}

bool rf_field_leaves_box(const rf_field *f, double value) {
  for (int32_t k = 0, n; k < f->n_parts; k += n) {
    double low[3], high[3];
    n = group_size(f, k);
    if (!group_bounds(f, k, value, low, high)) continue;
    for (int32_t i = k; i < k + n; ++i) {
      if (!(reach_beside(&f->parts[i], value) > 0.0)) continue;
      const rf_grid *g = f->parts[i].grid;
      for (int c = 0; c < 3; ++c)
        if (low[c] < g->origin[c] || high[c] > g->corner[c]) return true;
    }
  }
  return false;
}

typedef struct evaluation {
  const rf_field *field;
  int64_t n;
  const double *points;
  double *distance, *gradient;
} evaluation;

enum { CHUNK = 16384 };  // points per task

static rf_status evaluate_chunk(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const evaluation *e = context;
  const int64_t from = task * CHUNK, left = e->n - from;
  const int32_t n = left < CHUNK ? (int32_t)left : CHUNK;
  const double *p = e->points + 3 * from;
  double *distance = e->distance + from, *gradient = e->gradient ? e->gradient + 3 * from : NULL;
  // a single point is not a block
  if (n == 1)
    *distance =
        gradient ? rf_field_gradient_rt(e->field, p, gradient) : rf_field_distance_rt(e->field, p);
  else if (gradient)
    rf_field_gradients_rt(e->field, n, p, distance, gradient);
  else
    rf_field_distances_rt(e->field, n, p, distance);
  return RF_OK;
}

rf_status rf_field_evaluate(const rf_field *f, int64_t n, const double *points, double *distance,
                            double *gradient, const rf_run *run, rf_error *err) {
  evaluation e = {f, n, points, distance, gradient};
  return rf_run_tasks(run, (n + CHUNK - 1) / CHUNK, 0, evaluate_chunk, &e, err);
}

// ---- samples ------------------------------------------------------------------------

typedef struct sampling {
  const rf_field *field;
  const int32_t *n;
  const double *origin, *spacing;
  float *values;
} sampling;

enum { ROW = 64 };  // points at once

static rf_status sample_plane(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const sampling *s = context;
  float *to = s->values + (size_t)task * (size_t)s->n[1] * (size_t)s->n[2];
  double p[3 * ROW], distance[ROW];
  for (int32_t j = 0; j < s->n[1]; ++j)
    for (int32_t from = 0; from < s->n[2]; from += ROW) {
      const int32_t count = s->n[2] - from < ROW ? s->n[2] - from : ROW;
      for (int32_t k = 0; k < count; ++k) {
        p[3 * k] = s->origin[0] + (double)task * s->spacing[0];
        p[3 * k + 1] = s->origin[1] + j * s->spacing[1];
        p[3 * k + 2] = s->origin[2] + (from + k) * s->spacing[2];
      }
      rf_field_distances_rt(s->field, count, p, distance);
      // values beyond float32 are rejected when the grid is sealed
      for (int32_t k = 0; k < count; ++k) *to++ = (float)distance[k];
    }
  return RF_OK;
}

rf_status rf_field_sample(const rf_field *f, const int32_t n[3], const double origin[3],
                          const double spacing[3], int report, const rf_run *run, float *values,
                          rf_error *err) {
  sampling all = {f, n, origin, spacing, values};
  return rf_run_tasks(run, n[0], report, sample_plane, &all, err);
}

rf_status rf_grid_from_field(const rf_field *f, const int32_t n[3], const double origin[3],
                             const double spacing[3], const rf_run *run, rf_grid **out,
                             rf_error *err) {
  rf_status st = RF_OK;
  rf_grid *g = NULL;
  bool distances = f->plain;
  *out = NULL;
  for (int32_t i = 0; i < f->n_parts; ++i)
    distances = distances && f->parts[i].shape != RF_SHAPE_GRID && f->parts[i].offset >= 0.0;
  RF_TRY(rf_grid_allocate(n, origin, spacing, &g, err));
  RF_TRY(rf_field_sample(f, n, origin, spacing, 1, run, g->values, err));
  RF_TRY(rf_grid_seal(g, distances ? 0.0 : INFINITY, run, err));
  *out = g;
  return RF_OK;
done:
  rf_grid_free(g);
  return st;
}
