#include "device/device.h"

#include "base/alloc.h"

rf_status rf_device_create(const rf_device_table *table, void *self, rf_device **out,
                           rf_error *err) {
  rf_device *device = NULL;
  rf_status st = RF_OK;
  RF_ALLOC(device, 1);
  device->table = table;
  device->self = self;
  *out = device;
done:
  return st;
}

rf_status rf_device_check_limits(double max_force_n, double max_torque_nm, rf_error *err) {
  if (!(max_force_n > 0.0))
    return rf_fail(err, RF_ERR_ARG, "max_force must be positive, got %g", max_force_n);
  if (!(max_torque_nm > 0.0))
    return rf_fail(err, RF_ERR_ARG, "max_torque must be positive, got %g", max_torque_nm);
  return RF_OK;
}

void rf_device_free(rf_device *device) {
  if (!device) return;
  if (device->table) device->table->release(device->self);
  rf_free(device);
}

rf_status rf_device_probe(rf_device *device, rf_device_info *info, rf_error *err) {
  const rf_device_table *table = device->table;
  if (atomic_exchange(&device->taken, true))
    return rf_fail(err, RF_ERR_ARG, "the device belongs to a session: close that first");
  const rf_status st =
      table->probe ? table->probe(device->self, info, err) : table->open(device->self, info, err);
  if (st >= 0 && !table->probe) table->close(device->self);
  atomic_store(&device->taken, false);
  return st;
}

void rf_device_leave(rf_device *device) {
  if (device->table->leave) device->table->leave(device->self);
}
