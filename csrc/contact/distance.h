// Distance query: the signed distances that contact is searched against.
//
// One interface for all kinds of fields, so that the search knows none of them: a field at rest
// (sdf/field.h), or one that deforms (deform/field.h).  Places are in the frame of the object that
// carries the field.  The choice is a branch a call, not a table: calls are for blocks of points,
// and the fields' own kernels are the hot part.
#ifndef RF_CONTACT_DISTANCE_H
#define RF_CONTACT_DISTANCE_H

#include "deform/field.h"
#include "sdf/field.h"

// Exactly one of the two fields; both are borrowed.
typedef struct rf_contact_distance {
  const rf_field *field;
  const rf_deformed_field *deformed;
  const rf_deformed_pose *pose;  // of the deformed field in this cycle; set by the search
} rf_contact_distance;

// Distances at points (n, 3).
static inline void rf_contact_distances_rt(const rf_contact_distance *d, int32_t n,
                                           const double *points, double *distance) {
  if (d->field)
    rf_field_distances_rt(d->field, n, points, distance);
  else
    rf_deformed_field_distances_rt(d->deformed, d->pose, n, points, distance, NULL);
}

// Distances and gradients (n, 3) at up to 16 points, continuous in grids (rf_field_slopes_rt).
// carriers (n): the motion of the object there; written for a field that deforms only.
static inline void rf_contact_slopes_rt(const rf_contact_distance *d, int32_t n,
                                        const double *points, double *distance, double *gradient,
                                        rf_deformed_carriers *carriers) {
  if (d->field)
    rf_field_slopes_rt(d->field, n, points, distance, gradient);
  else
    rf_deformed_field_slopes_rt(d->deformed, d->pose, n, points, distance, gradient, carriers);
}

// Carriers (n) at up to 16 points by the nearest proxy alone, as B07 3.12.2; nothing for a field at
// rest.
static inline void rf_contact_nearest_rt(const rf_contact_distance *d, int32_t n,
                                         const double *points, rf_deformed_carriers *carriers) {
  double distance[16];
  int32_t proxy[16];
  if (!d->deformed) return;
  rf_deformed_field_distances_rt(d->deformed, d->pose, n, points, distance, proxy);
  for (int32_t k = 0; k < n; ++k) {
    rf_deformed_carriers *c = carriers + k;
    c->n = 1;
    c->proxy[0] = proxy[k];
    c->share[0] = 1.0;
    for (int i = 0; i < 3; ++i) c->arm[0][i] = 0.0;
  }
}

// Requests the memory for a point; a field that deforms is small, or knows its addresses late only.
static inline void rf_contact_prefetch_rt(const rf_contact_distance *d, const double *point) {
  if (d->field) rf_field_prefetch_rt(d->field, point);
}

// Slack of a sphere by rf_field_slack_rt, a bound; or by rf_deformed_field_slack_rt, an estimate.
static inline double rf_contact_slack_rt(const rf_contact_distance *d, double distance,
                                         double radius) {
  return d->field ? rf_field_slack_rt(d->field, distance, radius)
                  : rf_deformed_field_slack_rt(d->deformed, distance, radius);
}

#endif
