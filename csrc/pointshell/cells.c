#include "pointshell/cells.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "linalg/vec3.h"

// Surfaces occupy few cells of their box; more cells per point are not worth their memory.
enum { CELLS_A_POINT = 24, FEWEST_CELLS = 4096 };

void rf_cells_free(rf_cells *c) {
  rf_free(c->first);
  rf_free(c->item);
  rf_free(c->of);
  rf_free(c->x);
  *c = (rf_cells){0};
}

rf_status rf_cells_allocate(int32_t capacity, rf_cells *out, rf_error *err) {
  rf_status st = RF_OK;
  rf_cells c = {.capacity = capacity};
  *out = (rf_cells){0};
  c.max_cells = FEWEST_CELLS + CELLS_A_POINT * (int64_t)capacity;
  if (c.max_cells > INT32_MAX - 1) c.max_cells = INT32_MAX - 1;
  RF_ALLOC(c.first, c.max_cells + 1);
  RF_ALLOC(c.item, capacity);
  RF_ALLOC(c.of, capacity);
  RF_ALLOC(c.x, 3 * (size_t)capacity);
  *out = c;
  return RF_OK;

done:
  rf_cells_free(&c);
  return st;
}

// Limits the sides of the folded grid: all equal, except those that need less.
static void fold(rf_cells *c) {
  int32_t low = 1, high = INT32_MAX;
  while (low < high) {
    const int32_t side = low + (high - low) / 2 + 1;
    double product = 1.0;
    for (int a = 0; a < 3; ++a) product *= c->count[a] < side ? c->count[a] : side;
    if (product <= (double)c->max_cells)
      low = side;
    else
      high = side - 1;
  }
  for (int a = 0; a < 3; ++a) c->dims[a] = c->count[a] < low ? c->count[a] : low;
}

static size_t along(const rf_cells *c, int axis, double x) {
  const double t = (x - c->low[axis]) * c->inverse;
  const int32_t last = c->count[axis] - 1, at = t < (double)last ? (int32_t)t : last;
  // a division takes as long as all the rest together
  return (size_t)(at < c->dims[axis] ? at : at % c->dims[axis]);
}

void rf_cells_fill(rf_cells *c, int32_t n, const double *points, double size) {
  c->n = n;
  for (int a = 0; a < 3; ++a) c->low[a] = INFINITY, c->high[a] = -INFINITY;
  for (int32_t i = 0; i < n; ++i)
    for (int a = 0; a < 3; ++a) {
      const double x = points[3 * (size_t)i + (size_t)a];
      if (x < c->low[a]) c->low[a] = x;
      if (x > c->high[a]) c->high[a] = x;
    }
  // a box without extent has one cell, of any size
  const double extent =
      fmax(c->high[0] - c->low[0], fmax(c->high[1] - c->low[1], c->high[2] - c->low[2]));
  if (!(size > 1e-9 * extent)) size = 1e-9 * extent;
  if (!(size > 0.0)) size = 1.0;
  size = fmax(size, 1e-300);
  c->inverse = 1.0 / size;
  for (int a = 0; a < 3; ++a) c->count[a] = (int32_t)floor((c->high[a] - c->low[a]) / size) + 1;
  fold(c);
  const size_t total = (size_t)c->dims[0] * (size_t)c->dims[1] * (size_t)c->dims[2];

  // counting sort: points of a cell keep their order
  memset(c->first, 0, (total + 1) * sizeof *c->first);
  for (int32_t i = 0; i < n; ++i) {
    const double *x = points + 3 * (size_t)i;
    const size_t row = along(c, 0, x[0]) * (size_t)c->dims[1] + along(c, 1, x[1]);
    const size_t at = row * (size_t)c->dims[2] + along(c, 2, x[2]);
    c->of[i] = (int32_t)at;
    ++c->first[at + 1];
  }
  for (size_t k = 0; k < total; ++k) c->first[k + 1] += c->first[k];
  for (int32_t i = n - 1; i >= 0; --i) {
    // backwards, so that each count ends as the first position of its cell
    const int32_t at = --c->first[c->of[i] + 1];
    c->item[at] = i;
    memcpy(c->x + 3 * (size_t)at, points + 3 * (size_t)i, 3 * sizeof(double));
  }
  // entry k + 1 is now the beginning of cell k
  memmove(c->first, c->first + 1, total * sizeof *c->first);
  c->first[total] = n;
}

