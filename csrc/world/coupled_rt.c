#include "world/coupled.h"

#include <string.h>

#include "linalg/dense_rt.h"

static double dot(int32_t n, const double *x, const double *y) {
  double even = 0.0, odd = 0.0;
  for (int32_t i = 0; i < n; i += 2) {
    even += x[i] * y[i];
    odd += x[i + 1] * y[i + 1];
  }
  return even + odd;
}

static int32_t ld_of(const rf_coupled_body *b) { return b->body ? rf_dense_ld(b->body->n) : 0; }

static rf_motion *stepped(const rf_coupled_body *b) { return b->whole ? b->whole : b->body; }

// ---- elimination

// Adds rows^T weights to `sum`; `rows`: n rows of a matrix.
static void add_rows(int32_t n, int32_t ld, const double *weights, const double *rows,
                     double *sum) {
  for (int32_t a = 0; a < n; ++a)
    for (int32_t i = 0; i < ld; ++i) sum[i] += weights[a] * rows[a * ld + i];
}

// Computes a and Z of a body with b->force and b->added; `rows`: B^T.
static rf_status eliminate(rf_coupled_body *b, int32_t n, const double *rows) {
  const int32_t ld = ld_of(b);
  rf_status st = rf_motion_linearize_rt(stepped(b), b->force, b->added, b->increment);
  for (int32_t a = 0; a < n && st >= 0; ++a)
    st = rf_motion_solve_rt(stepped(b), rows + a * ld, b->response + a * ld);
  return st;
}

// Adds the response of a shell to the force and gradient on the object.
static rf_status eliminate_shell(rf_coupled *c, rf_coupled_part *p) {
  rf_coupled_body *b = &p->shell;
  const int32_t r = b->body->n, ld = ld_of(b);
  memcpy(b->force, b->of->reduced, (size_t)r * sizeof *b->force);
  for (int32_t i = 0; i < ld * ld; ++i) b->added[i] = -p->blocks.shell[i];
  const rf_status st = eliminate(b, c->n_object, p->blocks.mixed);
  if (st < 0) return st;
  for (int32_t i = 0; i < c->n_object; ++i) {
    const double *row = p->blocks.mixed + i * ld;
    c->pull[i] += dot(ld, row, b->increment);
    for (int32_t j = 0; j < c->n_object; ++j)
      c->object[i * c->rows + j] += dot(ld, row, b->response + j * ld);
  }
  return RF_OK;
}

// Scales the blocks of a contact.
static void scale(rf_coupled *c, rf_coupled_part *p, double by) {
  const int32_t ld = ld_of(&p->shell), rows = c->rows;
  double *const block[] = {p->blocks.object, p->blocks.mixed, p->blocks.shell};
  const int32_t size[] = {rows * rows, rows * ld, ld * ld};
  for (int b = 0; b < 3; ++b)
    for (int32_t i = 0; block[b] && i < size[b]; ++i) block[b][i] *= by;
}

static void begin_object(rf_coupled *c, bool again, const double gradient[36]) {
  const int32_t rows = c->rows;
  const double damped = again ? 1.0 : c->damped;
  for (int32_t k = 0; k < c->n_parts; ++k) scale(c, &c->part[k], again ? 1.0 / c->damped : damped);
  memset(c->pull, 0, (size_t)rows * sizeof *c->pull);
  memset(c->object, 0, (size_t)(rows * rows) * sizeof *c->object);
  if (c->field.body) {
    for (int32_t k = 0; k < c->n_parts; ++k)
      for (int32_t i = 0; i < rows * rows; ++i) c->object[i] += c->part[k].blocks.object[i];
    return;
  }
  for (int32_t i = 0; i < 6; ++i)
    for (int32_t j = 0; j < 6; ++j) c->object[i * rows + j] = damped * gradient[6 * i + j];
}

