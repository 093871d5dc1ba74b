#include "model/sampled.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "fem/fem.h"
#include "fem/ghost.h"
#include "linalg/blas.h"
#include "linalg/lapack.h"
#include "linalg/vector.h"
#include "mesh/mesh.h"
#include "model/mass.h"

// Eigenvalues below this part of the largest belong to rigid motions and count as this.
static const double RIGID = 1e-12;
// Extent of poses in a direction, over the largest, from which they exercise it.
static const double EXERCISED = 1e-3;

// Solves K v = lambda M v; K (r, r) becomes the vectors.
static rf_status solve_modes(int r, const double *given_mass, double *values, double *vectors,
                             rf_error *err) {
  rf_status st = RF_OK;
  const int itype = 1, lwork = 1 + 6 * r + 2 * r * r, liwork = 3 + 5 * r;
  double *mass = NULL, *work = NULL;
  int *integers = NULL, info = 0;
  RF_ALLOC(mass, r * r);
  RF_ALLOC(work, lwork);
  RF_ALLOC(integers, liwork);
  memcpy(mass, given_mass, (size_t)r * (size_t)r * sizeof *mass);
  rf_blas_serial_begin();
  dsygvd_(&itype, "V", "L", &r, vectors, &r, mass, &r, values, work, &lwork, integers, &liwork,
          &info);
  rf_blas_serial_end();
  if (info != 0)
    st = rf_fail(err, RF_ERR_NO_CONVERGENCE, "modes of the reduced equations not found");
done:
  rf_free(mass);
  rf_free(work);
  rf_free(integers);
  return st;
}

rf_status rf_projected_modes(const rf_projected *model, const rf_run *run, double *values,
                             double *vectors, rf_error *err) {
  rf_status st = RF_OK;
  rf_projected_work *at = NULL;
  double *rest = NULL;
  RF_TRY(rf_projected_work_create(model, &at, err));
  RF_ALLOC(rest, model->r);
  RF_TRY(rf_projected_evaluate(model, run, at, rest, NULL, NULL, vectors, model->r, err));
  st = solve_modes(model->r, model->mass, values, vectors, err);
done:
  rf_projected_work_free(at);
  rf_free(rest);
  return st;
}

// Computes S with |S f| = |K^(-1/2) f|: row i is mode i over its frequency.
static void find_metric(int32_t r, const double *values, const double *vectors, double *metric) {
  for (int32_t i = 0; i < r; ++i) {
    const double scale = 1.0 / sqrt(fmax(values[i], RIGID * values[r - 1]));
    for (int32_t k = 0; k < r; ++k) metric[i * r + k] = scale * vectors[i * r + k];
  }
}

// Compares the lowest frequencies of deformations at rest with those of the mesh.
static rf_status compare_modes(const rf_reduced *model, const double *values, double *error,
                               rf_error *err) {
  rf_status st = RF_OK;
  const int32_t r = model->r;
  double *rest = NULL, *found = NULL, *stiffness = NULL;
  void *work = NULL;
  RF_ALLOC(rest, r);
  RF_ALLOC(found, r);
  RF_ALLOC(stiffness, r * r);
  work = rf_alloc(rf_reduced_work_bytes(model), 1);
  if (!work) {
    st = rf_fail(err, RF_ERR_MEMORY, "out of memory: frequencies of the cubature");
    goto done;
  }
  rf_reduced_evaluate_rt(model, rest, work, NULL, NULL, stiffness, r);
  RF_TRY(solve_modes(r, model->mass, found, stiffness, err));
  for (int32_t i = 0, compared = 0; i < r && compared < RF_CUBATURE_FREQUENCIES; ++i)
    if (values[i] > RIGID * values[r - 1]) {
      *error = fmax(*error, fabs(sqrt(fmax(found[i], 0.0) / values[i]) - 1.0));
      ++compared;
    }
done:
  rf_free(rest);
  rf_free(found);
  rf_free(stiffness);
  rf_free(work);
  return st;
}

