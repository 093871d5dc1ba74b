// The signed distances that contact is searched against, whatever stands behind them.
//
// One switch for all kinds, so that the traversal knows none of them.  Places are in the frame of
// the distance-field object.
#ifndef RF_CONTACT_ORACLE_RT_H
#define RF_CONTACT_ORACLE_RT_H

#include "deform/field.h"
#include "sdf/field.h"

// One of the two fields; both are borrowed.
typedef struct rf_oracle {
  const rf_field *field;
  const rf_deformed_field *deformed;
  const rf_deformed_pose *pose;  // of the deformed field in this cycle; set by the contact
} rf_oracle;

// points (n, 3)
static inline void rf_oracle_distances_rt(const rf_oracle *o, int32_t n, const double *points,
                                          double *distance) {
  if (o->field)
    rf_field_distances_rt(o->field, n, points, distance);
  else
    rf_deformed_field_distances_rt(o->deformed, o->pose, n, points, distance, NULL);
}
// slope (n, 3) at up to 16 points, continuous in grids (rf_field_slopes_rt); carriers (n): what
// forces there act on, of a field that deforms
static inline void rf_oracle_slopes_rt(const rf_oracle *o, int32_t n, const double *points,
                                       double *slope, rf_deformed_carriers *carriers) {
  double distance[16];
  if (o->field)
    rf_field_slopes_rt(o->field, n, points, distance, slope);
  else
    rf_deformed_field_slopes_rt(o->deformed, o->pose, n, points, distance, slope, carriers);
}
// Carriers (n) of a field that deforms: the nearest proxies, as B07 3.12.2.
static inline void rf_oracle_nearest_rt(const rf_oracle *o, int32_t n, const double *points,
                                        rf_deformed_carriers *carriers) {
  double distance[16];
  int32_t proxy[16];
  if (!o->deformed) return;
  rf_deformed_field_distances_rt(o->deformed, o->pose, n, points, distance, proxy);
  for (int32_t k = 0; k < n; ++k) {
    rf_deformed_carriers *c = carriers + k;
    c->n = 1;
    c->proxy[0] = proxy[k];
    c->share[0] = 1.0;
    for (int i = 0; i < 3; ++i) c->arm[0][i] = 0.0;
  }
}
// what a deformed field needs is small, or known late only
static inline void rf_oracle_prefetch_rt(const rf_oracle *o, const double *point) {
  if (o->field) rf_field_prefetch_rt(o->field, point);
}
// as rf_field_slack_rt, or as rf_deformed_field_slack_rt, which is no bound
static inline double rf_oracle_slack_rt(const rf_oracle *o, double distance, double radius) {
  return o->field ? rf_field_slack_rt(o->field, distance, radius)
                  : rf_deformed_field_slack_rt(o->deformed, distance, radius);
}

#endif
