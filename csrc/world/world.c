#include "world/world.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

#define ROW(name) &rf_solver_##name,
static const rf_solver_kind *const SOLVERS[] = {RF_SOLVERS(ROW)};
#undef ROW

const rf_solver_kind *rf_solver_find(const char *name) {
  for (size_t k = 0; k < sizeof SOLVERS / sizeof *SOLVERS; ++k)
    if (strcmp(SOLVERS[k]->name, name) == 0) return SOLVERS[k];
  return NULL;
}

rf_status rf_world_create(const rf_world_settings *set, rf_world **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_world *w = NULL;
  *out = NULL;
  if (!(isfinite(set->dt_s) && set->dt_s > 0.0))
    return rf_fail(err, RF_ERR_ARG, "dt must be positive and finite, got %g", set->dt_s);
  if (!(set->most_bodies >= 1 && set->most_pairs >= 0))
    return rf_fail(err, RF_ERR_ARG, "a world needs room for a body, got %d bodies and %d pairs",
                   (int)set->most_bodies, (int)set->most_pairs);
  RF_ALLOC(w, 1);
  w->set = *set;
  w->solver = &rf_solver_split;
  RF_ALLOC(w->body, set->most_bodies);
  RF_ALLOC(w->pair, set->most_pairs);
  *out = w;
  w = NULL;
done:
  rf_world_free(w);
  return st;
}

static void free_pair(rf_pair *pair) {
  rf_contact *contact = pair->contact;
  rf_pair_free(pair);
  rf_contact_free(contact);
}

void rf_world_free(rf_world *w) {
  if (!w) return;
  if (w->solver->release) w->solver->release(w->solving);
  for (int32_t k = 0; k < w->n_pairs; ++k) free_pair(w->pair[k]);
  for (int32_t k = 0; k < w->n_bodies; ++k) rf_body_free(w->body[k]);
  rf_free(w->pair);
  rf_free(w->body);
  rf_free(w);
}

// Rejects what a solver that was made for the bodies and pairs of a world would leave out.
static rf_status complete(rf_error *err) {
  return rf_fail(
      err, RF_ERR_ARG,
      "a solver was chosen for the bodies and pairs of this world: add them before that");
}

rf_status rf_world_add_body(rf_world *w, const rf_body_settings *set, rf_body **out,
                            rf_error *err) {
  *out = NULL;
  if (w->solving) return complete(err);
  if (!(w->n_bodies < w->set.most_bodies))
    return rf_fail(err, RF_ERR_ARG, "the world has room for %d bodies", (int)w->set.most_bodies);
  const rf_status st = rf_body_create(set, w->set.dt_s, out, err);
  if (st >= 0) w->body[w->n_bodies++] = *out;
  return st;
}

static bool has(const rf_world *w, const rf_body *body) {
  for (int32_t k = 0; k < w->n_bodies; ++k)
    if (w->body[k] == body) return true;
  return false;
}

rf_status rf_world_add_pair(rf_world *w, const rf_contact *contact, rf_body *tree, rf_body *field,
                            rf_pair **out, rf_error *err) {
  rf_contact *copy = NULL;
  rf_pair *pair = NULL;
  *out = NULL;
  if (w->solving) return complete(err);
  if (!(w->n_pairs < w->set.most_pairs))
    return rf_fail(err, RF_ERR_ARG, "the world has room for %d pairs", (int)w->set.most_pairs);
  if (!has(w, tree) || !has(w, field))
    return rf_fail(err, RF_ERR_ARG, "both bodies of a pair must be of the same world");
  rf_status st = rf_contact_copy(contact, &copy, err);
  if (st < 0) return st;
  // fields that are not held have wrenches about the reference point of their body
  if (field->kind->anchored || field->kind->move_rt) rf_contact_set_grasp(copy, field->reference_m);
  RF_TRY(rf_pair_create(copy, tree, field, &pair, err));
  RF_TRY(rf_pair_ask(pair, RF_PAIR_OWN, err));
  for (int32_t k = 0; k < w->n_pairs && pair->deforms; ++k)
    if (w->pair[k]->side[RF_PAIR_FIELD].body == field)
      pair->deforms = !rf_contact_share_field(copy, w->pair[k]->contact);
  w->pair[w->n_pairs++] = *out = pair;
  pair = NULL;
  copy = NULL;
done:
  rf_pair_free(pair);
  rf_contact_free(copy);
  return st;
}

static rf_status ask_own(rf_world *w, rf_error *err) {
  rf_status st = RF_OK;
  for (int32_t k = 0; k < w->n_pairs && st >= 0; ++k)
    st = rf_pair_ask(w->pair[k], RF_PAIR_OWN, err);
  return st;
}

rf_status rf_world_solve_by(rf_world *w, const char *name, rf_error *err) {
  const rf_solver_kind *kind = rf_solver_find(name);
  if (!kind) return rf_fail(err, RF_ERR_ARG, "there is no solver named %s", name);
  if (w->solver->release) w->solver->release(w->solving);
  w->solver = &rf_solver_split;
  w->solving = NULL;
  rf_status st = ask_own(w, err);
  if (st >= 0) st = kind->create(w, &w->solving, err);
  if (st >= 0) w->solver = kind;
  return st;
}
