// The thread of the simulation.
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE  // for getpid
#endif

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock_rt.h"
#include "base/denormals_rt.h"
#include "base/thread.h"
#include "touch/explicit.h"

struct rf_explicit_thread {
  pthread_t thread;
  pid_t owner;  // process that it belongs to
};

// Least rest after a period that took too long, in periods: with a priority the thread would leave
// no time to the program.
static const double REST = 0.05;

static void *run_periods(void *context) {
  rf_explicit *x = context;
  const double period_us = 1e6 * x->period_s;
  double due_us = rf_clock_us_rt();
  (void)rf_denormals_flush_rt();
  while (!atomic_load(&x->stop)) {
    (void)rf_explicit_serve_rt(x);
    due_us += period_us;
    const double now_us = rf_clock_us_rt();
    if (now_us < due_us) {
      rf_clock_sleep_until_rt(due_us);
    } else {
      atomic_fetch_add(&x->report->late, 1);
      due_us = now_us + REST * period_us;
      rf_clock_sleep_until_rt(due_us);
    }
  }
  return NULL;
}

rf_status rf_explicit_start(void *self, int priority, int *refused, rf_error *err) {
  static const char NAME[] = "rf-simulation";
  rf_explicit *x = self;
  rf_status st = RF_OK;
  if (x->set.way == RF_EXPLICIT_direct) return st;
  RF_ALLOC(x->thread, 1);
  x->thread->owner = getpid();
  atomic_store(&x->stop, false);
  int error = -1;
  if (priority > 0)
    error = *refused = rf_thread_start(&x->thread->thread, priority, NAME, run_periods, x);
  if (error) error = rf_thread_start(&x->thread->thread, 0, NAME, run_periods, x);
  if (!error) return st;
  rf_free(x->thread);
  x->thread = NULL;
  st = rf_fail(err, RF_ERR_INTERNAL, "no thread of the simulation could be started: %s",
               strerror(error));
done:
  return st;
}

void rf_explicit_stop(void *self) {
  rf_explicit *x = self;
  if (!x->thread) return;
  atomic_store(&x->stop, true);
  // threads do not survive a fork
  if (getpid() == x->thread->owner) pthread_join(x->thread->thread, NULL);
  rf_free(x->thread);
  x->thread = NULL;
  x->due_s = 0.0;
  atomic_store(&x->stop, false);
}
