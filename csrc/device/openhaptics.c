#define _POSIX_C_SOURCE 200809L

#include "device/openhaptics.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock_rt.h"

enum { INVALID = 0xFFFFFFFFu, CALLBACK_DONE = 0, CALLBACK_CONTINUE = 1, PRIORITY = 32767 };
// Time without cycles after which a halted device is abandoned.
static const double PATIENCE_US = 1e5;

// The library has one scheduler per process.
static atomic_bool in_use;

#define NEEDED(field, function) {function, offsetof(rf_hd, field)}
static const rf_library_symbol symbols[] = {
    NEEDED(init_device, "hdInitDevice"),
    NEEDED(make_current, "hdMakeCurrentDevice"),
    NEEDED(disable_device, "hdDisableDevice"),
    NEEDED(enable, "hdEnable"),
    NEEDED(disable, "hdDisable"),
    NEEDED(begin_frame, "hdBeginFrame"),
    NEEDED(end_frame, "hdEndFrame"),
    NEEDED(get_reals, "hdGetDoublev"),
    NEEDED(get_integers, "hdGetIntegerv"),
    NEEDED(set_reals, "hdSetDoublev"),
    NEEDED(error, "hdGetError"),
    NEEDED(error_text, "hdGetErrorString"),
    NEEDED(start, "hdStartScheduler"),
    NEEDED(stop, "hdStopScheduler"),
    NEEDED(schedule, "hdScheduleAsynchronous"),
    NEEDED(unschedule, "hdUnschedule"),
};

static rf_status load(rf_openhaptics *h, rf_error *err) {
  if (h->loaded) return RF_OK;
  const rf_status st =
      rf_library_load(&h->set.library, "OpenHaptics (HD)",
                      (int32_t)(sizeof symbols / sizeof *symbols), symbols, &h->hd, err);
  h->loaded = st >= 0;
  return st;
}

static rf_status refuse(const rf_openhaptics *h, const char *what, unsigned int code,
                        rf_error *err) {
  const char *text = code ? h->hd.error_text(code) : NULL;
  return rf_fail(err, RF_ERR_DEVICE, "OpenHaptics cannot %s: %.300s (error 0x%04x)", what,
                 text ? text : "it gives no reason", code);
}

static void hd_close(void *self) {
  rf_openhaptics *h = self;
  if (!h->has_device) return;
  h->has_device = false;
  // the library continues to render the last force: disable it first
  h->hd.disable(RF_HD_FORCE_OUTPUT);
  if (h->framed) h->hd.end_frame(h->device);
  h->framed = false;
  if (h->scheduling) h->hd.stop();
  h->scheduling = false;
  h->hd.disable_device(h->device);
  (void)rf_openhaptics_error_rt(&h->hd);
  atomic_store(&in_use, false);
}

static rf_status hd_connect(rf_openhaptics *h, rf_device_info *info, rf_error *err) {
  const rf_status st = load(h, err);
  if (st < 0) return st;
  if (atomic_exchange(&in_use, true))
    return rf_fail(err, RF_ERR_DEVICE,
                   "another OpenHaptics device of this process is open, and OpenHaptics has one "
                   "scheduler for all: close that device first");
  (void)rf_openhaptics_error_rt(&h->hd);
  h->device = h->hd.init_device(h->set.name[0] ? h->set.name : NULL);
  unsigned int code = rf_openhaptics_error_rt(&h->hd);
  if (code || h->device == INVALID) {
    atomic_store(&in_use, false);
    return refuse(h, "open the device", code, err);
  }
  h->has_device = true;
  h->hd.make_current(h->device);
  double force = 0.0, stiffness = 0.0;
  int rate = 0, actuated = 3;
  h->hd.get_reals(RF_HD_MAX_FORCE, &force);
  h->hd.get_reals(RF_HD_STIFFNESS, &stiffness);
  h->hd.get_integers(RF_HD_RATE, &rate);
  if (h->set.max_torque_nm > 0.0) h->hd.get_integers(RF_HD_ACTUATED, &actuated);
  code = rf_openhaptics_error_rt(&h->hd);
  if (code || !(isfinite(force) && force > 0.0)) {
    const rf_status failure = refuse(h, "report the limits of the device", code, err);
    hd_close(h);
    return failure;
  }
  h->torques = actuated >= 6;
  *info = (rf_device_info){.max_force_n = force,
                           .max_torque_nm = h->torques ? h->set.max_torque_nm : 0.0,
                           .max_stiffness_n_per_m = stiffness > 0.0 ? 1e3 * stiffness : INFINITY,
                           .sensed = 6,
                           .actuated = h->torques ? 6 : 3,
                           .rate_hz = rate};
  (void)snprintf(info->name, sizeof info->name, "OpenHaptics %.40s",
                 h->set.name[0] ? h->set.name : "default device");
  return RF_OK;
}

