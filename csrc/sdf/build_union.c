#include "sdf/build_union.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/disjoint.h"
#include "base/run.h"
#include "linalg/vec3.h"
#include "mesh/crossings.h"

enum { HALVINGS = 80, CHUNK = 256 };  // deepest subdivision; triangles per task

typedef struct piece {
  double x[3][3];
  int depth;
} piece;

// Remaining pieces of the triangles of a task.
typedef struct pieces {
  double *vertices;  // (n, 3, 3)
  int64_t n, room;
  int32_t n_hidden;
} pieces;

typedef struct cutting {
  const rf_surface *surface;
  const rf_closest *closest;
  double *corners;  // corners from rf_crossings_corners
  double size, gap;
  int64_t most;  // limit of the number of pieces
  atomic_llong count;
  pieces *made;  // per task
} cutting;

void rf_union_boundary_free(rf_union_boundary *b) {
  rf_free(b->vertices);
  rf_free(b->triangles);
  *b = (rf_union_boundary){0};
}

rf_status rf_union_has_parts(const rf_surface *s, const rf_closest *closest, bool *out,
                             rf_error *err) {
  rf_status st = RF_OK;
  int32_t *root = NULL;
  RF_ALLOC(root, s->n_vertices);
  for (int32_t i = 0; i < s->n_vertices; ++i) root[i] = i;
  for (int32_t t = 0; t < closest->n_triangles; ++t)
    for (int k = 1; k < 3; ++k) {
      const int32_t *v = closest->vertex + 3 * (size_t)t;
      rf_disjoint_join(root, v[k], v[0]);
    }
  *out = false;
  for (int32_t t = 1; t < closest->n_triangles; ++t)
    *out = *out || rf_disjoint_join(root, closest->vertex[3 * (size_t)t], closest->vertex[0]);
done:
  rf_free(root);
  return st;
}

// ---- windings -----------------------------------------------------------------------

// True if p is left of the segment from a to b, seen from above; consistent for the reversed
// segment.
static bool is_left(const double *a, const double *b, const double *p) {
  bool turned = false;
  for (int c = 0; c < 3; ++c) {
    if (a[c] == b[c]) continue;
    turned = a[c] > b[c];
    break;
  }
  const double *low = turned ? b : a, *high = turned ? a : b;
  const double left = (high[0] - low[0]) * (p[1] - low[1]) - (high[1] - low[1]) * (p[0] - low[0]);
  return (left >= 0.0) != turned;
}

// Returns the contribution of a triangle to the winding number of p: 1 or -1 if it is above.
static int winding_of(const rf_surface *s, int32_t t, const double p[3]) {
  const double *x[3];
  bool left[3];
  for (int k = 0; k < 3; ++k)
    x[k] = s->vertices + 3 * (size_t)s->triangles[3 * (size_t)t + (size_t)k];
  for (int k = 0; k < 3; ++k) left[k] = is_left(x[k], x[(k + 1) % 3], p);
  if (left[0] != left[1] || left[1] != left[2]) return 0;
  double ab[3], ac[3], n[3];
  rf_vec3_sub(x[1], x[0], ab);
  rf_vec3_sub(x[2], x[0], ac);
  rf_vec3_cross(ab, ac, n);
  // height above the plane, times n[2]
  const double over = (p[0] - x[0][0]) * n[0] + (p[1] - x[0][1]) * n[1] + (p[2] - x[0][2]) * n[2];
  if (!(n[2] > 0.0 ? over < 0.0 : over > 0.0)) return 0;
  return left[0] ? 1 : -1;
}

typedef struct counting {
  const cutting *c;
  const double *p;
  int windings;
} counting;

static int count_winding(void *context, int32_t at) {
  counting *n = context;
  n->windings += winding_of(n->c->surface, n->c->closest->bvh.item[at], n->p);
  return 0;
}

static int winding_at(const cutting *c, const double p[3]) {
  counting n = {c, p, 0};
  rf_bvh_overlap(&c->closest->bvh, p, (const double[3]){p[0], p[1], INFINITY}, count_winding, &n);
  return n.windings;
}

// True if both sides of a piece are inside, at the point with these barycentric weights.
static bool is_hidden(const cutting *c, const piece *p, const double *normal,
                      const double weight[3]) {
  for (int side = -1; side <= 1; side += 2) {
    double at[3];
    for (int i = 0; i < 3; ++i)
      at[i] = weight[0] * p->x[0][i] + weight[1] * p->x[1][i] + weight[2] * p->x[2][i] +
              side * c->gap * normal[i];
    if (winding_at(c, at) == 0) return false;
  }
  return true;
}

// ---- contact of triangles -------------------------------------------------------------

