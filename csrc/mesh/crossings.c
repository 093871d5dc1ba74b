#include "mesh/crossings.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/disjoint.h"
#include "base/run.h"
#include "linalg/orient.h"
#include "linalg/vec3.h"

enum { CHUNK = 512, TINY = -250 };  // triangles per task; binary exponent that counts as zero

static const double APART = 1e-14;  // for lengths of order 1: larger gaps exceed all rounding

typedef enum meeting { MEET_NOT, MEET_TOUCH, MEET_CROSS } meeting;

// A triangle with corners scaled to be below 1, cyclically ordered so that common corners come
// first.
typedef struct corners {
  const double *x[3];
  const double *normal;  // unit, rounded
} corners;

// ---- separation in floating point ---------------------------------------------------------

// True if all corners of t are beyond all corners of s along a direction.
static bool is_beyond(const corners *s, const corners *t, const double *way) {
  double last = 0.0, first = INFINITY;
  for (int k = 0; k < 3; ++k) {
    double from[3];
    rf_vec3_sub(s->x[k], s->x[0], from);
    last = fmax(last, rf_vec3_dot(way, from));
    rf_vec3_sub(t->x[k], s->x[0], from);
    first = fmin(first, rf_vec3_dot(way, from));
  }
  return first - last > APART * rf_vec3_length(way);
}

// Tests the separation of triangles without a common corner, in directions perpendicular to their
// sides.
static bool are_apart(const corners *s, const corners *t) {
  for (int side = 0; side < 6; ++side) {
    const corners *u = side < 3 ? s : t;
    double along[3], out[3];
    rf_vec3_sub(u->x[(side + 1) % 3], u->x[side % 3], along);
    rf_vec3_cross(along, u->normal, out);
    if (is_beyond(u, side < 3 ? t : s, out)) return true;
  }
  return false;
}

// Tests the separation of triangles with one common corner, by a plane through it.
static bool are_apart_at_corner(const corners *s, const corners *t) {
  double way[4][3], length[4], middle[3];
  for (int k = 0; k < 4; ++k) {
    rf_vec3_sub((k < 2 ? s : t)->x[1 + k % 2], s->x[0], way[k]);
    length[k] = rf_vec3_length(way[k]);
  }
  for (int i = 0; i < 3; ++i)
    middle[i] = way[0][i] / length[0] + way[1][i] / length[1] - way[2][i] / length[2] -
                way[3][i] / length[3];
  const double far = APART * rf_vec3_length(middle);
  for (int k = 0; k < 4; ++k)
    if (!((k < 2 ? 1.0 : -1.0) * rf_vec3_dot(middle, way[k]) > far * length[k])) return false;
  return true;
}

// Tests the separation of triangles with a common side, by a plane through it.
static bool are_apart_at_side(const corners *s, const corners *t) {
  double along[3], a[3], b[3];
  rf_vec3_sub(s->x[1], s->x[0], along);
  rf_vec3_sub(s->x[2], s->x[0], a);
  rf_vec3_sub(t->x[2], s->x[0], b);
  const double square = rf_vec3_dot(along, along);
  const double product = rf_vec3_dot(a, b) * square - rf_vec3_dot(a, along) * rf_vec3_dot(b, along);
  return product < -APART * square * rf_vec3_length(a) * rf_vec3_length(b);
}

// ---- exact tests ----------------------------------------------------------------------------

static int side_of(const corners *t, const double *p) {
  return rf_orient3(t->x[0], t->x[1], t->x[2], p);
}

// Returns an axis along which the triangle does not appear as a line.
static int view_of(const corners *t) {
  int axis = 0;
  for (int c = 1; c < 3; ++c)
    if (fabs(t->normal[c]) > fabs(t->normal[axis])) axis = c;
  return axis;
}

