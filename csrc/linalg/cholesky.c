#include "linalg/cholesky.h"

#include <cholmod.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "linalg/blas.h"
#include "linalg/process_lock.h"

// below this waking threads for each supernode takes longer than the work itself
static const double SERIAL_FLOPS = 2e9;
static const double PADDING = 1.25;  // entries of a factor in supernodes over those of L
static const double GB_PER_ENTRY = 1e-9 * sizeof(double);

// CHOLMOD allocates by functions that belong to the process (SuiteSparse_config), so others
// would feel it if they were exchanged.  Its own counts are told to base/alloc.h instead,
// after every call that may have changed them.
typedef struct session {
  cholmod_common common;
  bool started;
  int64_t blocks, bytes;  // told so far
} session;

struct rf_cholesky {
  session cholmod;
  cholmod_factor *factor;
  cholmod_sparse *half;  // L as a sparse matrix, made when first needed
  int32_t n;
};

static void tell_memory(session *s) {
  cholmod_common *c = &s->common;
  rf_alloc_account((int64_t)c->malloc_count - s->blocks, (int64_t)c->memory_inuse - s->bytes,
                   (int64_t)c->memory_usage - s->bytes);
  s->blocks = (int64_t)c->malloc_count;
  s->bytes = (int64_t)c->memory_inuse;
  // from here on the highest is that of the next call
  c->memory_usage = c->memory_inuse;
}

static void start(session *s) {
  cholmod_start(&s->common);
  s->common.print = 0;
  s->started = true;
}

static void finish(session *s) {
  if (!s->started) return;
  cholmod_finish(&s->common);
  tell_memory(s);
}

// Text of a failure.  `n` unknowns; `entries` of the factor, 0 where they are not known.
static rf_status from_cholmod(const cholmod_common *c, const char *what, int32_t n, double entries,
                              rf_error *err) {
  const char *remedy =
      "use a coarser mesh (a lower resolution) or elements of fewer nodes (order=1)";
  if (c->status == CHOLMOD_TOO_LARGE && entries > INT32_MAX) {
    // the fill of three-dimensional solids grows as n^(4/3)
    const double fitting = n * pow(INT32_MAX / entries, 0.75);
    return rf_fail(err, RF_ERR_MEMORY,
                   "sparse Cholesky %s: the factor of %d unknowns has some %.2g entries (%.0f GB) "
                   "and may have %d, about as many as that of %d,000 unknowns; %s",
                   what, (int)n, entries, GB_PER_ENTRY * entries, INT32_MAX,
                   (int)(fitting / 1000.0), remedy);
  }
  if (c->status == CHOLMOD_TOO_LARGE)
    return rf_fail(err, RF_ERR_MEMORY,
                   "sparse Cholesky %s: the indices of %d unknowns exceed 32 bits; %s", what,
                   (int)n, remedy);
  if (c->status == CHOLMOD_OUT_OF_MEMORY && entries > 0.0)
    return rf_fail(
        err, RF_ERR_MEMORY,
        "out of memory in the sparse Cholesky %s: the factor of %d unknowns takes %.2g GB "
        "and as much again for a moment; %s",
        what, (int)n, GB_PER_ENTRY * entries, remedy);
  if (c->status == CHOLMOD_OUT_OF_MEMORY)
    return rf_fail(err, RF_ERR_MEMORY, "out of memory in the sparse Cholesky %s of %d unknowns; %s",
                   what, (int)n, remedy);
  return rf_fail(err, RF_ERR_INTERNAL, "sparse Cholesky %s failed (CHOLMOD status %d)", what,
                 c->status);
}

// CHOLMOD's view of a lower triangle; it is only read
static cholmod_sparse view_of(const rf_csc *lower) {
  cholmod_sparse a;
  memset(&a, 0, sizeof a);
  a.nrow = (size_t)lower->rows;
  a.ncol = (size_t)lower->cols;
  a.nzmax = (size_t)lower->colptr[lower->cols];
  a.p = lower->colptr;
  a.i = lower->rowind;
  a.x = lower->val;
  a.stype = -1;
  a.itype = CHOLMOD_INT;
  a.xtype = CHOLMOD_REAL;
  a.dtype = CHOLMOD_DOUBLE;
  a.sorted = 1;
  a.packed = 1;
  return a;
}

