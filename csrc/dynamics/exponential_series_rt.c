#include <float.h>
#include <math.h>
#include <string.h>

#include "dynamics/exponential.h"

enum { TERMS = RF_EXPONENTIAL_TERMS, PAD = 8, MOST_PARTS = 1024 };
static const double ROUNDING = 32.0 * DBL_EPSILON;  // of the factors, relative
static const double REACH = 40.0;  // angle of the highest mode that a part may have
static const double PI = 3.14159265358979323846;

// ---- the series

static void tabulate(rf_exponential_series *s) {
  if (s->cosine[0] == 1.0) return;
  for (int m = 0; m < 4 * TERMS; ++m) s->cosine[m] = cos(PI * m / (2.0 * TERMS));
}

// Factors of the series from the values at the zeros of the first polynomial left out.
static void expand(rf_exponential_series *s) {
  const double middle = 0.5 * (s->low + s->high), half = 0.5 * (s->high - s->low);
  double value[4][TERMS];
  for (int j = 0; j < TERMS; ++j) {
    const rf_exponential e = rf_exponential_mode_rt(middle + half * s->cosine[2 * j + 1], s->alpha,
                                                    s->beta, s->h / s->parts);
    for (int i = 0; i < 2; ++i) {
      value[i][j] = e.of_v[i];
      value[2 + i][j] = e.of_a[i];
    }
  }
  for (int f = 0; f < 4; ++f)
    for (int k = 0; k < TERMS; ++k) {
      double sum = 0.0;
      for (int j = 0; j < TERMS; ++j) sum += value[f][j] * s->cosine[k * (2 * j + 1) % (4 * TERMS)];
      s->factor[f][k] = (k ? 2.0 : 1.0) / TERMS * sum;
    }
}

// Returns the number of terms that matter.
static int32_t count(const rf_exponential_series *s) {
  int32_t most = 1;
  for (int f = 0; f < 4; ++f) {
    double size = 0.0;
    for (int k = 0; k < TERMS; ++k) size += fabs(s->factor[f][k]);
    if (!isfinite(size)) return TERMS;
    const double enough = ROUNDING * size;
    for (int k = most; k < TERMS; ++k)
      if (fabs(s->factor[f][k]) > enough) most = k + 1;
  }
  return most;
}

// Smallest power of 2 above x > 0.
static double above(double x) {
  int exponent;
  (void)frexp(x, &exponent);
  return ldexp(1.0, exponent);
}

// The interval is one of a grid, which depends on its contents alone: copies of a motion have the
// same series.
bool rf_exponential_cover_rt(rf_exponential_series *s, double low, double high) {
  if (!(isfinite(low) && isfinite(high))) return false;
  const double end = above(fmax(high, DBL_MIN)), begin = low < 0.0 ? -above(-low) : 0.0;
  if (s->terms > 0 && s->low == begin && s->high == end) return true;
  tabulate(s);
  s->low = begin;
  s->high = end;
  const double reach = sqrt(end) * s->h / REACH;
  for (s->parts = 1 + (int32_t)fmin(reach, MOST_PARTS); s->parts <= MOST_PARTS; s->parts *= 2) {
    expand(s);
    s->terms = count(s);
    if (s->terms < TERMS - 1) return true;
  }
  s->terms = 0;
  return false;
}

// True if all pivots of the matrix are positive.
static bool definite(int32_t n, const double *diagonal, const double *beside) {
  double pivot = diagonal[0];
  for (int32_t i = 1; i < n && pivot > 0.0; ++i)
    pivot = diagonal[i] - beside[i - 1] * beside[i - 1] / pivot;
  return pivot > 0.0;
}

void rf_exponential_bounds_rt(int32_t n, const double *diagonal, const double *beside, double *low,
                              double *high) {
  *low = INFINITY;
  *high = -INFINITY;
  for (int32_t i = 0; i < n; ++i) {
    const double radius = (i > 0 ? fabs(beside[i - 1]) : 0.0) + (i < n - 1 ? fabs(beside[i]) : 0.0);
    *low = fmin(*low, diagonal[i] - radius);
    *high = fmax(*high, diagonal[i] + radius);
    // comparisons hide NaN
    if (!isfinite(diagonal[i] + radius)) *high = INFINITY;
  }
  // without need the interval does not reach below zero, where the functions grow
  if (definite(n, diagonal, beside)) *low = fmax(*low, 0.0);
}

