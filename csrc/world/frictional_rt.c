#include "world/frictional.h"

#include <math.h>
#include <string.h>

#include "base/clock_rt.h"
#include "linalg/dense_rt.h"
#include "linalg/quat.h"

static const double TOLERANCE = 1e-8;   // of the residual of friction
static const double UNSOLVED = 1e-3;    // residual above which forces count as not solved
static const double COMPLIANCE = 1e-3;  // c over the mean diagonal, if automatic
static const double LEAST_BUDGET_US = 5.0;
static const double STICKS = 0.999;  // below this part of mu f_n a site sticks
static const double RECOVERY = 0.1;  // m/s, at which overlaps of free bodies close

static rf_motion *stepped(const rf_frictional_body *b) {
  return b->whole ? b->whole : b->of->motion;
}

// ---- free motions

// Lower triangular root of the compliance of a pose; directions that do not yield are zero.
static void root_of(const double from[36], double out[36]) {
  memset(out, 0, 36 * sizeof *out);
  for (int j = 0; j < 6; ++j) {
    double pivot = from[7 * j];
    for (int k = 0; k < j; ++k) pivot -= out[6 * j + k] * out[6 * j + k];
    if (!(pivot > 1e-14 * from[7 * j])) continue;
    out[7 * j] = sqrt(pivot);
    for (int i = j + 1; i < 6; ++i) {
      double sum = from[6 * i + j];
      for (int k = 0; k < j; ++k) sum -= out[6 * i + k] * out[6 * j + k];
      out[6 * i + j] = sum / out[7 * j];
    }
  }
}

// Bodies that were touched take the rates of a step in contact (dynamics/newmark.h), which do not
// carry the force of an impact into the next step.
static rf_status foresee_deformation(rf_frictional_body *b) {
  rf_motion *m = stepped(b);
  m->in_contact = b->touched;
  const rf_status st = rf_motion_linearize_rt(m, NULL, NULL, b->way);
  b->yields = st >= 0;
  if (!b->yields) memset(b->way, 0, (size_t)rf_dense_ld(m->n) * sizeof *b->way);
  return st == RF_ERR_SINGULAR ? RF_OK : st;
}

static void foresee_pose(rf_frictional_body *b, const rf_held_free *held) {
  double compliance[36];
  rf_body_reference_rt(b->of, b->centre);
  if (b->of->kind->foresee_rt) {
    b->of->kind->foresee_rt(b->of, b->rigid, compliance);
    root_of(compliance, b->root);
    return;
  }
  memcpy(b->rigid, held->way, sizeof b->rigid);
  root_of(held->compliance, b->root);
}

static void keep_place(rf_frictional_body *b) {
  memcpy(b->last_centre, b->centre, sizeof b->centre);
  memcpy(b->last_turn, b->of->pose.quaternion, sizeof b->last_turn);
  if (b->n > 0) memcpy(b->last_q, b->of->motion->q, (size_t)b->n * sizeof *b->last_q);
}

// Notes the motion since the last step; in the first one it is zero.
static void note_motion(rf_frictional_body *b) {
  if (!b->begun) keep_place(b);
  b->begun = true;
  if (b->moves) {
    rf_vec3_sub(b->centre, b->last_centre, b->last_rigid);
    rf_quat_rotation_between(b->last_turn, b->of->pose.quaternion, b->last_rigid + 3);
  }
  for (int32_t i = 0; i < b->n; ++i) b->last_way[i] = b->of->motion->q[i] - b->last_q[i];
  keep_place(b);
}

rf_status rf_frictional_foresee_rt(void *self, rf_world *world, const rf_held_free *held) {
  rf_frictional *c = self;
  rf_status st = RF_OK;
  c->reach_m = held->reach_m;
  c->moved = false;
  if (c->n_dimples > 0) rf_frictional_note_forces_rt(c, world);
  for (int32_t k = 0; k < c->n_bodies && st >= 0; ++k) {
    rf_frictional_body *b = &c->body[k];
    if (b->moves) foresee_pose(b, held);
    if (b->n > 0) st = foresee_deformation(b);
    note_motion(b);
  }
  for (int32_t k = 0; k < world->n_pairs; ++k)
    world->pair[k]->contact->search.alarm = rf_frictional_alarm_rt(c, world, k);
  return st;
}

// ---- matrix and displacements

