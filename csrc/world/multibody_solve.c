#include "world/multibody_solve.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "linalg/dense_rt.h"
#include "linalg/vector.h"
#include "world/multibody_bound.h"

enum { CHUNK = 8 };  // bodies or pairs of a task
enum { MOST_SOLVES = 60, MOST_FRICTION_SOLVES = 200, MOST_PARTS = 40 };
// Iterations after which own blocks, or the joint preconditioner, are renewed.
enum { REFRESH = 32, JOINT_REFRESH = 6 };
// Slope at the end of a line search, and residual after a solve (squared), relative to the begin.
static const double FLAT = 0.1, FORCING = 1e-4, FRICTION_FORCING = 1e-2;
// Friction.  Limits stay until the residual is below FOLLOW times that of the law itself; above FAR
// Newton's matrix has secants, and limits are damped or not, but not mixed.
static const double FOLLOW = 0.5, FAR = 1.0;

// ---- stages over all bodies or all pairs

typedef void (*pair_fn)(const rf_multibody_solve *s, rf_pair_rows *t);
typedef rf_status (*node_fn)(const rf_multibody_solve *s, rf_multibody_node *n, rf_error *err);

typedef struct stage {
  rf_multibody_solve *solve;
  pair_fn pair;
  node_fn node;
} stage;

static rf_status run_some(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker;
  const stage *g = context;
  rf_multibody_solve *s = g->solve;
  const int32_t count = g->pair ? s->touching.n_pairs : s->touching.n_nodes,
                first = (int32_t)task * CHUNK;
  const int32_t end = count - first < CHUNK ? count : first + CHUNK;
  rf_status st = RF_OK;
  for (int32_t i = first; i < end && st >= 0; ++i) {
    if (g->pair)
      g->pair(s, s->touching.pairs[i]);
    else
      st = g->node(s, s->touching.nodes[i], err);
  }
  return st;
}

// Each stage starts threads of its own, which costs more than it gains where there is little to do.
static rf_status run_stage(const rf_run *run, int32_t count, double work, stage *g, rf_error *err) {
  const rf_run alone = {.threads = 1};
  const bool few = work < g->solve->least_work;
  return rf_run_tasks(few ? &alone : run, (count + CHUNK - 1) / CHUNK, 0, run_some, g, err);
}

static rf_status for_pairs(rf_multibody_solve *s, const rf_run *run, pair_fn f, rf_error *err) {
  stage g = {.solve = s, .pair = f};
  return run_stage(run, s->touching.n_pairs, s->pair_work, &g, err);
}

static rf_status for_nodes(rf_multibody_solve *s, const rf_run *run, node_fn f, rf_error *err) {
  stage g = {.solve = s, .node = f};
  return run_stage(run, s->touching.n_nodes, s->node_work, &g, err);
}

static double sum_dots(const rf_multibody_solve *s) {
  double sum = 0.0;
  for (int32_t i = 0; i < s->touching.n_nodes; ++i) sum += s->touching.nodes[i]->dot;
  return sum;
}

static double dot(const rf_multibody_node *n, const double *x, const double *y) {
  return rf_dot_padded(n->size, x, y);
}

static void add(const rf_multibody_node *n, double part, const double *x, double *y) {
  for (int32_t i = 0; i < n->size; ++i) y[i] += part * x[i];
}

#define SLOTS_OF(solve, pair, slot) \
  RF_MULTIBODY_SLOTS((solve)->touching.all, (solve)->touching.dimples, (pair), slot)

static rf_status fail(const rf_multibody_solve *s, const rf_multibody_node *n, rf_status st,
                      rf_error *err) {
  rf_error inner = {0};
  if (n->dimple)
    return rf_fail(
        err, st,
        "the dimple of body %d is no longer finite: a stiffness of contact, or its local "
        "compliance, is far too large",
        (int)n->dimple->of);
  if (st != RF_ERR_DIVERGED)
    return rf_fail(err, st, "the contact of body %d failed", (int)(n - s->touching.all));
  (void)rf_motion_explain(n->body->deformation, "the deformation", "smaller velocities", &inner);
  return rf_fail(err, st, "body %d: %.400s", (int)(n - s->touching.all), inner.text);
}

// ---- stages of one body, or one pair

