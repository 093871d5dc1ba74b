// Life cycle of a session, and its face for other threads.
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE  // for F_DUPFD_CLOEXEC
#endif

#include "haptic/session.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/denormals_rt.h"
#include "haptic/session_state.h"

enum { FEWEST_RECORDS = 64 };
// tolerance of the rate that a device reports
static const double RATE_TOLERANCE = 0.1;

// ---- made and freed ---------------------------------------------------------------------

static uint64_t power_of_two(int64_t least) {
  uint64_t n = FEWEST_RECORDS;
  while (n < (uint64_t)least) n *= 2;
  return n;
}

static rf_status refuse_taken(rf_error *err) {
  return rf_fail(err, RF_ERR_ARG, "the device belongs to another session: close that one first");
}

rf_status rf_session_check(const rf_session_settings *set, double period_s, const rf_device *device,
                           rf_error *err) {
  if (!(isfinite(set->duration_s) && set->duration_s >= 0.0))
    return rf_fail(err, RF_ERR_ARG, "duration must be finite and not negative, got %g",
                   set->duration_s);
  if (!(isfinite(set->stall_s) && set->stall_s > period_s))
    return rf_fail(err, RF_ERR_ARG, "stall must be finite and longer than a period, got %g",
                   set->stall_s);
  if (!(set->priority >= 0 && set->priority < sched_get_priority_max(SCHED_FIFO)))
    return rf_fail(err, RF_ERR_ARG,
                   "priority must be between 0 and %d, got %d: the watchdog runs one above it",
                   sched_get_priority_max(SCHED_FIFO) - 1, (int)set->priority);
  if (!(isfinite(set->patience_s) && set->patience_s > 0.0))
    return rf_fail(err, RF_ERR_ARG, "patience must be finite and positive, got %g",
                   set->patience_s);
  if (!(isfinite(set->hang_s) && set->hang_s > 0.0))
    return rf_fail(err, RF_ERR_ARG, "hang must be finite and positive, got %g", set->hang_s);
  if (!(set->records >= 1 && set->records <= (int64_t)1 << 24))
    return rf_fail(err, RF_ERR_ARG, "records must be between 1 and %d, got %lld", 1 << 24,
                   (long long)set->records);
  return device && atomic_load(&device->taken) ? refuse_taken(err) : RF_OK;
}

rf_status rf_session_create(const rf_session_settings *set, double period_s, rf_tick *tick,
                            rf_device *device, rf_session **out, rf_error *err) {
  rf_session *s = NULL;
  rf_status st = rf_session_check(set, period_s, NULL, err);
  if (st >= 0 && atomic_exchange(&device->taken, true)) st = refuse_taken(err);
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
  RF_TRY(rf_snapshot_layout_create(s->tick, &loop->layout, err));
  const size_t bytes = loop->layout.bytes;
  const uint64_t records = power_of_two(set->records);
  RF_ALLOC(loop->value, bytes);
  loop->recorded = rf_record_layout_of(s->tick);
  const size_t record_bytes = loop->recorded.bytes;
  RF_ALLOC(loop->record, record_bytes);
  RF_ALLOC(s->block, RF_SESSION_FILE_BLOCK * record_bytes);
  char *newest, *commands, *ring;
  RF_ALLOC(newest, rf_broadcast_bytes_rt(bytes));
  s->newest_memory = newest;
  RF_ALLOC(ring, records * record_bytes);
  s->record_memory = ring;
  RF_ALLOC(commands, RF_LOOP_COMMANDS * sizeof(rf_command));
  s->command_memory = commands;
  rf_broadcast_begin_rt(&loop->newest, bytes, newest);
  rf_ring_begin_rt(&loop->records, record_bytes, records, ring);
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
  rf_session_close_file(s);
  rf_tick_free(s->tick);
  rf_snapshot_layout_free(&s->loop.layout);
  rf_free(s->loop.value);
  rf_free(s->loop.record);
  rf_free(s->block);
  rf_free(s->newest_memory);
  rf_free(s->record_memory);
  rf_free(s->command_memory);
  rf_free(s);
  return true;
}

// ---- the thread -------------------------------------------------------------------------

static rf_status open_device(rf_session *s, rf_error *err) {
  if (s->open) return RF_OK;
  const rf_status st = s->device->table->open(s->device->self, &s->info, err);
  s->open = st >= 0;
  if (st < 0) return st;
  rf_tick_limit_rt(s->tick, s->info.max_force_n, s->info.max_torque_nm);
  rf_tick_begin_rt(s->tick);
  return RF_OK;
}

