// The time integration schemes of all kinds of systems behind one face.
#ifndef RF_PYEXT_PY_SCHEMES_H
#define RF_PYEXT_PY_SCHEMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "integrator/newmark.h"

typedef enum py_system_kind { PY_IS_REDUCED, PY_IS_PROJECTED, PY_IS_SOLID } py_system_kind;

typedef struct py_scheme_state {
  const double *q, *qdot, *qddot;
  double time_s;
} py_scheme_state;

// Operations of a scheme on the state `s` that it owns; each is called under the lock.
typedef struct py_scheme {
  py_system_kind kind;
  bool implicit;
  // the system is of the kind above; of the settings, an explicit scheme takes its part
  rf_status (*create)(const void *system, const rf_run *run, const rf_newmark_settings *set,
                      void **out, rf_error *err);
  void (*release)(void *s);
  rf_status (*step)(void *s, const rf_run *run, const double *force, int64_t n, rf_error *err);
  rf_status (*reset)(void *s, const rf_run *run, const double *q, const double *qdot,
                     const double *qddot, rf_error *err);
  void (*set_steps)(void *s, int64_t steps);  // since the last reset, and so the time
  py_scheme_state (*look)(const void *s);
  rf_newmark_report (*report)(const void *s);  // explicit schemes: steps only
} py_scheme;

// Numbers that a step of a reduced model goes through at most, and how many steps of that many
// numbers lie between two looks at signals: some milliseconds, where a step takes no longer.
double py_step_work(const rf_reduced *model, const rf_newmark_settings *set);
int64_t py_step_chunk(double work);

extern const py_scheme py_newmark_reduced, py_newmark_projected, py_newmark_solid,
    py_central_reduced, py_central_solid;

#endif