// Rows of V^T of a pose, root^T H^T.
static void put_rigid_halves(rf_frictional *c, const rf_frictional_body *b) {
  const size_t ld = (size_t)c->ld, first = (size_t)b->first;
  for (size_t j = 0; j < 6; ++j) {
    double *to = c->halves + (first + j) * ld;
    memset(to, 0, ld * sizeof *to);
    for (size_t i = j; i < 6; ++i)
      for (size_t k = 0; k < ld; ++k) to[k] += b->root[6 * i + j] * c->levers[(first + i) * ld + k];
  }
}

// V^T = L^-1 H^T; deformations that do not yield have zeros.
static void put_halves(rf_frictional *c) {
  const size_t ld = (size_t)c->ld;
  memcpy(c->halves, c->levers, (size_t)c->rank * ld * sizeof *c->halves);
  for (int32_t k = 0; k < c->n_bodies; ++k) {
    const rf_frictional_body *b = &c->body[k];
    double *rows = c->halves + (size_t)rf_frictional_deformation_rt(b) * ld;
    if (b->moves) put_rigid_halves(c, b);
    if (b->n > 0 && b->yields)
      rf_motion_half_solve_rt(stepped(b), c->ld, rows);
    else
      memset(rows, 0, (size_t)b->n * ld * sizeof *rows);
  }
}

// Sets W of the solver; returns c.
static rf_status put_matrix(rf_frictional *c, const rf_world *world, double *compliance) {
  const int32_t m = c->n_sites, rank = c->rank;
  double trace = c->n_dimples > 0 ? rf_frictional_put_local_rt(c, world) : 0.0;
  for (int32_t k = 0; k < 3 * m; ++k)
    for (int32_t j = 0; j < rank; ++j) {
      const double v = c->halves[(size_t)j * (size_t)c->ld + (size_t)k];
      c->factor[(size_t)k * (size_t)rank + (size_t)j] = v;
      trace += v * v;
    }
  *compliance = c->compliance > 0.0 ? c->compliance : COMPLIANCE * trace / (3.0 * m);
  if (c->n_dimples > 0)
    return rf_friction_set_sum_rt(c->solver, m, rank, c->factor, c->local_matrix, *compliance);
  return rf_friction_set_factor_rt(c->solver, m, rank, c->factor, *compliance);
}

static void add_displacements(rf_frictional *c, int32_t first, int32_t n, const double *way) {
  const size_t ld = (size_t)c->ld;
  for (int32_t j = 0; j < n; ++j) {
    const double *row = c->levers + (size_t)(first + j) * ld;
    for (size_t k = 0; k < ld; ++k) c->gap[k] += way[j] * row[k];
  }
}

// Gap of a site, not deeper than a step can close without a kick; yielded: part of the depth by the
// compliance of the site and by its dimple.
static double gap_of(const rf_world *world, const rf_frictional_site *site, double yielded) {
  const rf_pair *pair = world->pair[site->pair];
  const bool free = pair->side[0].body->kind->move_rt || pair->side[1].body->kind->move_rt;
  return free ? fmax(site->ahead, -yielded - RECOVERY * world->set.dt_s) : site->ahead;
}

// Displacements at the sites in the free motions, H y.
static void put_displacements(rf_frictional *c) {
  memset(c->gap, 0, (size_t)c->ld * sizeof *c->gap);
  for (int32_t k = 0; k < c->n_bodies; ++k) {
    const rf_frictional_body *b = &c->body[k];
    if (b->moves) add_displacements(c, b->first, 6, b->rigid);
    add_displacements(c, rf_frictional_deformation_rt(b), b->n, b->way);
  }
}

// True if no site bore a force, and none closes in the free motions.
static bool all_stay_open(const rf_frictional *c) {
  for (int32_t i = 0; i < c->n_sites; ++i)
    if (c->site[i].bore || !(c->site[i].ahead + c->gap[3 * i] >= 0.0)) return false;
  return true;
}

// Adds gaps, displacements by the last forces, and the slip that the last solve should have
// prevented; sets coefficients and the forces of the start.
static void add_gaps(rf_frictional *c, const rf_world *world, double compliance) {
  for (int32_t i = 0; i < c->n_sites; ++i) {
    const rf_frictional_site *site = &c->site[i];
    const rf_contact_sites *law = rf_frictional_law_rt(world, site->pair);
    double last[3], missed[3];
    const rf_body *shell = world->pair[site->pair]->side[RF_PAIR_TREE].body;
    rf_quat_rotate(shell->pose.quaternion, site->last.force, last);
    rf_quat_rotate(shell->pose.quaternion, site->last.missed, missed);
    c->mu[i] = law->mu;
    for (int k = 0; k < 3; ++k)
      c->start[3 * i + k] = site->bore ? rf_vec3_dot(last, c->axes + 9 * i + 3 * k) : 0.0;
    for (int k = 0; k < 3; ++k) c->gap[3 * i + k] += site->constant[k];
    c->gap[3 * i] += gap_of(world, site, compliance * c->start[3 * i] + site->dimple[0]);
    for (int k = 1; k < 3; ++k) {
      c->gap[3 * i + k] -= compliance * c->start[3 * i + k] + site->dimple[k];
      if (site->bore) c->gap[3 * i + k] += rf_vec3_dot(missed, c->axes + 9 * i + 3 * k);
    }
  }
}

