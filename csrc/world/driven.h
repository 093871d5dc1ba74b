// A simulation in contact with a field object on a prescribed trajectory, without a coupling.
//
// A step moves the object to its pose at the end of the step, evaluates contact there with the
// coordinates q of the beginning, and steps implicitly: with f the contact's reduced force and
// A = sum c (U^T a) (U^T a)^T (contact/wrench.h), the force is f - A (x - q), x the coordinates at
// the end of the step (dynamics/newton.h): the shell is an implicit body (body/body.h).  With a
// stiffness fitted by contact/fit.h this comes to rest for bodies of any mass; explicit forces
// would not.  A step that displaces the body too far fails (rf_motion_far_rt).
#ifndef RF_WORLD_DRIVEN_H
#define RF_WORLD_DRIVEN_H

#include "base/status.h"
#include "contact/contact.h"
#include "dynamics/motion.h"
#include "world/pair.h"

// A pair of bodies that borrow contact and motion.
typedef struct rf_driven {
  rf_body *shell, *field;
  rf_pair *pair;
  int32_t r_field;  // coordinates of the field
} rf_driven;

// Borrows contact and simulation.
RF_MUST_CHECK rf_status rf_driven_create(rf_contact *contact, rf_motion *simulation,
                                         rf_driven **out, rf_error *err);
void rf_driven_free(rf_driven *d);  // NULL is fine

// Makes one step.  `force`: external force (r), nullable; field_q: coordinates of a deforming
// field, NULL: rest.  Writes the contact's `result`, its reduced force `reduced` (r) and, for a
// deforming field, field_reduced.  RF_ERR_ARG: the pose or field_q is not usable; other errors as
// of rf_motion_step_rt.
RF_MUST_CHECK rf_status rf_driven_step_rt(rf_driven *d, const rf_pose *pose, const double *field_q,
                                          const double *force, rf_contact_result *result,
                                          double *reduced, double *field_reduced);

#endif