// True if the line of some side of a convex polygon with n corners, projected along an axis, has
// the polygon on one side and the m points strictly on the other.
static bool is_divided(int n, const double *const *corner, int m, const double *const *point,
                       int axis) {
  for (int k = 0; k < n; ++k) {
    const double *a = corner[k], *b = corner[(k + 1) % n];
    int sides = 0;
    for (int i = 0; i < n; ++i) {
      const int side = rf_orient2(a, b, corner[i], axis);
      if (side != 0) sides = side;
    }
    bool divided = true;
    const int beyond = sides != 0 ? -sides : rf_orient2(a, b, point[0], axis);
    for (int i = 0; i < m && divided; ++i)
      divided = beyond != 0 && rf_orient2(a, b, point[i], axis) == beyond;
    if (divided) return true;
  }
  return false;
}

// True if a segment, whose ends lie on the given sides, meets a triangle.
static bool segment_meets(const double *p, const double *q, int sp, int sq, const corners *t) {
  if (sp * sq > 0) return false;
  if (sp == 0 && sq == 0) {
    const double *const ends[2] = {p, q};
    const int axis = view_of(t);
    return !is_divided(3, t->x, 2, ends, axis) && !is_divided(2, ends, 3, t->x, axis);
  }
  int low = 1, high = -1;
  for (int k = 0; k < 3; ++k) {
    const int side = rf_orient3(p, q, t->x[k], t->x[(k + 1) % 3]);
    low = side < low ? side : low;
    high = side > high ? side : high;
  }
  return low >= 0 || high <= 0;
}

// Classifies two triangles in one plane.
static meeting meet_flat(const corners *s, const corners *t, int common) {
  const int axis = view_of(s);
  if (common == 2) {
    const int a = rf_orient2(s->x[0], s->x[1], s->x[2], axis);
    return a == rf_orient2(s->x[0], s->x[1], t->x[2], axis) ? MEET_TOUCH : MEET_NOT;
  }
  if (common == 0)
    return is_divided(3, s->x, 3, t->x, axis) || is_divided(3, t->x, 3, s->x, axis) ? MEET_NOT
                                                                                    : MEET_TOUCH;
  // the angles at the corner overlap if a side of one lies in the other
  for (int k = 0; k < 4; ++k) {
    const corners *in = k < 2 ? s : t;
    const double *p = (k < 2 ? t : s)->x[1 + k % 2];
    const int turn = rf_orient2(in->x[0], in->x[1], in->x[2], axis);
    if (turn * rf_orient2(in->x[0], in->x[1], p, axis) >= 0 &&
        turn * rf_orient2(in->x[0], p, in->x[2], axis) >= 0)
      return MEET_TOUCH;
  }
  return MEET_NOT;
}

// Rotates a triangle until the corner alone on its side of a plane comes first.
static void set_apex_first(const corners *t, const int side[3], const double *out[3], int *apex) {
  int front = 0;
  for (int k = 0; k < 3; ++k) front += side[k] > 0;
  const int alone = front == 1 ? 1 : -1;
  int first = 0;
  while (side[first] != alone) ++first;
  for (int k = 0; k < 3; ++k) out[k] = t->x[(first + k) % 3];
  *apex = alone;
}

// Each triangle has corners strictly on both sides of the other's plane, so both contain a piece of
// the line in which the planes meet.  Tests whether the pieces overlap, by their ends, as in Guigue
// & Devillers, Fast and Robust Triangle-Triangle Overlap Test (2003).
static bool pieces_overlap(const corners *s, const int of_s[3], const corners *t,
                           const int of_t[3]) {
  const double *a[3], *b[3];
  int apex_a, apex_b;
  set_apex_first(s, of_s, a, &apex_a);
  set_apex_first(t, of_t, b, &apex_b);
  // brings both apexes in front by reversing the other triangle
  if (apex_a < 0) {
    const double *x = b[1];
    b[1] = b[2], b[2] = x;
  }
  if (apex_b < 0) {
    const double *x = a[1];
    a[1] = a[2], a[2] = x;
  }
  return rf_orient3(a[0], a[1], b[0], b[1]) < 0 && rf_orient3(a[0], a[2], b[2], b[0]) < 0;
}

static bool has_both(const int side[3]) {
  const bool front = side[0] > 0 || side[1] > 0 || side[2] > 0;
  return front && (side[0] < 0 || side[1] < 0 || side[2] < 0);
}

