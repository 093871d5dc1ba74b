#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "modes/modes.h"

rf_status rf_modes_linear(const rf_modes_system *system, const rf_run *run, int32_t k,
                          double *eigenvalues, double *shapes, rf_error *err) {
  const rf_eigen_settings set = {.k = k};
  const int32_t most = system->operators.n - system->operators.null_space - 1;
  if (!(k >= 1 && k <= most))
    return rf_fail(err, RF_ERR_ARG,
                   "k must be between 1 and %d (degrees of freedom less one), got %d", most, k);
  return rf_eigen_smallest(&system->operators, &set, run, eigenvalues, shapes, NULL, err);
}

void rf_modes_frequencies(int32_t k, const double *eigenvalues, double *frequencies) {
  const double two_pi = 6.283185307179586;
  for (int32_t j = 0; j < k; ++j) frequencies[j] = sqrt(fmax(eigenvalues[j], 0.0)) / two_pi;
}

rf_status rf_modes_expand(const rf_solid *solid, int64_t count, double *vectors, rf_error *err) {
  rf_status st = RF_OK;
  const size_t all = 3 * (size_t)solid->mesh->n_nodes, held = 3 * (size_t)solid->n_free;
  double *one = NULL;
  RF_ALLOC(one, held);
  // backwards: the expanded vector never overwrites one that is still to be read
  for (int64_t v = count - 1; v >= 0; --v) {
    memcpy(one, vectors + held * (size_t)v, held * sizeof *one);
    rf_solid_scatter(solid, one, vectors + all * (size_t)v);
  }
done:
  rf_free(one);
  return st;
}
