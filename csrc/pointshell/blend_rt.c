#include <math.h>
#include <string.h>

#include "linalg/vec3.h"
#include "pointshell/blend.h"

enum { K = RF_SHELL_BLEND_NEAREST };
static const double SIDE = 1e-6;     // least cosine of the normals of a side, above roundings
static const double SAME = 1e-9;     // least distance over that of the farthest
static const double FLAT = 1e-6;     // least variance across a line, over that along it
static const double STEEPEST = 2.0;  // sum of the sizes of the slope's weights, at most
static const double GONE = 2.0;  // distance where values have faded, over that of the neighbours

typedef struct nearest {
  int32_t n, number[K + 1];
  double square[K + 1];
} nearest;

// Keeps a point among the nearest, in the order of their distances.
static void keep(nearest *found, int32_t number, double square) {
  int32_t k = found->n <= K ? found->n++ : K;
  for (; k > 0 && found->square[k - 1] > square; --k) {
    found->square[k] = found->square[k - 1];
    found->number[k] = found->number[k - 1];
  }
  found->square[k] = square;
  found->number[k] = number;
}

// Finds the K + 1 points nearest to x on the side of a normal.
static void search(const rf_shell_blend_points *points, const double *x, const double *normal,
                   nearest *found) {
  found->n = 0;
  for (int32_t i = 0; i < points->n; ++i) {
    double way[3];
    rf_vec3_sub(points->at + 3 * (int64_t)i, x, way);
    const double square = rf_vec3_dot(way, way);
    if (found->n > K && !(square < found->square[K])) continue;
    if (rf_vec3_dot(points->outward + 3 * (int64_t)i, normal) > SIDE) keep(found, i, square);
  }
}

// Weights of the points of a place, and their derivatives by it; NULL: none.
typedef struct blended {
  int32_t n;
  double *weight, (*change)[3];
} blended;

// Writes the derivative of the distance of a found point by the place.
static void put_rise(const rf_shell_blend_points *points, const nearest *found, int32_t k,
                     const double *x, double rise[3]) {
  const double distance = sqrt(found->square[k]);
  rf_vec3_sub(x, points->at + 3 * (int64_t)found->number[k], rise);
  for (int i = 0; i < 3; ++i) rise[i] = distance > 0.0 ? rise[i] / distance : 0.0;
}

// Fades weights with the distance from the nearest point.
static void fade(const rf_shell_blend_points *points, const nearest *near, const double *x,
                 blended *b) {
  const int32_t first = near->number[0];
  const double distance = sqrt(near->square[0]);
  nearest found;
  search(points, points->at + 3 * (int64_t)first, points->outward + 3 * (int64_t)first, &found);
  const double reach = found.n > 0 ? sqrt(found.square[found.n - 1]) : 0.0;
  if (!(distance > reach && reach > 0.0)) return;  // beside it, or a single point
  const double left = fmax((GONE - distance / reach) / (GONE - 1.0), 0.0);
  double rise[3];
  put_rise(points, near, 0, x, rise);
  for (int32_t k = 0; k < b->n; ++k) {
    for (int i = 0; i < 3 && b->change; ++i)
      b->change[k][i] =
          left > 0.0 ? left * b->change[k][i] - b->weight[k] * rise[i] / ((GONE - 1.0) * reach)
                     : 0.0;
    b->weight[k] *= left;
  }
}

// Weights by distance, which sum to 1, of the n points but the farthest of K + 1.
static void put_shares(const rf_shell_blend_points *points, const nearest *found, const double *x,
                       blended *b) {
  const double times = found->n > K ? 1.0 : 2.0;
  const double farthest = times * sqrt(found->square[found->n - 1]);
  double sum = 0.0, last[3], mean[3] = {0.0};
  put_rise(points, found, found->n - 1, x, last);
  for (int32_t k = 0; k < b->n; ++k) {
    const double own = sqrt(found->square[k]), distance = fmax(own, SAME * farthest);
    const double share = farthest > 0.0 ? farthest / distance - 1.0 : 1.0;
    sum += b->weight[k] = share * share;
    if (!b->change) continue;
    // of the logarithm first
    double rise[3];
    put_rise(points, found, k, x, rise);
    for (int i = 0; i < 3; ++i)
      b->change[k][i] =
          own == distance && share > 0.0
              ? 2.0 / share * (times * last[i] - farthest / distance * rise[i]) / distance
              : 0.0;
  }
  for (int32_t k = 0; k < b->n; ++k) {
    b->weight[k] = sum > 0.0 ? b->weight[k] / sum : 1.0 / b->n;
    for (int i = 0; i < 3 && b->change; ++i) mean[i] += b->weight[k] * b->change[k][i];
  }
  for (int32_t k = 0; k < b->n && b->change; ++k)
    for (int i = 0; i < 3; ++i) b->change[k][i] = b->weight[k] * (b->change[k][i] - mean[i]);
}

