// Cycles of the contact of a tip.
//
// Outside of the body the nearest place is looked up in the grid.  A tip that has entered since the
// last cycle gets its anchor where its way crossed the surface.  While it touches, the anchor stays
// on the surface however deep the tip goes; where it slips the anchor walks, after the force is
// sent, to the place next to the tip less the elastic displacement, but not farther than the force
// may change (proxy_turn_rt.c).  Without friction it walks before (proxy_smooth_rt.c).
#include <math.h>
#include <string.h>

#include "linalg/vec3.h"
#include "touch/proxy_state.h"

enum {
  SEARCHED = 16384,  // triangles in a cycle of a search over all
  SLIDES = 4         // passes in which the anchor follows the slip
};
static const double SETTLED = 1e-3;  // of the slip: what may be left
static const double FOLLOWED = 0.5;  // of the slip: less is a clamped anchor
static const double RISEN = 2.0;     // times the slip: more is an anchor on another side
static const double BESIDE = 2e-2;   // weights of the other corners beside an edge or a corner
static const double AT = 1e-9;       // of the size: distance that counts as outside
static const double REST = 1e-3;     // of the depth: way in a cycle of a tip at rest
static const double FAR = 0.5;       // of a side of the grid: a jump
static const double EQUAL = 1e-9;    // relative, of compliances

// Largest eigenvalue of a symmetric positive definite matrix.
static double largest_eigenvalue(const double a[9]) {
  const double mean = (a[0] + a[4] + a[8]) / 3.0;
  const double off = a[1] * a[1] + a[2] * a[2] + a[5] * a[5];
  const double b[3] = {a[0] - mean, a[4] - mean, a[8] - mean};
  const double p = sqrt((rf_vec3_dot(b, b) + 2.0 * off) / 6.0);
  if (!(p > 0.0)) return mean;
  const double row[9] = {b[0] / p, a[1] / p, a[2] / p, a[3] / p, b[1] / p,
                         a[5] / p, a[6] / p, a[7] / p, b[2] / p};
  const double half = 0.5 * rf_vec3_det(row, row + 3, row + 6);
  return mean + 2.0 * p * cos(acos(fmin(fmax(half, -1.0), 1.0)) / 3.0);
}

void rf_tip_soften_rt(rf_tip *tip) {
  double c[9], turned[9];
  rf_tip_compliance_now_rt(tip, tip->now.triangle, tip->now.weight, c);
  rf_mat3_abt(tip->frame, c, turned);  // C is symmetric
  rf_mat3_abt(turned, tip->frame, tip->compliance);
  (void)rf_mat3_inverse_transposed(tip->compliance, tip->inverse);
  tip->stiffness = largest_eigenvalue(tip->inverse);
}

void rf_tip_anchor_rt(rf_tip *tip, const rf_tip_place *place, const double *normal) {
  double *n = tip->frame;
  if (normal)
    memcpy(n, normal, 3 * sizeof *n);
  else
    rf_tip_normal_rt(tip->tables, place, n);
  rf_vec3_tangents(n, n + 3, n + 6);
  tip->now.triangle = place->triangle;
  memcpy(tip->now.weight, place->weight, sizeof place->weight);
  memcpy(tip->now.anchor, place->position, sizeof place->position);
  memcpy(tip->now.normal, n, sizeof tip->now.normal);
  rf_tip_soften_rt(tip);
}

// Way from the anchor to a point, in its frame, with at most the largest depth.
static void way_to(const rf_tip *tip, const double point[3], double d[3], bool *deep) {
  double way[3];
  rf_vec3_sub(point, tip->now.anchor, way);
  for (int i = 0; i < 3; ++i) d[i] = rf_vec3_dot(tip->frame + 3 * i, way);
  *deep = d[0] < -tip->max_depth_m;
}

static void from_frame(const double *frame, const double v[3], double out[3]) {
  for (int i = 0; i < 3; ++i) out[i] = frame[i] * v[0] + frame[3 + i] * v[1] + frame[6 + i] * v[2];
}