static rf_status start_touch(rf_session *s, rf_error *err) {
  const rf_touch *touch = rf_tick_touch(s->tick);
  rf_status st = RF_OK;
  s->touch_refused = 0;
  if (touch && touch->kind->start)
    st = touch->kind->start(touch->self, s->set.priority - 1, &s->touch_refused, err);
  s->touch_runs = touch && st >= 0;
  return st;
}

// After the last cycle of a thread.
static void stop_touch(rf_session *s) {
  const rf_touch *touch = rf_tick_touch(s->tick);
  if (s->touch_runs && touch->kind->stop) touch->kind->stop(touch->self);
  s->touch_runs = false;
}

// ---- start and stop ---------------------------------------------------------------------

static rf_status refuse_unless_ready(rf_session *s, rf_error *err) {
  if (!rf_session_here(s))
    return rf_fail(
        err, RF_ERR_ARG,
        "the session belongs to the process that made it, and this process is a fork of that one");
  if (s->closed) return rf_fail(err, RF_ERR_ARG, "the session is closed: make another one");
  const rf_session_phase phase = rf_session_phase_now(s);
  if (phase == RF_SESSION_RUNNING || s->has_threads)
    return rf_fail(err, RF_ERR_ARG, "the session is running: stop it first");
  if (s->has_writer)
    return rf_fail(err, RF_ERR_ARG,
                   "the records of the last run are still being written to the file: stop the "
                   "session again to wait for them");
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
  rf_session_close_device(s);
  return rf_fail(
      err, RF_ERR_ARG,
      "the device %s runs at %g Hz and the session at %g Hz: make the session with rate=%g",
      s->info.name, own_hz, rate_hz, own_hz);
}