// Counts the directions of the coordinates in which the poses that train extend: eigenvalues of the
// sum of y y^T over poses, with y = Lambda^(1/2) V^T M q of unit length.
static rf_status count_exercised(const rf_projected *model, const double *values,
                                 const double *vectors, const rf_cubature_settings *set,
                                 int32_t *count, rf_error *err) {
  rf_status st = RF_OK;
  const int r = model->r, lwork = (int)rf_lapack_least_dsyevd(r), liwork = 3 + 5 * r;
  double *momentum = NULL, *y = NULL, *sum = NULL, *extent = NULL, *work = NULL;
  int *integers = NULL, info = 0;
  RF_ALLOC(momentum, r);
  RF_ALLOC(y, r);
  RF_ALLOC(sum, r * r);
  RF_ALLOC(extent, r);
  RF_ALLOC(work, lwork);
  RF_ALLOC(integers, liwork);
  for (int32_t pose = 0; pose < set->n_poses; ++pose) {
    if (pose % RF_CUBATURE_HOLD == RF_CUBATURE_HOLD - 1) continue;
    for (int32_t i = 0; i < r; ++i)
      momentum[i] = rf_dot(r, model->mass + (int64_t)i * r, set->poses + (int64_t)pose * r);
    for (int32_t i = 0; i < r; ++i)
      y[i] = sqrt(fmax(values[i], 0.0)) * rf_dot(r, vectors + (int64_t)i * r, momentum);
    const double size = rf_norm(r, y);
    for (int32_t i = 0; i < r; ++i)
      for (int32_t k = 0; k < r; ++k) sum[i * r + k] += y[i] / size * (y[k] / size);
  }
  rf_blas_serial_begin();
  dsyevd_("N", "L", &r, sum, &r, extent, work, &lwork, integers, &liwork, &info);
  rf_blas_serial_end();
  if (info != 0) st = rf_fail(err, RF_ERR_NO_CONVERGENCE, "extent of the training poses not found");
  for (int32_t i = 0; i < r; ++i) *count += extent[i] > EXERCISED * EXERCISED * extent[r - 1];
done:
  rf_free(momentum);
  rf_free(y);
  rf_free(sum);
  rf_free(extent);
  rf_free(work);
  rf_free(integers);
  return st;
}

// Computes the stiffness of the ghost penalty of cut cells, which is constant.
static rf_status find_penalty(const rf_solid *solid, const rf_run *run, int32_t r,
                              const double *basis, double *linear, rf_error *err) {
  rf_status st = RF_OK;
  double *modulus = NULL;
  rf_solid penalty = *solid;  // carries the penalty's stiffness in place of its mass
  penalty.mass = NULL;
  RF_ALLOC(modulus, solid->n_materials);
  RF_ALLOC(penalty.mass, solid->graph.ptr[solid->mesh->n_nodes]);
  for (int32_t m = 0; m < solid->n_materials; ++m) modulus[m] = rf_solid_ghost_modulus(solid, m);
  RF_TRY(rf_solid_ghost_matrix(solid, modulus, penalty.mass, err));
  RF_TRY(rf_reduced_mass(&penalty, run, r, basis, linear, err));
done:
  rf_free(modulus);
  rf_free(penalty.mass);
  return st;
}

rf_status rf_reduced_build_spread(const rf_projected *model, const rf_run *run, int32_t points,
                                  rf_reduced **out, rf_error *err) {
  rf_status st = RF_OK;
  const rf_solid *solid = model->solid;
  const int32_t r = model->r;
  const int64_t n = 3 * (int64_t)solid->mesh->n_nodes;
  rf_cubature *cubature = NULL;
  double *basis = NULL, *linear = NULL;
  *out = NULL;
  RF_ALLOC(basis, n * r);
  for (int64_t d = 0; d < n; ++d)
    for (int32_t k = 0; k < r; ++k) basis[k * n + d] = model->rows[d * model->ld + k];
  if (solid->ghost_mate) {
    RF_ALLOC(linear, r * r);
    RF_TRY(find_penalty(solid, run, r, basis, linear, err));
  }
  RF_TRY(rf_cubature_spread(solid, r, basis, points, linear, solid->simd, &cubature, err));
  st = rf_reduced_create_sampled(solid->mesh->n_nodes, solid->mesh->nodes, basis, model->mass,
                                 cubature, out, err);
done:
  rf_free(basis);
  rf_free(linear);
  return st;
}

rf_status rf_reduced_build_sampled(const rf_solid *solid, const rf_run *run, int32_t r,
                                   const double *basis, const rf_cubature_settings *set,
                                   rf_simd simd, rf_reduced **out, rf_cubature_report *report,
                                   rf_error *err) {
  rf_status st = RF_OK;
  rf_projected *projected = NULL;
  rf_cubature *cubature = NULL;
  rf_cubature_settings own = *set;
  double *values = NULL, *vectors = NULL, *metric = NULL, *linear = NULL;
  *out = NULL;
  RF_TRY(rf_projected_create(solid, run, r, basis, &projected, err));
  RF_ALLOC(values, r);
  RF_ALLOC(vectors, r * r);
  RF_ALLOC(metric, r * r);
  RF_TRY(rf_projected_modes(projected, run, values, vectors, err));
  find_metric(r, values, vectors, metric);
  if (solid->ghost_mate) {
    RF_ALLOC(linear, r * r);
    RF_TRY(find_penalty(solid, run, r, basis, linear, err));
  }
  own.metric = metric;
  own.linear = linear;
  RF_TRY(rf_cubature_build(solid, run, r, basis, &own, simd, &cubature, report, err));
  RF_TRY(rf_reduced_create_sampled(solid->mesh->n_nodes, solid->mesh->nodes, basis, projected->mass,
                                   cubature, out, err));
  RF_TRY(count_exercised(projected, values, vectors, set, &report->exercised, err));
  st = compare_modes(*out, values, &report->frequency_error, err);
done:
  if (st < 0) {
    rf_reduced_free(*out);
    *out = NULL;
  }
  rf_projected_free(projected);
  rf_free(values);
  rf_free(vectors);
  rf_free(metric);
  rf_free(linear);
  return st;
}
