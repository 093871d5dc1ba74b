#include <string.h>

#include "linalg/dense_rt.h"
#include "linalg/quat.h"
#include "world/pair.h"

static bool is_world(const rf_pose *p) {
  const double *x = p->position_m, *q = p->quaternion;
  return x[0] == 0.0 && x[1] == 0.0 && x[2] == 0.0 && q[0] == 1.0 && q[1] == 0.0 && q[2] == 0.0 &&
         q[3] == 0.0;
}

// ---- results to the world

// Turns both triples of the first six rows of a matrix: of each of n columns.
static void turn_rows(const double q[4], int32_t n, int32_t stride, double *m) {
  for (int32_t j = 0; j < n; ++j)
    for (int32_t i = 0; i < 6; i += 3) {
      double v[3];
      for (int32_t a = 0; a < 3; ++a) v[a] = m[(i + a) * stride + j];
      rf_quat_rotate(q, v, v);
      for (int32_t a = 0; a < 3; ++a) m[(i + a) * stride + j] = v[a];
    }
}

// Likewise of the first six columns.
static void turn_columns(const double q[4], int32_t n, int32_t stride, double *m) {
  for (int32_t i = 0; i < n; ++i)
    for (int32_t j = 0; j < 6; j += 3) rf_quat_rotate(q, m + i * stride + j, m + i * stride + j);
}

static void turn_results(rf_pair *pair) {
  const double *q = pair->side[RF_PAIR_TREE].body->pose.quaternion;
  const int32_t ld = rf_dense_ld(rf_body_coordinates_rt(pair->side[RF_PAIR_TREE].body));
  const int32_t n = 6 + rf_body_coordinates_rt(pair->side[RF_PAIR_FIELD].body);
  const int32_t rows = rf_dense_ld(n);
  rf_contact_result *found = &pair->found;
  rf_quat_rotate(q, found->force_n, found->force_n);
  rf_quat_rotate(q, found->torque_nm, found->torque_nm);
  turn_rows(q, 6, 6, found->gradient);
  turn_columns(q, 6, 6, found->gradient);
  if (pair->blocks.object) {
    turn_rows(q, n, rows, pair->blocks.object);
    turn_columns(q, n, rows, pair->blocks.object);
  }
  if (pair->blocks.mixed) turn_rows(q, ld, ld, pair->blocks.mixed);
}

// Arm from the tree's reference point to the field's.
static void arm_of(const rf_pair *pair, double arm[3]) {
  double to[3], from[3];
  rf_body_reference_rt(pair->side[RF_PAIR_FIELD].body, to);
  rf_body_reference_rt(pair->side[RF_PAIR_TREE].body, from);
  rf_vec3_sub(to, from, arm);
}

// Sets the wrenches of both sides.
static void set_wrenches(rf_pair *pair) {
  double *tree = pair->side[RF_PAIR_TREE].wrench, *field = pair->side[RF_PAIR_FIELD].wrench;
  double arm[3], moment[3];
  memcpy(field, pair->found.force_n, 3 * sizeof *field);
  memcpy(field + 3, pair->found.torque_nm, 3 * sizeof *field);
  arm_of(pair, arm);
  rf_vec3_cross(arm, field, moment);
  for (int i = 0; i < 3; ++i) {
    tree[i] = -field[i];
    tree[i + 3] = -(field[i + 3] + moment[i]);
  }
}

rf_status rf_pair_search_rt(rf_pair *pair) {
  const rf_body *tree = pair->side[RF_PAIR_TREE].body, *field = pair->side[RF_PAIR_FIELD].body;
  const bool moved = !is_world(&tree->pose);
  rf_status st = RF_OK;
  if (pair->deforms) st = rf_contact_deform_field_rt(pair->contact, rf_body_q_rt(field));
  if (st < 0) return st;
  const rf_pose pose = moved ? rf_pose_seen_from_rt(&tree->pose, &field->pose) : field->pose;
  st = rf_contact_evaluate_rt(pair->contact, &pose, rf_body_q_rt(tree), -1, &pair->found,
                              pair->side[RF_PAIR_TREE].reduced, pair->side[RF_PAIR_FIELD].reduced,
                              pair->has_blocks ? &pair->blocks : NULL);
  if (st < 0) return st;
  if (pair->dimpled) pair->found.depth_m = pair->dimpled_m;
  if (moved) turn_results(pair);
  set_wrenches(pair);
  return RF_OK;
}

