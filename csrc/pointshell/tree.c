#include "pointshell/tree.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "linalg/vec3.h"
#include "mesh/bvh.h"

enum { ITEMS_PER_TASK = 1024 };

static int64_t tasks_for(int64_t count) { return (count + ITEMS_PER_TASK - 1) / ITEMS_PER_TASK; }

static int32_t padded(int32_t n) { return (n + 7) / 8 * 8; }

void rf_point_tree_free(rf_point_tree *t) {
  if (!t) return;
  rf_free(t->count);
  rf_free(t->node);
  rf_free(t->point);
  rf_free(t->place);
  rf_free(t->parent);
  rf_free(t->child);
  rf_free(t->rest);
  rf_free(t->normal);
  rf_free(t->motion);
  rf_free(t->tilt);
  rf_free(t->bounds);
  rf_free(t->motion_most);
  rf_free(t->growth_most);
  rf_free(t);
}

static rf_status check(int32_t n, const double *points, const double *normals,
                       const int32_t *levels, int32_t r, rf_error *err) {
  if (!(n >= 1))
    return rf_fail(err, RF_ERR_ARG, "a point tree needs at least one point, got %d", n);
  if (!(r >= 0)) return rf_fail(err, RF_ERR_ARG, "r must be 0 or more, got %d", r);
  for (int32_t p = 0; p < n; ++p) {
    const double *x = points + 3 * (size_t)p, *m = normals + 3 * (size_t)p;
    for (int i = 0; i < 3; ++i)
      if (!(fabs(x[i]) < RF_TREE_FARTHEST))
        return rf_fail(err, RF_ERR_ARG, "points[%d] is (%g, %g, %g), too far from the origin", p,
                       x[0], x[1], x[2]);
    if (!(fabs(rf_vec3_dot(m, m) - 1.0) < 1e-5))
      return rf_fail(err, RF_ERR_ARG, "normals[%d] is (%g, %g, %g); it must be a unit vector", p,
                     m[0], m[1], m[2]);
    const int32_t before = p > 0 ? levels[p - 1] : 0;
    if (!(levels[p] == before || (p > 0 && levels[p] == before + 1)))
      return rf_fail(err, RF_ERR_ARG,
                     "levels[%d] is %d after %d; levels ascend from 0, each with one point or more",
                     p, levels[p], before);
    if (!(levels[p] < RF_TREE_MAX_LEVELS))
      return rf_fail(err, RF_ERR_ARG, "levels[%d] is %d; there are %d levels at most", p, levels[p],
                     RF_TREE_MAX_LEVELS);
  }
  return RF_OK;
}

// ---- parents: nearest points of the levels above

typedef struct search {
  const double *points;
  const rf_bvh *boxes;
  const int32_t *lowest;  // lowest index below each of its nodes
  int32_t first, end;     // range of points without parents yet
  int32_t *parent;        // indices in the shell                                    (n_points)
} search;

static int32_t nearest(const search *s, const double *p) {
  const rf_bvh *b = s->boxes;
  double best = INFINITY;
  int32_t found = -1;
  struct {
    int32_t node;
    double distance;
  } stack[RF_BVH_STACK];
  int depth = 0;
  stack[depth].node = 0;
  stack[depth++].distance = 0.0;
  while (depth > 0) {
    --depth;
    const int32_t node = stack[depth].node;
    // boxes at the same distance count too if they contain a lower index
    if (stack[depth].distance > best) continue;
    if (stack[depth].distance == best && s->lowest[node] > found) continue;
    if (b->count[node]) {
      for (int32_t k = b->first[node]; k < b->first[node] + b->count[node]; ++k) {
        const int32_t other = b->item[k];
        double along[3];
        rf_vec3_sub(s->points + 3 * (size_t)other, p, along);
        const double distance = rf_vec3_dot(along, along);
        if (distance < best || (distance == best && other < found)) best = distance, found = other;
      }
      continue;
    }
    const int32_t child = b->first[node];
    const double left = rf_box_distance2(b->box + 6 * (size_t)child, p);
    const double right = rf_box_distance2(b->box + 6 * (size_t)(child + 1), p);
    // push the nearer one last, so that it is visited first
    const int near = right < left;
    stack[depth].node = child + !near, stack[depth++].distance = near ? left : right;
    stack[depth].node = child + near, stack[depth++].distance = near ? right : left;
  }
  return found;
}

