// Interface of haptic devices: a table of functions, like that of a driver.
//
// Devices report the pose of their handle in their own frame, in SI units, and apply forces and
// torques to the hand in the same frame.  A device is opened before the loop begins and closed
// after it has ended; in between only the loop calls it, `read` and `write` once per cycle each.
// These two are real-time code and never wait.  Devices behind a socket or a library make
// non-blocking system calls there; tests/house/test_rt_symbols.py lists them by name.
//
// A device whose own scheduler owns the thread (OpenHaptics) has `run`: it calls the cycle from
// there until a cycle returns a failure.
#ifndef RF_DEVICE_DEVICE_H
#define RF_DEVICE_DEVICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "linalg/pose.h"

typedef struct rf_device_info {
  char name[64];
  double max_force_n, max_torque_nm;  // limits; INFINITY: no limit, 0: renders none
  double max_stiffness_n_per_m;       // largest stiffness rendered stably; INFINITY: not known
  int32_t sensed, actuated;           // sensed and actuated degrees of freedom
  double rate_hz;                     // approximate rate of its own updates; 0: it has none
} rf_device_info;

// Sample of the hand, in the frame of the device.
typedef struct rf_device_sample {
  rf_pose pose;
  double velocity_m_s[3], turn_rad_s[3];  // zero if the device does not report them
  uint32_t buttons;                       // one bit each
  uint64_t count;                         // number of samples so far; unchanged: nothing new
  bool other;                             // first sample of another hand than the last sample's
} rf_device_sample;

// Wrench on the hand, in the frame of the device.
typedef struct rf_device_wrench {
  double force_n[3], torque_nm[3];
} rf_device_wrench;

typedef rf_status (*rf_device_cycle_fn)(void *context);  // negative return: stop

typedef struct rf_device_table {
  // Opens the device and fills info; may be called again after close.  RF_ERR_INTERRUPTED:
  // interrupted by a signal while waiting; the device is not open then.
  rf_status (*open)(void *self, rf_device_info *info, rf_error *err);
  // Sets forces to zero and closes the device; allowed if it is not open.
  void (*close)(void *self);
  void (*release)(void *self);
  // time_s: scheduled time of this cycle since the loop began.  A negative status: the device has
  // failed and is not called again.
  rf_status (*read_rt)(void *self, double time_s, rf_device_sample *out);
  rf_status (*write_rt)(void *self, double time_s, const rf_device_wrench *wrench);
  // Nullable.  Disables forces from another thread, while the loop is stuck in a cycle.
  void (*halt)(void *self);
  // Nullable.  Returns the reason for a failed read or write; empty: not known.
  const char *(*why)(void *self);
  // Nullable.  Connects, fills info and disconnects, without any force; NULL: open and close are
  // used.
  rf_status (*probe)(void *self, rf_device_info *info, rf_error *err);
  // Nullable.  In the child of a fork: releases resources shared with the parent, whose device is
  // unaffected.
  void (*leave)(void *self);
  // Nullable.  Runs the cycle of an open device, which nothing else calls, and returns when a cycle
  // returns a failure, or with a failure of its own.
  rf_status (*run)(void *self, rf_device_cycle_fn cycle, void *context, rf_error *err);
} rf_device_table;

typedef struct rf_device {
  const rf_device_table *table;
  void *self;         // owned, freed by table->release
  atomic_bool taken;  // in use by a session
} rf_device;

// Creates a device; on success `self` is owned by it and freed by table->release.
RF_MUST_CHECK rf_status rf_device_create(const rf_device_table *table, void *self, rf_device **out,
                                         rf_error *err);
// Requires positive limits of the force and torque that a device renders; infinite: no limit.
RF_MUST_CHECK rf_status rf_device_check_limits(double max_force_n, double max_torque_nm,
                                               rf_error *err);
void rf_device_free(rf_device *device);  // NULL is allowed; the device must be closed

// Probes a device that is not in use; leaves it closed.
RF_MUST_CHECK rf_status rf_device_probe(rf_device *device, rf_device_info *info, rf_error *err);

// For the child of a fork, in which the device is not used: releases its share.
void rf_device_leave(rf_device *device);

#endif
