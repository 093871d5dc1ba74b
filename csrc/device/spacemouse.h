// A SpaceMouse, by the daemon of the Spacenav project; input only.
//
// The daemon is accessed directly through its local socket: a client sends an int32, 0x7faa5501,
// and receives packets of eight int32 in native byte order:
//   0  x y z rx ry rz period     motion: cap pushed and rotated, +-350 at its stops
//   1  button                    pressed
//   2  button                    released
//   3  operation ...             device list: 0 added, 1 removed
// Other packets are skipped, and so is the daemon's answer to the first number, also an int32,
// which older daemons do not send.
//
// The deflection of the cap is a velocity; the pose is its integral, in the axes of the daemon,
// from the identity at the creation of the device.
#ifndef RF_DEVICE_SPACEMOUSE_H
#define RF_DEVICE_SPACEMOUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "device/device.h"

enum { RF_SPACEMOUSE_PACKET = 32, RF_SPACEMOUSE_PATH = 108 };

typedef struct rf_spacemouse_settings {
  char path[RF_SPACEMOUSE_PATH];  // path of the socket
  double speed_m_s, turn_rad_s;   // velocity with the cap at its stops; negative: reversed
  double full;                    // value reported by the daemon at the stops, > 0
  double deadband;                // share of `full` that counts as zero, [0, 1)
} rf_spacemouse_settings;

typedef enum rf_spacemouse_loss {
  RF_SPACEMOUSE_THERE,
  RF_SPACEMOUSE_ENDED,      // the daemon has closed the connection
  RF_SPACEMOUSE_UNPLUGGED,  // the daemon has reported the removal of the device
  RF_SPACEMOUSE_BROKEN      // errno in `error`
} rf_spacemouse_loss;

typedef struct rf_spacemouse {
  rf_spacemouse_settings set;
  int socket;  // -1: not open
  uint8_t packet[RF_SPACEMOUSE_PACKET];
  int32_t have;  // bytes of the packet received so far
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
