// The signed distances that contact is searched against, whatever stands behind them.
//
// One switch for all kinds, so that the traversal knows none of them.  Places are in the frame of
// the distance-field object.
#ifndef RF_CONTACT_ORACLE_RT_H
#define RF_CONTACT_ORACLE_RT_H

#include "sdf/field.h"

typedef struct rf_oracle {
  const rf_field *field;  // borrowed
} rf_oracle;

// points (n, 3)
static inline void rf_oracle_distances_rt(const rf_oracle *o, int32_t n, const double *points,
                                          double *distance) {
  rf_field_distances_rt(o->field, n, points, distance);
}
static inline void rf_oracle_gradient_rt(const rf_oracle *o, const double *point,
                                         double *gradient) {
  rf_field_gradient_rt(o->field, point, gradient);
}
static inline void rf_oracle_prefetch_rt(const rf_oracle *o, const double *point) {
  rf_field_prefetch_rt(o->field, point);
}
// as rf_field_slack_rt
static inline double rf_oracle_slack_rt(const rf_oracle *o, double distance, double radius) {
  return rf_field_slack_rt(o->field, distance, radius);
}

#endif
