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
// What a copy costs, measured in nodes: no place, no distance.  What it costs to see that a node is
// not due.
static const double COPY_SHARE = 0.25, SKIP_SHARE = 0.04;
// What takes longer than so many times what it is expected to take was interrupted.
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

// Places of some points, in the world and seen from the field object.
static void locate(const rf_penalty *p, int32_t n, const int32_t *place, double *world,
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
    locate(p, n, place, world, body);
    rf_oracle_distances_rt(&p->oracle, n, body, distance);
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

// Whether so much more of a level, and the forces at the points found so far, end in time.
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

// Whether the sphere of a node is clear, by more than rounding; then the travel at which that may
// end is noted.
static bool clear(rf_penalty *p, int32_t level, int64_t node, double distance, double radius) {
  if (!(distance > radius)) return false;
  const double slack = rf_oracle_slack_rt(&p->oracle, distance, radius + p->margin);
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
  locate(p, s->n, list, world, s->body);
  for (int32_t k = 0; k < s->n; ++k) rf_oracle_prefetch_rt(&p->oracle, s->body + 3 * k);
  if (level + 1 == t->n_levels) return;
  for (int32_t k = 0; k < s->n; ++k) rf_point_tree_prefetch_bound_rt(t, t->node[level] + list[k]);
}

static void leave(rf_penalty *p, int32_t level, const stage *s) {
  const rf_point_tree *t = p->tree;
  const bool deepest = level + 1 == t->n_levels;
  int64_t node[BLOCK];
  double radius[BLOCK] = {0}, distance[BLOCK];
  rf_oracle_distances_rt(&p->oracle, s->n, s->body, distance);
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
        distance[k] > 0.0 ? rf_oracle_slack_rt(&p->oracle, distance[k], p->margin) : 0.0;
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

// Whether a level is begun that may not end in time.  With coherence what is done of it is not
// lost: nodes found to be clear are not due in the next cycle, so that it takes less from cycle to
// cycle. Without, all of it would be.
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

// What the forces on the proxies do to the field object.
static void push_proxies(rf_penalty *p) {
  const rf_deformed_field *f = p->oracle.deformed;
  memset(p->field_reduced, 0, (size_t)f->r * sizeof *p->field_reduced);
  for (int32_t i = 0; i < f->n_proxies; ++i) {
    const double *force = p->proxy_force + 3 * i;
    double local[3];
    if (force[0] == 0.0 && force[1] == 0.0 && force[2] == 0.0) continue;
    to_body(p->rotation, force, local);
    rf_deformed_field_push_rt(f, i, local, p->field_reduced);
  }
  for (int32_t j = 0; j < f->r; ++j) p->field_reduced[j] *= p->scale;
}

// What a point adds to the blocks, up to products of rows: `left` and `right` as in the gradient.
static void enter_blocks(rf_penalty *p, int32_t k, int32_t place, const double left[6],
                         const double g[3], const double f[3], const rf_penalty_blocks *out) {
  const rf_point_tree *t = p->tree;
  const int32_t row = t->row;
  const double back[3] = {-left[0], -left[1], -left[2]};
  // (U dq) x F by its components
  const double lever[9] = {0.0, f[2], -f[1], -f[2], 0.0, f[0], f[1], -f[0], 0.0};
  double *pushed = p->pushed + k * row, *pulled = p->pulled + k * row;
  memset(pushed, 0, (size_t)row * sizeof *pushed);
  memset(pulled, 0, (size_t)row * sizeof *pulled);
  rf_point_tree_project_rt(t, place, back, pushed);
  rf_point_tree_project_rt(t, place, g, pulled);
  for (int i = 0; i < 3; ++i)
    rf_point_tree_project_rt(t, place, lever + 3 * i, out->wrench_by_q + (3 + i) * row);
}

static void add_products(const rf_penalty *p, int32_t n, const double *left, const double *right,
                         const rf_penalty_blocks *out) {
  const int32_t r = p->tree->r, row = p->tree->row;
  const rf_simd simd = p->tree->simd;
  rf_dense_add_products_rt(simd, 6, r, n, left, 8, p->pulled, row, out->wrench_by_q);
  rf_dense_add_products_rt(simd, 6, r, n, right, 8, p->pushed, row, out->reduced_by_x);
  rf_dense_add_products_rt(simd, r, r, n, p->pushed, row, p->pulled, row, out->reduced_by_q);
}

static void begin_blocks(const rf_penalty *p, const rf_penalty_blocks *out) {
  const size_t row = (size_t)p->tree->row;
  memset(out->wrench_by_q, 0, 8 * row * sizeof(double));
  memset(out->reduced_by_x, 0, 8 * row * sizeof(double));
  memset(out->reduced_by_q, 0, row * row * sizeof(double));
}

static void end_blocks(const rf_penalty *p, const rf_penalty_blocks *out) {
  const int32_t row = p->tree->row;
  if (p->scale == 1.0) return;
  for (int32_t i = 0; i < 8 * row; ++i) {
    out->wrench_by_q[i] *= p->scale;
    out->reduced_by_x[i] *= p->scale;
  }
  for (int32_t i = 0; i < row * row; ++i) out->reduced_by_q[i] *= p->scale;
}

// `since_us`: when it begins, or negative, and its costs are not learned.
static void add_contacts(rf_penalty *p, double since_us, rf_penalty_result *out,
                         const rf_penalty_blocks *blocks) {
  const rf_point_tree *t = p->tree;
  const rf_deformed_field *deformed = p->oracle.deformed;
  double world[3 * BLOCK], body[3 * BLOCK], normal[3 * BLOCK], slope[3 * BLOCK], total = 0.0;
  double lefts[8 * BLOCK] = {0}, rights[8 * BLOCK] = {0};
  int32_t proxy[BLOCK];
  double sum[36] = {0}, force[3] = {0}, torque[3] = {0}, deepest = 0.0;
  int32_t learned = 0;
  memset(p->reduced, 0, (size_t)t->row * sizeof *p->reduced);
  if (blocks) begin_blocks(p, blocks);
  if (deformed) memset(p->proxy_force, 0, 3 * (size_t)deformed->n_proxies * sizeof *p->proxy_force);
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
    locate(p, n, place, world, body);
    rf_point_tree_normals_rt(t, n, place, p->row, normal);
    if (deformed || !p->set.along_normal) rf_oracle_gradients_rt(&p->oracle, n, body, slope, proxy);
    for (int32_t k = 0; k < n; ++k) {
      const double weight = p->weight ? p->weight[place[k]] : 1.0;
      const double stiffness = weight * p->set.stiffness_n_per_m, d = p->touch_distance[first + k];
      double g[3], r[3], f[3], on_shell[3], moment[3];
      double *left = lefts + 8 * k, *right = rights + 8 * k;
      const double *direction = normal + 3 * k;
      total += weight;
      if (d < deepest) deepest = d;
      for (int i = 0; i < 3; ++i) f[i] = stiffness * d * direction[i];
      rf_vec3_sub(world + 3 * k, p->grasp, r);
      rf_vec3_cross(r, f, moment);
      for (int i = 0; i < 3; ++i) {
        force[i] += f[i];
        torque[i] += moment[i];
        on_shell[i] = -f[i];
      }
      rf_point_tree_project_rt(t, place[k], on_shell, p->reduced);
      if (p->set.along_normal)
        memcpy(g, direction, sizeof g);
      else
        to_world(p->rotation, slope + 3 * k, g);
      for (int i = 0; deformed && i < 3; ++i) p->proxy_force[3 * proxy[k] + i] += f[i];
      for (int i = 0; i < 3; ++i) {
        left[i] = stiffness * direction[i];
        right[i] = -g[i];
      }
      rf_vec3_cross(r, left, left + 3);
      rf_vec3_cross(g, r, right + 3);
      for (int i = 0; i < 6; ++i)
        for (int j = 0; j < 6; ++j) sum[6 * i + j] += left[i] * right[j];
      if (blocks) enter_blocks(p, k, place[k], left, g, f, blocks);
    }
    if (blocks) add_products(p, n, lefts, rights, blocks);
  }
  const double most = p->set.max_points;
  p->scale = most > 0.0 && total > most ? most / total : 1.0;
  for (int i = 0; i < 3; ++i) {
    out->force_n[i] = p->scale * force[i];
    out->torque_nm[i] = p->scale * torque[i];
  }
  for (int i = 0; i < 36; ++i) out->gradient[i] = p->scale * sum[i];
  // the skew matrices of force and torque
  for (int block = 1; block < 4; ++block) {
    const double *v = block == 3 ? out->torque_nm : out->force_n;
    double *at = out->gradient + 18 * (block >> 1) + 3 * (block & 1);
    at[1] -= v[2], at[2] += v[1];
    at[6] += v[2], at[8] -= v[0];
    at[12] -= v[1], at[13] += v[0];
  }
  for (int32_t j = 0; j < t->r; ++j) p->reduced[j] *= p->scale;
  if (blocks) end_blocks(p, blocks);
  if (deformed) push_proxies(p);
  out->depth_m = 0.0 - deepest;  // no contact: 0, not -0
  out->touching = p->touching;
  if (since_us >= 0.0) learn(&p->contact_us, rf_clock_us_rt() - since_us, p->touching - learned);
}

void rf_penalty_ask_clearance_rt(rf_penalty *p, bool asked) { p->asks_clearance = asked; }

void rf_penalty_set_budget_rt(rf_penalty *p, double budget_us) {
  p->set.budget_us = budget_us;
  p->timed = true;
}

rf_status rf_penalty_deform_field_rt(rf_penalty *p, const double *field_q) {
  if (!p->pose) return field_q ? RF_ERR_ARG : RF_OK;
  const double *q = field_q ? field_q : p->field_rest;
  return rf_deformed_pose_update_rt(p->oracle.deformed, q, p->pose) ? RF_OK : RF_ERR_ARG;
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
  add_contacts(p, all_of < 0 ? rf_clock_us_rt() : -1.0, out, p->tree->r ? blocks : NULL);
  const double end_us = rf_clock_us_rt();
  if (reduced) memcpy(reduced, p->reduced, (size_t)p->tree->r * sizeof *reduced);
  if (field_reduced && p->pose)
    memcpy(field_reduced, p->field_reduced, (size_t)p->oracle.deformed->r * sizeof *field_reduced);
  out->microseconds = end_us - p->start_us;
  return RF_OK;
}