static rf_status search_task(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const search *s = context;
  const int64_t from = s->first + task * ITEMS_PER_TASK;
  for (int64_t p = from; p < from + ITEMS_PER_TASK && p < s->end; ++p)
    s->parent[p] = nearest(s, s->points + 3 * (size_t)p);
  return RF_OK;
}

// Finds the parents (indices in the shell) of the points of one level.
static rf_status find_parents(const rf_point_tree *t, const double *points, int32_t level,
                              double *boxes, const rf_run *run, int32_t *parent, rf_error *err) {
  rf_status st = RF_OK;
  rf_bvh tree = {0};
  int32_t *lowest = NULL;
  const int32_t above = t->count[level - 1];
  for (int32_t p = 0; p < above; ++p)
    for (int i = 0; i < 6; ++i)
      boxes[6 * (size_t)p + (size_t)i] = points[3 * (size_t)p + (size_t)(i % 3)];
  RF_TRY(rf_bvh_create(above, boxes, run, &tree, err));
  // children follow their parents
  RF_ALLOC(lowest, tree.n_nodes);
  for (int32_t k = tree.n_nodes - 1; k >= 0; --k) {
    const int32_t first = tree.first[k];
    lowest[k] = tree.count[k] ? tree.item[first] : lowest[first];
    if (!tree.count[k] && lowest[first + 1] < lowest[k]) lowest[k] = lowest[first + 1];
    for (int32_t i = 1; i < tree.count[k]; ++i)
      if (tree.item[first + i] < lowest[k]) lowest[k] = tree.item[first + i];
  }
  search s = {points, &tree, lowest, above, t->count[level], parent};
  RF_TRY(rf_run_tasks(run, tasks_for(s.end - s.first), 0, search_task, &s, err));
done:
  rf_bvh_free(&tree);
  rf_free(lowest);
  return st;
}

// ---- places

// Sorts `items` by key[item] in [0, n_keys), stably; `start` has n_keys + 1 entries.
static void sort_by_key(int32_t count, const int32_t *items, const int32_t *key, int32_t n_keys,
                        int32_t *start, int32_t *sorted) {
  memset(start, 0, ((size_t)n_keys + 1) * sizeof *start);
  for (int32_t k = 0; k < count; ++k) ++start[key[items[k]] + 1];
  for (int32_t k = 0; k < n_keys; ++k) start[k + 1] += start[k];
  for (int32_t k = 0; k < count; ++k) sorted[start[key[items[k]]]++] = items[k];
}

// Returns the position along a Morton curve: points near in space are near in the order.
static int32_t morton(const rf_point_tree *t, const double *p) {
  int32_t code = 0;
  for (int i = 0; i < 3; ++i) {
    const double scaled = t->extent > 0.0 ? 0.5 + 0.5 * (p[i] - t->centre[i]) / t->extent : 0.0;
    const int32_t cell = scaled > 0.0 ? (scaled < 1.0 ? (int32_t)(scaled * 256.0) : 255) : 0;
    for (int bit = 0; bit < 8; ++bit) code |= ((cell >> bit) & 1) << (3 * bit + i);
  }
  return code;
}

static rf_status give_places(rf_point_tree *t, const double *points, const int32_t *parent,
                             rf_error *err) {
  rf_status st = RF_OK;
  int32_t *key = NULL, *items = NULL, *half = NULL, *start = NULL;
  const int32_t n = t->n_points;
  enum { RADIX = 4096 };
  RF_ALLOC(key, n);
  RF_ALLOC(items, n);
  RF_ALLOC(half, n);
  RF_ALLOC(start, (n > RADIX ? n : RADIX) + 1);
  for (int32_t p = 0; p < n; ++p) items[p] = p;
  // level 0 along the curve, by a radix sort in two passes
  const int32_t roots = t->count[0];
  for (int32_t p = 0; p < roots; ++p) key[p] = morton(t, points + 3 * (size_t)p) % RADIX;
  sort_by_key(roots, items, key, RADIX, start, half);
  for (int32_t p = 0; p < roots; ++p) key[p] = morton(t, points + 3 * (size_t)p) / RADIX;
  sort_by_key(roots, half, key, RADIX, start, t->point);
  for (int32_t i = 0; i < roots; ++i) t->place[t->point[i]] = i;
  // deeper levels in the order of their parents
  for (int32_t j = 1; j < t->n_levels; ++j) {
    const int32_t above = t->count[j - 1], end = t->count[j];
    for (int32_t p = above; p < end; ++p) key[p] = t->place[parent[p]];
    sort_by_key(end - above, items + above, key, above, start, t->point + above);
    int32_t *child = t->child + (j - 1) + t->node[j - 1];
    // sorting has moved each start to the end of its key's items
    child[0] = above;
    for (int32_t p = 0; p < above; ++p) child[p + 1] = above + start[p];
    for (int32_t i = above; i < end; ++i) t->place[t->point[i]] = i;
  }
  for (int32_t i = 0; i < n; ++i) t->parent[i] = i < roots ? -1 : t->place[parent[t->point[i]]];
done:
  rf_free(key);
  rf_free(items);
  rf_free(half);
  rf_free(start);
  return st;
}

