#include "mesh/thickness.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "linalg/vec3.h"
#include "mesh/bvh.h"
#include "mesh/orientation.h"
#include "mesh/winding.h"

enum { CHUNK = 128, MOST = 64 };    // triangles per task; limit of crossings per ray
static const double BESIDE = 1e-6;  // relative to the surface's size: counts as on the surface
static const double EDGE = 1e-9;    // relative to the sides: rays between triangles hit both

typedef struct measuring {
  const rf_surface *surface;
  const uint8_t *reversed;
  const rf_winding *winding;
  const rf_bvh *bvh;
  double beside;  // m
  int64_t n;
  const int32_t *of;  // triangles measured; NULL: all                                       (n)
  double *out;
} measuring;

// Computes corner `a`, vectors to the other corners in outward order, and the normal, not unit.
static void triangle_of(const measuring *m, int32_t t, const double **a, double ab[3], double ac[3],
                        double normal[3]) {
  const int32_t *v = m->surface->triangles + 3 * (size_t)t;
  const int turned = m->reversed[t] != 0;
  *a = m->surface->vertices + 3 * (size_t)v[0];
  rf_vec3_sub(m->surface->vertices + 3 * (size_t)v[turned ? 2 : 1], *a, ab);
  rf_vec3_sub(m->surface->vertices + 3 * (size_t)v[turned ? 1 : 2], *a, ac);
  rf_vec3_cross(ab, ac, normal);
}

// A ray, and the interval in which it may leave the body.
typedef struct ray {
  double from[3], way[3];  // origin, m; unit direction
  double after, until;     // range of distances to search
} ray;

// Returns the distance at which the ray crosses triangle t outward; INFINITY: none.
static double crossing_of(const measuring *m, int32_t t, const ray *r) {
  const double *a;
  double ab[3], ac[3], n[3], from[3], q[3];
  triangle_of(m, t, &a, ab, ac, n);
  const double along = rf_vec3_dot(n, r->way), twice2 = rf_vec3_dot(n, n);
  if (!(along > 0.0) || !(along * along > 1e-24 * twice2)) return INFINITY;
  rf_vec3_sub(r->from, a, from);
  // barycentric coordinates times n . direction
  rf_vec3_cross(from, r->way, q);
  const double u = -rf_vec3_dot(ac, q), v = rf_vec3_dot(ab, q), least = -EDGE * along;
  if (!(u >= least && v >= least && u + v <= along - least)) return INFINITY;
  return -rf_vec3_dot(n, from) / along;
}

// True if the ray meets a box before `until`.
static bool meets_box(const double *box, const ray *r) {
  double first = r->after, last = r->until;
  for (int c = 0; c < 3; ++c) {
    if (r->way[c] == 0.0) {
      if (r->from[c] < box[c] || r->from[c] > box[3 + c]) return false;
      continue;
    }
    const double p = (box[c] - r->from[c]) / r->way[c], q = (box[3 + c] - r->from[c]) / r->way[c];
    first = fmax(first, fmin(p, q) - fabs(p) * 1e-12);
    last = fmin(last, fmax(p, q) + fabs(q) * 1e-12);
  }
  return first <= last;
}

// Finds the next outward crossing; INFINITY: none.
static double next_crossing(const measuring *m, ray *r) {
  const rf_bvh *b = m->bvh;
  int32_t stack[RF_BVH_STACK];
  int depth = 0;
  r->until = INFINITY;
  stack[depth++] = 0;
  while (depth > 0) {
    const int32_t node = stack[--depth];
    if (!meets_box(b->box + 6 * (size_t)node, r)) continue;
    if (b->count[node] == 0) {
      stack[depth++] = b->first[node];
      stack[depth++] = b->first[node] + 1;
      continue;
    }
    for (int32_t i = b->first[node]; i < b->first[node] + b->count[node]; ++i) {
      const double at = crossing_of(m, b->item[i], r);
      if (at > r->after && at < r->until) r->until = at;
    }
  }
  return r->until;
}

static double winding_along(const measuring *m, const ray *r, double at) {
  double p[3];
  for (int c = 0; c < 3; ++c) p[c] = r->from[c] + at * r->way[c];
  return rf_winding_at(m->winding, p);
}

static double thickness_of(const measuring *m, int32_t t) {
  const double *a;
  double ab[3], ac[3], n[3];
  ray r;
  triangle_of(m, t, &a, ab, ac, n);
  const double length = rf_vec3_length(n);
  if (!(length > 0.0)) return 0.0;
  for (int c = 0; c < 3; ++c) {
    r.from[c] = a[c] + (ab[c] + ac[c]) / 3.0;
    r.way[c] = -n[c] / length;
  }
  if (winding_along(m, &r, -m->beside) > RF_WINDING_INSIDE) return INFINITY;
  if (!(winding_along(m, &r, m->beside) > RF_WINDING_INSIDE)) return 0.0;
  r.after = m->beside;
  for (int k = 0; k < MOST; ++k) {
    const double at = next_crossing(m, &r);
    if (at == INFINITY) return INFINITY;
    if (!(winding_along(m, &r, at + m->beside) > RF_WINDING_INSIDE)) return at;
    r.after = at + m->beside;
  }
  return INFINITY;
}

static rf_status measure_chunk(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const measuring *m = context;
  const int64_t from = task * CHUNK;
  for (int64_t k = from; k < m->n && k < from + CHUNK; ++k)
    m->out[k] = thickness_of(m, m->of ? m->of[k] : (int32_t)k);
  return RF_OK;
}

static rf_status make_tree(const rf_surface *s, const rf_run *run, rf_bvh *out, rf_error *err) {
  rf_status st = RF_OK;
  double *boxes = NULL;
  RF_ALLOC(boxes, 6 * (size_t)s->n_triangles);
  for (int32_t t = 0; t < s->n_triangles; ++t) {
    const rf_surface one = {s->n_vertices, 1, s->vertices, s->triangles + 3 * (size_t)t};
    rf_surface_bounds(&one, boxes + 6 * (size_t)t, boxes + 6 * (size_t)t + 3);
  }
  RF_TRY(rf_bvh_create(s->n_triangles, boxes, run, out, err));
done:
  rf_free(boxes);
  return st;
}

rf_status rf_surface_thickness(const rf_surface *s, int64_t n, const int32_t *of, const rf_run *run,
                               double *thickness, rf_error *err) {
  rf_status st = RF_OK;
  uint8_t *reversed = NULL;
  rf_winding *winding = NULL;
  rf_bvh bvh = {0};
  double low[3], high[3], size = 0.0;
  RF_ALLOC(reversed, s->n_triangles);
  RF_TRY(rf_orientation_find(s, run, reversed, err));
  RF_TRY(rf_winding_create_reversed(s, reversed, run, &winding, err));
  RF_TRY(make_tree(s, run, &bvh, err));
  rf_surface_bounds(s, low, high);
  for (int c = 0; c < 3; ++c) size = fmax(size, high[c] - low[c]);
  measuring m = {.surface = s,
                 .reversed = reversed,
                 .winding = winding,
                 .bvh = &bvh,
                 .beside = BESIDE * size,
                 .n = n,
                 .of = of,
                 .out = thickness};
  RF_TRY(rf_run_tasks(run, (m.n + CHUNK - 1) / CHUNK, 1, measure_chunk, &m, err));
done:
  rf_free(reversed);
  rf_winding_free(winding);
  rf_bvh_free(&bvh);
  return st;
}