static cholmod_dense view_of_dense(int32_t n, int nrhs, const double *x) {
  cholmod_dense d;
  memset(&d, 0, sizeof d);
  d.nrow = (size_t)n;
  d.ncol = (size_t)nrhs;
  d.nzmax = (size_t)n * (size_t)nrhs;
  d.d = (size_t)n;
  // CHOLMOD declares the values writable but treats right-hand sides as const
  memcpy(&d.x, &x, sizeof x);
  d.xtype = CHOLMOD_REAL;
  d.dtype = CHOLMOD_DOUBLE;
  return d;
}

// METIS draws from the C library's rand(), which is the process's: analyses in several
// threads at once would take numbers from each other and give different orderings
static cholmod_factor *analyze(cholmod_sparse *a, int ordering, cholmod_common *c) {
  c->nmethods = 1;
  c->method[0].ordering = ordering;
  rf_process_lock_take(RF_LOCK_ANALYSIS);
  cholmod_factor *factor = cholmod_analyze(a, c);
  rf_process_lock_give(RF_LOCK_ANALYSIS);
  return factor;
}

rf_status rf_cholesky_create(const rf_csc *lower, rf_cholesky **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_cholesky *f = NULL;
  *out = NULL;
  if (lower->rows != lower->cols || lower->rows < 1)
    return rf_fail(err, RF_ERR_ARG, "a Cholesky factor needs a square matrix, got %d x %d",
                   lower->rows, lower->cols);
  RF_ALLOC(f, 1);
  f->n = lower->rows;
  start(&f->cholmod);
  cholmod_common *c = &f->cholmod.common;
  c->supernodal = CHOLMOD_SUPERNODAL;
  c->final_ll = 1;
  c->quick_return_if_not_posdef = 1;

  // METIS gives half the fill of AMD on three-dimensional solids; where CHOLMOD was
  // built without it the call fails and AMD is taken
  cholmod_sparse a = view_of(lower);
  f->factor = analyze(&a, CHOLMOD_METIS, c);
  if (!f->factor && c->status != CHOLMOD_OUT_OF_MEMORY && c->status != CHOLMOD_TOO_LARGE)
    f->factor = analyze(&a, CHOLMOD_AMD, c);
  tell_memory(&f->cholmod);
  if (!f->factor) {
    st = from_cholmod(c, "analysis", f->n, PADDING * fmax(c->lnz, 0.0), err);
    goto done;
  }
  *out = f;
  f = NULL;
done:
  rf_cholesky_free(f);
  return st;
}

rf_status rf_cholesky_factorize(rf_cholesky *f, const rf_csc *lower, int32_t *bad_column,
                                rf_error *err) {
  if (lower->rows != f->n || lower->cols != f->n)
    return rf_fail(err, RF_ERR_ARG, "matrix of %d rows given to a factor of %d", lower->rows, f->n);
  cholmod_common *c = &f->cholmod.common;
  cholmod_free_sparse(&f->half, c);
  cholmod_sparse a = view_of(lower);
  c->status = CHOLMOD_OK;
  // one BLAS thread, here and in the solves: the bits must not depend on its number
  const int levels = c->fl < SERIAL_FLOPS ? rf_openmp_serial_begin() : -1;
  rf_blas_serial_begin();
  const int ok = cholmod_factorize(&a, f->factor, c);
  rf_blas_serial_end();
  rf_openmp_serial_end(levels);
  tell_memory(&f->cholmod);
  if (c->status == CHOLMOD_NOT_POSDEF) {
    const size_t minor = f->factor->minor;
    const int32_t column =
        minor < (size_t)f->n ? ((const int32_t *)f->factor->Perm)[minor] : f->n - 1;
    if (bad_column) *bad_column = column;
    return rf_fail(err, RF_ERR_SINGULAR, "matrix is not positive definite (column %d)", column);
  }
  if (!ok || c->status < CHOLMOD_OK)
    return from_cholmod(c, "factorization", f->n, (double)f->factor->xsize, err);
  return RF_OK;
}

