// Frequencies of reduced models and the steps that explicit integration allows.
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "integrator/central.h"
#include "linalg/blas.h"

rf_status rf_reduced_eigenvalues(const rf_reduced *model, const double *q, double *values,
                                 rf_error *err) {
  rf_status st = RF_OK;
  const int r = model->r, itype = 1, lwork = 1 + 2 * r, liwork = 1;
  double *rest = NULL, *stiffness = NULL, *mass = NULL, *work = NULL;
  void *polynomial = NULL;
  int iwork = 0, info = 0;
  RF_ALLOC(rest, r);
  RF_ALLOC(stiffness, r * r);
  RF_ALLOC(mass, r * r);
  RF_ALLOC(work, lwork);
  polynomial = rf_alloc(rf_polynomial_work_bytes(r), 1);
  if (!polynomial) {
    st = rf_fail(err, RF_ERR_MEMORY, "out of memory: the stiffness of r = %d", r);
    goto done;
  }
  rf_polynomial_evaluate_rt(model->polynomial, q ? q : rest, polynomial, NULL, NULL, stiffness, r);
  for (int32_t i = 0; i < r * r; ++i)
    if (!isfinite(stiffness[i])) {
      st = rf_fail(err, RF_ERR_ARG, "q is so large that the stiffness is no finite number");
      goto done;
    }
  memcpy(mass, model->mass, (size_t)r * (size_t)r * sizeof *mass);
  rf_blas_serial_begin();
  dsygvd_(&itype, "N", "L", &r, stiffness, &r, mass, &r, values, work, &lwork, &iwork, &liwork,
          &info);
  rf_blas_serial_end();
  if (info != 0)
    st = rf_fail(err, RF_ERR_NO_CONVERGENCE, "eigenvalues of the reduced stiffness not found");
done:
  rf_free(rest);
  rf_free(stiffness);
  rf_free(mass);
  rf_free(work);
  rf_free(polynomial);
  return st;
}

double rf_central_stable_step(double lambda, double damping) {
  const double square = fmax(lambda, 0.0), c = fmax(damping, 0.0);
  const double sum = c + sqrt(c * c + 4.0 * square);
  return sum > 0.0 ? 4.0 / sum : INFINITY;
}

static rf_status check_damping(double stiff, rf_error *err) {
  if (isfinite(stiff) && stiff >= 0.0) return RF_OK;
  return rf_fail(err, RF_ERR_ARG, "damping[1] must be finite and >= 0, got %g", stiff);
}

rf_status rf_reduced_stable_step(const rf_reduced *model, const double *q, double damping_stiff,
                                 double *step, rf_error *err) {
  rf_status st = RF_OK;
  double *values = NULL;
  RF_TRY(check_damping(damping_stiff, err));
  RF_ALLOC(values, model->r);
  RF_TRY(rf_reduced_eigenvalues(model, q, values, err));
  const double highest = values[model->r - 1];
  *step = rf_central_stable_step(highest, damping_stiff * highest);
done:
  rf_free(values);
  return st;
}

rf_status rf_solid_stable_step(const rf_solid *solid, const rf_run *run, const double *u,
                               double damping_stiff, double *step, rf_error *err) {
  rf_status st = RF_OK;
  double *blocks = NULL, bound;
  RF_TRY(check_damping(damping_stiff, err));
  RF_ALLOC(blocks, 9 * (int64_t)solid->graph.ptr[solid->mesh->n_nodes]);
  RF_TRY(rf_solid_evaluate(solid, run, u, NULL, NULL, blocks, err));
  RF_TRY(rf_solid_highest_bound(solid, run, blocks, &bound, err));
  *step = rf_central_stable_step(bound, damping_stiff * bound);
done:
  rf_free(blocks);
  return st;
}
