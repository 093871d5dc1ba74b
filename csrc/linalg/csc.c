#include "linalg/csc.h"

#include <string.h>

#include "base/alloc.h"
#include "base/run.h"

// entry products below which waking another thread takes longer than the work
static const int64_t ALONE = 1 << 18;

rf_status rf_csc_create(int32_t rows, int32_t cols, int64_t nnz, rf_csc *out, rf_error *err) {
  rf_status st = RF_OK;
  if (!(rows >= 0 && cols >= 0 && nnz >= 0 && nnz <= INT32_MAX))
    return rf_fail(err, RF_ERR_ARG,
                   "sparse matrix of %d x %d with %lld entries is beyond the 32-bit index range",
                   rows, cols, (long long)nnz);
  out->rows = rows;
  out->cols = cols;
  RF_ALLOC(out->colptr, (int64_t)cols + 1);
  RF_ALLOC(out->rowind, nnz);
  RF_ALLOC(out->val, nnz);
done:
  if (st < 0) rf_csc_free(out);
  return st;
}

rf_status rf_csc_copy(const rf_csc *from, rf_csc *out, rf_error *err) {
  const size_t nnz = (size_t)from->colptr[from->cols];
  const rf_status st = rf_csc_create(from->rows, from->cols, (int64_t)nnz, out, err);
  if (st < 0) return st;
  memcpy(out->colptr, from->colptr, ((size_t)from->cols + 1) * sizeof *out->colptr);
  memcpy(out->rowind, from->rowind, nnz * sizeof *out->rowind);
  memcpy(out->val, from->val, nnz * sizeof *out->val);
  return st;
}

int64_t rf_csc_find(const rf_csc *a, int32_t row, int32_t column) {
  int32_t low = a->colptr[column], high = a->colptr[column + 1] - 1;
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    if (a->rowind[middle] < row)
      low = middle + 1;
    else
      high = middle;
  }
  return low <= high && a->rowind[low] == row ? low : -1;
}

void rf_csc_free(rf_csc *a) {
  rf_free(a->colptr);
  rf_free(a->rowind);
  rf_free(a->val);
  memset(a, 0, sizeof *a);
}

typedef struct multiplication {
  const rf_csc *lower;
  int width;
  const double *x;
  double *y;
} multiplication;

static inline void multiply_one(const rf_csc *lower, int width, const double *x, double *y) {
  const size_t w = (size_t)width;
  for (int32_t j = 0; j < lower->cols; ++j) {
    const double *xj = x + w * (size_t)j;
    double sum[3] = {0.0, 0.0, 0.0};
    for (int32_t p = lower->colptr[j]; p < lower->colptr[j + 1]; ++p) {
      const size_t i = w * (size_t)lower->rowind[p];
      const double a = lower->val[p];
      for (size_t c = 0; c < w; ++c) sum[c] += a * x[i + c];
      if (lower->rowind[p] == j) continue;
      for (size_t c = 0; c < w; ++c) y[i + c] += a * xj[c];
    }
    for (size_t c = 0; c < w; ++c) y[w * (size_t)j + c] += sum[c];
  }
}

static rf_status multiply_task(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const multiplication *m = context;
  const size_t length = (size_t)m->width * (size_t)m->lower->cols, at = length * (size_t)task;
  memset(m->y + at, 0, length * sizeof *m->y);
  // a constant width lets the compiler unroll
  if (m->width == 1)
    multiply_one(m->lower, 1, m->x + at, m->y + at);
  else
    multiply_one(m->lower, 3, m->x + at, m->y + at);
  return RF_OK;
}

rf_status rf_csc_symmetric_multiply(const rf_csc *lower, const rf_run *run, int width,
                                    int32_t count, const double *x, double *y, rf_error *err) {
  multiplication m = {lower, width, x, y};
  rf_run inner = *run;
  if (!(width == 1 || width == 3))
    return rf_fail(err, RF_ERR_INTERNAL, "a matrix acts on 1 or 3 components, not %d", width);
  if ((int64_t)lower->colptr[lower->cols] * width * count < ALONE) inner.threads = 1;
  return rf_run_tasks(&inner, count, 0, multiply_task, &m, err);
}

enum { COLUMNS = 8 };  // columns of X per task

typedef struct product {
  const rf_csc *a;
  int32_t count;
  const double *x;
  double *y;
} product;

static rf_status product_task(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const product *p = context;
  const rf_csc *a = p->a;
  const size_t stride = (size_t)p->count, first = (size_t)task * COLUMNS;
  const size_t width = stride - first < COLUMNS ? stride - first : COLUMNS;
  for (int32_t i = 0; i < a->rows; ++i)
    memset(p->y + (size_t)i * stride + first, 0, width * sizeof *p->y);
  for (int32_t j = 0; j < a->cols; ++j) {
    const double *x = p->x + (size_t)j * stride + first;
    for (int32_t k = a->colptr[j]; k < a->colptr[j + 1]; ++k) {
      double *y = p->y + (size_t)a->rowind[k] * stride + first;
      for (size_t c = 0; c < width; ++c) y[c] += a->val[k] * x[c];
    }
  }
  return RF_OK;
}

rf_status rf_csc_multiply(const rf_csc *a, const rf_run *run, int32_t count, const double *x,
                          double *y, rf_error *err) {
  product p = {a, count, x, y};
  rf_run inner = *run;
  if ((int64_t)a->colptr[a->cols] * count < ALONE) inner.threads = 1;
  return rf_run_tasks(&inner, count / COLUMNS + (count % COLUMNS != 0), 0, product_task, &p, err);
}
