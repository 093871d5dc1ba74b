#include "model/reduced_model.h"

void rf_reduced_evaluate_as_rt(const rf_reduced *model, bool definite, const double *q, void *work,
                               double *energy, double *force, double *stiffness, int32_t ld) {
  if (model->polynomial)
    rf_polynomial_evaluate_rt(model->polynomial, q, work, energy, force, stiffness, ld);
  else
    rf_cubature_evaluate_rt(model->cubature, definite, q, work, energy, force, stiffness, ld);
}

void rf_reduced_evaluate_rt(const rf_reduced *model, const double *q, void *work, double *energy,
                            double *force, double *stiffness, int32_t ld) {
  rf_reduced_evaluate_as_rt(model, false, q, work, energy, force, stiffness, ld);
}
