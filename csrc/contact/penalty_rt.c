#include <math.h>
#include <string.h>

#include "base/clock_rt.h"
#include "contact/penalty_state.h"
#include "linalg/dense_rt.h"
#include "linalg/quat.h"

// Relative to the size of the scene: thousands of roundings.
static const double ROUNDING = 1e-12;
// A number that is never below the sum of positive ones it was rounded from.
static const double UP = 1.0 + 1e-15;
// Costs, in nodes visited: of a copied point, without place and distance; of skipping a node that
// is not due.
static const double COPY_SHARE = 0.25, SKIP_SHARE = 0.04;
// g . N below which forces are blended from the field's gradient to the normal; at minus this value
// the normal alone is left.
static const double AGREES = 0.3;
// Stiffness of a point under a coupling, as a multiple of k_VC.
static const double STIFFER = 20.0;
// Work that takes this many times longer than expected was interrupted.
static const double PAUSE = 2.0;

// ---- motion

static void rotation_of(const double q[4], double m[9]) {
  const double w = q[0], x = q[1], y = q[2], z = q[3];
  m[0] = 1.0 - 2.0 * (y * y + z * z), m[1] = 2.0 * (x * y - w * z), m[2] = 2.0 * (x * z + w * y);
  m[3] = 2.0 * (x * y + w * z), m[4] = 1.0 - 2.0 * (x * x + z * z), m[5] = 2.0 * (y * z - w * x);
  m[6] = 2.0 * (x * z - w * y), m[7] = 2.0 * (y * z + w * x), m[8] = 1.0 - 2.0 * (x * x + y * y);
}

static void to_world(const double m[9], const double *v, double *out) {
  for (int i = 0; i < 3; ++i) out[i] = m[3 * i] * v[0] + m[3 * i + 1] * v[1] + m[3 * i + 2] * v[2];
}

static void to_body(const double m[9], const double *v, double *out) {
  for (int i = 0; i < 3; ++i) out[i] = m[i] * v[0] + m[3 + i] * v[1] + m[6 + i] * v[2];
}

// Takes pose and q over; false for what is no pose or no q.
static bool begin(rf_penalty *p, const rf_pose *pose, const double *q) {
  const rf_point_tree *t = p->tree;
  double unit[4], arm[3];
  const double reach = rf_point_tree_reach_rt(t, q);
  if (!(rf_pose_usable_rt(pose) && reach < RF_TREE_FARTHEST)) return false;

  rf_quat_normalize(pose->quaternion, unit);
  rotation_of(unit, p->rotation);
  memcpy(p->position, pose->position_m, sizeof p->position);
  to_world(p->rotation, p->set.grasp_m, p->grasp);
  for (int i = 0; i < 3; ++i) p->grasp[i] += p->position[i];
  if (q)
    rf_point_tree_pad_rt(t, q, p->row, p->bound);
  else {
    memset(p->row, 0, (size_t)t->row * sizeof *p->row);
    memset(p->bound, 0, (size_t)t->bound * sizeof *p->bound);
    p->bound[0] = 1.0;
  }
  double size = reach;
  rf_vec3_sub(t->centre, p->position, arm);
  size += rf_vec3_length(arm) + rf_vec3_length(t->centre) + rf_vec3_length(p->position);
  p->margin = ROUNDING * size;
  return true;
}