rf_status rf_session_start(rf_session *s, int file, rf_error *err) {
  if (rf_session_phase_now(s) != RF_SESSION_RUNNING) rf_session_stop(s);  // joins ended threads
  rf_status st = refuse_unless_ready(s, err);
  if (st >= 0) st = open_device(s, err);
  if (st >= 0) st = check_rate(s, err);
  if (st < 0) return st;
  s->not_allowed[0] = 0;
  s->file = file < 0 ? -1 : fcntl(file, F_DUPFD_CLOEXEC, 0);
  if (file >= 0 && s->file < 0) {
    rf_session_close_device(s);
    return rf_fail(err, RF_ERR_ARG, "descriptor %d is no file for records: %s", file,
                   strerror(errno));
  }
  st = start_touch(s, err);
  if (st < 0) {
    rf_session_close_device(s);
    rf_session_close_file(s);
    return st;
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
  rf_session_lock_memory(s);
  s->was_locked = s->locked;
  rf_session_set_phase(s, RF_SESSION_RUNNING);
  const int error = rf_session_start_threads(s);
  if (!error) return RF_OK;
  stop_touch(s);
  rf_session_close_device(s);
  if (!s->has_writer) rf_session_close_file(s);
  rf_session_unlock_memory(s);
  rf_session_set_phase(s, RF_SESSION_STOPPED);
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
  const uint64_t before = rf_denormals_flush_rt();
  for (int64_t k = 0; k < n && st >= 0; ++k) st = rf_loop_cycle_rt(&s->loop, 0.0);
  rf_denormals_restore_rt(before);
  if (st >= 0) return RF_OK;
  rf_error why = {0};
  rf_session_explain(s, st, &why);
  rf_session_close_device(s);
  rf_session_fail(s, &why);
  return rf_fail(err, st, "%s", why.text);
}

// Waits for the thread to end; false: neither a cycle nor the closing of the device made progress.
// Forces may take any time to fade.
static bool outlast(rf_session *s) {
  rf_stillness w = rf_stillness_begin();
  while (!atomic_load(&s->ended)) {
    const int64_t count = atomic_load(&s->loop.ticks) + !atomic_load(&s->cycling);
    if (rf_stillness_us(&w, count) > 1e6 * (s->set.hang_s + s->set.stall_s)) return false;
    rf_session_nap(RF_SESSION_POLL_S);
  }
  return true;
}

bool rf_session_wait(rf_session *s, double seconds) {
  if (!rf_session_here(s)) return true;
  const double until_us = rf_clock_us_rt() + 1e6 * seconds;
  while (s->has_threads && !atomic_load(&s->ended)) {
    const double left_s = 1e-6 * (until_us - rf_clock_us_rt());
    if (!(left_s > 0.0)) return false;
    rf_session_nap(fmin(left_s, RF_SESSION_POLL_S));
  }
  return true;
}

void rf_session_stop(rf_session *s) {
  if (!rf_session_here(s)) return;
  if (!s->has_threads) {
    if (s->open) {
      rf_session_close_device(s);
      if (rf_session_phase_now(s) == RF_SESSION_READY) rf_session_set_phase(s, RF_SESSION_STOPPED);
    }
    (void)rf_session_finish_records(s);
    return;
  }
  atomic_store(&s->loop.stop, true);
  if (!outlast(s)) {
    // the watchdog has halted the device already; do not wait for a thread that hangs in it
    rf_error why = {0};
    if (atomic_load(&s->cycling))
      (void)rf_fail(&why, RF_ERR_DEVICE,
                    "a cycle did not end within %g s and was abandoned; the device %s was halted",
                    s->set.hang_s, s->info.name);
    else
      (void)rf_fail(&why, RF_ERR_DEVICE,
                    "the device %s did not close within %g s and was abandoned", s->info.name,
                    s->set.hang_s);
    rf_session_fail(s, &why);
    return;
  }
  pthread_join(s->thread, NULL);
  pthread_join(s->watchdog, NULL);
  stop_touch(s);
  s->has_threads = false;
  rf_session_unlock_memory(s);
  (void)rf_session_finish_records(s);
}

void rf_session_close(rf_session *s) {
  if (!rf_session_here(s)) return;
  s->closed = true;
  rf_session_stop(s);
  if (s->released || s->has_threads) return;
  s->released = true;
  atomic_store(&s->device->taken, false);
}

// ---- seen from outside ------------------------------------------------------------------

bool rf_session_command(rf_session *s, const rf_command *command) {
  return rf_ring_write_rt(&s->loop.commands, command);
}

uint64_t rf_session_snapshot(const rf_session *s, void *out, size_t *bytes) {
  return rf_broadcast_read_rt(&s->loop.newest, out, bytes);
}

void rf_session_follow(rf_session *s) {
  atomic_store(&s->loop.followed_until, atomic_load(&s->loop.ticks) + RF_LOOP_FOLLOWED);
}

int64_t rf_session_records(rf_session *s, int64_t most, char *out) {
  const size_t bytes = s->loop.recorded.bytes;
  if (s->has_writer || most <= 0) return 0;
  // first the records that a file did not accept
  uint64_t n = s->block_n - s->block_at;
  if (n > (uint64_t)most) n = (uint64_t)most;
  memcpy(out, s->block + s->block_at * bytes, n * bytes);
  s->block_at += n;
  return (int64_t)(n + rf_ring_read_rt(&s->loop.records, (uint64_t)most - n, out + n * bytes));
}

void rf_session_read_status(rf_session *s, rf_session_status *out) {
  rf_loop *loop = &s->loop;
  memset(out, 0, sizeof *out);
  out->phase = rf_session_phase_now(s);
  out->closed = s->closed;
  out->joined = !s->has_threads;
  if (out->phase == RF_SESSION_FAILED) out->failure = s->failure;
  out->priority = s->priority;
  out->locked = s->was_locked;
  memcpy(out->not_allowed, s->not_allowed, sizeof out->not_allowed);
  out->ticks = atomic_load(&loop->ticks);
  // the part before the whole, see haptic/loop.h
  out->interrupted = atomic_load(&loop->interrupted);
  out->over = atomic_load(&loop->over);
  out->skipped = atomic_load(&loop->skipped);
  out->too_deep = atomic_load(&loop->too_deep);
  out->shortened = atomic_load(&loop->shortened);
  out->paused = atomic_load(&loop->paused);
  out->made_up = atomic_load(&loop->made_up);
  out->unsolved = atomic_load(&loop->unsolved);
  out->crowded = atomic_load(&loop->crowded);
  out->unanswered = atomic_load(&loop->unanswered);
  out->inside = atomic_load(&loop->inside);
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
  const rf_touch *touch = rf_tick_touch(s->tick);
  out->delay_s = touch ? touch->delay_s : 0.0;
  out->stiffest_n_per_m = atomic_load(&loop->stiffest_n_per_m);
}

const rf_loop *rf_session_loop(const rf_session *s) { return &s->loop; }

const rf_device_info *rf_session_device(const rf_session *s) { return &s->info; }
