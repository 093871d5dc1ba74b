// A dictionary x_B = b + T x_N of the n basic variables in the n + 1 others.  Variables 0 to n - 1
// are w, n to 2 n - 1 are z, 2 n is the artificial one, whose column is 1 throughout.
#include "constraint/lemke.h"

#include <math.h>

#include "base/alloc.h"
#include "base/run.h"

static const double SMALLEST = 1e-11;  // pivot, of the largest entry of M
static const double TIE = 1e-12;       // of ratios, relative

typedef struct dictionary {
  int32_t n;
  double *t;       // (n rows of n + 1)
  double *b;       // (n)
  int32_t *basic;  // variable of each row      (n)
  int32_t *other;  // variable of each column   (n + 1)
  double least;    // size of a pivot
} dictionary;

static void exchange(dictionary *d, int32_t row, int32_t column) {
  const int32_t n = d->n, width = n + 1, leaves = d->basic[row];
  double *pivot = d->t + (int64_t)row * width;
  const double inverse = 1.0 / pivot[column];
  for (int32_t j = 0; j < width; ++j) pivot[j] *= -inverse;
  pivot[column] = inverse;
  d->b[row] *= -inverse;
  for (int32_t i = 0; i < n; ++i) {
    if (i == row) continue;
    double *line = d->t + (int64_t)i * width;
    const double factor = line[column];
    if (factor == 0.0) continue;
    line[column] = 0.0;
    for (int32_t j = 0; j < width; ++j) line[j] += factor * pivot[j];
    d->b[i] += factor * d->b[row];
  }
  d->basic[row] = d->other[column];
  d->other[column] = leaves;
}

// Row that leaves when the variable of a column grows; -1: none.  Of ties the artificial variable
// leaves, or the largest pivot.
static int32_t leaving(const dictionary *d, int32_t column) {
  int32_t row = -1;
  double least = INFINITY, most = 0.0;
  for (int32_t i = 0; i < d->n; ++i) {
    const double slope = -d->t[(int64_t)i * (d->n + 1) + column];
    if (slope <= d->least) continue;
    const double ratio = fmax(d->b[i], 0.0) / slope;
    const double margin = row < 0 ? 0.0 : TIE * (1.0 + least);
    const int ties = row >= 0 && fabs(ratio - least) <= margin;
    if (ties ? d->basic[row] != 2 * d->n && (d->basic[i] == 2 * d->n || slope > most)
             : ratio < least) {
      row = i;
      least = ratio;
      most = slope;
    }
  }
  return row;
}

static int32_t column_of(const dictionary *d, int32_t variable) {
  int32_t j = 0;
  while (d->other[j] != variable) ++j;
  return j;
}

static void fill(dictionary *d, const double *m, const double *q) {
  const int32_t n = d->n;
  double largest = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    double *row = d->t + i * (n + 1);
    for (int32_t j = 0; j < n; ++j) {
      row[j] = m[i * n + j];
      largest = fmax(largest, fabs(row[j]));
    }
    row[n] = 1.0;
    d->b[i] = q[i];
    d->basic[i] = (int32_t)i;
    d->other[i] = n + (int32_t)i;
  }
  d->other[n] = 2 * n;
  d->least = SMALLEST * fmax(largest, 1e-300);
}

static rf_status iterate(dictionary *d, const rf_run *run, rf_lemke_report *report, rf_error *err) {
  const int32_t n = d->n, most = 50 * n;
  int32_t row = 0, column = n;
  for (int32_t i = 1; i < n; ++i)
    if (d->b[i] < d->b[row]) row = i;
  if (d->b[row] >= 0.0) return RF_OK;
  report->failed = 1;
  while (row >= 0 && report->pivots < most) {
    const rf_status st = rf_run_poll(run, err);
    if (st < 0) return st;
    const int32_t leaves = d->basic[row];
    exchange(d, row, column);
    ++report->pivots;
    if (leaves == 2 * n) {
      report->failed = 0;
      return RF_OK;
    }
    column = column_of(d, leaves < n ? leaves + n : leaves - n);  // its complement enters
    row = leaving(d, column);
  }
  return RF_OK;
}

rf_status rf_lemke(int32_t n, const double *m, const double *q, const rf_run *run, double *z,
                   rf_lemke_report *report, rf_error *err) {
  rf_status st = RF_OK;
  dictionary d = {.n = n};
  *report = (rf_lemke_report){0};
  RF_ALLOC(d.t, (int64_t)n * (n + 1));
  RF_ALLOC(d.b, n);
  RF_ALLOC(d.basic, n);
  RF_ALLOC(d.other, (int64_t)n + 1);
  fill(&d, m, q);
  RF_TRY(iterate(&d, run, report, err));
  for (int32_t i = 0; i < n; ++i) z[i] = 0.0;
  for (int32_t i = 0; i < n; ++i)
    if (d.basic[i] >= n && d.basic[i] < 2 * n) z[d.basic[i] - n] = fmax(d.b[i], 0.0);
done:
  rf_free(d.t);
  rf_free(d.b);
  rf_free(d.basic);
  rf_free(d.other);
  return st;
}