// ---- results

static void put_load(const rf_frictional *c, int32_t first, int32_t n, double *to) {
  for (int32_t j = 0; j < n; ++j) {
    const double *row = c->levers + (size_t)(first + j) * (size_t)c->ld;
    to[j] = 0.0;
    for (int32_t k = 0; k < 3 * c->n_sites; ++k) to[j] += row[k] * c->forces[k];
  }
}

static void put_loads(rf_frictional *c) {
  for (int32_t k = 0; k < c->n_bodies; ++k) {
    rf_frictional_body *b = &c->body[k];
    if (b->moves) put_load(c, b->first, 6, b->wrench);
    put_load(c, rf_frictional_deformation_rt(b), b->n, b->force);
  }
}

// Adds the force on the shell at a site to the wrenches of both bodies; sign -1: takes it back.
static void add_wrenches(const rf_world *world, const rf_frictional_site *site,
                         const double force[3], double sign) {
  for (int role = 0; role < 2; ++role) {
    rf_body *body = world->pair[site->pair]->side[role].body;
    const double part = role == RF_PAIR_TREE ? sign : -sign;
    double arm[3], torque[3];
    rf_body_reference_rt(body, arm);
    rf_vec3_sub(site->point, arm, arm);
    rf_vec3_cross(arm, force, torque);
    for (int i = 0; i < 3; ++i) {
      body->wrench[i] += part * force[i];
      body->wrench[3 + i] += part * torque[i];
    }
  }
}

// The force on the shell, in the world.
static void force_of(const rf_frictional *c, int32_t i, double out[3]) {
  const double *f = c->forces + 3 * i, *axes = c->axes + 9 * i;
  for (int j = 0; j < 3; ++j) out[j] = f[0] * axes[j] + f[1] * axes[3 + j] + f[2] * axes[6 + j];
}

// The slip of a site that should stick, in the world; zero if the forces are a solution.
static void slip_of(const rf_frictional *c, int32_t i, double out[3]) {
  const double *f = c->forces + 3 * i, *d = c->ends + 3 * i, *axes = c->axes + 9 * i;
  const double most = STICKS * c->mu[i] * f[0];
  const bool missed = !c->solved && f[1] * f[1] + f[2] * f[2] < most * most;
  for (int j = 0; j < 3; ++j) out[j] = missed ? d[1] * axes[3 + j] + d[2] * axes[6 + j] : 0.0;
}

// Removes the forces of the first solve from the pairs that are solved again.
static void take_back(rf_frictional *c, rf_world *world) {
  for (int32_t i = 0; i < c->n_sites; ++i) {
    const rf_frictional_site *site = &c->site[i];
    double force[3];
    if (!(c->forces[3 * i] > 0.0) || !rf_frictional_yields_rt(c, site->pair)) continue;
    force_of(c, i, force);
    add_wrenches(world, site, force, -1.0);
    rf_frictional_law_rt(world, site->pair)->of[site->place] = site->last;
  }
}

// Notes the forces in the states of the points, and adds them to the wrenches; the touching points
// of a contact are its sites with a force from now on.
static void keep_forces(rf_frictional *c, rf_world *world) {
  for (int32_t k = 0; k < world->n_pairs; ++k)
    if (!c->moved || rf_frictional_yields_rt(c, k)) world->pair[k]->contact->search.touching = 0;
  for (int32_t b = 0; b < c->n_bodies; ++b) c->body[b].touched = false;
  for (int32_t i = 0; i < c->n_sites; ++i) {
    const rf_frictional_site *site = &c->site[i];
    rf_contact_search *s = &world->pair[site->pair]->contact->search;
    const rf_body *shell = world->pair[site->pair]->side[RF_PAIR_TREE].body;
    rf_contact_sites *law = rf_frictional_law_rt(world, site->pair);
    struct rf_contact_site_force *at = law->of + site->place;
    const int32_t *of = c->pair[site->pair].side;
    double force[3];
    if (!(c->forces[3 * i] > 0.0)) continue;
    force_of(c, i, force);
    add_wrenches(world, site, force, 1.0);
    at->cycle = law->cycle;
    rf_quat_rotate_back(shell->pose.quaternion, force, at->force);
    slip_of(c, i, force);
    rf_quat_rotate_back(shell->pose.quaternion, force, at->missed);
    s->touch_place[s->touching] = site->place;
    s->touch_distance[s->touching++] = site->gap;
    for (int e = 0; e < 2; ++e)
      if (of[e] >= 0) c->body[of[e]].touched = true;
  }
  world->found.touching = 0;
  for (int32_t k = 0; k < world->n_pairs; ++k) {
    world->pair[k]->found.touching = world->pair[k]->contact->search.touching;
    if (!rf_pair_without_held_rt(world->pair[k]))
      world->found.touching += world->pair[k]->found.touching;
  }
}

