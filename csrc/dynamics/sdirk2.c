// SDIRK2 (A21 (10)): with g = 1 - 1/sqrt(2), the trapezoidal rule over 2 g h, then a stage from
// u + sqrt(2)/(4 g) (u_g - u).  Second order, L-stable.  Both stages have the matrix
// M + g h C + (g h)^2 K, which may be that of the state for both: one factor a step, and the order
// stays.
#include <math.h>

#include "dynamics/stages.h"

typedef struct sdirk2_settings {
  int32_t jacobians;  // 1: the second stage begins with the matrix of the first; 2: with its own
} sdirk2_settings;

static rf_status check(const void *settings, rf_error *err) {
  const sdirk2_settings *set = settings;
  if (set->jacobians == 1 || set->jacobians == 2) return RF_OK;
  return rf_fail(err, RF_ERR_ARG, "jacobians must be 1 or 2, got %d", set->jacobians);
}

static void tabulate(const void *settings, double h, rf_step_kind kind, int32_t k, rf_stage *out) {
  const sdirk2_settings *set = settings;
  const double root = sqrt(2.0), g = 1.0 - 1.0 / root;
  (void)kind;
  if (k == 0) {
    rf_scheme_trapezoidal(g * h, out);
  } else {
    rf_scheme_continue(g * h, root / (4.0 * g), out);
    out->same_matrix = set->jacobians == 1;
  }
}

static const rf_setting SETTINGS[] = {RF_SETTING(sdirk2_settings, "jacobians", jacobians, INT32, 0),
                                      {0}};

const rf_scheme rf_scheme_sdirk2 = {.name = "sdirk2",
                                    .settings = SETTINGS,
                                    .settings_bytes = sizeof(sdirk2_settings),
                                    .check = check,
                                    .stages = 2,
                                    .tabulate = tabulate};
