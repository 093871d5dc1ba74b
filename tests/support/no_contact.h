// In place of contacts and simulations, for tests of what is around them: a contact without force,
// unless a test gives it one, and no simulations.
#ifndef NO_CONTACT_H
#define NO_CONTACT_H

#include <string.h>

#include "linalg/dense_rt.h"
#include "no_free_body.h"
#include "world/world.h"

// hook: receives the time given to the contact
#ifndef WHEN_GIVEN_TIME
#define WHEN_GIVEN_TIME(us) (void)(us)
#endif
// hook: runs during the search
#ifndef WHILE_CONTACT_IS_SEARCHED
#define WHILE_CONTACT_IS_SEARCHED() (void)0
#endif

// hook: sets the result `out`
#ifndef WHAT_CONTACT_FINDS
#define WHAT_CONTACT_FINDS(out) (void)0
#endif

rf_status rf_contact_copy(const rf_contact *from, rf_contact **out, rf_error *err) {
  (void)from, (void)err;
  *out = NULL;
  return RF_OK;
}
void rf_contact_free(rf_contact *p) { (void)p; }
void rf_contact_suit_coupling_rt(rf_contact *p, double stiffness) { (void)p, (void)stiffness; }
void rf_contact_ask_clearance_rt(rf_contact *p, bool asked) { (void)p, (void)asked; }
int32_t rf_contact_coordinates(const rf_contact *p) { return p ? 1 : 0; }
int32_t rf_contact_field_coordinates(const rf_contact *p) { return p ? 1 : 0; }
int32_t rf_contact_bending_sites(const rf_contact *p) {
  (void)p;
  return 0;
}
int32_t rf_contact_bending_rt(const rf_contact *p, int32_t most, int32_t *point, float *force) {
  (void)p, (void)most, (void)point, (void)force;
  return 0;
}
void rf_contact_grasp(const rf_contact *p, double grasp[3]) {
  (void)p;
  memset(grasp, 0, 3 * sizeof *grasp);
}
void rf_contact_set_grasp(rf_contact *p, const double grasp[3]) { (void)p, (void)grasp; }
void rf_contact_forget_rt(rf_contact *p) { (void)p; }
void rf_contact_set_budget_rt(rf_contact *p, double us) {
  (void)p;
  WHEN_GIVEN_TIME(us);
}
rf_status rf_contact_deform_field_rt(rf_contact *p, const double *q) {
  (void)p, (void)q;
  return RF_OK;
}
bool rf_contact_share_field(rf_contact *p, const rf_contact *with) {
  (void)p, (void)with;
  return false;
}
rf_status rf_contact_evaluate_rt(rf_contact *p, const rf_pose *pose, const double *q,
                                 int32_t most_level, rf_contact_result *out, double *reduced,
                                 double *field_reduced, const rf_contact_blocks *blocks) {
  (void)p, (void)pose, (void)q, (void)most_level, (void)reduced, (void)field_reduced, (void)blocks;
  memset(out, 0, sizeof *out);
  WHILE_CONTACT_IS_SEARCHED();
  WHAT_CONTACT_FINDS(out);
  return RF_OK;
}
rf_status rf_motion_clone(const rf_motion *from, const rf_motion_settings *set, rf_motion **out,
                          rf_error *err) {
  (void)from, (void)set, (void)out, (void)err;
  return RF_ERR_ARG;
}
void rf_motion_free(rf_motion *m) { (void)m; }
rf_status rf_motion_explain(const rf_motion *m, const char *who, const char *remedy,
                            rf_error *err) {
  (void)m, (void)who, (void)remedy, (void)err;
  return RF_ERR_DIVERGED;
}
rf_status rf_motion_step_rt(rf_motion *m, const double *force, int64_t n) {
  (void)m, (void)force, (void)n;
  return RF_ERR_ARG;
}
rf_status rf_motion_step_added_rt(rf_motion *m, const double *force, const double *stiffness) {
  (void)m, (void)force, (void)stiffness;
  return RF_ERR_ARG;
}
void rf_dense_multiply_rt(rf_simd simd, int32_t n, const double *a, int32_t ld, const double *x,
                          double *y) {
  (void)simd, (void)n, (void)a, (void)ld, (void)x, (void)y;
}
int32_t rf_contact_touches_rt(const rf_contact *p, int32_t first, rf_contact_touch *out) {
  (void)p, (void)first, (void)out;
  return 0;
}
const rf_solver_kind rf_solver_coupled = {.name = "coupled"};
const rf_solver_kind rf_solver_frictional = {.name = "frictional"};
const rf_scheme rf_scheme_newmark = {.name = "newmark"};
bool rf_contact_has_sites(const rf_contact *p) {
  (void)p;
  return false;
}

#endif
