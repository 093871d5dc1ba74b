// Frequencies of reduced models and the steps that explicit integration allows.
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "dynamics/spectrum.h"
#include "dynamics/system.h"
#include "fem/fem.h"
#include "fem/mass_solve.h"
#include "linalg/blas.h"
#include "linalg/vector.h"
#include "model/projected.h"
#include "modes/modes.h"
#include "polynomial/damping.h"

// error of eigenvalues that are estimated from below, and the factor that makes up for it
static const double ROUGH = 1e-4, MARGIN = 1.02;

// eigenvalues of A x = lambda M~ x, ascending; `a` (r, r) is overwritten
static rf_status eigenvalues(int32_t r_, const double *m, double *a, double *values,
                             rf_error *err) {
  rf_status st = RF_OK;
  const int r = r_, itype = 1, lwork = 1 + 2 * r, liwork = 1;
  double *mass = NULL, *work = NULL;
  int iwork = 0, info = 0;
  for (int32_t i = 0; i < r * r; ++i)
    if (!isfinite(a[i]))
      return rf_fail(err, RF_ERR_ARG, "q is so large that the stiffness is not finite");
  RF_ALLOC(mass, r * r);
  RF_ALLOC(work, lwork);
  memcpy(mass, m, (size_t)r * (size_t)r * sizeof *mass);
  rf_blas_serial_begin();
  dsygvd_(&itype, "N", "L", &r, a, &r, mass, &r, values, work, &lwork, &iwork, &liwork, &info);
  rf_blas_serial_end();
  if (info != 0)
    st = rf_fail(err, RF_ERR_NO_CONVERGENCE, "eigenvalues of the reduced stiffness not found");
done:
  rf_free(mass);
  rf_free(work);
  return st;
}

// K~(q) or, with it, the damping D~(q) (r, r); q NULL: rest
static rf_status matrix_at(const rf_reduced *model, const double *q, const rf_damping *damping,
                           double *matrix, rf_error *err) {
  rf_status st = RF_OK;
  const int32_t r = model->r;
  double *rest = NULL;
  void *work = NULL;
  RF_ALLOC(rest, r);
  work = rf_alloc(damping ? rf_damping_work_bytes(r) : rf_reduced_work_bytes(model), 1);
  if (!work) {
    st = rf_fail(err, RF_ERR_MEMORY, "out of memory: the stiffness of r = %d", r);
    goto done;
  }
  if (damping)
    rf_damping_matrix_rt(damping, q ? q : rest, work, matrix, r);
  else
    rf_reduced_evaluate_rt(model, q ? q : rest, work, NULL, NULL, matrix, r);
done:
  rf_free(rest);
  rf_free(work);
  return st;
}

rf_status rf_spectrum_reduced(const rf_reduced *model, const double *q, double *values,
                              rf_error *err) {
  rf_status st = RF_OK;
  double *stiffness = NULL;
  RF_ALLOC(stiffness, model->r * model->r);
  RF_TRY(matrix_at(model, q, NULL, stiffness, err));
  RF_TRY(eigenvalues(model->r, model->mass, stiffness, values, err));
done:
  rf_free(stiffness);
  return st;
}

double rf_stable_step_of(double eigenvalue, double damping) {
  const double square = fmax(eigenvalue, 0.0), c = fmax(damping, 0.0);
  const double sum = c + sqrt(c * c + 4.0 * square);
  return sum > 0.0 ? 4.0 / sum : INFINITY;
}

rf_status rf_stable_step_reduced(const void *of, const rf_run *run, const double *q,
                                 const rf_system_damping *damping, double *step, rf_error *err) {
  const rf_reduced *model = of;
  const rf_damping *strain_rate = damping->strain_rate;
  (void)run;
  rf_status st = RF_OK;
  const int32_t r = model->r;
  double *values = NULL, *matrix = NULL, rate = 0.0;
  RF_TRY(rf_system_damping_fits(strain_rate, model, err));
  RF_ALLOC(values, r);
  if (strain_rate) {
    RF_ALLOC(matrix, r * r);
    RF_TRY(matrix_at(model, q, strain_rate, matrix, err));
    RF_TRY(eigenvalues(r, model->mass, matrix, values, err));
    rate = values[r - 1];
  }
  RF_TRY(rf_spectrum_reduced(model, q, values, err));
  const double highest = values[r - 1];
  *step = rf_stable_step_of(highest, damping->stiffness * fmax(highest, 0.0) + rate);
done:
  rf_free(values);
  rf_free(matrix);
  return st;
}

