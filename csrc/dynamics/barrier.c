#include "dynamics/barrier.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"

#define SETTING(name, field, kind) RF_SETTING(rf_barrier_settings, name, field, kind, 0)
const rf_setting rf_barrier_settings_table[] = {
    SETTING("distance", distance_m, DOUBLE), SETTING("stiffness", stiffness, DOUBLE),
    SETTING("friction", friction, DOUBLE),   SETTING("slip", slip_m_s, DOUBLE),
    SETTING("lagged", lagged, BOOL),         {0}};

static rf_status check(const rf_barrier_settings *set, rf_error *err) {
  const struct {
    const char *name;
    double value;
    bool zero;
  } all[] = {{"distance", set->distance_m, false},
             {"stiffness", set->stiffness, false},
             {"friction", set->friction, true},
             {"slip", set->slip_m_s, false}};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
    if (!(isfinite(all[i].value) && (all[i].zero ? all[i].value >= 0.0 : all[i].value > 0.0)))
      return rf_fail(err, RF_ERR_ARG, "%s must be finite and %s, got %g", all[i].name,
                     all[i].zero ? "at least 0" : "positive", all[i].value);
  return RF_OK;
}

// Reads what is known of a field.
static rf_status set_obstacle(const rf_field *field, int32_t k, double distance,
                              rf_barrier_obstacle *out, rf_error *err) {
  static const double anywhere[3] = {0.0, 0.0, 0.0};
  out->field = field;
  out->plane = field->n_parts == 1 && rf_field_shape_is_flat(field->parts);
  out->curved = !out->plane;
  for (int32_t i = 0; i < field->n_parts; ++i)
    if (field->parts[i].shape == RF_SHAPE_GRID) out->curved = false;
  if (out->plane) (void)rf_field_gradient_rt(field, anywhere, out->normal);
  if (field->cap > distance) return RF_OK;
  return rf_fail(err, RF_ERR_ARG,
                 "obstacle[%d]: the box of its grid is only %g m from its object, but distance is "
                 "%g m, and values drop at the sides of the box; give the field a larger box "
                 "(`expand` of DistanceField.from_surface), or a smaller distance",
                 k, field->cap, distance);
}

// Computes the rows of the points that touch.
static rf_status take_basis(rf_barrier *b, int32_t n, const double *basis, rf_error *err) {
  rf_status st = RF_OK;
  double *rows = NULL;
  RF_ALLOC(rows, 3 * (int64_t)b->points.n * n);
  for (int64_t i = 0; i < 3 * (int64_t)b->points.n; ++i)
    for (int64_t j = 0; j < n; ++j)
      rows[i * n + j] = rf_barrier_value_rt(b, i, basis + 3 * j * b->n_all);
  b->n_coordinates = n;
  b->basis = rows;
done:
  return st;
}

// Copies the points that touch; rest: of all nodes.
static rf_status take_points(rf_barrier *b, const rf_barrier_points *from, const double *rest,
                             rf_error *err) {
  rf_status st = RF_OK;
  rf_system_points *to = &b->points;
  to->n = from->n;
  to->corners = from->weight ? from->corners : 1;
  if (to->corners < 1 || to->corners > INT32_MAX / 3 / (to->n > 0 ? to->n : 1))
    return rf_fail(err, RF_ERR_ARG, "contact has %d points of %d nodes each: out of range", to->n,
                   to->corners);
  const int64_t entries = (int64_t)to->n * to->corners;
  RF_ALLOC(to->node, entries);
  RF_ALLOC(to->weight, entries);
  RF_ALLOC(b->name, to->n);
  RF_ALLOC(b->rest, 3 * (int64_t)to->n);
  for (int32_t k = 0; k < to->n; ++k) {
    const int32_t name = b->name[k] = from->name[k];
    if (name < 0 || (!from->weight && name >= b->n_all) || (k > 0 && name <= from->name[k - 1]))
      return rf_fail(err, RF_ERR_ARG, "nodes[%d] is %d: nodes must ascend from 0 to %d", k, name,
                     b->n_all - 1);
    memcpy(b->rest + 3 * (int64_t)k,
           from->weight ? from->rest + 3 * (int64_t)k : rest + 3 * (int64_t)name, 3 * sizeof *rest);
  }
  for (int64_t a = 0; a < entries; ++a) {
    to->node[a] = from->weight ? from->node[a] : from->name[a];
    to->weight[a] = from->weight ? from->weight[a] : 1.0;
    if (to->node[a] < 0 || to->node[a] >= b->n_all)
      return rf_fail(err, RF_ERR_ARG, "point %d moves with node %d: there are %d",
                     (int)(a / to->corners), to->node[a], b->n_all);
  }
done:
  return st;
}

static rf_status check_sides(int32_t n_obstacles, int32_t n_points, const double *basis,
                             const rf_barrier_parts *parts, rf_error *err) {
  if (n_obstacles < 0 || n_points < 0 || (!parts && (n_obstacles < 1 || n_points < 1)))
    return rf_fail(err, RF_ERR_ARG, "contact has %d obstacles and %d points: it needs one of each",
                   n_obstacles, n_points);
  if (parts && basis)
    return rf_fail(
        err, RF_ERR_ARG,
        "parts or self_contact is True, but the system is a reduced model, whose coordinates move "
        "all parts at once: use the Solid");
  return RF_OK;
}