static void open_contact(rf_tip *tip, rf_tip_phase phase) {
  tip->phase = phase;
  tip->now.state = tip->barred ? RF_TIP_INSIDE : RF_TIP_OPEN;
  tip->now.depth_m = 0.0;
  tip->now.deep = false;
  tip->turns = tip->fades = false;
  memset(tip->now.force, 0, sizeof tip->now.force);
  memset(tip->now.slip, 0, sizeof tip->now.slip);
}

// Returns true if a point is outside, by the nearest place.
static bool outside(const rf_tip *tip, const double point[3], const rf_tip_place *place,
                    double outward[3]) {
  double way[3];
  rf_tip_outward_rt(tip->tables, place, outward);
  rf_vec3_sub(point, place->position, way);
  const double length = rf_vec3_length(outward);
  return rf_vec3_dot(outward, way) >= -AT * tip->tables->size_m * length;
}

// Returns true if a point that is outside at this place is so at the place of all next to it too:
// else it would enter again in the next cycle.
static bool has_left(const rf_tip *tip, const double point[3], const rf_tip_place *place) {
  double outward[3];
  rf_tip_place next;
  if (!outside(tip, point, place, outward)) return false;
  return !rf_tip_near_rt(tip->tables, point, &next) || outside(tip, point, &next, outward);
}

static void press_smooth(rf_tip *tip, const double point[3]) {
  rf_tip_place next = {.triangle = tip->now.triangle};
  rf_tip_walk_rt(tip->tables, point, &next);
  if (has_left(tip, point, &next))
    open_contact(tip, RF_TIP_OUTSIDE);
  else
    rf_tip_smooth_rt(tip, point, &next);
}

void rf_tip_press_rt(rf_tip *tip, const double point[3]) {
  rf_tip_contact *now = &tip->now;
  double d[3], f[3], slip[3];
  if (!(tip->mu > 0.0)) {
    press_smooth(tip, point);
    return;
  }
  way_to(tip, point, d, &now->deep);
  now->depth_m = fmax(-d[0], 0.0);
  d[0] = fmax(d[0], -tip->max_depth_m);
  now->state = rf_tip_law_rt(tip->compliance, tip->inverse, tip->mu, d, f, slip);
  if (now->state == RF_TIP_OPEN) {
    open_contact(tip, RF_TIP_OUTSIDE);
    return;
  }
  if (now->state == RF_TIP_SLIPS) {
    const double depth = -d[0], jammed = RF_TIP_JAMMED * (1.0 + EQUAL) * tip->compliance[0];
    now->stiffness = rf_vec3_length(f) / depth;
    now->deep = now->deep || depth <= -f[0] * jammed;
  }
  (void)rf_vec3_limit(f, tip->bound);
  from_frame(tip->frame, f, now->force);
  from_frame(tip->frame, slip, now->slip);
}

// Returns true if a tip may get a side though it begins inside, next to this place.
static bool may_begin(const rf_tip *tip, const double point[3], const rf_tip_place *place) {
  const rf_tip_tables *t = tip->tables;
  const double depth = RF_TIP_BEGIN * tip->max_depth_m;
  if (!(place->square <= depth * depth)) return false;
  for (int k = 0; k < 3; ++k)
    if (t->place[t->edges.corner[3 * (int64_t)place->triangle + k]] < 0) return false;
  for (int k = 2; k * RF_TIP_BEGIN <= 1.0; ++k) {
    rf_tip_place other;
    double below[3], outward[3];
    for (int i = 0; i < 3; ++i) below[i] = place->position[i] + k * (point[i] - place->position[i]);
    if (rf_tip_near_rt(t, below, &other) && outside(tip, below, &other, outward)) return false;
  }
  return true;
}

// Improves `best` by the place next to the point where the way of the tip crosses a plane; its
// square is the distance from there.
static void cross(const rf_tip *tip, const double point[3], int32_t triangle, const double on[3],
                  const double outward[3], rf_tip_place *best) {
  double before[3], after[3], crossing[3];
  rf_tip_place entry = {.triangle = triangle};
  rf_vec3_sub(tip->known, on, before);
  rf_vec3_sub(point, on, after);
  const double from = rf_vec3_dot(outward, before), to = rf_vec3_dot(outward, after);
  if (!(from >= 0.0 && to < 0.0)) return;
  for (int i = 0; i < 3; ++i)
    crossing[i] = tip->known[i] + from / (from - to) * (point[i] - tip->known[i]);
  rf_tip_walk_rt(tip->tables, crossing, &entry);
  if (entry.square < best->square) *best = entry;
}

