// A body: frame, reduced coordinates, and the load of contact in a step of a world.
//
// Kinds of bodies are rows of a registry (body/kinds.h) and differ by who moves them.  The data is
// the same for all kinds, and clients read it without a call: contact needs frame and coordinates,
// solvers the motion.
//
// A point X of the body at rest is at  p + R (X + U q)  in the world, (p, R) the pose, U q the
// displacement by the reduced coordinates.
//
// Load: a world adds the wrenches and reduced forces of contact in a step.  An implicit body also
// gets the stiffness A of its own contacts: its reduced force follows the step,
//     f - A (q_end - q_begin),
// which changes no equilibrium and keeps light bodies in stiff contact at rest.
//
// To add a kind: a source with its table, and a row in body/kinds.h.
#ifndef RF_BODY_BODY_H
#define RF_BODY_BODY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "dynamics/free_body.h"
#include "linalg/pose.h"

typedef struct rf_body rf_body;

typedef struct rf_body_settings {
  const char *kind;         // name of a kind
  const char *name;         // of the body's simulation, in messages; NULL: "a simulation"
  rf_pose pose;             // frame of the body in the world
  double reference_m[3];    // point about which wrenches and rotations are taken, in that frame
  const rf_motion *motion;  // of the reduced coordinates, copied; NULL: rigid, or at rest
  rf_motion *borrowed;      // in place of a copy, for one step of its own at a time; NULL: none
  bool implicit;            // its reduced force follows the step, above
  const void *of_kind;      // more settings, of the kind; NULL: none
} rf_body_settings;

typedef struct rf_body_kind {
  const char *name;
  bool anchored;  // the pose never changes
  // Completes a body made of checked settings: rejects what the kind cannot be, and makes
  // body->self.  On failure the caller calls `release`, also before this was called.
  rf_status (*create)(const rf_body_settings *set, rf_body *body, rf_error *err);
  void (*release)(rf_body *body);  // frees body->self; NULL: nothing to free
  // Makes body->steps steps of the motion under the load, and moves the pose.
  rf_status (*step_rt)(rf_body *body);
  // Of kinds whose pose moves by the load, else NULL.  In a step of the world without a load:
  // motion of the reference point and rotation; and what a wrench adds to both, symmetric.
  void (*foresee_rt)(const rf_body *body, double way[6], double compliance[36]);
  // Moves the pose by a step under a wrench about the reference point.
  rf_status (*move_rt)(rf_body *body, const double wrench[6]);
} rf_body_kind;

struct rf_body {
  const rf_body_kind *kind;
  void *self;             // of the kind; NULL: none
  rf_pose pose;           // frame in the world
  double reference_m[3];  // as in the settings
  rf_motion *motion;      // NULL: rigid, or at rest
  bool borrows;           // the motion is not owned
  int64_t steps;          // of the motion in a step of the world
  const double *shape;    // coordinates without a motion, borrowed; NULL: at rest     (r)

  // load of contact, set by a world
  double wrench[6];     // force, N, and torque, N m, about the reference point, in the world
  double gradient[36];  // its derivative by the motion of the reference point and the rotation;
                        // zero for anchored bodies                                    (6, 6)
  double *reduced;      // reduced force; NULL without a motion                        (ld)
  double *added;        // A; NULL: explicit                                   (ld rows of ld)
  double *scratch;      // of implicit bodies with shorter steps                       (2 ld)
};

// Creates a body that makes steps of dt_s; its motion's steps must divide them, and its coordinates
// must not be too large (rf_motion_far_rt).
RF_MUST_CHECK rf_status rf_body_create(const rf_body_settings *set, double dt_s, rf_body **out,
                                       rf_error *err);
void rf_body_free(rf_body *body);  // NULL is fine

// Reduced coordinates; NULL: at rest.
static inline const double *rf_body_q_rt(const rf_body *body) {
  return body->motion ? body->motion->q : body->shape;
}

// The free body of the kind "free"; NULL: the body is of another kind.
const rf_free_body *rf_body_free_body(const rf_body *body);

// Number of reduced coordinates that contact moves.
static inline int32_t rf_body_coordinates_rt(const rf_body *body) {
  return body->motion ? body->motion->n : 0;
}

// Reference point in the world.
void rf_body_reference_rt(const rf_body *body, double out[3]);
// Moves a body so that its frame, shifted to the reference point, has this pose.
void rf_body_hold_rt(rf_body *body, const rf_pose *at);
// Clears the load.
void rf_body_unload_rt(rf_body *body);

// ---- for kinds and solvers

// A motion that makes one step of dt_s where that of the body makes several, for solves of a whole
// step: Newmark's of beta = 1/2 and gamma = 1 for all schemes, i.e. the acceleration of its end
// throughout.  The scheme of the body may carry the oscillation of the last short step through the
// whole period.  NULL: the body makes one step, or has no motion.
RF_MUST_CHECK rf_status rf_body_whole_step(const rf_body *body, double dt_s, rf_motion **out,
                                           rf_error *err);

// Step of a kind whose pose stays: moves the reduced coordinates, if there is a motion.
RF_MUST_CHECK rf_status rf_body_deform_rt(rf_body *body);
// Makes `steps` steps of a motion under a force that grows evenly by `more` (ld, nullable: zero)
// and follows its coordinates by -A (x - x_begin).  scratch (2 ld).
RF_MUST_CHECK rf_status rf_body_follow_rt(rf_motion *motion, int64_t steps, const double *force,
                                          const double *more, const double *added, double *scratch);

#endif
