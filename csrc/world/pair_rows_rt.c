#include "world/pair_rows.h"

#include <math.h>
#include <string.h>

#include "contact/contact_state.h"
#include "linalg/quat.h"

enum { RIGID = RF_SLOT_RIGID };
enum { BACK_ROUNDS = 2 };                 // of the places from which a dimple has moved them
static const double FADED = 0.5;          // sum of the weights of a place beyond the points
static const double LEAST_WEIGHT = 1e-9;  // smaller ones are rounding: at a point of the shell
// Stiffness of a spring over that of a field that yields, at most: beyond it rounding decides.
static const double STIFFEST = 1e6;

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

// Writes W of the row that the sum of the contact has entered last.
static void put_row(const rf_pair_rows *t, const lever *tree, const lever *field,
                    const rf_contact_wrench *entered, double *row) {
  const double *object = entered->object, *shell = entered->shell;
  memset(row, 0, (size_t)t->size * sizeof *row);
  if (t->side[0].size) map_wrench(tree, object, row);
  memcpy(row + RIGID, shell, (size_t)t->side[0].r * sizeof *row);
  if (t->side[1].size == 0) return;
  row += t->side[0].size;
  map_wrench(field, object, row);
  memcpy(row + RIGID, object + 6, (size_t)t->side[1].r * sizeof *row);
}

// Point of a row, in the axes of the tree.
typedef struct row_point {
  int32_t place;
  const double *position;
  double arm[3];  // of the contact, from the grasp point
  const rf_deformed_carriers *carriers;
} row_point;

// Points that are moved by the dimples of the last step: x + u of the tree, and back by the v of
// the field.
typedef struct moved_points {
  double gap[RF_CONTACT_BLOCK];
  double way[3 * RF_CONTACT_BLOCK];   // u - v, in the axes of the tree
  double back[3 * RF_CONTACT_BLOCK];  // v, likewise
  // points around the places in the field, and their weights
  int32_t corner[RF_DIMPLE_CORNERS * RF_CONTACT_BLOCK];
  double weight[RF_DIMPLE_CORNERS * RF_CONTACT_BLOCK];
} moved_points;

// Writes the row of an axis at a point.
static void make_row(const rf_pair_rows *t, const lever sides[2], rf_contact *contact,
                     const row_point *p, const double axis[3], double *row) {
  rf_contact_wrench *sum = &contact->wrench;
  // a block of the object makes the sum write the coordinates of the field
  const rf_contact_blocks asked = {.object = sum->object};
  double rigid[6];
  memcpy(rigid, axis, 3 * sizeof *rigid);
  rf_vec3_cross(p->arm, rigid, rigid + 3);
  rf_contact_blocks_enter_rt(sum, 0, &contact->search.frame, p->place, p->carriers, 0.0, rigid,
                             &asked);
  put_row(t, &sides[0], &sides[1], sum, row);
}

// Adds the tangents of the next row.
static void add_tangents(rf_pair_rows *t, const lever sides[2], rf_contact *contact,
                         const row_point *p, const double axis[3]) {
  rf_pair_friction *f = &t->friction;
  const size_t i = (size_t)t->n_rows;
  double way[3], *axes = f->axes + 6 * i;
  rf_pair_friction_axes_rt(axis, axes);
  for (size_t e = 0; e < 2; ++e)
    make_row(t, sides, contact, p, axes + 3 * e, f->rows + (2 * i + e) * (size_t)t->size);
  rf_vec3_sub(p->position, contact->search.frame.position, way);
  rf_contact_to_body(contact->search.frame.rotation, way, f->at + 3 * i);
  f->last[2 * i] = f->last[2 * i + 1] = 0.0;
}

// Axis and tangents of the next row, in the axes of the tree.
static void put_axes(const rf_pair_rows *t, const double axis[3], double axes[9]) {
  memset(axes, 0, 9 * sizeof *axes);
  memcpy(axes, axis, 3 * sizeof *axes);
  if (t->friction.mu > 0.0)
    memcpy(axes + 3, t->friction.axes + 6 * (size_t)t->n_rows, 6 * sizeof *axes);
}

