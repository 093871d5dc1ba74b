#include <math.h>
#include <string.h>

#include "dynamics/free_pull.h"
#include "linalg/quat.h"

// Point from the centre of mass, in the frame of the body.
static void arm_of(const rf_free_body_pull *p, const rf_free_body *b, double arm[3]) {
  const int32_t r = b->model->r;
  for (int a = 0; a < 3; ++a) {
    arm[a] = p->rest_m[a] - b->set.centre[a];
    for (int32_t i = 0; i < r; ++i) arm[a] += p->rows[a * r + i] * b->deformation->q[i];
  }
}

void rf_free_body_pull_point_rt(const rf_free_body_pull *p, const rf_free_body *b,
                                double point_m[3]) {
  double arm[3];
  arm_of(p, b, arm);
  rf_quat_rotate(b->rigid.quaternion, arm, point_m);
  for (int a = 0; a < 3; ++a) point_m[a] += b->rigid.position[a];
}

// Velocities of the point by the rigid motion, with gravity, and by the deformation, in the frame
// of the body.
static void velocities(const rf_free_body_pull *p, const rf_free_body *b, const double arm[3],
                       double v[3], double w[3]) {
  const double h = b->set.deformation.dt_s;
  const int32_t r = b->model->r;
  double omega[3], moment[3], turned[3], linear[3];
  for (int a = 0; a < 3; ++a)
    linear[a] = b->rigid.momentum[a] / b->set.mass + h * b->set.gravity[a];
  rf_quat_rotate_back(b->rigid.quaternion, linear, linear);
  rf_quat_rotate_back(b->rigid.quaternion, b->rigid.angular_momentum, moment);
  for (int a = 0; a < 3; ++a) omega[a] = rf_vec3_dot(b->inverse_inertia + 3 * a, moment);
  rf_vec3_cross(omega, arm, turned);
  for (int a = 0; a < 3; ++a) {
    v[a] = linear[a] + turned[a];
    w[a] = 0.0;
    for (int32_t i = 0; i < r; ++i) w[a] += p->rows[a * r + i] * b->deformation->qdot[i];
  }
}

// Matrix of the force.
static void matrix_of(const rf_free_body_pull *p, const rf_free_body *b, const double arm[3],
                      double matrix[9]) {
  const double h = b->set.deformation.dt_s;
  const double both = h * h * p->stiffness, rigid = both + h * p->damping;
  const int32_t r = b->model->r;
  for (int j = 0; j < 3; ++j) {
    const double unit[3] = {j == 0, j == 1, j == 2};
    double moment[3], omega[3], turned[3];
    rf_vec3_cross(arm, unit, moment);
    for (int a = 0; a < 3; ++a) omega[a] = rf_vec3_dot(b->inverse_inertia + 3 * a, moment);
    rf_vec3_cross(omega, arm, turned);
    for (int a = 0; a < 3; ++a) {
      double deforms = 0.0;
      for (int32_t i = 0; i < r; ++i) deforms += p->rows[a * r + i] * p->rows[j * r + i];
      matrix[3 * a + j] = unit[a] + rigid * (unit[a] / b->set.mass + turned[a]) + both * deforms;
    }
  }
}

// x = A^-1 b, A symmetric and positive definite.
static void solve3(const double a[9], const double b[3], double x[3]) {
  const double d0 = a[0], l1 = a[3] / d0, l2 = a[6] / d0;
  const double d1 = a[4] - l1 * a[3], m = a[7] - l2 * a[3], l3 = m / d1;
  const double d2 = a[8] - l2 * a[6] - l3 * m;
  const double y1 = b[1] - l1 * b[0], y2 = b[2] - l2 * b[0] - l3 * y1;
  x[2] = y2 / d2;
  x[1] = y1 / d1 - l3 * x[2];
  x[0] = b[0] / d0 - l1 * x[1] - l2 * x[2];
}

static void keep(rf_free_body_pull *p, const rf_free_body *b) {
  p->rigid = b->rigid;
  p->steps = b->deformation->report.steps;
  p->follows = b->deformation->follows;
  memcpy(p->qdot, b->deformation->qdot, (size_t)b->model->r * sizeof *p->qdot);
}

void rf_free_body_pull_undo_rt(const rf_free_body_pull *p, rf_free_body *b) {
  // a world fails with another body, after this one has moved
  if (b->deformation->report.steps != p->steps) return;
  b->rigid = p->rigid;
  b->deformation->follows = p->follows;
  memcpy(b->deformation->qdot, p->qdot, (size_t)b->model->r * sizeof *p->qdot);
}

rf_status rf_free_body_pull_rt(rf_free_body_pull *p, rf_free_body *b, const double place_m[3],
                               double force_n[3]) {
  const double h = b->set.deformation.dt_s, k = p->stiffness, c = p->damping;
  const int32_t r = b->model->r;
  rf_motion *m = b->deformation;
  double arm[3], v[3], w[3], matrix[9], way[3], local[3], f[3], moment[3];
  arm_of(p, b, arm);
  velocities(p, b, arm, v, w);
  matrix_of(p, b, arm, matrix);
  for (int a = 0; a < 3; ++a) way[a] = place_m[a] - b->rigid.position[a];
  rf_quat_rotate_back(b->rigid.quaternion, way, local);
  for (int a = 0; a < 3; ++a) f[a] = k * (local[a] - arm[a] - h * (v[a] + w[a])) - c * v[a];
  solve3(matrix, f, f);
  if (!isfinite(f[0] + f[1] + f[2])) return RF_ERR_DIVERGED;
  keep(p, b);
  rf_vec3_cross(arm, f, moment);
  for (int32_t i = 0; i < r; ++i)
    for (int a = 0; a < 3; ++a) m->qdot[i] += h * f[a] * p->rows[a * r + i];
  // forgets the last step, whose rates were others
  if (m->set.scheme->remembers) m->follows = false;
  rf_quat_rotate(b->rigid.quaternion, f, force_n);
  rf_quat_rotate(b->rigid.quaternion, moment, moment);
  for (int a = 0; a < 3; ++a) {
    b->rigid.momentum[a] += h * force_n[a];
    b->rigid.angular_momentum[a] += h * moment[a];
  }
  return RF_OK;
}
