#include "world/touch.h"

#include <string.h>

#include "linalg/dense_rt.h"
#include "linalg/quat.h"

enum { RIGID = RF_SLOT_RIGID };

void rf_touch_relative_rt(const rf_touch_frame *tree, const rf_touch_frame *field, rf_pose *out) {
  const double *q = tree->pose.quaternion, back[4] = {q[0], -q[1], -q[2], -q[3]};
  double way[3], turned[4];
  rf_vec3_sub(field->pose.position_m, tree->pose.position_m, way);
  rf_quat_rotate_back(q, way, out->position_m);
  rf_quat_multiply(back, field->pose.quaternion, turned);
  rf_quat_normalize(turned, out->quaternion);
}

// Maps w, in the axes of the tree, to coordinates of a side in the world: R w, or -R T w.
typedef struct lever {
  const double *quaternion;  // R
  double arm[3];             // g - s; of the tree only
  bool tree;
} lever;

static void map_wrench(const lever *l, const double w[6], double out[6]) {
  double torque[3] = {w[3], w[4], w[5]}, cross[3];
  if (l->tree) {
    rf_vec3_cross(l->arm, w, cross);
    for (int i = 0; i < 3; ++i) torque[i] += cross[i];
  }
  rf_quat_rotate(l->quaternion, w, out);
  rf_quat_rotate(l->quaternion, torque, out + 3);
  for (int i = 0; i < 6 && l->tree; ++i) out[i] = -out[i];
}

// Column j of six rows.
static void take_column(const double *six, int32_t ld, int32_t j, double w[6]) {
  for (int32_t i = 0; i < 6; ++i) w[i] = six[i * ld + j];
}

// Sets an entry of K = -block and its mirror image.
static void put(rf_touch *t, int32_t row, int32_t column, double block) {
  t->stiffness[(size_t)row * (size_t)t->size + (size_t)column] = -block;
  t->stiffness[(size_t)column * (size_t)t->size + (size_t)row] = -block;
}

// Block of K of two mapped wrenches.
static void put_rigid(rf_touch *t, const lever *rows, int32_t row, const lever *columns,
                      int32_t column, const double *object, int32_t ld) {
  double half[36], w[6], out[6];
  for (int32_t j = 0; j < 6; ++j) {
    take_column(object, ld, j, w);
    map_wrench(rows, w, out);
    for (int32_t i = 0; i < 6; ++i) half[6 * i + j] = out[i];
  }
  for (int32_t i = 0; i < 6; ++i) {
    map_wrench(columns, half + 6 * i, out);
    for (int32_t j = 0; j < 6; ++j) put(t, row + i, column + j, out[j]);
  }
}

// Block of K of a mapped wrench and reduced coordinates; six: rows of the wrench.
static void put_mixed(rf_touch *t, const lever *l, int32_t row, const double *six, int32_t ld,
                      int32_t n, int32_t column) {
  for (int32_t j = 0; j < n; ++j) {
    double w[6], out[6];
    take_column(six, ld, j, w);
    map_wrench(l, w, out);
    for (int32_t i = 0; i < 6; ++i) put(t, row + i, column + j, out[i]);
  }
}

static void put_reduced(rf_touch *t, const double *block, int32_t ld, int32_t n, int32_t m,
                        int32_t row, int32_t column) {
  for (int32_t i = 0; i < n; ++i)
    for (int32_t j = 0; j < m; ++j) put(t, row + i, column + j, block[i * ld + j]);
}

