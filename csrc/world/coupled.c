#include "world/coupled.h"

#include "base/alloc.h"
#include "linalg/dense_rt.h"

// Factors for the damping of contact, with whole and with shorter steps (coupled.h).
static const double WHOLE_STEPS = 3.0, SHORT_STEPS = 2.0;

static void free_body(rf_coupled_body *b) {
  rf_motion_free(b->whole);
  rf_free(b->added);
  rf_free(b->force);
  rf_free(b->increment);
  rf_free(b->response);
  rf_free(b->more);
}

static rf_status create_body(double period_s, rf_body *of, int32_t rows, rf_coupled_body *b,
                             rf_error *err) {
  rf_status st = RF_OK;
  rf_motion *body = of->motion;
  if (!body) return st;
  const int32_t ld = rf_dense_ld(body->n);
  b->of = of;
  b->body = body;
  RF_ALLOC(b->added, ld * ld);
  RF_ALLOC(b->force, ld);
  RF_ALLOC(b->increment, ld);
  RF_ALLOC(b->response, rows * ld);
  RF_ALLOC(b->more, ld);
  RF_TRY(rf_body_whole_step(of, period_s, &b->whole, err));
done:
  return st;
}

// Checks that a pair can be a part, and sets its blocks.
static rf_status create_part(const rf_world *world, int32_t k, const rf_coupled *c,
                             rf_coupled_part *p, rf_error *err) {
  rf_pair *pair = world->pair[k];
  rf_body *shell = pair->side[RF_PAIR_TREE].body;
  rf_status st = RF_OK;
  if (pair->side[RF_PAIR_FIELD].body != world->pair[0]->side[RF_PAIR_FIELD].body)
    return rf_fail(err, RF_ERR_ARG,
                   "a coupled world has one body with fields: that of pair %d is "
                   "another one than that of pair 0",
                   (int)k);
  if (!shell->kind->anchored)
    return rf_fail(err, RF_ERR_ARG,
                   "the shell of pair %d is on a %s body: a coupled world needs "
                   "shells whose frames are at rest",
                   (int)k, shell->kind->name);
  for (int32_t j = 0; j < k; ++j)
    if (shell->motion && world->pair[j]->side[RF_PAIR_TREE].body == shell)
      return rf_fail(err, RF_ERR_ARG,
                     "pairs %d and %d have the same shell's body: a coupled world "
                     "needs one each",
                     (int)j, (int)k);
  RF_TRY(rf_pair_ask(pair, RF_PAIR_JOINT, err));
  p->blocks = pair->blocks;
  RF_TRY(create_body(world->set.dt_s, shell, c->rows, &p->shell, err));
done:
  return st;
}

// Rejects bodies that deform in no pair: nothing would move them.
static rf_status check_bodies(const rf_world *world, rf_error *err) {
  for (int32_t b = 0; b < world->n_bodies; ++b) {
    const rf_body *body = world->body[b];
    bool paired = !body->motion;
    for (int32_t k = 0; k < world->n_pairs; ++k)
      for (int i = 0; i < 2; ++i) paired = paired || world->pair[k]->side[i].body == body;
    if (!paired)
      return rf_fail(err, RF_ERR_ARG, "body %d is in no pair: a coupled world needs it in one",
                     (int)b);
  }
  return RF_OK;
}

static void release(void *self) {
  rf_coupled *c = self;
  if (!c) return;
  for (int32_t k = 0; c->part && k < c->n_parts; ++k) free_body(&c->part[k].shell);
  free_body(&c->field);
  rf_free(c->part);
  rf_free(c->object);
  rf_free(c->pull);
  rf_free(c->motion);
  rf_free(c->mixed);
  rf_free(c);
}

static bool has_short_steps(const rf_world *world) {
  for (int32_t k = 0; k < world->n_bodies; ++k)
    if (world->body[k]->steps > 1) return true;
  return false;
}

static rf_status create(rf_world *world, void **self, rf_error *err) {
  rf_status st = RF_OK;
  rf_coupled *c = NULL;
  if (world->n_pairs < 1) return rf_fail(err, RF_ERR_ARG, "a coupled world needs a pair of bodies");
  RF_TRY(check_bodies(world, err));
  rf_body *field = world->pair[0]->side[RF_PAIR_FIELD].body;
  const int32_t r_field = rf_body_coordinates_rt(field);
  RF_ALLOC(c, 1);
  c->n_parts = world->n_pairs;
  c->damped = has_short_steps(world) ? SHORT_STEPS : WHOLE_STEPS;
  c->n_object = 6 + r_field;
  c->rows = rf_dense_ld(c->n_object);
  RF_ALLOC(c->part, c->n_parts);
  RF_ALLOC(c->object, c->rows * c->rows);
  RF_ALLOC(c->pull, c->rows);
  RF_ALLOC(c->motion, c->rows);
  RF_ALLOC(c->mixed, 6 * rf_dense_ld(r_field));
  RF_TRY(create_body(world->set.dt_s, field, 6, &c->field, err));
  for (int32_t k = 0; k < c->n_parts; ++k) RF_TRY(create_part(world, k, c, &c->part[k], err));
  *self = c;
  c = NULL;
done:
  release(c);
  return st;
}

const rf_solver_kind rf_solver_coupled = {.name = "coupled",
                                          .create = create,
                                          .release = release,
                                          .condense_rt = rf_coupled_condense_rt,
                                          .step_rt = rf_coupled_finish_rt,
                                          .prepare_rt = rf_coupled_prepare_rt};
