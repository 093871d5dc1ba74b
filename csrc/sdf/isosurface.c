#include "sdf/isosurface.h"

#include <math.h>
#include <stdbool.h>

#include "base/alloc.h"
#include "base/run.h"

// Corners of a cube are numbered 4 dx + 2 dy + dz.  The number of an edge is 8 times its axis plus
// its corner at the lower end: 12 of 24 numbers are in use.
enum { EDGES = 24, MAX_LOOP = 12 };

static int bit_of(int axis) { return 4 >> axis; }

// Faces of a cube, corners counter-clockwise seen from outside, with the edges between them.
typedef struct cube_faces {
  uint8_t corner[6][4];
  uint8_t edge[6][4];  // from corner k to corner k + 1
} cube_faces;

static int axis_between(int a, int b) {
  const int differing = a ^ b;
  return differing == bit_of(0) ? 0 : differing == bit_of(1) ? 1 : 2;
}

static void name_faces(cube_faces *f) {
  for (int axis = 0; axis < 3; ++axis)
    for (int side = 0; side < 2; ++side) {
      const int u = bit_of((axis + 1) % 3), v = bit_of((axis + 2) % 3);
      const int around[4] = {0, u, u + v, v};
      const int face = 2 * axis + side;
      for (int k = 0; k < 4; ++k)
        f->corner[face][k] = (uint8_t)(around[side ? k : (4 - k) % 4] + (side ? bit_of(axis) : 0));
      for (int k = 0; k < 4; ++k) {
        const int a = f->corner[face][k], b = f->corner[face][(k + 1) % 4];
        f->edge[face][k] = (uint8_t)(8 * axis_between(a, b) + (a & b));
      }
    }
}

// Finds the loops of a cube: next[e] is the cut edge that follows e around the surface in it.  d:
// samples minus the value, INFINITY in the padding.
static void join_cuts(const cube_faces *f, const double d[8], int8_t next[EDGES]) {
  for (int e = 0; e < EDGES; ++e) next[e] = -1;
  for (int face = 0; face < 6; ++face) {
    const uint8_t *c = f->corner[face], *e = f->edge[face];
    bool below[4];
    int count = 0;
    for (int k = 0; k < 4; ++k) {
      below[k] = d[c[k]] < 0.0;
      count += below[k];
    }
    if (count == 0 || count == 4) continue;
    // ambiguous: two opposite corners are below; they are connected if the saddle is below.  Both
    // cubes at the face compare the same products, so they agree.
    bool connected = false;
    if (count == 2 && below[0] == below[2]) {
      const double low = below[0] ? d[c[0]] * d[c[2]] : d[c[1]] * d[c[3]];
      const double high = below[0] ? d[c[1]] * d[c[3]] : d[c[0]] * d[c[2]];
      connected = low > high;
    }
    // from the edge where the outline of the face goes below to the one where it comes up: behind
    // the corners below or, if these are connected, in front of them
    for (int k = 0; k < 4; ++k) {
      if (below[k] || !below[(k + 1) % 4]) continue;
      int up = connected ? (k + 3) % 4 : (k + 1) % 4;
      while (!(below[up] && !below[(up + 1) % 4])) up = (up + 1) % 4;
      next[e[k]] = (int8_t)e[up];
    }
  }
}

// ---- layers --------------------------------------------------------------------

// Contents of plane i of samples, and of the layer between it and the next plane.
typedef struct layer {
  int64_t in_plane, along, centres, triangles, closing;
} layer;

typedef struct scratch {
  float *value[2];               // samples of both planes, padded
  int32_t *y[2], *z[2], *along;  // vertices on edges, by the lower ends; -1: not cut
} scratch;

typedef struct extraction {
  cube_faces faces;
  const int32_t *n;  // samples along each axis
  int32_t p[3];      // samples with padding
  const double *origin, *spacing;
  const float *values;
  double value;
  layer *layers;    // counted in the first pass        (p0)
  int64_t *vertex;  // first vertex of each layer       (p0 + 1)
  int64_t *corner;  // first triangle of each layer     (p0 + 1)
  scratch *work;    // per worker
  rf_isosurface *out;
} extraction;

