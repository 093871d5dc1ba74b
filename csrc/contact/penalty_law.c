#include "contact/penalty_law.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

static void release(void *self) {
  rf_penalty_law *law = self;
  if (!law) return;
  rf_free(law->each);
  rf_free(law);
}

// `each`: by place already, or NULL
static rf_status make(double stiffness, bool automatic, int32_t n, const double *each, void **self,
                      rf_error *err) {
  rf_status st = RF_OK;
  rf_penalty_law *law = NULL;
  RF_ALLOC(law, 1);
  law->stiffness_n_per_m = stiffness;
  law->automatic = automatic;
  law->n_points = n;
  if (each) {
    RF_ALLOC(law->each, n);
    memcpy(law->each, each, (size_t)n * sizeof *each);
    law->by_point = true;
  }
  *self = law;
  law = NULL;
done:
  release(law);
  return st;
}

static rf_status create(const void *settings, const rf_point_tree *tree, void **self,
                        rf_error *err) {
  const rf_penalty_law_settings *set = settings;
  const int32_t n = tree->n_points;
  *self = NULL;
  if (!(isfinite(set->stiffness_n_per_m) && set->stiffness_n_per_m > 0.0))
    return rf_fail(err, RF_ERR_ARG, "stiffness must be finite and positive, got %g",
                   set->stiffness_n_per_m);
  for (int32_t k = 0; set->each && k < n; ++k)
    if (!(isfinite(set->each[k]) && set->each[k] > 0.0))
      return rf_fail(err, RF_ERR_ARG, "stiffness[%d] must be finite and positive, got %g", k,
                     set->each[k]);
  const rf_status st = make(set->stiffness_n_per_m, set->automatic, n, set->each, self, err);
  rf_penalty_law *law = *self;
  if (!law || !law->each) return st;
  law->stiffness_n_per_m = 0.0;
  for (int32_t k = 0; k < n; ++k) {
    law->each[k] = set->each[tree->point[k]];
    law->stiffness_n_per_m = fmax(law->stiffness_n_per_m, law->each[k]);
  }
  return st;
}

static rf_status copy(const void *from, void **self, rf_error *err) {
  const rf_penalty_law *law = from;
  const double *each = law->by_point ? law->each : NULL;
  return make(law->stiffness_n_per_m, law->automatic, law->n_points, each, self, err);
}

#define SETTING(name, field, kind) RF_SETTING(rf_penalty_law_settings, name, field, kind, 0)
static const rf_setting SETTINGS[] = {
    SETTING("stiffness", stiffness_n_per_m, DOUBLE),
    SETTING("each", each, ARRAY),
    SETTING("automatic", automatic, BOOL),
    {0},
};

const rf_contact_law_kind rf_penalty_law_kind = {
    .name = "penalty",
    .rt = &rf_penalty_law_rt,
    .settings = SETTINGS,
    .settings_bytes = sizeof(rf_penalty_law_settings),
    .create = create,
    .copy = copy,
    .release = release,
};