// Classifies a pair whose first `common` corners coincide.
static meeting meet(const corners *s, const corners *t, int common) {
  if (common == 3) return MEET_TOUCH;
  if (common == 2) {
    if (are_apart_at_side(s, t) || side_of(s, t->x[2]) != 0) return MEET_NOT;
    return meet_flat(s, t, common);
  }
  // sides of the corners of s relative to the plane of t, and vice versa
  int of_s[3] = {0, 0, 0}, of_t[3] = {0, 0, 0};
  bool sure = true;
  for (int round = 0; round < 2; ++round) {
    const corners *plane = round == 0 ? s : t, *other = round == 0 ? t : s;
    int *side = round == 0 ? of_t : of_s, front = 0, behind = 0;
    for (int k = common; k < 3; ++k) {
      side[k] = rf_orient3_fast(plane->x[0], plane->x[1], plane->x[2], other->x[k]);
      front += side[k] == 1;
      behind += side[k] == -1;
    }
    if (front == 3 - common || behind == 3 - common) return MEET_NOT;
    sure = sure && front + behind == 3 - common;
  }
  if (!sure) {
    if (common == 1 ? are_apart_at_corner(s, t) : are_apart(s, t)) return MEET_NOT;
    for (int k = common; k < 3; ++k) {
      of_s[k] = side_of(t, s->x[k]);
      of_t[k] = side_of(s, t->x[k]);
    }
    if (abs(of_s[0] + of_s[1] + of_s[2]) == 3 - common ||
        abs(of_t[0] + of_t[1] + of_t[2]) == 3 - common)
      return MEET_NOT;
    if (of_s[0] == 0 && of_s[1] == 0 && of_s[2] == 0) return meet_flat(s, t, common);
  }
  if (has_both(of_s) && has_both(of_t) && pieces_overlap(s, of_s, t, of_t)) return MEET_CROSS;
  // touch by a side; at a common corner only the opposite side can
  for (int k = common; k < (common == 1 ? 2 : 3); ++k) {
    const int next = (k + 1) % 3;
    if (segment_meets(s->x[k], s->x[next], of_s[k], of_s[next], t) ||
        segment_meets(t->x[k], t->x[next], of_t[k], of_t[next], s))
      return MEET_TOUCH;
  }
  return MEET_NOT;
}

// ---- whole surface ----------------------------------------------------------------------------

typedef struct found {
  int64_t n, room;
  int32_t *pair;
} found;

typedef struct searching {
  const rf_surface *surface;
  const rf_closest *closest;
  double *x;     // corners from rf_crossings_corners
  found *found;  // pairs of each task; NULL: only their existence is wanted
  atomic_bool meet, cross;
} searching;

static rf_status note(found *f, int32_t a, int32_t b, rf_error *err) {
  rf_status st = RF_OK;
  int32_t *pair = NULL;
  if (f->n == f->room) {
    const int64_t room = f->room > 0 ? 2 * f->room : 64;
    RF_ALLOC(pair, 2 * room);
    if (f->n > 0) memcpy(pair, f->pair, 2 * (size_t)f->n * sizeof *pair);
    rf_free(f->pair);
    f->pair = pair;
    f->room = room;
  }
  f->pair[2 * f->n] = a < b ? a : b;
  f->pair[2 * f->n + 1] = a < b ? b : a;
  ++f->n;
done:
  return st;
}

static corners corners_of(const rf_closest *c, const double *all, int32_t at, const int order[3]) {
  const double *x = all + 9 * (size_t)at;
  return (corners){{x + 3 * order[0], x + 3 * order[1], x + 3 * order[2]}, c->triangle[at].normal};
}

static meeting pair_meets(const rf_closest *c, const double *x, int32_t a, int32_t b) {
  const int32_t *va = c->vertex + 3 * (size_t)a, *vb = c->vertex + 3 * (size_t)b;
  // match the corners of b to coincident corners of a
  int common = 0, as_a[3], as_b[3];
  bool used_a[3] = {false, false, false}, used_b[3] = {false, false, false};
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      if (va[i] == vb[j]) {
        as_a[common] = i, as_b[common++] = j;
        used_a[i] = used_b[j] = true;
      }
  int next_a = common, next_b = common;
  for (int i = 0; i < 3; ++i) {
    if (!used_a[i]) as_a[next_a++] = i;
    if (!used_b[i]) as_b[next_b++] = i;
  }
  const corners first = corners_of(c, x, a, as_a), second = corners_of(c, x, b, as_b);
  return meet(&first, &second, common);
}

