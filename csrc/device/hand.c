#include "device/hand.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

static rf_status hand_open(void *self, rf_device_info *info, rf_error *err) {
  rf_hand *h = self;
  (void)err;
  h->begun = false;
  h->count = 0;
  h->lost = false;
  memset(h->way, 0, sizeof h->way);
  memset(h->velocity, 0, sizeof h->velocity);
  memset(&h->wrench, 0, sizeof h->wrench);
  h->handle = (rf_pose){.quaternion = {1.0, 0.0, 0.0, 0.0}};
  if (h->intent.table->open) h->intent.table->open(h->intent.self);
  atomic_store(&h->halted, 0);
  *info = (rf_device_info){.max_force_n = h->set.max_force_n,
                           .max_torque_nm = h->set.max_torque_nm,
                           .max_stiffness_n_per_m = INFINITY,
                           .sensed = 6,
                           .actuated = 6};
  (void)snprintf(info->name, sizeof info->name, "%s", h->intent.table->name);
  return RF_OK;
}

static void hand_close(void *self) {
  memset(&((rf_hand *)self)->wrench, 0, sizeof(rf_device_wrench));
}

static void hand_halt(void *self) { atomic_store(&((rf_hand *)self)->halted, 1); }

static const char *hand_why(void *self) {
  return ((rf_hand *)self)->lost ? "its motion is not finite" : "";
}

static void hand_free(void *self) {
  const rf_intent *intent = &((rf_hand *)self)->intent;
  if (intent->self) intent->table->release(intent->self);
  rf_free(self);
}

static const rf_device_table table = {.open = hand_open,
                                      .close = hand_close,
                                      .release = hand_free,
                                      .read_rt = rf_hand_read_rt,
                                      .write_rt = rf_hand_write_rt,
                                      .halt = hand_halt,
                                      .why = hand_why};

static rf_status check(const rf_oscillator *o, const char *mass, const char *damping,
                       const char *stiffness, rf_error *err) {
  if (!(isfinite(o->mass) && o->mass > 0.0))
    return rf_fail(err, RF_ERR_ARG, "%s must be finite and positive, got %g", mass, o->mass);
  if (!(isfinite(o->damping) && o->damping >= 0.0))
    return rf_fail(err, RF_ERR_ARG, "%s must be finite and not negative, got %g", damping,
                   o->damping);
  if (!(isfinite(o->stiffness) && o->stiffness >= 0.0))
    return rf_fail(err, RF_ERR_ARG, "%s must be finite and not negative, got %g", stiffness,
                   o->stiffness);
  return RF_OK;
}

rf_status rf_hand_create(const rf_hand_settings *set, rf_intent intent, rf_device **out,
                         rf_error *err) {
  rf_hand *h = NULL;
  rf_status st = check(&set->position, "mass", "damping", "stiffness", err);
  if (st < 0) goto done;
  RF_TRY(check(&set->rotation, "inertia", "torsional_damping", "torsional_stiffness", err));
  RF_TRY(rf_device_check_limits(set->max_force_n, set->max_torque_nm, err));
  RF_ALLOC(h, 1);
  h->set = *set;
  h->intent = intent;
  intent.self = NULL;
  RF_TRY(rf_device_create(&table, h, out, err));
  h = NULL;
done:
  if (h) hand_free(h);
  if (intent.self) intent.table->release(intent.self);
  return st;
}

rf_intent rf_hand_intent(const rf_device *device) {
  return device->table == &table ? ((const rf_hand *)device->self)->intent
                                 : (rf_intent){NULL, NULL};
}
