#include <math.h>
#include <string.h>

#include "pointshell/tree.h"
#include "pointshell/tree_kernels.h"

double rf_point_tree_reach_rt(const rf_point_tree *t, const double *q) {
  double reach = t->extent;
  for (int32_t j = 0; q && j < t->r; ++j) reach += t->motion_most[j] * fabs(q[j]);
  return reach;
}

void rf_point_tree_pad_rt(const rf_point_tree *t, const double *q, double *row, double *bound) {
  for (int32_t j = 0; j < t->row; ++j) row[j] = 0.0;
  for (int32_t j = 0; j < t->bound; ++j) bound[j] = 0.0;
  bound[0] = 1.0;
  for (int32_t j = 0; j < t->r; ++j) {
    row[j] = q[j];
    bound[1 + j] = fabs(q[j]);
  }
}

void rf_point_tree_positions_rt(const rf_point_tree *t, int32_t count, const int32_t *place,
                                const double *row, double *positions) {
  if (t->r) {
    RF_SIMD_CALL(t->simd, rf_tree_move, t->row, count, place, t->rest, t->motion, row, positions);
    return;
  }
  for (int32_t k = 0; k < count; ++k)
    memcpy(positions + 3 * (int64_t)k, t->rest + 3 * (int64_t)place[k], 3 * sizeof *positions);
}

void rf_point_tree_normals_rt(const rf_point_tree *t, int32_t count, const int32_t *place,
                              const double *row, double *normals) {
  if (!t->r) {
    for (int32_t k = 0; k < count; ++k)
      memcpy(normals + 3 * (int64_t)k, t->normal + 3 * (int64_t)place[k], 3 * sizeof *normals);
    return;
  }
  RF_SIMD_CALL(t->simd, rf_tree_move, t->row, count, place, t->normal, t->tilt, row, normals);
  for (int32_t k = 0; k < count; ++k) {
    double *n = normals + 3 * (int64_t)k;
    const double square = n[0] * n[0] + n[1] * n[1] + n[2] * n[2];
    const double scale = square > 0.0 ? 1.0 / sqrt(square) : 0.0;
    for (int i = 0; i < 3; ++i) n[i] *= scale;
  }
}

void rf_point_tree_bounds_rt(const rf_point_tree *t, int32_t count, const int64_t *node,
                             const double *bound, double *radii) {
  if (!t->r) {
    for (int32_t k = 0; k < count; ++k) radii[k] = t->bounds[node[k] * t->bound];
    return;
  }
  RF_SIMD_CALL(t->simd, rf_tree_dot, t->bound, count, node, t->bounds, bound, radii);
}

void rf_point_tree_project_rt(const rf_point_tree *t, int32_t place, const double force[3],
                              double *reduced) {
  if (!t->r) return;
  const float *rows = t->motion + 3 * (int64_t)place * t->row;
  RF_SIMD_CALL(t->simd, rf_tree_add, t->row, rows, force, reduced);
}