// Returns the side of a plane through x on which the corners, relative to x, lie: 1 all in front,
// -1 all behind.
static int side_of(const double *n, double far, double way[3][3]) {
  int front = 0, behind = 0;
  for (int k = 0; k < 3; ++k) {
    const double height = rf_vec3_dot(n, way[k]);
    front += height > far;
    behind += height < -far;
  }
  return front == 3 ? 1 : behind == 3 ? -1 : 0;
}

// True if another triangle may begin or end an interval of a line on the piece; false if a plane of
// either, or perpendicular through a side, separates them, or the piece lies in that triangle.
static bool meets(const piece *p, const double *normal, const rf_closest_triangle *t, double gap) {
  double way[3][3], back[3][3];
  for (int k = 0; k < 3; ++k) {
    rf_vec3_sub(p->x[k], t->a, way[k]);
    for (int i = 0; i < 3; ++i) back[k][i] = (k == 1 ? t->ab[i] : k == 2 ? t->ac[i] : 0.0);
    for (int i = 0; i < 3; ++i) back[k][i] += t->a[i] - p->x[0][i];
  }
  if (side_of(t->normal, gap, way) != 0 || side_of(normal, gap, back) != 0) return false;
  bool on = true;
  for (int k = 0; k < 3; ++k) on = on && fabs(rf_vec3_dot(t->normal, way[k])) <= gap;
  for (int side = 0; side < 3; ++side) {
    double along[3], out[3], from[3][3];
    for (int i = 0; i < 3; ++i) {
      along[i] = side == 0 ? t->ab[i] : side == 1 ? t->ac[i] - t->ab[i] : -t->ac[i];
      const double start = side == 1 ? t->ab[i] : side == 2 ? t->ac[i] : 0.0;
      for (int k = 0; k < 3; ++k) from[k][i] = way[k][i] - start;
    }
    rf_vec3_cross(along, t->normal, out);
    const double length = rf_vec3_length(out);
    if (side_of(out, gap * length, from) > 0) return false;
    for (int k = 0; k < 3; ++k) on = on && rf_vec3_dot(out, from[k]) <= gap * length;
  }
  for (int side = 0; side < 3; ++side) {
    double along[3], out[3], from[3][3];
    rf_vec3_sub(p->x[(side + 1) % 3], p->x[side], along);
    rf_vec3_cross(along, normal, out);
    for (int k = 0; k < 3; ++k)
      for (int i = 0; i < 3; ++i) from[k][i] = back[k][i] + p->x[0][i] - p->x[side][i];
    if (side_of(out, gap * rf_vec3_length(out), from) > 0) return false;
  }
  return !on;
}

static bool share_corner(const rf_closest *c, int32_t s, int32_t t) {
  const int32_t *a = c->vertex + 3 * (size_t)s, *b = c->vertex + 3 * (size_t)t;
  for (int k = 0; k < 9; ++k)
    if (a[k / 3] == b[k % 3]) return true;
  return false;
}

typedef struct meeting {
  const cutting *c;
  int32_t of;
  const piece *p;
} meeting;

static int test_triangle(void *context, int32_t at) {
  const meeting *m = context;
  const rf_closest *all = m->c->closest;
  return at != m->of && all->triangle[at].one > 0.0 &&
         meets(m->p, all->triangle[m->of].normal, &all->triangle[at], m->c->gap) &&
         // close to a common corner the test with `gap` is always positive
         (!share_corner(all, m->of, at) || rf_crossings_meet(all, m->c->corners, m->of, at));
}

// True if other triangles may meet a piece of a triangle.
static bool is_met(const cutting *c, int32_t of, const piece *p) {
  double low[3], high[3];
  for (int i = 0; i < 3; ++i) {
    low[i] = fmin(fmin(p->x[0][i], p->x[1][i]), p->x[2][i]) - c->gap;
    high[i] = fmax(fmax(p->x[0][i], p->x[1][i]), p->x[2][i]) + c->gap;
  }
  meeting m = {c, of, p};
  return rf_bvh_overlap(&c->closest->bvh, low, high, test_triangle, &m) != 0;
}

// ---- pieces -----------------------------------------------------------------------------

static rf_status keep(cutting *c, pieces *made, const piece *p, rf_error *err) {
  rf_status st = RF_OK;
  double *vertices = NULL;
  const size_t n = (size_t)made->n;
  if (atomic_fetch_add_explicit(&c->count, 1, memory_order_relaxed) >= c->most)
    return rf_fail(err, RF_ERR_MEMORY,
                   "the parts of the surface meet along so many places that its boundary, in "
                   "pieces of %g m, does not fit into memory; choose a lower resolution",
                   c->size);
  if (made->n == made->room) {
    const int64_t room = made->room > 0 ? 2 * made->room : CHUNK;
    RF_ALLOC(vertices, 9 * (size_t)room);
    if (n > 0) memcpy(vertices, made->vertices, 9 * n * sizeof *vertices);
    rf_free(made->vertices);
    made->vertices = vertices;
    made->room = room;
  }
  memcpy(made->vertices + 9 * n, p->x, sizeof p->x);
  ++made->n;
done:
  return st;
}

