// Scratch of a reduced Newmark step; opaque outside this room.
#ifndef RF_INTEGRATOR_NEWMARK_WORK_H
#define RF_INTEGRATOR_NEWMARK_WORK_H

#include <stdint.h>

typedef struct rf_newmark_work {
  int32_t ld;                // row length of the matrices
  double *mass;              // M~                       (r rows of ld)
  double *stiffness;         // K~(q)                    (r rows of ld)
  double *system;            // a1 M + a4 C + K          (r rows of ld)
  double *q, *qdot, *qddot;  // the step being computed (ld)
  double *applied;           // external force      (ld)
  double *force;             // R~(q)                    (ld)
  double *residual;          // and then the increment   (ld)
  double *product;           // (ld)
  double *damping;           // D~(q), with strain-rate damping only (r rows of ld)
  void *strain_rate;         // work of its evaluation
  void *polynomial;          // work of the evaluation
} rf_newmark_work;

#endif