// ---- spheres

// Rounds x >= 0 up to float32, never to a denormal, which a thread may flush to 0.
static float rounded_up(double x) {
  const float f = (float)x;
  if (x > 0.0 && f < FLT_MIN) return FLT_MIN;
  return (double)f >= x ? f : nextafterf(f, INFINITY);
}

typedef struct spheres {
  const rf_point_tree *tree;
  int32_t level;
  int64_t per_task;         // nodes per task
  float *bounds;            // bounds of this level's nodes (count, bound); NULL: compute radii
  const double *positions;  // deformed positions in tree order (n_points, 3)
  double *radii;            // radii in tree order (count)
} spheres;

// Returns the length of d; nonzero for nonzero d even if its square underflows.
static double length_of(const double d[3]) {
  return fmax(rf_vec3_length(d), fmax(fabs(d[0]), fmax(fabs(d[1]), fabs(d[2]))));
}

static void widen(const spheres *s, int32_t c, int32_t p, double *most) {
  const rf_point_tree *t = s->tree;
  double d[3];
  const double *x = s->bounds ? t->rest : s->positions;
  rf_vec3_sub(x + 3 * (size_t)p, x + 3 * (size_t)c, d);
  const double distance = length_of(d);
  if (distance > most[0]) most[0] = distance;
  if (!s->bounds) return;
  const float *a = t->motion ? t->motion + 3 * (size_t)p * (size_t)t->row : NULL;
  const float *b = t->motion ? t->motion + 3 * (size_t)c * (size_t)t->row : NULL;
  for (int32_t j = 0; j < t->r; ++j) {
    for (int i = 0; i < 3; ++i) d[i] = (double)a[i * t->row + j] - (double)b[i * t->row + j];
    const double length = rf_vec3_length(d);
    if (length > most[1 + j]) most[1 + j] = length;
  }
}

// Traverses the subtree of node (p, level), relative to c; at most RF_TREE_MAX_LEVELS deep.
static void walk(const spheres *s, int32_t c, int32_t p, int32_t level, double *most) {
  const rf_point_tree *t = s->tree;
  if (p != c) widen(s, c, p, most);
  for (; level < t->n_levels - 1; ++level) {
    const int32_t *child = t->child + level + t->node[level] + p;
    for (int32_t k = child[0]; k < child[1]; ++k) walk(s, c, k, level + 1, most);
  }
}

static rf_status spheres_task(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const spheres *s = context;
  const rf_point_tree *t = s->tree;
  rf_status st = RF_OK;
  double *most = NULL;
  RF_ALLOC(most, 1 + t->r);
  const int64_t from = task * s->per_task;
  for (int64_t c = from; c < from + s->per_task && c < t->count[s->level]; ++c) {
    memset(most, 0, (size_t)(1 + t->r) * sizeof *most);
    walk(s, (int32_t)c, (int32_t)c, s->level, most);
    if (!s->bounds) {
      s->radii[c] = most[0];
      continue;
    }
    // allows for the rounding of the lengths above
    for (int32_t j = 0; j <= t->r; ++j)
      s->bounds[c * t->bound + j] = rounded_up(most[j] * (1.0 + 1e-14));
  }
done:
  rf_free(most);
  return st;
}

static rf_status find_spheres(spheres *s, const rf_run *run, rf_error *err) {
  // tasks of roughly equal numbers of points on every level
  const int64_t count = s->tree->count[s->level];
  const int64_t items = ITEMS_PER_TASK * count / s->tree->n_points;
  s->per_task = items > 1 ? items : 1;
  return rf_run_tasks(run, (count + s->per_task - 1) / s->per_task, 0, spheres_task, s, err);
}

// ---- creation

typedef struct copying {
  rf_point_tree *tree;
  const double *motion, *tilt;
} copying;