// Loads the samples of padded plane i; true if some are below.
static bool load_plane(const extraction *x, int32_t i, float *to) {
  const int32_t p1 = x->p[1], p2 = x->p[2];
  for (size_t k = 0; k < (size_t)p1 * (size_t)p2; ++k) to[k] = INFINITY;
  if (i == 0 || i == x->p[0] - 1) return false;
  bool some = false;
  for (int32_t j = 1; j < p1 - 1; ++j) {
    const float *from =
        x->values + ((size_t)(i - 1) * (size_t)x->n[1] + (size_t)(j - 1)) * (size_t)x->n[2];
    float *row = to + (size_t)j * (size_t)p2 + 1;
    for (int32_t k = 0; k < x->n[2]; ++k) {
      row[k] = from[k];
      some |= (double)from[k] < x->value;
    }
  }
  return some;
}

// Returns the position of the cut along an edge, in spacings from its lower end.
static double place_of(double a, double b) {
  const double t = isinf(a) ? 1.0 : isinf(b) ? 0.0 : a / (a - b);
  return fmin(fmax(t, RF_CUT_MARGIN), 1.0 - RF_CUT_MARGIN);
}

static void place_vertex(const extraction *x, const int32_t at[3], int axis, double t, double *to) {
  for (int c = 0; c < 3; ++c)
    to[c] = x->origin[c] + ((double)(at[c] - 1) + (c == axis ? t : 0.0)) * x->spacing[c];
}

// Numbers the cut edges from samples `a` to those `step` further in `b`, from *v on.  Sets their
// vertices if `put`.
static int64_t number_cuts(const extraction *x, const float *a, const float *b, size_t step,
                           int axis, int32_t plane, int32_t *number, int64_t *v, bool put) {
  int64_t closing = 0;
  const int32_t p1 = x->p[1] - (axis == 1), p2 = x->p[2] - (axis == 2);
  for (int32_t j = 0; j < p1; ++j)
    for (int32_t k = 0; k < p2; ++k) {
      const size_t at = (size_t)j * (size_t)x->p[2] + (size_t)k;
      const double low = (double)a[at] - x->value, high = (double)b[at + step] - x->value;
      if ((low < 0.0) == (high < 0.0)) {
        number[at] = -1;
        continue;
      }
      number[at] = (int32_t)*v;
      closing += isinf(low) || isinf(high);
      if (put)
        place_vertex(x, (int32_t[]){plane, j, k}, axis, place_of(low, high),
                     x->out->vertices + 3 * (size_t)*v);
      ++*v;
    }
  return closing;
}

// Computes the mean of the cuts on some edges of the cube whose lowest corner is `at`.
static void place_centre(const extraction *x, const int32_t at[3], const double d[8],
                         const int8_t *edges, int length, double *middle) {
  for (int c = 0; c < 3; ++c) middle[c] = 0.0;
  for (int k = 0; k < length; ++k) {
    const int axis = edges[k] / 8, low = edges[k] % 8;
    const int32_t from[3] = {at[0] + (low >> 2), at[1] + (low >> 1 & 1), at[2] + (low & 1)};
    double place[3];
    place_vertex(x, from, axis, place_of(d[low], d[low | bit_of(axis)]), place);
    for (int c = 0; c < 3; ++c) middle[c] += place[c] / length;
  }
}

// Processes the loops of the cube whose lowest corner is `at`. Counts its centres and triangles;
// sets them if `put`.
static void cut_cube(const extraction *x, const int32_t at[3], const double d[8],
                     const int32_t vertex[EDGES], int64_t *centre, int64_t *triangle, bool put) {
  int8_t next[EDGES];
  join_cuts(&x->faces, d, next);
  for (int e = 0; e < EDGES; ++e) {
    if (next[e] < 0) continue;
    int8_t loop[MAX_LOOP];
    int length = 0;
    for (int here = e; next[here] >= 0;) {
      const int after = next[here];
      next[here] = -1;
      loop[length++] = (int8_t)here;
      here = after;
    }
    if (put) {
      int32_t *to = x->out->triangles + 3 * (size_t)*triangle;
      if (length == 3) {
        for (int k = 0; k < 3; ++k) to[k] = vertex[loop[k]];
      } else {
        place_centre(x, at, d, loop, length, x->out->vertices + 3 * (size_t)*centre);
        for (int k = 0; k < length; ++k) {
          to[3 * k] = (int32_t)*centre;
          to[3 * k + 1] = vertex[loop[k]];
          to[3 * k + 2] = vertex[loop[(k + 1) % length]];
        }
      }
    }
    *centre += length > 3;
    *triangle += length > 3 ? length : 1;
  }
}

