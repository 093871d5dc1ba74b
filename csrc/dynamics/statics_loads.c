#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "dynamics/statics.h"

typedef struct batch {
  const rf_solid *solid;
  const rf_run *run;
  const rf_static_settings *set;
  const rf_loads *loads;
  rf_statics **solver;  // one a worker
  double *force;        // of each worker (workers, n_nodes, 3)
  double *u;
  rf_static_report *reports;
  rf_status *outcomes;
  atomic_bool stopped;  // the callback, which the calling thread alone may ask, said so
} batch;

typedef struct watch {
  batch *all;
  int worker;
} watch;

// the outer callback, on the calling thread; it stops all workers
static int report_progress(void *context, int64_t done, int64_t total) {
  batch *b = context;
  if (b->run->progress && b->run->progress(b->run->progress_context, done, total) != 0)
    atomic_store(&b->stopped, true);
  return atomic_load(&b->stopped);
}

static int poll(void *context, int64_t done, int64_t total) {
  (void)done, (void)total;
  const watch *w = context;
  return w->worker == 0 ? report_progress(w->all, -1, -1) : atomic_load(&w->all->stopped);
}

static rf_status solve_one(void *context, int64_t task, int worker, rf_error *err) {
  batch *b = context;
  const size_t n = 3 * (size_t)b->solid->mesh->n_nodes, which = (size_t)task;
  double *force = b->force + n * (size_t)worker;
  watch w = {b, worker};
  const rf_run alone = {.threads = 1, .progress = poll, .progress_context = &w};
  rf_loads_expand(b->loads, b->solid->mesh->n_nodes, (int32_t)task, force);
  memset(b->u + n * which, 0, n * sizeof *b->u);
  const rf_status st = rf_statics_solve(b->solver[worker], &alone, b->set, force, NULL,
                                        b->u + n * which, &b->reports[which], err);
  b->outcomes[which] = st;
  return st == RF_ERR_NO_CONVERGENCE ? RF_OK : st;
}

rf_status rf_statics_solve_loads(const rf_solid *solid, const rf_run *run,
                                 const rf_static_settings *set, const rf_loads *loads, double *u,
                                 rf_static_report *reports, rf_status *outcomes, rf_error *err) {
  rf_status st = RF_OK;
  batch b = {.solid = solid,
             .run = run,
             .set = set,
             .loads = loads,
             .u = u,
             .reports = reports,
             .outcomes = outcomes};
  const int workers = run->threads < loads->count ? run->threads : loads->count;
  RF_TRY(rf_loads_check(loads, solid->mesh->n_nodes, err));
  RF_TRY(rf_solid_require_held(solid, err));
  if (workers < 1) goto done;
  RF_ALLOC(b.force, 3 * (size_t)solid->mesh->n_nodes * (size_t)workers);
  RF_ALLOC(b.solver, workers);
  for (int w = 0; w < workers; ++w) RF_TRY(rf_statics_create(solid, &b.solver[w], err));
  const rf_run inner = {workers, report_progress, &b};
  RF_TRY(rf_run_tasks(&inner, loads->count, 1, solve_one, &b, err));
done:
  for (int w = 0; b.solver && w < workers; ++w) rf_statics_free(b.solver[w]);
  rf_free(b.solver);
  rf_free(b.force);
  return st;
}