// Adds to the travel what any point of the shell can have moved, seen from the field object, since
// the last cycle: with y = R^T (x - p) and any fixed centre c,
//   |y1 - y0| <= |x1 - x0| + |R1 - R0| |x0 - c| + |R1^T (c - p1) - R0^T (c - p0)|,
// and to that of a level by how much its spheres can have grown.
static void add_travel(rf_penalty *p) {
  const rf_point_tree *t = p->tree;
  if (p->begun) {
    double arm[3], now[3], before[3], turn = 0.0;
    rf_vec3_sub(t->centre, p->position, arm);
    to_body(p->rotation, arm, now);
    rf_vec3_sub(t->centre, p->last_position, arm);
    to_body(p->last_rotation, arm, before);
    rf_vec3_sub(now, before, arm);
    for (int i = 0; i < 9; ++i) {
      const double change = p->rotation[i] - p->last_rotation[i];
      turn += change * change;
    }
    // the Frobenius norm of a difference of rotations is sqrt(2) times its largest stretch
    turn = sqrt(0.5 * turn);
    const double reach = rf_point_tree_reach_rt(t, p->last_row);
    double deformation = 0.0;
    for (int32_t j = 0; j < t->r; ++j)
      deformation += t->motion_most[j] * fabs(p->row[j] - p->last_row[j]);
    // spheres are tested with the margin added, which is another one now
    const double rounding = p->margin + p->last_margin + fabs(p->margin - p->last_margin);
    const double motion = rf_vec3_length(arm) + turn * reach + deformation + rounding;
    for (int32_t level = 0; level < t->n_levels; ++level) {
      double growth = 0.0;
      for (int32_t j = 0; j < t->r; ++j) {
        const double more = fabs(p->row[j]) - fabs(p->last_row[j]);
        if (more > 0.0) growth += t->growth_most[level * t->r + j] * more;
      }
      p->travel[level] = (p->travel[level] + (motion + growth) * (1.0 + ROUNDING)) * UP;
    }
  }
  p->begun = true;
  p->last_margin = p->margin;
  memcpy(p->last_rotation, p->rotation, sizeof p->rotation);
  memcpy(p->last_position, p->position, sizeof p->position);
  memcpy(p->last_row, p->row, (size_t)t->row * sizeof *p->row);
}

// ---- points

void rf_penalty_locate_rt(const rf_penalty *p, int32_t n, const int32_t *place, double *world,
                          double *body) {
  rf_point_tree_positions_rt(p->tree, n, place, p->row, world);
  const double *m = p->rotation, *o = p->position;
  for (int32_t k = 0; k < n; ++k) {
    const double x = world[3 * k] - o[0], y = world[3 * k + 1] - o[1], z = world[3 * k + 2] - o[2];
    body[3 * k] = m[0] * x + m[3] * y + m[6] * z;
    body[3 * k + 1] = m[1] * x + m[4] * y + m[7] * z;
    body[3 * k + 2] = m[2] * x + m[5] * y + m[8] * z;
  }
}

static void record_touch(rf_penalty *p, int32_t place, double distance) {
  p->touch_place[p->touching] = place;
  p->touch_distance[p->touching] = distance;
  ++p->touching;
}

// All points of some levels, one by one.
static void scan(rf_penalty *p, int32_t level) {
  double world[3 * BLOCK], body[3 * BLOCK], distance[BLOCK];
  int32_t place[BLOCK];
  const int32_t count = p->tree->count[level];
  for (int32_t first = 0; first < count; first += BLOCK) {
    const int32_t n = count - first < BLOCK ? count - first : BLOCK;
    for (int32_t k = 0; k < n; ++k) place[k] = first + k;
    rf_penalty_locate_rt(p, n, place, world, body);
    rf_contact_distances_rt(&p->distance, n, body, distance);
    for (int32_t k = 0; k < n; ++k)
      if (distance[k] < 0.0) record_touch(p, place[k], distance[k]);
  }
}

// ---- time

// A share of `weight` nodes in a running mean over about a thousand of them; a pause of the machine
// is no cost of a node, and does not count for more than some.
static void learn(double *estimate, double us, double weight) {
  if (!(weight > 0.0)) return;
  const double one = fmin(us / weight, PAUSE * *estimate);
  const double part = fmin(weight, LAP);
  *estimate += (one - *estimate) * part / (part + 1000.0);
  if (*estimate < 1e-3) *estimate = 1e-3;
}

