#include "pointshell/level_set.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "linalg/vec3.h"

enum { NEWTON = 8, BISECTIONS = 60, CHUNK = 8192 };

// Intervals between the parts and the sides of the sampling grid.
enum { MARGIN = 2 };

// Bisects between x, where the field differs from the level by f, and y, on the other side.
static void bisect(const rf_level_set *t, double *x, double f, const double *y) {
  double a[3], b[3];
  memcpy(a, x, sizeof a);
  memcpy(b, y, sizeof b);
  for (int k = 0; k < BISECTIONS; ++k) {
    double g;
    for (int c = 0; c < 3; ++c) x[c] = 0.5 * (a[c] + b[c]);
    g = rf_field_distance_rt(t->field, x) - t->value;
    if (fabs(g) <= t->tolerance) return;
    memcpy((g > 0.0) == (f > 0.0) ? a : b, x, sizeof a);
  }
}

// State of a point moving to the level set.
typedef struct walk {
  double start[3], before[3], f_before;
  bool halved;
} walk;

typedef enum outcome { GOES_ON, SETTLED, LOST } outcome;

// Takes step k from x, where the field differs from the level by f and has gradient g.
static outcome advance(const rf_level_set *t, int k, double f, const double *g, double reach,
                       walk *w, double *x, double *normal) {
  const double square = rf_vec3_dot(g, g);
  if (k == 0) {
    memcpy(w->start, x, sizeof w->start);
    w->halved = false;
  }
  if (!(isfinite(f) && square > 1e-12)) return LOST;
  if (fabs(f) <= t->tolerance) {
    const double length = sqrt(square);
    double moved[3];
    for (int c = 0; c < 3; ++c) normal[c] = g[c] / length;
    rf_vec3_sub(x, w->start, moved);
    return rf_vec3_dot(moved, moved) <= reach * reach ? SETTLED : LOST;
  }
  if (w->halved) return LOST;
  // kinks of the field may cause oscillation: the level set lies between the two sides
  if (k > 2 && (f > 0.0) != (w->f_before > 0.0)) {
    bisect(t, x, f, w->before);
    w->halved = true;
    return GOES_ON;
  }
  memcpy(w->before, x, sizeof w->before);
  w->f_before = f;
  const double length = fabs(f) / sqrt(square);
  const double step = length > reach ? f / square * (reach / length) : f / square;
  for (int c = 0; c < 3; ++c) x[c] -= step * g[c];
  return GOES_ON;
}

bool rf_level_set_settle(const rf_level_set *t, double *x, double reach, double *normal) {
  walk w;
  outcome now = GOES_ON;
  for (int k = 0; k <= NEWTON && now == GOES_ON; ++k) {
    double g[3];
    const double f = rf_field_gradient_rt(t->field, x, g) - t->value;
    now = advance(t, k, f, g, reach, &w, x, normal);
  }
  return now == SETTLED;
}

void rf_level_set_settle_block(const rf_level_set *t, int32_t n, double *x, const double *reach,
                               double *normal, uint8_t *settled) {
  walk w[RF_LEVEL_SET_BLOCK];
  int32_t item[RF_LEVEL_SET_BLOCK];  // points still moving
  double at[3 * RF_LEVEL_SET_BLOCK], f[RF_LEVEL_SET_BLOCK], g[3 * RF_LEVEL_SET_BLOCK];
  for (int32_t i = 0; i < n; ++i) item[i] = i, settled[i] = 0;
  for (int k = 0; k <= NEWTON && n > 0; ++k) {
    for (int32_t j = 0; j < n; ++j) memcpy(at + 3 * j, x + 3 * item[j], 3 * sizeof *at);
    rf_field_gradients_rt(t->field, n, at, f, g);
    int32_t left = 0;
    for (int32_t j = 0; j < n; ++j) {
      const int32_t i = item[j];
      const outcome now =
          advance(t, k, f[j] - t->value, g + 3 * j, reach[i], &w[i], x + 3 * i, normal + 3 * i);
      settled[i] = now == SETTLED;
      item[left] = i;
      left += now == GOES_ON;
    }
    n = left;
  }
}

