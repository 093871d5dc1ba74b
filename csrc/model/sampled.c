#include "model/sampled.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "fem/fem.h"
#include "fem/ghost.h"
#include "linalg/blas.h"
#include "mesh/mesh.h"
#include "model/mass.h"

// Eigenvalues below this part of the largest belong to rigid motions and count as this.
static const double RIGID = 1e-12;

rf_status rf_projected_modes(const rf_projected *model, const rf_run *run, double *values,
                             double *vectors, rf_error *err) {
  rf_status st = RF_OK;
  const int r = model->r, itype = 1, lwork = 1 + 6 * r + 2 * r * r, liwork = 3 + 5 * r;
  rf_projected_work *at = NULL;
  double *rest = NULL, *mass = NULL, *work = NULL;
  int *integers = NULL, info = 0;
  RF_TRY(rf_projected_work_create(model, &at, err));
  RF_ALLOC(rest, r);
  RF_ALLOC(mass, r * r);
  RF_ALLOC(work, lwork);
  RF_ALLOC(integers, liwork);
  RF_TRY(rf_projected_evaluate(model, run, at, rest, NULL, NULL, vectors, r, err));
  memcpy(mass, model->mass, (size_t)r * (size_t)r * sizeof *mass);
  rf_blas_serial_begin();
  dsygvd_(&itype, "V", "L", &r, vectors, &r, mass, &r, values, work, &lwork, integers, &liwork,
          &info);
  rf_blas_serial_end();
  if (info != 0)
    st = rf_fail(err, RF_ERR_NO_CONVERGENCE, "modes of the reduced equations not found");
done:
  rf_projected_work_free(at);
  rf_free(rest);
  rf_free(mass);
  rf_free(work);
  rf_free(integers);
  return st;
}

// Computes S with |S f| = |K^(-1/2) f|: row i is mode i over its frequency.
static rf_status find_metric(const rf_projected *model, const rf_run *run, double *metric,
                             rf_error *err) {
  rf_status st = RF_OK;
  const int32_t r = model->r;
  double *values = NULL;
  RF_ALLOC(values, r);
  RF_TRY(rf_projected_modes(model, run, values, metric, err));
  for (int32_t i = 0; i < r; ++i) {
    const double scale = 1.0 / sqrt(fmax(values[i], RIGID * values[r - 1]));
    for (int32_t k = 0; k < r; ++k) metric[i * r + k] *= scale;
  }
done:
  rf_free(values);
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

rf_status rf_reduced_build_sampled(const rf_solid *solid, const rf_run *run, int32_t r,
                                   const double *basis, const rf_cubature_settings *set,
                                   rf_simd simd, rf_reduced **out, rf_cubature_report *report,
                                   rf_error *err) {
  rf_status st = RF_OK;
  rf_projected *projected = NULL;
  rf_cubature *cubature = NULL;
  rf_cubature_settings own = *set;
  double *metric = NULL, *linear = NULL;
  *out = NULL;
  RF_TRY(rf_projected_create(solid, run, r, basis, &projected, err));
  RF_ALLOC(metric, r * r);
  RF_TRY(find_metric(projected, run, metric, err));
  if (solid->ghost_mate) {
    RF_ALLOC(linear, r * r);
    RF_TRY(find_penalty(solid, run, r, basis, linear, err));
  }
  own.metric = metric;
  own.linear = linear;
  RF_TRY(rf_cubature_build(solid, run, r, basis, &own, simd, &cubature, report, err));
  st = rf_reduced_create_sampled(solid->mesh->n_nodes, solid->mesh->nodes, basis, projected->mass,
                                 cubature, out, err);
done:
  rf_projected_free(projected);
  rf_free(metric);
  rf_free(linear);
  return st;
}
