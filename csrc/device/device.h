// Interface of haptic devices: a table of functions, as of a driver.
//
// Devices report the pose of their handle in a frame of their own, in SI units, and take forces
// and torques on the hand in the same frame.  A device is opened before the loop begins and closed
// after it has ended; in between only the loop calls it, `read` and `write` once a cycle each.
// These two are real-time code: they never wait.  Those of devices on the far side of a socket or
// of a library ask the system without waiting; tests/house/test_rt_symbols.py lists what by name.
//
// A device whose own scheduler owns the thread (OpenHaptics) has `run`: it calls the cycle from
// there until that returns a failure.
#ifndef RF_DEVICE_DEVICE_H
#define RF_DEVICE_DEVICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "linalg/pose.h"

typedef struct rf_device_info {
  char name[64];
  double max_force_n, max_torque_nm;  // that it can render; INFINITY: no limit, 0: renders none
  double max_stiffness_n_per_m;       // that it renders stably; INFINITY: not known
  int32_t sensed, actuated;           // degrees of freedom
  double rate_hz;                     // of its own updates, about; 0: it has none
} rf_device_info;

// Sample of the hand, in the frame of the device.
typedef struct rf_device_sample {
  rf_pose pose;
  double velocity_m_s[3], turn_rad_s[3];  // zero where the device does not tell
  uint32_t buttons;                       // a bit each
  uint64_t count;                         // of samples so far: as before, nothing new came
  bool other;                             // first sample of another hand than the last one
} rf_device_sample;

// On the hand, in the frame of the device.
typedef struct rf_device_wrench {
  double force_n[3], torque_nm[3];
} rf_device_wrench;

typedef rf_status (*rf_device_cycle_fn)(void *context);  // negative: stop

typedef struct rf_device_table {
  // fills info; may be called again after close.  RF_ERR_INTERRUPTED: a signal came while it
  // waited; nothing is open.
  rf_status (*open)(void *self, rf_device_info *info, rf_error *err);
  // forces go to zero first; fine on a device that is not open
  void (*close)(void *self);
  void (*release)(void *self);
  // time_s: of this cycle since the loop began, by its schedule.  A negative status: the device
  // has failed and is not asked again.
  rf_status (*read_rt)(void *self, double time_s, rf_device_sample *out);
  rf_status (*write_rt)(void *self, double time_s, const rf_device_wrench *wrench);
  // nullable; from another thread, while the loop is stuck in a cycle: no force from now on
  void (*halt)(void *self);
  // nullable; why read or write failed, in words; empty: not known
  const char *(*why)(void *self);
  // nullable; connects, fills info and lets go again, without any force; NULL: open and close do
  rf_status (*probe)(void *self, rf_device_info *info, rf_error *err);
  // nullable; in the child of a fork: lets go of what it shares with its parent, whose device stays
  // as it is
  void (*leave)(void *self);
  // nullable; returns when a cycle has returned a failure, or with one of its own.  The cycle of
  // an open device is called from nowhere else.
  rf_status (*run)(void *self, rf_device_cycle_fn cycle, void *context, rf_error *err);
} rf_device_table;

typedef struct rf_device {
  const rf_device_table *table;
  void *self;         // owned: let go by table->release
  atomic_bool taken;  // by a session
} rf_device;

// `self` is let go by table->release, once this has succeeded.
RF_MUST_CHECK rf_status rf_device_create(const rf_device_table *table, void *self, rf_device **out,
                                         rf_error *err);
// Checks limits of the force and torque that a device renders: positive; infinite for no limit.
RF_MUST_CHECK rf_status rf_device_check_limits(double max_force_n, double max_torque_nm,
                                               rf_error *err);
void rf_device_free(rf_device *device);  // NULL is fine; it must be closed

// Probes a device that is not in use; leaves it closed.
RF_MUST_CHECK rf_status rf_device_probe(rf_device *device, rf_device_info *info, rf_error *err);

// In the child of a fork, where the device is not used.
void rf_device_leave(rf_device *device);

#endif
