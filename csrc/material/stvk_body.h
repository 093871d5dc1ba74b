// St.Venant-Kirchhoff: S = lambda tr(E) I + 2 mu E  (B07 2.1).  Body of a law, see law.h; no
// include guard, on purpose.
INLINE void NAME(stvk_elasticity)(const VEC *p, VEC *C) {
  for (int k = 0; k < 36; ++k) C[k] = (VEC){0};
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) C[6 * i + j] = p[0];
    C[7 * i] += 2.0 * p[1];
    C[7 * (i + 3)] = p[1];
  }
}

#define LAW stvk
#include "material/quadratic_body.h"

#if LANES == 1
static const rf_law_facts stvk_facts = {
    .quadratic_in_e = true, .defined_inverted = true, .kernels = RF_LAW_KERNELS_STVK, RF_LAW_LAME};
#endif
