#include <string.h>

#include "modes/modes.h"

rf_status rf_modes_response(int32_t k, int32_t n_nodes, const double *eigenvalues,
                            const double *shapes, int32_t count, const int32_t *node,
                            const double *force, const double *modal, double *coordinates,
                            double *u, rf_error *err) {
  const size_t n = 3 * (size_t)n_nodes;
  for (int32_t j = 0; j < k; ++j)
    if (!(eigenvalues[j] > 0.0))
      return rf_fail(err, RF_ERR_ARG,
                     "eigenvalue %d is %g; only modes with stiffness respond to a static load",
                     (int)j, eigenvalues[j]);
  for (int32_t p = 0; p < count; ++p)
    if (!(node[p] >= 0 && node[p] < n_nodes))
      return rf_fail(err, RF_ERR_ARG, "nodes[%d] is %d; nodes are numbered 0 to %d", (int)p,
                     (int)node[p], (int)n_nodes - 1);
  memset(u, 0, n * sizeof *u);
  for (int32_t j = 0; j < k; ++j) {
    const double *shape = shapes + n * (size_t)j;
    double load = modal ? modal[j] : 0.0;
    for (int32_t p = 0; p < count; ++p)
      for (size_t c = 0; c < 3; ++c)
        load += shape[3 * (size_t)node[p] + c] * force[3 * (size_t)p + c];
    coordinates[j] = load / eigenvalues[j];
    for (size_t i = 0; i < n; ++i) u[i] += coordinates[j] * shape[i];
  }
  return RF_OK;
}