// Linear function in the tangents at a place, with the least squares: the sums of shares w and
// places a of its points about their mean m, M = sum w a a^T, and c = -M^-1 m.
typedef struct fit {
  double axis[2][3], at[K][2], mean[2], xx, xy, yy, det, tilt[2];
} fit;

// out = -M^-1 v
static void turn_back(const fit *f, const double v[2], double out[2]) {
  out[0] = (f->xy * v[1] - f->yy * v[0]) / f->det;
  out[1] = (f->xy * v[0] - f->xx * v[1]) / f->det;
}

// Returns false for points on a line, which do not give a slope.
static bool make_fit(const rf_shell_blend_points *points, const nearest *found, const double *x,
                     const double *normal, const blended *b, fit *f) {
  *f = (fit){0};
  rf_vec3_tangents(normal, f->axis[0], f->axis[1]);
  for (int32_t k = 0; k < b->n; ++k) {
    double way[3];
    rf_vec3_sub(points->at + 3 * (int64_t)found->number[k], x, way);
    for (int i = 0; i < 2; ++i)
      f->mean[i] += b->weight[k] * (f->at[k][i] = rf_vec3_dot(f->axis[i], way));
  }
  for (int32_t k = 0; k < b->n; ++k) {
    const double p = f->at[k][0] -= f->mean[0], q = f->at[k][1] -= f->mean[1];
    f->xx += b->weight[k] * p * p;
    f->xy += b->weight[k] * p * q;
    f->yy += b->weight[k] * q * q;
  }
  f->det = f->xx * f->yy - f->xy * f->xy;
  const double trace = f->xx + f->yy;
  if (!(f->det > FLAT * trace * trace)) return false;
  turn_back(f, f->mean, f->tilt);
  return true;
}

// Writes the derivatives of w a . c along axis i of space, at a fixed normal; each place a has the
// derivative -sum w' a.
static void derive_slope(const fit *f, const blended *b, int i, double out[K]) {
  double shift[2] = {0.0}, way[2], tilt[2], bent[2] = {0.0};
  for (int32_t k = 0; k < b->n; ++k)
    for (int e = 0; e < 2; ++e) shift[e] -= b->change[k][i] * f->at[k][e];
  for (int32_t k = 0; k < b->n; ++k) {
    const double along = f->at[k][0] * f->tilt[0] + f->at[k][1] * f->tilt[1];
    for (int e = 0; e < 2; ++e) bent[e] += b->change[k][i] * along * f->at[k][e];
  }
  for (int e = 0; e < 2; ++e) way[e] = bent[e] - shift[e] - f->axis[e][i];
  turn_back(f, way, tilt);
  for (int32_t k = 0; k < b->n; ++k) {
    const double *a = f->at[k];
    out[k] = b->change[k][i] * (a[0] * f->tilt[0] + a[1] * f->tilt[1]) +
             b->weight[k] *
                 (shift[0] * f->tilt[0] + shift[1] * f->tilt[1] + a[0] * tilt[0] + a[1] * tilt[1]);
  }
}

// Adds the slope of the linear function that is nearest to the values, in the tangents at x.
static void add_slope(const rf_shell_blend_points *points, const nearest *found, const double *x,
                      const double *normal, blended *b) {
  fit f;
  double slope[K], change[3][K], size = 0.0;
  if (!make_fit(points, found, x, normal, b, &f)) return;
  for (int32_t k = 0; k < b->n; ++k) {
    slope[k] = b->weight[k] * (f.at[k][0] * f.tilt[0] + f.at[k][1] * f.tilt[1]);
    size += fabs(slope[k]);
  }
  const double part = size > STEEPEST ? STEEPEST / size : 1.0;
  for (int i = 0; i < 3 && b->change; ++i) {
    double grows = 0.0;
    derive_slope(&f, b, i, change[i]);
    for (int32_t k = 0; k < b->n; ++k) grows += copysign(change[i][k], change[i][k] * slope[k]);
    const double fewer = size > STEEPEST ? grows / size : 0.0;
    for (int32_t k = 0; k < b->n; ++k) b->change[k][i] += part * (change[i][k] - fewer * slope[k]);
  }
  for (int32_t k = 0; k < b->n; ++k) b->weight[k] += part * slope[k];
}

void rf_shell_blend_place_rt(const rf_shell_blend_points *points, const double x[3],
                             const double normal[3], int32_t *number, double *weight,
                             double (*change)[3]) {
  nearest found;
  memset(number, 0, K * sizeof *number);
  memset(weight, 0, K * sizeof *weight);
  if (change) memset(change, 0, K * sizeof *change);
  search(points, x, normal, &found);
  if (found.n == 0) return;
  blended b = {.n = found.n < K ? found.n : K, .weight = weight, .change = change};
  memcpy(number, found.number, (size_t)b.n * sizeof *number);
  put_shares(points, &found, x, &b);
  add_slope(points, &found, x, normal, &b);
  fade(points, &found, x, &b);
}