// Adds what the dimple of the tree has of the next row: the gap grows with the displacement of the
// point.
static void add_tree_dimple(rf_pair_rows *t, const rf_contact *contact, int32_t place,
                            const double axis[3]) {
  rf_pair_dimple *d = &t->dimple[0];
  const size_t i = (size_t)t->n_rows;
  double *axes = d->axes + 9 * i;
  put_axes(t, axis, axes);
  for (int k = 0; k < 9; ++k) axes[k] = -axes[k];
  d->point[i] = contact->search.tree->point[place];
  d->weight[i] = 1.0;
}

// Adds what the dimple of the field has of it: the gap shrinks with the displacement of the
// surface.
static void add_field_dimple(rf_pair_rows *t, const rf_contact *contact, const moved_points *moved,
                             int32_t k, const double axis[3]) {
  rf_pair_dimple *d = &t->dimple[1];
  const size_t i = (size_t)t->n_rows;
  double axes[9];
  put_axes(t, axis, axes);
  for (int e = 0; e < 9; e += 3)
    rf_contact_to_body(contact->search.frame.rotation, axes + e, d->axes + 9 * i + e);
  for (size_t c = 0; c < RF_DIMPLE_CORNERS; ++c) {
    const double weight = moved->weight[RF_DIMPLE_CORNERS * (size_t)k + c];
    const size_t at = RF_DIMPLE_CORNERS * i + c;
    d->weight[at] = weight;
    d->point[at] =
        fabs(weight) > LEAST_WEIGHT ? moved->corner[RF_DIMPLE_CORNERS * (size_t)k + c] : -1;
  }
}

// Part of a spring's stiffness that the field bears without loss of digits.
static double bearable(const rf_pair_rows_dimples *dimples, const moved_points *moved, int32_t k,
                       double stiffness) {
  const rf_contact_local *local = dimples->last[1].local;
  double softest = 0.0;
  for (int32_t c = RF_DIMPLE_CORNERS * k; c < RF_DIMPLE_CORNERS * (k + 1); ++c) {
    double own[9];
    if (moved->weight[c] == 0.0) continue;
    rf_contact_local_between_rt(local, moved->corner[c], moved->corner[c], own);
    softest = fmax(softest, (own[0] + own[4] + own[8]) / 3.0);
  }
  return fmin(1.0, STIFFEST / (stiffness * softest));
}

static bool bore_force(const rf_pair_rows_dimples *dimples, int32_t point, int32_t place) {
  const rf_pair_dimple_forces *last = &dimples->last[0];
  for (int32_t k = 0; k < last->n; ++k)
    if (last->point[k] == point) return true;
  for (int32_t k = 0; k < dimples->n_held; ++k)
    if (dimples->held[k] == place) return true;
  return false;
}

// Notes how deep the dimples of both sides are at a point, and the place of the deepest.
static void note_sunk(rf_pair_rows *t, const moved_points *moved, int32_t k, const double x[3],
                      const double axis[3]) {
  const bool field = t->dimple[1].yields;
  const double way = rf_vec3_dot(moved->way + 3 * k, axis);
  const double back = field ? rf_vec3_dot(moved->back + 3 * k, axis) : 0.0;
  const double deepest = fmax(way + back, -back);
  if (!(deepest > t->sunk_m)) return;
  t->sunk_m = deepest;
  for (int i = 0; i < 3; ++i) t->sunk_at[i] = x[i] + (field ? moved->back[3 * k + i] : 0.0);
}

// Notes the first point with a force at which the dimple of the field has faded.
static void note_beyond(rf_pair_rows *t, const moved_points *moved, int32_t k, const double x[3]) {
  double left = 0.0;
  for (int c = 0; c < RF_DIMPLE_CORNERS; ++c) left += moved->weight[RF_DIMPLE_CORNERS * k + c];
  if (t->beyond || !(left < FADED)) return;
  t->beyond = true;
  memcpy(t->beyond_at, x, sizeof t->beyond_at);
}

