#include <math.h>
#include <string.h>

#include "dynamics/collide.h"
#include "linalg/vec3.h"

// Part of the depth in a stable step: its speed does not depend on the length of the steps.
static const double RECOVERY = 0.05;

// Pose of the body some time after its last move.
static rf_pose pose_at(const rf_proxy *p, double after_s) {
  rf_pose out = p->pose;
  double turn[3], by[4];
  for (int k = 0; k < 3; ++k) {
    out.position_m[k] += after_s * p->velocity_m_s[k];
    turn[k] = after_s * p->spin_rad_s[k];
  }
  rf_quat_of_rotation(turn, by);
  rf_quat_multiply(by, p->pose.quaternion, out.quaternion);
  return out;
}

void rf_proxy_lead_rt(rf_proxy *proxy, const rf_pose *from, const rf_pose *to, double seconds) {
  rf_quat_rotation_between(from->quaternion, to->quaternion, proxy->spin_rad_s);
  for (int k = 0; k < 3; ++k) {
    proxy->velocity_m_s[k] = (to->position_m[k] - from->position_m[k]) / seconds;
    proxy->spin_rad_s[k] /= seconds;
  }
  proxy->pose = *from;
  ++proxy->moves;
}

void rf_collide_measure_rt(const rf_collide *c, rf_collide_body *b, const rf_collide_motion *m) {
  const rf_proxy *proxy = b->proxy;
  const bool ahead = proxy->rule->ahead;
  const rf_pose seen = ahead ? pose_at(proxy, b->since_s + 2.0 * m->h) : b->next.pose;
  b->seen = seen;
  for (int64_t i = 0; i < c->n; ++i) {
    const int64_t at = 3 * (int64_t)c->node[i];
    double way[3];
    for (int64_t k = 0; k < 3; ++k) {
      const double further = ahead ? m->h * (m->w[at + k] + m->h * m->after[at + k]) : 0.0;
      way[k] = c->rest[3 * i + k] + m->x[at + k] + further - seen.position_m[k];
    }
    rf_quat_rotate_back(seen.quaternion, way, c->place + 3 * i);
  }
  rf_field_distances_rt(proxy->field, c->n, c->place, c->distance);
}

// Computes the normal and distance of an examined place; false: there is no normal.
static bool find_normal(const rf_collide *c, const rf_collide_body *b, int64_t i,
                        rf_collide_point *p) {
  double distance, slope[3];
  rf_field_slopes_rt(b->proxy->field, 1, c->place + 3 * i, &distance, slope);
  const double length = rf_vec3_length(slope);
  if (!(length > 0.0)) return false;
  for (int k = 0; k < 3; ++k) slope[k] /= length;
  rf_quat_rotate(b->seen.quaternion, slope, p->normal);
  // not over the length: slopes of samples are shorter near edges and medial axes, and depths, too,
  // are values of the field
  p->distance_m = distance;
  return true;
}

bool rf_collide_examine_rt(const rf_collide *c, const rf_collide_body *b, int64_t i,
                           const rf_collide_motion *m, rf_collide_point *p, double arm[3]) {
  const rf_proxy *proxy = b->proxy;
  const int64_t at = 3 * (int64_t)c->node[i];
  const rf_pose *pose = &b->next.pose;
  double turning[3], local[3];
  *p = (rf_collide_point){.step_s = m->h};
  if (c->damped || !proxy->rule->sinks) p->recovery = RECOVERY * fmin(1.0, m->h / c->stable_s);
  if (!find_normal(c, b, i, p)) return false;
  for (int64_t k = 0; k < 3; ++k) arm[k] = c->rest[3 * i + k] + m->x[at + k] - pose->position_m[k];
  rf_vec3_cross(proxy->spin_rad_s, arm, turning);
  for (int64_t k = 0; k < 3; ++k) {
    const double body = proxy->velocity_m_s[k] + turning[k];
    p->before[k] = m->v[at + k] - body;
    p->halfway[k] = m->w[at + k] - body;
    p->started[k] = m->a[at + k];
    p->free[k] = m->after[at + k];
  }
  p->depth_m = -p->distance_m;
  if (!proxy->rule->ahead) return true;
  rf_quat_rotate_back(pose->quaternion, arm, local);
  p->depth_m = fmax(0.0, -rf_field_distance_rt(proxy->field, local));
  return true;
}

void rf_collide_push_rt(rf_collide *c, rf_collide_body *b, int64_t i, const rf_collide_point *p,
                        const double arm[3], const double force[3], bool slides) {
  rf_collide_step *next = &b->next;
  const int64_t number = next->n_touching++;
  double torque[3];
  next->touching[number] = c->node[i];
  next->n_sliding += slides;
  next->depth_m = fmax(next->depth_m, p->depth_m);
  rf_vec3_cross(arm, force, torque);
  const double pushed = rf_vec3_dot(force, p->normal);
  for (int64_t k = 0; k < 3; ++k) {
    next->pushed[k] += pushed * p->normal[k];
    next->force[3 * number + k] = force[k];
    c->next_by_contact[3 * i + k] += force[k] / c->mass[i];
    next->total[k] += force[k];
    next->torque[k] += torque[k];
  }
}

