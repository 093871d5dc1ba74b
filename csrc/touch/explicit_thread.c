// The thread of the simulation.
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE  // for pthread_sigmask
#endif

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock_rt.h"
#include "base/denormals_rt.h"
#include "touch/explicit.h"

struct rf_explicit_thread {
  pthread_t thread;
  pid_t owner;  // process that it belongs to
};

// Leaves signals to the program's threads, but for faults of this one.
static void block_signals(void) {
  static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
  sigset_t others;
  sigfillset(&others);
  for (size_t k = 0; k < sizeof own / sizeof *own; ++k) sigdelset(&others, own[k]);
  (void)pthread_sigmask(SIG_BLOCK, &others, NULL);
}

static void *run_periods(void *context) {
  rf_explicit *x = context;
  const double period_us = 1e6 * x->period_s;
  double due_us = rf_clock_us_rt();
  block_signals();
  (void)rf_denormals_flush_rt();
  while (!atomic_load(&x->stop)) {
    (void)rf_explicit_serve_rt(x);
    due_us += period_us;
    const double now_us = rf_clock_us_rt();
    if (now_us < due_us) {
      rf_clock_sleep_until_rt(due_us);
    } else {
      atomic_fetch_add(&x->report->late, 1);
      due_us = now_us;
    }
  }
  return NULL;
}

rf_status rf_explicit_start(void *self, rf_error *err) {
  rf_explicit *x = self;
  rf_status st = RF_OK;
  if (x->set.way == RF_EXPLICIT_direct) return st;
  RF_ALLOC(x->thread, 1);
  x->thread->owner = getpid();
  atomic_store(&x->stop, false);
  const int error = pthread_create(&x->thread->thread, NULL, run_periods, x);
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
}
