// A linear spring at each point, along the direction e of the search: the law of penalty_law.h, and
// that of laws whose forces a world makes, outside of one.
#ifndef RF_CONTACT_SPRING_H
#define RF_CONTACT_SPRING_H

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "contact/law.h"

typedef struct rf_contact_spring {
  double stiffness_n_per_m;  // k of every point, unless each has its own
  const double *each;        // k of each point; nullable                              (n_points)
  bool automatic;            // k follows the coupling that holds the object
} rf_contact_spring;

// If each point has its own stiffness, that of the law is the largest.
static inline void rf_contact_spring_prepare_rt(rf_contact_spring *s, int32_t n_points) {
  if (s->each) s->stiffness_n_per_m = 0.0;
  for (int32_t k = 0; s->each && k < n_points; ++k)
    s->stiffness_n_per_m = fmax(s->stiffness_n_per_m, s->each[k]);
}

static inline void rf_contact_spring_respond_rt(const rf_contact_spring *s,
                                                const rf_contact_points *points,
                                                rf_contact_rows *rows) {
  rows->n = points->n;
  memcpy(rows->axis, points->gradient, 3 * (size_t)points->n * sizeof *rows->axis);
  for (int32_t k = 0; k < points->n; ++k) {
    const double each = s->each ? s->each[points->place[k]] : s->stiffness_n_per_m;
    const double stiffness = points->weight[k] * each;
    rows->point[k] = k;
    rows->force[k] = stiffness * points->gap[k];
    rows->stiffness[k] = stiffness;
  }
}

static inline double rf_contact_spring_stiffest_rt(const rf_contact_spring *s,
                                                   double coupling_n_per_m) {
  const bool follows = s->automatic && coupling_n_per_m > 0.0;
  return follows ? rf_contact_suited_rt(coupling_n_per_m) : s->stiffness_n_per_m;
}

static inline void rf_contact_spring_suit_rt(rf_contact_spring *s, double coupling_n_per_m) {
  if (!s->automatic) return;
  s->stiffness_n_per_m = rf_contact_suited_rt(coupling_n_per_m);
  s->each = NULL;
}

#endif