// Looks at the clock, and learns from what has been done since the last look.
static void look(rf_penalty *p) {
  const double now_us = rf_clock_us_rt(), lap_us = now_us - p->look_us;
  const double pause_us = lap_us - PAUSE * p->effort * p->node_us;
  // A cycle that a pause has made late anyway is finished all the same: forces need not jump too.
  if (p->grace_us == 0.0 && pause_us > 0.0 && now_us - p->start_us > p->set.budget_us)
    p->grace_us = pause_us;
  learn(&p->node_us, lap_us, p->effort);
  p->effort = 0.0;
  p->look_us = now_us;
}

// True if this much more of a level, and the forces at the points found so far, end in time.
static bool in_time(const rf_penalty *p, int32_t level, double effort) {
  const double need = effort * p->node_us + p->touching * p->contact_us;
  const double left = level <= p->last_level ? p->set.budget_us + p->grace_us
                                             : p->set.cold_ratio * p->set.budget_us;
  return p->look_us - p->start_us + need <= left;
}

// Before some nodes of a level: false where they would be late.  Level 0 is never left out.
static bool begin_lap(rf_penalty *p, int32_t level, double share, int32_t left) {
  look(p);
  p->effort = share * (left < LAP ? left : LAP);
  return level == 0 || in_time(p, level, p->effort);
}

// ---- traversal

// a wish, which no result depends on; any address will do
static void ask_for(const void *address) {
#if defined(__GNUC__)
  __builtin_prefetch(address);
#else
  (void)address;
#endif
}

// Queues the children of a node that is not clear.
static void descend(rf_penalty *p, int32_t level, int32_t place, double distance) {
  const rf_point_tree *t = p->tree;
  const int next = (level + 1) & 1;
  // on the deepest level a copy has nothing left to do
  if (level + 2 < t->n_levels) p->copies[next][p->n_copies++] = (rf_node_copy){place, distance};
  const int32_t *child = t->child + level + t->node[level] + place;
  for (int32_t k = child[0]; k < child[1]; ++k) p->fresh[next][p->n_fresh++] = k;
  // what the next level asks first
  if (p->set.coherence) ask_for(p->due + t->node[level + 1] + child[0]);
  rf_point_tree_prefetch_point_rt(t, child[0]);
}

// True if the sphere of a node is clear by more than rounding; also notes the travel at which that
// may end.
static bool clear(rf_penalty *p, int32_t level, int64_t node, double distance, double radius) {
  if (!(distance > radius)) return false;
  const double slack = rf_contact_slack_rt(&p->distance, distance, radius + p->margin);
  if (!(slack > 0.0)) return false;
  if (slack < p->clearance) p->clearance = slack;
  if (p->set.coherence) {
    const double until = p->travel[level] + slack;
    p->due[node] = until - (2.0 * p->margin + ROUNDING * slack + 1e-15 * until);
  }
  return true;
}

// Nodes of a list that are due, moved to its front; the others are clear still.
static int32_t keep_due_copies(rf_penalty *p, int32_t level, int32_t n, rf_node_copy *list) {
  const double *due = p->due + p->tree->node[level], travel = p->travel[level];
  const bool asked = p->clearance > 0.0;
  double first = INFINITY;
  int32_t kept = 0;
  for (int32_t k = 0; k < n; ++k) {
    const double until = due[list[k].place];
    list[kept] = list[k];
    kept += !(travel < until);
    if (asked) first = travel < until && until < first ? until : first;
  }
  if (asked) p->clearance = fmin(p->clearance, first - travel);
  return kept;
}

static int32_t keep_due_fresh(rf_penalty *p, int32_t level, int32_t n, int32_t *list) {
  const double *due = p->due + p->tree->node[level], travel = p->travel[level];
  const bool asked = p->clearance > 0.0;
  double first = INFINITY;
  int32_t kept = 0;
  for (int32_t k = 0; k < n; ++k) {
    const int32_t place = list[k];
    const double until = due[place];
    list[kept] = place;
    kept += !(travel < until);
    if (asked) first = travel < until && until < first ? until : first;
  }
  if (asked) p->clearance = fmin(p->clearance, first - travel);
  return kept;
}