// Adds the rows of a block of points.
static void add_rows(rf_pair_rows *t, const lever sides[2], const rf_pair_rows_dimples *dimples,
                     rf_contact *contact, const rf_contact_points *points,
                     const moved_points *moved) {
  rf_contact_rows answer, *rows = &answer;
  contact->law.kind->rt->respond(contact->law.self, points, false, rows);
  for (int32_t i = 0; i < rows->n && t->n_rows < t->n_room; ++i) {
    const int32_t k = rows->point[i];
    const double *axis = rows->axis + 3 * i;
    row_point p = {.place = points->place[k],
                   .position = points->position + 3 * k,
                   .carriers = &points->carriers[k]};
    if (rf_vec3_dot(axis, points->normal + 3 * k) < RF_CONTACT_PASSED) {
      ++t->n_passed;
      if (!bore_force(dimples, contact->search.tree->point[p.place], p.place)) continue;
      ++t->n_lost;
      note_sunk(t, moved, k, p.position, points->normal + 3 * k);
      continue;
    }
    if (-points->gap[k] > t->depth_m) t->depth_m = -points->gap[k];
    note_sunk(t, moved, k, p.position, axis);
    t->place[t->n_rows] = p.place;
    rf_vec3_sub(p.position, contact->search.frame.grasp, p.arm);
    const double *back = t->dimple[1].yields ? moved->back + 3 * k : NULL;
    for (int e = 0; e < 3 && back; ++e) p.arm[e] += back[e];
    if (back) note_beyond(t, moved, k, p.position);
    make_row(t, sides, contact, &p, axis, t->rows + (size_t)t->n_rows * (size_t)t->size);
    if (t->friction.mu > 0.0) add_tangents(t, sides, contact, &p, axis);
    if (t->dimple[0].yields) add_tree_dimple(t, contact, p.place, axis);
    double part = 1.0;
    if (back) {
      add_field_dimple(t, contact, moved, k, axis);
      part = bearable(dimples, moved, k, rows->stiffness[i]);
    }
    t->begin[t->n_rows] = part * rows->force[i];
    t->stiff[t->n_rows++] = part * rows->stiffness[i];
  }
}

// Finds the displacement v of the field at a place x, outward normal n, that was at x - v: its
// points and their weights, and v in the axes of the tree.  The search for it begins on the surface
// of the field, which is `out` from x along n.
static void find_back(const rf_pair_rows_dimples *dimples, const rf_contact_frame *frame,
                      const double x[3], const double n[3], double out, int32_t *corner,
                      double *weight, double back[3]) {
  const rf_pair_dimple_forces *last = &dimples->last[1];
  double place[3], outward[3];
  for (int i = 0; i < 3; ++i) back[i] = -out * n[i];
  rf_contact_to_body(frame->rotation, n, outward);
  for (int round = 0; round < BACK_ROUNDS; ++round) {
    double at[3], sum[3] = {0.0};
    rf_vec3_sub(x, back, at);
    memset(back, 0, 3 * sizeof *back);
    rf_contact_places(frame, 1, at, place);
    rf_shell_blend_place_rt(&dimples->field_shell, place, outward, corner, weight);
    if (last->n == 0) return;
    for (int c = 0; c < RF_DIMPLE_CORNERS; ++c) {
      double way[3];
      if (weight[c] == 0.0) continue;
      rf_pair_dimple_displacement_rt(last, corner[c], way);
      for (int i = 0; i < 3; ++i) sum[i] += weight[c] * way[i];
    }
    rf_contact_to_world(frame->rotation, sum, back);
  }
}

// Moves the points of a block by the dimples of the last step.
static void move_points(const rf_pair_rows *t, const rf_pair_rows_dimples *dimples,
                        const rf_contact_search *s, moved_points *moved,
                        rf_contact_points *points) {
  for (int32_t k = 0; k < points->n; ++k) {
    double *way = moved->way + 3 * k, *back = moved->back + 3 * k, x[3];
    rf_pair_dimple_displacement_rt(&dimples->last[0], s->tree->point[points->place[k]], way);
    if (!t->dimple[1].yields) continue;
    const double *inward = points->normal + 3 * k, *gradient = points->gradient + 3 * k;
    // the gradient of a place past the middle leads to the other side
    const bool passed = rf_vec3_dot(gradient, inward) < RF_CONTACT_PASSED;
    for (int i = 0; i < 3; ++i) x[i] = points->position[3 * k + i] + way[i];
    const double out = passed ? 0.0 : -points->gap[k] - rf_vec3_dot(way, gradient);
    find_back(dimples, &s->frame, x, passed ? inward : gradient, out,
              moved->corner + RF_DIMPLE_CORNERS * k, moved->weight + RF_DIMPLE_CORNERS * k, back);
    rf_vec3_sub(way, back, way);
  }
  if (dimples->last[0].n + dimples->last[1].n > 0)
    rf_contact_search_shift_rt(s, moved->way, moved->gap, points);
}

