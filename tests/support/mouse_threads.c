// A thread sends targets to a mouse, whose cycles run in another one; a third reads its states.
// Prints what went wrong, or nothing.
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "device/mouse.h"

enum { CYCLES = 40000 };

static rf_device *device;
static atomic_bool over;

// Components of a target are equal, so that a torn one shows.
static void *point(void *unused) {
  rf_error err = {0};
  for (int k = 0; !atomic_load(&over); ++k) {
    const double x = 1e-3 * (k % 50);
    const rf_mouse_target to = {
        .hold = 1, .displacement_m = {x, x, x}, .turn = {1.0}, .buttons = (uint64_t)(k % 50)};
    if (rf_mouse_send(device, &to, &err) < 0) return "a target was refused";
  }
  return unused;
}

static void *watch(void *unused) {
  rf_mouse_state s;
  while (!atomic_load(&over)) {
    if (!rf_mouse_read_state(device, &s)) continue;
    for (int i = 1; i < 3; ++i)
      if (s.target_m[i] != s.target_m[0] || s.handle_m[i] != s.handle_m[0]) return "a torn state";
  }
  return unused;
}

static const char *cycles(void) {
  rf_device_sample sample, last = {.count = 0};
  for (int k = 0; k < CYCLES; ++k) {
    if (device->table->read_rt(device->self, 1e-3 * k, &sample) < 0) return "a cycle failed";
    if (sample.count < last.count) return "an older sample after a newer one";
    for (int i = 0; i < 3; ++i) {
      if (sample.pose.position_m[i] != sample.pose.position_m[0]) return "a torn target";
      // the largest speed, and some overshoot of the handle
      if (fabs(sample.pose.position_m[i] - last.pose.position_m[i]) > 2e-3) return "a jump";
    }
    last = sample;
  }
  return NULL;
}

int main(void) {
  const rf_mouse_settings set = {0.1, 300.0, 1e-4, 0.3, 1.0, 6.0, INFINITY, INFINITY};
  rf_device_info info;
  rf_error err = {0};
  pthread_t threads[2];
  void *said[2];
  if (rf_mouse_create(&set, &device, &err) < 0 ||
      device->table->open(device->self, &info, &err) < 0 ||
      pthread_create(&threads[0], NULL, point, NULL) ||
      pthread_create(&threads[1], NULL, watch, NULL))
    return 1;
  const char *wrong = cycles();
  atomic_store(&over, true);
  for (int k = 0; k < 2; ++k) {
    if (pthread_join(threads[k], &said[k])) return 1;
    if (!wrong) wrong = said[k];
  }
  if (wrong) puts(wrong);
  device->table->close(device->self);
  rf_device_free(device);
  return wrong != NULL;
}
