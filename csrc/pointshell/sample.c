#include "pointshell/sample.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/disjoint.h"
#include "base/run.h"
#include "linalg/vec3.h"

// Scrambles the bits of z: splitmix64.
static uint64_t scramble(uint64_t z) {
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

double rf_uniform(uint64_t seed, uint64_t k) {
  const uint64_t bits = scramble(seed + (k + 1) * UINT64_C(0x9E3779B97F4A7C15));
  return (double)(bits >> 11) * 0x1p-53;
}

uint64_t rf_seed(uint64_t seed, uint64_t use) {
  return scramble(scramble(seed + UINT64_C(0x9E3779B97F4A7C15)) ^ (use + 1));
}

void rf_sampler_free(rf_sampler *s) {
  rf_free(s->order);
  rf_free(s->until);
  *s = (rf_sampler){0};
}

// ---- order of the triangles ----------------------------------------------------------

// Spreads 21 bits, three positions apart.
static uint64_t spread(uint64_t x) {
  x &= UINT64_C(0x1FFFFF);
  x = (x | x << 32) & UINT64_C(0x001F00000000FFFF);
  x = (x | x << 16) & UINT64_C(0x001F0000FF0000FF);
  x = (x | x << 8) & UINT64_C(0x100F00F00F00F00F);
  x = (x | x << 4) & UINT64_C(0x10C30C30C30C30C3);
  return (x | x << 2) & UINT64_C(0x1249249249249249);
}

// Finds connected parts by shared vertices; the part of a triangle is the root of its corners.
// Returns the number of parts, numbered in the order of their first triangles.
static int32_t number_parts(const rf_surface *s, int32_t *parent, int32_t *number) {
  for (int32_t t = 0; t < s->n_triangles; ++t) {
    const int32_t *v = s->triangles + 3 * (size_t)t;
    for (int k = 1; k < 3; ++k) rf_disjoint_join(parent, v[0], v[k]);
  }
  int32_t count = 0;
  for (int32_t v = 0; v < s->n_vertices; ++v) number[v] = -1;
  for (int32_t t = 0; t < s->n_triangles; ++t) {
    const int32_t root = rf_disjoint_root(parent, s->triangles[3 * (size_t)t]);
    if (number[root] < 0) number[root] = count++;
  }
  return count;
}

typedef struct keyed {
  uint64_t key;
  int32_t item;
} keyed;

// Sorts by key: a stable radix sort by bytes.
static rf_status sort_by_key(keyed *a, keyed *b, size_t n, const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  for (int shift = 0; shift < 64; shift += 8) {
    size_t start[257] = {0};
    RF_TRY(rf_run_poll(run, err));
    for (size_t i = 0; i < n; ++i) ++start[(a[i].key >> shift & 255) + 1];
    for (int k = 0; k < 256; ++k) start[k + 1] += start[k];
    for (size_t i = 0; i < n; ++i) b[start[a[i].key >> shift & 255]++] = a[i];
    keyed *t = a;
    a = b;
    b = t;
  }
done:
  return st;
}

static double longest_side(const rf_surface *s) {
  double square = 0.0;
  for (int32_t t = 0; t < s->n_triangles; ++t)
    for (int k = 0; k < 3; ++k) {
      const int32_t *v = s->triangles + 3 * (size_t)t;
      double d[3];
      rf_vec3_sub(s->vertices + 3 * (size_t)v[k], s->vertices + 3 * (size_t)v[(k + 1) % 3], d);
      square = fmax(square, rf_vec3_dot(d, d));
    }
  return sqrt(square);
}

static double area_of(const rf_surface *s, int32_t t) {
  const int32_t *v = s->triangles + 3 * (size_t)t;
  double u[3], w[3], n[3];
  rf_vec3_sub(s->vertices + 3 * (size_t)v[1], s->vertices + 3 * (size_t)v[0], u);
  rf_vec3_sub(s->vertices + 3 * (size_t)v[2], s->vertices + 3 * (size_t)v[0], w);
  rf_vec3_cross(u, w, n);
  return 0.5 * rf_vec3_length(n);
}

rf_status rf_sampler_create(const rf_surface *surface, const rf_run *run, rf_sampler *out,
                            rf_error *err) {
  rf_status st = rf_surface_check(surface, err);
  if (st < 0) return st;
  *out = (rf_sampler){0};
  rf_sampler s = {.surface = surface, .longest = longest_side(surface)};
  int32_t *parent = NULL, *number = NULL;
  keyed *keys = NULL, *spare = NULL;
  const size_t n = (size_t)surface->n_triangles;
  RF_ALLOC(s.order, n);
  RF_ALLOC(s.until, n);
  RF_ALLOC(parent, surface->n_vertices);
  RF_ALLOC(number, surface->n_vertices);
  RF_ALLOC(keys, n);
  RF_ALLOC(spare, n);
  RF_TRY(rf_run_poll(run, err));
  RF_TRY(rf_surface_merge(surface->n_vertices, surface->vertices, parent, err));
  RF_TRY(rf_run_poll(run, err));
  s.n_parts = number_parts(surface, parent, number);

  // by the curve, then, stably, by parts
  double low[3], high[3];
  rf_surface_bounds(surface, low, high);
  const double side = fmax(high[0] - low[0], fmax(high[1] - low[1], high[2] - low[2]));
  for (size_t t = 0; t < n; ++t) {
    const int32_t *v = surface->triangles + 3 * t;
    uint64_t key = 0;
    for (int c = 0; c < 3; ++c) {
      double middle = 0.0;
      for (int k = 0; k < 3; ++k)
        middle += (surface->vertices[3 * (size_t)v[k] + (size_t)c] - low[c]) / 3.0;
      const double share = side > 0.0 ? middle / side : 0.0;
      key |= spread((uint64_t)(share < 1.0 ? share * 0x1p21 : 0x1p21 - 1.0)) << c;
    }
    keys[t] = (keyed){key, (int32_t)t};
  }
  RF_TRY(sort_by_key(keys, spare, n, run, err));
  for (size_t i = 0; i < n; ++i)
    keys[i].key =
        (uint64_t)number[rf_disjoint_root(parent, surface->triangles[3 * (size_t)keys[i].item])];
  RF_TRY(sort_by_key(keys, spare, n, run, err));

  for (size_t i = 0; i < n; ++i) {
    s.order[i] = keys[i].item;
    s.area += area_of(surface, keys[i].item);
    s.until[i] = s.area;
  }
  if (!(s.area > 0.0 && isfinite(s.area))) {
    // fourth powers of sides must not over- or underflow
    if (side > 0.0 && !(side > 1e-70 && side < 1e70)) {
      st = rf_fail(err, RF_ERR_MESH,
                   "the surface is %.3g m long, so areas of its triangles are beyond the range of "
                   "numbers",
                   side);
      goto done;
    }
    st = rf_fail(err, RF_ERR_MESH, "the surface has an area of %g m^2: no points can be drawn",
                 s.area);
    goto done;
  }
  *out = s;
  s = (rf_sampler){0};

done:
  rf_sampler_free(&s);
  rf_free(parent);
  rf_free(number);
  rf_free(keys);
  rf_free(spare);
  return st;
}

int32_t rf_sampler_draw(const rf_sampler *s, double along, double across, double *point) {
  // first triangle that ends after the position
  const double place = along * s->area;
  int32_t low = 0, high = s->surface->n_triangles - 1;
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    if (s->until[middle] > place)
      high = middle;
    else
      low = middle + 1;
  }
  const double begin = low > 0 ? s->until[low - 1] : 0.0, area = s->until[low] - begin;
  double into = area > 0.0 ? (place - begin) / area : 0.0;
  into = into > 0.0 ? (into < 1.0 ? into : 1.0) : 0.0;
  // strips of equal area, parallel to the side opposite to the first corner
  const double t = sqrt(into);
  const int32_t *v = s->surface->triangles + 3 * (size_t)s->order[low];
  const double *a = s->surface->vertices + 3 * (size_t)v[0];
  const double *b = s->surface->vertices + 3 * (size_t)v[1];
  const double *c = s->surface->vertices + 3 * (size_t)v[2];
  for (int k = 0; k < 3; ++k)
    point[k] = (1.0 - t) * a[k] + t * ((1.0 - across) * b[k] + across * c[k]);
  return s->order[low];
}

int32_t rf_sampler_draw_even(const rf_sampler *s, uint64_t seed, int64_t k, int64_t count,
                             double *point) {
  const double along = ((double)k + rf_uniform(seed, 2 * (uint64_t)k)) / (double)count;
  const double across = rf_uniform(seed, 2 * (uint64_t)k + 1);
  return rf_sampler_draw(s, along < 1.0 ? along : 0.0, across, point);
}