// runs one kind of CHOLMOD solve and copies the result out
static rf_status solve_kind(const rf_cholesky *f, session *cholmod, int kind, int nrhs,
                            const double *b, double *x, rf_error *err) {
  cholmod_common *c = &cholmod->common;
  cholmod_dense rhs = view_of_dense(f->n, nrhs, b);
  rf_blas_serial_begin();
  cholmod_dense *solution = cholmod_solve(kind, f->factor, &rhs, c);
  rf_blas_serial_end();
  if (solution) memcpy(x, solution->x, (size_t)f->n * (size_t)nrhs * sizeof *x);
  const rf_status st = solution ? RF_OK : from_cholmod(c, "solve", f->n, 0.0, err);
  cholmod_free_dense(&solution, c);
  tell_memory(cholmod);
  return st;
}

rf_status rf_cholesky_solve(rf_cholesky *f, int nrhs, const double *b, double *x, rf_error *err) {
  for (int c = 0; c < nrhs; c += RF_CHOLESKY_BLOCK) {
    const int count = nrhs - c < RF_CHOLESKY_BLOCK ? nrhs - c : RF_CHOLESKY_BLOCK;
    const size_t at = (size_t)c * (size_t)f->n;
    const rf_status st = solve_kind(f, &f->cholmod, CHOLMOD_A, count, b + at, x + at, err);
    if (st < 0) return st;
  }
  return RF_OK;
}

typedef struct parallel_solve {
  const rf_cholesky *f;
  session *cholmod;  // one a worker: CHOLMOD keeps its scratch and status there
  int nrhs;
  const double *b;
  double *x;
} parallel_solve;

static rf_status solve_block(void *context, int64_t task, int worker, rf_error *err) {
  const parallel_solve *p = context;
  const int first = (int)task * RF_CHOLESKY_BLOCK;
  const int count = p->nrhs - first < RF_CHOLESKY_BLOCK ? p->nrhs - first : RF_CHOLESKY_BLOCK;
  const size_t at = (size_t)first * (size_t)p->f->n;
  return solve_kind(p->f, &p->cholmod[worker], CHOLMOD_A, count, p->b + at, p->x + at, err);
}

rf_status rf_cholesky_solve_parallel(const rf_cholesky *f, const rf_run *run, int nrhs,
                                     const double *b, double *x, rf_error *err) {
  rf_status st = RF_OK;
  parallel_solve p = {.f = f, .nrhs = nrhs, .b = b, .x = x};
  const int blocks = (nrhs + RF_CHOLESKY_BLOCK - 1) / RF_CHOLESKY_BLOCK;
  const int workers = run->threads < blocks ? run->threads : blocks;
  RF_ALLOC(p.cholmod, workers);
  for (int w = 0; w < workers; ++w) start(&p.cholmod[w]);
  const rf_run inner = {workers < 1 ? 1 : workers, run->progress, run->progress_context};
  rf_blas_serial_begin();
  st = rf_run_tasks(&inner, blocks, 0, solve_block, &p, err);
  rf_blas_serial_end();
done:
  for (int w = 0; p.cholmod && w < workers; ++w) finish(&p.cholmod[w]);
  rf_free(p.cholmod);
  return st;
}

