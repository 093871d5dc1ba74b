#include <math.h>
#include <string.h>

#include "dynamics/free_body.h"
#include "linalg/quat.h"

// omega = R I^-1 R^T L; the inertia is that of the shape at rest
static void angular_velocity(const rf_free_body *b, const double quaternion[4],
                             const double angular_momentum[3], double omega[3]) {
  double body[3], turned[3];
  rf_quat_rotate_back(quaternion, angular_momentum, body);
  for (int i = 0; i < 3; ++i)
    turned[i] = b->inverse_inertia[3 * i] * body[0] + b->inverse_inertia[3 * i + 1] * body[1] +
                b->inverse_inertia[3 * i + 2] * body[2];
  rf_quat_rotate(quaternion, turned, omega);
}

void rf_free_body_angular_velocity_rt(const rf_free_body *b, double omega[3]) {
  angular_velocity(b, b->rigid.quaternion, b->rigid.angular_momentum, omega);
}

void rf_free_body_turned_rt(const rf_free_body *b, const double angular_momentum[3],
                            double omega[3]) {
  angular_velocity(b, b->rigid.quaternion, angular_momentum, omega);
}

// q := (turn by h omega) q
static void turn(const double q[4], double h, const double omega[3], double out[4]) {
  const double v[3] = {h * omega[0], h * omega[1], h * omega[2]};
  double by[4], product[4];
  rf_quat_of_rotation(v, by);
  rf_quat_multiply(by, q, product);
  rf_quat_normalize(product, out);
}

// Loads as total force and torque about the centre, and as reduced force: b->force = U^T R^T f.
// Loads act where the deformed nodes are.
static void gather_loads(rf_free_body *b, int32_t n_loads, const rf_load *loads, double total[3],
                         double torque[3]) {
  const rf_reduced *model = b->model;
  const int32_t r = model->r;
  const size_t dofs = 3 * (size_t)model->n_nodes;
  memset(b->force, 0, (size_t)r * sizeof *b->force);
  for (int i = 0; i < 3; ++i) total[i] = b->set.mass * b->set.gravity[i], torque[i] = 0.0;
  for (int32_t l = 0; l < n_loads; ++l) {
    const double *u = model->basis + 3 * (size_t)loads[l].node;
    const double *rest = b->nodes + 3 * (size_t)loads[l].node;
    double f[3], arm[3], moment[3];
    rf_quat_rotate_back(b->rigid.quaternion, loads[l].force, f);
    rf_vec3_sub(rest, b->set.centre, arm);
    for (int32_t k = 0; k < r; ++k, u += dofs) {
      b->force[k] += rf_vec3_dot(u, f);
      for (int i = 0; i < 3; ++i) arm[i] += u[i] * b->deformation->q[k];
    }
    rf_vec3_cross(arm, f, moment);
    rf_quat_rotate(b->rigid.quaternion, moment, moment);
    for (int i = 0; i < 3; ++i) {
      total[i] += loads[l].force[i];
      torque[i] += moment[i];
    }
  }
}

// The pose a step later: momenta to the middle of the step, rotation by the angular velocity of
// a predicted middle.
static rf_rigid_state move(const rf_free_body *b, const double total[3], const double torque[3]) {
  const double h = b->set.deformation.dt_s;
  rf_rigid_state s = b->rigid;
  double middle[4], half[3], omega[3];
  for (int i = 0; i < 3; ++i) {
    s.position[i] += h / b->set.mass * (s.momentum[i] + 0.5 * h * total[i]);
    s.momentum[i] += h * total[i];
    half[i] = s.angular_momentum[i] + 0.5 * h * torque[i];
    s.angular_momentum[i] += h * torque[i];
  }
  angular_velocity(b, b->rigid.quaternion, half, omega);
  turn(b->rigid.quaternion, 0.5 * h, omega, middle);
  angular_velocity(b, middle, half, omega);
  turn(b->rigid.quaternion, h, omega, s.quaternion);
  return s;
}

static bool finite_state(const rf_rigid_state *s) {
  double sum = 0.0;
  for (int i = 0; i < 3; ++i)
    sum += s->position[i] * s->position[i] + s->momentum[i] * s->momentum[i] +
           s->angular_momentum[i] * s->angular_momentum[i];
  for (int i = 0; i < 4; ++i) sum += s->quaternion[i] * s->quaternion[i];
  return isfinite(sum);
}

bool rf_free_body_move_rt(rf_free_body *b, const double wrench[6]) {
  const double h = b->set.deformation.dt_s;
  rf_rigid_state s = b->rigid;
  double middle[4], omega[3];
  for (int i = 0; i < 3; ++i) {
    s.momentum[i] += h * (b->set.mass * b->set.gravity[i] + wrench[i]);
    s.angular_momentum[i] += h * wrench[3 + i];
    s.position[i] += h / b->set.mass * s.momentum[i];
  }
  angular_velocity(b, b->rigid.quaternion, s.angular_momentum, omega);
  turn(b->rigid.quaternion, 0.5 * h, omega, middle);
  angular_velocity(b, middle, s.angular_momentum, omega);
  turn(b->rigid.quaternion, h, omega, s.quaternion);
  if (!finite_state(&s)) return false;
  b->rigid = s;
  return true;
}

rf_status rf_free_body_step_rt(rf_free_body *b, int32_t n_loads, const rf_load *loads, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    double total[3], torque[3];
    gather_loads(b, n_loads, loads, total, torque);
    const rf_rigid_state next = move(b, total, torque);
    b->deformation->displaced_m = 0.0;
    if (!finite_state(&next)) return RF_ERR_DIVERGED;
    const rf_status st = i + 1 < n ? rf_motion_step_rt(b->deformation, b->force, 1)
                                   : rf_motion_step_within_rt(b->deformation, b->force, 1);
    if (st < 0) return st;
    b->rigid = next;
  }
  return RF_OK;
}
