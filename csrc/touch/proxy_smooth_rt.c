// A tip without friction.
//
// The anchor is where the energy in store, E = d.C^-1 d / 2 with the way d from the anchor to the
// tip, has a local minimum over the surface; the force on the body is C^-1 d.  While the tip moves
// and the anchor stays, this force is the gradient of E; while the anchor moves and the tip stays,
// E falls: the work that a hand gets back is never more than it has done.  A force along the normal
// alone has no such bound, as the compliance differs from place to place.
//
// Beyond the largest distance D from the anchor E grows linearly along d, with r = D / |d|:
//     E = r (1 - r/2) d.C^-1 d,   f = r (2 - r) C^-1 d - r (1 - r) (d.C^-1 d / d.d) d
#include <math.h>
#include <string.h>

#include "linalg/vec3.h"
#include "touch/proxy_state.h"

enum { PASSES = 4, HALVINGS = 4 };
static const double SETTLED = 1e-8;  // of the energy: fall that a pass is worth
static const double LOWER = 1e-12;   // of the energy: rounding
static const double SLIDE = 2e-3;    // of the distance from the tip: way of the anchor in a cycle
static const double ASIDE = 0.05;    // of the sides of a triangle: central differences

typedef struct spot {
  rf_tip_place place;
  double c[9], inverse[9];
  double force[3];  // on the body
  double pull[3];   // dE = - pull.dC.pull / 2 where C changes below a tip at rest
  double energy;
  bool deep;
} spot;

// Computes the energy and the force of an anchor at a place.
static void evaluate(const rf_tip *tip, const double point[3], spot *out) {
  double d[3];
  rf_tip_compliance_now_rt(tip, out->place.triangle, out->place.weight, out->c);
  (void)rf_mat3_inverse_transposed(out->c, out->inverse);
  rf_vec3_sub(point, out->place.position, d);
  for (int i = 0; i < 3; ++i) out->pull[i] = rf_vec3_dot(out->inverse + 3 * i, d);
  const double twice = rf_vec3_dot(d, out->pull), square = rf_vec3_dot(d, d);
  const double length = sqrt(square);
  out->deep = length > tip->max_depth_m;
  const double r = out->deep ? tip->max_depth_m / length : 1.0;
  const double along = out->deep ? r * (1.0 - r) * twice / square : 0.0;
  out->energy = r * (1.0 - 0.5 * r) * twice;
  for (int i = 0; i < 3; ++i) {
    out->force[i] = r * (2.0 - r) * out->pull[i] - along * d[i];
    out->pull[i] *= sqrt(r * (2.0 - r));
  }
}

// Twice the energy of the pull at weights moved along a side of the triangle.
static double aside(const rf_tip *tip, const spot *now, int side, double part) {
  double weight[3], c[9], moved[3];
  memcpy(weight, now->place.weight, sizeof weight);
  weight[0] -= part;
  weight[side] += part;
  rf_tip_compliance_now_rt(tip, now->place.triangle, weight, c);
  for (int i = 0; i < 3; ++i) moved[i] = rf_vec3_dot(c + 3 * i, now->pull);
  return rf_vec3_dot(now->pull, moved);
}

