#include "fem/rigid.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "linalg/blas.h"
#include "linalg/convention.h"
#include "linalg/vector.h"

// Sets the field e x (x - c), scaled.
static void turn(const rf_solid *s, const double *centre, const double *e, double scale,
                 double *field) {
  for (int32_t a = 0; a < s->mesh->n_nodes; ++a) {
    const double *x = s->mesh->nodes + 3 * (size_t)a;
    const double r[3] = {x[0] - centre[0], x[1] - centre[1], x[2] - centre[2]};
    double *to = field + 3 * (size_t)a;
    to[0] = scale * (e[1] * r[2] - e[2] * r[1]);
    to[1] = scale * (e[2] * r[0] - e[0] * r[2]);
    to[2] = scale * (e[0] * r[1] - e[1] * r[0]);
  }
}

// Computes moments and axes of the inertia.
static rf_status principal_axes(rf_rigid_body *body, rf_error *err) {
  const int three = 3, lwork = 64, liwork = 32;
  double work[64];
  int iwork[32], info = 0;
  memcpy(body->axes, body->inertia, sizeof body->axes);
  dsyevd_("V", "L", &three, body->axes, &three, body->moments, work, &lwork, iwork, &liwork, &info);
  if (info != 0) return rf_fail(err, RF_ERR_INTERNAL, "LAPACK dsyevd failed with code %d", info);
  if (!(body->moments[0] > 0.0))
    return rf_fail(err, RF_ERR_MESH, "the solid has no moment of inertia about one of its axes");
  // among equal moments, the axes nearest to x, then y
  static const double by_axis[3] = {1.0, 2.0, 3.0};
  const double *const weights[1] = {by_axis};
  const rf_status st = rf_canonical_vectors(3, 3, body->moments, 1, weights, body->axes, err);
  if (st < 0) return st;
  double *z = body->axes + 6;
  const double *x = body->axes, *y = body->axes + 3;
  z[0] = x[1] * y[2] - x[2] * y[1];
  z[1] = x[2] * y[0] - x[0] * y[2];
  z[2] = x[0] * y[1] - x[1] * y[0];
  return RF_OK;
}

rf_status rf_solid_rigid_body(const rf_solid *s, const rf_run *run, rf_rigid_body *out,
                              rf_error *err) {
  rf_status st = RF_OK;
  const size_t n = 3 * (size_t)s->mesh->n_nodes;
  double *turns = NULL, *product = NULL;
  rf_rigid_body body = {0};
  RF_ALLOC(turns, 3 * n);
  RF_ALLOC(product, 3 * n);
  for (int32_t a = 0; a < s->mesh->n_nodes; ++a) {
    const double *x = s->mesh->nodes + 3 * (size_t)a;
    // integral of rho N_a, which may differ from the lumped mass
    double mass = 0.0;
    for (int32_t p = s->graph.ptr[a]; p < s->graph.ptr[a + 1]; ++p) mass += s->mass[p];
    body.mass += mass;
    for (int i = 0; i < 3; ++i) body.centre[i] += mass * x[i];
  }
  for (int i = 0; i < 3; ++i) body.centre[i] /= body.mass;
  for (int i = 0; i < 3; ++i) {
    const double e[3] = {i == 0, i == 1, i == 2};
    turn(s, body.centre, e, 1.0, turns + n * (size_t)i);
  }
  RF_TRY(rf_solid_mass_multiply(s, run, 3, turns, product, err));
  for (int i = 0; i < 3; ++i)
    for (int j = i; j < 3; ++j)
      body.inertia[3 * i + j] = body.inertia[3 * j + i] =
          rf_dot((int64_t)n, turns + n * (size_t)i, product + n * (size_t)j);
  RF_TRY(principal_axes(&body, err));
  *out = body;
done:
  rf_free(turns);
  rf_free(product);
  return st;
}

void rf_rigid_modes(const rf_solid *s, const rf_rigid_body *body, double *modes) {
  const size_t n = 3 * (size_t)s->mesh->n_nodes;
  memset(modes, 0, 3 * n * sizeof *modes);
  for (size_t i = 0; i < 3; ++i) {
    for (size_t a = i; a < n; a += 3) modes[n * i + a] = 1.0 / sqrt(body->mass);
    turn(s, body->centre, body->axes + 3 * i, 1.0 / sqrt(body->moments[i]), modes + n * (3 + i));
  }
}

// Runs Gaussian elimination of the columns with complete pivoting; the supports are the pivot rows.
void rf_rigid_supports(int32_t n_dofs, double *modes, int32_t supports[RF_RIGID]) {
  const size_t n = (size_t)n_dofs;
  bool used[RF_RIGID] = {false};
  // rotations have the unit of length times angle: first scale all columns alike
  for (size_t c = 0; c < RF_RIGID; ++c) {
    double largest = 0.0;
    for (size_t i = 0; i < n; ++i) largest = fmax(largest, fabs(modes[n * c + i]));
    for (size_t i = 0; i < n; ++i) modes[n * c + i] /= largest;
  }
  for (int step = 0; step < RF_RIGID; ++step) {
    size_t row = 0, column = 0;
    double largest = -1.0;
    for (size_t c = 0; c < RF_RIGID; ++c) {
      if (used[c]) continue;
      for (size_t i = 0; i < n; ++i) {
        if (!(fabs(modes[n * c + i]) > largest)) continue;
        largest = fabs(modes[n * c + i]);
        row = i;
        column = c;
      }
    }
    supports[step] = (int32_t)row;
    used[column] = true;
    const double *pivot = modes + n * column;
    for (size_t c = 0; c < RF_RIGID; ++c) {
      if (used[c]) continue;
      const double factor = modes[n * c + row] / pivot[row];
      for (size_t i = 0; i < n; ++i) modes[n * c + i] -= factor * pivot[i];
    }
  }
}