bool rf_crossings_meet(const rf_closest *c, const double *x, int32_t a, int32_t b) {
  return pair_meets(c, x, a, b) != MEET_NOT;
}

typedef struct pair_test {
  searching *s;
  int32_t at;
  found *found;  // pairs of the task; NULL: none are kept
  rf_error *err;
} pair_test;

// Tests a triangle against a later one.
static int test_pair(void *context, int32_t other) {
  const pair_test *l = context;
  searching *s = l->s;
  if (other <= l->at || !(s->closest->triangle[other].one > 0.0)) return 0;
  const meeting how = pair_meets(s->closest, s->x, l->at, other);
  if (how == MEET_NOT) return 0;
  const int32_t *item = s->closest->bvh.item;
  if (l->found) return note(l->found, item[l->at], item[other], l->err);
  atomic_store_explicit(&s->meet, true, memory_order_relaxed);
  if (how != MEET_CROSS) return 0;
  atomic_store_explicit(&s->cross, true, memory_order_relaxed);
  return 1;
}

static rf_status search_chunk(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker;
  searching *s = context;
  const rf_closest *all = s->closest;
  const int32_t from = (int32_t)task * CHUNK;
  const int32_t to = from < all->n_triangles - CHUNK ? from + CHUNK : all->n_triangles;
  for (int32_t at = from; at < to; ++at) {
    if (!s->found && atomic_load_explicit(&s->cross, memory_order_relaxed)) return RF_OK;
    if (!(all->triangle[at].one > 0.0)) continue;
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    const int32_t *v = s->surface->triangles + 3 * (size_t)all->bvh.item[at];
    for (int k = 0; k < 9; ++k) {
      const double x = s->surface->vertices[3 * (size_t)v[k / 3] + (size_t)(k % 3)];
      low[k % 3] = fmin(low[k % 3], x);
      high[k % 3] = fmax(high[k % 3], x);
    }
    pair_test l = {s, at, s->found ? &s->found[task] : NULL, err};
    const int stop = rf_bvh_overlap(&all->bvh, low, high, test_pair, &l);
    if (stop < 0) return (rf_status)stop;
  }
  return RF_OK;
}

// Scales by a power of two, which is exact.
rf_status rf_crossings_corners(const rf_surface *s, const rf_closest *c, double **out,
                               rf_error *err) {
  rf_status st = RF_OK;
  double lo[3], hi[3], largest = 0.0, side = 0.0, *scaled = NULL;
  int exponent;
  *out = NULL;
  rf_surface_bounds(s, lo, hi);
  for (int i = 0; i < 3; ++i) {
    largest = fmax(largest, fmax(fabs(lo[i]), fabs(hi[i])));
    side = fmax(side, hi[i] - lo[i]);
  }
  // normals contain fourth powers of the sides
  if (side > 0.0 && !(side > 1e-70 && side < 1e70))
    return rf_fail(err, RF_ERR_MESH,
                   "the surface is %.3g m long, so areas of its triangles are beyond the range of "
                   "numbers: its self-intersections cannot be found",
                   side);
  frexp(largest, &exponent);
  RF_ALLOC(scaled, 9 * (size_t)c->n_triangles);
  const double least = ldexp(1.0, TINY);
  for (int32_t at = 0; at < c->n_triangles; ++at) {
    const int32_t *v = s->triangles + 3 * (size_t)c->bvh.item[at];
    for (int k = 0; k < 9; ++k) {
      const double x = ldexp(s->vertices[3 * (size_t)v[k / 3] + (size_t)(k % 3)], -exponent);
      scaled[9 * (size_t)at + (size_t)k] = fabs(x) < least ? 0.0 : x;
    }
  }
done:
  *out = scaled;
  return st;
}

