#include "fem/loads.h"

#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"

rf_status rf_loads_check(const rf_loads *loads, int32_t n_nodes, rf_error *err) {
  if (!(loads->count >= 0 && loads->n_patterns >= 0 && loads->ptr[0] == 0))
    return rf_fail(err, RF_ERR_ARG, "the loads are malformed");
  for (int32_t i = 0; i < loads->count; ++i)
    if (loads->ptr[i + 1] < loads->ptr[i])
      return rf_fail(err, RF_ERR_ARG, "the forces of load %d end before they begin", (int)i);
  for (int32_t p = 0; p < loads->ptr[loads->count]; ++p)
    if (!(loads->node[p] >= 0 && loads->node[p] < n_nodes))
      return rf_fail(err, RF_ERR_ARG, "node %d of the loads is not one of the %d nodes",
                     (int)loads->node[p], (int)n_nodes);
  return RF_OK;
}

void rf_loads_expand(const rf_loads *loads, int32_t n_nodes, int32_t which, double *force) {
  const size_t n = 3 * (size_t)n_nodes;
  memset(force, 0, n * sizeof *force);
  for (int32_t p = 0; p < loads->n_patterns; ++p) {
    const double q = loads->coordinates[(size_t)which * (size_t)loads->n_patterns + (size_t)p];
    const double *pattern = loads->patterns + n * (size_t)p;
    for (size_t i = 0; q != 0.0 && i < n; ++i) force[i] += q * pattern[i];
  }
  for (int32_t p = loads->ptr[which]; p < loads->ptr[which + 1]; ++p)
    for (size_t c = 0; c < 3; ++c)
      force[3 * (size_t)loads->node[p] + c] += loads->force[3 * (size_t)p + c];
}

rf_status rf_loads_dense(const rf_loads *loads, int32_t n_nodes, double **points, int64_t *dim,
                         rf_error *err) {
  rf_status st = RF_OK;
  bool *touched = NULL;
  double *whole = NULL, *dense = NULL;
  size_t width = 0;
  RF_TRY(rf_loads_check(loads, n_nodes, err));
  RF_ALLOC(touched, n_nodes);
  RF_ALLOC(whole, 3 * (size_t)n_nodes);
  for (int32_t p = 0; p < loads->ptr[loads->count]; ++p) touched[loads->node[p]] = true;
  for (int32_t i = 0; i < n_nodes; ++i) {
    touched[i] = touched[i] || loads->n_patterns > 0;
    width += touched[i] ? 3 : 0;
  }
  RF_ALLOC(dense, width * (size_t)loads->count);
  double *to = dense;
  for (int32_t which = 0; which < loads->count; ++which) {
    rf_loads_expand(loads, n_nodes, which, whole);
    for (int32_t i = 0; i < n_nodes; ++i) {
      if (!touched[i]) continue;
      memcpy(to, whole + 3 * (size_t)i, 3 * sizeof *to);
      to += 3;
    }
  }
  *points = dense;
  *dim = (int64_t)width;
  dense = NULL;
done:
  rf_free(touched);
  rf_free(whole);
  rf_free(dense);
  return st;
}
