#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE  // for sigaction, pthread_sigmask
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

// METIS throws its errors by these signals.  It replaces the handlers of the process during a call,
// and puts them back by signal() without their flags: each then serves once, and the next signal
// ends the process.  A signal from outside is an error to METIS, and may stay blocked; in another
// thread than the main one its jump goes astray, which nothing here can prevent.
static const int THROWN[] = {SIGTERM, SIGABRT};
enum { N_THROWN = sizeof THROWN / sizeof *THROWN };

typedef struct handlers {
  struct sigaction action[N_THROWN];
  sigset_t mask;
} handlers;

static void keep(handlers *h) {
  for (int i = 0; i < N_THROWN; ++i) (void)sigaction(THROWN[i], NULL, h->action + i);
  (void)pthread_sigmask(SIG_SETMASK, NULL, &h->mask);
}

static void restore(const handlers *h) {
  for (int i = 0; i < N_THROWN; ++i) (void)sigaction(THROWN[i], h->action + i, NULL);
  (void)pthread_sigmask(SIG_SETMASK, &h->mask, NULL);
}

cholmod_factor *rf_analysis_run(rf_analysis *a, const rf_csc *lower, int ordering,
                                const int32_t *given) {
  cholmod_common *c = &a->common;
  cholmod_sparse view = view_of(lower);
  handlers before;
  c->nmethods = 1;
  c->method[0].ordering = ordering;
  // METIS draws from rand() of the C library, shared by the process: concurrent analyses would take
  // numbers from each other and give different orderings
  const bool metis = ordering == CHOLMOD_METIS;
  if (metis) {
    rf_process_lock_take(RF_LOCK_ANALYSIS);
    keep(&before);
  }
  // CHOLMOD reads the permutation only
  cholmod_factor *factor = cholmod_analyze_p(&view, (int32_t *)given, NULL, 0, c);
  if (metis) {
    restore(&before);
    rf_process_lock_give(RF_LOCK_ANALYSIS);
  }
  rf_analysis_account(a);
  return factor;
}

cholmod_factor *rf_analysis_run_metis(rf_analysis *a, const rf_csc *lower) {
  cholmod_factor *factor = rf_analysis_run(a, lower, CHOLMOD_METIS, NULL);
  // CHOLMOD takes AMD if METIS throws: an error comes again, a signal from outside does not
  if (factor && factor->ordering != CHOLMOD_METIS) {
    (void)cholmod_free_factor(&factor, &a->common);
    factor = rf_analysis_run(a, lower, CHOLMOD_METIS, NULL);
  }
  const int status = a->common.status;
  if (!factor && status != CHOLMOD_OUT_OF_MEMORY && status != CHOLMOD_TOO_LARGE)
    factor = rf_analysis_run(a, lower, CHOLMOD_AMD, NULL);
  return factor;
}
