#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE  // for mlockall with MCL_ONFAULT
#endif

#include "haptic/session.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock_rt.h"

enum { STACK = 8 << 20, LOCKED_STACK = 512 << 10, FEWEST_RECORDS = 64, FILE_BLOCK = 256 };
static const double WATCHDOG_PERIOD_S = 2e-3;
// Longest time counted for one poll of the watchdog: it may have slept through a pause.
static const double LONGEST_LOOK_S = 1e-2;
// tolerance of the rate that a device reports
static const double RATE_TOLERANCE = 0.1;

// Locked memory belongs to the process: the last session to end unlocks it.
static _Atomic int lockers;

struct rf_session {
  rf_session_settings set;
  rf_tick *tick;
  rf_device *device;
  rf_device_info info;
  rf_loop loop;
  pid_t owner;  // process that created it: threads do not survive a fork
  bool has_threads, has_writer, closed;
  bool locked, was_locked;  // memory is locked now, was locked in the last run
  int file;                 // duplicate of the descriptor for records; -1: none
  pthread_t thread, watchdog, writer;
  rf_tick_record *block;  // read from the ring for the file; owned by the writer while it runs
  uint64_t block_n, block_at;
  void *newest_memory, *record_memory, *command_memory;

  // set by the threads before they set the phase
  rf_error failure;
  char not_allowed[256];
  bool priority;
  _Atomic int phase;
  atomic_bool open;            // the device; closed by the thread
  atomic_bool told;            // a failure was recorded
  atomic_bool ended, stalled;  // the thread has ended; the watchdog has given it up
  pthread_mutex_t closing;     // held to halt the device, and to clear `cycling` before closing it
  atomic_bool cycling;         // from before the first cycle until the last one has ended
  atomic_bool written_out;     // the writer has ended
  _Atomic int64_t written;
  _Atomic int file_error;
};

static rf_session_phase phase_of(rf_session *s) {
  return (rf_session_phase)atomic_load_explicit(&s->phase, memory_order_acquire);
}

static void set_phase(rf_session *s, rf_session_phase phase) {
  atomic_store_explicit(&s->phase, (int)phase, memory_order_release);
}

// Records a failure; only the first one, which other threads may be reading.
static void fail(rf_session *s, const rf_error *why) {
  if (atomic_exchange(&s->told, true)) return;
  s->failure = *why;
  set_phase(s, RF_SESSION_FAILED);
}

static void nap(double seconds) {
  const struct timespec time = {(time_t)seconds, (long)(1e9 * (seconds - floor(seconds)))};
  nanosleep(&time, NULL);
}

// Time for which a count has not changed.  Of a pause of the whole process, in which the observer
// slept too, only LONGEST_LOOK_S counts.
typedef struct watch {
  int64_t seen;
  double last_us, still_us;
} watch;

static watch begin_watch(void) { return (watch){.seen = -1, .last_us = rf_clock_us_rt()}; }

static double look(watch *w, int64_t count) {
  const double now_us = rf_clock_us_rt();
  const double more_us = fmin(now_us - w->last_us, 1e6 * LONGEST_LOOK_S);
  w->still_us = count == w->seen ? w->still_us + more_us : 0.0;
  w->seen = count;
  w->last_us = now_us;
  return w->still_us;
}

static void close_file(rf_session *s) {
  if (s->file >= 0) close(s->file);
  s->file = -1;
}

// ---- made and freed ---------------------------------------------------------------------

static uint64_t power_of_two(int64_t least) {
  uint64_t n = FEWEST_RECORDS;
  while (n < (uint64_t)least) n *= 2;
  return n;
}

