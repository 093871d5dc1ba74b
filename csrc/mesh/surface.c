#include "mesh/surface.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "linalg/vec3.h"

// Twice the area below this fraction of the squared longest edge counts as rounding.
static const double DEGENERATE = 1e-14;

rf_status rf_surface_check(const rf_surface *s, rf_error *err) {
  if (!(s->n_triangles >= 1)) return rf_fail(err, RF_ERR_MESH, "the surface has no triangles");
  if (!(s->n_vertices >= 1)) return rf_fail(err, RF_ERR_MESH, "the surface has no vertices");
  for (int32_t i = 0; i < s->n_vertices; ++i) {
    const double *x = s->vertices + 3 * (size_t)i;
    if (!(isfinite(x[0]) && isfinite(x[1]) && isfinite(x[2])))
      return rf_fail(err, RF_ERR_MESH, "vertex %d is at (%g, %g, %g): coordinates must be finite",
                     (int)i, x[0], x[1], x[2]);
  }
  for (int32_t t = 0; t < s->n_triangles; ++t)
    for (int a = 0; a < 3; ++a) {
      const int32_t v = s->triangles[3 * (size_t)t + (size_t)a];
      if (!(v >= 0 && v < s->n_vertices))
        return rf_fail(err, RF_ERR_MESH, "triangle %d refers to vertex %d; allowed are 0 to %d",
                       (int)t, (int)v, (int)(s->n_vertices - 1));
    }
  return RF_OK;
}

void rf_surface_bounds(const rf_surface *s, double lo[3], double hi[3]) {
  for (int c = 0; c < 3; ++c) lo[c] = INFINITY, hi[c] = -INFINITY;
  for (size_t i = 0; i < 3 * (size_t)s->n_triangles; ++i) {
    const double *x = s->vertices + 3 * (size_t)s->triangles[i];
    for (int c = 0; c < 3; ++c) {
      if (x[c] < lo[c]) lo[c] = x[c];
      if (x[c] > hi[c]) hi[c] = x[c];
    }
  }
}

double rf_surface_triangle_area(const rf_surface *s, int32_t triangle) {
  const int32_t *corner = s->triangles + 3 * (size_t)triangle;
  const double *a = s->vertices + 3 * (size_t)corner[0];
  double u[3], v[3], n[3];
  rf_vec3_sub(s->vertices + 3 * (size_t)corner[1], a, u);
  rf_vec3_sub(s->vertices + 3 * (size_t)corner[2], a, v);
  rf_vec3_cross(u, v, n);
  return 0.5 * rf_vec3_length(n);
}

// ---- hashing ----------------------------------------------------------------

static uint64_t mix(uint64_t h, uint64_t value) {
  h = (h ^ value) * UINT64_C(0x9E3779B97F4A7C15);
  return h ^ (h >> 29);
}

// Returns a power of two that keeps the table at most half full.
static size_t table_size(size_t entries) {
  size_t size = 16;
  while (size < 2 * entries) size *= 2;
  return size;
}

static uint64_t hash_point(const double *x) {
  uint64_t h = 0;
  for (int c = 0; c < 3; ++c) {
    const double value = x[c] + 0.0;  // -0 and 0 are equal
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    h = mix(h, bits);
  }
  return h;
}

rf_status rf_surface_merge(int32_t n_vertices, const double *vertices, int32_t *first,
                           rf_error *err) {
  rf_status st = RF_OK;
  int32_t *table = NULL;  // vertex + 1, 0: empty
  const size_t size = table_size((size_t)n_vertices);
  RF_ALLOC(table, size);
  for (int32_t i = 0; i < n_vertices; ++i) {
    const double *x = vertices + 3 * (size_t)i;
    size_t at = (size_t)hash_point(x) & (size - 1);
    for (; table[at]; at = (at + 1) & (size - 1)) {
      const double *y = vertices + 3 * (size_t)(table[at] - 1);
      if (x[0] == y[0] && x[1] == y[1] && x[2] == y[2]) break;
    }
    if (!table[at]) table[at] = i + 1;
    first[i] = table[at] - 1;
  }
done:
  rf_free(table);
  return st;
}

typedef struct edge_count {
  int32_t low, high;      // vertices, low < high; both 0: empty slot
  int32_t total, excess;  // triangles on the edge; those running up minus those running down
} edge_count;

static void count_edge(edge_count *table, size_t size, int32_t from, int32_t to) {
  const int32_t low = from < to ? from : to, high = from < to ? to : from;
  size_t at = (size_t)mix(mix(0, (uint64_t)low), (uint64_t)high) & (size - 1);
  while (table[at].total && !(table[at].low == low && table[at].high == high))
    at = (at + 1) & (size - 1);
  table[at].low = low;
  table[at].high = high;
  table[at].total += 1;
  table[at].excess += from < to ? 1 : -1;
}

// ---- measures ---------------------------------------------------------------

