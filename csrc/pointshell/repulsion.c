#include "pointshell/repulsion.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "linalg/vec3.h"
#include "pointshell/cells.h"
#include "pointshell/level_set.h"
#include "pointshell/repel.h"

// Points per task; attempts to draw a point that reaches the level set.
enum { CHUNK = 2048, DRAWS = 50 };
// Rounds that cost as much as drawing the same number of points, for progress.
enum { INJECTION = 4 };

// Damping of the Newton step for the forces.
static const double RELAXATION = 0.7;
// Smallest step factor; longest step, and tolerance of the level set, in distances between
// neighbours.
static const float SMALLEST_SHARE = 0.01f;
static const double LONGEST = 0.25, TOLERANCE = 1e-9;

double rf_hexagonal_spacing(double area, double n) { return sqrt(2.0 * area / (sqrt(3.0) * n)); }

rf_status rf_repulsion_counts(int32_t points, int32_t levels, int32_t *counts, rf_error *err) {
  if (!(levels >= 1 && levels <= RF_SHELL_MAX_LEVELS))
    return rf_fail(err, RF_ERR_ARG, "levels must be between 1 and %d, got %d",
                   (int)RF_SHELL_MAX_LEVELS, (int)levels);
  if (!(points >= 1))
    return rf_fail(err, RF_ERR_ARG, "points must be 1 or more, got %d", (int)points);
  // n + 4 n + ... + 4^k n = (4^(k + 1) - 1) / 3 n
  const double all = ldexp(1.0, 2 * levels) - 1.0;
  for (int32_t k = 0; k < levels; ++k) {
    counts[k] = (int32_t)floor(points * ((ldexp(1.0, 2 * (k + 1)) - 1.0) / all) + 0.5);
    if (!(counts[k] > (k > 0 ? counts[k - 1] : 0)))
      return rf_fail(err, RF_ERR_ARG,
                     "%d points are too few for %d levels, each with four times as many as the "
                     "one before: take fewer levels, or at least %.0f points",
                     (int)points, (int)levels, all / 3.0);
  }
  counts[levels - 1] = points;
  return RF_OK;
}

// Computes the position of each triangle in the order of the tree.
static void invert(const rf_closest *c, int32_t *place) {
  for (int32_t at = 0; at < c->n_triangles; ++at) place[c->bvh.item[at]] = at;
}

// ---- surface that carries the points --------------------------------------------------

typedef struct ground {
  const rf_level_set *level_set;  // NULL: the surface
  const rf_closest *surface;
  const int32_t *place;  // position of each triangle in the tree
} ground;

// Projects y, one step from a point with normal n, to the surface; *at: triangle of the point.
static bool settle_on_surface(const ground *g, double *y, double reach, double tolerance,
                              const double *n, int32_t *at, double *normal) {
  rf_closest_place best, other;
  int32_t which;
  // most steps end on the same triangle, and no other needs to be searched
  rf_closest_of_triangle(g->surface, *at, y, &best);
  if (!(best.distance <= tolerance && best.feature == RF_FEATURE_FACE) &&
      rf_closest_find_facing(g->surface, y, fmin(best.distance, reach), n, RF_SAME_SIDE, &which,
                             &other)) {
    best = other;
    *at = which;
  }
  if (!(best.distance <= reach)) return false;
  // on the rim of a sheet without thickness there is no pseudonormal
  const double *m = best.normal;
  double length = rf_vec3_length(m);
  if (!(length > 1e-6)) {
    m = g->surface->triangle[*at].normal;
    length = rf_vec3_length(m);
    if (!(length > 0.0)) return false;
  }
  for (int c = 0; c < 3; ++c) {
    y[c] = best.place[c];
    normal[c] = m[c] / length;
  }
  return true;
}

// Projects a point drawn on a triangle to the level set or surface.
static bool settle_drawn(const ground *g, int32_t triangle, double *x, double reach, int32_t *at,
                         double *normal) {
  *at = -1;
  if (g->level_set) return rf_level_set_settle(g->level_set, x, reach, normal);
  *at = g->place[triangle];
  memcpy(normal, g->surface->triangle[*at].normal, 3 * sizeof *normal);
  return rf_vec3_dot(normal, normal) > 0.0;
}

// ---- drawing -------------------------------------------------------------------------

typedef struct drawing {
  const rf_sampler *sampler;
  const ground *ground;
  uint64_t seed;
  int32_t n;
  double reach;  // largest distance of the level set from the triangulation, m
  double *x, *normal;
  int32_t *at;
  int32_t *redrawn;  // per chunk
} drawing;

