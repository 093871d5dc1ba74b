// In place of contacts and simulations, for tests of what is around them: a contact without force,
// unless a test gives it one, and no simulations.
#ifndef NO_CONTACT_H
#define NO_CONTACT_H

#include <string.h>

#include "world/coupled.h"

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
void rf_contact_grasp(const rf_contact *p, double grasp[3]) {
  (void)p;
  memset(grasp, 0, 3 * sizeof *grasp);
}
void rf_contact_set_budget_rt(rf_contact *p, double us) {
  (void)p;
  WHEN_GIVEN_TIME(us);
}
rf_status rf_contact_deform_field_rt(rf_contact *p, const double *q) {
  (void)p, (void)q;
  return RF_OK;
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
rf_status rf_coupled_create(double period, int32_t n, rf_motion *const *shells,
                            const int64_t *steps, rf_motion *field, int64_t field_steps,
                            rf_coupled **out, rf_error *err) {
  (void)period, (void)n, (void)shells, (void)steps, (void)field, (void)field_steps;
  (void)out, (void)err;
  return RF_ERR_ARG;
}
void rf_coupled_free(rf_coupled *c) { (void)c; }
const rf_contact_blocks *rf_coupled_blocks_rt(const rf_coupled *c, int32_t part) {
  (void)c, (void)part;
  return NULL;
}
rf_status rf_coupled_condense_rt(rf_coupled *c, bool again, double *const *shell_force,
                                 const double *field_force, rf_coupling_load *load) {
  (void)c, (void)again, (void)shell_force, (void)field_force, (void)load;
  return RF_ERR_ARG;
}
rf_status rf_coupled_finish_rt(rf_coupled *c, const double move[6]) {
  (void)c, (void)move;
  return RF_ERR_ARG;
}
void rf_coupled_prepare_rt(rf_coupled *c) { (void)c; }

#endif
