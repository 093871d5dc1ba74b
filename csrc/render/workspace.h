// Maps the device's frame to the world and back: scale, alignment, clutch (B07 4.5).
//
// A device position x is at  o + W (x - c) / scale  in the world, scale in metres of the device per
// metre of the world (4.27); a rotation Q of the handle is W Q W^-1 B.  While the clutch button is
// pressed, the pose in the world is fixed and the device moves freely; on release o, c and B are
// such that motion continues from that pose.  Forces and torques are turned by W^-1 and multiplied
// by force_scale.
#ifndef RF_RENDER_WORKSPACE_H
#define RF_RENDER_WORKSPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "linalg/pose.h"

typedef struct rf_workspace_settings {
  double scale;             // device metres per world metre, > 0
  double force_scale;       // device newtons per world newton, > 0
  double alignment[4];      // W: device axes in the world, a unit quaternion
  bool absolute;            // begin with o = c = 0, B = 1: device and world share an origin
  rf_pose start;            // otherwise: manipulandum of the first device sample
  uint32_t clutch_buttons;  // any of these bits is the clutch; 0: no clutch
} rf_workspace_settings;

typedef struct rf_workspace_state {
  bool begun, held;      // a sample was mapped; the clutch was pressed in it
  rf_pose manipulandum;  // pose in the world of the last sample
  double origin_m[3];    // o
  double centre_m[3];    // c
  double turn[4];        // B
} rf_workspace_state;

RF_MUST_CHECK rf_status rf_workspace_check(const rf_workspace_settings *set, rf_error *err);

// Maps a device pose to state->manipulandum.
void rf_workspace_map_rt(const rf_workspace_settings *set, const rf_pose *device, uint32_t buttons,
                         rf_workspace_state *state);
// Restarts the mapping: the next sample is the first one, with the manipulandum at `at`.
void rf_workspace_recentre_rt(const rf_pose *at, rf_workspace_state *state);
// Converts forces and torques of the world to the frame of the device.
void rf_workspace_render_rt(const rf_workspace_settings *set, const double force_n[3],
                            const double torque_nm[3], double device_force_n[3],
                            double device_torque_nm[3]);

#endif