static rf_status draw_chunk(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker;
  const drawing *d = context;
  const int32_t from = (int32_t)task * CHUNK, to = d->n - from < CHUNK ? d->n : from + CHUNK;
  for (int32_t i = from; i < to; ++i) {
    bool found = false;
    for (int32_t attempt = 0; attempt < DRAWS && !found; ++attempt) {
      const uint64_t k = 2 * ((uint64_t)i + (uint64_t)attempt * (uint64_t)d->n);
      const double u = rf_uniform(d->seed, k), v = rf_uniform(d->seed, k + 1);
      // later attempts are drawn from a wider range, finally from the whole surface
      const double width = attempt == 0 ? 1.0 : ldexp(1.0, attempt);
      double along = ((double)i + 0.5 + width * (u - 0.5)) / (double)d->n;
      along -= floor(along);
      const int32_t triangle = rf_sampler_draw(d->sampler, along, v, d->x + 3 * (size_t)i);
      found = settle_drawn(d->ground, triangle, d->x + 3 * (size_t)i, d->reach, &d->at[i],
                           d->normal + 3 * (size_t)i);
      d->redrawn[task] += !found;
    }
    if (!found)
      return rf_fail(err, RF_ERR_NO_CONVERGENCE,
                     "points of a triangulation of the level set could not be moved onto it: the "
                     "field is too rough there");
  }
  return RF_OK;
}

// ---- repulsion -----------------------------------------------------------------------

typedef struct relaxation {
  const ground *ground;
  double tolerance;  // tolerance of positions, m
  const rf_cells *cells;
  int32_t frozen;   // number of points of earlier levels, which do not move
  double reach;     // R, m
  double longest;   // longest step, m
  const double *x;  // positions and normals of all points
  const double *normal;
  double *by_cell;     // rf_repel_points.point
  double *by_axis[3];  // rf_repel_points.at
  double *new_x, *new_normal;
  int32_t *at;    // triangle of each point
  float *share;   // step factor of each point
  double *moved;  // sums of squared displacements per chunk, m^2
} relaxation;

// Copies points to the order of the cells, as each is read by many neighbours.
static rf_status sort_chunk(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const relaxation *r = context;
  const rf_cells *c = r->cells;
  const int32_t from = (int32_t)task * CHUNK, to = c->n - from < CHUNK ? c->n : from + CHUNK;
  for (int32_t k = from; k < to; ++k) {
    double *point = r->by_cell + 8 * (size_t)k;
    memcpy(point, c->x + 3 * (size_t)k, 3 * sizeof *point);
    memcpy(point + 4, r->normal + 3 * (size_t)c->item[k], 3 * sizeof *point);
    for (int a = 0; a < 3; ++a) r->by_axis[a][k] = point[a];
  }
  return RF_OK;
}

enum { AHEAD = 8 };  // distance of prefetching, in points

// Prefetches a point: its data lie in the order of drawing, not of the cells.
static void ask_for(const relaxation *r, int32_t i) {
#if defined(__GNUC__)
  __builtin_prefetch(r->new_x + 3 * (size_t)i, 1);
  __builtin_prefetch(r->new_normal + 3 * (size_t)i, 1);
  __builtin_prefetch(r->share + i, 1);
  __builtin_prefetch(r->at + i, 1);
#else
  (void)r, (void)i;
#endif
}

// Prefetches the triangle of a point: no other data are near it in memory.
static void ask_for_triangle(const ground *g, int32_t at) {
#if defined(__GNUC__)
  if (g->level_set) return;
  const char *t = (const char *)&g->surface->triangle[at];
  for (size_t b = 0; b < sizeof *g->surface->triangle; b += 64) __builtin_prefetch(t + b);
#else
  (void)g, (void)at;
#endif
}

// Points with known steps, and the ends of these.
typedef struct steps {
  int32_t n;
  int32_t place[RF_LEVEL_SET_BLOCK];  // positions among the cells
  int32_t at[RF_LEVEL_SET_BLOCK];     // triangle
  uint8_t settled[RF_LEVEL_SET_BLOCK];
  double force[3 * RF_LEVEL_SET_BLOCK], scale[RF_LEVEL_SET_BLOCK];  // step = force times scale
  double length[RF_LEVEL_SET_BLOCK];                                // length of the step, m
  double x[3 * RF_LEVEL_SET_BLOCK], normal[3 * RF_LEVEL_SET_BLOCK];
} steps;