// Longest way in a cycle that passes no wall of the body, m.
static double longest_way(const rf_tip *tip) { return FAR * tip->tables->grid.side_m; }

// Longest way in a cycle of a tip that keeps its side, m.
static double longest_press(const rf_tip *tip) {
  return fmax(tip->max_depth_m, RF_TIP_PRESS * tip->tables->size_m);
}

// Returns true if the way of the tip since its last known place is longer than `most`.
static bool jumps(const rf_tip *tip, double most) { return tip->is_known && !(tip->way <= most); }

// Puts the anchor where the way to a point inside crossed the surface, by the planes at the places
// next to its begin and its end.
static void enter(rf_tip *tip, const double point[3], const rf_tip_place *place,
                  const double outward[3]) {
  const rf_tip_contact *before = &tip->now;
  rf_tip_place entry = *place;
  double d[3];
  bool deep, has_side = false;
  if (tip->is_known) {
    entry.square = INFINITY;
    if (before->triangle >= 0)
      cross(tip, point, before->triangle, before->anchor, before->normal, &entry);
    cross(tip, point, place->triangle, place->position, outward, &entry);
    has_side = entry.square < INFINITY || !jumps(tip, longest_way(tip));
  } else {
    has_side = may_begin(tip, point, place);
  }
  rf_tip_anchor_rt(tip, &entry, NULL);
  way_to(tip, point, d, &deep);
  if (tip->barred || !has_side || d[0] < -longest_press(tip)) {
    tip->barred = true;
    open_contact(tip, RF_TIP_OUTSIDE);
    return;
  }
  tip->phase = RF_TIP_TOUCHING;
  rf_tip_begin_rt(tip, point);
}

static void settle(rf_tip *tip, const double point[3], const rf_tip_place *place) {
  double outward[3];
  if (!outside(tip, point, place, outward)) {
    enter(tip, point, place, outward);
    return;
  }
  tip->now.triangle = place->triangle;
  memcpy(tip->now.weight, place->weight, sizeof place->weight);
  memcpy(tip->now.anchor, place->position, sizeof place->position);
  const double length = rf_vec3_length(outward);
  for (int i = 0; i < 3; ++i) tip->now.normal[i] = length > 0.0 ? outward[i] / length : 0.0;
  tip->barred = false;
  open_contact(tip, RF_TIP_OUTSIDE);
}

// Presses a tip that touches since an earlier cycle.
static void press_again(rf_tip *tip, const double point[3]) {
  if (tip->fades) {
    if (!rf_tip_fade_rt(tip)) open_contact(tip, RF_TIP_OUTSIDE);
    return;
  }
  const bool bounded = tip->bound < INFINITY;
  if (bounded) tip->bound += rf_tip_change_rt(tip);
  rf_tip_press_rt(tip, point);
  if (bounded && rf_vec3_length(tip->now.force) < (1.0 - EQUAL) * tip->bound) tip->bound = INFINITY;
}

// Searches all triangles, some in each cycle, for the one next to the tip.
static void search(rf_tip *tip, const double point[3]) {
  const int32_t n = tip->tables->n_triangles;
  const int32_t end = n - tip->searched > SEARCHED ? tip->searched + SEARCHED : n;
  if (tip->searched == 0) tip->nearest.square = INFINITY;
  rf_tip_scan_rt(tip->tables, point, tip->searched, end, &tip->nearest);
  tip->searched = end;
  open_contact(tip, RF_TIP_UNKNOWN);
  if (end < n) return;
  tip->searched = 0;
  if (n > SEARCHED) rf_tip_walk_rt(tip->tables, point, &tip->nearest);  // the tip has moved
  settle(tip, point, &tip->nearest);
}

