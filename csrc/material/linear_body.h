// General linear law: S = C : E with 21 constants  (B07 2.14).  Body of a law, see law.h; no
// include guard, on purpose.
INLINE void NAME(linear_elasticity)(const VEC *p, VEC *C) {
  for (int k = 0; k < 36; ++k) C[k] = p[k];
}

#define LAW linear
#include "material/quadratic_body.h"

#if LANES == 1
static const rf_law_parameter linear_parameters[] = {{"stiffness", 36}, {0}};
static const rf_law_facts linear_facts = {.quadratic_in_e = true,
                                          .defined_inverted = true,
                                          .kernels = RF_LAW_KERNELS_LINEAR,
                                          .parameters = linear_parameters,
                                          .check = rf_law_check_stiffness};
#endif
