// A hand whose intended pose is that of a pointer, which another thread sends (device/hand.h).
//
// The pointer's thread sends targets, some 60 a second and irregularly: displacement and turn since
// it took hold of the handle.  A cycle reads the newest target, without waiting
// (base/broadcast_rt.h). The intended pose follows the target as a critically damped oscillator
// does,
//     x'' + 2 w x' + w^2 (x - target) = 0,
// advanced exactly, at bounded speed; so it is smooth at the rate of cycles, and a target that
// jumps moves nothing at once.  The handle hangs on the intended pose by a critically damped
// spring.
//
// While no target comes, the device has no new sample.  After RF_MOUSE_SILENT_S, and when the
// pointer releases the handle, the handle rests where it is.  A hold begins at the pose of the
// handle, so that neither a new hold nor one that continues makes it jump.
#ifndef RF_DEVICE_MOUSE_H
#define RF_DEVICE_MOUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/broadcast_rt.h"
#include "device/hand.h"

#define RF_MOUSE_SILENT_S 0.3       // time without a target after which the handle rests
#define RF_MOUSE_FOLLOW_PER_S 80.0  // w

typedef struct rf_mouse_settings {
  double mass_kg, stiffness_n_per_m;   // of the hand, > 0
  double inertia_kg_m2, stiffness_nm;  // likewise in rotation, N m/rad
  double speed_m_s, turn_rad_s;        // largest speeds of the intended pose, > 0
  double max_force_n, max_torque_nm;   // largest that the device renders, > 0; INFINITY: no limit
} rf_mouse_settings;

typedef struct rf_mouse_target {
  uint64_t hold;             // number of the hold, from 1 on; 0: the handle was released
  double displacement_m[3];  // since the beginning of the hold, in the frame of the device
  double turn[4];            // likewise, a unit quaternion
  uint64_t buttons;          // one bit each
} rf_mouse_target;

typedef struct rf_mouse_state {
  uint64_t held;                    // 1: targets are heard
  double target_m[3], handle_m[3];  // positions at the beginning of the cycle
} rf_mouse_state;

typedef struct rf_mouse {
  double speed_m_s, turn_rad_s;
  rf_broadcast sent, shown;  // targets to the cycle, states from it
  uint64_t *memory[2];       // of these
  bool begun;
  double last_s, quiet_s;  // time of the last cycle; time since the last target
  uint64_t number;         // of the last target
  rf_mouse_target newest;
  uint64_t hold;       // hold whose beginning is known
  rf_pose base;        // pose of the handle at its beginning
  rf_pose follow;      // intended pose
  double velocity[6];  // its velocity, m/s, rad/s
} rf_mouse;

RF_MUST_CHECK rf_status rf_mouse_create(const rf_mouse_settings *set, rf_device **out,
                                        rf_error *err);
// Sends a target; one thread at a time.  RF_ERR_ARG: the device is no mouse, or the target is not
// finite or has a turn whose norm is not 1.
RF_MUST_CHECK rf_status rf_mouse_send(const rf_device *device, const rf_mouse_target *target,
                                      rf_error *err);
// Copies the newest state, from any thread; false: the device is no mouse, or has made no cycle.
bool rf_mouse_read_state(const rf_device *device, rf_mouse_state *out);

void rf_mouse_intended_rt(void *self, double time_s, const rf_pose *handle, rf_intended *out);

#endif
