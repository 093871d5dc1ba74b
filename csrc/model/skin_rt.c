#include <math.h>
#include <string.h>

#include "model/skin.h"

// Computes out = base + rows q for the three rows of a point.
static void move(int32_t r, const double *base, const double *rows, const double *q, double *out) {
  for (int i = 0; i < 3; ++i) {
    double sum = 0.0;
    for (int32_t j = 0; j < r; ++j) sum += rows[i * r + j] * q[j];
    out[i] = base[i] + sum;
  }
}

void rf_skin_position_rt(const rf_skin *s, int32_t point, const double *q, double position[3]) {
  const size_t at = 3 * (size_t)point;
  move(s->r, s->rest + at, s->motion + at * (size_t)s->r, q, position);
}

void rf_skin_normal_rt(const rf_skin *s, int32_t point, const double *q, double normal[3]) {
  const size_t at = 3 * (size_t)point;
  move(s->r, s->normal + at, s->tilt + at * (size_t)s->r, q, normal);
  const double square = normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2];
  const double scale = square > 0.0 ? 1.0 / sqrt(square) : 0.0;
  for (int i = 0; i < 3; ++i) normal[i] *= scale;
}

void rf_skin_project_rt(const rf_skin *s, int32_t count, const int32_t *which, const double *forces,
                        double *reduced) {
  const int32_t r = s->r;
  memset(reduced, 0, (size_t)r * sizeof *reduced);
  for (int32_t k = 0; k < count; ++k) {
    const double *rows = s->motion + 3 * (size_t)which[k] * (size_t)r;
    const double *f = forces + 3 * (size_t)k;
    for (int i = 0; i < 3; ++i)
      for (int32_t j = 0; j < r; ++j) reduced[j] += f[i] * rows[i * r + j];
  }
}
