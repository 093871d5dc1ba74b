#define _POSIX_C_SOURCE 200809L

#include "base/run.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

static const long POLL_NS = 50000000;  // between polls while helpers work

typedef struct job {
  const rf_run *run;
  int64_t n_tasks;
  rf_task_fn task;
  void *context;
  _Atomic int64_t next, done;
  atomic_bool failed;
  sem_t ended;                   // helpers that have ended
  pthread_mutex_t failure_lock;  // guards the three fields below
  int64_t failed_task;
  rf_status failure;
  rf_error failure_text;
} job;

typedef struct helper {
  job *shared;
  int worker;
  pthread_t thread;
} helper;

rf_status rf_run_progress(const rf_run *run, int64_t done, int64_t total, rf_error *err) {
  if (run->progress && run->progress(run->progress_context, done, total) != 0)
    return rf_fail(err, RF_ERR_INTERRUPTED, "interrupted");
  return RF_OK;
}

rf_status rf_run_poll(const rf_run *run, rf_error *err) {
  return rf_run_progress(run, -1, -1, err);
}

static int tell_outer(void *context, int64_t done, int64_t total) {
  const rf_run_part *part = context;
  const rf_run *outer = part->outer;
  if (!outer->progress) return 0;
  if (total <= 0) return outer->progress(outer->progress_context, -1, -1);
  const double share = (double)done / (double)total;
  const int64_t at = part->from + (int64_t)(share * (double)(part->to - part->from));
  return outer->progress(outer->progress_context, at, part->total);
}

rf_run rf_run_of_part(rf_run_part *part) {
  return (rf_run){part->outer->threads, tell_outer, part};
}

static void record_failure(job *j, int64_t task, rf_status st, const rf_error *text) {
  pthread_mutex_lock(&j->failure_lock);
  // among several failures the lowest task is reported, for the same message on every run
  if (j->failure == RF_OK || task < j->failed_task) {
    j->failed_task = task;
    j->failure = st;
    j->failure_text = *text;
  }
  pthread_mutex_unlock(&j->failure_lock);
  atomic_store(&j->failed, true);
}

static bool run_one(job *j, int worker) {
  if (atomic_load(&j->failed)) return false;
  const int64_t task = atomic_fetch_add(&j->next, 1);
  if (task >= j->n_tasks) return false;
  rf_error text = {0};
  const rf_status st = j->task(j->context, task, worker, &text);
  if (st < 0) {
    record_failure(j, task, st, &text);
    return false;
  }
  atomic_fetch_add(&j->done, 1);
  return true;
}

static void *helper_main(void *arg) {
  const helper *h = arg;
  while (run_one(h->shared, h->worker)) {
  }
  sem_post(&h->shared->ended);
  return NULL;
}

// Calls the progress callback; true if it asks to stop.
static bool must_stop(job *j, int report) {
  const rf_run *run = j->run;
  const int64_t done = report ? atomic_load(&j->done) : -1;
  if (!run->progress || run->progress(run->progress_context, done, report ? j->n_tasks : -1) == 0)
    return false;
  const rf_error text = {RF_ERR_INTERRUPTED, "interrupted"};
  record_failure(j, -1, RF_ERR_INTERRUPTED, &text);
  return true;
}

// Waits until a helper ends; false: none did in the time between two polls.
static bool ends_soon(sem_t *ended) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += POLL_NS;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  while (sem_timedwait(ended, &until) != 0)
    if (errno != EINTR) return false;
  return true;
}

rf_status rf_run_tasks(const rf_run *run, int64_t n_tasks, int report, rf_task_fn task,
                       void *context, rf_error *err) {
  if (!(run->threads >= 1 && run->threads <= RF_MAX_THREADS))
    return rf_fail(err, RF_ERR_ARG, "threads must be between 1 and %d, got %d", RF_MAX_THREADS,
                   run->threads);

  job j = {.run = run, .n_tasks = n_tasks, .task = task, .context = context};
  pthread_mutex_init(&j.failure_lock, NULL);
  sem_init(&j.ended, 0, 0);

  // fewer helpers than requested give the same result, only later
  helper helpers[RF_MAX_THREADS];
  int started = 0;
  for (int w = 1; w < run->threads && w < n_tasks; ++w) {
    helpers[started] = (helper){.shared = &j, .worker = w};
    if (pthread_create(&helpers[started].thread, NULL, helper_main, &helpers[started]) != 0) break;
    ++started;
  }

  bool more = n_tasks > 0, stopped = false;
  while (more) {
    more = run_one(&j, 0);
    stopped = must_stop(&j, report);
    more = more && !stopped;  // the callback that has asked to stop is not called again
  }
  // every helper is in its last task, which may take minutes
  for (int ended = 0; run->progress && ended < started && !stopped;) {
    if (ends_soon(&j.ended))
      ++ended;
    else
      stopped = must_stop(&j, report);
  }
  // a stop has to wait for them too
  for (int h = 0; h < started; ++h) pthread_join(helpers[h].thread, NULL);
  // helpers may have finished last: report the full count
  if (started > 0 && report && run->progress && j.failure == RF_OK &&
      run->progress(run->progress_context, n_tasks, n_tasks) != 0) {
    const rf_error text = {RF_ERR_INTERRUPTED, "interrupted"};
    record_failure(&j, -1, RF_ERR_INTERRUPTED, &text);
  }

  pthread_mutex_destroy(&j.failure_lock);
  sem_destroy(&j.ended);
  if (err && j.failure != RF_OK) *err = j.failure_text;
  return j.failure;
}
