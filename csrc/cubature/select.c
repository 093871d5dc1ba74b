// Non-negative least squares by columns, with an updated factor of the Gram matrix.
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "cubature/build.h"
#include "linalg/blas.h"
#include "linalg/vector.h"

enum { COLUMNS = 256 };  // of a task

static const double DEPENDENT = 1e-10;  // share of a column that the others must leave, squared
static const double ROUNDING = 1e-13;   // slopes below this part of |b| are rounding

typedef struct selection {
  int32_t rows, columns, most, count;
  const double *a;
  double *norm;      // of each column                                   (columns)
  double *slope;     // of each column: a . residual / |a|               (columns)
  bool *barred;      // chosen, or of no use since the last change       (columns)
  int32_t *chosen;   //                                                  (most)
  double *weight;    //                                                  (most)
  double *residual;  // b - A w                                          (rows)
  double *product;   // A^T b of the chosen ones                         (most)
  double *gram;      // lower triangle, rows of `most`                   (most, most)
  double *factor;    // L of it                                          (most, most)
  double *next;      // the solution without bounds                      (most)
} selection;

static const double *column_of(const selection *s, int32_t j) {
  return s->a + (int64_t)j * s->rows;
}

static rf_status find_slopes(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const selection *s = context;
  const int32_t first = (int32_t)task * COLUMNS;
  const int count = s->columns - first < COLUMNS ? s->columns - first : COLUMNS, one_column = 1;
  const double one = 1.0, zero = 0.0;
  dgemm_("T", "N", &count, &one_column, &s->rows, &one, column_of(s, first), &s->rows, s->residual,
         &s->rows, &zero, s->slope + first, &count);
  for (int32_t j = first; j < first + count; ++j)
    s->slope[j] = s->norm[j] > 0.0 ? s->slope[j] / s->norm[j] : 0.0;
  return RF_OK;
}

static int32_t steepest(const selection *s, double least) {
  int32_t best = -1;
  for (int32_t j = 0; j < s->columns; ++j)
    if (!s->barred[j] && s->slope[j] > least && (best < 0 || s->slope[j] > s->slope[best]))
      best = j;
  return best;
}

// Computes row k of the factor; false if the column depends on those before.
static bool factor_row(selection *s, int32_t k) {
  const double *from = s->gram + (int64_t)k * s->most;
  double *row = s->factor + (int64_t)k * s->most;
  for (int32_t i = 0; i < k; ++i) {
    const double *other = s->factor + (int64_t)i * s->most;
    row[i] = (from[i] - rf_dot(i, row, other)) / other[i];
  }
  const double pivot = from[k] - rf_dot(k, row, row);
  if (!(pivot > DEPENDENT * from[k])) return false;
  row[k] = sqrt(pivot);
  return true;
}

// Adds a column with weight zero; false if it depends on the others.
static bool add(selection *s, int32_t j, const double *b) {
  const int32_t k = s->count;
  double *row = s->gram + (int64_t)k * s->most;
  for (int32_t i = 0; i < k; ++i)
    row[i] = rf_dot_padded(s->rows, column_of(s, s->chosen[i]), column_of(s, j));
  row[k] = rf_dot_padded(s->rows, column_of(s, j), column_of(s, j));
  s->chosen[k] = j;
  s->weight[k] = 0.0;
  s->product[k] = rf_dot_padded(s->rows, column_of(s, j), b);
  s->barred[j] = true;
  if (!factor_row(s, k)) return false;
  ++s->count;
  return true;
}

// Removes the columns without weight.  False if those left depend on each other.
static bool drop(selection *s) {
  int32_t kept = 0;
  for (int32_t i = 0; i < s->count; ++i) {
    if (!(s->weight[i] > 0.0)) {
      s->barred[s->chosen[i]] = false;
      continue;
    }
    double *to = s->gram + (int64_t)kept * s->most;
    int32_t at = 0;
    for (int32_t j = 0; j <= i; ++j)
      if (s->weight[j] > 0.0) to[at++] = s->gram[(int64_t)i * s->most + j];
    s->chosen[kept] = s->chosen[i];
    s->product[kept] = s->product[i];
    s->next[kept++] = s->weight[i];
  }
  s->count = kept;
  memcpy(s->weight, s->next, (size_t)kept * sizeof *s->next);
  for (int32_t k = 0; k < kept; ++k)
    if (!factor_row(s, k)) return false;
  return true;
}