// Sets the start of step j.
static void begin_step(const relaxation *r, steps *s, int32_t j) {
  const double *x = r->by_cell + 8 * (size_t)s->place[j];
  for (int a = 0; a < 3; ++a) s->x[3 * j + a] = x[a] + s->scale[j] * s->force[3 * j + a];
  s->at[j] = r->at[r->cells->item[s->place[j]]];
}

static void settle_step(const relaxation *r, steps *s, int32_t j) {
  const double *n = r->by_cell + 8 * (size_t)s->place[j] + 4;
  double *x = s->x + 3 * j, *normal = s->normal + 3 * j;
  s->settled[j] =
      r->ground->level_set
          ? rf_level_set_settle(r->ground->level_set, x, s->length[j], normal)
          : settle_on_surface(r->ground, x, s->length[j], r->tolerance, n, &s->at[j], normal);
}

// Takes the steps.  Returns the sum of their squares.
static double take_steps(const relaxation *r, steps *s) {
  double sum = 0.0;
  for (int32_t j = 0; j < s->n; ++j) begin_step(r, s, j);
  if (r->ground->level_set)
    rf_level_set_settle_block(r->ground->level_set, s->n, s->x, s->length, s->normal, s->settled);
  else
    for (int32_t j = 0; j < s->n; ++j) settle_step(r, s, j);
  for (int32_t j = 0; j < s->n; ++j) {
    const double *x = r->by_cell + 8 * (size_t)s->place[j], *n = x + 4;
    const int32_t i = r->cells->item[s->place[j]];
    bool good = s->settled[j] && rf_vec3_dot(s->normal + 3 * j, n) > RF_SAME_SIDE;
    // shorten the step where the surface is too far from its tangent plane
    for (int attempt = 1; attempt < 3 && !good; ++attempt) {
      s->length[j] *= 0.5;
      s->scale[j] *= 0.5;
      begin_step(r, s, j);
      settle_step(r, s, j);
      good = s->settled[j] && rf_vec3_dot(s->normal + 3 * j, n) > RF_SAME_SIDE;
    }
    if (!good) continue;
    r->at[i] = s->at[j];
    memcpy(r->new_x + 3 * (size_t)i, s->x + 3 * j, 3 * sizeof *s->x);
    memcpy(r->new_normal + 3 * (size_t)i, s->normal + 3 * j, 3 * sizeof *s->x);
    double d[3];
    rf_vec3_sub(s->x + 3 * j, x, d);
    sum += rf_vec3_dot(d, d);
  }
  s->n = 0;
  return sum;
}

static rf_status relax_chunk(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const relaxation *r = context;
  const rf_cells *c = r->cells;
  const int32_t from = (int32_t)task * CHUNK, to = c->n - from < CHUNK ? c->n : from + CHUNK;
  rf_repel_fn *const repel = rf_repel_best();
  rf_repel_points points = {.reach = r->reach,
                            .at = {r->by_axis[0], r->by_axis[1], r->by_axis[2]},
                            .point = r->by_cell,
                            .item = c->item};
  steps s = {.n = 0};
  int32_t cell = -1;
  double sum = 0.0;
  for (int32_t k = from; k < to; ++k) {
    const int32_t i = c->item[k];
    if (i < r->frozen) continue;
    if (c->of[i] != cell) {
      cell = c->of[i];
      points.n_runs = rf_cells_around(c, cell, points.run);
    }
    const double *x = r->by_cell + 8 * (size_t)k, *n = x + 4;
    double *to_x = r->new_x + 3 * (size_t)i, *to_n = r->new_normal + 3 * (size_t)i;
    double step[3];
    if (k + AHEAD < to) ask_for(r, c->item[k + AHEAD]);
    ask_for_triangle(r->ground, r->at[i]);
    const double stiffness = repel(&points, k, step);
    const double out = rf_vec3_dot(step, n);
    for (int a = 0; a < 3; ++a) step[a] -= out * n[a];
    const double force = rf_vec3_length(step);
    // oscillating points, as on sharp edges, take smaller steps
    double last[3];
    rf_vec3_sub(x, to_x, last);
    const float share = r->share[i];
    const bool back = rf_vec3_dot(step, last) < 0.0;
    r->share[i] = back ? fmaxf(0.5f * share, SMALLEST_SHARE) : fminf(1.2f * share, 1.0f);
    memcpy(to_x, x, 3 * sizeof *x);
    memcpy(to_n, n, 3 * sizeof *n);
    if (!(force > 0.0)) continue;
    double length = stiffness > 0.0 ? RELAXATION * force / stiffness : r->longest;
    if (!(length < r->longest)) length = r->longest;
    s.place[s.n] = k;
    s.length[s.n] = length * (double)r->share[i];
    s.scale[s.n] = s.length[s.n] / force;
    memcpy(s.force + 3 * s.n, step, sizeof step);
    if (++s.n == RF_LEVEL_SET_BLOCK) sum += take_steps(r, &s);
  }
  sum += take_steps(r, &s);
  r->moved[task] = sum;
  return RF_OK;
}

