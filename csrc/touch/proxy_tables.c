// Surface of the contact of a tip: neighbours, normals, and a grid of its triangles.
#include "touch/proxy_tables.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "linalg/vec3.h"

static const double FEWEST_NODES = 0.5;  // part of the vertices
static const double WIDE = 2.0;  // side of a box of the grid over the mean side of a triangle
enum { MOST_BOXES = 8 };         // of the grid, for each triangle

void rf_tip_tables_free(rf_tip_tables *t) {
  if (!t) return;
  if (!t->borrows) {
    rf_edges_free(&t->edges);
    rf_free(t->vertex);
    rf_free(t->fan_first);
    rf_free(t->fan);
    rf_free(t->face_normal);
    rf_free(t->corner_normal);
    rf_free(t->pseudonormal);
    rf_free(t->grid.first);
    rf_free(t->grid.triangle);
  }
  rf_free(t->place);
  rf_free(t->disc_first);
  rf_free(t->disc_place);
  rf_free(t->disc_share);
  rf_free(t->held);
  rf_free(t->own);
  rf_free(t);
}

static const double *corner_of(const rf_tip_tables *t, int64_t triangle, int k) {
  return t->vertex + 3 * (int64_t)t->edges.corner[3 * triangle + k];
}

// Finds the place of each vertex, -1: no node is there.
static rf_status find_places(int32_t count, const double *position, int32_t n, const double *vertex,
                             int32_t *place, rf_error *err) {
  rf_status st = RF_OK;
  double *every = NULL;
  int32_t *first = NULL, found = 0;
  RF_ALLOC(every, 3 * ((int64_t)count + n));
  RF_ALLOC(first, (int64_t)count + n);
  memcpy(every, position, 3 * (size_t)count * sizeof *every);
  memcpy(every + 3 * (int64_t)count, vertex, 3 * (size_t)n * sizeof *every);
  RF_TRY(rf_surface_merge(count + n, every, first, err));
  for (int32_t k = 0; k < n; ++k) {
    place[k] = first[count + k] < count ? first[count + k] : -1;
    found += place[k] >= 0;
  }
  if (found < FEWEST_NODES * n)
    st = rf_fail(err, RF_ERR_ARG,
                 "%d of the %d vertices of surface are nodes of green, at the same positions; more "
                 "than half must be: take the surface of the mesh, mesh.surface()",
                 (int)found, (int)n);
done:
  rf_free(every);
  rf_free(first);
  return st;
}

// Lists the triangles at each vertex by counting sort.
static rf_status list_fans(rf_tip_tables *t, rf_error *err) {
  rf_status st = RF_OK;
  const int64_t sides = 3 * (int64_t)t->n_triangles;
  RF_ALLOC(t->fan_first, t->n_vertices + 1);
  RF_ALLOC(t->fan, sides);
  for (int64_t s = 0; s < sides; ++s) ++t->fan_first[t->edges.corner[s] + 1];
  for (int32_t v = 0; v < t->n_vertices; ++v) t->fan_first[v + 1] += t->fan_first[v];
  // from the end, which leaves each range at its begin
  for (int64_t s = sides - 1; s >= 0; --s)
    t->fan[--t->fan_first[t->edges.corner[s] + 1]] = (int32_t)(s / 3);
  for (int32_t v = 0; v < t->n_vertices; ++v) t->fan_first[v] = t->fan_first[v + 1];
  t->fan_first[t->n_vertices] = (int32_t)sides;
done:
  return st;
}