// Counts or sets one layer of cubes.
static void cut_layer(const extraction *x, int32_t i, scratch *w, bool put) {
  const size_t p2 = (size_t)x->p[2];
  layer *l = &x->layers[i];
  const bool here = load_plane(x, i, w->value[0]), there = load_plane(x, i + 1, w->value[1]);
  if (!here && !there) return;
  int64_t v = put ? x->vertex[i] : 0;
  const int64_t first = v;
  int64_t closing = 0;
  for (int s = 0; s < 2; ++s) {
    // vertices on the second plane belong to the next layer
    int64_t u = put ? x->vertex[i + s] : 0;
    int64_t of_plane =
        number_cuts(x, w->value[s], w->value[s], p2, 1, i + s, w->y[s], &u, put && s == 0);
    of_plane += number_cuts(x, w->value[s], w->value[s], 1, 2, i + s, w->z[s], &u, put && s == 0);
    if (s == 0) v = u, closing += of_plane;
  }
  const int64_t in_plane = v - first;
  closing += number_cuts(x, w->value[0], w->value[1], 0, 0, i, w->along, &v, put);
  const int64_t along = v - first - in_plane;
  int64_t centre = v, triangle = put ? x->corner[i] : 0;
  for (int32_t j = 0; j + 1 < x->p[1]; ++j) {
    // classes of the four samples at the lower end of the next cube: below or not
    const size_t row = (size_t)j * p2;
    const float *f[4] = {w->value[0] + row, w->value[0] + row + p2, w->value[1] + row,
                         w->value[1] + row + p2};
    int before = 0;
    for (size_t k = 0; k < p2; ++k) {
      int now = 0;
      for (int c = 0; c < 4; ++c) now |= ((double)f[c][k] < x->value) << c;
      const int all = before << 4 | now;
      before = now;
      if (all == 0 || all == 255 || k == 0) continue;
      double d[8];
      for (int c = 0; c < 8; ++c) d[c] = (double)f[c >> 1][k - 1 + (size_t)(c & 1)] - x->value;
      int32_t vertex[EDGES];
      if (put)
        for (int c = 0; c < 8; ++c) {
          const size_t at = row + (size_t)(c >> 1 & 1) * p2 + k - 1 + (size_t)(c & 1);
          if (!(c & bit_of(0))) vertex[c] = w->along[at];
          if (!(c & bit_of(1))) vertex[8 + c] = w->y[c >> 2][at];
          if (!(c & bit_of(2))) vertex[16 + c] = w->z[c >> 2][at];
        }
      cut_cube(x, (int32_t[]){i, j, (int32_t)k - 1}, d, vertex, &centre, &triangle, put);
    }
  }
  if (!put) *l = (layer){in_plane, along, centre - v, triangle, closing};
}

static rf_status count_layer(void *context, int64_t task, int worker, rf_error *err) {
  (void)err;
  const extraction *x = context;
  cut_layer(x, (int32_t)task, &x->work[worker], false);
  return RF_OK;
}

static rf_status put_layer(void *context, int64_t task, int worker, rf_error *err) {
  (void)err;
  const extraction *x = context;
  const layer *l = &x->layers[task];
  if (l->in_plane + l->triangles > 0) cut_layer(x, (int32_t)task, &x->work[worker], true);
  return RF_OK;
}

// ---- complete extraction ----------------------------------------------------------

