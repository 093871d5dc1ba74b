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

// Returns the part of a value that is left at a distance from the nearest point.
static double left_at(const rf_shell_blend_points *points, int32_t point, double distance) {
  nearest found;
  search(points, points->at + 3 * (int64_t)point, points->outward + 3 * (int64_t)point, &found);
  const double reach = found.n > 0 ? sqrt(found.square[found.n - 1]) : 0.0;
  if (!(reach > 0.0)) return 1.0;  // a single point
  return fmax(fmin((GONE - distance / reach) / (GONE - 1.0), 1.0), 0.0);
}

// Weights by distance, which sum to 1, of the n points but the farthest of K + 1.
static void put_shares(const nearest *found, int32_t n, double *weight) {
  const double last = sqrt(found->square[found->n - 1]),
               farthest = found->n > K ? last : 2.0 * last;
  double sum = 0.0;
  for (int32_t k = 0; k < n; ++k) {
    const double distance = fmax(sqrt(found->square[k]), SAME * farthest);
    const double share = farthest > 0.0 ? farthest / distance - 1.0 : 1.0;
    sum += weight[k] = share * share;
  }
  for (int32_t k = 0; k < n; ++k) weight[k] = sum > 0.0 ? weight[k] / sum : 1.0 / n;
}

// Adds the slope of the linear function that is nearest to the values, in the tangents at x.
static void add_slope(const rf_shell_blend_points *points, const nearest *found, int32_t n,
                      const double *x, const double *normal, double *weight) {
  double axis[2][3], at[K][2], mean[2] = {0.0, 0.0}, slope[K], xx = 0.0, xy = 0.0, yy = 0.0;
  rf_vec3_tangents(normal, axis[0], axis[1]);
  for (int32_t k = 0; k < n; ++k) {
    double way[3];
    rf_vec3_sub(points->at + 3 * (int64_t)found->number[k], x, way);
    for (int i = 0; i < 2; ++i) mean[i] += weight[k] * (at[k][i] = rf_vec3_dot(axis[i], way));
  }
  for (int32_t k = 0; k < n; ++k) {
    const double p = at[k][0] -= mean[0], q = at[k][1] -= mean[1];
    xx += weight[k] * p * p;
    xy += weight[k] * p * q;
    yy += weight[k] * q * q;
  }
  const double det = xx * yy - xy * xy, trace = xx + yy;
  if (!(det > FLAT * trace * trace)) return;  // points on a line
  const double p = (xy * mean[1] - yy * mean[0]) / det, q = (xy * mean[0] - xx * mean[1]) / det;
  double size = 0.0;
  for (int32_t k = 0; k < n; ++k) {
    slope[k] = weight[k] * (p * at[k][0] + q * at[k][1]);
    size += fabs(slope[k]);
  }
  const double part = size > STEEPEST ? STEEPEST / size : 1.0;
  for (int32_t k = 0; k < n; ++k) weight[k] += part * slope[k];
}

void rf_shell_blend_place_rt(const rf_shell_blend_points *points, const double x[3],
                             const double normal[3], int32_t *number, double *weight) {
  nearest found;
  memset(number, 0, K * sizeof *number);
  memset(weight, 0, K * sizeof *weight);
  search(points, x, normal, &found);
  if (found.n == 0) return;
  const double left = left_at(points, found.number[0], sqrt(found.square[0]));
  if (!(left > 0.0)) return;
  const int32_t n = found.n < K ? found.n : K;
  memcpy(number, found.number, (size_t)n * sizeof *number);
  put_shares(&found, n, weight);
  add_slope(points, &found, n, x, normal, weight);
  for (int32_t k = 0; k < n; ++k) weight[k] *= left;
}
