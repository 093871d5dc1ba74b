// Tasks that fail, the later one first: the lower one waits until the failure of the higher one has
// been recorded, which the runner does under its lock.  And a task of a helper that ends when the
// callback has been called, after the calling thread has run out of tasks.
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

static atomic_int recorded;

static int count_records(pthread_mutex_t *lock) {
  const int error = pthread_mutex_unlock(lock);
  atomic_fetch_add(&recorded, 1);
  return error;
}

#define pthread_mutex_unlock count_records
#include "base/run.c"

enum { TASKS = 3 };
static int order[TASKS];  // failures recorded before that of each task; -1: it succeeds
static atomic_int begun;

static rf_status task_of(void *context, int64_t task, int worker, rf_error *err) {
  (void)context, (void)worker;
  atomic_fetch_add(&begun, 1);
  // each has a worker of its own
  while (atomic_load(&begun) < TASKS) sched_yield();
  if (order[task] < 0) return RF_OK;
  while (atomic_load(&recorded) < order[task]) sched_yield();
  return rf_fail(err, RF_ERR_ARG, "task %d", (int)task);
}

// The task whose failure is reported, or -1; -2: something else is.
int lowest_failure(const int *when) {
  const rf_run run = {.threads = TASKS};
  rf_error err = {0};
  for (int k = 0; k < TASKS; ++k) order[k] = when[k];
  atomic_store(&recorded, 0);
  atomic_store(&begun, 0);
  const rf_status st = rf_run_tasks(&run, TASKS, 0, task_of, NULL, &err);
  if (st >= 0) return -1;
  return err.text[0] == 't' ? err.text[5] - '0' : -2;
}

// The callback is called after the task of the calling thread, and when that finds no other.
enum { PAIR = 2, CALLS_WITHOUT_POLLS = 2, PATIENCE_S = 30 };
static atomic_int calls;

static int stop_at_poll(void *context, int64_t done, int64_t total) {
  (void)done, (void)total;
  const int call = atomic_fetch_add(&calls, 1) + 1;
  return *(const int *)context && call > CALLS_WITHOUT_POLLS;
}

static rf_status until_polled(void *context, int64_t task, int worker, rf_error *err) {
  (void)context, (void)task;
  const time_t end = time(NULL) + PATIENCE_S;
  atomic_fetch_add(&begun, 1);
  while (atomic_load(&begun) < PAIR) sched_yield();
  while (worker != 0 && atomic_load(&calls) <= CALLS_WITHOUT_POLLS) {
    if (time(NULL) > end) return rf_fail(err, RF_ERR_ARG, "the callback is not called");
    sched_yield();
  }
  return RF_OK;
}

// Status of two tasks, the helper's as above; `stop`: the poll asks to stop.  *asked: calls.
int status_of_pair(int stop, int *asked) {
  const rf_run run = {.threads = PAIR, .progress = stop_at_poll, .progress_context = &stop};
  rf_error err = {0};
  atomic_store(&begun, 0);
  atomic_store(&calls, 0);
  const rf_status st = rf_run_tasks(&run, PAIR, 0, until_polled, NULL, &err);
  *asked = atomic_load(&calls);
  return st;
}
