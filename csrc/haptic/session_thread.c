// The thread of the cycles.
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE  // for pthread_getattr_np
#endif

#include "haptic/session_state.h"

#include <stdio.h>
#include <sys/mman.h>

#include "base/denormals_rt.h"

enum { LOCKED_STACK = 512 << 10 };

void rf_session_close_device(rf_session *s) {
  if (s->open) s->device->table->close(s->device->self);
  s->open = false;
}

// Reports the simulation whose body is too far, or the touched body; returns false if it is
// neither.
static bool explain_far(const rf_session *s, long long tick, rf_error *why) {
  for (int32_t k = -1; k < RF_TICK_MOST_CONTACTS; ++k) {
    const rf_motion *body = rf_tick_simulation(s->tick, k);
    char name[RF_TICK_NAME], who[2 * RF_TICK_NAME];
    if (!body || !(body->displaced_m > 0.0)) continue;
    rf_tick_name(k, name);
    (void)snprintf(who, sizeof who, "cycle %lld: %s", tick, name);
    (void)rf_motion_explain(body, who, "softer contact", why);
    return true;
  }
  const rf_touch *touch = rf_tick_touch(s->tick);
  char cycle[RF_TICK_NAME];
  (void)snprintf(cycle, sizeof cycle, "cycle %lld", tick);
  return touch && touch->kind->explain && touch->kind->explain(touch->self, cycle, why);
}

void rf_session_explain(rf_session *s, rf_status st, rf_error *why) {
  const long long tick = (long long)atomic_load(&s->loop.ticks) - 1;
  if (why->text[0]) return;
  const rf_device_table *table = s->device->table;
  const char *text = table->why ? table->why(s->device->self) : "";
  if (st == RF_ERR_DEVICE)
    (void)rf_fail(why, st, "cycle %lld: the device %s failed%s%.300s", tick, s->info.name,
                  text[0] ? ": " : "", text);
  else if (!explain_far(s, tick, why))
    (void)rf_fail(why, st,
                  "cycle %lld: the simulation diverged, its values are not finite; softer "
                  "contact, more damping or shorter steps may help",
                  tick);
}

// Makes a cycle in a device's own thread.
static rf_status own_cycle(void *context) {
  rf_session *s = context;
  rf_loop *loop = &s->loop;
  if (rf_loop_ended_rt(loop)) return RF_ERR_INTERRUPTED;
  if (loop->this_run == 0) (void)rf_denormals_flush_rt();
  return rf_loop_called_rt(loop);
}

// Locks the stack of the thread, which did not exist when `lock_memory` ran.
static void lock_stack(const rf_session *s) {
#if defined(__linux__)
  pthread_attr_t attributes;
  void *lowest;
  size_t size;
  if (!s->locked || pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  if (pthread_attr_getstack(&attributes, &lowest, &size) == 0 && size >= LOCKED_STACK)
    (void)mlock((char *)lowest + size - LOCKED_STACK, LOCKED_STACK);
  pthread_attr_destroy(&attributes);
#else
  (void)s;
#endif
}

void *rf_session_run_cycles(void *context) {
  rf_session *s = context;
  rf_error why = {0};
  rf_status st;
  atomic_store(&s->cycling, true);
  lock_stack(s);
  (void)rf_denormals_flush_rt();
  rf_loop_touch_stack_rt();
  if (s->device->table->run) {
    st = s->device->table->run(s->device->self, own_cycle, s, &why);
    if (st == RF_ERR_INTERRUPTED) st = RF_OK;
  } else {
    st = rf_loop_run_rt(&s->loop);
  }
  pthread_mutex_lock(&s->closing);
  atomic_store(&s->cycling, false);
  pthread_mutex_unlock(&s->closing);
  rf_session_close_device(s);
  if (st >= 0 && atomic_load(&s->stalled))
    st = rf_fail(&why, RF_ERR_DEVICE, "no cycle ended within %g s; the device %s was halted",
                 s->set.stall_s, s->info.name);
  if (st < 0) {
    rf_session_explain(s, st, &why);
    rf_session_fail(s, &why);
  } else {
    // keeps the failure if the thread was given up meanwhile
    int running = RF_SESSION_RUNNING;
    atomic_compare_exchange_strong(
        &s->phase, &running, atomic_load(&s->loop.stop) ? RF_SESSION_STOPPED : RF_SESSION_FINISHED);
  }
  atomic_store(&s->ended, true);
  return NULL;
}
