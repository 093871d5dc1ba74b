// Anchors with friction that would leap.
//
// At a sharp edge the normal jumps, and the force with it: a tip pulls the anchor over a ridge by a
// length of the order of its depth in one cycle, or leaves the body beside an edge at its full
// force.  In a cycle the anchor moves by at most
//     m = RF_TIP_FOLLOW |way of the tip| + EASE |d|,
// and the normal turns by at most m / |d|: the force changes by at most some three times the
// largest stiffness times m.  Where a tip has left the body the anchor waits, and the normal turns
// to the tip: the depth along it falls to zero.  A contact that begins deeper than m, as another
// one has ended inside of the body, begins across the way to the tip, with hardly any force.
#include <math.h>
#include <string.h>

#include "linalg/vec3.h"
#include "touch/proxy_state.h"

static const double EASE = 0.01;      // of the distance from the tip: way of the anchor in a cycle
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

void rf_tip_begin_turned_rt(rf_tip *tip, const double d[3]) {
  const rf_tip_contact *now = &tip->now;
  rf_tip_place place;
  double along[3], across[3], other[3], normal[3];
  const double distance = rf_vec3_length(d), most = longest(tip, distance);
  if (!(-rf_vec3_dot(now->normal, d) > most)) return;
  for (int i = 0; i < 3; ++i) along[i] = d[i] / distance;
  const double part = rf_vec3_dot(now->normal, along);
  for (int i = 0; i < 3; ++i) across[i] = now->normal[i] - part * along[i];
  const double length = rf_vec3_length(across);
  if (length > OPPOSITE)
    for (int i = 0; i < 3; ++i) across[i] /= length;
  else
    rf_vec3_tangents(along, across, other);
  place_of(now, &place);
  tip->turns = !turn(across, now->normal, most / distance, normal);
  rf_tip_anchor_rt(tip, &place, normal);
}

void rf_tip_turn_rt(rf_tip *tip, const rf_tip_contact *before) {
  const bool touches = tip->phase == RF_TIP_TOUCHING;
  const rf_tip_contact *now = touches ? &tip->now : before;
  rf_tip_place place;
  double d[3], way[3], target[3], normal[3];
  rf_vec3_sub(tip->last, before->anchor, d);
  const double distance = rf_vec3_length(d), most = longest(tip, distance);
  for (int i = 0; i < 3; ++i) target[i] = touches ? now->normal[i] : d[i] / distance;
  tip->turns = !turn(before->normal, target, most / distance, normal);
  rf_vec3_sub(now->anchor, before->anchor, way);
  const bool leaps = rf_vec3_limit(way, most);
  if (!tip->turns && !leaps) return;
  place_of(now, &place);
  if (leaps) {
    double to[3];
    for (int i = 0; i < 3; ++i) to[i] = before->anchor[i] + way[i];
    place.triangle = before->triangle;
    rf_tip_walk_rt(tip->tables, to, &place);
  }
  rf_tip_anchor_rt(tip, &place, normal);
  tip->barred = false;
  tip->phase = RF_TIP_TOUCHING;
  rf_tip_press_rt(tip, tip->last);
}
