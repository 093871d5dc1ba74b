// The watchdog, which halts the device when no cycle ends.
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE  // for nanosleep
#endif

#include "haptic/session_state.h"

// Halts the device, once, and only while cycles run: then it is open.
static void halt(rf_session *s) {
  pthread_mutex_lock(&s->closing);
  if (atomic_load(&s->cycling) && !atomic_exchange(&s->stalled, true)) {
    atomic_store(&s->loop.stop, true);
    if (s->device->table->halt) s->device->table->halt(s->device->self);
  }
  pthread_mutex_unlock(&s->closing);
}

void *rf_session_guard(void *context) {
  rf_session *s = context;
  rf_stillness w = rf_stillness_begin();
  while (!atomic_load(&s->ended)) {
    rf_session_nap(RF_SESSION_POLL_S);
    if (!atomic_load(&s->cycling)) continue;
    const int64_t ticks = atomic_load_explicit(&s->loop.ticks, memory_order_acquire);
    if (rf_stillness_us(&w, ticks) > 1e6 * s->set.stall_s && !atomic_load(&s->stalled)) halt(s);
  }
  return NULL;
}
