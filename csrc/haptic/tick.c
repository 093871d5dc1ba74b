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

rf_status rf_tick_check(const rf_tick_settings *set, rf_error *err) {
  if (!(isfinite(set->dt_s) && set->dt_s > 0.0))
    return rf_fail(err, RF_ERR_ARG, "dt must be positive and finite, got %g", set->dt_s);
  if (!(isfinite(set->budget_us) && set->budget_us >= 0.0))
    return rf_fail(err, RF_ERR_ARG, "budget_us must be finite and not negative, got %g",
                   set->budget_us);
  if (!(isfinite(set->passivity.allowance_j) && set->passivity.allowance_j >= 0.0))
    return rf_fail(err, RF_ERR_ARG, "energy_allowance must be finite and not negative, got %g",
                   set->passivity.allowance_j);
  const rf_status st = rf_workspace_check(&set->workspace, err);
  return st < 0 ? st : rf_safety_check(&set->safety, err);
}

static rf_status check(const rf_tick_settings *set, int32_t n_contacts, rf_error *err) {
  if (!(n_contacts >= 1 && n_contacts <= RF_TICK_MOST_CONTACTS))
    return rf_fail(err, RF_ERR_ARG, "a session takes 1 to %d contacts, got %d",
                   RF_TICK_MOST_CONTACTS, (int)n_contacts);
  const rf_status st =
      set->dynamic ? rf_dynamic_check(&set->dynamics, err) : rf_coupling_check(&set->coupling, err);
  return st < 0 ? st : rf_tick_check(set, err);
}

// True if the field of a contact is not that of the held object.
static bool apart(const rf_tick_contact *contact) { return contact->field || contact->grounded; }

// Checks contact k, with the simulations of its shell and of the field object (nullable).
static rf_status check_contact(const rf_tick_contact *contacts, int32_t k, const rf_motion *field,
                               rf_error *err) {
  const rf_contact *contact = contacts[k].contact;
  const rf_motion *shell = contacts[k].shell;
  const int32_t r = rf_contact_coordinates(contact),
                of_field = rf_contact_field_coordinates(contact);
  double grasp[3], first[3];
  rf_contact_grasp(contacts[0].contact, first);
  rf_contact_grasp(contact, grasp);
  if (!apart(&contacts[k]) && memcmp(grasp, first, sizeof grasp) != 0)
    return rf_fail(err, RF_ERR_ARG,
                   "contact %d has the grasp point (%g, %g, %g), contact 0 (%g, %g, %g): all "
                   "contacts need the same grasp point",
                   (int)k, grasp[0], grasp[1], grasp[2], first[0], first[1], first[2]);
  if (shell && shell->n != r)
    return rf_fail(err, RF_ERR_ARG,
                   "the simulation of contact %d has %d reduced coordinates, its shell has %d",
                   (int)k, (int)shell->n, (int)r);
  if (apart(&contacts[k])) return RF_OK;
  if (of_field != 0 && of_field != (field ? field->n : 0))
    return rf_fail(err, RF_ERR_ARG,
                   "the field of contact %d has %d reduced coordinates, its simulation has %d",
                   (int)k, (int)of_field, (int)(field ? field->n : 0));
  return RF_OK;
}

static rf_status check_field(const rf_tick_contact *contacts, int32_t n, const rf_motion *field,
                             rf_error *err) {
  for (int32_t k = 0; field && k < n; ++k)
    if (!apart(&contacts[k]) && rf_contact_field_coordinates(contacts[k].contact) == 0)
      return rf_fail(err, RF_ERR_ARG,
                     "field_simulation is given, but the field of contact %d does not deform: make "
                     "the contact with a DeformedField",
                     (int)k);
  return RF_OK;
}