static bool touches(const rf_contact_search *s, int32_t place) {
  for (int32_t i = 0; i < s->touching; ++i)
    if (s->touch_place[i] == place) return true;
  return false;
}

// Adds a point that bore a force in the last step and is still inside of the field, but would have
// left it without the dimples, which may be deeper than the field is thick: gaps grow along it.
static void add_sunk(rf_pair_rows *t, const lever sides[2], const rf_pair_rows_dimples *dimples,
                     rf_contact *contact, int32_t place) {
  static const double none[3] = {0.0};
  const rf_contact_search *s = &contact->search;
  rf_contact_points points;
  moved_points moved;
  if (touches(s, place)) return;
  rf_contact_search_some_rt(s, 1, &place, none, moved.gap, &points);
  move_points(t, dimples, s, &moved, &points);
  // a force that ended in a small gap is found again
  if (moved.gap[0] < rf_vec3_dot(moved.way, points.gradient))
    add_rows(t, sides, dimples, contact, &points, &moved);
}

static void to_world(const rf_pose *pose, double at[3]) {
  rf_quat_rotate(pose->quaternion, at, at);
  for (int i = 0; i < 3; ++i) at[i] += pose->position_m[i];
}

void rf_pair_rows_fill_rt(rf_pair_rows *t, const rf_pair_rows_frame *tree,
                          const rf_pair_rows_dimples *dimples, rf_contact *contact) {
  lever sides[2] = {{.quaternion = tree->pose.quaternion, .tree = true},
                    {.quaternion = tree->pose.quaternion}};
  const rf_contact_search *s = &contact->search;
  rf_contact_points points;
  moved_points moved;
  rf_vec3_sub(s->frame.grasp, tree->centre, sides[0].arm);
  t->depth_m = 0.0;
  t->sunk_m = -INFINITY;  // lost points have a place without a dimple as well
  t->beyond = false;
  memset(t->sunk_at, 0, sizeof t->sunk_at);
  memset(t->beyond_at, 0, sizeof t->beyond_at);
  t->n_rows = t->n_passed = t->n_lost = 0;
  memcpy(t->friction.turn, s->frame.rotation, sizeof t->friction.turn);
  for (int32_t first = 0; first < s->touching; first += RF_CONTACT_BLOCK) {
    rf_contact_search_points_rt(s, first, &points);
    move_points(t, dimples, s, &moved, &points);
    add_rows(t, sides, dimples, contact, &points, &moved);
  }
  for (int32_t k = 0; k < dimples->last[0].n; ++k)
    add_sunk(t, sides, dimples, contact, s->tree->place[dimples->last[0].point[k]]);
  for (int32_t k = 0; k < dimples->n_held; ++k)
    add_sunk(t, sides, dimples, contact, dimples->held[k]);
  to_world(&tree->pose, t->sunk_at);
  to_world(&tree->pose, t->beyond_at);
}

static void add(int32_t n, double factor, const double *x, double *y) {
  for (int32_t i = 0; i < n; ++i) y[i] += factor * x[i];
}

static const double *row_of(const rf_pair_rows *t, int32_t i) {
  return rf_pair_rows_row_rt(t, i, 0);
}

void rf_pair_rows_clear_rt(rf_pair_rows *t) {
  memset(t->applied, 0, (size_t)t->size * sizeof *t->applied);
  for (int s = 0; s < 2; ++s)
    if (t->dimple[s].yields && t->n_rows > 0)
      memset(t->dimple[s].pull, 0, 3 * (size_t)t->n_rows * sizeof(double));
}

void rf_pair_rows_apply_rt(rf_pair_rows *t, int32_t i, int e, double force) {
  add(t->size, force, rf_pair_rows_row_rt(t, i, e), t->applied);
  rf_pair_rows_pull_rt(t, i, e, force);
}

