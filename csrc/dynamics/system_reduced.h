// A reduced model as a system: dense matrices, real-time.  Opaque outside of system_reduced*.c.
#ifndef RF_DYNAMICS_SYSTEM_REDUCED_H
#define RF_DYNAMICS_SYSTEM_REDUCED_H

#include "dynamics/system_dense.h"
#include "model/reduced_model.h"
#include "polynomial/damping.h"

typedef struct rf_reduced_system {
  rf_dense_system dense;
  const rf_reduced *model;        // borrowed
  const rf_damping *strain_rate;  // borrowed, NULL: none, or inside
  rf_system_damping given;        // for copies
  void *energy_work, *strain_rate_work;
  int32_t measured;  // point of a cubature whose strain is measured next
} rf_reduced_system;

extern const rf_system_operations rf_system_reduced_rt, rf_system_cubature_rt;

#endif
