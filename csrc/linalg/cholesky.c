#include "linalg/cholesky.h"

#include <math.h>

#include "base/alloc.h"
#include "base/run.h"
#include "linalg/analysis.h"
#include "linalg/blas.h"
#include "linalg/fronts.h"

static const double PADDING = 1.25;  // entries stored in supernodes, relative to those of L
static const double GB_PER_ENTRY = 1e-9 * sizeof(double);

struct rf_cholesky {
  rf_analysis cholmod;
  cholmod_factor *factor;
  rf_fronts *fronts;
  int32_t n;
};

static const char REMEDY[] =
    "use a coarser mesh (a lower resolution) or elements of fewer nodes (order=1)";

static rf_status out_of_memory(const char *what, int32_t n, double entries, rf_error *err) {
  if (entries > 0.0)
    return rf_fail(err, RF_ERR_MEMORY,
                   "out of memory in the sparse Cholesky %s: the factor of %d unknowns takes %.2g "
                   "GB, and up to half as much again while it is computed; %s",
                   what, (int)n, GB_PER_ENTRY * entries, REMEDY);
  return rf_fail(err, RF_ERR_MEMORY, "out of memory in the sparse Cholesky %s of %d unknowns; %s",
                 what, (int)n, REMEDY);
}

// Sets the error text of a failed call.  `n` unknowns; `entries` of the factor, 0 if not known.
static rf_status from_cholmod(const cholmod_common *c, const char *what, int32_t n, double entries,
                              rf_error *err) {
  if (c->status == CHOLMOD_TOO_LARGE && entries > INT32_MAX) {
    // the fill of three-dimensional solids grows as n^(4/3)
    const double fitting = n * pow(INT32_MAX / entries, 0.75);
    return rf_fail(err, RF_ERR_MEMORY,
                   "sparse Cholesky %s: the factor of %d unknowns has about %.2g entries (%.0f GB) "
                   "and may have %d, about as many as that of %d,000 unknowns; %s",
                   what, (int)n, entries, GB_PER_ENTRY * entries, INT32_MAX,
                   (int)(fitting / 1000.0), REMEDY);
  }
  if (c->status == CHOLMOD_TOO_LARGE)
    return rf_fail(err, RF_ERR_MEMORY,
                   "sparse Cholesky %s: the indices of %d unknowns exceed 32 bits; %s", what,
                   (int)n, REMEDY);
  if (c->status == CHOLMOD_OUT_OF_MEMORY) return out_of_memory(what, n, entries, err);
  return rf_fail(err, RF_ERR_INTERNAL, "sparse Cholesky %s failed (CHOLMOD status %d)", what,
                 c->status);
}

// Analyses the pattern with the ordering in use: f->factor, NULL with a status of CHOLMOD.
static rf_status analyze(rf_cholesky *f, const rf_csc *lower, const rf_places *places,
                         rf_error *err) {
  rf_status st = RF_OK;
  int32_t *permutation = NULL;
  const rf_ordering_method method = rf_ordering_in_use();
  rf_analysis *a = &f->cholmod;
  if (places && (method == RF_ORDER_AUTO || method == RF_ORDER_DISSECTION)) {
    RF_ALLOC(permutation, f->n);
    rf_ordering_method taken = RF_ORDER_DISSECTION;
    RF_TRY(rf_ordering(lower, places, NULL, &taken, permutation, err));
    f->factor = rf_analysis_run(a, lower, CHOLMOD_GIVEN, permutation);
  } else if (method == RF_ORDER_AMD) {
    f->factor = rf_analysis_run(a, lower, CHOLMOD_AMD, NULL);
  } else {
    // METIS gives half the fill of AMD on three-dimensional solids
    f->factor = rf_analysis_run_metis(a, lower);
  }
done:
  rf_free(permutation);
  return st;
}