// Eliminates the coordinates of the field object from the force and gradient on it.
static rf_status eliminate_field(rf_coupled *c) {
  rf_coupled_body *b = &c->field;
  const int32_t r = b->body->n, ld = ld_of(b), rows = c->rows;
  for (int32_t i = 0; i < r; ++i) b->force[i] = b->of->reduced[i] + c->pull[6 + i];
  for (int32_t i = 0; i < r; ++i)
    for (int32_t j = 0; j < r; ++j) b->added[i * ld + j] = -c->object[(6 + i) * rows + 6 + j];
  for (int32_t i = 0; i < 6; ++i)
    memcpy(c->mixed + i * ld, c->object + i * rows + 6, (size_t)r * sizeof *c->mixed);
  const rf_status st = eliminate(b, 6, c->mixed);
  if (st < 0) return st;
  for (int32_t i = 0; i < 6; ++i) {
    c->pull[i] += dot(ld, c->mixed + i * ld, b->increment);
    for (int32_t j = 0; j < 6; ++j)
      c->object[i * rows + j] += dot(ld, c->mixed + i * ld, b->response + j * ld);
  }
  return RF_OK;
}

rf_status rf_coupled_condense_rt(void *self, rf_world *world, bool again, double wrench[6],
                                 double gradient[36]) {
  rf_coupled *c = self;
  rf_status st = RF_OK;
  begin_object(c, again, gradient);
  for (int32_t k = 0; k < c->n_parts && st >= 0; ++k)
    if (c->part[k].shell.body) st = eliminate_shell(c, &c->part[k]);
  if (c->field.body && st >= 0) st = eliminate_field(c);
  if (st < 0) return st;
  for (int32_t i = 0; i < 6; ++i) wrench[i] += c->pull[i];
  for (int32_t i = 0; i < 6; ++i)
    memcpy(gradient + 6 * i, c->object + i * c->rows, 6 * sizeof(double));
  world->joint = true;
  return RF_OK;
}

// ---- steps

// Makes the step under b->more; b->increment becomes the change of the coordinates.
static rf_status finish_body(rf_coupled_body *b) {
  const int32_t r = b->body->n;
  for (int32_t i = 0; i < r; ++i) b->increment[i] = -b->body->q[i];
  // the force by the object's motion grows evenly over shorter steps, the one by the body's own
  // motion follows that motion
  const rf_status st =
      b->whole ? rf_body_follow_rt(b->body, b->of->steps, b->force, b->more, b->added, b->response)
               : rf_motion_finish_rt(b->body, b->more);
  for (int32_t i = 0; i < r; ++i) b->increment[i] += b->body->q[i];
  return st;
}

static rf_status move_body(rf_coupled_body *b, int32_t n, const double *motion,
                           const double *rows) {
  const int32_t ld = ld_of(b);
  memset(b->more, 0, (size_t)ld * sizeof *b->more);
  add_rows(n, ld, motion, rows, b->more);
  return finish_body(b);
}

rf_status rf_coupled_finish_rt(void *self, rf_world *world, const double move[6]) {
  rf_coupled *c = self;
  rf_status st = RF_OK;
  (void)world;
  memcpy(c->motion, move, 6 * sizeof *move);
  if (c->field.body) {
    st = move_body(&c->field, 6, move, c->mixed);
    memcpy(c->motion + 6, c->field.increment, (size_t)c->field.body->n * sizeof *c->motion);
  }
  for (int32_t k = 0; k < c->n_parts && st >= 0; ++k)
    if (c->part[k].shell.body)
      st = move_body(&c->part[k].shell, c->n_object, c->motion, c->part[k].blocks.mixed);
  return st;
}

static void prepare_body(rf_coupled_body *b) {
  if (!b->body) return;
  if (b->whole) rf_motion_follow_rt(b->whole, b->body);
  rf_motion_prepare_rt(stepped(b));
}

void rf_coupled_prepare_rt(void *self) {
  rf_coupled *c = self;
  prepare_body(&c->field);
  for (int32_t k = 0; k < c->n_parts; ++k) prepare_body(&c->part[k].shell);
}
