#include "dynamics/barrier_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "dynamics/barrier_touch.h"
#include "linalg/vec3.h"
#include "mesh/crossings.h"
#include "mesh/winding.h"

static const double FLAT = 1e-20;  // squared sine of a corner of a triangle without area

int rf_barrier_key_order(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

int32_t rf_barrier_key_unique(int64_t *key, int32_t n) {
  int32_t kept = 0;
  qsort(key, (size_t)n, sizeof *key, rf_barrier_key_order);
  for (int32_t i = 0; i < n; ++i)
    if (kept == 0 || key[i] != key[kept - 1]) key[kept++] = key[i];
  return kept;
}

static void release_parts(rf_barrier_parts *base) {
  rf_barrier_shape *p = (rf_barrier_shape *)base;
  if (!p) return;
  int32_t *const arrays[] = {p->node, p->part, p->fixed, p->triangle, p->edge};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; ++i) rf_free(arrays[i]);
  rf_free(p->rest);
  rf_free(p->square);
  rf_free(p);
}

static rf_status check_triangle(const rf_barrier_shape *p, int32_t k, rf_error *err) {
  const int32_t *corner = p->triangle + 3 * (int64_t)k;
  double side[2][3], normal[3];
  for (int i = 0; i < 3; ++i)
    if (corner[i] < 0 || corner[i] >= p->n_vertices)
      return rf_fail(err, RF_ERR_ARG, "triangles[%d, %d] is %d: there are %d vertices", k, i,
                     corner[i], p->n_vertices);
  if (p->part[corner[0]] != p->part[corner[1]] || p->part[corner[0]] != p->part[corner[2]])
    return rf_fail(err, RF_ERR_ARG, "triangle %d has corners of several parts", k);
  for (int i = 0; i < 2; ++i)
    rf_vec3_sub(p->rest + 3 * (int64_t)corner[i + 1], p->rest + 3 * (int64_t)corner[0], side[i]);
  rf_vec3_cross(side[0], side[1], normal);
  if (rf_vec3_dot(normal, normal) >
      FLAT * rf_vec3_dot(side[0], side[0]) * rf_vec3_dot(side[1], side[1]))
    return RF_OK;
  return rf_fail(err, RF_ERR_ARG,
                 "contact of parts: triangle %d of the surface has no area (nodes %d, %d, %d): "
                 "repair the mesh",
                 k, p->node[corner[0]], p->node[corner[1]], p->node[corner[2]]);
}

static rf_status list_edges(rf_barrier_shape *p, rf_error *err) {
  rf_status st = RF_OK;
  int64_t *key = NULL;
  RF_ALLOC(key, 3 * (int64_t)p->n_triangles);
  for (int32_t k = 0; k < 3 * p->n_triangles; ++k)
    key[k] = rf_barrier_key(p->triangle[k], p->triangle[k % 3 == 2 ? k - 2 : k + 1], p->n_vertices);
  p->n_edges = rf_barrier_key_unique(key, 3 * p->n_triangles);
  RF_ALLOC(p->edge, 2 * (int64_t)p->n_edges);
  RF_ALLOC(p->square, p->n_edges);
  for (int32_t k = 0; k < p->n_edges; ++k) {
    const int64_t a = key[k] / p->n_vertices, b = key[k] % p->n_vertices;
    double side[3];
    rf_vec3_sub(p->rest + 3 * b, p->rest + 3 * a, side);
    p->edge[2 * k] = (int32_t)a;
    p->edge[2 * k + 1] = (int32_t)b;
    p->square[k] = rf_vec3_dot(side, side);
  }
done:
  rf_free(key);
  return st;
}

static rf_status take_vertices(const rf_barrier_surface *s, rf_barrier_shape *p, rf_error *err) {
  bool several = false;
  for (int32_t i = 0; i < s->n_vertices; ++i) {
    if (s->node[i] < 0 || s->node[i] >= s->n_all || (i > 0 && s->node[i] <= s->node[i - 1]))
      return rf_fail(err, RF_ERR_ARG, "nodes of the surface must ascend from 0 to %d",
                     s->n_all - 1);
    if (s->part[i] < 0 || s->part[i] >= s->n_vertices)
      return rf_fail(err, RF_ERR_ARG, "parts[%d] is %d: parts are numbered from 0 to at most %d", i,
                     s->part[i], s->n_vertices - 1);
    if (s->part[i] >= p->n_parts) p->n_parts = s->part[i] + 1;
    several = several || s->part[i] != s->part[0];
    p->node[i] = s->node[i];
    p->part[i] = s->part[i];
    p->fixed[i] = s->fixed[i] != 0;
    memcpy(p->rest + 3 * (int64_t)i, s->rest + 3 * (int64_t)s->node[i], 3 * sizeof *s->rest);
  }
  if (several || p->self) return RF_OK;
  return rf_fail(err, RF_ERR_ARG,
                 "parts is True, but the solid is of one part: contact of parts needs a mesh of "
                 "two or more that share no node (join_meshes)");
}