void rf_tip_feel_rt(rf_tip *tip, const double point[3]) {
  rf_tip_place place;
  double way[3];
  rf_vec3_sub(point, tip->known, way);
  tip->way = tip->is_known ? rf_vec3_length(way) : INFINITY;
  const double longest = longest_way(tip);
  if (tip->phase != RF_TIP_TOUCHING) tip->bound = INFINITY;
  if (tip->phase == RF_TIP_TOUCHING && jumps(tip, longest_press(tip))) {
    tip->barred = true;
    search(tip, point);
  } else if (tip->phase == RF_TIP_TOUCHING) {
    press_again(tip, point);
  } else if (tip->phase == RF_TIP_UNKNOWN || jumps(tip, longest)) {
    search(tip, point);
  } else if (rf_tip_near_rt(tip->tables, point, &place)) {
    settle(tip, point, &place);
  } else {
    tip->now.triangle = -1;  // far away
  }
  const double still = REST * fmax(tip->now.depth_m, AT * tip->tables->size_m);
  tip->rests = tip->phase == RF_TIP_TOUCHING && !(tip->way > still);
  memcpy(tip->last, point, sizeof tip->last);
  if (tip->phase != RF_TIP_UNKNOWN) {
    memcpy(tip->known, point, sizeof tip->known);
    tip->is_known = true;
  }
  tip->felt = tip->now;
}

// Moves a place inside a triangle to the side whose opposite corner has the least weight, if that
// is below a bound.
static void snap(const rf_tip_tables *t, double bound, rf_tip_place *place) {
  const double *weight = place->weight;
  if (place->feature >= 0) return;
  const int k = weight[0] <= fmin(weight[1], weight[2]) ? 0 : weight[1] <= weight[2] ? 1 : 2;
  if (!(weight[k] < bound)) return;
  const double rest = 1.0 - weight[k];
  place->weight[k] = 0.0;
  place->feature = (k + 1) % 3;
  memset(place->position, 0, sizeof place->position);
  for (int j = 0; j < 3; ++j) {
    const double *corner =
        t->vertex + 3 * (int64_t)t->edges.corner[3 * (int64_t)place->triangle + j];
    place->weight[j] /= rest;
    for (int i = 0; i < 3; ++i) place->position[i] += place->weight[j] * corner[i];
  }
}

// The anchor could not follow the slip, or is below the tip there: the tip has passed an edge, or
// is held by a valley.
static void catch_at_edge(rf_tip *tip, const rf_tip_place *place) {
  rf_tip_place next = *place;
  double normal[3];
  bool valley;
  rf_tip_walk_rt(tip->tables, tip->last, &next);
  if (has_left(tip, tip->last, &next)) {
    settle(tip, tip->last, &next);
  } else if (rf_tip_hold_rt(tip, place, normal, &valley)) {
    rf_tip_anchor_rt(tip, place, normal);
    tip->phase = RF_TIP_TOUCHING;
    rf_tip_press_rt(tip, tip->last);
  }
}

// Slip that is left, m; infinite if the contact has opened though the tip is inside.
static double slip_left(const rf_tip *tip) {
  rf_tip_place place = {.triangle = tip->now.triangle};
  if (tip->phase == RF_TIP_TOUCHING) return rf_vec3_length(tip->now.slip);
  rf_tip_walk_rt(tip->tables, tip->last, &place);
  return has_left(tip, tip->last, &place) ? 0.0 : INFINITY;
}

// Holds the anchor at a place in a valley, where all sides that the tip presses share the force;
// false: it is no valley.
static bool hold(rf_tip *tip, const rf_tip_place *place) {
  double normal[3];
  bool valley;
  if (!rf_tip_hold_rt(tip, place, normal, &valley) || !valley) return false;
  rf_tip_anchor_rt(tip, place, normal);
  rf_tip_press_rt(tip, tip->last);
  return true;
}