// Checks a free body with the shell or the field of contact k, of r coordinates.
static rf_status check_free(const rf_tick_settings *set, const rf_free_body *free, int32_t r,
                            const char *part, int32_t k, rf_error *err) {
  if (!free) return RF_OK;
  if (!(fabs(free->set.deformation.dt_s - set->dt_s) <= 1e-9 * set->dt_s))
    return rf_fail(err, RF_ERR_ARG,
                   "the FreeBody of contact %d has steps of %g s, a cycle %g s: make it with dt=%g",
                   (int)k, free->set.deformation.dt_s, set->dt_s, set->dt_s);
  if (r != 0 && r != free->model->r)
    return rf_fail(err, RF_ERR_ARG,
                   "the FreeBody of contact %d has %d reduced coordinates, its %s has %d", (int)k,
                   (int)free->model->r, part, (int)r);
  return RF_OK;
}

static rf_status check_bodies(const rf_tick_settings *set, const rf_tick_contact *contact,
                              int32_t k, rf_error *err) {
  const rf_contact *of = contact->contact;
  const char *why = contact->free       ? "has a FreeBody with its shell"
                    : contact->field    ? "has a FreeBody with its field"
                    : contact->grounded ? "has a field at rest"
                                        : NULL;
  if (why && !rf_contact_has_sites(of))
    return rf_fail(err, RF_ERR_ARG,
                   "contact %d %s, which needs a FrictionContact (mu=0 has no friction)", (int)k,
                   why);
  const rf_status st = check_free(set, contact->free, rf_contact_coordinates(of), "shell", k, err);
  if (st < 0) return st;
  return check_free(set, contact->field, rf_contact_field_coordinates(of), "field", k, err);
}

// Adds a body; k: with the shell of that contact; negative: the field object.
static rf_status add_body(rf_tick *t, int32_t k, const rf_motion *motion, const double *reference,
                          rf_body **out, rf_error *err) {
  char name[RF_TICK_NAME];
  rf_body_settings set = {.name = name, .pose = {.quaternion = {1.0}}, .motion = motion};
  rf_tick_name(k, name);
  set.kind = k < 0 ? "held" : motion ? "reduced" : "fixed";
  if (reference) memcpy(set.reference_m, reference, sizeof set.reference_m);
  return rf_world_add_body(t->world, &set, out, err);
}

// Free bodies of a session, and their copies in its world.
typedef struct free_bodies {
  int32_t n;
  const rf_free_body *of[2 * RF_TICK_MOST_CONTACTS];
  rf_body *body[2 * RF_TICK_MOST_CONTACTS];
} free_bodies;

// Finds the copy of the free body of contact k, or adds it.
static rf_status add_free(rf_tick *t, int32_t k, const rf_free_body *free, free_bodies *all,
                          rf_body **out, rf_error *err) {
  char name[RF_TICK_NAME];
  const rf_body_settings set = {
      .kind = "free", .name = name, .pose = {.quaternion = {1.0}}, .of_kind = free};
  rf_tick_name(k, name);
  for (int32_t j = 0; j < all->n; ++j)
    if (all->of[j] == free) {
      *out = all->body[j];
      return RF_OK;
    }
  const rf_status st = rf_world_add_body(t->world, &set, out, err);
  if (st < 0) return st;
  all->of[all->n] = free;
  all->body[all->n++] = *out;
  return RF_OK;
}

// Adds the bodies with the shells.
static rf_status add_shells(rf_tick *t, int32_t n, const rf_tick_contact *contacts,
                            free_bodies *all, rf_body **shell, rf_error *err) {
  rf_status st = RF_OK;
  for (int32_t k = 0; k < n && st >= 0; ++k)
    st = contacts[k].free ? add_free(t, k, contacts[k].free, all, &shell[k], err)
                          : add_body(t, k, contacts[k].shell, NULL, &shell[k], err);
  return st;
}

// Adds the bodies with the fields: the held one, free ones, and one for all that are at rest.
static rf_status add_fields(rf_tick *t, int32_t n, const rf_tick_contact *contacts,
                            free_bodies *all, rf_body **field, rf_error *err) {
  rf_body *ground = NULL;
  rf_status st = RF_OK;
  for (int32_t k = 0; k < n && st >= 0; ++k) {
    if (contacts[k].field) {
      st = add_free(t, k, contacts[k].field, all, &field[k], err);
    } else if (!contacts[k].grounded) {
      field[k] = t->object;
    } else {
      if (!ground) st = add_body(t, RF_TICK_MOST_CONTACTS, NULL, NULL, &ground, err);
      field[k] = ground;
    }
  }
  return st;
}