// ---- functions of a matrix

typedef struct scratch {
  double *diagonal, *beside;  // of the matrix moved to [-1, 1], times 2
  double *last, *now, *next;  // of the recurrence
  double *rate, *force;       // at the beginning of a part
} scratch;

enum { ARRAYS = 7 };

static size_t length_of(int32_t n) { return ((size_t)n + 3 * PAD - 1) / PAD * PAD; }

size_t rf_exponential_work_bytes(int32_t n) { return ARRAYS * length_of(n) * sizeof(double); }

// Arrays have a zero before their first entry, and zeros behind the last.
static scratch carve(void *work, int32_t n) {
  double *at[ARRAYS];
  const size_t length = length_of(n);
  memset(work, 0, rf_exponential_work_bytes(n));
  for (size_t i = 0; i < ARRAYS; ++i) at[i] = (double *)work + i * length + PAD;
  return (scratch){at[0], at[1], at[2], at[3], at[4], at[5], at[6]};
}

static void put_matrix(const rf_exponential_series *s, int32_t n, const double *diagonal,
                       const double *beside, scratch *w) {
  const double middle = 0.5 * (s->low + s->high), scale = 4.0 / (s->high - s->low);
  for (int32_t i = 0; i < n; ++i) w->diagonal[i] = scale * (diagonal[i] - middle);
  for (int32_t i = 0; i < n - 1; ++i) w->beside[i] = scale * beside[i];
}

// change += f_0(T) b, rate += f_1(T) b
static void add_functions(const rf_exponential_series *s, const double f[2][TERMS], int32_t n,
                          const double *b, scratch *w, double *change, double *rate) {
  memcpy(w->now, b, (size_t)n * sizeof *b);
  memset(w->last, 0, (size_t)n * sizeof *b);
  for (int32_t k = 0; k < s->terms; ++k) {
    const double first = f[0][k], second = f[1][k], half = k ? 1.0 : 0.5;
    const double *now = w->now, *last = w->last, *d = w->diagonal, *e = w->beside;
    double *next = w->next;
    for (int32_t i = 0; i < n; ++i) {
      change[i] += first * now[i];
      rate[i] += second * now[i];
      next[i] = half * (d[i] * now[i] + e[i - 1] * now[i - 1] + e[i] * now[i + 1]) - last[i];
    }
    double *const spare = w->last;
    w->last = w->now;
    w->now = w->next;
    w->next = spare;
  }
}

void rf_exponential_apply_rt(const rf_exponential_series *s, int32_t n, const double *diagonal,
                             const double *beside, const double *v, const double *a, void *work,
                             double *change, double *rate_change) {
  scratch w = carve(work, n);
  put_matrix(s, n, diagonal, beside, &w);
  memset(change, 0, (size_t)n * sizeof *change);
  memset(rate_change, 0, (size_t)n * sizeof *rate_change);
  for (int32_t part = 0; part < s->parts; ++part) {
    // rate and acceleration where the part begins
    for (int32_t i = 0; i < n; ++i) {
      w.rate[i] = rate_change[i] + (v ? v[i] : 0.0);
      w.force[i] = (a ? a[i] : 0.0) - s->alpha * rate_change[i];
    }
    for (int32_t i = 0; part > 0 && i < n; ++i) {
      double sum = diagonal[i] * (change[i] + s->beta * rate_change[i]);
      if (i > 0) sum += beside[i - 1] * (change[i - 1] + s->beta * rate_change[i - 1]);
      if (i < n - 1) sum += beside[i] * (change[i + 1] + s->beta * rate_change[i + 1]);
      w.force[i] -= sum;
    }
    if (v || part > 0) add_functions(s, s->factor, n, w.rate, &w, change, rate_change);
    if (a || part > 0) add_functions(s, s->factor + 2, n, w.force, &w, change, rate_change);
  }
}
