#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "dynamics/equilibrium.h"
#include "dynamics/statics.h"

static const double PROPORTIONAL = 1e-12;     // relative difference of loads that is rounding
static const double RESOLUTION = 1.0 / 32.0;  // of the part of a load that can be reached

typedef struct batch {
  const rf_solid *solid;
  const rf_run *run;
  const rf_static_settings *set;
  const rf_loads *loads;
  rf_statics **solver;  // one a worker
  int workers;
  double *force;   // of each worker (workers, n_nodes, 3)
  double *ratio;   // each load over that before, > 1; 0: not a multiple of it  (count)
  int32_t *first;  // first load of each chain of multiples    (chains + 1)
  double *u;
  rf_static_report *reports;
  rf_status *outcomes;
  _Atomic int64_t done;  // shares of all loads
  _Atomic int32_t left;  // chains that are not finished
  atomic_bool stopped;   // the callback, which the calling thread alone may ask, said so
} batch;

typedef struct watch {
  batch *all;
  const rf_static_report *report;  // of the load that is being solved
  int worker;
  int64_t done;  // shares of the load
  rf_run run;    // of the load
} watch;

// Calls the outer callback, on the calling thread; it stops all workers.
static int report_progress(void *context, int64_t done, int64_t total) {
  batch *b = context;
  (void)done, (void)total;
  if (atomic_load(&b->stopped)) return 1;  // the callback that stopped is not called again
  if (b->run->progress && b->run->progress(b->run->progress_context, atomic_load(&b->done),
                                           (int64_t)b->loads->count * RF_STATIC_SHARES) != 0)
    atomic_store(&b->stopped, true);
  return atomic_load(&b->stopped);
}

static void advance(watch *w, int64_t shares) {
  if (shares > RF_STATIC_SHARES) shares = RF_STATIC_SHARES;  // steps grow again: cuts may be many
  if (shares <= w->done) return;
  atomic_fetch_add(&w->all->done, shares - w->done);
  w->done = shares;
}

// Returns the threads of a load: those of workers that have no chain any more are shared.
static int threads_of(batch *b) {
  const int32_t left = atomic_load(&b->left);
  return b->run->threads / (left < b->workers ? left : b->workers);
}

// Progress of a load: the fraction reached, or the part of the halvings that have been made. Counts
// come between iterations, when no scratch of threads is in use: the evaluation of a system must
// not run tasks that report theirs, or the number of threads would change under it.
static int follow(void *context, int64_t done, int64_t total) {
  watch *w = context;
  if (total > 0) {
    const int64_t cuts = w->report->cuts * RF_STATIC_SHARES / (w->all->set->halvings + 1);
    const int64_t reached = done * RF_STATIC_SHARES / total;
    advance(w, cuts > reached ? cuts : reached);
    w->run.threads = threads_of(w->all);
  }
  return w->worker == 0 ? report_progress(w->all, -1, -1) : atomic_load(&w->all->stopped);
}

static rf_status solve_one(batch *b, int32_t which, int worker, rf_error *err) {
  const size_t n = 3 * (size_t)b->solid->mesh->n_nodes;
  double *force = b->force + n * (size_t)worker, *u = b->u + n * (size_t)which;
  rf_static_report *report = &b->reports[which];
  rf_static_settings set = *b->set;
  watch w = {.all = b, .report = report, .worker = worker};
  w.run = (rf_run){threads_of(b), follow, &w};
  set.resolution = RESOLUTION;
  rf_status st = RF_ERR_NO_CONVERGENCE;
  if (b->ratio[which] > 0.0) {
    memcpy(u, u - n, n * sizeof *u);
    set.begin = report[-1].fraction / b->ratio[which];
    *report =
        (rf_static_report){.inverted = report[-1].inverted, .stable = -1, .fraction = set.begin};
  }
  if (b->ratio[which] == 0.0 || b->outcomes[which - 1] >= 0) {
    rf_loads_expand(b->loads, b->solid->mesh->n_nodes, which, force);
    st = rf_statics_solve(b->solver[worker], &w.run, &set, force, NULL, u, report, err);
  }
  b->outcomes[which] = st;
  advance(&w, RF_STATIC_SHARES);
  return st == RF_ERR_NO_CONVERGENCE ? RF_OK : st;
}

