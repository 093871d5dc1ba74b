// Implicit Newmark for a projected solid: the scheme of newmark.h on r dense coordinates
// whose forces go by way of the mesh (model/projected.h).
#ifndef RF_INTEGRATOR_NEWMARK_PROJECTED_H
#define RF_INTEGRATOR_NEWMARK_PROJECTED_H

#include "integrator/newmark.h"
#include "model/projected.h"

typedef struct rf_projected_newmark_work rf_projected_newmark_work;

// State and work of one simulation; the model is shared.  One thread at a time.
typedef struct rf_projected_newmark {
  rf_newmark_settings set;  // with the arrays below instead of those given
  rf_newmark_coefficients coef;
  const rf_projected *model;  // borrowed: must outlive this
  double time_s;
  double *q, *qdot, *qddot;  // state                        (r)
  double *viscosity;         // of each material, NULL: no strain-rate damping (n_materials, 2)
  double *load;              // constant external force, NULL: none            (r)
  rf_newmark_report report;
  rf_projected_newmark_work *work;
} rf_projected_newmark;

RF_MUST_CHECK rf_status rf_projected_newmark_create(const rf_projected *model, const rf_run *run,
                                                    const rf_newmark_settings *set,
                                                    rf_projected_newmark **out, rf_error *err);
void rf_projected_newmark_free(rf_projected_newmark *s);  // NULL is fine

// As rf_newmark_reset and rf_newmark_step_rt.
RF_MUST_CHECK rf_status rf_projected_newmark_reset(rf_projected_newmark *s, const rf_run *run,
                                                   const double *q, const double *qdot,
                                                   const double *qddot, rf_error *err);
RF_MUST_CHECK rf_status rf_projected_newmark_step(rf_projected_newmark *s, const rf_run *run,
                                                  const double *force, int64_t n, rf_error *err);

#endif
