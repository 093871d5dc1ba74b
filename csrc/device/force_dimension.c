#include "device/force_dimension.h"

#include <math.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

#define NEEDED(field, function) {function, offsetof(rf_dhd, field)}
static const rf_library_symbol symbols[] = {
    NEEDED(device_count, "dhdGetDeviceCount"),
    NEEDED(open, "dhdOpen"),
    NEEDED(close, "dhdClose"),
    NEEDED(system_name, "dhdGetSystemName"),
    NEEDED(has_active_wrist, "dhdHasActiveWrist"),
    NEEDED(enable_force, "dhdEnableForce"),
    NEEDED(set_max_force, "dhdSetMaxForce"),
    NEEDED(set_max_torque, "dhdSetMaxTorque"),
    NEEDED(pose, "dhdGetPositionAndOrientationFrame"),
    NEEDED(velocity, "dhdGetLinearVelocity"),
    NEEDED(turn, "dhdGetAngularVelocityRad"),
    NEEDED(wrench, "dhdSetForceAndTorqueAndGripperForce"),
    NEEDED(buttons, "dhdGetButtonMask"),
    NEEDED(error_text, "dhdErrorGetLastStr"),
};

// Bitmap of open devices by id.
static _Atomic uint64_t in_use;

static uint64_t bit_of(int id) { return id >= 0 && id < 64 ? UINT64_C(1) << id : 0; }

static rf_status load(rf_force_dimension *d, rf_error *err) {
  if (d->loaded) return RF_OK;
  const rf_status st =
      rf_library_load(&d->set.library, "Force Dimension (DHD)",
                      (int32_t)(sizeof symbols / sizeof *symbols), symbols, &d->dhd, err);
  d->loaded = st >= 0;
  return st;
}

static const char *said(const rf_force_dimension *d) {
  const char *text = d->dhd.error_text();
  return text ? text : "no error";
}

static void dhd_close(void *self) {
  rf_force_dimension *d = self;
  if (!d->is_open) return;
  d->is_open = false;
  (void)d->dhd.wrench(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, d->id);
  (void)d->dhd.enable_force(0, d->id);
  (void)d->dhd.close(d->id);
  atomic_fetch_and(&in_use, ~bit_of(d->id));
}

static rf_status dhd_connect(void *self, rf_device_info *info, rf_error *err) {
  rf_force_dimension *d = self;
  const rf_status st = load(d, err);
  if (st < 0) return st;
  const int n = d->dhd.device_count();
  if (n < 0) return rf_fail(err, RF_ERR_DEVICE, "DHD cannot look for devices: %.300s", said(d));
  if (n == 0)
    return rf_fail(err, RF_ERR_DEVICE,
                   "DHD finds no device of Force Dimension: is one plugged in and switched on, and "
                   "may this user open it?");
  const int id = d->dhd.open();
  if (id < 0) return rf_fail(err, RF_ERR_DEVICE, "DHD cannot open the device: %.300s", said(d));
  // not closed here: closing would close it for its present user
  if (atomic_fetch_or(&in_use, bit_of(id)) & bit_of(id))
    return rf_fail(err, RF_ERR_DEVICE,
                   "DHD offers the device %d, which another session of this process uses: close "
                   "that one first",
                   id);
  d->id = (char)id;
  d->is_open = true;
  d->wrist = d->dhd.has_active_wrist(d->id);
  double w[3];
  d->turns = d->dhd.turn(&w[0], &w[1], &w[2], d->id) >= 0;
  const char *name = d->dhd.system_name(d->id);
  *info = (rf_device_info){.max_force_n = d->set.max_force_n,
                           .max_torque_nm = d->wrist ? d->set.max_torque_nm : 0.0,
                           .max_stiffness_n_per_m = INFINITY,
                           .sensed = 6,
                           .actuated = d->wrist ? 6 : 3};
  (void)snprintf(info->name, sizeof info->name, "Force Dimension %.40s", name ? name : "device");
  return RF_OK;
}

static rf_status dhd_open(void *self, rf_device_info *info, rf_error *err) {
  rf_force_dimension *d = self;
  d->count = 0;
  d->text[0] = 0;
  atomic_store(&d->halted, 0);
  const rf_status st = dhd_connect(d, info, err);
  if (st < 0) return st;
  const char *what = NULL;
  if (d->dhd.set_max_force(d->set.max_force_n, d->id) < 0)
    what = "limit its force";
  else if (d->wrist && d->dhd.set_max_torque(d->set.max_torque_nm, d->id) < 0)
    what = "limit its torque";
  else if (d->dhd.enable_force(1, d->id) < 0)
    what = "switch its forces on";
  if (!what) return RF_OK;
  const rf_status failure =
      rf_fail(err, RF_ERR_DEVICE, "DHD has opened the device %s, but cannot %s: %.300s", info->name,
              what, said(d));
  dhd_close(d);
  return failure;
}

static rf_status dhd_probe(void *self, rf_device_info *info, rf_error *err) {
  const rf_status st = dhd_connect(self, info, err);
  dhd_close(self);
  return st;
}

static void dhd_halt(void *self) {
  rf_force_dimension *d = self;
  atomic_store(&d->halted, 1);
  (void)d->dhd.enable_force(0, d->id);
}

static const char *dhd_why(void *self) { return ((rf_force_dimension *)self)->text; }

static void dhd_release(void *self) { rf_free(self); }

static const rf_device_table table = {.open = dhd_open,
                                      .close = dhd_close,
                                      .release = dhd_release,
                                      .read_rt = rf_force_dimension_read_rt,
                                      .write_rt = rf_force_dimension_write_rt,
                                      .halt = dhd_halt,
                                      .why = dhd_why,
                                      .probe = dhd_probe};

rf_status rf_force_dimension_create(const rf_force_dimension_settings *set, rf_device **out,
                                    rf_error *err) {
  rf_force_dimension *d = NULL;
  rf_status st = RF_OK;
  if (!(isfinite(set->max_force_n) && set->max_force_n > 0.0))
    return rf_fail(err, RF_ERR_ARG, "max_force must be finite and positive, got %g",
                   set->max_force_n);
  if (!(isfinite(set->max_torque_nm) && set->max_torque_nm > 0.0))
    return rf_fail(err, RF_ERR_ARG, "max_torque must be finite and positive, got %g",
                   set->max_torque_nm);
  RF_ALLOC(d, 1);
  d->set = *set;
  RF_TRY(rf_device_create(&table, d, out, err));
  d = NULL;
done:
  if (d) dhd_release(d);
  return st;
}