// These two return how many of the nodes they have done when the time runs out.
static int32_t render_copies(rf_penalty *p, int32_t level, int32_t n, const rf_node_copy *list) {
  const rf_point_tree *t = p->tree;
  int64_t node[BLOCK];
  double radius[BLOCK];
  for (int32_t first = 0; first < n; first += BLOCK) {
    if (p->timed && first % LAP == 0 && !begin_lap(p, level, COPY_SHARE, n - first)) return first;
    const int32_t count = n - first < BLOCK ? n - first : BLOCK;
    const rf_node_copy *block = list + first;
    for (int32_t k = 0; k < BLOCK && first + BLOCK + k < n; ++k)
      rf_point_tree_prefetch_bound_rt(t, t->node[level] + block[BLOCK + k].place);
    for (int32_t k = 0; k < count; ++k) node[k] = t->node[level] + block[k].place;
    rf_point_tree_bounds_rt(t, count, node, p->bound, radius);
    for (int32_t k = 0; k < count; ++k)
      if (!clear(p, level, node[k], block[k].distance, radius[k]))
        descend(p, level, block[k].place, block[k].distance);
  }
  return n;
}

// A block of new nodes on its way: what it needs is asked for one block ahead.
typedef struct stage {
  int32_t n;
  const int32_t *place;
  double body[3 * BLOCK];
} stage;

static void enter(const rf_penalty *p, int32_t level, int32_t left, const int32_t *list, stage *s) {
  const rf_point_tree *t = p->tree;
  double world[3 * BLOCK];
  s->n = left < BLOCK ? left : BLOCK;
  s->place = list;
  for (int32_t k = BLOCK; k < 2 * BLOCK && k < left; ++k)
    rf_point_tree_prefetch_point_rt(t, list[k]);
  rf_penalty_locate_rt(p, s->n, list, world, s->body);
  for (int32_t k = 0; k < s->n; ++k) rf_contact_prefetch_rt(&p->distance, s->body + 3 * k);
  if (level + 1 == t->n_levels) return;
  for (int32_t k = 0; k < s->n; ++k) rf_point_tree_prefetch_bound_rt(t, t->node[level] + list[k]);
}

static void leave(rf_penalty *p, int32_t level, const stage *s) {
  const rf_point_tree *t = p->tree;
  const bool deepest = level + 1 == t->n_levels;
  int64_t node[BLOCK];
  double radius[BLOCK] = {0}, distance[BLOCK];
  rf_contact_distances_rt(&p->distance, s->n, s->body, distance);
  for (int32_t k = 0; k < s->n; ++k) node[k] = t->node[level] + s->place[k];
  if (!deepest) rf_point_tree_bounds_rt(t, s->n, node, p->bound, radius);
  for (int32_t k = 0; k < s->n; ++k) {
    if (distance[k] < 0.0) {
      record_touch(p, s->place[k], distance[k]);
      p->clearance = 0.0;
    }
    if (deepest && !p->set.coherence && !(p->clearance > 0.0)) continue;
    if (clear(p, level, node[k], distance[k], radius[k])) continue;
    if (!deepest) descend(p, level, s->place[k], distance[k]);
    if (!(p->clearance > 0.0)) continue;
    // the point itself, of a sphere that is not clear, or by less than rounding
    const double slack =
        distance[k] > 0.0 ? rf_contact_slack_rt(&p->distance, distance[k], p->margin) : 0.0;
    if (slack < p->clearance) p->clearance = slack > 0.0 ? slack : 0.0;
  }
}

static int32_t render_fresh(rf_penalty *p, int32_t level, int32_t n, const int32_t *list) {
  stage stages[2];
  if (n == 0) return 0;
  enter(p, level, n, list, &stages[0]);
  for (int32_t first = 0; first < n; first += BLOCK) {
    const int turn = (first / BLOCK) & 1;
    const int32_t next = first + BLOCK;
    if (p->timed && first % LAP == 0 && !begin_lap(p, level, 1.0, n - first)) return first;
    if (next < n) enter(p, level, n - next, list + next, &stages[!turn]);
    leave(p, level, &stages[turn]);
  }
  return n;
}

