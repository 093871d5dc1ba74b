#include "device/frame.h"
#include "device/openhaptics.h"

enum { MOST_ERRORS = 64 };  // largest number of errors read from the library
static const double M_PER_MM = 1e-3;

unsigned int rf_openhaptics_error_rt(const rf_hd *hd) {
  unsigned int first = 0;
  for (int k = 0; k < MOST_ERRORS; ++k) {
    const rf_hd_error e = hd->error();
    if (e.code == 0) break;
    if (first == 0) first = e.code;
  }
  return first;
}

static rf_status checked(rf_openhaptics *h) {
  const unsigned int code = rf_openhaptics_error_rt(&h->hd);
  if (code == 0) return RF_OK;
  atomic_store(&h->error, code);
  return RF_ERR_DEVICE;
}

static void begin(rf_openhaptics *h) {
  if (!h->framed) h->hd.begin_frame(h->device);
  h->framed = true;
}

rf_status rf_openhaptics_read_rt(void *self, double time_s, rf_device_sample *out) {
  (void)time_s;
  rf_openhaptics *h = self;
  // column-major: rotation, translation
  double m[16] = {0.0}, v[3] = {0.0}, w[3] = {0.0}, rotation[9], position[3];
  int buttons = 0;
  begin(h);
  h->hd.get_integers(RF_HD_BUTTONS, &buttons);
  h->hd.get_reals(RF_HD_TRANSFORM, m);
  h->hd.get_reals(RF_HD_VELOCITY, v);
  h->hd.get_reals(RF_HD_TURN, w);
  const rf_status st = checked(h);
  if (st < 0) return st;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) rotation[3 * i + j] = m[4 * j + i];
    position[i] = M_PER_MM * m[12 + i];
    out->velocity_m_s[i] = M_PER_MM * v[i];
    out->turn_rad_s[i] = w[i];
  }
  if (!rf_frame_pose(rotation, position, &out->pose)) {
    atomic_store(&h->misplaced, true);
    return RF_ERR_DEVICE;
  }
  out->buttons = (uint32_t)buttons;
  out->count = ++h->count;
  return RF_OK;
}

rf_status rf_openhaptics_write_rt(void *self, double time_s, const rf_device_wrench *wrench) {
  (void)time_s;
  rf_openhaptics *h = self;
  double force[3], torque[3];
  const bool halted = atomic_load_explicit(&h->halted, memory_order_relaxed) != 0;
  for (int i = 0; i < 3; ++i) {
    force[i] = halted ? 0.0 : wrench->force_n[i];
    torque[i] = halted ? 0.0 : wrench->torque_nm[i] / h->set.torque_unit_nm;
  }
  begin(h);
  h->hd.set_reals(RF_HD_FORCE, force);
  if (h->torques) h->hd.set_reals(RF_HD_TORQUE, torque);
  h->hd.end_frame(h->device);
  h->framed = false;
  return checked(h);
}