static rf_status place_node(const rf_multibody_solve *s, rf_multibody_node *n, rf_error *err) {
  const rf_status st = rf_multibody_node_reserve(n, err);
  if (st >= 0) rf_multibody_node_place_rt(n, s->friction);
  return st;
}

static rf_status begin_node(const rf_multibody_solve *s, rf_multibody_node *n, rf_error *err) {
  const rf_status st = rf_multibody_node_begin_rt(n, s->touching.pairs, s->contact_damping);
  return st < 0 ? fail(s, n, st, err) : st;
}

static rf_status free_node(const rf_multibody_solve *s, rf_multibody_node *n, rf_error *err) {
  const rf_status st = rf_multibody_node_begin_rt(n, NULL, s->contact_damping);
  return st < 0 ? fail(s, n, st, err) : st;
}

static void push(const rf_multibody_solve *s, rf_pair_rows *t) {
  const rf_pair_slots u = SLOTS_OF(s, t, displacement);
  rf_pair_rows_push_rt(t, s->contact_damping, s->held, &u);
}

// Residual at the displacements.
static rf_status balance(const rf_multibody_solve *s, rf_multibody_node *n, rf_error *err) {
  (void)err;
  for (int32_t i = 0; i < n->size; ++i) n->residual[i] = n->elastic[i] - n->inertia[i];
  rf_multibody_node_gather_rt(n, s->touching.pairs, n->residual);
  rf_multibody_node_correct_rt(n, n->residual, n->corrected);
  n->dot = dot(n, n->residual, n->corrected);
  n->left = rf_multibody_node_weigh_rt(n, n->residual);
  n->energy = dot(n, n->change, n->inertia);
  return RF_OK;
}

// The image of `corrected` by the preconditioner, or by H with the joint one.
static const double *image_of(const rf_multibody_solve *s, const rf_multibody_node *n) {
  return s->joint->on ? n->product : n->residual;
}

// The preconditioner of the residual, after that of the nodes.
static void join(rf_multibody_solve *s) {
  if (!s->joint->on) return;
  rf_multibody_joint_correct_rt(s->joint, &s->touching);
  for (int32_t k = 0; k < s->touching.n_nodes; ++k) {
    rf_multibody_node *n = s->touching.nodes[k];
    n->dot = dot(n, n->residual, n->corrected);
  }
}

// The first direction.
static void begin_step(rf_multibody_solve *s) {
  join(s);
  for (int32_t k = 0; k < s->touching.n_nodes; ++k) {
    rf_multibody_node *n = s->touching.nodes[k];
    const size_t bytes = (size_t)n->size * sizeof(double);
    memcpy(n->direction, n->corrected, bytes);
    memcpy(n->image, image_of(s, n), bytes);
    memset(n->step, 0, bytes);
    memset(n->stepped, 0, bytes);
  }
}

static void stiffen(const rf_multibody_solve *s, rf_pair_rows *t) {
  const rf_pair_slots u = SLOTS_OF(s, t, direction);
  rf_pair_rows_multiply_rt(t, s->contact_damping, s->secant, &u);
}

static rf_status multiply(const rf_multibody_solve *s, rf_multibody_node *n, rf_error *err) {
  (void)err;
  const size_t bytes = (size_t)n->size * sizeof(double);
  memcpy(n->moved, n->image, bytes);
  if (!s->joint->on) rf_multibody_node_take_own_rt(n, n->direction, n->moved);
  memset(n->product, 0, bytes);
  rf_multibody_node_gather_rt(n, s->touching.pairs, n->product);
  for (int32_t i = 0; i < n->size; ++i) n->product[i] = n->moved[i] - n->product[i];
  n->dot = dot(n, n->direction, n->product);
  return RF_OK;
}

static rf_status correct(const rf_multibody_solve *s, rf_multibody_node *n, rf_error *err) {
  (void)s, (void)err;
  rf_multibody_node_correct_rt(n, n->residual, n->corrected);
  n->dot = dot(n, n->residual, n->corrected);
  return RF_OK;
}

static void aim(const rf_multibody_solve *s, rf_pair_rows *t) {
  const rf_pair_slots u = SLOTS_OF(s, t, step);
  rf_pair_rows_aim_rt(t, s->contact_damping, &u);
}

