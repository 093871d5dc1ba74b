// Stands in for the library of Force Dimension: the tests set what it tells and see what it got.
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#define OUT __attribute__((visibility("default")))

OUT _Atomic int mock_devices = 1, mock_wrist = 1, mock_turns = 1, mock_guard, mock_hang, mock_slow;
OUT _Atomic int mock_mute, mock_stuck;  // it has no names and words; it does not close
OUT _Atomic unsigned int mock_buttons;
OUT double mock_position[3], mock_rotation[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, mock_velocity[6];
OUT _Atomic double mock_wrench[6], mock_max_force, mock_max_torque;
OUT _Atomic double mock_most;  // force along z since the tests set it to 0
OUT _Atomic int mock_enabled, mock_was_enabled, mock_opened, mock_closed, mock_id;
// the function that fails, by its place in the list of the tests; 0: none
OUT _Atomic int mock_failing;
enum { COUNT = 1, OPEN, MAX_FORCE, MAX_TORQUE, ENABLE, POSE, VELOCITY, TURN, WRENCH };

static int outcome(int function) { return mock_failing == function ? -1 : 0; }

OUT int dhdGetDeviceCount(void) { return outcome(COUNT) < 0 ? -1 : mock_devices; }
OUT int dhdOpen(void) {
  if (outcome(OPEN) < 0) return -1;
  ++mock_opened;
  return 3;
}
OUT int dhdClose(char id) {
  const struct timespec a_second = {1, 0}, millisecond = {0, 1000000};
  if (mock_slow) nanosleep(&a_second, NULL);
  while (mock_stuck) nanosleep(&millisecond, NULL);
  mock_id = id;
  ++mock_closed;
  return 0;
}
OUT const char *dhdGetSystemName(char id) { return id == 3 && !mock_mute ? "omega.7" : NULL; }
OUT bool dhdHasActiveWrist(char id) { return id == 3 && mock_wrist; }
OUT int dhdEnableForce(unsigned char on, char id) {
  if (on && outcome(ENABLE) < 0) return -1;
  mock_enabled = on && id == 3;
  if (on) mock_was_enabled = 1;
  return 0;
}
OUT int dhdSetMaxForce(double newtons, char id) {
  mock_max_force = id == 3 ? newtons : -1.0;
  return outcome(MAX_FORCE);
}
OUT int dhdSetMaxTorque(double newton_metres, char id) {
  mock_max_torque = id == 3 ? newton_metres : -1.0;
  return outcome(MAX_TORQUE);
}
OUT int dhdGetPositionAndOrientationFrame(double *x, double *y, double *z, double r[3][3],
                                          char id) {
  const struct timespec millisecond = {0, 1000000};
  while (mock_hang) nanosleep(&millisecond, NULL);
  if (id != 3) return -1;
  *x = mock_position[0], *y = mock_position[1], *z = mock_position[2];
  memcpy(r, mock_rotation, sizeof mock_rotation);
  return outcome(POSE) < 0 ? -1 : mock_guard;
}
OUT int dhdGetLinearVelocity(double *x, double *y, double *z, char id) {
  (void)id;
  *x = mock_velocity[0], *y = mock_velocity[1], *z = mock_velocity[2];
  return outcome(VELOCITY);
}
OUT int dhdGetAngularVelocityRad(double *x, double *y, double *z, char id) {
  (void)id;
  *x = mock_velocity[3], *y = mock_velocity[4], *z = mock_velocity[5];
  return mock_turns ? outcome(TURN) : -1;
}
OUT int dhdSetForceAndTorqueAndGripperForce(double fx, double fy, double fz, double tx, double ty,
                                            double tz, double gripper, char id) {
  const double all[6] = {fx, fy, fz, tx, ty, tz};
  if (gripper != 0.0 || id != 3) return -1;
  for (int i = 0; i < 6; ++i) mock_wrench[i] = all[i];
  if (fz > mock_most) mock_most = fz;
  // a wrench that cannot be sent, but for the last one
  return fx == 0.0 && fy == 0.0 && fz == 0.0 ? 0 : outcome(WRENCH);
}
OUT unsigned int dhdGetButtonMask(char id) { return id == 3 ? mock_buttons : 0; }
#ifndef WITHOUT_ERROR_TEXT
OUT const char *dhdErrorGetLastStr(void) { return mock_mute ? NULL : "the mock says no"; }
#endif
