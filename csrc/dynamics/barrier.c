#include "dynamics/barrier.h"

#include <math.h>
#include <stdint.h>
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

// Copies the rows of the nodes that touch.
static rf_status take_basis(rf_barrier *b, int32_t n, const double *basis, rf_error *err) {
  rf_status st = RF_OK;
  RF_ALLOC(b->basis, 3 * (int64_t)b->n_nodes * n);
  b->n_coordinates = n;
  for (int64_t k = 0; k < b->n_nodes; ++k)
    for (int64_t c = 0; c < 3; ++c)
      for (int64_t j = 0; j < n; ++j)
        b->basis[(3 * k + c) * n + j] = basis[3 * (j * b->n_all + b->node[k]) + c];
done:
  return st;
}

static rf_status check_sides(int32_t n_obstacles, int32_t n_nodes, const double *basis,
                             const rf_barrier_parts *parts, rf_error *err) {
  if (n_obstacles < 0 || n_nodes < 0 || (!parts && (n_obstacles < 1 || n_nodes < 1)))
    return rf_fail(err, RF_ERR_ARG, "contact has %d obstacles and %d nodes: it needs one of each",
                   n_obstacles, n_nodes);
  if (parts && basis)
    return rf_fail(err, RF_ERR_ARG,
                   "parts is True, but the contact is for a reduced model, whose coordinates move "
                   "all parts at once: use the Solid");
  return RF_OK;
}

rf_status rf_barrier_create(const rf_barrier_settings *set, int32_t n_obstacles,
                            const rf_field *const *fields, int32_t n_all, const double *rest,
                            int32_t n_nodes, const int32_t *node, int32_t n_coordinates,
                            const double *basis, rf_barrier_parts *parts, rf_barrier **out,
                            rf_error *err) {
  rf_status st = RF_OK;
  rf_barrier *b = NULL;
  *out = NULL;
  RF_ALLOC(b, 1);
  b->parts = parts;
  parts = NULL;
  RF_TRY(check(set, err));
  RF_TRY(check_sides(n_obstacles, n_nodes, basis, b->parts, err));
  b->set = *set;
  b->n_all = n_all;
  b->n_nodes = n_nodes;
  b->n_obstacles = n_obstacles;
  RF_ALLOC(b->node, n_nodes);
  RF_ALLOC(b->rest, 3 * (int64_t)n_nodes);
  RF_ALLOC(b->obstacle, n_obstacles);
  for (int32_t k = 0; k < n_nodes; ++k) {
    if (node[k] < 0 || node[k] >= n_all || (k > 0 && node[k] <= node[k - 1])) {
      st = rf_fail(err, RF_ERR_ARG, "nodes[%d] is %d: nodes must ascend from 0 to %d", k, node[k],
                   n_all - 1);
      goto done;
    }
    b->node[k] = node[k];
    memcpy(b->rest + 3 * (int64_t)k, rest + 3 * (int64_t)node[k], 3 * sizeof *rest);
  }
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
  rf_free(b->node);
  rf_free(b->rest);
  rf_free(b->obstacle);
  rf_free(b->basis);
  rf_free(b);
}

static void layout(const rf_barrier *b, size_t ld, rf_barrier_work *w, rf_arena *a) {
  const size_t nodes = (size_t)b->n_nodes;
  w->pair = rf_arena_take(a, (size_t)rf_barrier_pairs(b), sizeof *w->pair);
  w->place = rf_arena_take(a, 3 * nodes, sizeof *w->place);
  w->velocity = rf_arena_take(a, 3 * nodes, sizeof *w->velocity);
  w->nodal = rf_arena_take(a, 3 * nodes, sizeof *w->nodal);
  w->added = rf_arena_take(a, (size_t)b->n_coordinates * ld, sizeof *w->added);
  w->blocks = rf_arena_take(a, 9 * nodes, sizeof *w->blocks);
  w->turning = rf_arena_take(a, 9 * nodes, sizeof *w->turning);
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

// Returns a coordinate of the displacement of a node that touches.
static double displacement_of(const rf_barrier *b, int32_t k, int c, const double *x) {
  double sum = 0.0;
  if (!x) return sum;
  if (!b->basis) return x[3 * (int64_t)b->node[k] + c];
  const double *row = b->basis + (3 * (int64_t)k + c) * b->n_coordinates;
  for (int32_t j = 0; j < b->n_coordinates; ++j) sum += row[j] * x[j];
  return sum;
}

rf_status rf_barrier_require_apart(const rf_barrier *b, const double *x, rf_error *err) {
  double least = INFINITY, place[3] = {0};
  int32_t node = -1, obstacle = 0;
  for (int32_t o = 0; o < b->n_obstacles; ++o)
    for (int32_t k = 0; k < b->n_nodes; ++k) {
      double p[3];
      for (int c = 0; c < 3; ++c) p[c] = b->rest[3 * (int64_t)k + c] + displacement_of(b, k, c, x);
      const double d = rf_field_distance_rt(b->obstacle[o].field, p);
      if (d > least || (node >= 0 && d == least)) continue;
      least = d;
      node = b->node[k];
      obstacle = o;
      memcpy(place, p, sizeof place);
    }
  if (least > 0.0) return b->parts ? b->parts->operations->require_apart(b->parts, x, err) : RF_OK;
  return rf_fail(
      err, RF_ERR_ARG,
      "contact: node %d at (%g, %g, %g) is at the distance %g m of obstacle %d: a barrier "
      "needs all nodes outside; move the body or the obstacle, or leave "
      "the node out of `nodes`",
      node, place[0], place[1], place[2], least, obstacle);
}