static rf_status solve_chain(void *context, int64_t task, int worker, rf_error *err) {
  batch *b = context;
  rf_status st = RF_OK;
  for (int32_t k = b->first[task]; k < b->first[task + 1] && st >= 0; ++k)
    st = solve_one(b, k, worker, err);
  atomic_fetch_sub(&b->left, 1);
  return st;
}

// Factor > 1 between two loads (n), or 0: the second is no larger multiple of the first.
static double ratio_of(size_t n, const double *before, const double *after) {
  double square = 0.0, product = 0.0, largest = 0.0;
  for (size_t i = 0; i < n; ++i) {
    square += before[i] * before[i];
    product += before[i] * after[i];
    largest = fmax(largest, fabs(after[i]));
  }
  const double ratio = square > 0.0 ? product / square : 0.0;
  if (!(ratio > 1.0)) return 0.0;
  for (size_t i = 0; i < n; ++i)
    if (!(fabs(after[i] - ratio * before[i]) <= PROPORTIONAL * largest)) return 0.0;
  return ratio;
}

// Sets ratio and first; returns the number of chains.
static rf_status find_chains(batch *b, int32_t *chains, rf_error *err) {
  rf_status st = RF_OK;
  const int32_t nodes = b->solid->mesh->n_nodes;
  const size_t n = 3 * (size_t)nodes;
  double *pair = NULL;
  RF_ALLOC(pair, 2 * n);
  RF_ALLOC(b->ratio, b->loads->count);
  RF_ALLOC(b->first, (int64_t)b->loads->count + 1);
  *chains = 0;
  for (int32_t k = 0; k < b->loads->count; ++k) {
    double *now = pair + n * (size_t)(k % 2), *before = pair + n * (size_t)((k + 1) % 2);
    rf_loads_expand(b->loads, nodes, k, now);
    b->ratio[k] = k > 0 ? ratio_of(n, before, now) : 0.0;
    if (b->ratio[k] == 0.0) b->first[(*chains)++] = k;
  }
  b->first[*chains] = b->loads->count;
done:
  rf_free(pair);
  return st;
}

rf_status rf_statics_solve_loads(const rf_solid *solid, const rf_run *run,
                                 const rf_static_settings *set, const rf_loads *loads, double *u,
                                 rf_static_report *reports, rf_status *outcomes, rf_error *err) {
  rf_status st = RF_OK;
  int32_t chains = 0;
  int workers = 0;
  batch b = {.solid = solid,
             .run = run,
             .set = set,
             .loads = loads,
             .u = u,
             .reports = reports,
             .outcomes = outcomes};
  RF_TRY(rf_statics_check(set, err));
  RF_TRY(rf_loads_check(loads, solid->mesh->n_nodes, err));
  RF_TRY(rf_solid_require_held(solid, err));
  RF_TRY(find_chains(&b, &chains, err));
  workers = run->threads < chains ? run->threads : chains;
  if (workers < 1) goto done;
  b.workers = workers;
  atomic_init(&b.left, chains);
  memset(u, 0, 3 * (size_t)solid->mesh->n_nodes * (size_t)loads->count * sizeof *u);
  RF_ALLOC(b.force, 3 * (size_t)solid->mesh->n_nodes * (size_t)workers);
  RF_ALLOC(b.solver, workers);
  for (int w = 0; w < workers; ++w) RF_TRY(rf_statics_create(solid, &b.solver[w], err));
  const rf_run inner = {workers, report_progress, &b};
  RF_TRY(rf_run_tasks(&inner, chains, 0, solve_chain, &b, err));
  // helpers may have finished last
  if (workers > 1) RF_TRY(rf_run_poll(&inner, err));
done:
  for (int w = 0; b.solver && w < workers; ++w) rf_statics_free(b.solver[w]);
  rf_free(b.solver);
  rf_free(b.force);
  rf_free(b.ratio);
  rf_free(b.first);
  return st;
}