rf_status rf_session_create(const rf_session_settings *set, double period_s, rf_tick *tick,
                            rf_device *device, rf_session **out, rf_error *err) {
  rf_session *s = NULL;
  rf_status st = RF_OK;
  if (!(isfinite(set->duration_s) && set->duration_s >= 0.0))
    st = rf_fail(err, RF_ERR_ARG, "duration must be finite and not negative, got %g",
                 set->duration_s);
  else if (!(isfinite(set->stall_s) && set->stall_s > period_s))
    st = rf_fail(err, RF_ERR_ARG, "stall must be finite and longer than a period, got %g",
                 set->stall_s);
  else if (!(set->priority >= 0 && set->priority < sched_get_priority_max(SCHED_FIFO)))
    st = rf_fail(err, RF_ERR_ARG,
                 "priority must be between 0 and %d, got %d: the thread that watches the loop, and "
                 "halts the device when that hangs, runs one above it",
                 sched_get_priority_max(SCHED_FIFO) - 1, (int)set->priority);
  else if (!(isfinite(set->patience_s) && set->patience_s > 0.0))
    st = rf_fail(err, RF_ERR_ARG, "patience must be finite and positive, got %g", set->patience_s);
  else if (!(isfinite(set->hang_s) && set->hang_s > 0.0))
    st = rf_fail(err, RF_ERR_ARG, "hang must be finite and positive, got %g", set->hang_s);
  else if (!(set->records >= 1 && set->records <= (int64_t)1 << 24))
    st = rf_fail(err, RF_ERR_ARG, "records must be between 1 and %d, got %lld", 1 << 24,
                 (long long)set->records);
  else if (atomic_exchange(&device->taken, true))
    st = rf_fail(err, RF_ERR_ARG, "the device belongs to another session: close that one first");
  if (st < 0) goto done;
  s = rf_alloc(1, sizeof *s);
  if (!s) {
    atomic_store(&device->taken, false);
    st = rf_fail(err, RF_ERR_MEMORY, "out of memory: a session");
    goto done;
  }
  s->set = *set;
  s->tick = tick;
  s->device = device;
  tick = NULL;
  s->owner = getpid();
  s->file = -1;
  pthread_mutex_init(&s->closing, NULL);
  rf_loop *loop = &s->loop;
  loop->tick = s->tick;
  loop->device = s->device;
  loop->period_us = 1e6 * period_s;
  const size_t bytes = rf_tick_snapshot_bytes_rt(s->tick);
  const uint64_t records = power_of_two(set->records);
  RF_ALLOC(loop->value, bytes);
  RF_ALLOC(s->block, FILE_BLOCK);
  char *newest, *commands;
  rf_tick_record *ring;
  RF_ALLOC(newest, rf_exchange_bytes_rt(bytes));
  s->newest_memory = newest;
  RF_ALLOC(ring, records);
  s->record_memory = ring;
  RF_ALLOC(commands, RF_LOOP_COMMANDS * sizeof(rf_command));
  s->command_memory = commands;
  rf_exchange_begin_rt(&loop->newest, bytes, newest);
  rf_ring_begin_rt(&loop->records, sizeof(rf_tick_record), records, ring);
  rf_ring_begin_rt(&loop->commands, sizeof(rf_command), RF_LOOP_COMMANDS, commands);
  *out = s;
  s = NULL;
done:
  if (s) (void)rf_session_free(s);
  rf_tick_free(tick);
  return st;
}

bool rf_session_here(const rf_session *s) { return getpid() == s->owner; }

bool rf_session_free(rf_session *s) {
  if (!s) return true;
  // in a forked child the threads and the device belong to the parent
  if (rf_session_here(s)) {
    rf_session_close(s);
    // a thread that hangs still uses this memory: leak it
    if (s->has_threads || s->has_writer) return false;
  }
  pthread_mutex_destroy(&s->closing);
  close_file(s);
  rf_tick_free(s->tick);
  rf_free(s->loop.value);
  rf_free(s->block);
  rf_free(s->newest_memory);
  rf_free(s->record_memory);
  rf_free(s->command_memory);
  rf_free(s);
  return true;
}

// ---- the thread -------------------------------------------------------------------------

static void close_device(rf_session *s) {
  if (s->open) s->device->table->close(s->device->self);
  s->open = false;
}