rf_status rf_barrier_create(const rf_barrier_settings *set, int32_t n_obstacles,
                            const rf_field *const *fields, int32_t n_all, const double *rest,
                            const rf_barrier_points *points, int32_t n_coordinates,
                            const double *basis, rf_barrier_parts *parts, rf_barrier **out,
                            rf_error *err) {
  rf_status st = RF_OK;
  rf_barrier *b = NULL;
  *out = NULL;
  RF_ALLOC(b, 1);
  b->parts = parts;
  parts = NULL;
  RF_TRY(check(set, err));
  RF_TRY(check_sides(n_obstacles, points->n, basis, b->parts, err));
  b->set = *set;
  b->n_all = n_all;
  b->n_obstacles = n_obstacles;
  RF_TRY(take_points(b, points, rest, err));
  RF_ALLOC(b->obstacle, n_obstacles);
  for (int32_t k = 0; k < n_obstacles; ++k)
    RF_TRY(set_obstacle(fields[k], k, set->distance_m, b->obstacle + k, err));
  if (basis) RF_TRY(take_basis(b, n_coordinates, basis, err));
  *out = b;
  b = NULL;
done:
  if (parts) parts->operations->release(parts);
  rf_barrier_free(b);
  return st;
}

void rf_barrier_free(rf_barrier *b) {
  if (!b) return;
  if (b->parts) b->parts->operations->release(b->parts);
  rf_free(b->points.node);
  rf_free(b->points.weight);
  rf_free(b->name);
  rf_free(b->rest);
  rf_free(b->obstacle);
  rf_free(b->basis);
  rf_free(b);
}

static void layout(const rf_barrier *b, size_t ld, rf_barrier_work *w, rf_arena *a) {
  const size_t points = (size_t)b->points.n;
  w->pair = rf_arena_take(a, (size_t)rf_barrier_pairs(b), sizeof *w->pair);
  w->place = rf_arena_take(a, 3 * points, sizeof *w->place);
  w->velocity = rf_arena_take(a, 3 * points, sizeof *w->velocity);
  w->local = rf_arena_take(a, 3 * points, sizeof *w->local);
  w->added = rf_arena_take(a, (size_t)b->n_coordinates * ld, sizeof *w->added);
  w->blocks = rf_arena_take(a, 9 * points, sizeof *w->blocks);
  w->turning = rf_arena_take(a, 9 * points, sizeof *w->turning);
  w->krylov = b->set.lagged ? NULL : rf_arena_take(a, (RF_BARRIER_KRYLOV + 1) * ld, sizeof(double));
}

rf_status rf_barrier_work_create(const rf_barrier *barrier, int64_t ld, rf_barrier_work **out,
                                 rf_error *err) {
  const size_t head = (sizeof **out + 63) / 64 * 64;
  rf_barrier_work sizes = {0}, *w;
  rf_arena count = {0};
  layout(barrier, (size_t)ld, &sizes, &count);
  *out = w = count.used < SIZE_MAX - head ? rf_alloc(head + count.used, 1) : NULL;
  if (!w)
    return rf_fail(err, RF_ERR_MEMORY, "out of memory: contact of %lld pairs",
                   (long long)rf_barrier_pairs(barrier));
  rf_arena carve = {.base = (char *)w + head};
  layout(barrier, (size_t)ld, w, &carve);
  w->barrier = barrier;
  const rf_barrier_parts *parts = barrier->parts;
  const rf_status st =
      parts ? parts->operations->create_touch(parts, &barrier->set, &w->touch, err) : RF_OK;
  if (st >= 0) return st;
  rf_free(w);
  *out = NULL;
  return st;
}

void rf_barrier_work_free(rf_barrier_work *work) {
  if (!work) return;
  if (work->touch) work->touch->parts->operations->release_touch(work->touch);
  rf_free(work);
}

// Says which point is deepest in an obstacle, and how to move or leave it out.
static rf_status refuse_start(const rf_barrier *b, int32_t k, const double *p, double distance,
                              int32_t obstacle, rf_error *err) {
  const rf_system_points *of = &b->points;
  const bool own = of->corners == 1;
  int64_t most = (int64_t)k * of->corners;
  for (int64_t a = most; a < (k + (int64_t)1) * of->corners; ++a)
    if (of->weight[a] > of->weight[most]) most = a;
  char leave[64] = "the node";
  if (!own) (void)snprintf(leave, sizeof leave, "its nearest node %d", of->node[most]);
  return rf_fail(err, RF_ERR_ARG,
                 "contact: %s %d%s at (%g, %g, %g) is at the distance %g m of obstacle %d: a "
                 "barrier needs all %s outside; move the body or the obstacle, or leave %s out of "
                 "`nodes`",
                 own ? "node" : "vertex", b->name[k], own ? "" : " of the surface", p[0], p[1],
                 p[2], distance, obstacle, own ? "nodes" : "vertices", leave);
}

rf_status rf_barrier_require_apart(const rf_barrier *b, const double *x, rf_error *err) {
  double least = INFINITY, place[3] = {0};
  int32_t point = -1, obstacle = 0;
  for (int32_t o = 0; o < b->n_obstacles; ++o)
    for (int32_t k = 0; k < b->points.n; ++k) {
      double p[3];
      for (int64_t c = 0, i = 3 * (int64_t)k; c < 3; ++c)
        p[c] = b->rest[i + c] + (x ? rf_barrier_value_rt(b, i + c, x) : 0.0);
      const double d = rf_field_distance_rt(b->obstacle[o].field, p);
      if (d > least || (point >= 0 && d == least)) continue;
      least = d;
      point = k;
      obstacle = o;
      memcpy(place, p, sizeof place);
    }
  if (least > 0.0) return b->parts ? b->parts->operations->require_apart(b->parts, x, err) : RF_OK;
  return refuse_start(b, point, place, least, obstacle, err);
}