// Returns the longest side of a piece, squared.
static double longest_side(const piece *p, int *side) {
  double longest = -1.0;
  for (int k = 0; k < 3; ++k) {
    double way[3];
    rf_vec3_sub(p->x[(k + 1) % 3], p->x[k], way);
    const double square = rf_vec3_dot(way, way);
    if (square > longest) longest = square, *side = k;
  }
  return longest;
}

static rf_status cut_triangle(cutting *c, pieces *made, int32_t at, rf_error *err) {
  // off the symmetry lines of regular meshes
  static const double middle[3] = {0.3291, 0.3142, 0.3567};
  static const double corners[3][3] = {{0.90, 0.06, 0.04}, {0.04, 0.90, 0.06}, {0.06, 0.04, 0.90}};
  const double *normal = c->closest->triangle[at].normal;
  const int32_t t = c->closest->bvh.item[at];
  piece stack[HALVINGS + 2];
  int depth = 0;
  bool whole = true;
  stack[0].depth = 0;
  for (int k = 0; k < 3; ++k)
    memcpy(stack[0].x[k],
           c->surface->vertices + 3 * (size_t)c->surface->triangles[3 * (size_t)t + (size_t)k],
           sizeof stack[0].x[k]);
  depth = 1;
  while (depth > 0) {
    const piece p = stack[--depth];
    int side = 0;
    const bool met = is_met(c, at, &p);
    if (met && longest_side(&p, &side) > c->size * c->size && p.depth < HALVINGS) {
      piece halves[2] = {p, p};
      for (int i = 0; i < 3; ++i) {
        const double half = 0.5 * (p.x[side][i] + p.x[(side + 1) % 3][i]);
        halves[0].x[(side + 1) % 3][i] = half;
        halves[1].x[side][i] = half;
      }
      for (int h = 0; h < 2; ++h) {
        ++halves[h].depth;
        stack[depth++] = halves[h];
      }
      continue;
    }
    bool hidden = is_hidden(c, &p, normal, middle);
    for (int k = 0; k < 3 && met && hidden; ++k) hidden = is_hidden(c, &p, normal, corners[k]);
    whole = whole && !hidden;
    if (hidden) continue;
    const rf_status st = keep(c, made, &p, err);
    if (st < 0) return st;
  }
  made->n_hidden += !whole;
  return RF_OK;
}

static rf_status cut_chunk(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker;
  cutting *c = context;
  const int32_t from = (int32_t)task * CHUNK, n = c->closest->n_triangles;
  for (int32_t at = from; at < n && at - from < CHUNK; ++at) {
    // without area: covered by the sides of others
    if (!(c->closest->triangle[at].one > 0.0)) continue;
    const rf_status st = cut_triangle(c, &c->made[task], at, err);
    if (st < 0) return st;
  }
  return RF_OK;
}

rf_status rf_union_boundary_create(const rf_surface *s, const rf_closest *closest, double size,
                                   double gap, int64_t room, const rf_run *run,
                                   rf_union_boundary *out, rf_error *err) {
  rf_status st = RF_OK;
  cutting c = {.surface = s, .closest = closest, .size = size, .gap = gap};
  const int64_t tasks = (closest->n_triangles - 1) / CHUNK + 1;
  rf_union_boundary made = {0};
  int64_t n = 0;
  *out = made;
  // limit of the tree built over them
  c.most = room < INT32_MAX / 6 ? room : INT32_MAX / 6;
  RF_ALLOC(c.made, tasks);
  RF_TRY(rf_crossings_corners(s, closest, &c.corners, err));
  RF_TRY(rf_run_tasks(run, tasks, 0, cut_chunk, &c, err));
  for (int64_t k = 0; k < tasks; ++k) {
    n += c.made[k].n;
    made.n_hidden += c.made[k].n_hidden;
  }
  made.n_triangles = (int32_t)n;
  RF_ALLOC(made.vertices, 9 * (size_t)n);
  RF_ALLOC(made.triangles, 3 * (size_t)n);
  n = 0;
  for (int64_t k = 0; k < tasks; ++k) {
    const size_t some = 9 * (size_t)c.made[k].n;
    if (some > 0) memcpy(made.vertices + 9 * n, c.made[k].vertices, some * sizeof *made.vertices);
    n += c.made[k].n;
    rf_free(c.made[k].vertices);
    c.made[k].vertices = NULL;
  }
  for (int32_t i = 0; i < 3 * made.n_triangles; ++i) made.triangles[i] = i;
  *out = made;
  made = (rf_union_boundary){0};
done:
  for (int64_t k = 0; c.made && k < tasks; ++k) rf_free(c.made[k].vertices);
  rf_free(c.made);
  rf_free(c.corners);
  rf_union_boundary_free(&made);
  return st;
}