// ---- triangulation -------------------------------------------------------------------

static rf_status refuse_open(double value, rf_error *err) {
  return rf_fail(
      err, RF_ERR_ARG,
      "the level set %g of the field leaves its box, so it is not closed: make the field "
      "larger, or the level smaller",
      value);
}

rf_status rf_level_set_triangulate(const rf_field *field, double value, int32_t resolution,
                                   const rf_run *run, rf_isosurface *out, rf_error *err) {
  *out = (rf_isosurface){0};
  if (!isfinite(value))
    return rf_fail(err, RF_ERR_ARG, "level_set is %g; it must be finite", value);
  if (!(resolution >= 4 && resolution <= RF_LEVEL_SET_MAX_RESOLUTION))
    return rf_fail(err, RF_ERR_ARG, "resolution must be between 4 and %d, got %d",
                   (int)RF_LEVEL_SET_MAX_RESOLUTION, (int)resolution);
  rf_status st = RF_OK;
  float *values = NULL;
  rf_isosurface s = {0};
  const rf_field_part *lone = field->plain && field->n_parts == 1 ? &field->parts[0] : NULL;
  if (lone && lone->shape == RF_SHAPE_GRID) {
    const rf_grid *g = lone->grid;
    const double level = value + lone->offset;
    if (!(g->low < level && level <= g->high))
      return rf_fail(err, RF_ERR_ARG,
                     "level_set is %g, but the field goes from %g to %g m: there is no such "
                     "surface",
                     value, g->low - lone->offset, g->high - lone->offset);
    RF_TRY(rf_isosurface_create(g->n, g->origin, g->spacing, g->values, level, run, &s, err));
  } else {
    double low[3], high[3], origin[3], spacing[3], side = 0.0;
    rf_field_bounds(field, value, low, high);
    for (int c = 0; c < 3; ++c) side = fmax(side, high[c] - low[c]);
    if (!(side > 0.0))
      return rf_fail(err, RF_ERR_ARG, "level_set is %g, where the field has no surface", value);
    if (!isfinite(side))
      return rf_fail(err, RF_ERR_ARG,
                     "the object of the field is unbounded, as planes and complements are, so its "
                     "level set %g is not closed: take its intersection with a box",
                     value);
    if (rf_field_leaves_box(field, value)) return refuse_open(value, err);
    int32_t n[3];
    for (int c = 0; c < 3; ++c) {
      spacing[c] = side / resolution;
      n[c] = (int32_t)ceil((high[c] - low[c]) / spacing[c] - 1e-9) + 2 * MARGIN + 1;
      // centre the rounding of the extent
      origin[c] = 0.5 * (low[c] + high[c] - (n[c] - 1) * spacing[c]);
    }
    RF_ALLOC(values, (size_t)n[0] * (size_t)n[1] * (size_t)n[2]);
    RF_TRY(rf_field_sample(field, n, origin, spacing, 0, run, values, err));
    const size_t count = (size_t)n[0] * (size_t)n[1] * (size_t)n[2];
    size_t at = 0;
    while (at < count && !((double)values[at] < value)) ++at;
    if (at == count) {
      st = rf_fail(err, RF_ERR_ARG,
                   "the inside of the level set %g of the field is too thin to be found by samples "
                   "%.3g m apart: take a surface of it, or a DistanceField that is finer",
                   value, spacing[0]);
      goto done;
    }
    RF_TRY(rf_isosurface_create(n, origin, spacing, values, value, run, &s, err));
  }
  if (s.n_closing > 0) {
    st = refuse_open(value, err);
    goto done;
  }
  *out = s;
  s = (rf_isosurface){0};

done:
  rf_isosurface_free(&s);
  rf_free(values);
  return st;
}
