#include "sdf/field.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "linalg/vec3.h"

// ---- fields -----------------------------------------------------------------------

static rf_status check_part(int32_t index, const rf_field_part *p, rf_error *err) {
  if (!isfinite(p->offset))
    return rf_fail(err, RF_ERR_ARG, "offset must be finite, got %g", p->offset);
  if (index == 0 && p->joined)
    return rf_fail(err, RF_ERR_INTERNAL, "the first part is joined to none");
  if (p->shape != RF_SHAPE_GRID) return rf_field_shape_check(p, err);
  if (!p->grid) return rf_fail(err, RF_ERR_INTERNAL, "part %d has no grid", (int)index);
  return RF_OK;
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
      f->bend = fmax(f->bend, rf_grid_half_diagonal(g));
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
      const double steep = p->outside ? rf_grid_gradient_within(p->grid, -to, -p->offset)
                                      : rf_grid_gradient_within(p->grid, p->offset, to);
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
  double by = value + p->offset;
  for (int c = 0; c < 3; ++c) low[c] = -INFINITY, high[c] = INFINITY;
  if (p->outside) return true;
  if (p->shape == RF_SHAPE_GRID) {
    by = reach_beside(p, value);
    memcpy(low, p->grid->origin, 3 * sizeof *low);
    memcpy(high, p->grid->corner, 3 * sizeof *high);
  } else {
    rf_field_shape_bounds(p, low, high);
  }
  for (int c = 0; c < 3; ++c) {
    low[c] -= by;
    high[c] += by;
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

double rf_field_part_depth(const rf_field_part *p) {
  if (p->outside) return INFINITY;
  return (p->shape == RF_SHAPE_GRID ? -p->grid->low : rf_field_shape_depth(p)) + p->offset;
}
