#include "world/pair_dimple.h"

#include <math.h>
#include <string.h>

#include "linalg/vec3.h"

void rf_pair_dimple_displacement_rt(const rf_pair_dimple_forces *last, int32_t point,
                                    double out[3]) {
  for (int i = 0; i < 3; ++i) out[i] = 0.0;
  if (last->n > 0 && last->known[point]) {
    memcpy(out, last->way + 3 * (size_t)point, 3 * sizeof *out);
    return;
  }
  for (int32_t k = 0; k < last->n; ++k)
    rf_contact_local_push_rt(last->local, point, last->point[k], last->force + 3 * (int64_t)k, out);
}

double rf_pair_dimple_deepest_rt(const rf_pair_dimple_forces *last) {
  double way[3], deepest = 0.0;
  for (int32_t k = 0; k < last->n; ++k) {
    rf_pair_dimple_displacement_rt(last, last->point[k], way);
    deepest = fmax(deepest, rf_vec3_length(way));
  }
  return deepest;
}
