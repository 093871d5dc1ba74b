// Friction: the laws of Signorini and Coulomb (constraint/friction.h) at the sites that a world
// chooses.
//
// The law answers with the forces that the world has written in this cycle, without stiffness.
// Outside of a world nothing moves, so there is no friction: a spring takes the place (spring.h).
#include <string.h>

#include "contact/law.h"
#include "contact/spring.h"
#include "linalg/vec3.h"

typedef struct coulomb_law {
  rf_contact_spring spring;
  rf_contact_sites sites;
} coulomb_law;

#define SETTING(name, field, kind, range) \
  {name, offsetof(coulomb_law, field), RF_SETTING_##kind, 0, RF_SETTING_##range, NULL}
static const rf_setting SETTINGS[] = {
    SETTING("mu", sites.mu, DOUBLE, NOT_NEGATIVE),
    SETTING("compliance", sites.compliance_m_per_n, DOUBLE, NOT_NEGATIVE),
    SETTING("sites", sites.most, INT32, ANY),
    SETTING("budget_us", sites.budget_us, DOUBLE, POSITIVE),
    SETTING("stiffness", spring.stiffness_n_per_m, DOUBLE, POSITIVE),
    SETTING("each", spring.each, ARRAY, POSITIVE),
    SETTING("automatic", spring.automatic, BOOL, ANY),
    {0},
};

static void prepare_rt(void *self, int32_t n_points) {
  coulomb_law *law = self;
  rf_contact_spring_prepare_rt(&law->spring, n_points);
  law->sites.cycle = 1;
}

static void begin_rt(void *self) { ++((coulomb_law *)self)->sites.cycle; }

// No force is then of the last cycle.
static void reset_rt(void *self) { ((coulomb_law *)self)->sites.cycle += 2; }

static void respond_rt(void *self, const rf_contact_points *points, bool keep,
                       rf_contact_rows *rows) {
  const coulomb_law *law = self;
  (void)keep;
  if (!law->sites.solved) {
    rf_contact_spring_respond_rt(&law->spring, points, rows);
    return;
  }
  rows->n = 0;
  for (int32_t k = 0; k < points->n; ++k) {
    const struct rf_contact_site_force *at = law->sites.of + points->place[k];
    const double size = rf_vec3_length(at->force);
    if (at->cycle != law->sites.cycle || !(size > 0.0)) continue;
    rows->point[rows->n] = k;
    for (int i = 0; i < 3; ++i) rows->axis[3 * rows->n + i] = at->force[i] / size;
    rows->force[rows->n] = -size;
    rows->stiffness[rows->n++] = 0.0;
  }
}

static double stiffest_rt(const void *self, double coupling_n_per_m, double depth_m) {
  (void)depth_m;
  return rf_contact_spring_stiffest_rt(&((const coulomb_law *)self)->spring, coupling_n_per_m);
}

static void suit_rt(void *self, double coupling_n_per_m) {
  rf_contact_spring_suit_rt(&((coulomb_law *)self)->spring, coupling_n_per_m);
}

static rf_contact_sites *sites_rt(void *self) { return &((coulomb_law *)self)->sites; }

static const rf_contact_law_rt COULOMB_RT = {
    .prepare = prepare_rt,
    .begin = begin_rt,
    .respond = respond_rt,
    .stiffest = stiffest_rt,
    .suit = suit_rt,
    .reset = reset_rt,
    .sites = sites_rt,
};

const rf_contact_law_kind rf_coulomb_law_kind = {
    .name = "coulomb",
    .rt = &COULOMB_RT,
    .settings = SETTINGS,
    .settings_bytes = sizeof(coulomb_law),
    .state_bytes = sizeof(struct rf_contact_site_force),
    .state_offset = offsetof(coulomb_law, sites.of),
};
