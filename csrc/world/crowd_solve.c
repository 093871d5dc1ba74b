#include "world/crowd_solve.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "linalg/dense_rt.h"

enum { CHUNK = 8, FEW = 64 };  // bodies or touches of a task, and of one thread

void rf_crowd_node_free(rf_crowd_node *n) {
  double *const owned[] = {n->own,      n->added,     n->response,  n->rigid,
                           n->base,     n->change,    n->residual,  n->corrected,
                           n->direction, n->image,    n->product,   n->force};
  for (size_t i = 0; i < sizeof owned / sizeof *owned; ++i) rf_free(owned[i]);
  rf_motion_free(n->impact);
}

rf_status rf_crowd_node_reserve(rf_crowd_node *n, rf_error *err) {
  rf_status st = RF_OK;
  if (n->impact) return st;
  const int32_t ld = (int32_t)n->body->deformation->system->ld;
  double **const slots[] = {&n->base,      &n->change, &n->residual, &n->corrected,
                            &n->direction, &n->image,  &n->product,  &n->force};
  n->r = n->body->deformation->n;
  n->size = RF_SLOT_RIGID + ld;
  // again after a failure
  const rf_crowd_node fresh = {.body = n->body, .r = n->r, .size = n->size};
  rf_crowd_node_free(n);
  rf_crowd_side *sides = n->sides;
  const int32_t n_sides = n->n_sides;
  *n = fresh;
  n->sides = sides;
  n->n_sides = n_sides;
  for (size_t i = 0; i < sizeof slots / sizeof *slots; ++i) RF_ALLOC(*slots[i], n->size);
  RF_ALLOC(n->own, n->size * n->size);
  RF_ALLOC(n->added, ld * ld);
  RF_ALLOC(n->response, 6 * ld);
  RF_ALLOC(n->rigid, RF_SLOT_RIGID * RF_SLOT_RIGID);
  rf_motion_settings set = n->body->deformation->set;
  set.beta = set.gamma = 1.0;
  RF_TRY(rf_motion_clone(n->body->deformation, &set, &n->impact, err));
done:
  return st;
}

// ---- stages over all bodies or all touches

typedef void (*touch_fn)(const rf_crowd_solve *s, rf_touch *t);
typedef rf_status (*node_fn)(const rf_crowd_solve *s, rf_crowd_node *n, rf_error *err);

typedef struct stage {
  rf_crowd_solve *solve;
  touch_fn touch;
  node_fn node;
} stage;

static rf_status run_some(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker;
  const stage *g = context;
  rf_crowd_solve *s = g->solve;
  const int32_t count = g->touch ? s->n_touches : s->n_nodes, first = (int32_t)task * CHUNK;
  const int32_t end = count - first < CHUNK ? count : first + CHUNK;
  rf_status st = RF_OK;
  for (int32_t i = first; i < end && st >= 0; ++i) {
    if (g->touch)
      g->touch(s, s->touches[i]);
    else
      st = g->node(s, s->nodes[i], err);
  }
  return st;
}

// Threads cost more than they gain where there is little to do.
static rf_status run_stage(const rf_run *run, int32_t count, stage *g, rf_error *err) {
  const rf_run alone = {.threads = 1};
  return rf_run_tasks(count < FEW ? &alone : run, (count + CHUNK - 1) / CHUNK, 0, run_some, g, err);
}

static rf_status for_touches(rf_crowd_solve *s, const rf_run *run, touch_fn f, rf_error *err) {
  stage g = {.solve = s, .touch = f};
  return run_stage(run, s->n_touches, &g, err);
}

static rf_status for_nodes(rf_crowd_solve *s, const rf_run *run, node_fn f, rf_error *err) {
  stage g = {.solve = s, .node = f};
  return run_stage(run, s->n_nodes, &g, err);
}

static double sum_dots(const rf_crowd_solve *s) {
  double sum = 0.0;
  for (int32_t i = 0; i < s->n_nodes; ++i) sum += s->nodes[i]->dot;
  return sum;
}

static double dot(const rf_crowd_node *n, const double *x, const double *y) {
  double sum = 0.0;
  for (int32_t i = 0; i < n->size; ++i) sum += x[i] * y[i];
  return sum;
}

static rf_crowd_node *node_of(const rf_crowd_solve *s, const rf_touch *t, int side) {
  return t->side[side].body < 0 ? NULL : &s->all[t->side[side].body];
}

static rf_status fail(const rf_crowd_solve *s, const rf_crowd_node *n, rf_status st,
                      rf_error *err) {
  rf_error inner = {0};
  if (st != RF_ERR_DIVERGED) return rf_fail(err, st, "the contact of a body failed");
  (void)rf_motion_explain(n->body->deformation, "the deformation", "smaller velocities", &inner);
  return rf_fail(err, st, "body %d: %.400s", (int)(n - s->all), inner.text);
}

// ---- the solve