// Cuts the part of a change along the surface to the cone of friction; returns true if it was
// longer.
static bool rub(double friction, const double normal[3], double change[3]) {
  const double pushed = rf_vec3_dot(change, normal);
  double along[3];
  for (int k = 0; k < 3; ++k) along[k] = change[k] - pushed * normal[k];
  const bool slides = rf_vec3_limit(along, friction * fmax(pushed, 0.0));
  for (int k = 0; k < 3; ++k) change[k] = pushed * normal[k] + along[k];
  return slides;
}

// Lets node i touch.
static void touch(rf_collide *c, rf_collide_body *b, int64_t i, const rf_collide_motion *m) {
  const rf_proxy *proxy = b->proxy;
  rf_collide_point p;
  double arm[3], change[3], force[3];
  if (!rf_collide_examine_rt(c, b, i, m, &p, arm) || !proxy->rule->require_rt(&p, change)) return;
  const bool slides = rub(proxy->friction, p.normal, change);
  if (change[0] == 0.0 && change[1] == 0.0 && change[2] == 0.0) return;
  for (int64_t k = 0; k < 3; ++k) {
    force[k] = (1.0 + 0.5 * m->h * c->alpha) * c->mass[i] * change[k];
    m->after[3 * (int64_t)c->node[i] + k] += change[k];
  }
  rf_collide_push_rt(c, b, i, &p, arm, force, slides);
}

const double *rf_collide_begin_rt(rf_collide *c, double h, const double *state) {
  c->ratio = c->last_s > 0.0 && c->last_s != h ? c->last_s / h : 1.0;
  if (c->ratio == 1.0) return state;
  memcpy(c->adjusted, state, 3 * (size_t)c->n_all * sizeof *state);
  for (int64_t i = 0; c->spread && i < 3 * c->n_all; ++i)
    c->adjusted[i] += (c->ratio - 1.0) * c->spread[i];
  for (int64_t i = 0; !c->spread && i < c->n; ++i)
    for (int64_t k = 0; k < 3; ++k)
      c->adjusted[3 * (int64_t)c->node[i] + k] += (c->ratio - 1.0) * c->by_contact[3 * i + k];
  rf_constraints_fill_rt(c->constraints, c->adjusted);
  return c->adjusted;
}

rf_status rf_collide_touch_rt(rf_collide *c, rf_system *s, const rf_collide_motion *m) {
  memset(c->next_by_contact, 0, 3 * (size_t)c->n * sizeof *c->next_by_contact);
  for (int32_t k = 0; k < c->n_bodies; ++k) {
    rf_collide_body *b = c->body + k;
    rf_collide_step *next = &b->next;
    if (b->moves != b->proxy->moves) {
      b->moves = b->proxy->moves;
      b->since_s = 0.0;
    }
    next->pose = pose_at(b->proxy, b->since_s + m->h);
    next->n_touching = next->n_sliding = 0;
    next->depth_m = 0.0;
    for (int d = 0; d < 3; ++d) next->total[d] = next->pushed[d] = next->torque[d] = 0.0;
  }
  if (c->settle) return c->settle(c, s, m);
  for (int32_t k = 0; k < c->n_bodies; ++k) {
    rf_collide_measure_rt(c, c->body + k, m);
    for (int64_t i = 0; i < c->n; ++i)
      if (c->distance[i] <= 0.0) touch(c, c->body + k, i, m);
  }
  return RF_OK;
}

void rf_collide_keep_rt(rf_collide *c, double h) {
  double *by_contact = c->by_contact, *spread = c->spread;
  // of the force at the beginning of a step of another length, the damping by mass inside takes a
  // part
  const double share = c->inside ? 1.0 / (1.0 + 0.5 * c->last_s * c->alpha) : 1.0;
  const double begun = 1.0 + (c->ratio - 1.0) * share;
  c->by_contact = c->next_by_contact;
  c->next_by_contact = by_contact;
  c->spread = c->next_spread;
  c->next_spread = spread;
  c->last_s = h;
  c->n_unsolved += c->unsolved;
  for (int32_t k = 0; k < c->n_bodies; ++k) {
    rf_collide_body *b = c->body + k;
    const rf_collide_step before = b->last;
    b->last = b->next;
    b->next = before;
    for (int d = 0; d < 3; ++d) {
      b->impulse[d] += 0.5 * h * (begun * b->carried[d] + b->last.total[d]);
      b->carried[d] = b->last.total[d];
    }
    b->since_s += h;
  }
}
