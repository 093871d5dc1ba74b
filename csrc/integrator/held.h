// States of an unreduced solid: fixed nodes do not move.
#ifndef RF_INTEGRATOR_HELD_H
#define RF_INTEGRATOR_HELD_H

#include <stdint.h>

#include "base/status.h"
#include "fem/fem.h"

// RF_ERR_ARG, naming the first fixed node at which the field x (n_nodes, 3; NULL is zero) is
// not zero.
RF_MUST_CHECK static inline rf_status rf_require_still(const rf_solid *solid, const double *x,
                                                       const char *name, rf_error *err) {
  for (int32_t i = 0; x && i < solid->n_fixed; ++i)
    for (int32_t c = 0; c < 3; ++c) {
      const double value = x[3 * (int64_t)solid->fixed[i] + c];
      if (!(value == 0.0))
        return rf_fail(err, RF_ERR_ARG, "%s[%d, %d] is %g, but node %d is fixed: it must be 0",
                       name, solid->fixed[i], c, value, solid->fixed[i]);
    }
  return RF_OK;
}

#endif
