#include "integrator/reduced_motion.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "integrator/motion.h"
#include "linalg/dense_rt.h"

static void layout(rf_reduced_motion *m, int32_t r, bool implicit, bool strain_rate, rf_arena *a) {
  m->ld = rf_dense_ld(r);
  const size_t ld = (size_t)m->ld, square = ld * ld;
  double **const matrices[] = {&m->mass, &m->stiffness};
  double **const vectors[] = {&m->q,     &m->qdot,    &m->qddot,    &m->x,        &m->xdot,
                              &m->xddot, &m->applied, &m->force,    &m->residual, &m->product,
                              &m->way,   &m->load,    &m->increment};
  for (size_t i = 0; i < sizeof matrices / sizeof *matrices; ++i)
    *matrices[i] = rf_arena_take(a, square, sizeof(double));
  m->system = rf_arena_take(a, implicit ? square : 0, sizeof(double));
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; ++i)
    *vectors[i] = rf_arena_take(a, ld, sizeof(double));
  m->polynomial_work = rf_arena_take(a, rf_polynomial_work_bytes(r), 1);
  m->damping = rf_arena_take(a, strain_rate ? square : 0, sizeof(double));
  m->strain_rate_work = rf_arena_take(a, strain_rate ? rf_damping_work_bytes(r) : 0, 1);
}

rf_status rf_reduced_motion_create(const rf_reduced *model, bool implicit, double damping_stiff,
                                   const rf_damping *strain_rate, const double *load,
                                   rf_reduced_motion **out, rf_error *err) {
  const int32_t r = model->r;
  *out = NULL;
  const rf_status st = rf_damping_fits(strain_rate, model, err);
  if (st < 0) return st;
  rf_reduced_motion sizes;
  rf_arena count = {0};
  layout(&sizes, r, implicit, strain_rate != NULL, &count);
  // the struct first, its arrays behind it
  const size_t head = (sizeof(rf_reduced_motion) + 63) / 64 * 64;
  rf_reduced_motion *m = rf_alloc(head + count.used, 1);
  if (!m)
    return rf_fail(err, RF_ERR_MEMORY, "out of memory: a simulation of r = %d needs %zu bytes", r,
                   head + count.used);
  rf_arena carve = {.base = (char *)m + head};
  layout(m, r, implicit, strain_rate != NULL, &carve);
  m->model = model;
  m->damping_stiff = damping_stiff;
  m->strain_rate = strain_rate;
  if (load) memcpy(m->load, load, (size_t)r * sizeof(double));
  for (int32_t i = 0; i < r; ++i)
    memcpy(m->mass + i * m->ld, model->mass + i * r, (size_t)r * sizeof(double));
  *out = m;
  return RF_OK;
}

void rf_reduced_motion_start(rf_reduced_motion *m, const double *q, const double *qdot,
                             const double *qddot) {
  m->prepared = false;
  const size_t bytes = (size_t)m->model->r * sizeof(double);
  const double *const given[] = {q, qdot, qddot};
  double *const to[] = {m->x, m->xdot, m->xddot};
  for (int i = 0; i < 3; ++i)
    if (given[i])
      memcpy(to[i], given[i], bytes);
    else
      memset(to[i], 0, bytes);
  rf_reduced_motion_apply_rt(m, NULL);
}

rf_status rf_reduced_motion_keep(rf_reduced_motion *m, rf_error *err) {
  const int32_t r = m->model->r;
  const size_t bytes = (size_t)r * sizeof(double);
  for (int32_t i = 0; i < r; ++i)
    if (!(isfinite(m->x[i]) && isfinite(m->xdot[i]) && isfinite(m->xddot[i])))
      return rf_motion_not_finite(err);
  memcpy(m->q, m->x, bytes);
  memcpy(m->qdot, m->xdot, bytes);
  memcpy(m->qddot, m->xddot, bytes);
  return RF_OK;
}
