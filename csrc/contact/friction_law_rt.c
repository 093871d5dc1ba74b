#include "contact/friction_law.h"

#include <math.h>
#include <string.h>

#include "contact/law.h"
#include "contact/penalty_law.h"
#include "linalg/vec3.h"

typedef rf_friction_law_settings friction_law;

#define SETTING(name, field, kind, range) \
  {name, offsetof(friction_law, field), RF_SETTING_##kind, 0, RF_SETTING_##range, NULL}
static const rf_setting SETTINGS[] = {
    SETTING("mu", mu, DOUBLE, NOT_NEGATIVE),
    SETTING("compliance", compliance_m_per_n, DOUBLE, NOT_NEGATIVE),
    SETTING("sites", sites, INT32, ANY),
    SETTING("budget_us", budget_us, DOUBLE, POSITIVE),
    SETTING("stiffness", stiffness_n_per_m, DOUBLE, POSITIVE),
    SETTING("each", each, ARRAY, POSITIVE),
    SETTING("automatic", automatic, BOOL, ANY),
    {0},
};

static const rf_contact_law_rt *spring_rt(void) { return rf_penalty_law_kind.rt; }

static rf_penalty_law_settings spring_of(const friction_law *law) {
  return (rf_penalty_law_settings){law->stiffness_n_per_m, law->each, law->automatic};
}

static void prepare_rt(void *self, int32_t n_points) {
  friction_law *law = self;
  rf_penalty_law_settings spring = spring_of(law);
  spring_rt()->prepare(&spring, n_points);
  law->stiffness_n_per_m = spring.stiffness_n_per_m;
  law->cycle = 1;
}

static void begin_rt(void *self) { ++((friction_law *)self)->cycle; }

static void reset_rt(void *self) { ((friction_law *)self)->cycle += 2; }

static void respond_rt(void *self, const rf_contact_points *points, bool keep,
                       rf_contact_rows *rows) {
  const friction_law *law = self;
  if (!law->solved) {
    rf_penalty_law_settings spring = spring_of(law);
    spring_rt()->respond(&spring, points, keep, rows);
    return;
  }
  rows->n = 0;
  for (int32_t k = 0; k < points->n; ++k) {
    const rf_friction_point *at = law->state + points->place[k];
    const double size = rf_vec3_length(at->force);
    if (at->cycle != law->cycle || !(size > 0.0)) continue;
    rows->point[rows->n] = k;
    for (int i = 0; i < 3; ++i) rows->axis[3 * rows->n + i] = at->force[i] / size;
    rows->force[rows->n] = -size;
    rows->stiffness[rows->n++] = 0.0;
  }
}

static double stiffest_rt(const void *self, double coupling_n_per_m, double depth_m) {
  const rf_penalty_law_settings spring = spring_of(self);
  return spring_rt()->stiffest(&spring, coupling_n_per_m, depth_m);
}

static void suit_rt(void *self, double coupling_n_per_m) {
  friction_law *law = self;
  rf_penalty_law_settings spring = spring_of(law);
  spring_rt()->suit(&spring, coupling_n_per_m);
  law->stiffness_n_per_m = spring.stiffness_n_per_m;
  law->each = spring.each;
}

static const rf_contact_law_rt FRICTION_RT = {
    .prepare = prepare_rt,
    .begin = begin_rt,
    .respond = respond_rt,
    .stiffest = stiffest_rt,
    .suit = suit_rt,
    .reset = reset_rt,
};

const rf_contact_law_kind rf_friction_law_kind = {
    .name = "friction",
    .rt = &FRICTION_RT,
    .settings = SETTINGS,
    .settings_bytes = sizeof(friction_law),
    .state_bytes = sizeof(rf_friction_point),
    .state_offset = offsetof(friction_law, state),
};
