// Interface of bodies that a hand touches directly, without a virtual coupling: a table of
// functions.
//
// Such a body answers the pose of the hand by a force on it, once a cycle.  The other stages of a
// cycle are those of sessions with a coupling (haptic/tick.h): the force passes workspace, safety
// and passivity.
//
// `feel_rt` and `step_rt` are real-time code with bounded time; no other function runs between
// them.  Cycles that make up for missed ones call both, too, and send no force.
#ifndef RF_RENDER_TOUCH_H
#define RF_RENDER_TOUCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "linalg/pose.h"

// Flags of a cycle.
enum {
  RF_TOUCH_SLIPS = 1,   // the contact slides over the body
  RF_TOUCH_DEEP = 2,    // beyond the depth for which the body has a force, or jammed: it is bounded
  RF_TOUCH_FAILED = 4,  // the body does not answer, as its thread has stalled: the session makes
                        // the force fade out, and fade in once the body answers again
  RF_TOUCH_INSIDE = 8   // the hand is inside and came through no side: no force until it has left
};

// Answer of a body, in the world.
typedef struct rf_touch_felt {
  double force_n[3], torque_nm[3];  // on the hand, about its grasp point; finite and bounded
  rf_pose object;                   // tool that the body holds back, or the hand without contact
  double anchor_m[3];        // place of contact on the body; without contact that of `object`
  double slip_m[3];          // way of the contact over the body in this cycle
  double depth_m;            // 0: no contact
  double stiffness_n_per_m;  // largest stiffness that the hand feels there; 0: no contact
  int32_t touching;          // points in contact
  uint32_t flags;            // RF_TOUCH_*
} rf_touch_felt;

typedef struct rf_touch_kind {
  const char *name;
  // Computes the answer to the hand at a pose, `dt_s` after the last one.  A negative status ends
  // the session (RF_ERR_DIVERGED).
  rf_status (*feel_rt)(void *self, const rf_pose *hand, double dt_s, rf_touch_felt *out);
  // Nullable.  Work of the cycle after the force is sent.
  rf_status (*step_rt)(void *self, double dt_s);
  // Forgets the contact: the hand was moved or opened anew.
  void (*forget_rt)(void *self);
  // Nullable.  Writes `coordinates` numbers from which views show the body.
  void (*publish_rt)(const void *self, double *out);
  // Nullable, for kinds with a thread of their own.  `start` comes before the first cycle of a
  // thread, `stop` after its last one; between them a thread moves the body, else `step_rt` does,
  // as in scripts.  Both may be called again.  The thread has a real-time priority if it is
  // positive and the system allows it; `refused`: why it does not (errno), or 0.
  rf_status (*start)(void *self, int priority, int *refused, rf_error *err);
  void (*stop)(void *self);
  // Copies the body, in its state and without a contact.
  rf_status (*copy)(const void *self, void **out, rf_error *err);
  // Nullable.  Copies the state of a copy, which runs no more, to the body that it was made of;
  // RF_ERR_ARG: it was made of another one.
  rf_status (*restore)(void *self, const void *from, rf_error *err);
  // Nullable.  Explains why the body ended the session, after `who`; false: it did not.
  bool (*explain)(const void *self, const char *who, rf_error *why);
  void (*release)(void *self);
} rf_touch_kind;

typedef struct rf_touch {
  const rf_touch_kind *kind;
  void *self;           // owned
  int32_t coordinates;  // numbers that publish_rt writes
  double delay_s;       // age of the body's state when it is felt; 0: the cycle's own
} rf_touch;

// Creates a body; `self` is owned by it, also on failure.
RF_MUST_CHECK rf_status rf_touch_create(const rf_touch_kind *kind, void *self, int32_t coordinates,
                                        double delay_s, rf_touch **out, rf_error *err);
RF_MUST_CHECK rf_status rf_touch_copy(const rf_touch *touch, rf_touch **out, rf_error *err);
void rf_touch_free(rf_touch *touch);  // NULL is fine; the body must be stopped

#endif