void rf_barrier_parts_gather(const rf_barrier_shape *p, const double *x, double factor,
                             double *out) {
  for (int64_t i = 0; i < 3 * (int64_t)p->n_vertices; ++i)
    out[i] = x ? factor * x[3 * (int64_t)p->node[i / 3] + i % 3] : 0.0;
}

static const rf_run ONE = {.threads = 1};

static rf_status require_no_crossing(const rf_barrier_shape *p, const rf_surface *surface,
                                     rf_error *err) {
  rf_closest *closest = NULL;
  rf_crossings found = {0};
  rf_status st = RF_OK;
  RF_TRY(rf_closest_create(surface, &ONE, &closest, err));
  RF_TRY(rf_crossings_find(surface, closest, &ONE, &found, err));
  for (int64_t k = 0; k < found.n; ++k) {
    const int32_t a = found.pair[2 * k], b = found.pair[2 * k + 1];
    const int32_t *first = p->triangle + 3 * (int64_t)a, *second = p->triangle + 3 * (int64_t)b;
    if (!p->self && p->part[*first] == p->part[*second]) continue;
    st = rf_fail(err, RF_ERR_ARG,
                 "contact: triangle %d of part %d (nodes %d, %d, %d) and triangle %d of part %d "
                 "(nodes %d, %d, %d) touch or cross: a barrier needs them apart; move one",
                 a, p->part[*first], p->node[first[0]], p->node[first[1]], p->node[first[2]], b,
                 p->part[*second], p->node[second[0]], p->node[second[1]], p->node[second[2]]);
    break;
  }
done:
  rf_crossings_free(&found);
  rf_closest_free(closest);
  return st;
}

// Place of a part.
typedef struct extent {
  double box[6];
  int32_t lowest;  // vertex with the least x, which is on its outer surface; -1: no vertices
} extent;

static void measure(const rf_barrier_shape *p, const double *place, extent *part) {
  for (int32_t k = 0; k < p->n_parts; ++k)
    part[k] = (extent){{INFINITY, INFINITY, INFINITY, -INFINITY, -INFINITY, -INFINITY}, -1};
  for (int32_t i = 0; i < p->n_vertices; ++i) {
    extent *e = part + p->part[i];
    const double *at = place + 3 * (int64_t)i;
    if (e->lowest < 0 || at[0] < e->box[0]) e->lowest = i;
    for (int c = 0; c < 3; ++c) {
      e->box[c] = fmin(e->box[c], at[c]);
      e->box[3 + c] = fmax(e->box[3 + c], at[c]);
    }
  }
}

static bool holds(const double *outer, const double *inner) {
  for (int c = 0; c < 3; ++c)
    if (!(inner[c] > outer[c] && inner[3 + c] < outer[3 + c])) return false;
  return true;
}

// Prepares winding numbers of the surface of one part; triangle: room for all.
static rf_status wind(const rf_barrier_shape *p, const rf_surface *surface, int32_t part,
                      int32_t *triangle, rf_winding **out, rf_error *err) {
  rf_surface own = {surface->n_vertices, 0, surface->vertices, triangle};
  for (int64_t k = 0; k < p->n_triangles; ++k)
    if (p->part[p->triangle[3 * k]] == part)
      memcpy(triangle + 3 * (int64_t)own.n_triangles++, p->triangle + 3 * k, 3 * sizeof *triangle);
  return own.n_triangles > 0 ? rf_winding_create_reversed(&own, NULL, &ONE, out, err) : RF_OK;
}

