// Anchors with friction that would leap.
//
// At a sharp edge the normal jumps, and the force with it: a tip pulls the anchor over a ridge by a
// length of the order of its depth in one cycle, or leaves the body beside an edge at its full
// force.  In a cycle the anchor moves by at most
//     m = RF_TIP_FOLLOW |way of the tip| + EASE |d|,
// and the normal turns by at most m / |d|: the force changes by at most some three times the
// largest stiffness times m.  With k = |f|^2 / f.C f the size of the force grows meanwhile by at
// most
//     k RF_TIP_FOLLOW |way of the tip|:
// below a hand at rest it does not grow.  A contact that begins deeper than m, as another one has
// ended inside of the body, begins at this bound.
//
// The force of a contact that ends keeps its direction, and its size falls in each cycle by this
// change and by EASE of what it was.  The hand gets back at most |f|^2 / (2 RF_TIP_FOLLOW k), less
// than the contact had in store, f.C f / 2 = |f|^2 / (2 k).
#include <math.h>
#include <string.h>

#include "linalg/vec3.h"
#include "touch/proxy_state.h"

// way of the anchor in a cycle, of its distance from the tip; fall of a force, of its first size
static const double EASE = 0.01;
static const double OPPOSITE = 1e-9;  // least sine of the angle between normals that has a plane

// Turns a unit vector towards another by an angle of at most `most`; returns true if it arrives.
static bool turn(const double from[3], const double to[3], double most, double out[3]) {
  double across[3], other[3];
  const double along = rf_vec3_dot(from, to);
  memcpy(out, to, 3 * sizeof *out);
  if (2.0 * (1.0 - along) <= most * most) return true;  // the chord
  for (int i = 0; i < 3; ++i) across[i] = to[i] - along * from[i];
  double length = rf_vec3_length(across);
  if (!(length > OPPOSITE)) {
    rf_vec3_tangents(from, across, other);
    length = 1.0;
  }
  for (int i = 0; i < 3; ++i) out[i] = cos(most) * from[i] + sin(most) / length * across[i];
  return false;
}

static void place_of(const rf_tip_contact *now, rf_tip_place *out) {
  out->triangle = now->triangle;
  memcpy(out->weight, now->weight, sizeof out->weight);
  memcpy(out->position, now->anchor, sizeof out->position);
}

// Longest way of the anchor in this cycle; over the distance, largest turn of the normal, rad.
static double longest(const rf_tip *tip, double distance) {
  return RF_TIP_FOLLOW * tip->way + EASE * distance;
}

double rf_tip_change_rt(const rf_tip *tip) {
  double f[3], moved[3];
  for (int i = 0; i < 3; ++i) f[i] = rf_vec3_dot(tip->frame + 3 * i, tip->now.force);
  for (int i = 0; i < 3; ++i) moved[i] = rf_vec3_dot(tip->compliance + 3 * i, f);
  const double twice = rf_vec3_dot(f, moved);
  return twice > 0.0 ? RF_TIP_FOLLOW * tip->way * rf_vec3_dot(f, f) / twice : 0.0;
}

void rf_tip_begin_rt(rf_tip *tip, const double point[3]) {
  double d[3];
  rf_vec3_sub(point, tip->now.anchor, d);
  const double depth = -rf_vec3_dot(tip->now.normal, d);
  rf_tip_press_rt(tip, point);
  if (!(tip->mu > 0.0) || !(depth > longest(tip, rf_vec3_length(d)))) return;
  tip->bound = rf_tip_change_rt(tip);
  rf_tip_press_rt(tip, point);
}

// Keeps a contact that has ended, to fade.
static void keep(rf_tip *tip, const rf_tip_contact *before) {
  rf_tip_place place;
  place_of(before, &place);
  rf_tip_anchor_rt(tip, &place, before->normal);
  tip->now = *before;
  tip->now.state = RF_TIP_SLIPS;
  memset(tip->now.slip, 0, sizeof tip->now.slip);
  tip->phase = RF_TIP_TOUCHING;
  tip->turns = false;
  tip->fades = true;
  tip->fall = EASE * rf_vec3_length(before->force);
}

bool rf_tip_fade_rt(rf_tip *tip) {
  rf_tip_contact *now = &tip->now;
  const double size = rf_vec3_length(now->force);
  const double left = size - rf_tip_change_rt(tip) - tip->fall;
  if (!(left > 0.0)) return false;
  for (int i = 0; i < 3; ++i) now->force[i] *= left / size;
  now->depth_m *= left / size;
  return true;
}

void rf_tip_turn_rt(rf_tip *tip, const rf_tip_contact *before) {
  if (tip->phase != RF_TIP_TOUCHING) {
    keep(tip, before);
    return;
  }
  rf_tip_place place;
  double d[3], way[3], normal[3];
  rf_vec3_sub(tip->last, before->anchor, d);
  const double distance = rf_vec3_length(d), most = longest(tip, distance);
  if (!tip->turns || memcmp(tip->now.normal, before->normal, sizeof before->normal) != 0)
    memcpy(tip->goal, tip->now.normal, sizeof tip->goal);
  tip->turns = !turn(before->normal, tip->goal, most / distance, normal);
  rf_vec3_sub(tip->now.anchor, before->anchor, way);
  const bool leaps = rf_vec3_limit(way, most);
  if (!tip->turns && !leaps && memcmp(tip->now.normal, normal, sizeof normal) == 0) return;
  place_of(&tip->now, &place);
  if (leaps) {
    double to[3];
    for (int i = 0; i < 3; ++i) to[i] = before->anchor[i] + way[i];
    place.triangle = before->triangle;
    rf_tip_walk_rt(tip->tables, to, &place);
  }
  tip->bound = fmin(tip->bound, rf_vec3_length(before->force));
  rf_tip_anchor_rt(tip, &place, normal);
  rf_tip_press_rt(tip, tip->last);
  if (tip->phase != RF_TIP_TOUCHING) keep(tip, before);
}
