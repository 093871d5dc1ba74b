#include "haptic/coupled.h"

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

static rf_status create_body(double period_s, rf_motion *body, int64_t steps, int32_t rows,
                             rf_coupled_body *b, rf_error *err) {
  rf_status st = RF_OK;
  if (!body) return st;
  const int32_t ld = rf_dense_ld(body->n);
  b->body = body;
  b->steps = steps;
  RF_ALLOC(b->added, ld * ld);
  RF_ALLOC(b->force, ld);
  RF_ALLOC(b->increment, ld);
  RF_ALLOC(b->response, rows * ld);
  RF_ALLOC(b->more, ld);
  if (steps > 1) {
    rf_motion_settings set = body->set;
    set.dt_s = period_s;
    set.beta = 0.5;
    set.gamma = 1.0;
    RF_TRY(rf_motion_clone(body, &set, &b->whole, err));
  }
done:
  return st;
}

static rf_status create_part(double period_s, const rf_coupled *c, rf_motion *shell, int64_t steps,
                             rf_coupled_part *p, rf_error *err) {
  rf_status st = RF_OK;
  RF_TRY(create_body(period_s, shell, steps, c->rows, &p->shell, err));
  if (shell) {
    const int32_t ld = rf_dense_ld(shell->n);
    RF_ALLOC(p->blocks.mixed, c->rows * ld);
    RF_ALLOC(p->blocks.shell, ld * ld);
  }
  if (c->field.body) RF_ALLOC(p->blocks.object, c->rows * c->rows);
  p->in_contact = shell || c->field.body;
done:
  return st;
}

rf_status rf_coupled_create(double period_s, int32_t n_parts, rf_motion *const *shells,
                            const int64_t *steps, rf_motion *field, int64_t field_steps,
                            rf_coupled **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_coupled *c = NULL;
  const int32_t r_field = field ? field->n : 0;
  RF_ALLOC(c, 1);
  c->n_parts = n_parts;
  c->damped = field_steps > 1 ? SHORT_STEPS : WHOLE_STEPS;
  for (int32_t k = 0; k < n_parts; ++k)
    if (shells[k] && steps[k] > 1) c->damped = SHORT_STEPS;
  c->n_object = 6 + r_field;
  c->rows = rf_dense_ld(c->n_object);
  RF_ALLOC(c->object, c->rows * c->rows);
  RF_ALLOC(c->pull, c->rows);
  RF_ALLOC(c->motion, c->rows);
  RF_ALLOC(c->mixed, 6 * rf_dense_ld(r_field));
  RF_TRY(create_body(period_s, field, field_steps, 6, &c->field, err));
  for (int32_t k = 0; k < n_parts; ++k)
    RF_TRY(create_part(period_s, c, shells[k], steps[k], &c->part[k], err));
  *out = c;
  c = NULL;
done:
  rf_coupled_free(c);
  return st;
}

void rf_coupled_free(rf_coupled *c) {
  if (!c) return;
  for (int32_t k = 0; k < c->n_parts; ++k) {
    free_body(&c->part[k].shell);
    rf_free(c->part[k].blocks.object);
    rf_free(c->part[k].blocks.mixed);
    rf_free(c->part[k].blocks.shell);
  }
  free_body(&c->field);
  rf_free(c->object);
  rf_free(c->pull);
  rf_free(c->motion);
  rf_free(c->mixed);
  rf_free(c);
}