// True if a level that may not end in time is begun nevertheless.  With coherence the work is not
// lost: nodes found to be clear are not due in the next cycle, so the level takes less each time.
static bool worth_a_try(const rf_penalty *p, int32_t level, int32_t visited) {
  if (p->set.coherence) return in_time(p, level, SKIP_SHARE * (p->n_copies + p->n_fresh));
  // touching points come on top, as often among the nodes to come as among those before
  const double on_top = (double)p->touching / visited * p->contact_us / p->node_us;
  return in_time(p, level, (p->n_fresh + COPY_SHARE * p->n_copies) * (1.0 + on_top));
}

static void traverse(rf_penalty *p, rf_penalty_result *out) {
  const rf_point_tree *t = p->tree;
  const bool limited = !p->timed && p->set.warm_nodes > 0;
  int64_t counted = 0;
  int32_t level = 0;
  bool whole = true;
  // without clearance nothing below looks for one
  p->clearance = p->asks_clearance ? INFINITY : 0.0;
  p->n_copies = 0;
  p->n_fresh = t->count[0];
  for (int32_t k = 0; k < t->count[0]; ++k) p->fresh[0][k] = k;
  if (p->timed) look(p);
  for (; level < t->n_levels; ++level) {
    rf_node_copy *copies = p->copies[level & 1];
    int32_t *fresh = p->fresh[level & 1];
    const int32_t queued_copies = p->n_copies, queued_fresh = p->n_fresh;
    const double patience = level <= p->last_level ? 1.0 : p->set.cold_ratio;
    if (level > 0 && limited && !((double)counted < patience * p->set.warm_nodes)) break;
    if (level > 0 && p->timed && !worth_a_try(p, level, out->visited)) break;
    int32_t n_copies = queued_copies, n_fresh = queued_fresh;
    if (p->set.coherence) {
      n_copies = keep_due_copies(p, level, n_copies, copies);
      n_fresh = keep_due_fresh(p, level, n_fresh, fresh);
      p->effort = SKIP_SHARE * (queued_copies + queued_fresh);
    }
    const int32_t touching = p->touching;
    p->n_copies = p->n_fresh = 0;
    const int32_t done_copies = render_copies(p, level, n_copies, copies);
    const bool on = done_copies == n_copies;
    const int32_t done_fresh = on ? render_fresh(p, level, n_fresh, fresh) : 0;
    out->visited += done_copies + done_fresh;
    if (p->timed) look(p);
    if (done_copies + done_fresh < n_copies + n_fresh ||
        (p->timed && level > 0 && !in_time(p, level, 0.0))) {
      p->touching = touching;
      whole = false;
      break;
    }
    counted += queued_copies + queued_fresh;
    out->skipped += (queued_copies - n_copies) + (queued_fresh - n_fresh);
  }
  out->level = p->last_level = level - 1;
  // of nodes that were not looked at nothing is known, nor of a field whose slack is no proof
  const bool known = whole && (level == t->n_levels || p->n_copies + p->n_fresh == 0);
  out->clearance_m = known && p->touching == 0 && !p->pose ? p->clearance : 0.0;
}

// ---- forces

// The reduced force on the field object, of the forces beside its proxies.
static void push_proxies(rf_penalty *p) {
  const rf_deformed_field *f = p->distance.deformed;
  memset(p->field_reduced, 0, (size_t)f->r * sizeof *p->field_reduced);
  for (int32_t i = 0; i < f->n_proxies; ++i) {
    const double *moments = p->moments + 12 * (size_t)i;
    if (moments[0] == 0.0 && moments[1] == 0.0 && moments[2] == 0.0) continue;
    rf_deformed_field_push_moments_rt(f, i, moments, p->field_reduced);
  }
  for (int32_t j = 0; j < f->r; ++j) p->field_reduced[j] *= p->scale;
}

