// The threads of a session, for the thread sanitizer: runs one again and again while another thread
// looks, reads its file, lets each thread fail to begin, and the device hang.
//
// The session, its loop, cycles and records are those of the library; contacts and simulations are
// stand-ins.  As the Python module does, one thread at a time calls the session.
#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int fail_at;        // the thread to be begun, from 1; 0: all begin
static int most_allowed;   // real-time priority; threads that are allowed one have none here
static int highest_begun;  // of those that were

static int create_or_fail(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*function)(void *), void *context) {
  struct sched_param wanted = {0};
  if (fail_at > 0 && --fail_at == 0) return EAGAIN;
  if (attributes) pthread_attr_getschedparam(attributes, &wanted);
  if (wanted.sched_priority > most_allowed) return EPERM;
  if (wanted.sched_priority > highest_begun) highest_begun = wanted.sched_priority;
  if (wanted.sched_priority > 0) return pthread_create(thread, NULL, function, context);
  return pthread_create(thread, attributes, function, context);
}

#define pthread_create create_or_fail
#include "base/thread.c"
#include "haptic/session_start.c"
#undef pthread_create

#include "no_contact.h"

#define CHECK(condition)                             \
  do {                                               \
    if (!(condition)) {                              \
      printf("line %d: %s\n", __LINE__, #condition); \
      exit(1);                                       \
    }                                                \
  } while (0)

// ---- the device -------------------------------------------------------------------------

// True if subnormal numbers are kept, as results and as operands.
static bool has_denormals(void) {
  volatile double least = 2.2250738585072014e-308, tiny = 4.9406564584124654e-324;
  least *= 0.25;
  tiny *= 1e300;
  return least != 0.0 || tiny != 0.0;
}

static atomic_bool hang, halted;
static _Atomic int64_t with_denormals, without_denormals;  // cycles
static int opened;                                         // only while no cycle runs

static rf_status open_hand(void *self, rf_device_info *info, rf_error *err) {
  (void)self, (void)err;
  *info = (rf_device_info){.name = "hand", .max_force_n = 1.0, .max_torque_nm = 1.0};
  ++opened;
  return RF_OK;
}

static void close_hand(void *self) {
  (void)self;
  --opened;
}

static rf_status read_hand(void *self, double time_s, rf_device_sample *out) {
  (void)self;
  atomic_fetch_add(has_denormals() ? &with_denormals : &without_denormals, 1);
  while (atomic_load(&hang)) rf_session_nap(1e-3);
  *out = (rf_device_sample){.pose = {.quaternion = {1.0}}, .count = (uint64_t)(1e6 * time_s) + 1};
  return RF_OK;
}

static rf_status write_hand(void *self, double time_s, const rf_device_wrench *wrench) {
  (void)self, (void)time_s, (void)wrench;
  return RF_OK;
}

static void halt_hand(void *self) {
  (void)self;
  atomic_store(&halted, true);
}

static const rf_device_table hand = {.open = open_hand,
                                     .close = close_hand,
                                     .read_rt = read_hand,
                                     .write_rt = write_hand,
                                     .halt = halt_hand};

// ---- who calls the session --------------------------------------------------------------

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static rf_session *session;
static atomic_bool looked_enough;

static rf_session_status status(void) {
  rf_session_status now;
  pthread_mutex_lock(&one_at_a_time);
  rf_session_read_status(session, &now);
  pthread_mutex_unlock(&one_at_a_time);
  return now;
}

static void *look_on(void *context) {
  (void)context;
  size_t bytes = rf_session_loop(session)->layout.bytes;
  char *state = malloc(bytes);
  uint64_t seen = 0;
  while (!atomic_load(&looked_enough)) {
    rf_command command = {.kind = RF_COMMAND_ENABLE, .value = 1.0};
    // snapshots are read while another thread uses the session
    rf_session_follow(session);
    const uint64_t number = rf_session_snapshot(session, state, &bytes);
    if (number > 0 && number < seen) exit(2);
    if (number > 0) seen = number;
    pthread_mutex_lock(&one_at_a_time);
    (void)rf_session_command(session, &command);
    pthread_mutex_unlock(&one_at_a_time);
    const rf_loop *loop = rf_session_loop(session);
    if (rf_histogram_percentile_rt(&loop->compute, 0.5) < 0.0) exit(2);
    (void)status();
    rf_session_nap(1e-4);
  }
  free(state);
  return NULL;
}

static rf_status start(int file) {
  rf_error err = {0};
  pthread_mutex_lock(&one_at_a_time);
  const rf_status st = rf_session_start(session, file, &err);
  pthread_mutex_unlock(&one_at_a_time);
  return st;
}

static void stop(void) {
  pthread_mutex_lock(&one_at_a_time);
  rf_session_stop(session);
  pthread_mutex_unlock(&one_at_a_time);
}

static void wait_for(int64_t ticks) {
  while (status().phase == RF_SESSION_RUNNING && status().ticks < ticks) rf_session_nap(1e-3);
}

// all cycles so far, in the order of time
static void check_records(int file) {
  rf_tick_record record;
  CHECK(lseek(file, 0, SEEK_SET) == 0);
  for (int64_t k = 0; k < status().ticks; ++k) {
    CHECK(read(file, &record, sizeof record) == (ssize_t)sizeof record);
    CHECK(record.tick == k);
  }
  CHECK(read(file, &record, 1) == 0);
}

int main(int n_arguments, char **arguments) {
  CHECK(n_arguments == 2);
  const int file = open(arguments[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
  CHECK(file >= 0);
  rf_error err = {0};
  const double dt_s = 1e-3;
  rf_tick_settings set = {.dt_s = dt_s, .budget_us = 500.0};
  set.coupling = (rf_coupling_settings){.stiffness_n_per_m = 500.0,
                                        .torsion_nm = 0.5,
                                        .max_force_n = INFINITY,
                                        .max_torque_nm = INFINITY,
                                        .max_depth_m = INFINITY,
                                        .reach_m = 0.0,
                                        .max_step_m = INFINITY,
                                        .max_turn_rad = INFINITY,
                                        .degenerate = 1e-6};
  set.workspace = (rf_workspace_settings){.scale = 1.0, .force_scale = 1.0, .absolute = true};
  set.workspace.alignment[0] = set.workspace.start.quaternion[0] = 1.0;
  set.safety = (rf_safety_settings){INFINITY, INFINITY, INFINITY, INFINITY, 0.01, INFINITY};
  const rf_tick_contact contact = {NULL, NULL};
  rf_tick *tick = NULL;
  if (rf_tick_create(&set, 1, &contact, NULL, &tick, &err) < 0) return puts(err.text), 1;
  rf_device device = {.table = &hand};
  const rf_session_settings how = {
      .stall_s = 5.0, .records = 1 << 14, .patience_s = 60.0, .hang_s = 60.0};
  CHECK(rf_session_create(&how, dt_s, tick, &device, &session, &err) >= 0);

  // cycles in the caller's thread, which has its denormals again after them
  CHECK(has_denormals());
  CHECK(rf_session_advance(session, 3, &err) >= 0);
  CHECK(has_denormals());
  CHECK(status().ticks == 3);
  stop();

  pthread_t looking;
  CHECK(pthread_create(&looking, NULL, look_on, NULL) == 0);
  for (int64_t run = 1; run <= 3; ++run) {
    // none of the three threads may be missing, and no cycle is made then
    const int64_t before = status().ticks;
    for (int k = 1; k <= 3; ++k) {
      fail_at = k;
      CHECK(start(file) == RF_ERR_INTERNAL);
      CHECK(status().ticks == before && opened == 0);
    }
    fail_at = 0;
    CHECK(start(file) >= 0);
    wait_for(before + 50);
    stop();
    CHECK(status().phase == RF_SESSION_STOPPED && opened == 0);
    CHECK(status().unrecorded == 0);
    check_records(file);
  }
  // the watchdog is above the loop where both are allowed; what is not is said, and the rest runs
  static const struct {
    int wanted, allowed, highest;
    bool loop, watchdog;
  } priorities[] = {{80, 99, 81, true, true},
                    {80, 80, 80, true, false},
                    {80, 79, 0, false, false},
                    {98, 99, 99, true, true},
                    {0, 99, 0, false, true}};
  for (size_t k = 0; k < sizeof priorities / sizeof *priorities; ++k) {
    const int64_t before = status().ticks;
    session->set.priority = priorities[k].wanted;
    most_allowed = priorities[k].allowed;
    highest_begun = 0;
    CHECK(start(file) >= 0);
    wait_for(before + 5);
    stop();
    const rf_session_status now = status();
    CHECK(now.phase == RF_SESSION_STOPPED && now.ticks >= before + 5);
    CHECK(highest_begun == priorities[k].highest && now.priority == priorities[k].loop);
    const bool said_loop = strstr(now.not_allowed, "no real-time priority: ") != NULL;
    const bool said_watchdog = strstr(now.not_allowed, "no priority of the watchdog above") != NULL;
    CHECK(said_loop == (priorities[k].wanted > 0 && !priorities[k].loop));
    CHECK(said_watchdog == (priorities[k].loop && !priorities[k].watchdog));
  }
  session->set.priority = 0;
  // the watchdog halts a device that hangs, while others look on
  session->set.stall_s = 0.05;
  CHECK(start(file) >= 0);
  atomic_store(&hang, true);
  while (!atomic_load(&halted)) rf_session_nap(1e-3);
  atomic_store(&hang, false);
  stop();
  CHECK(status().phase == RF_SESSION_FAILED && opened == 0);
  check_records(file);
  atomic_store(&looked_enough, true);
  pthread_join(looking, NULL);
#if defined(__x86_64__) || defined(__aarch64__)
  CHECK(atomic_load(&with_denormals) == 0);
#endif
  CHECK(atomic_load(&with_denormals) + atomic_load(&without_denormals) == status().ticks);
  CHECK(has_denormals());
  CHECK(rf_session_free(session));
  CHECK(!atomic_load(&device.taken));
  close(file);
  return 0;
}