// ---- levels --------------------------------------------------------------------------

typedef struct shell {
  double *x, *normal, *new_x, *new_normal, *by_cell, *by_axis;
  float *share;
  double *moved;
  int32_t *at, *new_at;
  int32_t *redrawn;
  uint8_t *gone;
  rf_cells cells;
} shell;

// Draws candidates for `n` points and keeps those that are not nearest to earlier points.
static rf_status inject(const rf_sampler *sampler, const ground *g, uint64_t seed, int32_t earlier,
                        int32_t n, double spacing, double reach, shell *s, const rf_run *run,
                        int32_t *redrawn, rf_error *err) {
  rf_run_part halves[2] = {{run, 0, 1, 2}, {run, 1, 2, 2}};
  const rf_run first = rf_run_of_part(&halves[0]), second = rf_run_of_part(&halves[1]);
  const int32_t chunks = (n - 1) / CHUNK + 1;
  memset(s->redrawn, 0, (size_t)chunks * sizeof *s->redrawn);
  drawing d = {sampler, g, seed, n, reach, s->new_x, s->new_normal, s->new_at, s->redrawn};
  rf_status st = rf_run_tasks(&first, chunks, 1, draw_chunk, &d, err);
  if (st < 0) return st;
  for (int32_t k = 0; k < chunks; ++k) *redrawn += s->redrawn[k];

  memset(s->gone, 0, (size_t)n);
  if (earlier > 0) rf_cells_fill(&s->cells, n, s->new_x, spacing);
  for (int32_t i = 0; i < earlier; ++i) {
    const rf_cells_filter filter = {-1, s->gone, NULL, NULL};
    double distance;
    if (i % CHUNK == 0) {
      st = rf_run_progress(&second, i, earlier, err);
      if (st < 0) return st;
    }
    s->gone[rf_cells_nearest(&s->cells, s->x + 3 * (size_t)i, &filter, spacing, &distance)] = 1;
  }
  int32_t to = earlier;
  for (int32_t i = 0; i < n; ++i) {
    if (s->gone[i]) continue;
    memcpy(s->x + 3 * (size_t)to, s->new_x + 3 * (size_t)i, 3 * sizeof *s->x);
    memcpy(s->normal + 3 * (size_t)to, s->new_normal + 3 * (size_t)i, 3 * sizeof *s->x);
    s->at[to] = s->new_at[i];
    ++to;
  }
  return RF_OK;
}