// A gradient becomes the direction of the force on a point with a normal: of unit length, unless
// both are zero.
static void settle(const double *normal, double *e) {
  const double length = rf_vec3_length(e), inverse = 1.0 / length;
  for (int i = 0; i < 3; ++i) e[i] = length > 0.0 ? inverse * e[i] : normal[i];
  const double along = rf_vec3_dot(e, normal);
  if (along >= AGREES || !(length > 0.0)) return;
  const double part = fmax(0.5 * (along / AGREES + 1.0), 0.0);
  for (int i = 0; i < 3; ++i) e[i] = part * e[i] + (1.0 - part) * normal[i];
  const double left = rf_vec3_length(e);
  for (int i = 0; i < 3 && left > 0.0; ++i) e[i] /= left;
}

void rf_penalty_directions_rt(const rf_penalty *p, int32_t n, const double *body,
                              const double *normal, double *direction,
                              rf_deformed_carriers *carriers) {
  if (p->set.along_normal) {
    memcpy(direction, normal, 3 * (size_t)n * sizeof *direction);
    rf_contact_nearest_rt(&p->distance, n, body, carriers);
    return;
  }
  double slope[3 * BLOCK];
  rf_contact_gradients_rt(&p->distance, n, body, slope, carriers);
  for (int32_t k = 0; k < n; ++k) {
    to_world(p->rotation, slope + 3 * k, direction + 3 * k);
    settle(normal + 3 * k, direction + 3 * k);
  }
}

// ---- blocks

static int32_t object_rows(const rf_penalty *p, const rf_penalty_blocks *b) {
  return b->object ? p->object_row : RF_DENSE_PAD;
}

static void begin_blocks(const rf_penalty *p, const rf_penalty_blocks *b) {
  const size_t row = (size_t)p->tree->row, rows = (size_t)object_rows(p, b);
  if (b->object) memset(b->object, 0, rows * rows * sizeof(double));
  if (b->mixed) memset(b->mixed, 0, rows * row * sizeof(double));
  if (b->shell) memset(b->shell, 0, row * row * sizeof(double));
}

// W of the k-th point of a block of points, and stiffness times that.
static void enter_blocks(rf_penalty *p, int32_t k, int32_t place,
                         const rf_deformed_carriers *carriers, double stiffness,
                         const double rigid[6], const rf_penalty_blocks *b) {
  const int32_t row = p->tree->row, rows = object_rows(p, b);
  double *object = p->object + k * rows, *object_pushed = p->object_pushed + k * rows;
  double *shell = p->shell + k * row, *shell_pushed = p->shell_pushed + k * row;
  const double back[3] = {-rigid[0], -rigid[1], -rigid[2]};
  memset(object, 0, (size_t)rows * sizeof *object);
  memset(shell, 0, (size_t)row * sizeof *shell);
  memcpy(object, rigid, 6 * sizeof *object);
  if (b->object && p->pose) {
    double local[3];
    to_body(p->rotation, rigid, local);
    for (int32_t i = 0; i < carriers->n; ++i) {
      double moments[12] = {0};
      rf_deformed_moments_rt(carriers->share[i], local, carriers->arm[i], moments);
      rf_deformed_field_push_moments_rt(p->distance.deformed, carriers->proxy[i], moments,
                                        object + 6);
    }
  }
  rf_point_tree_project_rt(p->tree, place, back, shell);
  for (int32_t i = 0; i < rows; ++i) object_pushed[i] = -stiffness * object[i];
  for (int32_t i = 0; i < row; ++i) shell_pushed[i] = -stiffness * shell[i];
}

static void add_products(const rf_penalty *p, int32_t n, const rf_penalty_blocks *b) {
  const int32_t r = p->tree->r, row = p->tree->row, rows = object_rows(p, b);
  const int32_t n_o = b->object && p->pose ? 6 + p->distance.deformed->r : 6;
  const rf_simd simd = p->tree->simd;
  if (b->object)
    rf_dense_add_products_rt(simd, n_o, n_o, n, p->object_pushed, rows, p->object, rows, b->object);
  if (b->mixed && r)
    rf_dense_add_products_rt(simd, n_o, r, n, p->object_pushed, rows, p->shell, row, b->mixed);
  if (b->shell && r)
    rf_dense_add_products_rt(simd, r, r, n, p->shell_pushed, row, p->shell, row, b->shell);
}

