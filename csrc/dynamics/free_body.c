#include "dynamics/free_body.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "linalg/quat.h"

enum { BODIES_PER_TASK = 4 };         // enough work to be worth claiming
static const double SYMMETRY = 1e-9;  // of the inertia, relative

// inverse of a symmetric matrix; false unless its leading minors are positive
static bool invert(const double *a, double *inverse) {
  return a[0] > 0.0 && a[0] * a[4] - a[1] * a[1] > 0.0 &&
         rf_mat3_inverse_transposed(a, inverse) > 0.0;
}

static rf_status require_finite3(const double *x, const char *name, rf_error *err) {
  if (isfinite(x[0]) && isfinite(x[1]) && isfinite(x[2])) return RF_OK;
  return rf_fail(err, RF_ERR_ARG, "%s must be finite, got (%g, %g, %g)", name, x[0], x[1], x[2]);
}

static rf_status check(const rf_free_body_settings *set, rf_error *err) {
  if (!(isfinite(set->mass) && set->mass > 0.0))
    return rf_fail(err, RF_ERR_ARG, "mass must be finite and positive, got %g", set->mass);
  double largest = 0.0;
  for (int i = 0; i < 9; ++i) {
    if (!isfinite(set->inertia[i]))
      return rf_fail(err, RF_ERR_ARG, "inertia[%d, %d] is %g; it must be finite", i / 3, i % 3,
                     set->inertia[i]);
    largest = fmax(largest, fabs(set->inertia[i]));
  }
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < i; ++j)
      if (!(fabs(set->inertia[3 * i + j] - set->inertia[3 * j + i]) <= SYMMETRY * largest))
        return rf_fail(err, RF_ERR_ARG, "inertia is not symmetric at [%d, %d]: %g and %g", i, j,
                       set->inertia[3 * i + j], set->inertia[3 * j + i]);
  const rf_status st = require_finite3(set->centre, "centre", err);
  return st < 0 ? st : require_finite3(set->gravity, "gravity", err);
}

rf_status rf_free_body_create(const rf_reduced *model, const double *nodes,
                              const rf_free_body_settings *set, rf_free_body **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_free_body *b = NULL;
  rf_system *system;
  *out = NULL;
  RF_TRY(check(set, err));
  RF_ALLOC(b, 1);
  b->set = *set;
  b->model = model;
  b->nodes = nodes;
  if (!invert(set->inertia, b->inverse_inertia)) {
    st = rf_fail(err, RF_ERR_ARG, "inertia must be positive definite");
    goto done;
  }
  RF_ALLOC(b->force, model->r);
  const rf_motion_settings *motion = &set->deformation;
  RF_TRY(rf_system_reduced(model, NULL, &set->damping, rf_motion_steps_of(motion->scheme), &system,
                           err));
  RF_TRY(rf_motion_create(system, motion, NULL, &b->deformation, err));
  b->set.deformation = b->deformation->set;
  memcpy(b->rigid.position, set->centre, sizeof b->rigid.position);
  b->rigid.quaternion[0] = 1.0;
  *out = b;
  b = NULL;
done:
  rf_free_body_free(b);
  return st;
}

void rf_free_body_free(rf_free_body *b) {
  if (!b) return;
  rf_motion_free(b->deformation);
  rf_free(b->force);
  rf_free(b);
}

rf_status rf_free_body_set_pose(rf_free_body *b, const double position[3],
                                const double quaternion[4], const double velocity[3],
                                const double angular_velocity[3], rf_error *err) {
  rf_status st = RF_OK;
  rf_rigid_state s;
  double body[3], turned[3], square = 0.0;
  RF_TRY(require_finite3(position, "position", err));
  RF_TRY(require_finite3(velocity, "velocity", err));
  RF_TRY(require_finite3(angular_velocity, "angular_velocity", err));
  for (int i = 0; i < 4; ++i) square += quaternion[i] * quaternion[i];
  if (!(isfinite(square) && square > 0.0))
    return rf_fail(err, RF_ERR_ARG, "quaternion (%g, %g, %g, %g) has no direction", quaternion[0],
                   quaternion[1], quaternion[2], quaternion[3]);
  rf_quat_normalize(quaternion, s.quaternion);
  rf_quat_rotate_back(s.quaternion, angular_velocity, body);
  for (int i = 0; i < 3; ++i) {
    s.position[i] = position[i];
    s.momentum[i] = b->set.mass * velocity[i];
    turned[i] = 0.0;
    for (int j = 0; j < 3; ++j) turned[i] += b->set.inertia[3 * i + j] * body[j];
  }
  rf_quat_rotate(s.quaternion, turned, s.angular_momentum);
  RF_TRY(require_finite3(s.momentum, "momentum, mass times velocity,", err));
  RF_TRY(require_finite3(s.angular_momentum, "angular momentum, inertia times angular_velocity,",
                         err));
  b->rigid = s;
done:
  return st;
}

