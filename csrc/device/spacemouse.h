// A SpaceMouse, by the daemon of the Spacenav project: it is an input only.
//
// The daemon is asked directly, through its socket of the local kind: a client sends an int32,
// 0x7faa5501, and gets packets of eight int32 in the byte order of the machine:
//   0  x y z rx ry rz period     the cap is pushed and turned, +-350 at its stops
//   1  button                    pressed
//   2  button                    released
//   3  operation ...             of devices: 0 added, 1 removed
// others are passed over, and so is the daemon's answer to that first number, an int32 as well,
// which older ones do not give.
//
// A cap that is held still tells a speed; the pose is the integral of it, in the axes of the
// daemon, from the identity when the device is made.
#ifndef RF_DEVICE_SPACEMOUSE_H
#define RF_DEVICE_SPACEMOUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "device/device.h"

enum { RF_SPACEMOUSE_PACKET = 32, RF_SPACEMOUSE_PATH = 108 };

typedef struct rf_spacemouse_settings {
  char path[RF_SPACEMOUSE_PATH];  // of the socket
  double speed_m_s, turn_rad_s;   // when the cap is at its stops; negative: the other way
  double full;                    // what the daemon tells then, > 0
  double deadband;                // share of that which counts as zero, [0, 1)
} rf_spacemouse_settings;

typedef enum rf_spacemouse_loss {
  RF_SPACEMOUSE_THERE,
  RF_SPACEMOUSE_ENDED,      // the daemon has closed the connection
  RF_SPACEMOUSE_UNPLUGGED,  // the daemon says so
  RF_SPACEMOUSE_BROKEN      // errno in `error`
} rf_spacemouse_loss;

typedef struct rf_spacemouse {
  rf_spacemouse_settings set;
  int socket;  // -1: not open
  uint8_t packet[RF_SPACEMOUSE_PACKET];
  int32_t have;  // bytes of it
  bool begun;
  double last_s;
  rf_pose pose;
  double rate[6];  // m/s, rad/s
  uint32_t buttons;
  uint64_t count;
  rf_spacemouse_loss loss;
  int error;
  char text[160];
} rf_spacemouse;

RF_MUST_CHECK rf_status rf_spacemouse_create(const rf_spacemouse_settings *set, rf_device **out,
                                             rf_error *err);

rf_status rf_spacemouse_read_rt(void *self, double time_s, rf_device_sample *out);
rf_status rf_spacemouse_write_rt(void *self, double time_s, const rf_device_wrench *wrench);

#endif
