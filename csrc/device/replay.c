#include "device/replay.h"

#include <math.h>

#include "base/alloc.h"

static rf_status replay_open(void *self, rf_device_info *info, rf_error *err) {
  (void)err;
  ((rf_replay *)self)->count = 0;
  *info = (rf_device_info){.name = "replay",
                           .max_force_n = INFINITY,
                           .max_torque_nm = INFINITY,
                           .max_stiffness_n_per_m = INFINITY,
                           .sensed = 6};
  return RF_OK;
}

static void replay_close(void *self) { (void)self; }

static void replay_free(void *self) {
  rf_trajectory_free(((rf_replay *)self)->trajectory);
  rf_free(self);
}

static const rf_device_table table = {.open = replay_open,
                                      .close = replay_close,
                                      .release = replay_free,
                                      .read_rt = rf_replay_read_rt,
                                      .write_rt = rf_replay_write_rt};

rf_status rf_replay_create(rf_trajectory *trajectory, rf_device **out, rf_error *err) {
  rf_replay *self = NULL;
  rf_status st = RF_OK;
  RF_ALLOC(self, 1);
  self->trajectory = trajectory;
  trajectory = NULL;
  RF_TRY(rf_device_create(&table, self, out, err));
  self = NULL;
done:
  if (self) replay_free(self);
  rf_trajectory_free(trajectory);
  return st;
}
