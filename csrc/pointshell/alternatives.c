#include "pointshell/alternatives.h"

#include <math.h>
#include <stdbool.h>

#include "base/alloc.h"
#include "base/run.h"
#include "linalg/vec3.h"
#include "mesh/closest.h"
#include "mesh/voxelize.h"

enum { CHUNK = 1024 };

void rf_shell_points_free(rf_shell_points *s) {
  rf_free(s->points);
  rf_free(s->normals);
  *s = (rf_shell_points){0};
}

// ---- normals -------------------------------------------------------------------------

// Sets sign to -1 for surfaces that face outwards or have no outside, 1 for closed ones facing
// inwards.
static rf_status inwards_of(const rf_surface *surface, double *sign, rf_error *err) {
  rf_surface_report report;
  const rf_status st = rf_surface_measure(surface, &report, err);
  *sign = st == RF_OK && report.closed && report.volume < 0.0 ? 1.0 : -1.0;
  return st;
}

// Normalises n; a zero vector becomes an arbitrary unit vector.
static void to_unit(double *n, double sign) {
  const double length = rf_vec3_length(n);
  const bool good = length > 0.0 && isfinite(length);
  for (int c = 0; c < 3; ++c) n[c] = good ? sign * n[c] / length : c == 2 ? 1.0 : 0.0;
}

typedef struct naming {
  const rf_closest *closest;
  int32_t n;
  double sign;
  const double *points;
  double *normals;
} naming;

static rf_status name_chunk(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker;
  const naming *m = context;
  const int32_t from = (int32_t)task * CHUNK, to = m->n - from < CHUNK ? m->n : from + CHUNK;
  for (int32_t i = from; i < to; ++i) {
    rf_closest_place place;
    const double *p = m->points + 3 * (size_t)i;
    if (!rf_closest_find(m->closest, p, INFINITY, &place))
      return rf_fail(err, RF_ERR_ARG, "points[%d] is (%g, %g, %g); points must be finite", (int)i,
                     p[0], p[1], p[2]);
    double *n = m->normals + 3 * (size_t)i;
    for (int c = 0; c < 3; ++c) n[c] = place.normal[c];
    // if the normals of the faces cancel: away from the nearest point
    if (!(rf_vec3_length(n) > 0.0)) rf_vec3_sub(p, place.place, n);
    to_unit(n, m->sign);
  }
  return RF_OK;
}

rf_status rf_shell_normals(const rf_surface *surface, int32_t n, const double *points,
                           const rf_run *run, double *normals, rf_error *err) {
  rf_status st = rf_surface_check(surface, err);
  if (st < 0) return st;
  if (!(n >= 1))
    return rf_fail(err, RF_ERR_ARG, "there must be at least one point, got %d", (int)n);
  rf_closest *closest = NULL;
  naming m = {.n = n, .points = points, .normals = normals};
  RF_TRY(inwards_of(surface, &m.sign, err));
  RF_TRY(rf_closest_create(surface, run, &closest, err));
  m.closest = closest;
  RF_TRY(rf_run_tasks(run, (n - 1) / CHUNK + 1, 0, name_chunk, &m, err));

done:
  rf_closest_free(closest);
  return st;
}

// ---- voxels --------------------------------------------------------------------------

rf_status rf_shell_from_voxels(const rf_surface *surface, int32_t resolution, double expand,
                               const rf_run *run, rf_shell_points *out, rf_error *err) {
  *out = (rf_shell_points){0};
  rf_status st = RF_OK;
  rf_mesh *mesh = NULL;
  rf_shell_points s = {0};
  const rf_voxel_settings set = {.resolution = resolution, .expand = expand, .fill = false};
  RF_TRY(rf_voxelize(surface, &set, run, &mesh, NULL, err));
  s.n = mesh->n_elements;
  RF_ALLOC(s.points, 3 * (size_t)s.n);
  RF_ALLOC(s.normals, 3 * (size_t)s.n);
  for (int32_t i = 0; i < s.n; ++i) {
    // centre: midpoint of a diagonal
    const int32_t *v = mesh->elements + 8 * (size_t)i;
    for (int c = 0; c < 3; ++c)
      s.points[3 * (size_t)i + (size_t)c] = 0.5 * (mesh->nodes[3 * (size_t)v[0] + (size_t)c] +
                                                   mesh->nodes[3 * (size_t)v[6] + (size_t)c]);
  }
  RF_TRY(rf_shell_normals(surface, s.n, s.points, run, s.normals, err));
  *out = s;
  s = (rf_shell_points){0};

done:
  rf_mesh_free(mesh);
  rf_shell_points_free(&s);
  return st;
}