static rf_status solve(rf_frictional *c, rf_world *world, double end_us) {
  double compliance = 0.0;
  rf_friction_report report;
  rf_friction_limits limits = {.tolerance = TOLERANCE, .budget_us = c->budget_us};
  put_displacements(c);
  if (all_stay_open(c)) {
    memset(c->forces, 0, 3 * (size_t)c->n_sites * sizeof *c->forces);
    c->solved = true;
    return RF_OK;
  }
  put_halves(c);
  if (put_matrix(c, world, &compliance) < 0) return RF_ERR_DIVERGED;
  c->yielding = compliance;
  add_gaps(c, world, compliance);
  if (isfinite(end_us)) {
    const double left_us = end_us - rf_processor_us_rt();
    limits.budget_us = fmax(fmin(left_us, c->budget_us), LEAST_BUDGET_US);
  }
  const rf_status st = rf_friction_solve_rt(c->solver, c->gap, c->mu, c->start, &limits, c->forces,
                                            c->ends, NULL, &report);
  if (st < 0) return RF_ERR_DIVERGED;
  c->solved = report.end == RF_FRICTION_SOLVED;
  world->found.unsolved |= report.end == RF_FRICTION_INFEASIBLE || !(report.residual <= UNSOLVED);
  return RF_OK;
}

rf_status rf_frictional_constrain_rt(void *self, rf_world *world, const double *move, double end_us,
                                     double wrench[6]) {
  rf_frictional *c = self;
  rf_frictional_body *held = &c->body[c->held];
  if (move) {
    take_back(c, world);
    c->moved = true;
    memcpy(held->rigid, move, sizeof held->rigid);
    memset(held->root, 0, sizeof held->root);
  } else {
    rf_frictional_choose_rt(c, world);
  }
  rf_frictional_rows_rt(c, world);
  const rf_status st = c->n_sites > 0 ? solve(c, world, end_us) : RF_OK;
  if (st < 0) return st;
  put_loads(c);
  keep_forces(c, world);
  if (c->n_dimples > 0) rf_frictional_note_depths_rt(c, world);
  memcpy(wrench, move ? held->of->wrench : held->wrench, sizeof held->wrench);
  world->joint = true;
  return RF_OK;
}

// ---- steps

static rf_status finish_deformation(rf_frictional_body *b) {
  rf_motion *m = b->of->motion;
  if (b->yields && !b->whole) return rf_motion_finish_rt(m, b->force);
  m->in_contact = b->touched;
  return rf_motion_step_rt(m, b->force, b->of->steps);
}

rf_status rf_frictional_finish_rt(void *self, rf_world *world, const double move[6]) {
  rf_frictional *c = self;
  rf_status st = RF_OK;
  (void)world, (void)move;
  for (int32_t k = 0; k < c->n_bodies && st >= 0; ++k) {
    rf_frictional_body *b = &c->body[k];
    if (b->n > 0) st = finish_deformation(b);
    if (st >= 0 && b->of->kind->move_rt) st = b->of->kind->move_rt(b->of, b->wrench);
  }
  return st;
}

void rf_frictional_prepare_rt(void *self) {
  rf_frictional *c = self;
  for (int32_t k = 0; k < c->n_bodies; ++k) {
    rf_frictional_body *b = &c->body[k];
    if (b->whole) rf_motion_follow_rt(b->whole, b->of->motion);
    if (b->n > 0) rf_motion_prepare_rt(stepped(b));
  }
}

void rf_frictional_reset_rt(void *self) {
  rf_frictional *c = self;
  for (int32_t k = 0; k < c->n_bodies; ++k) c->body[k].touched = c->body[k].begun = false;
  for (int32_t k = 0; k < c->n_dimples; ++k) c->dimple[k].n_loaded = 0;
  c->n_sites = 0;
  rf_sites_reset_rt(&c->sites, c->sites.most, c->sites.least_spacing);
}