static rf_status hd_open(void *self, rf_device_info *info, rf_error *err) {
  rf_openhaptics *h = self;
  h->count = 0;
  h->framed = false;
  atomic_store(&h->halted, 0);
  atomic_store(&h->error, 0);
  atomic_store(&h->misplaced, false);
  const rf_status st = hd_connect(h, info, err);
  if (st < 0) return st;
  h->hd.enable(RF_HD_FORCE_OUTPUT);
  h->hd.start();
  h->scheduling = true;
  const unsigned int code = rf_openhaptics_error_rt(&h->hd);
  if (code == 0) return RF_OK;
  const rf_status failure = refuse(h, "start its scheduler", code, err);
  hd_close(h);
  return failure;
}

static rf_status hd_probe(void *self, rf_device_info *info, rf_error *err) {
  const rf_status st = hd_connect(self, info, err);
  if (st >= 0) hd_close(self);
  return st;
}

// ---- cycles, in the library's thread ----------------------------------------------------

static unsigned int call(void *self) {
  rf_openhaptics *h = self;
  unsigned int next = CALLBACK_DONE;
  atomic_store(&h->inside, true);
  if (!atomic_load(&h->leaving) && !atomic_load(&h->done)) {
    const rf_status st = h->cycle(h->context);
    if (st < 0) {
      atomic_store(&h->status, st);
      atomic_store(&h->done, true);
    } else {
      next = CALLBACK_CONTINUE;
    }
  }
  atomic_store(&h->inside, false);
  return next;
}

static void nap(void) {
  const struct timespec millisecond = {0, 1000000};
  nanosleep(&millisecond, NULL);
}

static rf_status hd_run(void *self, rf_device_cycle_fn cycle, void *context, rf_error *err) {
  rf_openhaptics *h = self;
  h->cycle = cycle;
  h->context = context;
  atomic_store(&h->status, RF_OK);
  atomic_store(&h->inside, false);
  atomic_store(&h->leaving, false);
  atomic_store(&h->done, false);
  const unsigned long handle = h->hd.schedule(call, h, PRIORITY);
  const unsigned int code = rf_openhaptics_error_rt(&h->hd);
  if (code) return refuse(h, "schedule cycles", code, err);
  double busy_us = rf_clock_us_rt();
  while (!atomic_load(&h->done)) {
    nap();
    if (!atomic_load(&h->halted) || atomic_load(&h->inside)) busy_us = rf_clock_us_rt();
    if (rf_clock_us_rt() - busy_us > PATIENCE_US) break;
  }
  // prevents new cycles and waits for the current one
  atomic_store(&h->leaving, true);
  while (atomic_load(&h->inside)) nap();
  h->hd.unschedule(handle);
  if (atomic_load(&h->done)) return (rf_status)atomic_load(&h->status);
  return rf_fail(err, RF_ERR_DEVICE, "the scheduler of OpenHaptics has stopped");
}

static void hd_halt(void *self) {
  rf_openhaptics *h = self;
  atomic_store(&h->halted, 1);
  h->hd.disable(RF_HD_FORCE_OUTPUT);
}

static const char *hd_why(void *self) {
  rf_openhaptics *h = self;
  const unsigned int code = atomic_load(&h->error);
  if (atomic_load(&h->misplaced)) return "its pose is not a finite position and a rotation";
  if (code == 0) return "";
  const char *text = h->hd.error_text(code);
  (void)snprintf(h->text, sizeof h->text, "%.200s (error 0x%04x)", text ? text : "OpenHaptics",
                 code);
  return h->text;
}

static void hd_release(void *self) { rf_free(self); }

static const rf_device_table table = {.open = hd_open,
                                      .close = hd_close,
                                      .release = hd_release,
                                      .read_rt = rf_openhaptics_read_rt,
                                      .write_rt = rf_openhaptics_write_rt,
                                      .halt = hd_halt,
                                      .why = hd_why,
                                      .probe = hd_probe,
                                      .run = hd_run};

rf_status rf_openhaptics_create(const rf_openhaptics_settings *set, rf_device **out,
                                rf_error *err) {
  rf_openhaptics *h = NULL;
  rf_status st = RF_OK;
  if (!(isfinite(set->max_torque_nm) && set->max_torque_nm >= 0.0))
    return rf_fail(err, RF_ERR_ARG, "max_torque must be finite and not negative, got %g",
                   set->max_torque_nm);
  if (!(isfinite(set->torque_unit_nm) && set->torque_unit_nm > 0.0))
    return rf_fail(err, RF_ERR_ARG, "torque_unit must be finite and positive, got %g",
                   set->torque_unit_nm);
  RF_ALLOC(h, 1);
  h->set = *set;
  RF_TRY(rf_device_create(&table, h, out, err));
  h = NULL;
done:
  if (h) hd_release(h);
  return st;
}
