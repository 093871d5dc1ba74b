// A haptic session: a thread that runs one cycle a period against a device, until it is stopped,
// something fails, or its duration is over.
//
// The thread never waits: it takes commands from a ring, broadcasts its newest state and puts
// a record of each cycle into another ring (base/ring_rt.h).  Cycles begin at fixed times;
// those missed, because a cycle ended or the thread woke too late, are skipped and counted; the
// next one makes up for them as far as time allows (haptic/tick_missed_rt.c).  The thread has
// a real-time priority, and memory is locked, if the system allows it; refusals are in the status.
// Denormal numbers count as zero there.
//
// A second thread, the watchdog, has a higher priority if allowed: when no cycle has ended for too
// long, it removes the force from the device by `halt`.  A pause of the whole process, in which the
// watchdog slept too, is no stall: the device continues, and forces fade in from zero
// (rf_tick_pace_rt).  A third thread writes the records to a file, so that a slow disk delays
// neither of them.
//
// One thread at a time may call these functions, but where another rule is given.
#ifndef RF_HAPTIC_SESSION_H
#define RF_HAPTIC_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "haptic/loop.h"

typedef struct rf_session_settings {
  double duration_s;  // duration of a run; 0: until stopped
  double stall_s;     // time without a cycle after which the watchdog halts the device, and later
                      // forces fade in from zero, > 0
  int32_t priority;   // of SCHED_FIFO, below the highest: the watchdog has one more; 0: none
  bool lock_memory;
  int64_t records;    // capacity of the ring, rounded up to a power of two
  double patience_s;  // longest wait at the end for a file that accepts no record, > 0
  double hang_s;      // time beyond the stall after which a stopping run is given up, > 0
} rf_session_settings;

typedef enum rf_session_phase {
  RF_SESSION_READY,  // not begun yet
  RF_SESSION_RUNNING,
  RF_SESSION_STOPPED,   // by request
  RF_SESSION_FINISHED,  // its duration is over
  RF_SESSION_FAILED
} rf_session_phase;

typedef struct rf_session_status {
  rf_session_phase phase;
  bool joined;            // no thread of it is left, but for the writer
  bool closed;            // for good, although a thread or a file may not have ended yet
  rf_error failure;       // set in the phase RF_SESSION_FAILED
  bool priority, locked;  // granted as requested
  char not_allowed[256];  // reasons for refusals; empty: all was granted
  int64_t ticks;
  int64_t over;         // cycles that computed longer than a period
  int64_t interrupted;  // of them, those with less processor time than a period
  int64_t shortened;    // cycles in which an increment of a body was shortened
  int64_t too_deep;     // cycles in which contact was deeper than the coupling allowed
  int64_t skipped;      // missed: a cycle before them ended, or the thread woke, too late
  int64_t paused;       // cycles after a pause (RF_SAFETY_PAUSED)
  int64_t made_up;      // cycles that made up for missed ones (RF_TICK_MADE_UP)
  int64_t unsolved;     // cycles in which friction was not solved (RF_TICK_UNSOLVED)
  int64_t crowded;      // cycles with more points than sites (RF_TICK_CROWDED)
  int64_t unanswered;   // cycles in which a touched body did not answer (RF_TICK_UNANSWERED)
  int64_t inside;       // cycles in which the hand was inside without a force (RF_TICK_INSIDE)
  int64_t unrecorded;   // records that found no room in the ring
  int64_t written;      // records in the file
  int file_error;       // errno that ended writing; 0: none
  bool writing;         // the file is still in use; after a stop: it accepts no records
  double energy_j, most_energy_j;
  double delay_s;               // of a touched body (render/touch.h)
  int64_t touching, saturated;  // cycles with contact; those in which the coupling saturated
  double chatter_n, force_n;    // in contact: rms of the force faster than 20 ms; mean force
  double stiffest_n_per_m;  // largest stiffness of a touched body that the hand felt, in the world
} rf_session_status;

typedef struct rf_session rf_session;

// Checks settings, and that the device (nullable) belongs to no session.
RF_MUST_CHECK rf_status rf_session_check(const rf_session_settings *set, double period_s,
                                         const rf_device *device, rf_error *err);
// Takes ownership of the tick, also on failure; borrows the device, which no other session may use.
RF_MUST_CHECK rf_status rf_session_create(const rf_session_settings *set, double period_s,
                                          rf_tick *tick, rf_device *device, rf_session **out,
                                          rf_error *err);
// Stops the session and frees it.  NULL is fine; so is a forked child, which has no threads.
// Returns false, and leaks the session, if a cycle that does not end still uses the device and all
// that the tick borrows, or the file accepts no more records.
bool rf_session_free(rf_session *session);
// True in the process that created it, false in a forked child.
bool rf_session_here(const rf_session *session);

// Opens the device and starts the thread.  `file`: descriptor for the records, which is duplicated;
// negative: none.
RF_MUST_CHECK rf_status rf_session_start(rf_session *session, int file, rf_error *err);
// Runs n cycles in the calling thread without waiting between them; opens the device if needed.
RF_MUST_CHECK rf_status rf_session_advance(rf_session *session, int64_t n, rf_error *err);
// Ends the thread after its cycle, closes the device, writes the records; does nothing without a
// run.  A thread that does not end is given up; the next call waits for it again.
void rf_session_stop(rf_session *session);
// Stops for good and releases the device.
void rf_session_close(rf_session *session);
// Waits up to `seconds` for the thread to end by itself; true if it has, and in a forked child.
bool rf_session_wait(rf_session *session, double seconds);

// Queues a command; returns false if the queue is full.
bool rf_session_command(rf_session *session, const rf_command *command);
// Copies the newest snapshot (haptic/snapshot.h, room for its largest); returns its number, from 1
// on, 0 or RF_BROADCAST_LOST as rf_broadcast_read_rt.  Any number of threads may call this at any
// time.
uint64_t rf_session_snapshot(const rf_session *session, void *out, size_t *bytes);
// Asks for contact points in the snapshots of the next RF_LOOP_FOLLOWED cycles; any thread.
void rf_session_follow(rf_session *session);
// Moves up to `most` records (haptic/record.h) out of the ring and returns their number; none while
// they go to a file.
int64_t rf_session_records(rf_session *session, int64_t most, char *out);
void rf_session_read_status(rf_session *session, rf_session_status *out);

const rf_device_info *rf_session_device(const rf_session *session);  // as last opened
// Returns the loop, for reading times, sizes and, while no thread runs, simulations.
const rf_loop *rf_session_loop(const rf_session *session);

#endif