static rf_status check(const int32_t n[3], const double origin[3], const double spacing[3],
                       const float *values, double value, rf_error *err) {
  for (int c = 0; c < 3; ++c) {
    if (!(n[c] >= 2 && n[c] <= INT32_MAX - 2))
      return rf_fail(err, RF_ERR_ARG, "values has %d samples along axis %d; 2 or more are needed",
                     (int)n[c], c);
    if (!(isfinite(origin[c])))
      return rf_fail(err, RF_ERR_ARG, "origin[%d] is %g; it must be finite", c, origin[c]);
    if (!(isfinite(spacing[c]) && spacing[c] > 0.0))
      return rf_fail(err, RF_ERR_ARG, "spacing[%d] is %g; it must be positive and finite", c,
                     spacing[c]);
  }
  // indices within a plane are products of two numbers
  if ((double)(n[1] + 2.0) * (n[2] + 2.0) > INT32_MAX)
    return rf_fail(err, RF_ERR_ARG, "values has %d x %d samples in a plane, which is too many",
                   (int)n[1], (int)n[2]);
  if (!isfinite(value)) return rf_fail(err, RF_ERR_ARG, "value is %g; it must be finite", value);
  double lowest = INFINITY, highest = -INFINITY;
  const size_t total = (size_t)n[0] * (size_t)n[1] * (size_t)n[2];
  for (size_t i = 0; i < total; ++i) {
    const double v = (double)values[i];
    if (!isfinite(v)) {
      const size_t plane = (size_t)n[1] * (size_t)n[2];
      return rf_fail(err, RF_ERR_ARG, "values[%zu, %zu, %zu] is %g; every sample must be finite",
                     i / plane, i % plane / (size_t)n[2], i % (size_t)n[2], v);
    }
    if (v < lowest) lowest = v;
    if (v > highest) highest = v;
  }
  if (!(lowest < value && highest >= value))
    return rf_fail(err, RF_ERR_ARG,
                   "there is no surface of the value %g: the samples go from %g to %g", value,
                   lowest, highest);
  return RF_OK;
}

void rf_isosurface_free(rf_isosurface *s) {
  rf_free(s->vertices);
  rf_free(s->triangles);
  *s = (rf_isosurface){0};
}

rf_status rf_isosurface_create(const int32_t n[3], const double origin[3], const double spacing[3],
                               const float *values, double value, const rf_run *run,
                               rf_isosurface *out, rf_error *err) {
  *out = (rf_isosurface){0};
  rf_status st = check(n, origin, spacing, values, value, err);
  if (st < 0) return st;
  rf_isosurface s = {0};
  extraction x = {.n = n,
                  .p = {n[0] + 2, n[1] + 2, n[2] + 2},
                  .origin = origin,
                  .spacing = spacing,
                  .values = values,
                  .value = value,
                  .out = &s};
  name_faces(&x.faces);
  float *floats = NULL;
  int32_t *numbers = NULL;
  const size_t plane = (size_t)x.p[1] * (size_t)x.p[2];
  const int64_t n_layers = x.p[0] - 1;
  RF_ALLOC(x.layers, x.p[0]);
  RF_ALLOC(x.vertex, (size_t)x.p[0] + 1);
  RF_ALLOC(x.corner, (size_t)x.p[0] + 1);
  RF_ALLOC(x.work, run->threads);
  RF_ALLOC(floats, (size_t)run->threads * 2 * plane);
  RF_ALLOC(numbers, (size_t)run->threads * 5 * plane);
  for (int t = 0; t < run->threads; ++t) {
    float *f = floats + (size_t)t * 2 * plane;
    int32_t *i = numbers + (size_t)t * 5 * plane;
    x.work[t] =
        (scratch){{f, f + plane}, {i, i + plane}, {i + 2 * plane, i + 3 * plane}, i + 4 * plane};
  }

  RF_TRY(rf_run_tasks(run, n_layers, 0, count_layer, &x, err));
  for (int64_t i = 0; i < n_layers; ++i) {
    const layer *l = &x.layers[i];
    x.vertex[i + 1] = x.vertex[i] + l->in_plane + l->along + l->centres;
    x.corner[i + 1] = x.corner[i] + l->triangles;
    s.n_closing += l->closing;
  }
  const int64_t n_vertices = x.vertex[n_layers], n_triangles = x.corner[n_layers];
  if (n_vertices > INT32_MAX / 3 || n_triangles > INT32_MAX / 3) {
    st = rf_fail(err, RF_ERR_ARG,
                 "the surface would have %lld vertices and %lld triangles; at most %d of each are "
                 "possible: use a coarser grid",
                 (long long)n_vertices, (long long)n_triangles, (int)(INT32_MAX / 3));
    goto done;
  }
  s.n_vertices = (int32_t)n_vertices;
  s.n_triangles = (int32_t)n_triangles;
  RF_ALLOC(s.vertices, 3 * (size_t)n_vertices);
  RF_ALLOC(s.triangles, 3 * (size_t)n_triangles);
  RF_TRY(rf_run_tasks(run, n_layers, 1, put_layer, &x, err));
  *out = s;
  s = (rf_isosurface){0};

done:
  rf_isosurface_free(&s);
  rf_free(x.layers);
  rf_free(x.vertex);
  rf_free(x.corner);
  rf_free(x.work);
  rf_free(floats);
  rf_free(numbers);
  return st;
}
