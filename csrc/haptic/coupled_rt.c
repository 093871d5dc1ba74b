#include "haptic/coupled.h"
#include "linalg/dense_rt.h"
#include "linalg/vec3.h"

static double dot(int32_t n, const double *x, const double *y) {
  double even = 0.0, odd = 0.0;
  for (int32_t i = 0; i < n; i += 2) {
    even += x[i] * y[i];
    odd += x[i + 1] * y[i + 1];
  }
  return even + odd;
}

rf_status rf_coupled_condense_rt(rf_coupled *c, const double *reduced, rf_coupling_load *load) {
  const int32_t r = c->shell->model->r, ld = rf_dense_ld(r);
  const double *by_q = c->blocks.wrench_by_q, *d = c->blocks.reduced_by_q;
  for (int32_t i = 0; i < r; ++i)
    for (int32_t j = 0; j <= i; ++j)
      c->stiffness[i * ld + j] = c->stiffness[j * ld + i] = -0.5 * (d[i * ld + j] + d[j * ld + i]);
  const rf_status st = rf_newmark_linearize_rt(c->shell, reduced, c->stiffness, c->increment);
  if (st < 0) return st;
  for (int32_t j = 0; j < 6; ++j) {
    double *z = c->response + j * ld;
    rf_newmark_solve_rt(c->shell, c->blocks.reduced_by_x + j * ld, z);
    for (int32_t i = 0; i < 6; ++i) load->gradient[6 * i + j] += dot(ld, by_q + i * ld, z);
  }
  double more[6];
  for (int32_t i = 0; i < 6; ++i) more[i] = dot(ld, by_q + i * ld, c->increment);
  for (int i = 0; i < 3; ++i) {
    load->force_n[i] += more[i];
    load->torque_nm[i] += more[i + 3];
  }
  // the blocks are of fixed axes, a load's gradient is of those that turn with the object
  rf_vec3_add_skew(1.0, more, load->gradient + 3, 6);
  rf_vec3_add_skew(1.0, more + 3, load->gradient + 21, 6);
  return RF_OK;
}

rf_status rf_coupled_finish_rt(rf_coupled *c, const double move[6]) {
  const int32_t ld = rf_dense_ld(c->shell->model->r);
  for (int32_t i = 0; i < ld; ++i) {
    c->more[i] = 0.0;
    for (int32_t j = 0; j < 6; ++j) c->more[i] += c->blocks.reduced_by_x[j * ld + i] * move[j];
  }
  return rf_newmark_finish_rt(c->shell, c->more);
}