// Lists, in order of memory, a cell of an axis and its neighbours.  Returns their number.
static int32_t next_to(const rf_cells *c, int axis, int32_t at, int32_t next[3]) {
  const int32_t length = c->dims[axis];
  const bool folded = length < c->count[axis];
  int32_t n = 0;
  for (int32_t i = 0; i < length && length <= 3; ++i)
    if (folded || (i >= at - 1 && i <= at + 1)) next[n++] = i;
  if (length <= 3) return n;
  // a folded axis continues at its other end
  if (folded && at == length - 1) next[n++] = 0;
  for (int32_t i = at > 0 ? at - 1 : 0; i <= at + 1 && i < length; ++i) next[n++] = i;
  if (folded && at == 0) next[n++] = length - 1;
  return n;
}

int32_t rf_cells_around(const rf_cells *c, int32_t cell, rf_cells_run run[RF_CELLS_RUNS]) {
  int32_t x[3], y[3], z[3], n = 0;
  const int32_t row = cell / c->dims[2];
  const int32_t nx = next_to(c, 0, row / c->dims[1], x), ny = next_to(c, 1, row % c->dims[1], y),
                nz = next_to(c, 2, cell % c->dims[2], z);
  for (int32_t i = 0; i < nx; ++i)
    for (int32_t j = 0; j < ny; ++j) {
      const int32_t *first =
          c->first + ((size_t)x[i] * (size_t)c->dims[1] + (size_t)y[j]) * (size_t)c->dims[2];
      for (int32_t k = 0; k < nz; ++k) {
        const rf_cells_run one = {first[z[k]], first[z[k] + 1]};
        if (one.begin == one.end) continue;
        if (n > 0 && run[n - 1].end == one.begin)
          run[n - 1].end = one.end;
        else
          run[n++] = one;
      }
    }
  return n;
}

static int32_t nearest_within(const rf_cells *c, const double p[3], const rf_cells_filter *filter,
                              double radius, double *square) {
  int32_t best = -1, k, end;
  double least = radius * radius;
  rf_cells_walk walk;
  rf_cells_begin(c, p, radius, &walk);
  while (rf_cells_next(c, &walk, &k, &end))
    for (; k < end; ++k) {
      double d[3];
      rf_vec3_sub(c->x + 3 * (size_t)k, p, d);
      const double r2 = rf_vec3_dot(d, d);
      const int32_t item = c->item[k];
      if (!(r2 < least || (r2 == least && (best < 0 || item < best)))) continue;
      if (item == filter->except || (filter->gone && filter->gone[item])) continue;
      if (filter->normals &&
          !(rf_vec3_dot(filter->normals + 3 * (size_t)item, filter->normal) > RF_SAME_SIDE))
        continue;
      least = r2;
      best = item;
    }
  *square = least;
  return best;
}

int32_t rf_cells_nearest(const rf_cells *c, const double p[3], const rf_cells_filter *filter,
                         double start, double *distance) {
  // no point is further away than this
  double reach = 0.0;
  for (int a = 0; a < 3; ++a) {
    const double far = fmax(fabs(p[a] - c->low[a]), fabs(p[a] - c->high[a]));
    reach += far * far;
  }
  reach = 1.001 * sqrt(reach);
  double radius = start > 0.0 ? start : 1.0 / c->inverse, square;
  for (;;) {
    const int32_t best = nearest_within(c, p, filter, radius, &square);
    if (best >= 0 || !(radius < reach)) {
      *distance = sqrt(square);
      return best;
    }
    radius *= 2.0;
  }
}
