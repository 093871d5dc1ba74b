// A simulation in contact with a field object on a prescribed trajectory, without a coupling.
//
// A step takes the object to its pose at the end of the step, evaluates contact there with the
// coordinates q of the beginning, and steps implicitly: with f the contact's reduced force and
// A = sum c (U^T a) (U^T a)^T (contact/wrench.h), the force f - A (x - q) follows the end x of
// the step (dynamics/newton.h).  Contact as stiff as contact/fit.h says comes to rest so
// with bodies of any mass; explicit forces would not.  A step that takes the body too far
// fails (rf_motion_far_rt).
#ifndef RF_WORLD_DRIVEN_H
#define RF_WORLD_DRIVEN_H

#include "base/status.h"
#include "contact/penalty.h"
#include "dynamics/motion.h"

typedef struct rf_driven {
  rf_contact_blocks blocks;  // the shell's only
  double *force;             // of contact and from outside            (r)
} rf_driven;

RF_MUST_CHECK rf_status rf_driven_create(int32_t r, rf_driven **out, rf_error *err);
void rf_driven_free(rf_driven *d);  // NULL is fine

// One step.  `force`: from outside (r), nullable; field_q: of a field that deforms, nullable: rest.
// Writes what contact did in `result`, reduced (r) and, of a field that deforms, field_reduced.
// RF_ERR_ARG: the pose or field_q is not usable; other errors as of rf_motion_step_rt.
RF_MUST_CHECK rf_status rf_driven_step_rt(rf_driven *d, rf_motion *simulation, rf_penalty *contact,
                                          const rf_pose *pose, const double *field_q,
                                          const double *force, rf_penalty_result *result,
                                          double *reduced, double *field_reduced);

#endif
