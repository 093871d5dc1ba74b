// Memory and threads of a run.
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE  // for mlockall with MCL_ONFAULT
#endif

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "haptic/session_state.h"

enum { STACK = 8 << 20 };

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

// Sets the thread's name as shown by tools.
static void name_thread(pthread_t thread, int error, const char *name) {
#if defined(__linux__)
  if (!error) (void)pthread_setname_np(thread, name);
#else
  (void)thread, (void)error, (void)name;
#endif
}

// Starts a thread; priority > 0: real-time, an error if refused.
static int begin_thread(pthread_t *thread, int priority, void *(*function)(void *), void *context) {
  pthread_attr_t attributes;
  int error = pthread_attr_init(&attributes);
  if (error) return error;
  pthread_attr_setstacksize(&attributes, STACK);
  if (priority > 0) {
    const struct sched_param parameter = {.sched_priority = priority};
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
    pthread_attr_setschedparam(&attributes, &parameter);
  }
  error = pthread_create(thread, &attributes, function, context);
  pthread_attr_destroy(&attributes);
  return error;
}

// Starts the watchdog, with a priority above the loop if allowed: a loop that hangs without
// sleeping may occupy the only core.  `refused`: why it has no priority, or 0.
static int start_watchdog(rf_session *s, int *refused) {
  int error = -1;
  *refused = 0;
  if (s->set.priority > 0)
    error = *refused = begin_thread(&s->watchdog, s->set.priority + 1, rf_session_guard, s);
  if (error) error = begin_thread(&s->watchdog, 0, rf_session_guard, s);
  name_thread(s->watchdog, error, "rf-watchdog");
  return error;
}

static int start_thread(rf_session *s) {
  int error = -1;
  s->priority = false;
  if (s->set.priority > 0) {
    error = begin_thread(&s->thread, s->set.priority, rf_session_run_cycles, s);
    s->priority = error == 0;
    if (error) note(s, "no real-time priority", error);
  }
  if (error) error = begin_thread(&s->thread, 0, rf_session_run_cycles, s);
  name_thread(s->thread, error, "rf-haptic");
  return error;
}

// Starts all threads of a run or none; that of the cycles last, so that no cycle runs if another
// thread is missing.
static int start_threads(rf_session *s) {
  int error = 0, refused = 0;
  bool kept = false;
  if (s->file >= 0) {
    error = pthread_create(&s->writer, NULL, rf_session_write_records, s);
    name_thread(s->writer, error, "rf-writer");
    s->has_writer = !error;
  }
  if (!error) {
    error = start_watchdog(s, &refused);
    kept = !error;
  }
  if (!error) error = start_thread(s);
  if (!error && s->priority && refused) note(s, "no priority of the watchdog above it", refused);
  s->has_threads = !error;
  if (error) {
    atomic_store(&s->ended, true);
    if (kept) pthread_join(s->watchdog, NULL);
    (void)rf_session_finish_records(s);
  }
  return error;
}

// Blocks signals, whose handlers would delay cycles; the program's threads take them.  Faults of
// the thread itself are delivered as usual.
int rf_session_start_threads(rf_session *s) {
  static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
  sigset_t others, before;
  sigfillset(&others);
  for (size_t k = 0; k < sizeof own / sizeof *own; ++k) sigdelset(&others, own[k]);
  int error = pthread_sigmask(SIG_BLOCK, &others, &before);
  if (error) return error;
  error = start_threads(s);
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  return error;
}