rf_status rf_free_body_restore(rf_free_body *b, const rf_rigid_state *rigid, const double *q,
                               const double *qdot, const double *qddot, int64_t steps,
                               rf_error *err) {
  rf_status st = RF_OK;
  double square = 0.0;
  RF_TRY(require_finite3(rigid->position, "position", err));
  RF_TRY(require_finite3(rigid->momentum, "momentum", err));
  RF_TRY(require_finite3(rigid->angular_momentum, "angular momentum", err));
  for (int i = 0; i < 4; ++i) square += rigid->quaternion[i] * rigid->quaternion[i];
  if (!(fabs(square - 1.0) < 1e-9 && steps >= 0))
    return rf_fail(err, RF_ERR_ARG, "quaternion must have length 1, and steps not be negative");
  RF_TRY(rf_motion_reset(b->deformation, NULL, q, qdot, qddot, err));
  rf_motion_set_steps(b->deformation, steps);
  b->rigid = *rigid;
done:
  return st;
}

rf_status rf_free_body_copy(const rf_free_body *from, const double *gravity, rf_free_body **out,
                            rf_error *err) {
  rf_free_body_settings set = from->set;
  const rf_motion *m = from->deformation;
  rf_free_body *b = NULL;
  *out = NULL;
  if (gravity) memcpy(set.gravity, gravity, sizeof set.gravity);
  rf_status st = rf_free_body_create(from->model, from->nodes, &set, &b, err);
  if (st >= 0)
    st = rf_free_body_restore(b, &from->rigid, m->q, m->qdot, m->qddot, m->report.steps, err);
  if (st >= 0)
    *out = b;
  else
    rf_free_body_free(b);
  return st;
}

void rf_free_body_nodes(const rf_free_body *b, double *positions) {
  const rf_reduced *model = b->model;
  rf_reduced_displacement(model, b->deformation->q, positions);
  for (int32_t a = 0; a < model->n_nodes; ++a) {
    double *x = positions + 3 * (size_t)a;
    const double *rest = b->nodes + 3 * (size_t)a;
    for (int i = 0; i < 3; ++i) x[i] += rest[i] - b->set.centre[i];
    rf_quat_rotate(b->rigid.quaternion, x, x);
    for (int i = 0; i < 3; ++i) x[i] += b->rigid.position[i];
  }
}

rf_status rf_free_body_energy(rf_free_body *b, double *energy, rf_error *err) {
  const rf_rigid_state *s = &b->rigid;
  rf_motion *m = b->deformation;
  double omega[3], stored = 0.0, moving = 0.0;
  m->prepared = false;
  rf_status st = m->system->operations->evaluate(m->system, m->q, true, &stored, m->force);
  // the mass, as the balance of a system without velocity and force
  double *zero = m->increment;
  memset(zero, 0, (size_t)m->system->ld * sizeof *zero);
  if (st >= 0)
    st = m->system->operations->balance(m->system, m->q, zero, m->qdot, zero, zero, m->product);
  if (st < 0) return rf_fail(err, st, "the energy of a body cannot be evaluated");
  for (int32_t i = 0; i < m->n; ++i) moving += 0.5 * m->qdot[i] * m->product[i];
  rf_free_body_angular_velocity_rt(b, omega);
  *energy = stored + moving + 0.5 * rf_vec3_dot(s->momentum, s->momentum) / b->set.mass +
            0.5 * rf_vec3_dot(s->angular_momentum, omega);
  return RF_OK;
}

typedef struct group {
  int32_t count;
  rf_free_body *const *bodies;
  const int32_t *n_loads;
  const rf_load *const *loads;
  int64_t n;
} group;

static rf_status step_some(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker;
  const group *c = context;
  const int32_t first = (int32_t)task * BODIES_PER_TASK;
  const int32_t end = c->count - first < BODIES_PER_TASK ? c->count : first + BODIES_PER_TASK;
  for (int32_t i = first; i < end; ++i) {
    rf_free_body *b = c->bodies[i];
    const rf_status st =
        rf_free_body_step_rt(b, c->loads ? c->n_loads[i] : 0, c->loads ? c->loads[i] : NULL, c->n);
    if (st >= 0) continue;
    rf_error inner = {0};
    (void)rf_motion_explain(b->deformation, "the deformation", "smaller forces", &inner);
    return rf_fail(err, st, "body %d: %s", (int)i, inner.text);
  }
  return RF_OK;
}

rf_status rf_free_bodies_step(const rf_run *run, int32_t count, rf_free_body *const *bodies,
                              const int32_t *n_loads, const rf_load *const *loads, int64_t n,
                              rf_error *err) {
  group c = {.count = count, .bodies = bodies, .n_loads = n_loads, .loads = loads, .n = n};
  const int32_t tasks = count / BODIES_PER_TASK + (count % BODIES_PER_TASK != 0);
  return rf_run_tasks(run, tasks, 0, step_some, &c, err);
}