static rf_status finish_node(const rf_multibody_solve *s, rf_multibody_node *n, rf_error *err) {
  memset(n->force, 0, (size_t)n->size * sizeof *n->force);
  rf_multibody_node_gather_rt(n, s->touching.pairs, n->force);
  const rf_status st = rf_multibody_node_finish_rt(n);
  return st < 0 ? fail(s, n, st, err) : st;
}

// ---- Newton's method

// One step: conjugate gradients down to a part of the residual.  The image of a direction by the
// preconditioner follows from the residuals; H is that without the own blocks.
static rf_status solve_step(rf_multibody_solve *s, const rf_run *run, double forcing,
                            rf_error *err) {
  rf_status st = RF_OK;
  begin_step(s);
  double now = sum_dots(s);
  const double enough = forcing * now;
  while (now > enough && s->iterations < s->most_iterations) {
    RF_TRY(for_pairs(s, run, stiffen, err));
    RF_TRY(for_nodes(s, run, multiply, err));
    const double curvature = sum_dots(s);
    if (!(isfinite(curvature) && curvature > 0.0)) break;
    const double part = now / curvature;
    for (int32_t k = 0; k < s->touching.n_nodes; ++k) {
      rf_multibody_node *n = s->touching.nodes[k];
      add(n, part, n->direction, n->step);
      add(n, part, n->moved, n->stepped);
      add(n, -part, n->product, n->residual);
    }
    RF_TRY(for_nodes(s, run, correct, err));
    join(s);
    const double next = sum_dots(s), turned = next / now;
    for (int32_t k = 0; k < s->touching.n_nodes; ++k) {
      rf_multibody_node *n = s->touching.nodes[k];
      const double *image = image_of(s, n);
      for (int32_t i = 0; i < n->size; ++i) {
        n->direction[i] = n->corrected[i] + turned * n->direction[i];
        n->image[i] = image[i] + turned * n->image[i];
      }
    }
    now = next;
    ++s->iterations;
  }
done:
  return st;
}

// Derivative of the objective at `part` of the step: begin + part * bend - work of the contacts.
static double slope_at(const rf_multibody_solve *s, double begin, double bend, double part) {
  double sum = begin + part * bend;
  for (int32_t k = 0; k < s->touching.n_pairs; ++k)
    sum -= rf_pair_rows_work_rt(s->touching.pairs[k], s->contact_damping, part);
  return sum;
}

// The part of the step at which the objective is least, roughly.  The objective is convex, its
// derivative grows, piecewise linearly without friction.
static rf_status search_line(rf_multibody_solve *s, const rf_run *run, double *part,
                             rf_error *err) {
  rf_status st = RF_OK;
  double begin = 0.0, bend = 0.0, low = 0.0, high = 1.0;
  RF_TRY(for_pairs(s, run, aim, err));
  for (int32_t k = 0; k < s->touching.n_nodes; ++k) {
    const rf_multibody_node *n = s->touching.nodes[k];
    begin += dot(n, n->step, n->inertia) - dot(n, n->step, n->elastic);
    bend += dot(n, n->step, n->stepped);
  }
  const double first = slope_at(s, begin, bend, 0.0);
  double at_low = first, at_high = slope_at(s, begin, bend, 1.0);
  *part = 1.0;
  for (int k = 0; k < MOST_PARTS && at_high > FLAT * fabs(first); ++k) {
    // regula falsi; every other time the interval is halved
    double tried = k % 2 ? low : low + (high - low) * at_low / (at_low - at_high);
    // also where the step ascends, by rounding
    if (k % 2 || !(tried >= low && tried <= high)) tried = 0.5 * (low + high);
    const double slope = slope_at(s, begin, bend, tried);
    *part = tried;
    if (fabs(slope) <= FLAT * fabs(first)) break;
    if (slope < 0.0) {
      low = tried;
      at_low = slope;
    } else {
      high = tried;
      at_high = slope;
    }
  }
done:
  return st;
}

static void set_displacement(rf_multibody_node *n) {
  for (int32_t i = 0; i < n->size; ++i) n->displacement[i] = n->base[i] + n->change[i];
}

static void advance(rf_multibody_solve *s, double part) {
  for (int32_t k = 0; k < s->touching.n_nodes; ++k) {
    rf_multibody_node *n = s->touching.nodes[k];
    add(n, part, n->step, n->change);
    add(n, part, n->stepped, n->inertia);
    set_displacement(n);
  }
}