static void scale_block(double scale, int32_t n, double *block) {
  for (int32_t i = 0; block && i < n; ++i) block[i] *= scale;
}

static void end_blocks(const rf_penalty *p, const rf_penalty_blocks *b) {
  const int32_t row = p->tree->row, rows = object_rows(p, b);
  if (p->scale == 1.0) return;
  scale_block(p->scale, rows * rows, b->object);
  scale_block(p->scale, rows * row, b->mixed);
  scale_block(p->scale, row * row, b->shell);
}

// ---- sums

// Sums over the touching points, not scaled yet.
typedef struct sums {
  double force[3], torque[3], total, deepest;
  double gradient[21];  // -sum w k W W^T, the lower triangle
} sums;

static void add_point(rf_penalty *p, const double e[3], const double arm[3], double stiffness,
                      double d, int32_t place, double rigid[6], sums *s) {
  double on_shell[3];
  memcpy(rigid, e, 3 * sizeof *rigid);
  rf_vec3_cross(arm, e, rigid + 3);
  for (int i = 0; i < 3; ++i) {
    s->force[i] += stiffness * d * rigid[i];
    s->torque[i] += stiffness * d * rigid[i + 3];
    on_shell[i] = -(stiffness * d * rigid[i]);
  }
  rf_point_tree_project_rt(p->tree, place, on_shell, p->reduced);
  for (int i = 0, at = 0; i < 6; ++i)
    for (int j = 0; j <= i; ++j) s->gradient[at++] -= stiffness * rigid[i] * rigid[j];
  if (d < s->deepest) s->deepest = d;
}

static void add_moments(rf_penalty *p, const double e[3], double size,
                        const rf_deformed_carriers *carriers) {
  double local[3];
  to_body(p->rotation, e, local);
  for (int32_t i = 0; i < carriers->n; ++i)
    rf_deformed_moments_rt(size * carriers->share[i], local, carriers->arm[i],
                           p->moments + 12 * (size_t)carriers->proxy[i]);
}

static void put_sums(rf_penalty *p, const sums *s, rf_penalty_result *out) {
  const double most = p->set.max_points;
  p->scale = most > 0.0 && s->total > most ? most / s->total : 1.0;
  for (int i = 0; i < 3; ++i) {
    out->force_n[i] = p->scale * s->force[i];
    out->torque_nm[i] = p->scale * s->torque[i];
  }
  for (int i = 0, at = 0; i < 6; ++i)
    for (int j = 0; j <= i; ++j, ++at)
      out->gradient[6 * i + j] = out->gradient[6 * j + i] = p->scale * s->gradient[at];
  for (int32_t j = 0; j < p->tree->r; ++j) p->reduced[j] *= p->scale;
  out->depth_m = 0.0 - s->deepest;  // no contact: 0, not -0
  out->touching = p->touching;
}

