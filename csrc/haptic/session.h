// A haptic session: a thread that runs one cycle a period, against a device, until it is told to
// stop, something fails, or it has run as long as it should.
//
// The thread waits for nobody: it takes commands from a ring, puts its newest state into an
// exchange and a record of each cycle into another ring (base/exchange_rt.h).  Cycles begin at
// fixed times; where one ends, or the thread wakes, after the next should have begun, those missed
// are left out and counted.  Where the system allows it the thread has a real-time priority and
// memory is locked; what was not allowed is in the status.  Denormal numbers count as zero there.
//
// A keeper, a second thread, above the first where that is allowed, watches it: when no cycle has
// ended for too long, it takes the force from the device by its `halt`.  A pause of the whole
// process, in which the keeper slept too, is over by then and counts for little: the device goes
// on, and forces fade in from zero (rf_tick_pace_rt).  A third thread writes the records to a file,
// so that a disk that does not answer holds up nobody but itself.
//
// One thread at a time may call these functions.
#ifndef RF_HAPTIC_SESSION_H
#define RF_HAPTIC_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "haptic/loop.h"

typedef struct rf_session_settings {
  double duration_s;  // of a run; 0: until stopped
  double stall_s;     // without a cycle after which the keeper halts the device, and forces that
                      // still come fade in from zero, > 0
  int32_t priority;   // of SCHED_FIFO, below the highest: the keeper's is one above; 0: none
  bool lock_memory;
  int64_t records;    // that the ring holds, rounded up to a power of two
  double patience_s;  // at the end, with a file that takes no record in that time, > 0
  double hang_s;      // longer than the stall in which a run that is to end makes no cycle, > 0
} rf_session_settings;

typedef enum rf_session_phase {
  RF_SESSION_READY,  // not begun yet
  RF_SESSION_RUNNING,
  RF_SESSION_STOPPED,   // asked to
  RF_SESSION_FINISHED,  // its time is over
  RF_SESSION_FAILED
} rf_session_phase;

typedef struct rf_session_status {
  rf_session_phase phase;
  rf_error failure;       // what failed, in that phase
  bool priority, locked;  // as asked for
  char not_allowed[256];  // why one of them was not had; empty: all was as asked for
  int64_t ticks;
  int64_t over;         // cycles that computed longer than a period
  int64_t interrupted;  // of them, those that were on a processor for less
  int64_t too_deep;     // cycles in which contact was deeper than the coupling allowed
  int64_t skipped;      // that were left out: one before them ended, or the thread woke, too late
  int64_t paused;       // cycles that came after such a pause (RF_SAFETY_PAUSED)
  int64_t unrecorded;   // records that found no room in the ring
  int64_t written;      // records in the file
  int file_error;       // why later ones are not there, an errno; 0: none
  bool writing;         // the file is still in use; after a stop: it does not take the rest
  double energy_j, most_energy_j;
  int64_t touching, saturated;  // cycles with contact, and those in which the coupling was cut
  double chatter_n, force_n;    // in contact: rms of what is faster than 20 ms, and mean
} rf_session_status;

typedef struct rf_session rf_session;

// Takes the tick over, also on failure; borrows the device, which no other session may have.
RF_MUST_CHECK rf_status rf_session_create(const rf_session_settings *set, double period_s,
                                          rf_tick *tick, rf_device *device, rf_session **out,
                                          rf_error *err);
// Stops, closes, joins.  NULL is fine; so is a forked copy of the process, which has no threads.
// False: a cycle does not end and goes on using the device and all that the tick borrows, or a file
// does not take its records.
bool rf_session_free(rf_session *session);
// Whether this process made it, and is no forked copy of that.
bool rf_session_here(const rf_session *session);

// Opens the device and starts the thread.  `file`: descriptor for the records, negative: none; it
// may be closed at any time.
RF_MUST_CHECK rf_status rf_session_start(rf_session *session, int file, rf_error *err);
// Makes n cycles here and now, one after the other, without waiting, and opens the device first if
// need be.
RF_MUST_CHECK rf_status rf_session_advance(rf_session *session, int64_t n, rf_error *err);
// The thread ends after its cycle, the device is closed, records are written; fine when there is
// none.  What does not end is given up, and waited for again by the next call.
void rf_session_stop(rf_session *session);
// Stops for good, and lets the device go.
void rf_session_close(rf_session *session);
// Waits for the thread to end by itself, at the longest `seconds`; whether it has.  A forked copy
// of the process has none.
bool rf_session_wait(rf_session *session, double seconds);

// false: too many commands wait already
bool rf_session_command(rf_session *session, const rf_command *command);
// The newest state (rf_tick_snapshot_bytes_rt); false: none came since the last call.
bool rf_session_snapshot(rf_session *session, void *out);
// The next records that neither a file nor anybody else has had, up to `most`; none while a file
// takes them.
int64_t rf_session_records(rf_session *session, int64_t most, rf_tick_record *out);
void rf_session_read_status(rf_session *session, rf_session_status *out);

const rf_device_info *rf_session_device(const rf_session *session);  // as it was opened last
// For reading times, sizes and, while no thread runs, simulations.
const rf_loop *rf_session_loop(const rf_session *session);

#endif