// Computes the weights without bounds.
static void solve(selection *s) {
  const int64_t ld = s->most;
  for (int32_t i = 0; i < s->count; ++i)
    s->next[i] = (s->product[i] - rf_dot(i, s->factor + i * ld, s->next)) / s->factor[i * ld + i];
  for (int32_t i = s->count - 1; i >= 0; --i) {
    double sum = s->next[i];
    for (int32_t k = i + 1; k < s->count; ++k) sum -= s->factor[k * ld + i] * s->next[k];
    s->next[i] = sum / s->factor[i * ld + i];
  }
}

// Moves the weights towards the solution without bounds, and drops those that arrive at zero,
// until all are positive.
static bool settle(selection *s) {
  for (;;) {
    solve(s);
    double part = 1.0;
    int32_t last = -1;
    for (int32_t i = 0; i < s->count; ++i) {
      if (s->next[i] > 0.0) continue;
      const double reach = s->weight[i] / (s->weight[i] - s->next[i]);
      if (last < 0 || reach < part) part = reach, last = i;
    }
    for (int32_t i = 0; i < s->count; ++i)
      s->weight[i] = last < 0 ? s->next[i] : s->weight[i] + part * (s->next[i] - s->weight[i]);
    if (last < 0) return true;
    s->weight[last] = 0.0;
    if (!drop(s)) return false;
  }
}

static void find_residual(selection *s, const double *b) {
  memcpy(s->residual, b, (size_t)s->rows * sizeof *b);
  for (int32_t i = 0; i < s->count; ++i) {
    const double *column = column_of(s, s->chosen[i]), weight = s->weight[i];
    for (int32_t k = 0; k < s->rows; ++k) s->residual[k] -= weight * column[k];
  }
}

// Adds the steepest column that gets a positive weight; false if there is none.
static bool improve(selection *s, const double *b, double least) {
  for (int32_t j = steepest(s, least); j >= 0; j = steepest(s, least)) {
    if (!add(s, j, b)) continue;
    solve(s);
    if (s->next[s->count - 1] > 0.0) return settle(s);
    --s->count;  // stays barred until the residual changes
  }
  return false;
}

// Columns that are not chosen may be tried again.
static void unbar(selection *s) {
  memset(s->barred, 0, (size_t)s->columns * sizeof *s->barred);
  for (int32_t i = 0; i < s->count; ++i) s->barred[s->chosen[i]] = true;
}

static rf_status allocate(selection *s, rf_error *err) {
  rf_status st = RF_OK;
  RF_ALLOC(s->norm, s->columns);
  RF_ALLOC(s->slope, s->columns);
  RF_ALLOC(s->barred, s->columns);
  RF_ALLOC(s->residual, s->rows);
  RF_ALLOC(s->product, s->most);
  RF_ALLOC(s->gram, (int64_t)s->most * s->most);
  RF_ALLOC(s->factor, (int64_t)s->most * s->most);
  RF_ALLOC(s->next, s->most);
done:
  return st;
}

static void release(selection *s) {
  rf_free(s->norm);
  rf_free(s->slope);
  rf_free(s->barred);
  rf_free(s->residual);
  rf_free(s->product);
  rf_free(s->gram);
  rf_free(s->factor);
  rf_free(s->next);
}

rf_status rf_cubature_select(const rf_run *run, int32_t n_rows, int32_t n_columns, const double *a,
                             const double *b, int32_t most, double tolerance, int32_t *chosen,
                             double *weight, int32_t *count, rf_error *err) {
  rf_status st = RF_OK;
  const double size = rf_norm_padded(n_rows, b);
  const int64_t tasks = (n_columns + COLUMNS - 1) / COLUMNS;
  most = most < n_columns ? most : n_columns;
  selection s = {.rows = n_rows,
                 .columns = n_columns,
                 .most = most,
                 .a = a,
                 .chosen = chosen,
                 .weight = weight};
  RF_TRY(allocate(&s, err));
  for (int32_t j = 0; j < n_columns; ++j) s.norm[j] = rf_norm_padded(n_rows, column_of(&s, j));
  find_residual(&s, b);
  rf_blas_serial_begin();
  // weights may return to zero, so there are more rounds than points
  for (int32_t round = 0; round < 4 * most && s.count < most && st >= 0; ++round) {
    if (rf_norm_padded(n_rows, s.residual) <= tolerance * size) break;
    st = rf_run_tasks(run, tasks, 0, find_slopes, &s, err);
    if (st >= 0) st = rf_run_progress(run, s.count, most, err);
    unbar(&s);
    if (st < 0 || !improve(&s, b, ROUNDING * size)) break;
    find_residual(&s, b);
  }
  rf_blas_serial_end();
  *count = s.count;
done:
  release(&s);
  return st;
}
