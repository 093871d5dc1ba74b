// The loop of a session: cycles at fixed times, and their results for other threads.
//
// While the loop runs, only its thread writes here; other threads read the atomic numbers, the
// broadcast and the rings.
#ifndef RF_HAPTIC_LOOP_H
#define RF_HAPTIC_LOOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/broadcast_rt.h"
#include "base/ring_rt.h"
#include "haptic/feel.h"
#include "haptic/histogram_rt.h"
#include "haptic/record.h"
#include "haptic/snapshot.h"
#include "haptic/tick.h"

// Commands of a script to the loop.
typedef enum rf_command_kind {
  RF_COMMAND_ENABLE,  // value 0: fade forces out; otherwise in
  RF_COMMAND_RECENTRE,
  RF_COMMAND_COUPLING  // use the coupling of `settings`
} rf_command_kind;

typedef struct rf_command {
  rf_command_kind kind;
  double value;
  rf_tick_settings settings;
} rf_command;

enum { RF_LOOP_COMMANDS = 64 };    // capacity of the ring
enum { RF_LOOP_FOLLOWED = 2000 };  // cycles with contact points after a reader asked for them

typedef struct rf_loop {
  rf_tick *tick;            // borrowed
  const rf_device *device;  // borrowed
  double period_us;
  int64_t most_ticks;  // limit of this run; 0: unlimited
  rf_snapshot_layout layout;
  char *value;  // snapshot being written
  rf_record_layout recorded;
  char *record;       // record being written
  double publish_us;  // time of the last publication

  double begun_us;   // clock time of slot 0
  int64_t slot;      // schedule slot of the next cycle
  int64_t this_run;  // cycles since the run began
  double called_us;  // clock time at which a device's own thread made the last cycle

  rf_broadcast newest;
  _Atomic int64_t followed_until;  // cycle up to which snapshots have contact points
  rf_ring records, commands;
  rf_histogram compute, processor, late, contact;
  atomic_bool stop;
  // `interrupted` is a part of `over`: released after it, so that a reader that loads it first,
  // with acquire order, finds the part no larger than the whole.
  _Atomic int64_t ticks, over, interrupted, skipped, unrecorded, too_deep, shortened, paused;
  _Atomic int64_t made_up, unsolved, unanswered, crowded, inside;
  _Atomic double energy_j, most_energy_j, most_depth_m, stiffest_n_per_m;
  rf_feel feel;  // used by the loop only; published in the next two lines
  _Atomic int64_t touching, saturated;
  _Atomic double chatter_n, force_n;
} rf_loop;

// Runs the cycle of the next slot, which began `late_us` after its time.
RF_MUST_CHECK rf_status rf_loop_cycle_rt(rf_loop *loop, double late_us);
// Runs a cycle in the thread of a device that has its own clock.  Its lateness is the time since
// the last cycle beyond a period; whole periods are skipped.
RF_MUST_CHECK rf_status rf_loop_called_rt(rf_loop *loop);
// Returns true when a run is over: after `stop` or `most_ticks`, once the forces have faded out.
bool rf_loop_ended_rt(rf_loop *loop);
// Runs cycles from now until `stop` or `most_ticks` and the following fade-out, or until a failure.
RF_MUST_CHECK rf_status rf_loop_run_rt(rf_loop *loop);
// Touches the stack that a cycle may need, so that its pages exist.
void rf_loop_touch_stack_rt(void);

#endif
