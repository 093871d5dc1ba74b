#include "mesh/closest.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "linalg/curve.h"
#include "linalg/orient.h"
#include "linalg/vec3.h"

// Twice the area below this fraction of the squared longest side counts as rounding.
static const double DEGENERATE = 1e-14;
// Below this fraction the normal is computed from exact products.
static const double THIN = 1e-3;
// Relative error of squared distances from planes, over the squared distance from a corner.
static const double ROUNDING = 1e-12;
enum { HAND_OVERS = 3 };  // passes that carry normals into triangles without area
enum { ASK = 1 << 16 };   // triangles, or sides, between polls

void rf_closest_free(rf_closest *c) {
  if (!c) return;
  rf_bvh_free(&c->bvh);
  rf_wide_free(&c->wide);
  rf_free(c->triangle);
  rf_free(c->edge);
  rf_free(c->vertex);
  rf_free(c->edge_normal);
  rf_free(c->vertex_normal);
  rf_free(c);
}

static double inverse_square(const double *way) {
  const double square = rf_vec3_dot(way, way);
  const double inverse = square > 0.0 ? 1.0 / square : 0.0;
  return isfinite(inverse) ? inverse : 0.0;
}

static void set_triangle(const rf_surface *s, int32_t which, rf_closest_triangle *t) {
  const int32_t *corner = s->triangles + 3 * (size_t)which;
  const double *a = s->vertices + 3 * (size_t)corner[0], *b = s->vertices + 3 * (size_t)corner[1],
               *c = s->vertices + 3 * (size_t)corner[2];
  double bc[3], n[3];
  *t = (rf_closest_triangle){.one = -1.0};
  memcpy(t->a, a, sizeof t->a);
  rf_vec3_sub(b, a, t->ab);
  rf_vec3_sub(c, a, t->ac);
  rf_vec3_sub(c, b, bc);
  t->iab = inverse_square(t->ab);
  t->iac = inverse_square(t->ac);
  t->ibc = inverse_square(bc);
  rf_vec3_cross(t->ab, t->ac, n);
  double twice = rf_vec3_length(n);
  const double longest =
      fmax(fmax(rf_vec3_dot(t->ab, t->ab), rf_vec3_dot(t->ac, t->ac)), rf_vec3_dot(bc, bc));
  if (twice < THIN * longest) {
    rf_orient_normal(a, b, c, n);
    twice = rf_vec3_length(n);
  }
  if (!(twice > DEGENERATE * longest)) return;
  for (int i = 0; i < 3; ++i) t->normal[i] = n[i] / twice;
  // dual basis in the plane: u . ab = 1, u . ac = 0 and v . ac = 1, v . ab = 0
  rf_vec3_cross(t->ac, t->normal, t->u);
  rf_vec3_cross(t->normal, t->ab, t->v);
  for (int i = 0; i < 3; ++i) t->u[i] /= twice, t->v[i] /= twice;
  for (int i = 0; i < 3; ++i)
    if (!(isfinite(t->u[i]) && isfinite(t->v[i]))) {
      memset(t->u, 0, sizeof t->u);
      memset(t->v, 0, sizeof t->v);
      return;
    }
  t->one = 1.0;
}

// ---- sides ------------------------------------------------------------------------

static uint64_t hash_pair(int32_t low, int32_t high) {
  uint64_t h = ((uint64_t)(uint32_t)low << 32 | (uint32_t)high) * UINT64_C(0x9E3779B97F4A7C15);
  return h ^ (h >> 31);
}

// Numbers the sides of the triangles; sides between the same vertices get one number.
static rf_status number_edges(rf_closest *c, const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  int32_t *table = NULL, *ends = NULL;
  const size_t sides = 3 * (size_t)c->n_triangles;
  size_t size = 16;
  while (size < 2 * sides) size *= 2;
  RF_ALLOC(table, size);  // edge + 1; 0: empty
  RF_ALLOC(ends, 2 * sides);
  for (size_t i = 0; i < sides; ++i) {
    if (i % ASK == 0) RF_TRY(rf_run_poll(run, err));
    const int32_t *v = c->vertex + i / 3 * 3;
    const int32_t from = v[i % 3], to = v[(i + 1) % 3];
    const int32_t low = from < to ? from : to, high = from < to ? to : from;
    size_t at = (size_t)hash_pair(low, high) & (size - 1);
    for (; table[at]; at = (at + 1) & (size - 1)) {
      const int32_t *e = ends + 2 * (size_t)(table[at] - 1);
      if (e[0] == low && e[1] == high) break;
    }
    if (!table[at]) {
      ends[2 * (size_t)c->n_edges] = low;
      ends[2 * (size_t)c->n_edges + 1] = high;
      table[at] = ++c->n_edges;
    }
    c->edge[i] = table[at] - 1;
  }
  RF_ALLOC(c->edge_normal, 3 * (size_t)c->n_edges);
done:
  rf_free(table);
  rf_free(ends);
  return st;
}

