#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE  // for pthread_sigmask
#endif

#include "linalg/analysis.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "base/alloc.h"
#include "linalg/process_lock.h"

void rf_analysis_account(rf_analysis *a) {
  cholmod_common *c = &a->common;
  rf_alloc_account((int64_t)c->malloc_count - a->blocks, (int64_t)c->memory_inuse - a->bytes,
                   (int64_t)c->memory_usage - a->bytes);
  a->blocks = (int64_t)c->malloc_count;
  a->bytes = (int64_t)c->memory_inuse;
  // restarts the peak for the next call
  c->memory_usage = c->memory_inuse;
}

void rf_analysis_start(rf_analysis *a) {
  cholmod_start(&a->common);
  a->common.print = 0;
  a->started = true;
}

void rf_analysis_finish(rf_analysis *a) {
  if (!a->started) return;
  cholmod_finish(&a->common);
  rf_analysis_account(a);
}

// Returns CHOLMOD's read-only view of a lower triangle.
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

cholmod_factor *rf_analysis_run(rf_analysis *a, const rf_csc *lower, int ordering,
                                const int32_t *given) {
  cholmod_common *c = &a->common;
  cholmod_sparse view = view_of(lower);
  c->nmethods = 1;
  c->method[0].ordering = ordering;
  // METIS draws from rand() of the C library, shared by the process: concurrent analyses would take
  // numbers from each other and give different orderings
  const bool draws = ordering == CHOLMOD_METIS;
  if (draws) rf_process_lock_take(RF_LOCK_ANALYSIS);
  // CHOLMOD reads the permutation only
  cholmod_factor *factor = cholmod_analyze_p(&view, (int32_t *)given, NULL, 0, c);
  if (draws) rf_process_lock_give(RF_LOCK_ANALYSIS);
  rf_analysis_account(a);
  return factor;
}

cholmod_factor *rf_analysis_run_metis(rf_analysis *a, const rf_csc *lower) {
  sigset_t mask;
  // METIS throws by SIGTERM, which it leaves blocked when it has caught it
  const bool masked = pthread_sigmask(SIG_SETMASK, NULL, &mask) == 0;
  cholmod_factor *factor = rf_analysis_run(a, lower, CHOLMOD_METIS, NULL);
  if (!factor && a->common.status == CHOLMOD_INVALID) {
    if (masked) pthread_sigmask(SIG_SETMASK, &mask, NULL);
    // an error of its own comes again, a signal does not
    factor = rf_analysis_run(a, lower, CHOLMOD_METIS, NULL);
    if (factor) raise(SIGTERM);
  }
  if (masked) pthread_sigmask(SIG_SETMASK, &mask, NULL);
  const int status = a->common.status;
  if (!factor && status != CHOLMOD_OUT_OF_MEMORY && status != CHOLMOD_TOO_LARGE)
    factor = rf_analysis_run(a, lower, CHOLMOD_AMD, NULL);
  return factor;
}
