#include <stdatomic.h>
#include <string.h>

#include "device/force_dimension.h"
#include "device/frame.h"

// Stores the library's error text for later.
static rf_status failed(rf_force_dimension *d, const char *text) {
  size_t k = 0;
  for (; text && text[k] && k + 1 < sizeof d->text; ++k) d->text[k] = text[k];
  d->text[k] = 0;
  return RF_ERR_DEVICE;
}

rf_status rf_force_dimension_read_rt(void *self, double time_s, rf_device_sample *out) {
  (void)time_s;
  rf_force_dimension *d = self;
  const rf_dhd *f = &d->dhd;
  double position[3], rotation[3][3], rows[9], *v = out->velocity_m_s, *w = out->turn_rad_s;
  const int got = f->pose(&position[0], &position[1], &position[2], rotation, d->id);
  if (got < 0 || f->velocity(&v[0], &v[1], &v[2], d->id) < 0) return failed(d, f->error_text());
  if (d->turns && f->turn(&w[0], &w[1], &w[2], d->id) < 0) return failed(d, f->error_text());
  if (!d->turns) memset(w, 0, sizeof out->turn_rad_s);
  memcpy(rows, rotation, sizeof rows);
  if (!rf_frame_pose(rows, position, &out->pose))
    return failed(d, "its pose is not a finite position and a rotation");
  out->buttons = f->buttons(d->id);
  // positive: the library did not read the device again so soon after the last read
  if (got == 0) ++d->count;
  out->count = d->count;
  return RF_OK;
}

rf_status rf_force_dimension_write_rt(void *self, double time_s, const rf_device_wrench *wrench) {
  (void)time_s;
  rf_force_dimension *d = self;
  rf_device_wrench out;
  memset(&out, 0, sizeof out);
  if (!atomic_load_explicit(&d->halted, memory_order_relaxed)) out = *wrench;
  const double *f = out.force_n, *t = out.torque_nm;
  if (d->dhd.wrench(f[0], f[1], f[2], t[0], t[1], t[2], 0.0, d->id) >= 0) return RF_OK;
  return failed(d, d->dhd.error_text());
}
