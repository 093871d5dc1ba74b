// Tasks that fail, the later one first: the lower one waits until the failure of the higher one has
// been recorded, which the runner does under its lock.
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

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