static rf_status copy_task(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const copying *c = context;
  rf_point_tree *t = c->tree;
  const size_t r = (size_t)t->r, row = (size_t)t->row;
  const int64_t from = task * ITEMS_PER_TASK;
  for (int64_t k = from; k < from + ITEMS_PER_TASK && k < t->n_points; ++k) {
    const size_t to = 3 * (size_t)k, of = 3 * (size_t)t->point[k];
    for (size_t i = 0; i < 3; ++i)
      for (size_t j = 0; j < r; ++j) {
        t->motion[(to + i) * row + j] = (float)c->motion[(of + i) * r + j];
        t->tilt[(to + i) * row + j] = (float)c->tilt[(of + i) * r + j];
      }
  }
  return RF_OK;
}

// Rejects rows that exceed float32 or whose squares overflow in float64.
static rf_status check_rows(const rf_point_tree *t, const char *name, const double *rows,
                            rf_error *err) {
  const size_t count = 3 * (size_t)t->n_points * (size_t)t->r;
  for (size_t k = 0; k < count; ++k)
    if (!(fabs(rows[k]) < 1e30))
      return rf_fail(err, RF_ERR_ARG,
                     "%s of point %zu, coordinate %zu is %g; it must be below 1e30", name,
                     k / (3 * (size_t)t->r), k % (size_t)t->r, rows[k]);
  return RF_OK;
}

static void measure(rf_point_tree *t, const double *points) {
  double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
  for (int32_t p = 0; p < t->n_points; ++p)
    for (int i = 0; i < 3; ++i) {
      const double x = points[3 * (size_t)p + (size_t)i];
      if (x < low[i]) low[i] = x;
      if (x > high[i]) high[i] = x;
    }
  for (int i = 0; i < 3; ++i) t->centre[i] = 0.5 * (low[i] + high[i]);
  for (int32_t p = 0; p < t->n_points; ++p) {
    double d[3];
    rf_vec3_sub(points + 3 * (size_t)p, t->centre, d);
    const double distance = length_of(d);
    if (distance > t->extent) t->extent = distance;
  }
}

static void measure_motion(rf_point_tree *t) {
  for (int32_t p = 0; p < t->n_points; ++p)
    for (int32_t j = 0; j < t->r; ++j) {
      double d[3];
      const float *u = t->motion + 3 * (size_t)p * (size_t)t->row + (size_t)j;
      for (int i = 0; i < 3; ++i) d[i] = (double)u[i * t->row];
      const double length = rf_vec3_length(d);
      if (length > t->motion_most[j]) t->motion_most[j] = length;
    }
  for (int32_t level = 0; level < t->n_levels - 1; ++level)
    for (int64_t k = t->node[level]; k < t->node[level + 1]; ++k)
      for (int32_t j = 0; j < t->r; ++j) {
        const double a = (double)t->bounds[k * t->bound + 1 + j];
        double *most = t->growth_most + (size_t)level * (size_t)t->r + (size_t)j;
        if (a > *most) *most = a;
      }
}

