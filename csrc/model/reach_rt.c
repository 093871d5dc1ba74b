#include <math.h>

#include "model/reduced_model.h"

double rf_reduced_farthest_rt(const rf_reduced *model, const double *q) {
  double sum = 0.0, square = 0.0;
  for (int32_t i = 0; i < model->r; ++i) sum += fabs(q[i]) * model->reach[i];
  // sharper where nearly dependent vectors cancel: |U_k q| <= |U_k R^-1| |R q|
  for (int32_t j = 0; j < model->r; ++j) {
    const double *row = model->turn + (int64_t)j * model->turn_columns;
    double turned = 0.0;
    for (int32_t i = j; i < model->r; ++i) turned += row[i] * q[i];
    square += turned * turned;
  }
  return fmin(sum, sqrt(square) * model->turned_reach);
}
