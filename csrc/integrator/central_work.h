// Scratch of a reduced step of central differences; opaque outside this room.
#ifndef RF_INTEGRATOR_CENTRAL_WORK_H
#define RF_INTEGRATOR_CENTRAL_WORK_H

#include <stdint.h>

typedef struct rf_central_work {
  int32_t ld;                // row length of the matrices
  double *factor;            // of M~                     (r rows of ld)
  double *stiffness;         // K~(q), with stiffness damping only (r rows of ld)
  double *q, *qdot, *qddot;  // the step being computed   (ld)
  double *applied;           // external force            (ld)
  double *force;             // R~(q), then the balance   (ld)
  double *product;           // (ld)
  double *damping;           // D~(q), with strain-rate damping only (r rows of ld)
  void *strain_rate;         // work of its evaluation
  void *polynomial;          // work of the evaluation
} rf_central_work;

#endif
