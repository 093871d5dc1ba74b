// The thread of the simulation.
#include <string.h>
#include <unistd.h>

#include "base/clock_rt.h"
#include "base/denormals_rt.h"
#include "touch/explicit.h"

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
      due_us = now_us;
    }
  }
  return NULL;
}

rf_status rf_explicit_start(void *self, rf_error *err) {
  rf_explicit *x = self;
  if (x->set.way == RF_EXPLICIT_direct) return RF_OK;
  atomic_store(&x->stop, false);
  const int error = pthread_create(&x->thread, NULL, run_periods, x);
  if (error)
    return rf_fail(err, RF_ERR_INTERNAL, "no thread of the simulation could be started: %s",
                   strerror(error));
  x->owner = getpid();
  x->threaded = true;
  return RF_OK;
}

void rf_explicit_stop(void *self) {
  rf_explicit *x = self;
  if (!x->threaded) return;
  atomic_store(&x->stop, true);
  // threads do not survive a fork
  if (getpid() == x->owner) pthread_join(x->thread, NULL);
  x->threaded = false;
  x->due_s = 0.0;
}
