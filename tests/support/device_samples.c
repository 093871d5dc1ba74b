// A sample of a device, as the haptic loop reads it: with velocities, which records do not keep.
#include "base/alloc.h"
#include "device/force_dimension.h"
#include "device/openhaptics.h"
#include "device/udp.h"

#include <math.h>
#include <string.h>

static rf_status sample(rf_device *device, rf_device_sample *out, rf_error *err) {
  rf_device_info info;
  const rf_device_wrench zero = {.force_n = {0.0}};
  rf_status st = device->table->open(device->self, &info, err);
  if (st >= 0) st = device->table->read_rt(device->self, 0.0, out);
  if (st >= 0) st = device->table->write_rt(device->self, 0.0, &zero);
  device->table->close(device->self);
  rf_device_free(device);
  return st;
}

rf_status sample_of_udp(uint16_t port, rf_device_sample *out, rf_error *err) {
  const rf_udp_settings set = {.here = {0x7f000001, port},
                               .wait_s = 120.0,
                               .max_force_n = INFINITY,
                               .max_torque_nm = INFINITY};
  rf_device *device = NULL;
  const rf_status st = rf_udp_create(&set, &device, err);
  return st < 0 ? st : sample(device, out, err);
}

rf_status sample_of_dhd(const char *library, rf_device_sample *out, rf_error *err) {
  rf_force_dimension_settings set = {.library = {.n = 1}, .max_force_n = 1.0, .max_torque_nm = 1.0};
  rf_device *device = NULL;
  strncpy(set.library.name[0], library, RF_LIBRARY_NAME - 1);
  const rf_status st = rf_force_dimension_create(&set, &device, err);
  return st < 0 ? st : sample(device, out, err);
}

rf_status sample_of_hd(const char *library, rf_device_sample *out, rf_error *err) {
  rf_openhaptics_settings set = {.library = {.n = 1}, .torque_unit_nm = 1.0};
  rf_device *device = NULL;
  strncpy(set.library.name[0], library, RF_LIBRARY_NAME - 1);
  const rf_status st = rf_openhaptics_create(&set, &device, err);
  return st < 0 ? st : sample(device, out, err);
}