// Size of the change of the velocities that the residual would make, relative to that by contact,
// and the same of dimples: neither soft dimples nor heavy bodies may hide the error of the others.
static double error_of(const rf_multibody_solve *s) {
  double left[2] = {0.0}, energy[2] = {0.0}, sum = 0.0;
  for (int32_t i = 0; i < s->touching.n_nodes; ++i) {
    left[s->touching.nodes[i]->dimple != NULL] += s->touching.nodes[i]->left;
    energy[s->touching.nodes[i]->dimple != NULL] += s->touching.nodes[i]->energy;
  }
  for (int k = 0; k < 2; ++k)
    if (left[k] > 0.0) sum += left[k] / fmax(0.0, energy[k]);
  return sqrt(sum);
}

// Forces and residual at the displacements; held: under limits of friction that stay.
static rf_status evaluate(rf_multibody_solve *s, const rf_run *run, bool held, rf_error *err) {
  rf_status st = RF_OK;
  s->held = held;
  RF_TRY(for_pairs(s, run, push, err));
  RF_TRY(for_nodes(s, run, balance, err));
  if (!isfinite(sum_dots(s)))
    return rf_fail(err, RF_ERR_DIVERGED,
                   "the forces of contact are no longer finite: a stiffness of contact, a velocity "
                   "or dt is far too large");
  s->left = error_of(s);
done:
  return st;
}

// Keeps the displacements of the least residual by the law of friction.
static void keep_best(rf_multibody_solve *s) {
  if (!(s->left < s->best)) return;
  s->best = s->left;
  for (int32_t k = 0; k < s->touching.n_nodes; ++k) {
    const rf_multibody_node *n = s->touching.nodes[k];
    memcpy(n->best[0], n->change, (size_t)n->size * sizeof(double));
    memcpy(n->best[1], n->inertia, (size_t)n->size * sizeof(double));
  }
}

static rf_status return_to_best(rf_multibody_solve *s, const rf_run *run, rf_error *err) {
  if (!(s->left > s->best)) return RF_OK;
  for (int32_t k = 0; k < s->touching.n_nodes; ++k) {
    rf_multibody_node *n = s->touching.nodes[k];
    memcpy(n->change, n->best[0], (size_t)n->size * sizeof(double));
    memcpy(n->inertia, n->best[1], (size_t)n->size * sizeof(double));
    set_displacement(n);
  }
  return evaluate(s, run, false, err);
}

// Evaluates the law of friction itself, and chooses the next limits unless this ends the solve.
static rf_status follow(rf_multibody_solve *s, const rf_run *run, bool last, rf_error *err) {
  rf_status st = RF_OK;
  RF_TRY(evaluate(s, run, false, err));
  keep_best(s);
  if (last || s->left <= s->tolerance) goto done;
  s->mismatch = s->left;
  rf_multibody_limits_mix(&s->limits, s->left, s->left >= FAR, s->touching.n_pairs,
                          s->touching.pairs);
  // undamped limits far from the solution are those just evaluated
  if (s->left < FAR || s->limits.damped) RF_TRY(evaluate(s, run, true, err));
done:
  return st;
}

// The joint preconditioner of the last forces.
static rf_status renew(rf_multibody_solve *s, rf_error *err) {
  s->stale = false;
  if (rf_multibody_joint_renew_rt(s->joint, &s->touching, s->contact_damping, s->secant))
    return RF_OK;
  return rf_fail(err, RF_ERR_DIVERGED,
                 "the matrix of contact is not positive: a stiffness of contact is far too large");
}

