// The lowest modes of a tangent as a part of the equations that stages (stage_rt.c) leave to
// others: see modal_subspace.h.
#ifndef RF_DYNAMICS_SUBSPACE_H
#define RF_DYNAMICS_SUBSPACE_H

#include <stdbool.h>

#include "base/status.h"
#include "dynamics/scheme.h"

// Only systems that are not real-time have such a part.
typedef struct rf_subspace_operations {
  // Before the first solve of a stage from m->from with the velocity v, where m->residual is minus
  // the force F and K is evaluated.  `first`: of a step.  May leave the factor of the stage there.
  rf_status (*begin)(rf_motion *m, const double *v, bool first);
  // The residual loses what balances the constraint.
  rf_status (*project)(rf_motion *m);
  // The increment, from m->residual and the factor there.
  rf_status (*solve)(rf_motion *m, double *increment);
  // The acceleration of the modes at the end of a step.
  void (*end)(rf_motion *m);  // also in the report
  // A step that failed leaves what it began with.
  void (*undo)(rf_motion *m);
} rf_subspace_operations;

typedef struct rf_subspace {
  const rf_subspace_operations *operations;
  bool responses_known;  // the responses kept are those of the factor there
  bool jumps;            // the next solve moves x to where its known part ends
} rf_subspace;

#endif