// True if a triangle uses a point twice: its sides belong to others or have no length.
static bool is_line(const rf_closest *c, int32_t t) {
  const int32_t *v = c->vertex + 3 * (size_t)t;
  return v[0] == v[1] || v[1] == v[2] || v[2] == v[0];
}

static void sum_edge_normals(rf_closest *c) {
  memset(c->edge_normal, 0, 3 * (size_t)c->n_edges * sizeof *c->edge_normal);
  for (int32_t t = 0; t < c->n_triangles; ++t) {
    if (is_line(c, t)) continue;
    for (int e = 0; e < 3; ++e)
      for (int i = 0; i < 3; ++i)
        c->edge_normal[3 * (size_t)c->edge[3 * (size_t)t + (size_t)e] + (size_t)i] +=
            c->triangle[t].normal[i];
  }
}

static rf_status set_normals(rf_closest *c, const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  sum_edge_normals(c);
  for (int pass = 0; pass < HAND_OVERS; ++pass) {
    bool any = false;
    for (int32_t t = 0; t < c->n_triangles; ++t) {
      rf_closest_triangle *one = &c->triangle[t];
      if (one->one > 0.0 || is_line(c, t)) continue;
      double sum[3] = {0.0, 0.0, 0.0};
      for (int e = 0; e < 3; ++e)
        for (int i = 0; i < 3; ++i)
          sum[i] += c->edge_normal[3 * (size_t)c->edge[3 * (size_t)t + (size_t)e] + (size_t)i];
      const double length = rf_vec3_length(sum);
      for (int i = 0; i < 3 && length > 0.0; ++i) one->normal[i] = sum[i] / length;
      any = true;
    }
    if (!any) break;
    sum_edge_normals(c);
  }
  for (int32_t t = 0; t < c->n_triangles; ++t) {
    if (t % ASK == 0) RF_TRY(rf_run_poll(run, err));
    const rf_closest_triangle *one = &c->triangle[t];
    if (!(one->one > 0.0)) continue;
    double side[3][3];
    memcpy(side[0], one->ab, sizeof side[0]);
    rf_vec3_sub(one->ac, one->ab, side[1]);
    for (int i = 0; i < 3; ++i) side[2][i] = -one->ac[i];
    for (int k = 0; k < 3; ++k) {
      double n[3];
      rf_vec3_cross(side[k], side[(k + 2) % 3], n);
      // the angle between the outgoing and the reversed incoming side
      const double angle = atan2(rf_vec3_length(n), -rf_vec3_dot(side[k], side[(k + 2) % 3]));
      double *to = c->vertex_normal + 3 * (size_t)c->vertex[3 * (size_t)t + (size_t)k];
      for (int i = 0; i < 3; ++i) to[i] += angle * one->normal[i];
    }
  }
done:
  return st;
}

