#include "haptic/loop.h"

#include <math.h>
#include <string.h>

#include "base/clock_rt.h"

enum { STACK_BYTES = 256 * 1024 };

#define LOAD(a) atomic_load_explicit(&(a), memory_order_relaxed)
#define STORE(a, value) atomic_store_explicit(&(a), (value), memory_order_relaxed)
#define COUNT(a, more) STORE(a, LOAD(a) + (more))

void rf_loop_touch_stack_rt(void) {
  volatile char here[STACK_BYTES];
  for (int32_t k = 0; k < STACK_BYTES; k += 1024) here[k] = 0;
  (void)here[0];
}

static void run_commands(rf_loop *loop) {
  rf_command command;
  for (int k = 0; k < RF_LOOP_COMMANDS && rf_ring_read_rt(&loop->commands, 1, &command); ++k) {
    switch (command.kind) {
      case RF_COMMAND_ENABLE: rf_tick_enable_rt(loop->tick, command.value != 0.0); break;
      case RF_COMMAND_RECENTRE: rf_tick_recentre_rt(loop->tick); break;
      case RF_COMMAND_COUPLING: rf_tick_set_coupling_rt(loop->tick, &command.settings); break;
      default: break;
    }
  }
}

static void publish(rf_loop *loop, const rf_tick_record *record, bool whole) {
  const double begun_us = rf_clock_us_rt();
  const bool points = whole && LOAD(loop->ticks) < LOAD(loop->followed_until);
  const size_t bytes = rf_snapshot_take_rt(&loop->layout, loop->tick, record, points, loop->value);
  rf_broadcast_write_rt(&loop->newest, loop->value, bytes);
  loop->publish_us = rf_clock_us_rt() - begun_us;
}

rf_status rf_loop_cycle_rt(rf_loop *loop, double late_us) {
  rf_tick_record record;
  run_commands(loop);
  const double time_s = 1e-6 * loop->period_us * (double)loop->slot;
  const rf_status st = rf_tick_run_rt(loop->tick, loop->device, time_s, &record);
  record.late_us = late_us;
  record.publish_us = loop->publish_us;
  publish(loop, &record, st >= 0);
  rf_record_take_rt(&loop->recorded, &record, loop->record);
  if (!rf_ring_write_rt(&loop->records, loop->record)) COUNT(loop->unrecorded, 1);
  rf_histogram_add_rt(&loop->compute, record.compute_us);
  rf_histogram_add_rt(&loop->processor, record.processor_us);
  rf_histogram_add_rt(&loop->contact, record.contact_us);
  rf_histogram_add_rt(&loop->late, late_us);
  // without missed cycles that it made up for, whose delay may be that of the machine
  const double own_us = record.contact_us + record.coupling_us + record.deform_us;
  if (own_us > loop->period_us) {
    COUNT(loop->over, 1);
    if (!(record.processor_us > loop->period_us))
      atomic_store_explicit(&loop->interrupted, LOAD(loop->interrupted) + 1, memory_order_release);
  }
  if (record.flags & RF_TICK_TOO_DEEP) COUNT(loop->too_deep, 1);
  if (record.flags & RF_TICK_SHORTENED) COUNT(loop->shortened, 1);
  if (record.flags & RF_SAFETY_PAUSED) COUNT(loop->paused, 1);
  if (record.flags & RF_TICK_MADE_UP) COUNT(loop->made_up, 1);
  if (record.flags & RF_TICK_UNSOLVED) COUNT(loop->unsolved, 1);
  if (record.flags & RF_TICK_CROWDED) COUNT(loop->crowded, 1);
  if (record.flags & RF_TICK_UNANSWERED) COUNT(loop->unanswered, 1);
  if (record.flags & RF_TICK_INSIDE) COUNT(loop->inside, 1);
  const rf_touch_felt *felt = rf_tick_felt_rt(loop->tick);
  if (felt && felt->stiffness_n_per_m > LOAD(loop->stiffest_n_per_m))
    STORE(loop->stiffest_n_per_m, felt->stiffness_n_per_m);
  rf_feel *feel = &loop->feel;
  rf_feel_add_rt(feel, 1e-6 * loop->period_us, record.force, record.touching > 0,
                 (record.flags & RF_TICK_SATURATED) != 0);
  STORE(loop->touching, feel->touching);
  STORE(loop->saturated, feel->saturated);
  STORE(loop->chatter_n, rf_feel_chatter_rt(feel));
  STORE(loop->force_n, rf_feel_mean_rt(feel));
  STORE(loop->energy_j, record.energy_j);
  if (record.energy_j > LOAD(loop->most_energy_j)) STORE(loop->most_energy_j, record.energy_j);
  if (record.depth_m > LOAD(loop->most_depth_m)) STORE(loop->most_depth_m, record.depth_m);
  ++loop->slot;
  ++loop->this_run;
  // released last: a thread that sees the cycle counted sees all its results
  atomic_store_explicit(&loop->ticks, LOAD(loop->ticks) + 1, memory_order_release);
  return st;
}

// Skips the cycles whose time is over, `late_us` after the next one was due.
static void skip_cycles(rf_loop *loop, double late_us) {
  const int64_t missed = (int64_t)(late_us / loop->period_us);
  if (missed <= 0) return;
  COUNT(loop->skipped, missed);
  loop->slot += missed;
}

static double due_us(const rf_loop *loop) {
  return loop->begun_us + loop->period_us * (double)loop->slot;
}

rf_status rf_loop_called_rt(rf_loop *loop) {
  const double now_us = rf_clock_us_rt(), period_us = loop->period_us;
  double late_us = 0.0;
  if (loop->this_run > 0) {
    late_us = fmax(now_us - loop->called_us - period_us, 0.0);
    skip_cycles(loop, late_us);
  }
  loop->called_us = now_us;
  return rf_loop_cycle_rt(loop, late_us);
}

bool rf_loop_ended_rt(rf_loop *loop) {
  if (!atomic_load_explicit(&loop->stop, memory_order_acquire) &&
      !(loop->most_ticks > 0 && loop->this_run >= loop->most_ticks))
    return false;
  rf_tick_enable_rt(loop->tick, false);
  return rf_tick_faded_rt(loop->tick);
}

rf_status rf_loop_run_rt(rf_loop *loop) {
  // the first cycle of this run uses the next slot
  loop->begun_us = rf_clock_us_rt() - loop->period_us * (double)loop->slot;
  for (;;) {
    if (rf_loop_ended_rt(loop)) return RF_OK;
    double now_us = rf_clock_us_rt(), late_us;
    if (now_us < due_us(loop)) {
      rf_clock_sleep_until_rt(due_us(loop));
      now_us = rf_clock_us_rt();
      // after a wake-up late by more than a period, use the current slot
      late_us = now_us - due_us(loop);
      skip_cycles(loop, late_us);
    } else {
      skip_cycles(loop, now_us - due_us(loop));
      late_us = now_us - due_us(loop);
    }
    const rf_status st = rf_loop_cycle_rt(loop, late_us);
    if (st < 0) return st;
  }
}
