// Devices of Force Dimension (omega, sigma, delta), by the maker's library DHD, which must be
// installed.
//
// Written from the library's documentation, SI units, and tested with a mock of the library only,
// not with a real device.  Devices must first be calibrated with the maker's programs.  Axes: x
// towards the user, y to the right, z up.
#ifndef RF_DEVICE_FORCE_DIMENSION_H
#define RF_DEVICE_FORCE_DIMENSION_H

#include <stdbool.h>
#include <stdint.h>

#include "device/device.h"
#include "device/library.h"

// Functions of the library; 0 and above is success, id -1 the default device.
typedef struct rf_dhd {
  int (*device_count)(void);
  int (*open)(void);
  int (*close)(char id);
  const char *(*system_name)(char id);
  bool (*has_active_wrist)(char id);
  int (*enable_force)(unsigned char on, char id);
  int (*set_max_force)(double newtons, char id);
  int (*set_max_torque)(double newton_metres, char id);
  int (*pose)(double *x, double *y, double *z, double rotation[3][3], char id);
  int (*velocity)(double *x, double *y, double *z, char id);
  int (*turn)(double *x, double *y, double *z, char id);
  int (*wrench)(double fx, double fy, double fz, double tx, double ty, double tz, double gripper,
                char id);
  unsigned int (*buttons)(char id);
  const char *(*error_text)(void);
} rf_dhd;

typedef struct rf_force_dimension_settings {
  rf_library_names library;
  double max_force_n, max_torque_nm;  // also set in the library; finite, > 0
} rf_force_dimension_settings;

typedef struct rf_force_dimension {
  rf_force_dimension_settings set;
  rf_dhd dhd;
  bool loaded, is_open;
  bool wrist, turns;  // renders torques; reports angular velocities
  char id;
  _Atomic int halted;
  uint64_t count;
  char text[256];  // error text of the library
} rf_force_dimension;

RF_MUST_CHECK rf_status rf_force_dimension_create(const rf_force_dimension_settings *set,
                                                  rf_device **out, rf_error *err);

rf_status rf_force_dimension_read_rt(void *self, double time_s, rf_device_sample *out);
rf_status rf_force_dimension_write_rt(void *self, double time_s, const rf_device_wrench *wrench);

#endif