rf_status rf_stable_step_projected(const void *of, const rf_run *run, const double *q,
                                   const rf_system_damping *damping, double *step, rf_error *err) {
  const rf_projected *model = of;
  const double *viscosity = damping->viscosity;
  rf_status st = RF_OK;
  const int32_t r = model->r;
  rf_projected_work *work = NULL;
  double *rest = NULL, *matrix = NULL, *values = NULL, rate = 0.0;
  if (viscosity) RF_TRY(rf_viscosity_check(model->solid->n_materials, viscosity, err));
  RF_TRY(rf_projected_work_create(model, &work, err));
  RF_ALLOC(rest, r);
  RF_ALLOC(values, r);
  RF_ALLOC(matrix, (int64_t)r * r);
  if (!q) q = rest;
  if (viscosity) {
    RF_TRY(rf_projected_damping(model, run, work, viscosity, q, matrix, r, err));
    RF_TRY(eigenvalues(r, model->mass, matrix, values, err));
    rate = values[r - 1];
  }
  RF_TRY(rf_projected_evaluate(model, run, work, q, NULL, NULL, matrix, r, err));
  if (!isfinite(rf_norm((int64_t)r * r, matrix)))
    RF_TRY(rf_projected_require_defined(model, run, work, q, "q", err));
  RF_TRY(eigenvalues(r, model->mass, matrix, values, err));
  *step = rf_stable_step_of(values[r - 1], damping->stiffness * fmax(values[r - 1], 0.0) + rate);
done:
  rf_projected_work_free(work);
  rf_free(rest);
  rf_free(matrix);
  rf_free(values);
  return st;
}

rf_status rf_stable_step_matrices(const void *of, const rf_run *run, const double *x,
                                  const rf_system_damping *damping, double *step, rf_error *err) {
  const rf_matrices *model = of;
  const rf_csc *mass = &model->mass, *stiffness = &model->stiffness;
  rf_status st = RF_OK;
  rf_csc tangent = {0};
  rf_modes_matrices *swapped = NULL;
  double *shape = NULL, inverse;
  RF_ALLOC(shape, mass->cols);
  if (x && model->law && model->law->tangent) {
    RF_TRY(rf_csc_copy(stiffness, &tangent, err));
    RF_TRY(model->law->tangent(model->law_self, x, tangent.val, err));
    stiffness = &tangent;
  }
  // the lowest eigenvalue of  M x = mu K x  is that of the highest frequency
  st = rf_modes_matrices_create(mass, stiffness, run, &swapped, err);
  if (st >= 0 && mass->cols == 1) {
    inverse = mass->val[0] / stiffness->val[0];
    if (!(inverse > 0.0)) st = RF_ERR_SINGULAR;
  } else if (st >= 0)
    st = rf_modes_linear(rf_modes_matrices_system(swapped), run, 1, &inverse, shape, err);
  if (st == RF_ERR_SINGULAR && stiffness == &tangent)
    st = rf_fail(err, st,
                 "the tangent at q is not positive definite, so that its highest frequency is not "
                 "found: take a q nearer to rest");
  if (st < 0) goto done;
  *step = rf_stable_step_of(1.0 / inverse, damping->stiffness / inverse);
done:
  rf_csc_free(&tangent);
  rf_modes_matrices_free(swapped);
  rf_free(shape);
  return st;
}

// Highest eigenvalue of the blocks, rounded up: by a bound or, with the consistent mass, by a
// margin.
static rf_status highest_rate(const rf_solid *solid, const rf_run *run, const double *blocks,
                              double *rate, rf_error *err) {
  if (rf_solid_steps_lumped(solid)) return rf_solid_highest_bound(solid, run, blocks, rate, err);
  const rf_status st = rf_solid_highest(solid, run, blocks, false, ROUGH, rate, err);
  if (st >= 0 && *rate > 0.0) *rate *= MARGIN;
  return st;
}

rf_status rf_stable_step_solid(const void *of, const rf_run *run, const double *u,
                               const rf_system_damping *damping, double *step, rf_error *err) {
  const rf_solid *solid = of;
  const double *viscosity = damping->viscosity;
  rf_status st = RF_OK;
  double *blocks = NULL, bound, rate = 0.0;
  if (viscosity) RF_TRY(rf_viscosity_check(solid->n_materials, viscosity, err));
  RF_ALLOC(blocks, 9 * (int64_t)solid->graph.ptr[solid->mesh->n_nodes]);
  if (viscosity) {
    RF_TRY(rf_solid_damping(solid, run, viscosity, u, NULL, NULL, NULL, blocks, err));
    RF_TRY(highest_rate(solid, run, blocks, &rate, err));
  }
  RF_TRY(rf_solid_evaluate(solid, run, u, NULL, NULL, blocks, err));
  if (u && !isfinite(rf_norm(9 * (int64_t)solid->graph.ptr[solid->mesh->n_nodes], blocks)))
    RF_TRY(rf_solid_require_defined(solid, u, "q", err));
  RF_TRY(highest_rate(solid, run, blocks, &bound, err));
  *step = rf_stable_step_of(bound, damping->stiffness * bound + rate);
done:
  rf_free(blocks);
  return st;
}