static rf_status set_normals(rf_tip_tables *t, rf_error *err) {
  rf_status st = RF_OK;
  double *angle = NULL;  // of each corner, rad
  const int64_t n = t->n_triangles;
  RF_ALLOC(angle, 3 * n);
  RF_ALLOC(t->face_normal, 3 * n);
  RF_ALLOC(t->corner_normal, 9 * n);
  RF_ALLOC(t->pseudonormal, 3 * (int64_t)t->n_vertices);
  for (int64_t f = 0; f < n; ++f) {
    double *normal = t->face_normal + 3 * f, way[3][3];
    for (int k = 0; k < 3; ++k)
      rf_vec3_sub(corner_of(t, f, (k + 1) % 3), corner_of(t, f, k), way[k]);
    rf_vec3_cross(way[0], way[1], normal);
    const double length = rf_vec3_length(normal);
    if (!(length > 1e-12 * rf_vec3_dot(way[0], way[0]) &&
          length > 1e-12 * rf_vec3_dot(way[1], way[1]))) {
      st = rf_fail(err, RF_ERR_ARG, "triangle %d of surface has no area: remove it", (int)f);
      goto done;
    }
    for (int i = 0; i < 3; ++i) normal[i] /= length;
    for (int k = 0; k < 3; ++k) {
      const double *last = way[(k + 2) % 3];
      const double back[3] = {-last[0], -last[1], -last[2]};
      double *sum = t->pseudonormal + 3 * (int64_t)t->edges.corner[3 * f + k];
      angle[3 * f + k] = atan2(length, rf_vec3_dot(way[k], back));
      for (int i = 0; i < 3; ++i) sum[i] += angle[3 * f + k] * normal[i];
    }
  }
  for (int64_t s = 0; s < 3 * n; ++s) {
    const int32_t v = t->edges.corner[s];
    const double *own = t->face_normal + 3 * (s / 3);
    double *normal = t->corner_normal + 3 * s;
    for (int32_t k = t->fan_first[v]; k < t->fan_first[v + 1]; ++k) {
      const int64_t f = t->fan[k];
      const double *other = t->face_normal + 3 * f;
      if (rf_vec3_dot(own, other) < RF_TIP_SMOOTH) continue;
      const int32_t *corner = t->edges.corner + 3 * f;
      const double by = angle[3 * f + (corner[1] == v ? 1 : corner[2] == v ? 2 : 0)];
      for (int i = 0; i < 3; ++i) normal[i] += by * other[i];
    }
    const double length = rf_vec3_length(normal);
    for (int i = 0; i < 3; ++i) normal[i] /= length;
  }
done:
  rf_free(angle);
  return st;
}

// Boxes that the box of a triangle overlaps, from `low` to `high`.
static void boxes_of(const rf_tip_tables *t, int64_t f, int32_t low[3], int32_t high[3]) {
  const rf_tip_grid *g = &t->grid;
  for (int i = 0; i < 3; ++i) {
    const double a = corner_of(t, f, 0)[i], b = corner_of(t, f, 1)[i], c = corner_of(t, f, 2)[i];
    const double least = floor((fmin(fmin(a, b), c) - g->low[i]) / g->side_m);
    const double most = floor((fmax(fmax(a, b), c) - g->low[i]) / g->side_m);
    low[i] = (int32_t)fmin(fmax(least, 0.0), g->n[i] - 1);
    high[i] = (int32_t)fmin(fmax(most, 0.0), g->n[i] - 1);
  }
}

// Counts the triangles of each box, or lists them where `listed` has the ends of the ranges.
static void fill_boxes(rf_tip_tables *t, int64_t *listed) {
  rf_tip_grid *g = &t->grid;
  for (int64_t f = t->n_triangles - 1; f >= 0; --f) {
    int32_t low[3], high[3], at[3];
    boxes_of(t, f, low, high);
    for (at[0] = low[0]; at[0] <= high[0]; ++at[0])
      for (at[1] = low[1]; at[1] <= high[1]; ++at[1])
        for (at[2] = low[2]; at[2] <= high[2]; ++at[2]) {
          const int64_t box = ((int64_t)at[0] * g->n[1] + at[1]) * g->n[2] + at[2];
          if (listed)
            g->triangle[--listed[box]] = (int32_t)f;
          else
            ++g->first[box + 1];
        }
  }
}