static void fill_stiffness(rf_touch *t, const lever *tree, const lever *field,
                           const rf_contact_blocks *b) {
  const int32_t r = t->side[0].r, rf = t->side[1].r, at = t->side[0].size;
  const int32_t rows = rf_dense_ld(6 + rf), ld = rf_dense_ld(r);
  const double *of_field = b->object + 6;
  memset(t->stiffness, 0, (size_t)t->size * (size_t)t->size * sizeof *t->stiffness);
  put_rigid(t, tree, 0, tree, 0, b->object, rows);
  put_mixed(t, tree, 0, b->mixed, ld, r, RIGID);
  put_reduced(t, b->shell, ld, r, r, RIGID, RIGID);
  if (t->side[1].size == 0) return;
  put_rigid(t, tree, 0, field, at, b->object, rows);
  put_rigid(t, field, at, field, at, b->object, rows);
  put_mixed(t, field, at, b->mixed, ld, r, RIGID);
  put_mixed(t, tree, 0, of_field, rows, rf, at + RIGID);
  put_mixed(t, field, at, of_field, rows, rf, at + RIGID);
  put_reduced(t, b->mixed + 6 * ld, ld, rf, r, at + RIGID, RIGID);
  put_reduced(t, of_field + 6 * rows, rows, rf, rf, at + RIGID, at + RIGID);
}

void rf_touch_fill_rt(rf_touch *t, const rf_touch_frame *tree, const rf_touch_frame *field,
                      const rf_contact_result *found, const double *reduced,
                      const double *field_reduced, const rf_contact_blocks *blocks) {
  lever on_tree = {.quaternion = tree->pose.quaternion, .tree = true};
  const lever on_field = {.quaternion = tree->pose.quaternion};
  rf_pose relative;
  double grasp[3], w[6];
  rf_touch_relative_rt(tree, field, &relative);
  rf_quat_rotate(relative.quaternion, field->centre, grasp);
  for (int i = 0; i < 3; ++i)
    on_tree.arm[i] = relative.position_m[i] + grasp[i] - tree->centre[i];
  memcpy(w, found->force_n, 3 * sizeof *w);
  memcpy(w + 3, found->torque_nm, 3 * sizeof *w);
  t->points = found->touching;
  t->depth_m = found->depth_m;
  memset(t->force, 0, (size_t)t->size * sizeof *t->force);
  map_wrench(&on_tree, w, t->force);
  memcpy(t->force + RIGID, reduced, (size_t)t->side[0].r * sizeof *reduced);
  if (t->side[1].size > 0) {
    double *to = t->force + t->side[0].size;
    map_wrench(&on_field, w, to);
    memcpy(to + RIGID, field_reduced, (size_t)t->side[1].r * sizeof *to);
  }
  fill_stiffness(t, &on_tree, &on_field, blocks);
}

// y (m) += factor x^T A, of n rows of A
static void add_rows(const double *a, int32_t stride, int32_t n, int32_t m, double factor,
                     const double *x, double *y) {
  for (int32_t i = 0; i < n; ++i) {
    const double weight = factor * x[i];
    const double *row = a + (size_t)i * (size_t)stride;
    if (weight == 0.0) continue;
    for (int32_t j = 0; j < m; ++j) y[j] += weight * row[j];
  }
}

void rf_touch_apply_rt(rf_touch *t, double factor, const double *tree_way,
                       const double *field_way) {
  const int32_t first = t->side[0].size;
  memcpy(t->applied, t->force, (size_t)t->size * sizeof *t->applied);
  if (tree_way) add_rows(t->stiffness, t->size, first, t->size, -factor, tree_way, t->applied);
  if (field_way)
    add_rows(t->stiffness + (size_t)first * (size_t)t->size, t->size, t->side[1].size, t->size,
             -factor, field_way, t->applied);
}

void rf_touch_couple_rt(rf_touch *t, double factor, const double *tree_way,
                        const double *field_way) {
  const int32_t first = t->side[0].size, second = t->side[1].size;
  memset(t->applied, 0, (size_t)t->size * sizeof *t->applied);
  if (second == 0) return;
  add_rows(t->stiffness + first, t->size, first, second, factor, tree_way, t->applied + first);
  add_rows(t->stiffness + (size_t)first * (size_t)t->size, t->size, second, first, factor,
           field_way, t->applied);
}