// Surfaces that do not cross are nested or apart, so one vertex of an outer surface decides.
static rf_status require_no_nesting(const rf_barrier_shape *p, const rf_surface *surface,
                                    rf_error *err) {
  rf_winding *winding = NULL;
  rf_status st = RF_OK;
  int32_t *triangle = NULL;
  extent *part = NULL;
  RF_ALLOC(part, p->n_parts);
  RF_ALLOC(triangle, 3 * (int64_t)p->n_triangles);
  measure(p, surface->vertices, part);
  for (int32_t outer = 0; outer < p->n_parts; ++outer) {
    for (int32_t inner = 0; inner < p->n_parts; ++inner) {
      const int32_t vertex = part[inner].lowest;
      if (vertex < 0 || part[outer].lowest < 0 || !holds(part[outer].box, part[inner].box))
        continue;
      if (!winding) RF_TRY(wind(p, surface, outer, triangle, &winding, err));
      const double *at = surface->vertices + 3 * (int64_t)vertex;
      if (!winding || !(fabs(rf_winding_at(winding, at)) > RF_WINDING_INSIDE)) continue;
      st = rf_fail(err, RF_ERR_ARG,
                   "contact: part %d is inside part %d (so is its node %d, at (%g, %g, %g)): a "
                   "barrier needs the parts apart; move one, or leave it out of the mesh",
                   inner, outer, p->node[vertex], at[0], at[1], at[2]);
      goto done;
    }
    rf_winding_free(winding);
    winding = NULL;
  }
done:
  rf_winding_free(winding);
  rf_free(triangle);
  rf_free(part);
  return st;
}

static rf_status require_apart(const rf_barrier_parts *base, const double *x, rf_error *err) {
  const rf_barrier_shape *p = (const rf_barrier_shape *)base;
  rf_status st = RF_OK;
  double *place = NULL;
  RF_ALLOC(place, 3 * (int64_t)p->n_vertices);
  rf_barrier_parts_gather(p, x, 1.0, place);
  for (int64_t i = 0; i < 3 * (int64_t)p->n_vertices; ++i) place[i] += p->rest[i];
  const rf_surface surface = {p->n_vertices, p->n_triangles, place, p->triangle};
  RF_TRY(rf_surface_check(&surface, err));
  RF_TRY(require_no_crossing(p, &surface, err));
  RF_TRY(require_no_nesting(p, &surface, err));
done:
  rf_free(place);
  return st;
}

static const rf_barrier_parts_operations OPERATIONS = {.release = release_parts,
                                                       .require_apart = require_apart,
                                                       .create_touch = rf_barrier_touch_create,
                                                       .release_touch = rf_barrier_touch_free,
                                                       .begin = rf_barrier_touch_begin,
                                                       .evaluate = rf_barrier_touch_evaluate,
                                                       .turn = rf_barrier_touch_turn,
                                                       .slope = rf_barrier_touch_slope,
                                                       .reach = rf_barrier_touch_reach,
                                                       .linearize = rf_barrier_touch_linearize};

rf_status rf_barrier_parts_create(const rf_barrier_surface *s, rf_barrier_parts **out,
                                  rf_error *err) {
  rf_status st = RF_OK;
  rf_barrier_shape *p = NULL;
  *out = NULL;
  if (s->n_vertices < 1 || s->n_triangles < 1 || s->n_triangles > INT32_MAX / 6)
    return rf_fail(err, RF_ERR_ARG, "contact of parts has %d vertices and %d triangles",
                   s->n_vertices, s->n_triangles);
  RF_ALLOC(p, 1);
  p->base.operations = &OPERATIONS;
  p->self = s->self;
  p->n_all = s->n_all;
  p->n_vertices = s->n_vertices;
  p->n_triangles = s->n_triangles;
  RF_ALLOC(p->node, s->n_vertices);
  RF_ALLOC(p->part, s->n_vertices);
  RF_ALLOC(p->fixed, s->n_vertices);
  RF_ALLOC(p->rest, 3 * (int64_t)s->n_vertices);
  RF_ALLOC(p->triangle, 3 * (int64_t)s->n_triangles);
  memcpy(p->triangle, s->triangles, 3 * (size_t)s->n_triangles * sizeof *s->triangles);
  RF_TRY(take_vertices(s, p, err));
  for (int32_t k = 0; k < s->n_triangles; ++k) RF_TRY(check_triangle(p, k, err));
  RF_TRY(list_edges(p, err));
  *out = &p->base;
  p = NULL;
done:
  release_parts((rf_barrier_parts *)p);
  return st;
}