static rf_status make_grid(rf_tip_tables *t, const rf_surface *surface, rf_error *err) {
  rf_status st = RF_OK;
  rf_tip_grid *g = &t->grid;
  double high[3], mean = 0.0;
  int64_t *listed = NULL;
  rf_surface_bounds(surface, g->low, high);
  for (int64_t s = 0; s < 3 * (int64_t)t->n_triangles; ++s) {
    double way[3];
    rf_vec3_sub(corner_of(t, s / 3, (int)((s + 1) % 3)), corner_of(t, s / 3, (int)(s % 3)), way);
    mean += rf_vec3_length(way);
  }
  mean /= 3.0 * t->n_triangles;
  for (int i = 0; i < 3; ++i) t->size_m = fmax(t->size_m, high[i] - g->low[i]);
  double boxes = INFINITY;
  for (g->side_m = WIDE * mean; boxes > (double)MOST_BOXES * t->n_triangles + 8.0;
       g->side_m *= 1.25) {
    boxes = 1.0;
    for (int i = 0; i < 3; ++i) boxes *= floor((high[i] - g->low[i]) / g->side_m) + 1.0;
    if (boxes <= (double)MOST_BOXES * t->n_triangles + 8.0) break;
  }
  for (int i = 0; i < 3; ++i) g->n[i] = (int32_t)floor((high[i] - g->low[i]) / g->side_m) + 1;
  const int64_t n = (int64_t)g->n[0] * g->n[1] * g->n[2];
  RF_ALLOC(g->first, n + 1);
  RF_ALLOC(listed, n);
  fill_boxes(t, NULL);
  for (int64_t k = 0; k < n; ++k) listed[k] = g->first[k + 1] += g->first[k];
  RF_ALLOC(g->triangle, g->first[n]);
  fill_boxes(t, listed);
done:
  rf_free(listed);
  return st;
}

rf_status rf_tip_tables_create(const rf_tip_settings *set, const rf_run *run, rf_tip_tables **out,
                               rf_error *err) {
  rf_status st = RF_OK;
  rf_tip_tables *t = NULL;
  *out = NULL;
  RF_ALLOC(t, 1);
  t->green = set->green;
  t->n_vertices = set->surface.n_vertices;
  t->n_triangles = set->surface.n_triangles;
  RF_ALLOC(t->place, t->n_vertices);
  RF_TRY(rf_surface_check(&set->surface, err));
  RF_TRY(find_places(set->green->count, set->position, t->n_vertices, set->surface.vertices,
                     t->place, err));
  RF_ALLOC(t->vertex, 3 * (int64_t)t->n_vertices);
  memcpy(t->vertex, set->surface.vertices, 3 * (size_t)t->n_vertices * sizeof *t->vertex);
  RF_TRY(rf_edges_create(&set->surface, run, &t->edges, err));
  RF_TRY(list_fans(t, err));
  RF_TRY(set_normals(t, err));
  RF_TRY(make_grid(t, &set->surface, err));
  if (set->radius_m > 0.5 * t->size_m) {
    st = rf_fail(err, RF_ERR_ARG,
                 "radius is %g m, the longest side of surface %g m: at most half of it is allowed",
                 set->radius_m, t->size_m);
    goto done;
  }
  t->radius_m = set->radius_m;
  RF_TRY(rf_tip_discs_fill(t, NULL, run, err));
  *out = t;
  t = NULL;
done:
  rf_tip_tables_free(t);
  return st;
}

rf_status rf_tip_tables_again(const rf_tip_tables *from, const rf_green *green,
                              const double *position, const rf_run *run, rf_tip_tables **out,
                              rf_error *err) {
  rf_status st = RF_OK;
  rf_tip_tables *t = NULL;
  *out = NULL;
  RF_ALLOC(t, 1);
  *t = *from;
  t->borrows = true;
  t->green = green;
  t->place = t->disc_place = NULL;
  t->disc_first = NULL;
  t->disc_share = t->held = t->own = NULL;
  RF_ALLOC(t->place, t->n_vertices);
  RF_TRY(find_places(green->count, position, t->n_vertices, t->vertex, t->place, err));
  RF_TRY(rf_tip_discs_fill(t, from, run, err));
  *out = t;
  t = NULL;
done:
  rf_tip_tables_free(t);
  return st;
}