void rf_pair_rows_push_rt(rf_pair_rows *t, double factor, bool held, const rf_pair_slots *u) {
  rf_pair_rows_clear_rt(t);
  for (int32_t i = 0; i < t->n_rows; ++i) {
    const double closing = rf_pair_rows_closing_rt(t, i, 0, u);
    t->force[i] = t->begin[i] - factor * t->stiff[i] * closing;
    if (t->force[i] < 0.0) rf_pair_rows_apply_rt(t, i, 0, t->force[i]);
  }
  if (t->friction.mu > 0.0) rf_pair_friction_push_rt(t, held, u);
}

void rf_pair_rows_multiply_rt(rf_pair_rows *t, double factor, bool secant, const rf_pair_slots *u) {
  rf_pair_rows_clear_rt(t);
  for (int32_t i = 0; i < t->n_rows; ++i) {
    if (!(t->force[i] < 0.0)) continue;
    const double closing = rf_pair_rows_closing_rt(t, i, 0, u);
    rf_pair_rows_apply_rt(t, i, 0, -factor * t->stiff[i] * closing);
  }
  if (t->friction.mu > 0.0) rf_pair_friction_multiply_rt(t, secant, u);
}

void rf_pair_rows_aim_rt(rf_pair_rows *t, double factor, const rf_pair_slots *u) {
  for (int32_t i = 0; i < t->n_rows; ++i)
    t->slope[i] = -factor * t->stiff[i] * rf_pair_rows_closing_rt(t, i, 0, u);
  if (t->friction.mu > 0.0) rf_pair_friction_aim_rt(t, u);
}

double rf_pair_rows_work_rt(const rf_pair_rows *t, double factor, double part) {
  double sum = 0.0;
  for (int32_t i = 0; i < t->n_rows; ++i) {
    const double force = t->force[i] + part * t->slope[i];
    if (force < 0.0) sum -= force * t->slope[i] / (factor * t->stiff[i]);
  }
  return t->friction.mu > 0.0 ? sum + rf_pair_friction_work_rt(t, part) : sum;
}

void rf_pair_rows_add_own_rt(const rf_pair_rows *t, int side, double factor, double *own,
                             int32_t ld) {
  const int32_t n = t->side[side].size, from = side ? t->side[0].size : 0;
  for (int32_t i = 0; i < t->n_rows; ++i) {
    // without friction no forces are known yet
    if (t->friction.mu > 0.0 && !(t->force[i] < 0.0)) continue;
    const double *row = row_of(t, i) + from;
    for (int32_t j = 0; j < n; ++j)
      if (row[j] != 0.0) add(n, factor * t->stiff[i] * row[j], row, own + (size_t)j * (size_t)ld);
  }
  if (t->friction.mu > 0.0) rf_pair_friction_add_own_rt(t, side, own, ld);
}

void rf_pair_rows_springs_rt(const rf_pair_rows *t, double factor, double matrix[4],
                             double linear[2], double *stored) {
  for (int32_t i = 0; i < t->n_rows; ++i) {
    const double by = 1.0 / (factor * t->stiff[i]);
    if (!(t->force[i] < 0.0)) continue;
    matrix[0] += by * t->force[i] * t->force[i];
    linear[0] -= by * t->force[i] * t->begin[i];
  }
  if (t->friction.mu > 0.0) matrix[3] += rf_pair_friction_springs_rt(t, stored);
}

void rf_pair_rows_reduce_rt(rf_pair_rows *t, double normal, double friction) {
  rf_pair_rows_clear_rt(t);
  for (int32_t i = 0; i < t->n_rows; ++i)
    if (t->force[i] < 0.0) rf_pair_rows_apply_rt(t, i, 0, normal * t->force[i]);
  if (t->friction.mu > 0.0) rf_pair_friction_reduce_rt(t, friction);
}

void rf_pair_rows_limit_rt(rf_pair_rows *t, double normal, double friction) {
  for (int32_t i = 0; i < t->n_rows; ++i) t->force[i] *= normal;
  if (t->friction.mu > 0.0) rf_pair_friction_limit_rt(t, friction);
}

static void exchange(double **a, double **b) {
  double *kept = *a;
  *a = *b;
  *b = kept;
}

void rf_pair_rows_exchange_rt(rf_pair_rows *t) {
  exchange(&t->force, &t->slope);
  if (!(t->friction.mu > 0.0)) return;
  exchange(&t->friction.trial, &t->friction.slope);
  exchange(&t->friction.limit, &t->friction.part);
}
