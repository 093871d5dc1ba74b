// The loop of a session: cycles at fixed times, and what they hand to other threads.
//
// Only the thread that runs the loop writes here while it runs; what others read are the atomic
// numbers, the exchange and the rings.
#ifndef RF_HAPTIC_LOOP_H
#define RF_HAPTIC_LOOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/exchange_rt.h"
#include "haptic/feel.h"
#include "haptic/histogram_rt.h"
#include "haptic/tick.h"

// Commands of a script to the loop.
typedef enum rf_command_kind {
  RF_COMMAND_ENABLE,  // value 0: fade forces out, else in
  RF_COMMAND_RECENTRE,
  RF_COMMAND_COUPLING  // that of `settings`
} rf_command_kind;

typedef struct rf_command {
  rf_command_kind kind;
  double value;
  rf_tick_settings settings;
} rf_command;

enum { RF_LOOP_COMMANDS = 64 };  // capacity of the ring

typedef struct rf_loop {
  rf_tick *tick;            // borrowed
  const rf_device *device;  // borrowed
  double period_us;
  int64_t most_ticks;  // of this run; 0: any number
  char *value;         // the snapshot that is being written

  double begun_us;   // the time of cycle 0, by the clock
  int64_t slot;      // the cycle that comes next, by the schedule
  int64_t this_run;  // cycles since it began
  double called_us;  // when a device's own thread made the last one

  rf_exchange newest;
  rf_ring records, commands;
  rf_histogram compute, processor, late, contact;
  atomic_bool stop;
  _Atomic int64_t ticks, over, interrupted, skipped, unrecorded, too_deep, shortened, paused;
  _Atomic double energy_j, most_energy_j, most_depth_m;
  rf_feel feel;  // the loop's own; what others see of it:
  _Atomic int64_t touching, saturated;
  _Atomic double chatter_n, force_n;
} rf_loop;

// Runs the cycle of the next slot, which began `late_us` after its time.
RF_MUST_CHECK rf_status rf_loop_cycle_rt(rf_loop *loop, double late_us);
// Runs a cycle in the thread of a device, which has a clock of its own.  It is late by the time
// since the last one beyond a period; whole periods are skipped.
RF_MUST_CHECK rf_status rf_loop_called_rt(rf_loop *loop);
// True when a run is over: after `stop` or `most_ticks` the forces fade out first.
bool rf_loop_ended_rt(rf_loop *loop);
// Cycles until `stop` or `most_ticks`, and then until the forces have faded out, or until a
// failure; begins now.
RF_MUST_CHECK rf_status rf_loop_run_rt(rf_loop *loop);
// Denormal numbers count as zero in this thread from now on; how it was, and back to that.
uint64_t rf_loop_flush_denormals_rt(void);
void rf_loop_restore_denormals_rt(uint64_t before);
// Touches the stack that a cycle may need.
void rf_loop_touch_stack_rt(void);

#endif
