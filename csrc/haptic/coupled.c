#include "haptic/coupled.h"

#include "base/alloc.h"
#include "linalg/dense_rt.h"

rf_status rf_coupled_create(rf_newmark *shell, rf_coupled **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_coupled *c = NULL;
  const int32_t ld = rf_dense_ld(shell->model->r);
  RF_ALLOC(c, 1);
  c->shell = shell;
  RF_ALLOC(c->blocks.wrench_by_q, 8 * ld);
  RF_ALLOC(c->blocks.reduced_by_x, 8 * ld);
  RF_ALLOC(c->blocks.reduced_by_q, ld * ld);
  RF_ALLOC(c->stiffness, ld * ld);
  RF_ALLOC(c->increment, ld);
  RF_ALLOC(c->response, 6 * ld);
  RF_ALLOC(c->more, ld);
  *out = c;
  c = NULL;
done:
  rf_coupled_free(c);
  return st;
}

void rf_coupled_free(rf_coupled *c) {
  if (!c) return;
  rf_free(c->blocks.wrench_by_q);
  rf_free(c->blocks.reduced_by_x);
  rf_free(c->blocks.reduced_by_q);
  rf_free(c->stiffness);
  rf_free(c->increment);
  rf_free(c->response);
  rf_free(c->more);
  rf_free(c);
}
