#include "haptic/tick.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "haptic/tick_state.h"

void rf_tick_name(int32_t k, char name[RF_TICK_NAME]) {
  if (k < 0)
    (void)snprintf(name, RF_TICK_NAME, "field_simulation");
  else
    (void)snprintf(name, RF_TICK_NAME, "the simulation of contact %d", (int)k);
}

// Copies a simulation with its state and counts its steps in a cycle; k: of a contact; negative: of
// the field object
static rf_status copy_simulation(const rf_motion *from, int32_t k, double dt_s, rf_motion **out,
                                 int64_t *steps, rf_error *err) {
  const double ratio = dt_s / from->set.dt_s;
  const double whole = round(ratio);
  if (!(whole >= 1.0 && whole < 1e6 && fabs(ratio - whole) < 1e-6 * whole))
    return rf_fail(err, RF_ERR_ARG,
                   "a simulation has steps of %g s, of which no whole number makes a cycle of %g s",
                   from->set.dt_s, dt_s);
  *steps = (int64_t)whole;
  const rf_status st = rf_motion_clone(from, NULL, out, err);
  if (st < 0) return st;
  // its first step would end the session, after a force on the hand from this state
  const double displaced = from->system->operations->farthest(from->system, from->q);
  if (rf_motion_far_rt(from, displaced)) {
    char name[RF_TICK_NAME];
    rf_tick_name(k, name);
    return rf_fail(err, RF_ERR_ARG,
                   "%s displaces its body by up to %.3g m, more than %g times its length of %.3g "
                   "m: reset it",
                   name, displaced, RF_MOTION_FARTHEST, from->system->length_m);
  }
  (*out)->bounded = true;
  return RF_OK;
}

static rf_status check(const rf_tick_settings *set, int32_t n_contacts, rf_error *err) {
  if (!(isfinite(set->dt_s) && set->dt_s > 0.0))
    return rf_fail(err, RF_ERR_ARG, "dt must be positive and finite, got %g", set->dt_s);
  if (!(isfinite(set->budget_us) && set->budget_us >= 0.0))
    return rf_fail(err, RF_ERR_ARG, "budget_us must be finite and not negative, got %g",
                   set->budget_us);
  if (!(n_contacts >= 1 && n_contacts <= RF_TICK_MOST_CONTACTS))
    return rf_fail(err, RF_ERR_ARG, "a session takes 1 to %d contacts, got %d",
                   RF_TICK_MOST_CONTACTS, (int)n_contacts);
  if (!(isfinite(set->passivity.allowance_j) && set->passivity.allowance_j >= 0.0))
    return rf_fail(err, RF_ERR_ARG, "energy_allowance must be finite and not negative, got %g",
                   set->passivity.allowance_j);
  rf_status st =
      set->dynamic ? rf_dynamic_check(&set->dynamics, err) : rf_coupling_check(&set->coupling, err);
  if (st >= 0) st = rf_workspace_check(&set->workspace, err);
  if (st >= 0) st = rf_safety_check(&set->safety, err);
  return st;
}

// Prepares the joint solve; does nothing if no object deforms.
static rf_status couple(rf_tick *t, rf_error *err) {
  rf_motion *shells[RF_TICK_MOST_CONTACTS];
  int64_t steps[RF_TICK_MOST_CONTACTS];
  bool any = t->field != NULL;
  for (int32_t k = 0; k < t->n_parts; ++k) {
    shells[k] = t->part[k].shell;
    steps[k] = t->part[k].steps;
    any = any || shells[k];
  }
  return any ? rf_coupled_create(t->set.dt_s, t->n_parts, shells, steps, t->field, t->field_steps,
                                 &t->coupled, err)
             : RF_OK;
}

rf_status rf_tick_create(const rf_tick_settings *set, int32_t n_contacts,
                         const rf_tick_contact *contacts, const rf_motion *field, rf_tick **out,
                         rf_error *err) {
  rf_status st = check(set, n_contacts, err);
  if (st < 0) return st;
  rf_tick *t = NULL;
  RF_ALLOC(t, 1);
  t->set = *set;
  t->n_parts = n_contacts;
  rf_contact_grasp(contacts[0].contact, t->grasp_m);
  for (int32_t k = 0; k < n_contacts; ++k) {
    rf_tick_part *part = &t->part[k];
    const rf_contact *contact = contacts[k].contact;
    const int32_t r = rf_contact_coordinates(contact);
    const int32_t of_field = rf_contact_field_coordinates(contact);
    double grasp[3];
    rf_contact_grasp(contact, grasp);
    if (memcmp(grasp, t->grasp_m, sizeof grasp) != 0) {
      st = rf_fail(
          err, RF_ERR_ARG,
          "contact %d has the grasp point (%g, %g, %g), contact 0 (%g, %g, %g): the object "
          "is held at one point",
          (int)k, grasp[0], grasp[1], grasp[2], t->grasp_m[0], t->grasp_m[1], t->grasp_m[2]);
      goto done;
    }
    if (contacts[k].shell && contacts[k].shell->n != r) {
      st = rf_fail(err, RF_ERR_ARG,
                   "the simulation of contact %d has %d reduced coordinates, its shell has %d",
                   (int)k, (int)contacts[k].shell->n, (int)r);
      goto done;
    }
    if (of_field != 0 && of_field != (field ? field->n : 0)) {
      st = rf_fail(err, RF_ERR_ARG,
                   "the field of contact %d has %d reduced coordinates, its simulation has %d",
                   (int)k, (int)of_field, (int)(field ? field->n : 0));
      goto done;
    }
    RF_TRY(rf_contact_copy(contact, &part->contact, err));
    if (contacts[k].shell)
      RF_TRY(copy_simulation(contacts[k].shell, k, set->dt_s, &part->shell, &part->steps, err));
    RF_ALLOC(part->reduced, r + 1);
  }
  if (field) {
    RF_TRY(copy_simulation(field, -1, set->dt_s, &t->field, &t->field_steps, err));
    RF_ALLOC(t->field_reduced, field->n);
    RF_ALLOC(t->field_sum, field->n);
  }
  for (int32_t k = 0; field && k < n_contacts; ++k) {
    if (rf_contact_field_coordinates(contacts[k].contact) != 0) continue;
    st = rf_fail(err, RF_ERR_ARG,
                 "field_simulation is given, but the field of contact %d does not deform: it takes "
                 "a DeformedField",
                 (int)k);
    goto done;
  }
  if (set->coupled) RF_TRY(couple(t, err));
  rf_tick_set_coupling_rt(t, set);
  rf_tick_recentre_rt(t);
  rf_tick_begin_rt(t);
  rf_tick_pace_rt(t, INFINITY);
  *out = t;
  t = NULL;
done:
  rf_tick_free(t);
  return st;
}

void rf_tick_free(rf_tick *t) {
  if (!t) return;
  for (int32_t k = 0; k < t->n_parts; ++k) {
    rf_contact_free(t->part[k].contact);
    rf_motion_free(t->part[k].shell);
    rf_free(t->part[k].reduced);
  }
  rf_coupled_free(t->coupled);
  rf_motion_free(t->field);
  rf_free(t->field_reduced);
  rf_free(t->field_sum);
  rf_free(t);
}

const rf_motion *rf_tick_simulation(const rf_tick *t, int32_t k) {
  if (k < 0) return t->field;
  return k < t->n_parts ? t->part[k].shell : NULL;
}
