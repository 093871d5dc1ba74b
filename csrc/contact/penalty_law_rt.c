#include <string.h>

#include "contact/penalty_law.h"

static void respond_rt(void *self, const rf_contact_points *points, bool keep,
                       rf_contact_rows *rows) {
  const rf_penalty_law *law = self;
  (void)keep;
  rows->n = points->n;
  memcpy(rows->axis, points->gradient, 3 * (size_t)points->n * sizeof *rows->axis);
  for (int32_t k = 0; k < points->n; ++k) {
    const double each = law->by_point ? law->each[points->place[k]] : law->stiffness_n_per_m;
    const double stiffness = points->weight[k] * each;
    rows->point[k] = k;
    rows->force[k] = stiffness * points->gap[k];
    rows->stiffness[k] = stiffness;
  }
}

static double stiffest_rt(const void *self, double coupling_n_per_m, double depth_m) {
  const rf_penalty_law *law = self;
  (void)depth_m;
  const bool follows = law->automatic && coupling_n_per_m > 0.0;
  return follows ? rf_contact_suited_rt(coupling_n_per_m) : law->stiffness_n_per_m;
}

static void suit_rt(void *self, double coupling_n_per_m) {
  rf_penalty_law *law = self;
  if (!law->automatic) return;
  law->stiffness_n_per_m = rf_contact_suited_rt(coupling_n_per_m);
  law->by_point = false;
}

const rf_contact_law_rt rf_penalty_law_rt = {
    .respond = respond_rt,
    .stiffest = stiffest_rt,
    .suit = suit_rt,
};