static int64_t tasks_of(const rf_closest *c) { return (c->n_triangles - 1) / CHUNK + 1; }

static int by_triangles(const void *a, const void *b) {
  const int32_t *p = a, *q = b;
  return p[0] != q[0] ? (p[0] < q[0] ? -1 : 1) : (p[1] > q[1]) - (p[1] < q[1]);
}

rf_status rf_crossings_find(const rf_surface *surface, const rf_closest *closest, const rf_run *run,
                            rf_crossings *out, rf_error *err) {
  rf_status st = RF_OK;
  searching s = {.surface = surface, .closest = closest};
  const int64_t tasks = tasks_of(closest);
  rf_crossings made = {0};
  *out = made;
  RF_TRY(rf_crossings_corners(surface, closest, &s.x, err));
  RF_ALLOC(s.found, tasks);
  RF_TRY(rf_run_tasks(run, tasks, 1, search_chunk, &s, err));
  for (int64_t k = 0; k < tasks; ++k) made.n += s.found[k].n;
  RF_ALLOC(made.pair, 2 * made.n);
  int64_t at = 0;
  for (int64_t k = 0; k < tasks; ++k) {
    const found *f = &s.found[k];
    if (f->n > 0) memcpy(made.pair + 2 * at, f->pair, 2 * (size_t)f->n * sizeof *f->pair);
    at += f->n;
  }
  qsort(made.pair, (size_t)made.n, 2 * sizeof *made.pair, by_triangles);
  *out = made;
  made = (rf_crossings){0};
done:
  for (int64_t k = 0; s.found && k < tasks; ++k) rf_free(s.found[k].pair);
  rf_free(s.found);
  rf_free(s.x);
  rf_crossings_free(&made);
  return st;
}

void rf_crossings_free(rf_crossings *c) {
  rf_free(c->pair);
  *c = (rf_crossings){0};
}

rf_status rf_crossings_any(const rf_surface *surface, const rf_closest *closest, const rf_run *run,
                           bool *meet, bool *cross, rf_error *err) {
  rf_status st = RF_OK;
  searching s = {.surface = surface, .closest = closest};
  RF_TRY(rf_crossings_corners(surface, closest, &s.x, err));
  RF_TRY(rf_run_tasks(run, tasks_of(closest), 0, search_chunk, &s, err));
  *cross = s.cross;
  *meet = s.meet;
done:
  rf_free(s.x);
  return st;
}

// ---- boundary of a solid ------------------------------------------------------------------------

// True if all triangles are connected through edges; contact at vertices is not enough.
static rf_status is_one_piece(const rf_closest *c, bool *out, rf_error *err) {
  rf_status st = RF_OK;
  int32_t *root = NULL, *on = NULL;  // of each triangle; last triangle on each edge, + 1
  int32_t pieces = c->n_triangles;
  RF_ALLOC(root, c->n_triangles);
  RF_ALLOC(on, c->n_edges);
  for (int32_t t = 0; t < c->n_triangles; ++t) {
    root[t] = t;
    for (int k = 0; k < 3; ++k) {
      int32_t *other = &on[c->edge[3 * (size_t)t + (size_t)k]];
      if (*other && rf_disjoint_join(root, t, *other - 1)) --pieces;
      *other = t + 1;
    }
  }
  *out = pieces == 1;
done:
  rf_free(root);
  rf_free(on);
  return st;
}

rf_status rf_crossings_bound_solid(const rf_surface *surface, const rf_closest *closest,
                                   const rf_run *run, bool *out, rf_error *err) {
  rf_surface_report report;
  bool one = false, meet = false, cross = false;
  *out = false;
  rf_status st = rf_surface_measure(surface, &report, err);
  if (st < 0 || !(report.closed && report.manifold && report.n_degenerate == 0)) return st;
  if ((st = is_one_piece(closest, &one, err)) < 0 || !one) return st;
  st = rf_crossings_any(surface, closest, run, &meet, &cross, err);
  *out = st == RF_OK && !meet;
  return st;
}