// `since_us`: when it begins, or negative, and its costs are not learned.
static void add_contacts(rf_penalty *p, double since_us, rf_penalty_result *out,
                         const rf_penalty_blocks *blocks) {
  const rf_point_tree *t = p->tree;
  double world[3 * BLOCK], body[3 * BLOCK], normal[3 * BLOCK], direction[3 * BLOCK];
  rf_deformed_carriers carriers[BLOCK];
  sums s = {.total = 0.0};
  int32_t learned = 0;
  memset(p->reduced, 0, (size_t)t->row * sizeof *p->reduced);
  if (blocks) begin_blocks(p, blocks);
  if (p->pose) memset(p->moments, 0, 12 * (size_t)p->distance.deformed->n_proxies * sizeof(double));
  for (int32_t first = 0; first < p->touching; first += BLOCK) {
    const int32_t n = p->touching - first < BLOCK ? p->touching - first : BLOCK;
    const int32_t *place = p->touch_place + first;
    if (since_us >= 0.0 && first - learned >= LAP) {
      const double now_us = rf_clock_us_rt();
      learn(&p->contact_us, now_us - since_us, first - learned);
      since_us = now_us;
      learned = first;
    }
    for (int32_t k = BLOCK; k < 2 * BLOCK && first + k < p->touching; ++k)
      rf_point_tree_prefetch_normal_rt(t, place[k]);
    rf_penalty_locate_rt(p, n, place, world, body);
    rf_point_tree_normals_rt(t, n, place, p->row, normal);
    rf_penalty_directions_rt(p, n, body, normal, direction, carriers);
    for (int32_t k = 0; k < n; ++k) {
      const double stiffness = rf_penalty_stiffness_rt(p, place[k]);
      const double d = p->touch_distance[first + k];
      double arm[3], rigid[6];
      rf_vec3_sub(world + 3 * k, p->grasp, arm);
      s.total += p->weight ? p->weight[place[k]] : 1.0;
      add_point(p, direction + 3 * k, arm, stiffness, d, place[k], rigid, &s);
      if (p->pose) add_moments(p, rigid, stiffness * d, &carriers[k]);
      if (blocks) enter_blocks(p, k, place[k], &carriers[k], stiffness, rigid, blocks);
    }
    if (blocks) add_products(p, n, blocks);
  }
  put_sums(p, &s, out);
  if (blocks) end_blocks(p, blocks);
  if (p->pose) push_proxies(p);
  if (since_us >= 0.0) learn(&p->contact_us, rf_clock_us_rt() - since_us, p->touching - learned);
}

void rf_penalty_ask_clearance_rt(rf_penalty *p, bool asked) { p->asks_clearance = asked; }

double rf_penalty_suited_rt(double stiffness_n_per_m) { return STIFFER * stiffness_n_per_m; }

void rf_penalty_suit_coupling_rt(rf_penalty *p, double stiffness_n_per_m) {
  if (!p->set.automatic) return;
  p->set.stiffness_n_per_m = rf_penalty_suited_rt(stiffness_n_per_m);
  p->each = false;
}

void rf_penalty_set_budget_rt(rf_penalty *p, double budget_us) {
  p->set.budget_us = budget_us;
  p->timed = true;
}

rf_status rf_penalty_deform_field_rt(rf_penalty *p, const double *field_q) {
  if (!p->pose) return field_q ? RF_ERR_ARG : RF_OK;
  const double *q = field_q ? field_q : p->field_rest;
  return rf_deformed_pose_update_rt(p->distance.deformed, q, p->pose) ? RF_OK : RF_ERR_ARG;
}

rf_status rf_penalty_evaluate_rt(rf_penalty *p, const rf_pose *pose, const double *q,
                                 int32_t all_of, rf_penalty_result *out, double *reduced,
                                 double *field_reduced, const rf_penalty_blocks *blocks) {
  p->start_us = p->look_us = rf_clock_us_rt();
  p->effort = p->grace_us = 0.0;
  if (!begin(p, pose, q)) return RF_ERR_ARG;
  memset(out, 0, sizeof *out);
  p->touching = 0;
  if (all_of >= 0) {
    out->level = all_of < p->tree->n_levels ? all_of : p->tree->n_levels - 1;
    out->visited = p->tree->count[out->level];
    scan(p, out->level);
  } else {
    add_travel(p);
    traverse(p, out);
  }
  add_contacts(p, all_of < 0 ? rf_clock_us_rt() : -1.0, out, blocks);
  const double end_us = rf_clock_us_rt();
  if (reduced) memcpy(reduced, p->reduced, (size_t)p->tree->r * sizeof *reduced);
  if (field_reduced && p->pose)
    memcpy(field_reduced, p->field_reduced,
           (size_t)p->distance.deformed->r * sizeof *field_reduced);
  out->microseconds = end_us - p->start_us;
  return RF_OK;
}