// Computes the step of Newton's method in the plane of the triangle, with the second derivatives
// of a constant compliance; returns the fall of the energy that it promises.
static double newton(const rf_tip *tip, const spot *now, double step[3]) {
  const rf_tip_tables *t = tip->tables;
  const int32_t *corner = t->edges.corner + 3 * (int64_t)now->place.triangle;
  double side[2][3], slope[2], h[2][2];
  for (int k = 0; k < 2; ++k) {
    rf_vec3_sub(t->vertex + 3 * (int64_t)corner[k + 1], t->vertex + 3 * (int64_t)corner[0],
                side[k]);
    const double change =
        aside(tip, now, k + 1, ASIDE) - aside(tip, now, k + 1, -ASIDE);  // exact: C is quadratic
    slope[k] = -rf_vec3_dot(now->force, side[k]) - 0.25 * change / ASIDE;
  }
  for (int k = 0; k < 2; ++k) {
    double pulled[3];
    for (int i = 0; i < 3; ++i) pulled[i] = rf_vec3_dot(now->inverse + 3 * i, side[k]);
    for (int j = 0; j < 2; ++j) h[k][j] = rf_vec3_dot(pulled, side[j]);
  }
  const double det = h[0][0] * h[1][1] - h[0][1] * h[1][0];
  if (!(det > 0.0)) return 0.0;
  const double a = -(h[1][1] * slope[0] - h[0][1] * slope[1]) / det;
  const double b = -(h[0][0] * slope[1] - h[1][0] * slope[0]) / det;
  for (int i = 0; i < 3; ++i) step[i] = a * side[0][i] + b * side[1][i];
  return -0.5 * (a * slope[0] + b * slope[1]);
}

// Takes the place for the anchor if the energy is lower there.
static bool try_place(const rf_tip *tip, const double point[3], const rf_tip_place *place,
                      spot *now) {
  spot other = {.place = *place};
  evaluate(tip, point, &other);
  if (!(other.energy < (1.0 - LOWER) * now->energy)) return false;
  *now = other;
  return true;
}

// Makes a step along a promising way, of at most `most`, or a shorter one.
static bool try_way(const rf_tip *tip, const double point[3], const double step[3], double most,
                    spot *now) {
  const spot from = *now;
  const double length = rf_vec3_length(step);
  double part = length > most ? most / length : 1.0;
  for (int k = 0; k < HALVINGS; ++k, part *= 0.5) {
    rf_tip_place place = {.triangle = from.place.triangle};
    double to[3];
    for (int i = 0; i < 3; ++i) to[i] = from.place.position[i] + part * step[i];
    rf_tip_walk_rt(tip->tables, to, &place);
    if (try_place(tip, point, &place, now)) return true;
  }
  return false;
}

// Longest way of the anchor in this cycle: it follows the tip, and slides where it would jump from
// one minimum to the next.
static double longest(const rf_tip *tip, const double point[3], const spot *now) {
  double d[3];
  rf_vec3_sub(point, now->place.position, d);
  return SLIDE * rf_vec3_length(d) + (tip->is_known ? RF_TIP_FOLLOW * tip->way : 0.0);
}

void rf_tip_smooth_rt(rf_tip *tip, const double point[3], const rf_tip_place *next) {
  rf_tip_contact *now = &tip->now;
  spot at = {.place = {.triangle = now->triangle}};
  memcpy(at.place.weight, now->weight, sizeof now->weight);
  memcpy(at.place.position, now->anchor, sizeof now->anchor);
  evaluate(tip, point, &at);
  double left = longest(tip, point, &at);
  for (int k = 0; k < PASSES && left > 0.0; ++k) {
    double step[3] = {0}, moved[3];
    const rf_tip_place from = at.place;
    const bool worth = newton(tip, &at, step) > SETTLED * at.energy;
    if (!(worth && try_way(tip, point, step, left, &at))) {
      // at an edge the way may continue over another face
      rf_vec3_sub(next->position, from.position, step);
      if (!try_way(tip, point, step, left, &at)) break;
    }
    rf_vec3_sub(at.place.position, from.position, moved);
    left -= rf_vec3_length(moved);
  }
  rf_tip_anchor_rt(tip, &at.place, NULL);
  double way[3];
  rf_vec3_sub(point, now->anchor, way);
  now->state = RF_TIP_SLIPS;
  now->depth_m = fmax(-rf_vec3_dot(now->normal, way), 0.0);
  now->deep = at.deep;
  now->stiffness = tip->stiffness;
  memcpy(now->force, at.force, sizeof now->force);
  memset(now->slip, 0, sizeof now->slip);
}