rf_status rf_closest_create(const rf_surface *s, const rf_run *run, rf_closest **out,
                            rf_error *err) {
  rf_status st = RF_OK;
  rf_closest *c = NULL;
  double *boxes = NULL;
  int32_t *first = NULL;
  const size_t n = (size_t)s->n_triangles;
  *out = NULL;
  if (!(s->n_triangles <= INT32_MAX / 6))
    return rf_fail(err, RF_ERR_ARG, "a surface of %d triangles is too large to be searched",
                   (int)s->n_triangles);
  RF_ALLOC(c, 1);
  c->n_triangles = s->n_triangles;
  RF_ALLOC(boxes, 6 * n);
  RF_ALLOC(first, s->n_vertices);
  RF_ALLOC(c->triangle, n);
  RF_ALLOC(c->edge, 3 * n);
  RF_ALLOC(c->vertex, 3 * n);
  RF_ALLOC(c->vertex_normal, 3 * (size_t)s->n_vertices);
  RF_TRY(rf_surface_merge(s->n_vertices, s->vertices, first, err));
  for (size_t t = 0; t < n; ++t) {
    double *box = boxes + 6 * t;
    for (int i = 0; i < 3; ++i) box[i] = INFINITY, box[3 + i] = -INFINITY;
    for (int k = 0; k < 3; ++k) {
      const double *x = s->vertices + 3 * (size_t)s->triangles[3 * t + (size_t)k];
      for (int i = 0; i < 3; ++i) {
        box[i] = fmin(box[i], x[i]);
        box[3 + i] = fmax(box[3 + i], x[i]);
      }
    }
  }
  RF_TRY(rf_bvh_create(s->n_triangles, boxes, run, &c->bvh, err));
  RF_TRY(rf_wide_create(&c->bvh, &c->wide, err));
  for (size_t at = 0; at < n; ++at) {
    if (at % ASK == 0) RF_TRY(rf_run_poll(run, err));
    const int32_t t = c->bvh.item[at];
    set_triangle(s, t, &c->triangle[at]);
    for (int k = 0; k < 3; ++k)
      c->vertex[3 * at + (size_t)k] = first[s->triangles[3 * (size_t)t + (size_t)k]];
  }
  RF_TRY(number_edges(c, run, err));
  RF_TRY(set_normals(c, run, err));
  *out = c;
  c = NULL;
done:
  rf_closest_free(c);
  rf_free(boxes);
  rf_free(first);
  return st;
}

// ---- nearest points ------------------------------------------------------------------

// Returns the squared distance of a triangle from the point at w, relative to corner a.  foot:
// nearest point, relative to a; where: 0 inside, 1 .. 3 on the sides ab, bc, ca, 4 .. 6 at the
// corners a, b, c.
static double triangle_square(const rf_closest_triangle *t, const double *w, double *foot,
                              int *where) {
  const double u = rf_vec3_dot(t->u, w), v = rf_vec3_dot(t->v, w);
  if (u >= 0.0 && v >= 0.0 && u + v <= t->one) {
    const double height = rf_vec3_dot(t->normal, w);
    for (int i = 0; i < 3; ++i) foot[i] = w[i] - height * t->normal[i];
    *where = 0;
    return height * height;
  }
  double best = INFINITY;
  for (int side = 0; side < 3; ++side) {
    double from[3] = {0.0, 0.0, 0.0}, way[3], q[3];
    memcpy(way, side == 0 ? t->ab : t->ac, sizeof way);
    if (side == 1) {
      memcpy(from, t->ab, sizeof from);
      rf_vec3_sub(t->ac, t->ab, way);
    }
    const double inverse = side == 0 ? t->iab : side == 1 ? t->ibc : t->iac;
    double along = 0.0;
    for (int i = 0; i < 3; ++i) along += (w[i] - from[i]) * way[i];
    along *= inverse;
    const double held = along > 0.0 ? (along < 1.0 ? along : 1.0) : 0.0;
    double square = 0.0;
    for (int i = 0; i < 3; ++i) {
      q[i] = from[i] + held * way[i];
      square += (w[i] - q[i]) * (w[i] - q[i]);
    }
    if (!(square < best)) continue;
    best = square;
    memcpy(foot, q, sizeof q);
    // the side ca is stored from a to c
    const int begin = side == 1 ? 5 : 4, end = side == 0 ? 5 : 6;
    *where = held <= 0.0 ? begin : held >= 1.0 ? end : side + 1;
  }
  return best;
}

static void describe(const rf_closest *c, int32_t at, const double *foot, int where,
                     rf_closest_place *out) {
  const rf_closest_triangle *t = &c->triangle[at];
  const double *normal = t->normal;
  out->feature = where == 0 ? RF_FEATURE_FACE : where < 4 ? RF_FEATURE_EDGE : RF_FEATURE_VERTEX;
  if (where >= 4)
    normal = c->vertex_normal + 3 * (size_t)c->vertex[3 * (size_t)at + (size_t)(where - 4)];
  else if (where >= 1)
    normal = c->edge_normal + 3 * (size_t)c->edge[3 * (size_t)at + (size_t)(where - 1)];
  for (int i = 0; i < 3; ++i) {
    out->place[i] = t->a[i] + foot[i];
    out->normal[i] = normal[i];
  }
  out->triangle = c->bvh.item[at];
}