rf_status rf_surface_measure(const rf_surface *s, rf_surface_report *out, rf_error *err) {
  rf_status st = RF_OK;
  int32_t *first = NULL;
  edge_count *edges = NULL;
  *out = (rf_surface_report){.closed = true, .manifold = true};
  const size_t size = table_size(3 * (size_t)s->n_triangles);
  RF_ALLOC(first, s->n_vertices);
  RF_ALLOC(edges, size);
  RF_TRY(rf_surface_merge(s->n_vertices, s->vertices, first, err));

  // tets with a vertex of the surface as apex: small numbers, little cancellation
  const double *apex = s->vertices + 3 * (size_t)s->triangles[0];
  for (int32_t t = 0; t < s->n_triangles; ++t) {
    const int32_t *tri = s->triangles + 3 * (size_t)t;
    double x[3][3], u[3], v[3], w[3], normal[3];
    for (int a = 0; a < 3; ++a)
      for (int c = 0; c < 3; ++c) x[a][c] = s->vertices[3 * (size_t)tri[a] + (size_t)c] - apex[c];
    rf_vec3_sub(x[1], x[0], u);
    rf_vec3_sub(x[2], x[0], v);
    rf_vec3_sub(x[2], x[1], w);
    rf_vec3_cross(u, v, normal);
    const double twice = rf_vec3_length(normal);
    const double longest = fmax(rf_vec3_dot(u, u), fmax(rf_vec3_dot(v, v), rf_vec3_dot(w, w)));
    if (!(twice > DEGENERATE * longest)) ++out->n_degenerate;
    out->area += 0.5 * twice;
    out->volume += rf_vec3_dot(x[0], normal) / 6.0;

    // edges of a triangle that uses a point twice do not count
    const int32_t p[3] = {first[tri[0]], first[tri[1]], first[tri[2]]};
    if (p[0] == p[1] || p[1] == p[2] || p[2] == p[0]) continue;
    for (int a = 0; a < 3; ++a) count_edge(edges, size, p[a], p[(a + 1) % 3]);
  }
  for (size_t i = 0; i < size; ++i) {
    if (edges[i].excess != 0) out->closed = false;
    if (edges[i].total > 2) out->manifold = false;
  }

done:
  rf_free(first);
  rf_free(edges);
  return st;
}

rf_status rf_surface_normals(const rf_surface *s, double *normals, rf_error *err) {
  const rf_status st = rf_surface_check(s, err);
  if (st < 0) return st;
  memset(normals, 0, 3 * (size_t)s->n_vertices * sizeof *normals);
  for (int32_t t = 0; t < s->n_triangles; ++t) {
    const int32_t *corner = s->triangles + 3 * (size_t)t;
    double side[3][3], n[3];
    // side c begins at corner c
    for (int c = 0; c < 3; ++c)
      rf_vec3_sub(s->vertices + 3 * (size_t)corner[(c + 1) % 3],
                  s->vertices + 3 * (size_t)corner[c], side[c]);
    rf_vec3_cross(side[0], side[1], n);
    const double twice_area = rf_vec3_length(n);
    if (!(twice_area > 0.0)) continue;
    for (int c = 0; c < 3; ++c) {
      // the angle between the outgoing and the reversed incoming side
      const double angle = atan2(twice_area, -rf_vec3_dot(side[c], side[(c + 2) % 3]));
      double *to = normals + 3 * (size_t)corner[c];
      for (int i = 0; i < 3; ++i) to[i] += angle / twice_area * n[i];
    }
  }
  for (int32_t v = 0; v < s->n_vertices; ++v) {
    double *n = normals + 3 * (size_t)v;
    const double length = rf_vec3_length(n);
    for (int i = 0; i < 3; ++i) n[i] = length > 0.0 ? n[i] / length : 0.0;
  }
  return RF_OK;
}

rf_hit rf_surface_cast(const rf_surface *s, const double origin[3], const double direction[3]) {
  rf_hit hit = {.triangle = -1, .distance = INFINITY};
  for (int32_t t = 0; t < s->n_triangles; ++t) {
    const int32_t *corner = s->triangles + 3 * (size_t)t;
    const double *x = s->vertices + 3 * (size_t)corner[0];
    double u[3], v[3], w[3], d[3], q[3];
    rf_vec3_sub(s->vertices + 3 * (size_t)corner[1], x, u);
    rf_vec3_sub(s->vertices + 3 * (size_t)corner[2], x, v);
    rf_vec3_sub(origin, x, w);
    // Cramer's rule for w = a u + b v - t direction
    rf_vec3_cross(direction, v, d);
    const double det = rf_vec3_dot(u, d);
    if (det == 0.0) continue;
    rf_vec3_cross(w, u, q);
    const double a = rf_vec3_dot(w, d) / det, b = rf_vec3_dot(direction, q) / det;
    const double distance = rf_vec3_dot(v, q) / det;
    if (!(a >= 0.0 && b >= 0.0 && a + b <= 1.0 && distance >= 0.0)) continue;
    if (!(distance < hit.distance)) continue;
    hit = (rf_hit){t, distance, {1.0 - a - b, a, b}};
  }
  return hit;
}