// Takes up how the sides of a valley share the force now.
static void hold_again(rf_tip *tip) {
  rf_tip_place place = {.triangle = tip->now.triangle, .feature = -1};
  const double *weight = memcpy(place.weight, tip->now.weight, sizeof place.weight);
  memcpy(place.position, tip->now.anchor, sizeof place.position);
  for (int k = 0; k < 3; ++k)
    if (weight[(k + 2) % 3] == 0.0) place.feature = k;
  for (int k = 0; k < 3; ++k)
    if (weight[k] == 1.0) place.feature = 3 + k;
  (void)hold(tip, &place);
}

// Moves a place to the corner whose weight is nearly 1.
static void snap_to_corner(const rf_tip_tables *t, rf_tip_place *place) {
  for (int k = 0; k < 3; ++k) {
    if (!(place->weight[k] > 1.0 - BESIDE)) continue;
    const int32_t v = t->edges.corner[3 * (int64_t)place->triangle + k];
    memset(place->weight, 0, sizeof place->weight);
    place->weight[k] = 1.0;
    place->feature = 3 + k;
    memcpy(place->position, t->vertex + 3 * (int64_t)v, sizeof place->position);
  }
}

// Takes an anchor that has gone up a side of a valley back to its bottom.
static void return_to_valley(rf_tip *tip, const rf_tip_place *place) {
  rf_tip_place corner = *place, side = *place;
  snap_to_corner(tip->tables, &corner);
  snap(tip->tables, BESIDE, &side);
  if (!hold(tip, &corner)) (void)hold(tip, &side);
}

// Makes a pass in which the anchor follows the slip; false: it was the last one.
static bool follow(rf_tip *tip) {
  const rf_tip_contact *now = &tip->now;
  const double left = rf_vec3_length(now->slip);
  rf_tip_place place = {.triangle = now->triangle};
  double to[3], moved[3];
  for (int i = 0; i < 3; ++i) to[i] = now->anchor[i] + now->slip[i];
  rf_tip_walk_rt(tip->tables, to, &place);
  snap(tip->tables, AT, &place);  // rounding
  rf_vec3_sub(place.position, now->anchor, moved);
  if (!hold(tip, &place)) {
    rf_tip_anchor_rt(tip, &place, NULL);
    rf_tip_press_rt(tip, tip->last);
  }
  if (tip->phase == RF_TIP_TOUCHING) {
    const bool risen = rf_vec3_length(now->slip) > RISEN * left;
    if (risen) return_to_valley(tip, &place);
    if (tip->phase == RF_TIP_TOUCHING && (risen || rf_vec3_length(moved) >= FOLLOWED * left))
      return true;
  }
  if (tip->phase != RF_TIP_TOUCHING) snap(tip->tables, 1.0, &place);  // an edge holds it
  catch_at_edge(tip, &place);
  return false;
}

// Opens the contact of a tip that has left the body; false: it has not.
static bool leave(rf_tip *tip) {
  rf_tip_place next = {.triangle = tip->now.triangle};
  rf_tip_walk_rt(tip->tables, tip->last, &next);
  if (!has_left(tip, tip->last, &next)) return false;
  settle(tip, tip->last, &next);
  return true;
}

// Moves the anchor to where it slips no more.
static void follow_slip(rf_tip *tip) {
  // below a hand at rest the pass with the least slip counts: at edges anchors would alternate; one
  // that moves could gain energy by that, as an anchor that stays behind jumps at a larger force
  hold_again(tip);
  rf_tip best = *tip;
  const double first = rf_vec3_length(best.now.slip);
  double least = first;
  bool more = true;
  for (int k = 0; k < SLIDES && more && least > SETTLED * first; ++k) {
    more = follow(tip);
    const double left = slip_left(tip);
    if (!(left < (tip->rests ? least : INFINITY))) continue;
    best = *tip;
    least = left;
  }
  *tip = best;
}

void rf_tip_slide_rt(rf_tip *tip) {
  // without friction the anchor has moved before the force was sent
  if (tip->phase != RF_TIP_TOUCHING || !(tip->mu > 0.0) || tip->fades) return;
  const rf_tip_contact before = tip->now;
  const bool slips = before.state == RF_TIP_SLIPS;
  if (!slips && !tip->turns) return;
  if (!(tip->turns && leave(tip)) && slips) follow_slip(tip);
  rf_tip_turn_rt(tip, &before);
}