rf_status rf_cholesky_create(const rf_csc *lower, const rf_places *places, rf_cholesky **out,
                             rf_error *err) {
  rf_status st = RF_OK;
  rf_cholesky *f = NULL;
  *out = NULL;
  if (lower->rows != lower->cols || lower->rows < 1)
    return rf_fail(err, RF_ERR_ARG, "a Cholesky factor needs a square matrix, got %d x %d",
                   lower->rows, lower->cols);
  RF_ALLOC(f, 1);
  f->n = lower->rows;
  rf_analysis_start(&f->cholmod);
  cholmod_common *c = &f->cholmod.common;
  c->supernodal = CHOLMOD_SUPERNODAL;
  c->final_ll = 1;
  c->quick_return_if_not_posdef = 1;

  RF_TRY(analyze(f, lower, places, err));
  if (!f->factor) {
    st = from_cholmod(c, "analysis", f->n, PADDING * fmax(c->lnz, 0.0), err);
    goto done;
  }
  const rf_supernodes nodes = {.n = f->n,
                               .count = (int32_t)f->factor->nsuper,
                               .permutation = f->factor->Perm,
                               .column = f->factor->super,
                               .row_begin = f->factor->pi,
                               .value_begin = f->factor->px,
                               .row = f->factor->s};
  RF_TRY(rf_fronts_create(&nodes, &f->fronts, err));
  *out = f;
  f = NULL;
done:
  rf_cholesky_free(f);
  return st;
}

rf_status rf_cholesky_factorize(rf_cholesky *f, const rf_run *run, const rf_csc *lower,
                                int32_t *bad_column, rf_error *err) {
  if (lower->rows != f->n || lower->cols != f->n)
    return rf_fail(err, RF_ERR_ARG, "matrix of %d rows given to a factor of %d", lower->rows, f->n);
  cholmod_common *c = &f->cholmod.common;
  if (f->factor->xtype == CHOLMOD_PATTERN &&
      !cholmod_change_factor(CHOLMOD_REAL, true, true, true, true, f->factor, c))
    return from_cholmod(c, "factorization", f->n, (double)f->factor->xsize, err);
  rf_analysis_account(&f->cholmod);
  // one BLAS thread, here and in the solves: the result must not depend on the thread count
  int32_t bad = 0;
  rf_blas_serial_begin();
  rf_status st = rf_fronts_factorize(f->fronts, run, lower, f->factor->x, &bad, err);
  rf_blas_serial_end();
  if (st == RF_ERR_SINGULAR) {
    const int32_t column = ((const int32_t *)f->factor->Perm)[bad];
    if (bad_column) *bad_column = column;
    st = rf_fail(err, RF_ERR_SINGULAR, "matrix is not positive definite (column %d)", column);
  }
  if (st == RF_ERR_MEMORY) st = out_of_memory("factorization", f->n, (double)f->factor->xsize, err);
  return st;
}

static rf_status apply(const rf_cholesky *f, const rf_run *run, rf_fronts_operation operation,
                       const rf_fronts_sides *sides, rf_error *err) {
  const rf_status st = rf_fronts_apply(f->fronts, run, f->factor->x, operation, sides, err);
  return st == RF_ERR_MEMORY ? out_of_memory("solve", f->n, 0.0, err) : st;
}

rf_status rf_cholesky_solve(const rf_cholesky *f, const rf_run *run, int nrhs, const double *b,
                            double *x, rf_error *err) {
  return apply(f, run, RF_FRONTS_SOLVE, &(rf_fronts_sides){nrhs, 1, b, x}, err);
}

rf_status rf_cholesky_half_solve(const rf_cholesky *f, const rf_run *run, int vectors, int width,
                                 double *x, rf_error *err) {
  return apply(f, run, RF_FRONTS_HALF_SOLVE, &(rf_fronts_sides){vectors, width, x, x}, err);
}

rf_status rf_cholesky_half_multiply(const rf_cholesky *f, const rf_run *run, int vectors, int width,
                                    double *x, rf_error *err) {
  return apply(f, run, RF_FRONTS_HALF_MULTIPLY, &(rf_fronts_sides){vectors, width, x, x}, err);
}

rf_status rf_cholesky_inverse_create(const rf_cholesky *f, int32_t count, const int32_t *unknown,
                                     int workers, rf_fronts_inverse **out, rf_error *err) {
  return rf_fronts_inverse_create(f->fronts, f->factor->x, count, unknown, workers, out, err);
}

void rf_cholesky_free(rf_cholesky *f) {
  if (!f) return;
  rf_fronts_free(f->fronts);
  if (f->cholmod.started) {
    cholmod_free_factor(&f->factor, &f->cholmod.common);
    rf_analysis_finish(&f->cholmod);
  }
  rf_free(f);
}