// ---- loads

// The tree's motion (dx, dw) about its own reference point moves the place of the field's reference
// point by dx + dw x arm: the gradient is T G T^T, T the shift of wrenches by the arm.
static void shift_gradient(const double arm[3], const double from[36], double out[36]) {
  double half[36];
  memcpy(half, from, sizeof half);
  for (int j = 0; j < 6; ++j) {
    const double force[3] = {from[j], from[6 + j], from[12 + j]};
    double moment[3];
    rf_vec3_cross(arm, force, moment);
    for (int i = 0; i < 3; ++i) half[6 * (i + 3) + j] += moment[i];
  }
  memcpy(out, half, sizeof half);
  for (int i = 0; i < 6; ++i) {
    double moment[3];
    rf_vec3_cross(arm, half + 6 * i, moment);
    for (int j = 0; j < 3; ++j) out[6 * i + j + 3] += moment[j];
  }
}

void rf_pair_gradient_rt(const rf_pair *pair, rf_pair_role role, double out[36]) {
  double arm[3];
  memcpy(out, pair->found.gradient, 36 * sizeof *out);
  if (role == RF_PAIR_FIELD) return;
  arm_of(pair, arm);
  shift_gradient(arm, pair->found.gradient, out);
}

// Subtracts the coordinates' own block, which begins at `first` in rows of `stride`.
static void add_stiffness(rf_body *body, const double *block, int32_t stride, int32_t first) {
  const int32_t r = rf_body_coordinates_rt(body), ld = rf_dense_ld(r);
  if (!body->added || !block) return;
  for (int32_t i = 0; i < r; ++i)
    for (int32_t j = 0; j < r; ++j)
      body->added[i * ld + j] -= block[(first + i) * stride + first + j];
}

void rf_pair_load_rt(const rf_pair *pair) {
  for (int k = 0; k < 2; ++k) {
    const rf_pair_side *side = &pair->side[k];
    rf_body *body = side->body;
    for (int i = 0; i < 6; ++i) body->wrench[i] += side->wrench[i];
    for (int32_t i = 0; side->reduced && body->reduced && i < body->motion->n; ++i)
      body->reduced[i] += side->reduced[i];
    if (body->kind->anchored) continue;
    double shifted[36];
    if (k == RF_PAIR_TREE) rf_pair_gradient_rt(pair, RF_PAIR_TREE, shifted);
    const double *gradient = k == RF_PAIR_TREE ? shifted : pair->found.gradient;
    for (int i = 0; i < 36; ++i) body->gradient[i] += gradient[i];
  }
  const int32_t r = rf_body_coordinates_rt(pair->side[RF_PAIR_TREE].body);
  const int32_t rows = rf_dense_ld(6 + rf_body_coordinates_rt(pair->side[RF_PAIR_FIELD].body));
  add_stiffness(pair->side[RF_PAIR_TREE].body, pair->blocks.shell, rf_dense_ld(r), 0);
  add_stiffness(pair->side[RF_PAIR_FIELD].body, pair->blocks.object, rows, 6);
}

int32_t rf_pair_touches_rt(const rf_pair *pair, int32_t first, rf_contact_touch *out) {
  const rf_pose *pose = &pair->side[RF_PAIR_TREE].body->pose;
  const int32_t n = rf_contact_touches_rt(pair->contact, first, out);
  for (int32_t k = 0; k < n && !is_world(pose); ++k) {
    rf_quat_rotate(pose->quaternion, out[k].position, out[k].position);
    for (int i = 0; i < 3; ++i) out[k].position[i] += pose->position_m[i];
    rf_quat_rotate(pose->quaternion, out[k].normal, out[k].normal);
    rf_quat_rotate(pose->quaternion, out[k].force, out[k].force);
  }
  return n;
}

bool rf_pair_without_held_rt(const rf_pair *pair) {
  bool free = false;
  for (int e = 0; e < 2; ++e) {
    const rf_body_kind *kind = pair->side[e].body->kind;
    if (!kind->anchored && !kind->move_rt) return false;
    free = free || kind->move_rt;
  }
  return free;
}