rf_status rf_repulsion(const rf_field *field, const rf_sampler *sampler,
                       const rf_repulsion_settings *set, const rf_run *run, double *points,
                       double *normals, rf_repulsion_report *report, rf_error *err) {
  int32_t counts[RF_SHELL_MAX_LEVELS];
  rf_status st = rf_repulsion_counts(set->points, set->levels, counts, err);
  if (st < 0) return st;
  if (!isfinite(set->level_set))
    return rf_fail(err, RF_ERR_ARG, "level_set is %g; it must be finite", set->level_set);
  if (!(set->rounds >= 1 && set->still >= 0.0))
    return rf_fail(err, RF_ERR_ARG, "rounds is %d and still %g; 1 and 0 or more are allowed",
                   (int)set->rounds, set->still);
  *report = (rf_repulsion_report){0};
  const size_t n = (size_t)set->points;
  shell s = {0};
  rf_closest *surface = NULL;
  int32_t *place = NULL;
  RF_ALLOC(s.x, 3 * n);
  RF_ALLOC(s.normal, 3 * n);
  RF_ALLOC(s.new_x, 3 * n);
  RF_ALLOC(s.new_normal, 3 * n);
  RF_ALLOC(s.by_cell, 8 * n);
  RF_ALLOC(s.by_axis, 3 * (n + 4));
  RF_ALLOC(s.share, n);
  RF_ALLOC(s.at, n);
  RF_ALLOC(s.new_at, n);
  RF_ALLOC(s.moved, n / CHUNK + 1);
  RF_ALLOC(s.redrawn, n / CHUNK + 1);
  RF_ALLOC(s.gone, n);
  RF_TRY(rf_cells_allocate(set->points, &s.cells, err));

  if (!field) {
    RF_ALLOC(place, sampler->surface->n_triangles);
    RF_TRY(rf_closest_create(sampler->surface, run, &surface, err));
    invert(surface, place);
  }

  int64_t total = 0, done = 0;
  for (int32_t level = 0; level < set->levels; ++level)
    total += (int64_t)counts[level] * (INJECTION + set->rounds);
  // rounding error of positions far from the origin
  double low[3], high[3], rounding = 0.0;
  rf_surface_bounds(sampler->surface, low, high);
  for (int c = 0; c < 3; ++c) rounding = fmax(rounding, fmax(fabs(low[c]), fabs(high[c])));
  rounding *= 0x1p-49;
  // the level set is nearer to each triangle than the longest triangle is long
  const double reach = sampler->longest;

  for (int32_t level = 0; level < set->levels; ++level) {
    const int32_t now = counts[level], earlier = level > 0 ? counts[level - 1] : 0;
    const double spacing = rf_hexagonal_spacing(sampler->area, now);
    const rf_level_set t = {field, set->level_set, TOLERANCE * spacing + rounding};
    const ground g = {field ? &t : NULL, surface, place};
    rf_run_part part = {run, done, done + (int64_t)now * INJECTION, total};
    const rf_run injection = rf_run_of_part(&part);
    RF_TRY(inject(sampler, &g, rf_seed(set->seed, (uint64_t)level), earlier, now, spacing, reach,
                  &s, &injection, &report->redrawn, err));
    done += (int64_t)now * INJECTION;
    memcpy(s.new_x, s.x, 3 * (size_t)now * sizeof *s.x);
    memcpy(s.new_normal, s.normal, 3 * (size_t)now * sizeof *s.x);
    for (int32_t i = 0; i < now; ++i) s.share[i] = 1.0f;
    int32_t round = 0;
    while (round < set->rounds) {
      rf_cells_fill(&s.cells, now, s.x, RF_REPULSION_REACH * spacing);
      relaxation r = {&g,
                      t.tolerance,
                      &s.cells,
                      earlier,
                      RF_REPULSION_REACH * spacing,
                      LONGEST * spacing,
                      s.x,
                      s.normal,
                      s.by_cell,
                      {s.by_axis, s.by_axis + (n + 4), s.by_axis + 2 * (n + 4)},
                      s.new_x,
                      s.new_normal,
                      s.at,
                      s.share,
                      s.moved};
      const int32_t chunks = (now - 1) / CHUNK + 1;
      RF_TRY(rf_run_tasks(run, chunks, 0, sort_chunk, &r, err));
      RF_TRY(rf_run_tasks(run, chunks, 0, relax_chunk, &r, err));
      double *swap = s.x;
      s.x = s.new_x, s.new_x = swap;
      swap = s.normal;
      s.normal = s.new_normal, s.new_normal = swap;
      ++round;
      double square = 0.0;
      for (int32_t k = 0; k < chunks; ++k) square += s.moved[k];
      report->rounds[level] = round;
      report->motion[level] = sqrt(square / (double)(now - earlier)) / spacing;
      RF_TRY(rf_run_progress(run, done + (int64_t)now * round, total, err));
      if (!(report->motion[level] > set->still)) break;
    }
    done += (int64_t)now * set->rounds;
    RF_TRY(rf_run_progress(run, done, total, err));
  }
  memcpy(points, s.x, 3 * n * sizeof *points);
  for (size_t i = 0; i < 3 * n; ++i) normals[i] = -s.normal[i];

done:
  rf_free(s.x);
  rf_free(s.normal);
  rf_free(s.new_x);
  rf_free(s.new_normal);
  rf_free(s.by_cell);
  rf_free(s.by_axis);
  rf_free(s.share);
  rf_free(s.at);
  rf_free(s.new_at);
  rf_free(s.moved);
  rf_free(s.redrawn);
  rf_free(s.gone);
  rf_cells_free(&s.cells);
  rf_closest_free(surface);
  rf_free(place);
  return st;
}
