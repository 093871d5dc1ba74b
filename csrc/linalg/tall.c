#include "linalg/tall.h"

#include <string.h>

#include "base/run.h"
#include "linalg/blas.h"

enum {
  BLOCK_ROWS = 4096,  // large enough to be worth another thread
  SLICE_ROWS = 512    // an in-place product copies its input: a slice stays in the cache
};

typedef struct product {
  int n, ka, kb;
  const double *a, *b, *c;
  double *out, *scratch;
  double alpha, beta;
} product;

static int32_t pieces(int32_t n, int32_t rows) { return n / rows + (n % rows != 0); }

// Returns the number of rows of the piece that begins at `first`.
static int rows_from(int32_t n, int32_t first, int32_t rows) {
  return n - first < rows ? n - first : rows;
}

size_t rf_tall_inner_scratch(int32_t n, int32_t ka, int32_t kb) {
  return (size_t)pieces(n, BLOCK_ROWS) * (size_t)ka * (size_t)kb;
}

size_t rf_tall_turn_scratch(int32_t keep, int threads) {
  return (size_t)threads * SLICE_ROWS * (size_t)keep;
}

static rf_status inner_block(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const product *p = context;
  const double one = 1.0, zero = 0.0;
  const int32_t first = (int32_t)task * BLOCK_ROWS;
  const int rows = rows_from(p->n, first, BLOCK_ROWS);
  double *part = p->scratch + (size_t)task * (size_t)p->ka * (size_t)p->kb;
  dgemm_("T", "N", &p->ka, &p->kb, &rows, &one, p->a + first, &p->n, p->b + first, &p->n, &zero,
         part, &p->ka);
  return RF_OK;
}

rf_status rf_tall_inner(const rf_run *run, int32_t n, int32_t ka, const double *a, int32_t kb,
                        const double *b, double *scratch, double *c, rf_error *err) {
  product p = {.n = n, .ka = ka, .kb = kb, .a = a, .b = b, .scratch = scratch};
  const int32_t blocks = pieces(n, BLOCK_ROWS);
  const size_t size = (size_t)ka * (size_t)kb;
  const rf_status st = rf_run_tasks(run, blocks, 0, inner_block, &p, err);
  if (st < 0) return st;
  memcpy(c, scratch, size * sizeof *c);
  for (int32_t k = 1; k < blocks; ++k)
    for (size_t i = 0; i < size; ++i) c[i] += scratch[(size_t)k * size + i];
  return RF_OK;
}

static rf_status add_block(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const product *p = context;
  const int32_t first = (int32_t)task * BLOCK_ROWS;
  const int rows = rows_from(p->n, first, BLOCK_ROWS);
  dgemm_("N", "N", &rows, &p->kb, &p->ka, &p->alpha, p->a + first, &p->n, p->c, &p->ka, &p->beta,
         p->out + first, &p->n);
  return RF_OK;
}

rf_status rf_tall_add(const rf_run *run, int32_t n, int32_t ka, const double *a, int32_t kb,
                      const double *c, double alpha, double beta, double *b, rf_error *err) {
  product p = {.n = n, .ka = ka, .kb = kb, .a = a, .c = c, .out = b, .alpha = alpha, .beta = beta};
  return rf_run_tasks(run, pieces(n, BLOCK_ROWS), 0, add_block, &p, err);
}

static rf_status turn_slice(void *context, int64_t task, int worker, rf_error *err) {
  (void)err;
  const product *p = context;
  const double one = 1.0, zero = 0.0;
  const int32_t first = (int32_t)task * SLICE_ROWS;
  const int rows = rows_from(p->n, first, SLICE_ROWS);
  double *slice = p->scratch + (size_t)worker * SLICE_ROWS * (size_t)p->kb;
  dgemm_("N", "N", &rows, &p->kb, &p->ka, &one, p->out + first, &p->n, p->c, &p->ka, &zero, slice,
         &rows);
  for (size_t j = 0; j < (size_t)p->kb; ++j)
    memcpy(p->out + j * (size_t)p->n + first, slice + j * (size_t)rows,
           (size_t)rows * sizeof *slice);
  return RF_OK;
}

rf_status rf_tall_turn(const rf_run *run, int32_t n, int32_t ka, double *a, int32_t keep,
                       const double *c, double *scratch, rf_error *err) {
  product p = {.n = n, .ka = ka, .kb = keep, .c = c, .out = a, .scratch = scratch};
  return rf_run_tasks(run, pieces(n, SLICE_ROWS), 0, turn_slice, &p, err);
}
