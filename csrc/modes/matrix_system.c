// Two given matrices as a system for modes.
#include "base/alloc.h"
#include "modes/modes.h"

enum { MATRIX_WEIGHTS = 1 };

struct rf_modes_matrices {
  rf_cholesky *stiffness;
  const rf_csc *mass;
  double *weight[MATRIX_WEIGHTS];
  const double *weights[MATRIX_WEIGHTS];
  rf_modes_system system;
};

static rf_status matrices_mass(void *context, const rf_run *run, int32_t count, const double *x,
                               double *y, rf_error *err) {
  const rf_modes_matrices *m = context;
  return rf_csc_symmetric_multiply(m->mass, run, 1, count, x, y, err);
}

static rf_status matrices_solve(void *context, const rf_run *run, int32_t count, const double *x,
                                double *y, rf_error *err) {
  const rf_modes_matrices *m = context;
  return rf_cholesky_solve(m->stiffness, run, count, x, y, err);
}

// Returns a fixed pseudo-random number in [1, 2) for each index, to break any symmetry.
static double scatter(int32_t place) {
  const uint32_t mixed = (uint32_t)place * 2654435769u;
  return 1.0 + (double)(mixed ^ (mixed >> 15)) * 0x1p-32;
}

rf_status rf_modes_matrices_create(const rf_csc *stiffness, const rf_csc *mass, const rf_run *run,
                                   rf_modes_matrices **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_modes_matrices *m = NULL;
  const int32_t n = stiffness->rows;
  *out = NULL;
  if (mass->rows != n || mass->cols != n || stiffness->cols != n)
    return rf_fail(err, RF_ERR_ARG, "stiffness (%d x %d) and mass (%d x %d) must be square alike",
                   stiffness->rows, stiffness->cols, mass->rows, mass->cols);
  RF_ALLOC(m, 1);
  m->mass = mass;
  RF_TRY(rf_cholesky_create(stiffness, NULL, &m->stiffness, err));
  st = rf_cholesky_factorize(m->stiffness, run, stiffness, NULL, err);
  if (st < 0) goto done;

  // repeated modes of unknowns without geometry are ordered by these weights
  RF_ALLOC(m->weight[0], n);
  for (int32_t j = 0; j < n; ++j)
    for (int32_t p = mass->colptr[j]; p < mass->colptr[j + 1]; ++p)
      if (mass->rowind[p] == j) m->weight[0][j] = mass->val[p] * scatter(j);
  m->weights[0] = m->weight[0];
  m->system.operators = (rf_eigen_problem){.n = n,
                                           .mass = matrices_mass,
                                           .solve = matrices_solve,
                                           .context = m,
                                           .n_weights = MATRIX_WEIGHTS,
                                           .weights = m->weights};
  *out = m;
  m = NULL;
done:
  rf_modes_matrices_free(m);
  return st;
}

void rf_modes_matrices_free(rf_modes_matrices *m) {
  if (!m) return;
  rf_cholesky_free(m->stiffness);
  for (int w = 0; w < MATRIX_WEIGHTS; ++w) rf_free(m->weight[w]);
  rf_free(m);
}

const rf_modes_system *rf_modes_matrices_system(const rf_modes_matrices *m) { return &m->system; }