rf_status rf_cholesky_half_prepare(rf_cholesky *f, rf_error *err) {
  if (f->half) return RF_OK;
  // the conversion consumes its argument, so it works on a copy
  cholmod_common *c = &f->cholmod.common;
  cholmod_factor *copy = cholmod_copy_factor(f->factor, c);
  // first made simplicial by itself: _to_sparse calls running out of memory there invalid
  if (copy && cholmod_change_factor(CHOLMOD_REAL, true, false, true, true, copy, c))
    f->half = cholmod_factor_to_sparse(copy, c);
  const rf_status st =
      f->half ? RF_OK : from_cholmod(c, "conversion", f->n, (double)f->factor->xsize, err);
  cholmod_free_factor(&copy, c);
  tell_memory(&f->cholmod);
  return st;
}

static void half_multiply(const rf_cholesky *f, size_t width, const double *x, double *scratch,
                          double *y) {
  const int32_t *ptr = f->half->p, *ind = f->half->i, *perm = f->factor->Perm;
  const double *val = f->half->x;
  for (int32_t j = 0; j < f->n; ++j)
    for (size_t c = 0; c < width; ++c)
      scratch[width * (size_t)j + c] = x[width * (size_t)perm[j] + c];
  for (int32_t j = 0; j < f->n; ++j) {
    double sum[RF_CHOLESKY_HALF_WIDTH] = {0.0};
    for (int32_t p = ptr[j]; p < ptr[j + 1]; ++p) {
      const double *row = scratch + width * (size_t)ind[p];
      for (size_t c = 0; c < width; ++c) sum[c] += val[p] * row[c];
    }
    for (size_t c = 0; c < width; ++c) y[width * (size_t)j + c] = sum[c];
  }
}

typedef double two __attribute__((vector_size(16), aligned(8), may_alias));

// The same with all sums in registers.
static void half_multiply_widest(const rf_cholesky *f, const double *x, double *scratch,
                                 double *y) {
  enum { WIDTH = RF_CHOLESKY_HALF_WIDTH, PAIRS = WIDTH / 2 };
  const int32_t *ptr = f->half->p, *ind = f->half->i, *perm = f->factor->Perm;
  const double *val = f->half->x;
  for (int32_t j = 0; j < f->n; ++j)
    memcpy(scratch + WIDTH * (size_t)j, x + WIDTH * (size_t)perm[j], WIDTH * sizeof *x);
  for (int32_t j = 0; j < f->n; ++j) {
    two sum[PAIRS] = {{0.0}};
    for (int32_t p = ptr[j]; p < ptr[j + 1]; ++p) {
      const two *row = (const two *)(scratch + WIDTH * (size_t)ind[p]);
      const two factor = {val[p], val[p]};
#pragma GCC unroll 12
      for (int c = 0; c < PAIRS; ++c) sum[c] += factor * row[c];
    }
    memcpy(y + WIDTH * (size_t)j, sum, sizeof sum);
  }
}

void rf_cholesky_half_multiply(const rf_cholesky *f, int width, const double *x, double *scratch,
                               double *y) {
  if (width == RF_CHOLESKY_HALF_WIDTH)
    half_multiply_widest(f, x, scratch, y);
  else
    half_multiply(f, (size_t)width, x, scratch, y);
}

rf_status rf_cholesky_half_solve(rf_cholesky *f, int nrhs, const double *y, double *x,
                                 rf_error *err) {
  rf_status st = RF_OK;
  double *z = NULL;
  RF_ALLOC(z, (size_t)f->n * (size_t)nrhs);
  RF_TRY(solve_kind(f, &f->cholmod, CHOLMOD_Lt, nrhs, y, z, err));
  const int32_t *perm = f->factor->Perm;
  for (int c = 0; c < nrhs; ++c) {
    const size_t at = (size_t)c * (size_t)f->n;
    for (int32_t j = 0; j < f->n; ++j) x[at + (size_t)perm[j]] = z[at + (size_t)j];
  }
done:
  rf_free(z);
  return st;
}

void rf_cholesky_free(rf_cholesky *f) {
  if (!f) return;
  if (f->cholmod.started) {
    cholmod_free_sparse(&f->half, &f->cholmod.common);
    cholmod_free_factor(&f->factor, &f->cholmod.common);
    finish(&f->cholmod);
  }
  rf_free(f);
}
