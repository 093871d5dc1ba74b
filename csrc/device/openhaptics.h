// Devices of 3D Systems (Touch, Phantom), by the library OpenHaptics HD, which must be installed.
//
// Written from the library's documentation, millimetres and newtons, and tested with a mock of the
// library only, not with a real device.  Axes: x to the right, y up, z towards the user.
//
// Torques are rendered on request, by devices with six actuated degrees of freedom.  HD accepts
// them in the axes of the device by a parameter that its header calls deprecated in favour of joint
// torques of the gimbal, whose axes are undocumented.  Sources disagree on the unit, N m or N mm,
// so it is a setting.
//
// The library's scheduler owns the thread, and `run` waits for it: each of its calls is a cycle.
// There is one scheduler per process, so only one of these devices can be open at a time.
#ifndef RF_DEVICE_OPENHAPTICS_H
#define RF_DEVICE_OPENHAPTICS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "device/device.h"
#include "device/library.h"

// Types of the library.
typedef unsigned int rf_hd_handle;  // HHD, HDenum, HDerror, HDCallbackCode
typedef struct rf_hd_error {
  unsigned int code;
  int internal;
  rf_hd_handle device;
} rf_hd_error;
typedef unsigned int (*rf_hd_callback)(void *context);

enum {
  RF_HD_BUTTONS = 0x2000,
  RF_HD_VELOCITY = 0x2051,   // mm/s
  RF_HD_TRANSFORM = 0x2052,  // 4 x 4, column-major, mm
  RF_HD_TURN = 0x2053,       // rad/s
  RF_HD_ACTUATED = 0x2554,   // degrees of freedom
  RF_HD_RATE = 0x2600,       // Hz, an average
  RF_HD_STIFFNESS = 0x2602,  // N/mm
  RF_HD_MAX_FORCE = 0x2603,
  RF_HD_FORCE = 0x2700,
  RF_HD_TORQUE = 0x2701,
  RF_HD_FORCE_OUTPUT = 0x4000
};

typedef struct rf_hd {
  rf_hd_handle (*init_device)(const char *name);
  void (*make_current)(rf_hd_handle device);
  void (*disable_device)(rf_hd_handle device);
  void (*enable)(unsigned int what);
  void (*disable)(unsigned int what);
  void (*begin_frame)(rf_hd_handle device);
  void (*end_frame)(rf_hd_handle device);
  void (*get_reals)(unsigned int what, double *values);
  void (*get_integers)(unsigned int what, int *values);
  void (*set_reals)(unsigned int what, const double *values);
  rf_hd_error (*error)(void);
  const char *(*error_text)(unsigned int code);
  void (*start)(void);
  void (*stop)(void);
  unsigned long (*schedule)(rf_hd_callback callback, void *context, unsigned short priority);
  void (*unschedule)(unsigned long handle);
} rf_hd;

typedef struct rf_openhaptics_settings {
  rf_library_names library;
  char name[128];         // as in the maker's program; empty: the default device
  double max_torque_nm;   // finite, >= 0; 0: forces only
  double torque_unit_nm;  // unit in which the library takes torques, finite, > 0
} rf_openhaptics_settings;

typedef struct rf_openhaptics {
  rf_openhaptics_settings set;
  rf_hd hd;
  rf_hd_handle device;
  bool loaded, has_device, scheduling, framed;
  bool torques;  // renders torques
  uint64_t count;
  _Atomic int halted;
  _Atomic unsigned int error;  // error code of the library
  atomic_bool misplaced;       // the library reported an invalid pose

  // valid during a run
  rf_device_cycle_fn cycle;
  void *context;
  _Atomic int status;
  atomic_bool inside, leaving, done;
  char text[256];
} rf_openhaptics;

RF_MUST_CHECK rf_status rf_openhaptics_create(const rf_openhaptics_settings *set, rf_device **out,
                                              rf_error *err);

rf_status rf_openhaptics_read_rt(void *self, double time_s, rf_device_sample *out);
rf_status rf_openhaptics_write_rt(void *self, double time_s, const rf_device_wrench *wrench);
// Returns the oldest error stored in the library and clears all others; 0: none.
unsigned int rf_openhaptics_error_rt(const rf_hd *hd);

#endif