// ---- rays ----------------------------------------------------------------------------

// Returns twice the signed area of the triangle of a, b and the ray at (x, y). `sign` is that of
// the area with the ray displaced by an infinitesimal (e, e^2), so it is 0 only if a = b.
static double side_of(const double a[2], const double b[2], double x, double y, int *sign) {
  const double dx = b[0] - a[0], dy = b[1] - a[1];
  // written out for the same bits in both triangles at an edge
  const double twice = fma(dx, y - a[1], -(dy * (x - a[0])));
  const double decides = twice != 0.0 ? twice : dy != 0.0 ? -dy : dx;
  *sign = (decides > 0.0) - (decides < 0.0);
  return twice;
}

typedef struct bundle {
  const rf_surface *surface;
  const int32_t *merged;  // merged vertices
  double low[3], h;       // geometry of the rays, m
  double inwards;         // sign for inward normals
  rf_shell_points *out;   // NULL: only count hits
  int64_t hits, tried;    // hits; rays processed
} bundle;

// Rays between polls for a stop, some milliseconds of work.
enum { RAYS_TO_POLL = 1 << 18 };

// Intersects the rays along an axis with a triangle.
static rf_status hit_triangle(bundle *b, int32_t t, int axis, const rf_run *run, rf_error *err) {
  const int u = (axis + 1) % 3, v = (axis + 2) % 3;
  const int32_t *corner = b->surface->triangles + 3 * (size_t)t;
  const double *x[3];
  double p[3][2], low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
  for (int k = 0; k < 3; ++k) {
    x[k] = b->surface->vertices + 3 * (size_t)corner[k];
    p[k][0] = x[k][u], p[k][1] = x[k][v];
    for (int c = 0; c < 2; ++c) low[c] = fmin(low[c], p[k][c]), high[c] = fmax(high[c], p[k][c]);
  }
  // rays are at low + (i + 1/2) h; one more on each side, for rounding
  const int axes[2] = {u, v};
  int64_t from[2], to[2];
  for (int c = 0; c < 2; ++c) {
    from[c] = (int64_t)fmax(floor((low[c] - b->low[axes[c]]) / b->h - 0.5), 0.0);
    to[c] = (int64_t)ceil((high[c] - b->low[axes[c]]) / b->h - 0.5);
  }
  const int64_t n = b->surface->n_triangles, done = (b->out ? 3 + axis : axis) * n + t;
  for (int64_t i = from[0]; i <= to[0]; ++i) {
    b->tried += to[1] - from[1] + 2;
    if (b->tried >= RAYS_TO_POLL) {
      b->tried = 0;
      const rf_status st = rf_run_progress(run, done, 6 * n, err);
      if (st < 0) return st;
    }
    for (int64_t j = from[1]; j <= to[1]; ++j) {
      const double px = b->low[u] + ((double)i + 0.5) * b->h;
      const double py = b->low[v] + ((double)j + 0.5) * b->h;
      double area[3], sum = 0.0;
      int positive = 0, negative = 0;
      for (int k = 0; k < 3; ++k) {
        // the same direction of an edge for both its triangles
        const int first = (k + 1) % 3, second = (k + 2) % 3;
        const bool up = b->merged[corner[first]] < b->merged[corner[second]];
        int sign;
        area[k] = up ? side_of(p[first], p[second], px, py, &sign)
                     : -side_of(p[second], p[first], px, py, &sign);
        if (!up) sign = -sign;
        positive += sign > 0;
        negative += sign < 0;
        sum += area[k];
      }
      if (positive != 3 && negative != 3) continue;
      if (b->out) {
        double side[2][3], *normal = b->out->normals + 3 * (size_t)b->hits;
        double *q = b->out->points + 3 * (size_t)b->hits;
        for (int c = 0; c < 3; ++c)
          q[c] = sum != 0.0 ? (area[0] * x[0][c] + area[1] * x[1][c] + area[2] * x[2][c]) / sum
                            : (x[0][c] + x[1][c] + x[2][c]) / 3.0;
        rf_vec3_sub(x[1], x[0], side[0]);
        rf_vec3_sub(x[2], x[0], side[1]);
        // scaled so that fourth powers of lengths neither over- nor underflow
        for (int c = 0; c < 3; ++c) side[0][c] /= b->h, side[1][c] /= b->h;
        rf_vec3_cross(side[0], side[1], normal);
        to_unit(normal, b->inwards);
      }
      ++b->hits;
    }
  }
  return RF_OK;
}

