// A reduced model as a system: dense matrices, real-time.  Opaque outside of system_reduced*.c.
#ifndef RF_DYNAMICS_SYSTEM_REDUCED_H
#define RF_DYNAMICS_SYSTEM_REDUCED_H

#include "dynamics/system.h"
#include "model/reduced_model.h"
#include "polynomial/damping.h"

// Rows of matrices have ld values.
typedef struct rf_reduced_system {
  rf_system base;
  const rf_reduced *model;        // borrowed
  const rf_damping *strain_rate;  // borrowed, NULL: none
  double *mass;                   // M~                                      (r, ld)
  double *mass_factor;            // of M~, of explicit steps only           (r, ld)
  double *stiffness;              // K~(x)                                   (r, ld)
  double *damping;                // D~(x), with strain-rate damping only    (r, ld)
  double *factor;                 //                                         (r, ld)
  double *product;                // of a matrix with a vector               (ld)
  void *energy_work, *strain_rate_work;
} rf_reduced_system;

extern const rf_system_operations rf_system_reduced_rt;

#endif