void rf_closest_of_triangle(const rf_closest *c, int32_t at, const double p[3],
                            rf_closest_place *out) {
  double w[3], foot[3] = {0.0, 0.0, 0.0};
  int where = 4;
  rf_vec3_sub(p, c->triangle[at].a, w);
  out->distance = sqrt(triangle_square(&c->triangle[at], w, foot, &where));
  describe(c, at, foot, where, out);
}

// True if the plane of a triangle is further from w than the bound, rounding allowed for.
static inline bool beyond_plane(const rf_closest_triangle *t, const double *w, double bound) {
  const double height = rf_vec3_dot(t->normal, w);
  return t->one > 0.0 && height * height > bound + ROUNDING * rf_vec3_dot(w, w);
}

// Finds the nearest triangle; -1 if none is nearer than the bound.  `facing` may be NULL; start: a
// triangle likely to be near, or -1.
static inline int32_t search(const rf_closest *c, const double p[3], double bound,
                             const double *facing, double least, int32_t start,
                             rf_closest_place *out) {
  double best = bound * bound, best_foot[3] = {0.0, 0.0, 0.0};
  int32_t best_at = -1, first = 0, count;
  int best_where = 0;
  if (!(isfinite(p[0]) && isfinite(p[1]) && isfinite(p[2]))) return -1;
  if (start >= 0) {
    double w[3];
    rf_vec3_sub(p, c->triangle[start].a, w);
    const double square = triangle_square(&c->triangle[start], w, best_foot, &best_where);
    if (square < best) best = square, best_at = start;
  }
  rf_wide_search s;
  rf_wide_begin(&s, &c->wide, p, best);
  while ((count = rf_wide_next(&s, &first)) > 0)
    for (int32_t at = first; at < first + count; ++at) {
      const rf_closest_triangle *t = &c->triangle[at];
      double w[3], foot[3];
      int where;
      if (facing && !(rf_vec3_dot(t->normal, facing) > least)) continue;
      rf_vec3_sub(p, t->a, w);
      if (beyond_plane(t, w, best)) continue;
      const double square = triangle_square(t, w, foot, &where);
      if (!(square < best ||
            (square == best && best_at >= 0 && c->bvh.item[at] < c->bvh.item[best_at])))
        continue;
      best = square;
      best_at = at;
      best_where = where;
      memcpy(best_foot, foot, sizeof foot);
      rf_wide_bound(&s, best);
    }
  if (best_at < 0) return -1;
  out->distance = sqrt(best);
  describe(c, best_at, best_foot, best_where, out);
  return best_at;
}

bool rf_closest_find(const rf_closest *c, const double p[3], double bound, rf_closest_place *out) {
  return search(c, p, bound, NULL, 0.0, -1, out) >= 0;
}

rf_status rf_closest_find_all(const rf_closest *c, int64_t n, const double *points, double bound,
                              const rf_run *run, rf_closest_place *out, rf_error *err) {
  rf_status st = RF_OK;
  int64_t *order = NULL;
  int32_t last = -1;
  RF_ALLOC(order, n);
  // neighbours in space visit the same nodes, and the last result bounds the next search
  RF_TRY(rf_curve_order(n, points, order, err));
  for (int64_t k = 0; k < n; ++k) {
    if (k % ASK == 0) RF_TRY(rf_run_poll(run, err));
    const int64_t i = order[k];
    out[i] = (rf_closest_place){.distance = bound, .triangle = -1};
    const int32_t at = search(c, points + 3 * i, bound, NULL, 0.0, last, &out[i]);
    if (at >= 0) last = at;
  }
done:
  rf_free(order);
  return st;
}

bool rf_closest_find_facing(const rf_closest *c, const double p[3], double bound,
                            const double facing[3], double least, int32_t *at,
                            rf_closest_place *out) {
  *at = search(c, p, bound, facing, least, -1, out);
  return *at >= 0;
}