rf_status rf_point_tree_create(int32_t n_points, const double *points, const double *normals,
                               const int32_t *levels, int32_t r, const double *motion,
                               const double *tilt, rf_simd simd, const rf_run *run,
                               rf_point_tree **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_point_tree *t = NULL;
  int32_t *parent = NULL;
  double *boxes = NULL;
  const size_t n = (size_t)n_points;
  *out = NULL;
  if ((st = check(n_points, points, normals, levels, r, err)) < 0) return st;
  RF_TRY(rf_simd_check(simd, err));
  RF_ALLOC(t, 1);
  t->simd = rf_simd_resolve(simd);
  t->n_points = n_points;
  t->n_levels = levels[n - 1] + 1;
  t->r = r;
  t->row = padded(r);
  t->bound = r ? padded(1 + r) : 1;
  if (r) {
    RF_TRY(check_rows(t, "motion", motion, err));
    RF_TRY(check_rows(t, "tilt", tilt, err));
  }
  const size_t n_levels = (size_t)t->n_levels;
  RF_ALLOC(t->count, n_levels);
  RF_ALLOC(t->node, n_levels + 1);
  for (size_t p = 0; p < n; ++p) t->count[levels[p]] = (int32_t)p + 1;
  for (size_t j = 0; j < n_levels; ++j) t->node[j + 1] = t->node[j] + t->count[j];
  const size_t interior = (size_t)t->node[n_levels - 1];
  RF_ALLOC(t->point, n);
  RF_ALLOC(t->place, n);
  RF_ALLOC(t->parent, n);
  RF_ALLOC(t->child, interior + n_levels - 1);
  RF_ALLOC(t->rest, 3 * n);
  RF_ALLOC(t->normal, 3 * n);
  RF_ALLOC(t->bounds, interior * (size_t)t->bound);
  RF_ALLOC(t->motion_most, r);
  RF_ALLOC(t->growth_most, n_levels * (size_t)r);
  if (r) {
    RF_ALLOC(t->motion, 3 * n * (size_t)t->row);
    RF_ALLOC(t->tilt, 3 * n * (size_t)t->row);
  }

  measure(t, points);
  RF_ALLOC(parent, n);
  RF_ALLOC(boxes, 6 * (n_levels > 1 ? (size_t)t->count[n_levels - 2] : 0));
  for (int32_t j = 1; j < t->n_levels; ++j) {
    RF_TRY(rf_run_progress(run, t->count[j - 1], 2 * (int64_t)n_points, err));
    RF_TRY(find_parents(t, points, j, boxes, run, parent, err));
  }
  RF_TRY(give_places(t, points, parent, err));
  for (size_t k = 0; k < n; ++k)
    for (size_t i = 0; i < 3; ++i) {
      t->rest[3 * k + i] = points[3 * (size_t)t->point[k] + i];
      t->normal[3 * k + i] = normals[3 * (size_t)t->point[k] + i];
    }
  copying c = {t, motion, tilt};
  if (r) RF_TRY(rf_run_tasks(run, tasks_for(n_points), 0, copy_task, &c, err));
  for (int32_t j = 0; j < t->n_levels - 1; ++j) {
    RF_TRY(rf_run_progress(run, n_points + t->count[j], 2 * (int64_t)n_points, err));
    spheres s = {.tree = t, .level = j, .bounds = t->bounds + t->node[j] * t->bound};
    RF_TRY(find_spheres(&s, run, err));
  }
  measure_motion(t);
  RF_TRY(rf_run_progress(run, 2 * (int64_t)n_points, 2 * (int64_t)n_points, err));
  *out = t;
  t = NULL;
done:
  rf_free(parent);
  rf_free(boxes);
  rf_point_tree_free(t);
  return st;
}

rf_status rf_point_tree_check(const rf_point_tree *t, const double *q, rf_error *err) {
  for (int32_t j = 0; q && j < t->r; ++j)
    if (!isfinite(q[j])) return rf_fail(err, RF_ERR_ARG, "q[%d] is %g", j, q[j]);
  const double reach = rf_point_tree_reach_rt(t, q);
  if (!(reach < RF_TREE_FARTHEST))
    return rf_fail(err, RF_ERR_ARG,
                   "q is so large that points may move by %g m, beyond the range of numbers",
                   reach);
  return RF_OK;
}

rf_status rf_point_tree_radii(const rf_point_tree *t, const rf_run *run, int32_t level,
                              const double *q, int tight, double *radii, rf_error *err) {
  rf_status st = RF_OK;
  double *row = NULL, *bound = NULL, *positions = NULL, *by_place = NULL;
  int32_t *all = NULL;
  if (!(level >= 0 && level < t->n_levels))
    return rf_fail(err, RF_ERR_ARG, "level must be between 0 and %d, got %d", t->n_levels - 1,
                   level);
  const int32_t n = t->n_points, count = t->count[level];
  RF_ALLOC(row, t->row);
  RF_ALLOC(bound, t->bound);
  RF_ALLOC(by_place, count);
  bound[0] = 1.0;
  if (q) rf_point_tree_pad_rt(t, q, row, bound);
  if (tight) {
    RF_ALLOC(positions, 3 * (size_t)n);
    RF_ALLOC(all, n);
    for (int32_t p = 0; p < n; ++p) all[p] = p;
    rf_point_tree_positions_rt(t, n, all, row, positions);
    spheres s = {.tree = t, .level = level, .positions = positions, .radii = by_place};
    RF_TRY(find_spheres(&s, run, err));
  } else if (level < t->n_levels - 1) {
    for (int32_t p = 0; p < count; ++p) {
      const int64_t node = t->node[level] + p;
      rf_point_tree_bounds_rt(t, 1, &node, bound, by_place + p);
    }
  }
  for (int32_t p = 0; p < count; ++p) radii[t->point[p]] = by_place[p];
done:
  rf_free(row);
  rf_free(bound);
  rf_free(positions);
  rf_free(by_place);
  rf_free(all);
  return st;
}