// Friction has a potential for constant limits only.  Newton's method therefore lowers the
// objective for limits that stay, and these follow the normal forces when there is little left.
// The end is always an evaluation with limits that follow, of a solve that ends early that with the
// least residual: no friction exceeds mu times its normal force.
static rf_status iterate(rf_multibody_solve *s, const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  const int most = s->friction ? MOST_FRICTION_SOLVES : MOST_SOLVES;
  int32_t renewed = 0;
  s->solves = s->iterations = 0;
  s->limits = (rf_multibody_limits){0};
  s->best = INFINITY;
  s->stale = s->joint->on;
  for (;; ++s->solves) {
    double part;
    const bool last = s->solves == most || s->iterations >= s->most_iterations;
    // own blocks of the points that push and stick by now
    if ((s->friction || s->joint->on) &&
        s->iterations >= renewed + (s->joint->on ? JOINT_REFRESH : REFRESH)) {
      if (!s->joint->on) RF_TRY(for_nodes(s, run, begin_node, err));
      s->stale = s->joint->on;
      renewed = s->iterations;
    }
    RF_TRY(evaluate(s, run, s->friction && s->solves > 0, err));
    if (s->friction && !s->held) keep_best(s);
    if (s->held && (last || s->left <= fmax(0.5 * s->tolerance, FOLLOW * s->mismatch)))
      RF_TRY(follow(s, run, last, err));
    if (!s->held) s->mismatch = s->left;
    if (!s->held && s->left <= s->tolerance) return RF_OK;
    if (last) return s->friction ? return_to_best(s, run, err) : RF_OK;
    s->secant = s->left > FAR;
    if (s->stale) RF_TRY(renew(s, err));
    RF_TRY(solve_step(s, run, s->friction ? FRICTION_FORCING : FORCING, err));
    RF_TRY(search_line(s, run, &part, err));
    advance(s, part);
  }
done:
  return st;
}

// Counts the multiplications of a stage.
static void count_work(rf_multibody_solve *s) {
  s->node_work = s->pair_work = 0.0;
  for (int32_t k = 0; k < s->touching.n_pairs; ++k)
    s->pair_work += (s->touching.pairs[k]->friction.mu > 0.0 ? 6.0 : 2.0) *
                    s->touching.pairs[k]->n_rows * s->touching.pairs[k]->size;
  for (int32_t k = 0; k < s->touching.n_nodes; ++k) {
    const rf_multibody_node *n = s->touching.nodes[k];
    const double size = n->dimple ? n->size : RF_SLOT_RIGID + n->body->model->r;
    s->node_work += size * size;
  }
}

static double weigh(const rf_multibody_solve *s, double part[2]) {
  return rf_multibody_bound_weigh(s->contact_damping, s->touching.n_nodes, s->touching.nodes,
                                  s->touching.n_pairs, s->touching.pairs, part);
}

static void exchange(const rf_multibody_solve *s, rf_pair_rows *t) {
  (void)s;
  rf_pair_rows_exchange_rt(t);
}

// Takes forces of a first step of descent instead if these have a smaller D than was found.
static rf_status descend(rf_multibody_solve *s, const rf_run *run, double found, double part[2],
                         rf_error *err) {
  rf_status st = RF_OK;
  RF_TRY(for_pairs(s, run, exchange, err));
  s->held = false;
  RF_TRY(for_pairs(s, run, push, err));
  if (!(weigh(s, part) < found)) {
    RF_TRY(for_pairs(s, run, exchange, err));
    (void)weigh(s, part);
  }
done:
  return st;
}

// Bounds forces that the displacements do not cause, see multibody_bound.h.
static rf_status bound(rf_multibody_solve *s, const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  double part[2];
  RF_TRY(for_nodes(s, run, free_node, err));
  rf_multibody_bound_begin(s->touching.n_nodes, s->touching.nodes);
  const double found = weigh(s, part);
  bool dimples = false;
  for (int32_t k = 0; k < s->touching.n_nodes; ++k) dimples |= s->touching.nodes[k]->dimple != NULL;
  if (dimples) RF_TRY(descend(s, run, found, part, err));
  rf_multibody_bound_apply(s->touching.n_nodes, s->touching.nodes, s->touching.n_pairs,
                           s->touching.pairs, part);
done:
  return st;
}

rf_status rf_multibody_solve_step(rf_multibody_solve *s, const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  count_work(s);
  s->held = false;
  RF_TRY(for_nodes(s, run, place_node, err));
  // points that slip at first have smaller own blocks
  if (s->friction) RF_TRY(for_pairs(s, run, push, err));
  RF_TRY(rf_multibody_joint_reserve(s->joint, &s->touching, err));
  RF_TRY(for_nodes(s, run, s->joint->on ? free_node : begin_node, err));
  RF_TRY(iterate(s, run, err));
  if (!(s->left <= s->tolerance)) RF_TRY(bound(s, run, err));
  RF_TRY(for_nodes(s, run, finish_node, err));
done:
  return st;
}
