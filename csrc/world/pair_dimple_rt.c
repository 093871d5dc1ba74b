#include "world/pair_dimple.h"

#include <math.h>

#include "linalg/vec3.h"

void rf_pair_dent_rt(const rf_pair_dent *dent, int32_t point, double out[3]) {
  for (int i = 0; i < 3; ++i) out[i] = 0.0;
  for (int32_t k = 0; k < dent->n; ++k)
    rf_contact_local_push_rt(dent->local, point, dent->point[k], dent->force + 3 * (int64_t)k, out);
}

double rf_pair_dent_deepest_rt(const rf_pair_dent *dent) {
  double way[3], deepest = 0.0;
  for (int32_t k = 0; k < dent->n; ++k) {
    rf_pair_dent_rt(dent, dent->point[k], way);
    deepest = fmax(deepest, rf_vec3_length(way));
  }
  return deepest;
}
