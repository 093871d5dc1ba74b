#include "contact/penalty_law.h"

#include <math.h>
#include <string.h>

#include "contact/law.h"

typedef rf_penalty_law_settings penalty_law;

#define SETTING(name, field, kind, range) \
  {name, offsetof(penalty_law, field), RF_SETTING_##kind, 0, RF_SETTING_##range, "stiffness"}
static const rf_setting SETTINGS[] = {
    SETTING("stiffness", stiffness_n_per_m, DOUBLE, POSITIVE),
    SETTING("each", each, ARRAY, POSITIVE),
    SETTING("automatic", automatic, BOOL, ANY),
    {0},
};

// If each point has its own stiffness, that of the law is the largest.
static void prepare_rt(void *self, int32_t n_points) {
  penalty_law *law = self;
  if (law->each) law->stiffness_n_per_m = 0.0;
  for (int32_t k = 0; law->each && k < n_points; ++k)
    law->stiffness_n_per_m = fmax(law->stiffness_n_per_m, law->each[k]);
}

static void respond_rt(void *self, const rf_contact_points *points, bool keep,
                       rf_contact_rows *rows) {
  const penalty_law *law = self;
  (void)keep;
  rows->n = points->n;
  memcpy(rows->axis, points->gradient, 3 * (size_t)points->n * sizeof *rows->axis);
  for (int32_t k = 0; k < points->n; ++k) {
    const double each = law->each ? law->each[points->place[k]] : law->stiffness_n_per_m;
    const double stiffness = points->weight[k] * each;
    rows->point[k] = k;
    rows->force[k] = stiffness * points->gap[k];
    rows->stiffness[k] = stiffness;
  }
}

static double stiffest_rt(const void *self, double coupling_n_per_m, double depth_m) {
  const penalty_law *law = self;
  (void)depth_m;
  const bool follows = law->automatic && coupling_n_per_m > 0.0;
  return follows ? rf_contact_suited_rt(coupling_n_per_m) : law->stiffness_n_per_m;
}

static void suit_rt(void *self, double coupling_n_per_m) {
  penalty_law *law = self;
  if (!law->automatic) return;
  law->stiffness_n_per_m = rf_contact_suited_rt(coupling_n_per_m);
  law->each = NULL;
}

static const rf_contact_law_rt PENALTY_RT = {
    .prepare = prepare_rt,
    .respond = respond_rt,
    .stiffest = stiffest_rt,
    .suit = suit_rt,
};

const rf_contact_law_kind rf_penalty_law_kind = {
    .name = "penalty",
    .rt = &PENALTY_RT,
    .settings = SETTINGS,
    .settings_bytes = sizeof(penalty_law),
};
