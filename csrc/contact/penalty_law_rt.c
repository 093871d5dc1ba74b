#include <string.h>

#include "contact/penalty_law.h"

// Stiffness of a point under a coupling, as a multiple of k_VC.
static const double STIFFER = 20.0;

static void respond_rt(void *self, const rf_contact_points *points, rf_contact_rows *rows) {
  const rf_penalty_law *law = self;
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

double rf_penalty_suited_rt(double coupling_n_per_m) { return STIFFER * coupling_n_per_m; }

static void suit_rt(void *self, double coupling_n_per_m) {
  rf_penalty_law *law = self;
  if (!law->automatic) return;
  law->stiffness_n_per_m = rf_penalty_suited_rt(coupling_n_per_m);
  law->by_point = false;
}

// The law has no state.
static void begin_rt(void *self) { (void)self; }
static void reset_rt(void *self) { (void)self; }

const rf_contact_law_rt rf_penalty_law_rt = {
    .begin = begin_rt,
    .respond = respond_rt,
    .suit = suit_rt,
    .reset = reset_rt,
};
