#include <math.h>

#include "sdf/voxmap.h"

rf_voxel rf_voxmap_at_rt(const rf_voxmap *m, const double p[3], double centre[3]) {
  int32_t at[3];
  for (int c = 0; c < 3; ++c) {
    const double t = floor((p[c] - m->origin[c]) / m->edge);
    if (!(t >= 0.0 && t < m->n[c])) return RF_VOXEL_FREE;
    at[c] = (int32_t)t;
  }
  for (int c = 0; c < 3; ++c) centre[c] = m->origin[c] + (at[c] + 0.5) * m->edge;
  const size_t row = (size_t)at[2] * (size_t)m->n[1] + (size_t)at[1];
  return (rf_voxel)(m->bits[row * m->words + (size_t)at[0] / 32] >> (2 * (at[0] % 32)) & 3);
}
