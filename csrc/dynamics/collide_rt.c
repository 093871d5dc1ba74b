#include <math.h>

#include "dynamics/collide.h"

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

// A step, as the arguments of rf_collide_touch_rt.
typedef struct step {
  double h;
  const double *v, *a, *x, *w;
  double *after;
  rf_pose seen;  // of the body when nodes are at the places examined
} step;

// Computes the normal and distance of an examined place; false: there is no normal.
static bool find_normal(const rf_collide *c, int64_t i, const step *s, rf_collide_point *p) {
  double distance, slope[3];
  rf_field_slopes_rt(c->proxy->field, 1, c->place + 3 * i, &distance, slope);
  const double length = rf_vec3_length(slope);
  if (!(length > 0.0)) return false;
  for (int k = 0; k < 3; ++k) slope[k] /= length;
  rf_quat_rotate(s->seen.quaternion, slope, p->normal);
  // not over the length: slopes of samples are shorter near edges and medial axes, and depths, too,
  // are values of the field
  p->distance_m = distance;
  return true;
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
static void touch(rf_collide *c, int64_t i, const step *s) {
  const rf_proxy *proxy = c->proxy;
  const int64_t at = 3 * (int64_t)c->node[i];
  rf_collide_step *next = &c->next;
  rf_collide_point p = {.step_s = s->h, .recovery = RECOVERY * fmin(1.0, s->h / c->stable_s)};
  double arm[3], turning[3], local[3], change[3] = {0.0, 0.0, 0.0}, torque[3];
  if (!find_normal(c, i, s, &p)) return;
  for (int64_t k = 0; k < 3; ++k)
    arm[k] = c->rest[3 * i + k] + s->x[at + k] - next->pose.position_m[k];
  rf_vec3_cross(proxy->spin_rad_s, arm, turning);
  for (int64_t k = 0; k < 3; ++k) {
    const double body = proxy->velocity_m_s[k] + turning[k];
    p.before[k] = s->v[at + k] - body;
    p.halfway[k] = s->w[at + k] - body;
    p.started[k] = s->a[at + k];
    p.free[k] = s->after[at + k];
  }
  if (proxy->rule->ahead) {
    rf_quat_rotate_back(next->pose.quaternion, arm, local);
    p.depth_m = fmax(0.0, -rf_field_distance_rt(proxy->field, local));
  }
  proxy->rule->ask_rt(&p, change);
  const bool slides = rub(proxy->friction, p.normal, change);
  if (change[0] == 0.0 && change[1] == 0.0 && change[2] == 0.0) return;
  const int64_t number = next->n_touching++;
  double *force = next->force + 3 * number;
  next->touching[number] = c->node[i];
  next->n_sliding += slides;
  next->depth_m = fmax(next->depth_m, proxy->rule->ahead ? p.depth_m : -p.distance_m);
  for (int64_t k = 0; k < 3; ++k) {
    force[k] = (1.0 + 0.5 * s->h * c->alpha) * c->mass[i] * change[k];
    s->after[at + k] += change[k];
    next->total[k] += force[k];
  }
  rf_vec3_cross(arm, force, torque);
  for (int k = 0; k < 3; ++k) next->torque[k] += torque[k];
}

void rf_collide_touch_rt(rf_collide *c, double h, const double *v, const double *a, const double *x,
                         const double *w, double *after) {
  const rf_proxy *proxy = c->proxy;
  const bool ahead = proxy->rule->ahead;
  if (c->moves != proxy->moves) {
    c->moves = proxy->moves;
    c->since_s = 0.0;
  }
  c->next.pose = pose_at(proxy, c->since_s + h);
  const step s = {.h = h,
                  .v = v,
                  .a = a,
                  .x = x,
                  .w = w,
                  .after = after,
                  .seen = ahead ? pose_at(proxy, c->since_s + 2.0 * h) : c->next.pose};
  for (int64_t i = 0; i < c->n; ++i) {
    const int64_t at = 3 * (int64_t)c->node[i];
    double way[3];
    for (int64_t k = 0; k < 3; ++k) {
      const double further = ahead ? h * (w[at + k] + h * after[at + k]) : 0.0;
      way[k] = c->rest[3 * i + k] + x[at + k] + further - s.seen.position_m[k];
    }
    rf_quat_rotate_back(s.seen.quaternion, way, c->place + 3 * i);
  }
  rf_field_distances_rt(proxy->field, c->n, c->place, c->distance);
  c->next.n_touching = c->next.n_sliding = 0;
  c->next.depth_m = 0.0;
  for (int k = 0; k < 3; ++k) c->next.total[k] = c->next.torque[k] = 0.0;
  for (int64_t i = 0; i < c->n; ++i)
    if (c->distance[i] <= 0.0) touch(c, i, &s);
}

void rf_collide_keep_rt(rf_collide *c, double h) {
  const rf_collide_step before = c->last;
  c->last = c->next;
  c->next = before;
  for (int k = 0; k < 3; ++k) {
    c->impulse[k] += 0.5 * h * (c->carried[k] + c->last.total[k]);
    c->carried[k] = c->last.total[k];
  }
  c->since_s += h;
}