rf_status rf_shell_from_depth_cube(const rf_surface *surface, int32_t resolution, const rf_run *run,
                                   rf_shell_points *out, rf_error *err) {
  *out = (rf_shell_points){0};
  rf_status st = rf_surface_check(surface, err);
  if (st < 0) return st;
  if (!(resolution >= 1 && resolution <= RF_DEPTH_CUBE_MAX_RESOLUTION))
    return rf_fail(err, RF_ERR_ARG, "resolution must be between 1 and %d, got %d",
                   (int)RF_DEPTH_CUBE_MAX_RESOLUTION, (int)resolution);
  int32_t *merged = NULL;
  rf_shell_points s = {0};
  bundle b = {.surface = surface, .tried = RAYS_TO_POLL};
  double high[3], side = 0.0;
  rf_surface_bounds(surface, b.low, high);
  for (int c = 0; c < 3; ++c) side = fmax(side, high[c] - b.low[c]);
  if (!(side > 0.0 && isfinite(side)))
    return rf_fail(err, RF_ERR_MESH, "the surface has no extent: it has no rays");
  b.h = side / resolution;
  if (!(b.h > 1e-90 && b.h < 1e90))
    return rf_fail(err, RF_ERR_MESH, "rays %.3g m apart are beyond the range of numbers", b.h);
  // the rays are centred in the box
  for (int c = 0; c < 3; ++c) {
    const double cells = ceil((high[c] - b.low[c]) / b.h - 1e-9);
    b.low[c] = 0.5 * (b.low[c] + high[c] - cells * b.h);
  }
  RF_TRY(inwards_of(surface, &b.inwards, err));
  RF_ALLOC(merged, surface->n_vertices);
  RF_TRY(rf_surface_merge(surface->n_vertices, surface->vertices, merged, err));
  b.merged = merged;
  // first count, then set
  for (int put = 0; put < 2; ++put) {
    b.hits = 0;
    b.out = put ? &s : NULL;
    for (int axis = 0; axis < 3; ++axis)
      for (int32_t t = 0; t < surface->n_triangles; ++t)
        RF_TRY(hit_triangle(&b, t, axis, run, err));
    if (put) break;
    const int64_t n = b.hits;
    if (!(n >= 1 && n <= INT32_MAX / 3)) {
      st = rf_fail(err, RF_ERR_ARG,
                   "resolution is %d, with which %lld rays meet the surface; a shell has 1 to %d "
                   "points",
                   (int)resolution, (long long)n, (int)(INT32_MAX / 3));
      goto done;
    }
    s.n = (int32_t)n;
    RF_ALLOC(s.points, 3 * (size_t)n);
    RF_ALLOC(s.normals, 3 * (size_t)n);
  }
  RF_TRY(rf_run_progress(run, 6 * (int64_t)surface->n_triangles, 6 * (int64_t)surface->n_triangles,
                         err));
  *out = s;
  s = (rf_shell_points){0};

done:
  rf_free(merged);
  rf_shell_points_free(&s);
  return st;
}
