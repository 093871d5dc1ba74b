// Memory and threads of a run.
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE  // for mlockall with MCL_ONFAULT
#endif

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/thread.h"
#include "haptic/session_state.h"

static const char GUARD[] = "rf-watchdog", CYCLES[] = "rf-haptic";  // names of threads

// Locked memory belongs to the process: the last session to end unlocks it.
static _Atomic int lockers;

static void note(rf_session *s, const char *what, int error) {
  const size_t used = strlen(s->not_allowed);
  (void)snprintf(s->not_allowed + used, sizeof s->not_allowed - used, "%s%s: %s", used ? "; " : "",
                 what, strerror(error));
}

void rf_session_lock_memory(rf_session *s) {
  if (!s->set.lock_memory || s->locked) return;
#if defined(MCL_ONFAULT)
  if (mlockall(MCL_CURRENT | MCL_ONFAULT) == 0) {
#else
  if (mlockall(MCL_CURRENT) == 0) {
#endif
    s->locked = true;
    atomic_fetch_add(&lockers, 1);
  } else {
    note(s, "memory could not be locked", errno);
  }
}

void rf_session_unlock_memory(rf_session *s) {
  if (s->locked && atomic_fetch_sub(&lockers, 1) == 1) munlockall();
  s->locked = false;
}

// Starts the watchdog, with a priority above the loop if allowed: a loop that hangs without
// sleeping may occupy the only core.  `refused`: why it has no priority, or 0.
static int start_watchdog(rf_session *s, int *refused) {
  int error = -1;
  *refused = 0;
  if (s->set.priority > 0)
    error = *refused =
        rf_thread_start(&s->watchdog, s->set.priority + 1, GUARD, rf_session_guard, s);
  return error ? rf_thread_start(&s->watchdog, 0, GUARD, rf_session_guard, s) : 0;
}

static int start_thread(rf_session *s) {
  int error = -1;
  s->priority = false;
  if (s->set.priority > 0) {
    error = rf_thread_start(&s->thread, s->set.priority, CYCLES, rf_session_run_cycles, s);
    s->priority = error == 0;
    if (error) note(s, "no real-time priority", error);
  }
  return error ? rf_thread_start(&s->thread, 0, CYCLES, rf_session_run_cycles, s) : 0;
}

// That of the cycles comes last, so that no cycle runs if another thread is missing.
int rf_session_start_threads(rf_session *s) {
  int error = 0, refused = 0;
  bool kept = false;
  if (s->file >= 0) {
    error = rf_thread_start(&s->writer, 0, "rf-writer", rf_session_write_records, s);
    s->has_writer = !error;
  }
  if (!error) {
    error = start_watchdog(s, &refused);
    kept = !error;
  }
  if (!error) error = start_thread(s);
  if (!error && s->priority && refused) note(s, "no priority of the watchdog above it", refused);
  if (!error && s->priority && s->touch_refused)
    note(s, "no priority of the simulation's thread", s->touch_refused);
  s->has_threads = !error;
  if (error) {
    atomic_store(&s->ended, true);
    if (kept) pthread_join(s->watchdog, NULL);
    (void)rf_session_finish_records(s);
  }
  return error;
}
