#include "deform/sweep.h"

#include <math.h>

#include "base/alloc.h"

rf_status rf_deformed_lines_create(rf_deformed_lines *l, int32_t longest, rf_error *err) {
  rf_status st = RF_OK;
  RF_ALLOC(l->value, longest);
  RF_ALLOC(l->out, longest);
  RF_ALLOC(l->border, longest + 1);
  RF_ALLOC(l->lowest, longest);
done:
  return st;
}

void rf_deformed_lines_free(rf_deformed_lines *l) {
  rf_free(l->value);
  rf_free(l->out);
  rf_free(l->border);
  rf_free(l->lowest);
}

// out[p] = min over q of value[q] + (spacing (p - q))^2
static void sweep_line(int32_t n, double spacing, rf_deformed_lines *l) {
  const double h2 = spacing * spacing;
  int32_t k = -1;
  for (int32_t q = 0; q < n; ++q) {
    if (!(l->value[q] < INFINITY)) continue;
    double border = -INFINITY;
    for (; k >= 0; --k) {
      const int32_t v = l->lowest[k];
      border = 0.5 * (q + v) + 0.5 * (l->value[q] - l->value[v]) / (h2 * (q - v));
      if (border > l->border[k]) break;
    }
    if (k < 0) border = -INFINITY;
    l->lowest[++k] = q;
    l->border[k] = border;
  }
  if (k < 0) return;
  l->border[k + 1] = INFINITY;
  for (int32_t p = 0, at = 0; p < n; ++p) {
    while (l->border[at + 1] < p) ++at;
    const double way = spacing * (p - l->lowest[at]);
    l->out[p] = l->value[l->lowest[at]] + way * way;
  }
  for (int32_t p = 0; p < n; ++p) l->value[p] = l->out[p];
}

rf_status rf_deformed_square_distances(const int32_t n[3], const double spacing[3], float *square,
                                       rf_deformed_lines *l, const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  const int64_t stride[3] = {(int64_t)n[1] * n[2], n[2], 1};
  for (int axis = 2; axis >= 0; --axis) {
    const int a = axis == 0 ? 1 : 0, b = axis == 2 ? 1 : 2;
    for (int32_t i = 0; i < n[a]; ++i) {
      if (i % 16 == 0) RF_TRY(rf_run_progress(run, -1, -1, err));
      for (int32_t j = 0; j < n[b]; ++j) {
        float *first = square + i * stride[a] + j * stride[b];
        for (int32_t p = 0; p < n[axis]; ++p) l->value[p] = first[p * stride[axis]];
        sweep_line(n[axis], spacing[axis], l);
        for (int32_t p = 0; p < n[axis]; ++p) first[p * stride[axis]] = (float)l->value[p];
      }
    }
  }
done:
  return st;
}
