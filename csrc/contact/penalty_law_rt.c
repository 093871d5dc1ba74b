#include "contact/penalty_law.h"

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

static void prepare_rt(void *self, int32_t n_points) {
  rf_contact_spring_prepare_rt(self, n_points);
}

static void respond_rt(void *self, const rf_contact_points *points, bool keep,
                       rf_contact_rows *rows) {
  (void)keep;
  rf_contact_spring_respond_rt(self, points, rows);
}

static double stiffest_rt(const void *self, double coupling_n_per_m, double depth_m) {
  (void)depth_m;
  return rf_contact_spring_stiffest_rt(self, coupling_n_per_m);
}

static void suit_rt(void *self, double coupling_n_per_m) {
  rf_contact_spring_suit_rt(self, coupling_n_per_m);
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
