// Stands in for OpenHaptics HD, with a scheduler thread of its own: the tests set what it tells and
// see what it got.
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#define OUT __attribute__((visibility("default")))

typedef struct {
  unsigned int code;
  int internal;
  unsigned int device;
} error_info;
typedef unsigned int (*callback)(void *);

enum { DEVICE = 7, INVALID = 0xFFFFFFFF };

// errors that the next call of a kind leaves behind
OUT _Atomic unsigned int mock_init_error, mock_info_error, mock_start_error, mock_schedule_error;
OUT _Atomic unsigned int mock_read_error, mock_write_error;
OUT _Atomic int mock_rate = 1000, mock_deaf, mock_hang, mock_actuated = 3;
OUT _Atomic int mock_buttons, mock_mute, mock_invalid;  // no words; no device and no error
OUT double mock_max_force = 3.3, mock_stiffness = 0.5;
OUT double mock_transform[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
OUT double mock_velocity[6];
OUT char mock_name[64];
OUT _Atomic double mock_torque[3];
OUT _Atomic double mock_force[3], mock_most;  // the most along z since the tests set it to 0
OUT _Atomic int mock_enabled, mock_was_enabled, mock_running, mock_initialised, mock_disabled;
OUT _Atomic int mock_scheduled, mock_unscheduled;
OUT _Atomic int mock_sleep_ms = 1;          // between calls
OUT _Atomic int mock_frames, mock_misused;  // open frames; calls that the library would refuse

static _Atomic unsigned int left_behind;
static callback _Atomic scheduled;
static void *_Atomic context;
static pthread_t thread, none;
static _Atomic unsigned int current;

static void leave(_Atomic unsigned int *error) {
  if (*error) left_behind = *error;
}

static void *serve(void *unused) {
  const struct timespec period = {0, 1000000L * mock_sleep_ms};
  while (mock_running) {
    nanosleep(&period, NULL);
    const callback now = scheduled;
    if (now && !mock_deaf && now(context) == 0) scheduled = NULL;
  }
  return unused;
}

OUT unsigned int hdInitDevice(const char *name) {
  strncpy(mock_name, name ? name : "(default)", sizeof mock_name - 1);
  leave(&mock_init_error);
  if (mock_init_error || mock_invalid) return INVALID;
  ++mock_initialised;
  return DEVICE;
}
OUT void hdMakeCurrentDevice(unsigned int device) { current = device; }
OUT void hdDisableDevice(unsigned int device) {
  if (device != DEVICE || mock_running) ++mock_misused;
  ++mock_disabled;
}
OUT void hdEnable(unsigned int what) {
  if (what != 0x4000 || current != DEVICE) ++mock_misused;
  mock_enabled = mock_was_enabled = 1;
}
#ifndef WITHOUT_DISABLE
OUT void hdDisable(unsigned int what) {
  if (what != 0x4000) ++mock_misused;
  mock_enabled = 0;
}
#endif
OUT void hdBeginFrame(unsigned int device) {
  const struct timespec millisecond = {0, 1000000};
  if (device != DEVICE || mock_frames != 0 || !pthread_equal(pthread_self(), thread))
    ++mock_misused;
  ++mock_frames;
  while (mock_hang) nanosleep(&millisecond, NULL);
}
OUT void hdEndFrame(unsigned int device) {
  if (device != DEVICE || mock_frames != 1) ++mock_misused;
  --mock_frames;
  leave(&mock_write_error);
}
OUT void hdGetDoublev(unsigned int what, double *values) {
  switch (what) {
    case 0x2051: memcpy(values, mock_velocity, 3 * sizeof *values); break;
    case 0x2052:
      memcpy(values, mock_transform, sizeof mock_transform);
      leave(&mock_read_error);
      break;
    case 0x2053: memcpy(values, mock_velocity + 3, 3 * sizeof *values); break;
    case 0x2602: *values = mock_stiffness; break;
    case 0x2603:
      *values = mock_max_force;
      leave(&mock_info_error);
      break;
    default: ++mock_misused;
  }
}
OUT void hdGetIntegerv(unsigned int what, int *values) {
  if (what == 0x2000)
    *values = mock_buttons;
  else if (what == 0x2600)
    *values = mock_rate;
  else if (what == 0x2554)
    *values = mock_actuated;
  else
    ++mock_misused;
}
OUT void hdSetDoublev(unsigned int what, const double *values) {
  if (mock_frames != 1) ++mock_misused;
  if (what == 0x2701 && mock_actuated == 6) {
    for (int i = 0; i < 3; ++i) mock_torque[i] = values[i];
    return;
  }
  if (what != 0x2700) ++mock_misused;
  for (int i = 0; i < 3; ++i) mock_force[i] = values[i];
  if (values[2] > mock_most) mock_most = values[2];
}
OUT error_info hdGetError(void) {
  const error_info found = {atomic_exchange(&left_behind, 0), -5, DEVICE};
  return found;
}
OUT const char *hdGetErrorString(unsigned int code) {
  if (mock_mute) return NULL;
  return code == 0x0302 ? "Device fault: the cable" : "another error";
}
OUT void hdStartScheduler(void) {
  leave(&mock_start_error);
  if (mock_start_error) return;
  mock_running = 1;
  pthread_create(&thread, NULL, serve, NULL);
}
OUT void hdStopScheduler(void) {
  if (!mock_running) return;
  mock_running = 0;
  pthread_join(thread, NULL);
  thread = none;
}
OUT unsigned long hdScheduleAsynchronous(callback function, void *of, unsigned short priority) {
  leave(&mock_schedule_error);
  if (priority != 32767) ++mock_misused;
  if (mock_schedule_error) return 0;
  context = of;
  scheduled = function;
  ++mock_scheduled;
  return 42;
}
OUT void hdUnschedule(unsigned long handle) {
  if (handle != 42) ++mock_misused;
  ++mock_unscheduled;
  scheduled = NULL;
}
