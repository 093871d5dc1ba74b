// Execution of long calls: number of threads, progress callback, interruption.
//
// Work is cut into tasks.  Tasks are claimed in order by the calling thread
// and by run->threads - 1 helpers that live for the one call (no pool outlives
// it: nothing to join at exit, nothing to break after fork).  The progress
// callback is invoked on the calling thread only.  Which thread runs a task
// must not influence its result; then results do not depend on `threads`.
//
// A stop waits for the tasks that are being worked on, so tasks are small: none lasts longer
// than a pass over the elements or a block of solves.  A single call of LAPACK or CHOLMOD cannot
// be stopped: the longest usual one, the analysis of a stiffness, takes seconds from some hundred
// thousand nodes on.
#ifndef RF_BASE_RUN_H
#define RF_BASE_RUN_H

#include <stdint.h>

#include "base/status.h"

// Progress callback; a nonzero return asks to stop.
typedef int (*rf_progress_fn)(void *context, int64_t done, int64_t total);

struct rf_run {
  int threads;              // 1 or more
  rf_progress_fn progress;  // nullable
  void *progress_context;
};

enum { RF_MAX_THREADS = 256 };

// Calls the progress callback; RF_ERR_INTERRUPTED when it asks to stop.
RF_MUST_CHECK rf_status rf_run_progress(const rf_run *run, int64_t done, int64_t total,
                                        rf_error *err);

// Polls the callback for a stop, without a count.
RF_MUST_CHECK rf_status rf_run_poll(const rf_run *run, rf_error *err);

// One task.  `worker` in [0, run->threads) selects scratch memory.
typedef rf_status (*rf_task_fn)(void *context, int64_t task, int worker, rf_error *err);

// Runs tasks 0 .. n_tasks-1. After the first failure no new tasks start, and it is returned.
// `report`: pass the count of this loop to the progress callback, which is polled for a stop either
// way.
RF_MUST_CHECK rf_status rf_run_tasks(const rf_run *run, int64_t n_tasks, int report,
                                     rf_task_fn task, void *context, rf_error *err);

// Run for one part of a longer call: its count, in any unit, is scaled to [from, to] of `total` for
// the outer run.
typedef struct rf_run_part {
  const rf_run *outer;
  int64_t from, to, total;
} rf_run_part;

rf_run rf_run_of_part(rf_run_part *part);  // valid as long as *part

#endif