static rf_status fill_world(rf_tick *t, int32_t n, const rf_tick_contact *contacts,
                            const rf_motion *field, rf_error *err) {
  const rf_world_settings set = {.dt_s = t->set.dt_s, .most_bodies = 2 * n + 2, .most_pairs = n};
  rf_status st = RF_OK;
  rf_body *shell[RF_TICK_MOST_CONTACTS], *with[RF_TICK_MOST_CONTACTS];
  free_bodies all = {0};
  rf_pair *pair;
  double grasp[3];
  bool any = field != NULL, friction = false;
  rf_contact_grasp(contacts[0].contact, grasp);
  RF_TRY(rf_world_create(&set, &t->world, err));
  for (int32_t k = 0; k < n; ++k) {
    RF_TRY(check_contact(contacts, k, field, err));
    RF_TRY(check_bodies(&t->set, &contacts[k], k, err));
    any = any || contacts[k].shell || contacts[k].free;
    friction = friction || rf_contact_has_sites(contacts[k].contact);
  }
  RF_TRY(check_field(contacts, n, field, err));
  RF_TRY(add_shells(t, n, contacts, &all, shell, err));
  RF_TRY(add_body(t, -1, field, grasp, &t->object, err));
  RF_TRY(add_fields(t, n, contacts, &all, with, err));
  for (int32_t k = 0; k < n; ++k)
    RF_TRY(rf_world_add_pair(t->world, contacts[k].contact, shell[k], with[k], &pair, err));
  t->deforms = any;
  const char *joint = t->set.coupled && any ? "coupled" : "split";
  RF_TRY(rf_world_solve_by(t->world, friction ? "frictional" : joint, err));
done:
  return st;
}

static void begin(rf_tick *t) {
  rf_tick_recentre_rt(t);
  rf_tick_begin_rt(t);
  rf_tick_pace_rt(t, INFINITY);
}

rf_status rf_tick_create(const rf_tick_settings *set, int32_t n_contacts,
                         const rf_tick_contact *contacts, const rf_motion *field, rf_tick **out,
                         rf_error *err) {
  rf_status st = check(set, n_contacts, err);
  if (st < 0) return st;
  rf_tick *t = NULL;
  RF_ALLOC(t, 1);
  t->set = *set;
  t->answer = &rf_tick_coupled;
  RF_TRY(fill_world(t, n_contacts, contacts, field, err));
  rf_tick_set_coupling_rt(t, set);
  begin(t);
  *out = t;
  t = NULL;
done:
  rf_tick_free(t);
  return st;
}

rf_status rf_tick_create_touch(const rf_tick_settings *set, const rf_touch *touch, rf_tick **out,
                               rf_error *err) {
  const rf_world_settings empty = {.dt_s = set->dt_s, .most_bodies = 1};
  rf_status st = rf_tick_check(set, err);
  if (st < 0) return st;
  rf_tick *t = NULL;
  RF_ALLOC(t, 1);
  t->set = *set;
  t->answer = &rf_tick_touched;
  RF_TRY(rf_world_create(&empty, &t->world, err));
  RF_TRY(add_body(t, -1, NULL, NULL, &t->object, err));
  RF_TRY(rf_touch_copy(touch, &t->touch, err));
  begin(t);
  *out = t;
  t = NULL;
done:
  rf_tick_free(t);
  return st;
}

void rf_tick_free(rf_tick *t) {
  if (!t) return;
  rf_world_free(t->world);
  rf_touch_free(t->touch);
  rf_free(t);
}

const rf_motion *rf_tick_simulation(const rf_tick *t, int32_t k) {
  if (k < 0) return t->object->motion;
  return k < t->world->n_pairs ? rf_tick_shell_rt(t, k)->motion : NULL;
}

const rf_touch *rf_tick_touch(const rf_tick *t) { return t->touch; }

const rf_free_body *rf_tick_free_body(const rf_tick *t, int32_t k) {
  if (k < 0 || k >= t->world->n_pairs) return NULL;
  return rf_body_free_body(rf_tick_shell_rt(t, k));
}
