// Bodies of all laws for each instruction set, and the table of laws.
#include <math.h>
#include <string.h>

#include "material/law.h"
#include "material/voigt.h"

#define LANES 1
#define TARGET
#define VARIANT scalar
#include "material/list_body.h"
#undef LANES
#undef TARGET
#undef VARIANT

#define LANES 2
#define TARGET
#define VARIANT plain
#include "material/list_body.h"
#undef LANES
#undef TARGET
#undef VARIANT

#if RF_SIMD_X86
#define LANES 4
#define TARGET __attribute__((target("avx2,fma")))
#define VARIANT avx2
#include "material/list_body.h"
#undef LANES
#undef TARGET
#undef VARIANT

#define LANES 8
#define TARGET __attribute__((target("avx512f,avx512dq,avx512vl,avx2,fma")))
#define VARIANT avx512
#include "material/list_body.h"
#undef LANES
#undef TARGET
#undef VARIANT

#define VARIANTS(f) {f##_scalar, f##_plain, f##_avx2, f##_avx512}
#else
#define VARIANTS(f) {f##_scalar, f##_plain}
#endif

#define TABLE_ROW(law, text)       \
  {.name = text,                   \
   .facts = &law##_facts,          \
   .point = VARIANTS(law##_point), \
   .second = VARIANTS(law##_second)},
const rf_law rf_laws[RF_LAW_COUNT] = {RF_LAWS(TABLE_ROW)};

rf_law_definite_fn *const rf_law_definite[RF_LAW_VARIANTS] = VARIANTS(definite);

const rf_law *rf_law_named(const char *name) {
  for (int k = 0; k < RF_LAW_COUNT; ++k)
    if (strcmp(rf_laws[k].name, name) == 0) return &rf_laws[k];
  return NULL;
}

// dP = C : sym(dF) at rest, where there is no stress.
void rf_law_rest(const rf_law *law, const double *parameters, double C[36]) {
  double G[9] = {0}, W, P[9], A[81];
  law->point[RF_SIMD_BEST](parameters, G, &W, P, A);
  for (int v = 0; v < 6; ++v)
    for (int w = 0; w < 6; ++w)
      C[6 * v + w] = A[9 * (3 * ROW_OF[v] + COLUMN_OF[v]) + 3 * ROW_OF[w] + COLUMN_OF[w]];
}