static rf_status begin_node(const rf_crowd_solve *s, rf_crowd_node *n, rf_error *err) {
  rf_status st = rf_crowd_node_reserve(n, err);
  if (st < 0) return st;
  st = rf_crowd_node_begin_rt(n, s->touches, s->damped);
  return st < 0 ? fail(s, n, st, err) : st;
}

static void apply_base(const rf_crowd_solve *s, rf_touch *t) {
  const rf_crowd_node *field = node_of(s, t, 1);
  rf_touch_apply_rt(t, s->damped, node_of(s, t, 0)->base, field ? field->base : NULL);
}

static rf_status begin_search(const rf_crowd_solve *s, rf_crowd_node *n, rf_error *err) {
  (void)err;
  const size_t bytes = (size_t)n->size * sizeof(double);
  rf_crowd_node_gather_rt(n, s->touches, n->residual);
  rf_crowd_node_correct_rt(n, n->residual, n->corrected);
  memcpy(n->direction, n->corrected, bytes);
  memcpy(n->image, n->residual, bytes);
  n->dot = dot(n, n->residual, n->corrected);
  return RF_OK;
}

static void couple(const rf_crowd_solve *s, rf_touch *t) {
  const rf_crowd_node *field = node_of(s, t, 1);
  rf_touch_couple_rt(t, s->damped, node_of(s, t, 0)->direction, field ? field->direction : NULL);
}

static rf_status multiply(const rf_crowd_solve *s, rf_crowd_node *n, rf_error *err) {
  (void)err;
  memcpy(n->product, n->image, (size_t)n->size * sizeof *n->product);
  rf_crowd_node_gather_rt(n, s->touches, n->product);
  n->dot = dot(n, n->direction, n->product);
  return RF_OK;
}

static void advance(const rf_crowd_solve *s, double part) {
  for (int32_t k = 0; k < s->n_nodes; ++k) {
    rf_crowd_node *n = s->nodes[k];
    for (int32_t i = 0; i < n->size; ++i) {
      n->change[i] += part * n->direction[i];
      n->residual[i] -= part * n->product[i];
    }
  }
}

static rf_status correct(const rf_crowd_solve *s, rf_crowd_node *n, rf_error *err) {
  (void)s, (void)err;
  rf_crowd_node_correct_rt(n, n->residual, n->corrected);
  n->dot = dot(n, n->residual, n->corrected);
  return RF_OK;
}

static void turn(const rf_crowd_solve *s, double part) {
  for (int32_t k = 0; k < s->n_nodes; ++k) {
    rf_crowd_node *n = s->nodes[k];
    for (int32_t i = 0; i < n->size; ++i) {
      n->direction[i] = n->corrected[i] + part * n->direction[i];
      n->image[i] = n->residual[i] + part * n->image[i];
    }
  }
}

// Conjugate gradients; the image of a direction by the preconditioner follows from the residuals,
// so that only the coupling of different bodies is multiplied.
static rf_status search(rf_crowd_solve *s, const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  const double first = sum_dots(s);
  double now = first;
  s->iterations = 0;
  s->left = 0.0;
  while (now > s->tolerance * s->tolerance * first && s->iterations < s->most_iterations) {
    RF_TRY(for_touches(s, run, couple, err));
    RF_TRY(for_nodes(s, run, multiply, err));
    const double curvature = sum_dots(s);
    if (!(isfinite(curvature) && curvature > 0.0)) break;
    advance(s, now / curvature);
    RF_TRY(for_nodes(s, run, correct, err));
    const double next = sum_dots(s);
    turn(s, next / now);
    now = next;
    ++s->iterations;
  }
  if (!isfinite(now))
    return rf_fail(err, RF_ERR_DIVERGED, "the forces of contact are no longer finite; try a "
                                         "smaller dt");
  s->left = first > 0.0 ? sqrt(fmax(now, 0.0) / first) : 0.0;
done:
  return st;
}

// ---- the step

static rf_status end_way(const rf_crowd_solve *s, rf_crowd_node *n, rf_error *err) {
  (void)s, (void)err;
  for (int32_t i = 0; i < n->size; ++i) n->base[i] += n->change[i];
  memset(n->force, 0, (size_t)n->size * sizeof *n->force);
  return RF_OK;
}

static rf_status finish_node(const rf_crowd_solve *s, rf_crowd_node *n, rf_error *err) {
  rf_crowd_node_gather_rt(n, s->touches, n->force);
  const rf_status st = rf_crowd_node_finish_rt(n);
  return st < 0 ? fail(s, n, st, err) : st;
}

rf_status rf_crowd_solve_step(rf_crowd_solve *s, const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  RF_TRY(for_nodes(s, run, begin_node, err));
  RF_TRY(for_touches(s, run, apply_base, err));
  RF_TRY(for_nodes(s, run, begin_search, err));
  RF_TRY(search(s, run, err));
  RF_TRY(for_nodes(s, run, end_way, err));
  RF_TRY(for_touches(s, run, apply_base, err));
  RF_TRY(for_nodes(s, run, finish_node, err));
done:
  return st;
}