static rf_status open_device(rf_session *s, rf_error *err) {
  if (s->open) return RF_OK;
  const rf_status st = s->device->table->open(s->device->self, &s->info, err);
  s->open = st >= 0;
  if (st < 0) return st;
  rf_tick_limit_rt(s->tick, s->info.max_force_n, s->info.max_torque_nm);
  rf_tick_begin_rt(s->tick);
  return RF_OK;
}

// Reports the simulation whose body is too far; returns false if none is.
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
  return false;
}

// Fills `why` with the cause of a failed cycle, unless it has a text.
static void explain(rf_session *s, rf_status st, rf_error *why) {
  const long long tick = (long long)atomic_load(&s->loop.ticks) - 1;
  if (why->text[0]) return;
  const rf_device_table *table = s->device->table;
  const char *text = table->why ? table->why(s->device->self) : "";
  if (st == RF_ERR_DEVICE)
    (void)rf_fail(why, st, "cycle %lld: the device %s failed%s%.300s", tick, s->info.name,
                  text[0] ? ": " : "", text);
  else if (!explain_far(s, tick, why))
    (void)rf_fail(why, st,
                  "cycle %lld: the simulation left the finite numbers; softer contact, more "
                  "damping or shorter steps may help",
                  tick);
}

// Makes a cycle in a device's own thread.
static rf_status own_cycle(void *context) {
  rf_session *s = context;
  rf_loop *loop = &s->loop;
  if (rf_loop_ended_rt(loop)) return RF_ERR_INTERRUPTED;
  if (loop->this_run == 0) (void)rf_loop_flush_denormals_rt();
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

static void *run(void *context) {
  rf_session *s = context;
  rf_error why = {0};
  rf_status st;
  atomic_store(&s->cycling, true);
  lock_stack(s);
  (void)rf_loop_flush_denormals_rt();
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
  close_device(s);
  if (st >= 0 && atomic_load(&s->stalled))
    st = rf_fail(&why, RF_ERR_DEVICE, "no cycle ended for %g s; the device %s was halted",
                 s->set.stall_s, s->info.name);
  if (st < 0) {
    explain(s, st, &why);
    fail(s, &why);
  } else {
    // keeps the failure if the thread was given up meanwhile
    int running = RF_SESSION_RUNNING;
    atomic_compare_exchange_strong(
        &s->phase, &running, atomic_load(&s->loop.stop) ? RF_SESSION_STOPPED : RF_SESSION_FINISHED);
  }
  atomic_store(&s->ended, true);
  return NULL;
}

// ---- the watchdog -------------------------------------------------------------------------

// Halts the device, once, and only while cycles run: then it is open.
static void halt(rf_session *s) {
  pthread_mutex_lock(&s->closing);
  if (atomic_load(&s->cycling) && !atomic_exchange(&s->stalled, true)) {
    atomic_store(&s->loop.stop, true);
    if (s->device->table->halt) s->device->table->halt(s->device->self);
  }
  pthread_mutex_unlock(&s->closing);
}

static void *guard(void *context) {
  rf_session *s = context;
  watch w = begin_watch();
  while (!atomic_load(&s->ended)) {
    nap(WATCHDOG_PERIOD_S);
    if (!atomic_load(&s->cycling)) continue;
    const int64_t ticks = atomic_load_explicit(&s->loop.ticks, memory_order_acquire);
    if (look(&w, ticks) > 1e6 * s->set.stall_s && !atomic_load(&s->stalled)) halt(s);
  }
  return NULL;
}

// ---- the writer -------------------------------------------------------------------------

// Writes the rest of the block; false: the file accepts no more.
static bool write_block(rf_session *s) {
  const char *from = (const char *)(s->block + s->block_at);
  const size_t all = (size_t)(s->block_n - s->block_at) * sizeof *s->block;
  size_t done = 0;
  while (done < all) {
    const ssize_t n = write(s->file, from + done, all - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      atomic_store(&s->file_error, n < 0 ? errno : EIO);
      return false;
    }
    const size_t before = done / sizeof *s->block;
    done += (size_t)n;
    const size_t more = done / sizeof *s->block - before;
    s->block_at += more;
    atomic_fetch_add(&s->written, (int64_t)more);
  }
  return true;
}

// Writes records until the ring is empty.  Those that could not be written stay in the block.
static void write_records(rf_session *s) {
  while (!atomic_load(&s->file_error)) {
    if (!write_block(s)) return;
    s->block_at = 0;
    s->block_n = rf_ring_read_rt(&s->loop.records, FILE_BLOCK, s->block);
    if (s->block_n == 0) return;
  }
}

static void *write_out(void *context) {
  rf_session *s = context;
  while (!atomic_load(&s->ended)) {
    nap(WATCHDOG_PERIOD_S);
    write_records(s);
  }
  write_records(s);
  atomic_store(&s->written_out, true);
  return NULL;
}

// Waits until all records are written; false: none was written for `patience_s`.
static bool finish_writing(rf_session *s) {
  if (!s->has_writer) return true;
  watch w = begin_watch();
  while (!atomic_load(&s->written_out)) {
    if (look(&w, atomic_load(&s->written)) > 1e6 * s->set.patience_s) return false;
    nap(WATCHDOG_PERIOD_S);
  }
  pthread_join(s->writer, NULL);
  s->has_writer = false;
  close_file(s);
  return true;
}

// ---- start and stop ---------------------------------------------------------------------

static void note(rf_session *s, const char *what, int error) {
  const size_t used = strlen(s->not_allowed);
  (void)snprintf(s->not_allowed + used, sizeof s->not_allowed - used, "%s%s: %s", used ? "; " : "",
                 what, strerror(error));
}

static void lock_memory(rf_session *s) {
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

static void unlock_memory(rf_session *s) {
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
    error = *refused = begin_thread(&s->watchdog, s->set.priority + 1, guard, s);
  if (error) error = begin_thread(&s->watchdog, 0, guard, s);
  name_thread(s->watchdog, error, "rf-watchdog");
  return error;
}

static int start_thread(rf_session *s) {
  int error = -1;
  s->priority = false;
  if (s->set.priority > 0) {
    error = begin_thread(&s->thread, s->set.priority, run, s);
    s->priority = error == 0;
    if (error) note(s, "no real-time priority", error);
  }
  if (error) error = begin_thread(&s->thread, 0, run, s);
  name_thread(s->thread, error, "rf-haptic");
  return error;
}

// Starts all threads of a run or none; that of the cycles last, so that no cycle runs if another
// thread is missing.
static int start_threads(rf_session *s) {
  int error = 0, refused = 0;
  bool kept = false;
  if (s->file >= 0) {
    error = pthread_create(&s->writer, NULL, write_out, s);
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
    (void)finish_writing(s);
  }
  return error;
}

// Blocks signals, whose handlers would delay cycles; the program's threads take them.  Faults of
// the thread itself are delivered as usual.
static int start_threads_without_signals(rf_session *s) {
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

static rf_status refuse_unless_ready(rf_session *s, rf_error *err) {
  if (!rf_session_here(s))
    return rf_fail(err, RF_ERR_ARG, "the session belongs to the process that made it");
  if (s->closed) return rf_fail(err, RF_ERR_ARG, "the session is closed: make another one");
  const rf_session_phase phase = phase_of(s);
  if (phase == RF_SESSION_RUNNING || s->has_threads)
    return rf_fail(err, RF_ERR_ARG, "the session is running: stop it first");
  if (s->has_writer)
    return rf_fail(err, RF_ERR_ARG, "the file does not take the records of the last run");
  if (phase == RF_SESSION_FAILED)
    return rf_fail(err, RF_ERR_ARG, "the session has failed: %.400s", s->failure.text);
  return RF_OK;
}

// Compares the rate with that of a device that calls the cycles; its report may be an average.
static rf_status check_rate(rf_session *s, rf_error *err) {
  const double rate_hz = 1e6 / s->loop.period_us, own_hz = s->info.rate_hz;
  if (!s->device->table->run || !(own_hz > 0.0) ||
      fabs(rate_hz - own_hz) <= RATE_TOLERANCE * own_hz)
    return RF_OK;
  close_device(s);
  return rf_fail(err, RF_ERR_ARG,
                 "the device %s makes %g cycles a second and the session is one of %g: make it "
                 "with rate=%g",
                 s->info.name, own_hz, rate_hz, own_hz);
}

rf_status rf_session_start(rf_session *s, int file, rf_error *err) {
  if (phase_of(s) != RF_SESSION_RUNNING) rf_session_stop(s);  // joins ended threads
  rf_status st = refuse_unless_ready(s, err);
  if (st >= 0) st = open_device(s, err);
  if (st >= 0) st = check_rate(s, err);
  if (st < 0) return st;
  s->not_allowed[0] = 0;
  s->file = file < 0 ? -1 : fcntl(file, F_DUPFD_CLOEXEC, 0);
  if (file >= 0 && s->file < 0) {
    close_device(s);
    return rf_fail(err, RF_ERR_ARG, "descriptor %d is no file for records: %s", file,
                   strerror(errno));
  }
  // a count beyond the range: no limit
  const double most = ceil(1e6 * s->set.duration_s / s->loop.period_us - 1e-9);
  s->loop.most_ticks = most < 1e18 ? (int64_t)most : 0;
  s->loop.this_run = 0;
  atomic_store(&s->loop.stop, false);
  atomic_store(&s->ended, false);
  atomic_store(&s->stalled, false);
  atomic_store(&s->file_error, 0);
  atomic_store(&s->written_out, false);
  rf_tick_pace_rt(s->tick, s->set.stall_s);
  lock_memory(s);
  s->was_locked = s->locked;
  set_phase(s, RF_SESSION_RUNNING);
  const int error = start_threads_without_signals(s);
  if (!error) return RF_OK;
  close_device(s);
  if (!s->has_writer) close_file(s);
  unlock_memory(s);
  set_phase(s, RF_SESSION_STOPPED);
  return rf_fail(err, RF_ERR_INTERNAL, "no thread could be started: %s", strerror(error));
}

rf_status rf_session_advance(rf_session *s, int64_t n, rf_error *err) {
  if (s->has_threads && atomic_load(&s->ended))
    rf_session_stop(s);  // joins a thread that ended by itself
  rf_status st = refuse_unless_ready(s, err);
  if (st >= 0 && s->device->table->run)
    st = rf_fail(err, RF_ERR_ARG,
                 "cycles of this device come from its own thread: start the session instead");
  if (st >= 0) st = open_device(s, err);
  if (st < 0) return st;
  rf_tick_pace_rt(s->tick, INFINITY);
  const uint64_t before = rf_loop_flush_denormals_rt();
  for (int64_t k = 0; k < n && st >= 0; ++k) st = rf_loop_cycle_rt(&s->loop, 0.0);
  rf_loop_restore_denormals_rt(before);
  if (st >= 0) return RF_OK;
  rf_error why = {0};
  explain(s, st, &why);
  close_device(s);
  fail(s, &why);
  return rf_fail(err, st, "%s", why.text);
}

// Waits for the thread to end; false: neither a cycle nor the closing of the device made progress.
// Forces may take any time to fade.
static bool outlast(rf_session *s) {
  watch w = begin_watch();
  while (!atomic_load(&s->ended)) {
    const int64_t count = atomic_load(&s->loop.ticks) + !atomic_load(&s->cycling);
    if (look(&w, count) > 1e6 * (s->set.hang_s + s->set.stall_s)) return false;
    nap(WATCHDOG_PERIOD_S);
  }
  return true;
}

bool rf_session_wait(rf_session *s, double seconds) {
  if (!rf_session_here(s)) return true;
  const double until_us = rf_clock_us_rt() + 1e6 * seconds;
  while (s->has_threads && !atomic_load(&s->ended)) {
    const double left_s = 1e-6 * (until_us - rf_clock_us_rt());
    if (!(left_s > 0.0)) return false;
    nap(fmin(left_s, WATCHDOG_PERIOD_S));
  }
  return true;
}

void rf_session_stop(rf_session *s) {
  if (!rf_session_here(s)) return;
  if (!s->has_threads) {
    if (s->open) {
      close_device(s);
      if (phase_of(s) == RF_SESSION_READY) set_phase(s, RF_SESSION_STOPPED);
    }
    (void)finish_writing(s);
    return;
  }
  atomic_store(&s->loop.stop, true);
  if (!outlast(s)) {
    // the watchdog has halted the device already; do not wait for a thread that hangs in it
    rf_error why = {0};
    if (atomic_load(&s->cycling))
      (void)rf_fail(&why, RF_ERR_DEVICE,
                    "a cycle has not ended for %g s and is given up; the device %s was halted",
                    s->set.hang_s, s->info.name);
    else
      (void)rf_fail(&why, RF_ERR_DEVICE, "the device %s has not closed for %g s and is given up",
                    s->info.name, s->set.hang_s);
    fail(s, &why);
    return;
  }
  pthread_join(s->thread, NULL);
  pthread_join(s->watchdog, NULL);
  s->has_threads = false;
  unlock_memory(s);
  (void)finish_writing(s);
}

void rf_session_close(rf_session *s) {
  if (!rf_session_here(s)) return;
  rf_session_stop(s);
  if (s->closed || s->has_threads) return;
  s->closed = true;
  atomic_store(&s->device->taken, false);
}

// ---- seen from outside ------------------------------------------------------------------

bool rf_session_command(rf_session *s, const rf_command *command) {
  return rf_ring_write_rt(&s->loop.commands, command);
}

bool rf_session_snapshot(rf_session *s, void *out) {
  return rf_exchange_read_rt(&s->loop.newest, out);
}

int64_t rf_session_records(rf_session *s, int64_t most, rf_tick_record *out) {
  if (s->has_writer || most <= 0) return 0;
  // first the records that a file did not accept
  uint64_t n = s->block_n - s->block_at;
  if (n > (uint64_t)most) n = (uint64_t)most;
  memcpy(out, s->block + s->block_at, (size_t)n * sizeof *out);
  s->block_at += n;
  return (int64_t)(n + rf_ring_read_rt(&s->loop.records, (uint64_t)most - n, out + n));
}

void rf_session_read_status(rf_session *s, rf_session_status *out) {
  rf_loop *loop = &s->loop;
  memset(out, 0, sizeof *out);
  out->phase = phase_of(s);
  if (out->phase == RF_SESSION_FAILED) out->failure = s->failure;
  out->priority = s->priority;
  out->locked = s->was_locked;
  memcpy(out->not_allowed, s->not_allowed, sizeof out->not_allowed);
  out->ticks = atomic_load(&loop->ticks);
  // read the part before the whole: a running loop adds to the whole first
  out->interrupted = atomic_load(&loop->interrupted);
  out->over = atomic_load(&loop->over);
  out->skipped = atomic_load(&loop->skipped);
  out->too_deep = atomic_load(&loop->too_deep);
  out->shortened = atomic_load(&loop->shortened);
  out->paused = atomic_load(&loop->paused);
  out->unrecorded = atomic_load(&loop->unrecorded);
  out->written = atomic_load(&s->written);
  out->file_error = atomic_load(&s->file_error);
  out->writing = s->has_writer;
  out->energy_j = atomic_load(&loop->energy_j);
  out->most_energy_j = atomic_load(&loop->most_energy_j);
  out->saturated = atomic_load(&loop->saturated);
  out->touching = atomic_load(&loop->touching);
  out->chatter_n = atomic_load(&loop->chatter_n);
  out->force_n = atomic_load(&loop->force_n);
}

const rf_loop *rf_session_loop(const rf_session *s) { return &s->loop; }

const rf_device_info *rf_session_device(const rf_session *s) { return &s->info; }
