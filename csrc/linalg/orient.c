// Exact error terms rely on products and sums that are rounded separately (not contracted).
#if defined(__clang__)
#pragma clang fp contract(off)
#else
#pragma GCC optimize("fp-contract=off")
#endif
#include "linalg/orient.h"

#include <math.h>

static const double BOUND = 7.7715611723761027e-16;  // (7 + 56 u) u, u = 2^-53

// ---- sums of non-overlapping numbers, the smallest first --------------------------------
//
// Zeros are left out: an empty sum is 0.

enum { LONGEST = 192 };

typedef struct expansion {
  int n;
  double x[LONGEST];
} expansion;

// Returns the rounded sum a + b and its rounding error.
static double two_sum(double a, double b, double *lost) {
  const double sum = a + b, more = sum - a;
  *lost = (a - (sum - more)) + (b - more);
  return sum;
}

static void append(expansion *e, double x) {
  if (x != 0.0) e->x[e->n++] = x;
}

static void add_number(expansion *e, double b) {
  double sum = b, lost;
  int kept = 0;
  for (int i = 0; i < e->n; ++i) {
    sum = two_sum(sum, e->x[i], &lost);
    if (lost != 0.0) e->x[kept++] = lost;
  }
  e->n = kept;
  append(e, sum);
}

static void add(expansion *e, const expansion *f) {
  for (int i = 0; i < f->n; ++i) add_number(e, f->x[i]);
}

// Adds b e to out.
static void add_scaled(expansion *out, const expansion *e, double b) {
  for (int i = 0; i < e->n; ++i) {
    const double product = e->x[i] * b;
    add_number(out, fma(e->x[i], b, -product));
    add_number(out, product);
  }
}

static void difference(double a, double b, expansion *out) {
  double lost;
  const double rounded = two_sum(a, -b, &lost);
  out->n = 0;
  append(out, lost);
  append(out, rounded);
}

// Adds sign a b to out.
static void add_product(expansion *out, const expansion *a, const expansion *b, double sign) {
  for (int i = 0; i < b->n; ++i) add_scaled(out, a, sign * b->x[i]);
}

static int sign_of(const expansion *e) { return e->n == 0 ? 0 : e->x[e->n - 1] > 0.0 ? 1 : -1; }

// ---- orientations -----------------------------------------------------------------------

// Computes component i of the cross product of two difference vectors.
static void cross(const expansion u[3], const expansion v[3], int i, expansion *out) {
  const int j = (i + 1) % 3, k = (i + 2) % 3;
  out->n = 0;
  add_product(out, &u[j], &v[k], 1.0);
  add_product(out, &u[k], &v[j], -1.0);
}

static int exact3(const double *a, const double *b, const double *c, const double *p) {
  expansion way[3][3], sum;
  sum.n = 0;
  for (int i = 0; i < 3; ++i) {
    difference(b[i], a[i], &way[0][i]);
    difference(c[i], a[i], &way[1][i]);
    difference(p[i], a[i], &way[2][i]);
  }
  for (int i = 0; i < 3; ++i) {
    expansion minor, product;
    product.n = 0;
    cross(way[0], way[1], i, &minor);
    add_product(&product, &minor, &way[2][i], 1.0);
    add(&sum, &product);
  }
  return sign_of(&sum);
}

void rf_orient_normal(const double a[3], const double b[3], const double c[3], double out[3]) {
  expansion way[2][3], sum;
  for (int i = 0; i < 3; ++i) {
    difference(b[i], a[i], &way[0][i]);
    difference(c[i], a[i], &way[1][i]);
  }
  for (int i = 0; i < 3; ++i) {
    cross(way[0], way[1], i, &sum);
    out[i] = 0.0;
    for (int k = 0; k < sum.n; ++k) out[i] += sum.x[k];
  }
}

int rf_orient3_fast(const double a[3], const double b[3], const double c[3], const double p[3]) {
  double u[3], v[3], w[3], det = 0.0, size = 0.0;
  for (int i = 0; i < 3; ++i) u[i] = b[i] - a[i], v[i] = c[i] - a[i], w[i] = p[i] - a[i];
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    const double first = u[j] * v[k], second = u[k] * v[j];
    det += w[i] * (first - second);
    size += fabs(w[i]) * (fabs(first) + fabs(second));
  }
  if (fabs(det) > BOUND * size) return det > 0.0 ? 1 : -1;
  return size == 0.0 ? 0 : RF_ORIENT_UNSURE;
}

int rf_orient3(const double a[3], const double b[3], const double c[3], const double p[3]) {
  const int sign = rf_orient3_fast(a, b, c, p);
  return sign != RF_ORIENT_UNSURE ? sign : exact3(a, b, c, p);
}

int rf_orient2(const double a[3], const double b[3], const double c[3], int axis) {
  const int j = (axis + 1) % 3, k = (axis + 2) % 3;
  expansion way[4], sum;
  sum.n = 0;
  const double first = (b[j] - a[j]) * (c[k] - a[k]), second = (b[k] - a[k]) * (c[j] - a[j]);
  const double det = first - second, size = fabs(first) + fabs(second);
  if (fabs(det) > BOUND * size) return det > 0.0 ? 1 : -1;
  if (size == 0.0) return 0;
  difference(b[j], a[j], &way[0]);
  difference(c[k], a[k], &way[1]);
  difference(b[k], a[k], &way[2]);
  difference(c[j], a[j], &way[3]);
  add_product(&sum, &way[0], &way[1], 1.0);
  add_product(&sum, &way[2], &way[3], -1.0);
  return sign_of(&sum);
}
