// Private state of a session; for the files session*.c only.
#ifndef RF_HAPTIC_SESSION_STATE_H
#define RF_HAPTIC_SESSION_STATE_H

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <time.h>

#include "base/clock_rt.h"
#include "haptic/session.h"

enum { RF_SESSION_FILE_BLOCK = 256 };  // records written at a time
#define RF_SESSION_POLL_S 2e-3         // period of the watchdog, and of other waits
// Longest time counted for one poll: the observer may have slept through a pause.
#define RF_SESSION_LONGEST_POLL_S 1e-2

struct rf_session {
  rf_session_settings set;
  rf_tick *tick;
  rf_device *device;
  rf_device_info info;
  rf_loop loop;
  pid_t owner;  // process that created it: threads do not survive a fork
  bool has_threads, has_writer;
  bool touch_runs;          // the touched body was started
  int touch_refused;        // why its thread has no priority (errno), or 0
  bool closed, released;    // for good; the device may have another session
  bool locked, was_locked;  // memory is locked now, was locked in the last run
  int file;                 // duplicate of the descriptor for records; -1: none
  pthread_t thread, watchdog, writer;
  char *block;  // records for the file; owned by the writer while it runs
  uint64_t block_n, block_at;
  void *newest_memory, *record_memory, *command_memory;

  // set by the threads before they set the phase
  rf_error failure;
  char not_allowed[256];
  bool priority;
  _Atomic int phase;
  atomic_bool open;            // the device; closed by the thread
  atomic_bool failed;          // a failure was recorded
  atomic_bool ended, stalled;  // the thread has ended; the watchdog has given it up
  pthread_mutex_t closing;     // held to halt the device, and to clear `cycling` before closing it
  atomic_bool cycling;         // from before the first cycle until the last one has ended
  atomic_bool written_out;     // the writer has ended
  _Atomic int64_t written;
  _Atomic int file_error;
};

static inline rf_session_phase rf_session_phase_now(rf_session *s) {
  return (rf_session_phase)atomic_load_explicit(&s->phase, memory_order_acquire);
}

static inline void rf_session_set_phase(rf_session *s, rf_session_phase phase) {
  atomic_store_explicit(&s->phase, (int)phase, memory_order_release);
}

// Records a failure; only the first one, which other threads may be reading.
static inline void rf_session_fail(rf_session *s, const rf_error *why) {
  if (atomic_exchange(&s->failed, true)) return;
  s->failure = *why;
  rf_session_set_phase(s, RF_SESSION_FAILED);
}

static inline void rf_session_nap(double seconds) {
  const struct timespec time = {(time_t)seconds, (long)(1e9 * (seconds - floor(seconds)))};
  nanosleep(&time, NULL);
}

// Time for which a count has not changed.  Of a pause of the whole process, in which the observer
// slept too, only RF_SESSION_LONGEST_POLL_S counts.
typedef struct rf_stillness {
  int64_t seen;
  double last_us, still_us;
} rf_stillness;

static inline rf_stillness rf_stillness_begin(void) {
  return (rf_stillness){.seen = -1, .last_us = rf_clock_us_rt()};
}

static inline double rf_stillness_us(rf_stillness *w, int64_t count) {
  const double now_us = rf_clock_us_rt();
  const double more_us = fmin(now_us - w->last_us, 1e6 * RF_SESSION_LONGEST_POLL_S);
  w->still_us = count == w->seen ? w->still_us + more_us : 0.0;
  w->seen = count;
  w->last_us = now_us;
  return w->still_us;
}

// session_thread.c
void rf_session_close_device(rf_session *s);
// Fills `why` with the cause of a failed cycle, unless it has a text.
void rf_session_explain(rf_session *s, rf_status st, rf_error *why);
void *rf_session_run_cycles(void *session);  // the thread

// session_watchdog.c
void *rf_session_guard(void *session);  // the thread

// session_recorder.c
void *rf_session_write_records(void *session);  // the thread
// Waits until all records are written; false: none was written for `patience_s`.
bool rf_session_finish_records(rf_session *s);
void rf_session_close_file(rf_session *s);

// session_start.c
void rf_session_lock_memory(rf_session *s);
void rf_session_unlock_memory(rf_session *s);
// Starts all threads of a run or none; returns 0 or errno.
int rf_session_start_threads(rf_session *s);

#endif
