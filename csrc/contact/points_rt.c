// Blocks of contact points: places, normals, and directions in which gaps grow.
#include <math.h>
#include <string.h>

#include "contact/search.h"
#include "linalg/vec3.h"

enum { BLOCK = RF_CONTACT_BLOCK };

// g . N below which directions turn from the field's gradient to the normal; at minus this value
// they are the normal.
static const double AGREES = 0.3;

// Turns a gradient into the direction at a point with a normal: of unit length, unless both are
// zero.  turns: towards the normal where they disagree.
static void settle(const double *normal, bool turns, double *e) {
  const double length = rf_vec3_length(e), inverse = 1.0 / length;
  for (int i = 0; i < 3; ++i) e[i] = length > 0.0 ? inverse * e[i] : normal[i];
  const double along = rf_vec3_dot(e, normal);
  if (!turns || along >= AGREES || !(length > 0.0)) return;
  const double part = fmax(0.5 * (along / AGREES + 1.0), 0.0);
  for (int i = 0; i < 3; ++i) e[i] = part * e[i] + (1.0 - part) * normal[i];
  const double left = rf_vec3_length(e);
  for (int i = 0; i < 3 && left > 0.0; ++i) e[i] /= left;
}

// Directions at the points of a block, at places `body` of the field object.
static void find_directions(const rf_contact_search *s, const double *body, rf_contact_points *c) {
  if (s->along_normal) {
    memcpy(c->gradient, c->normal, 3 * (size_t)c->n * sizeof *c->gradient);
    rf_contact_nearest_rt(&s->distance, c->n, body, c->carriers);
    return;
  }
  double slope[3 * BLOCK], distance[BLOCK];
  rf_contact_slopes_rt(&s->distance, c->n, body, distance, slope, c->carriers);
  for (int32_t k = 0; k < c->n; ++k) {
    rf_contact_to_world(s->frame.rotation, slope + 3 * k, c->gradient + 3 * k);
    settle(c->normal + 3 * k, !s->conservative, c->gradient + 3 * k);
  }
}

// Fills a block of known places, but for gaps, directions and carriers.
static void locate(const rf_contact_search *s, double *body, rf_contact_points *c) {
  rf_contact_search_locate_rt(s, c->n, c->place, c->position, body);
  rf_point_tree_normals_rt(s->tree, c->n, c->place, s->row, c->normal);
  for (int32_t k = 0; k < c->n; ++k) c->weight[k] = s->weight ? s->weight[c->place[k]] : 1.0;
}

void rf_contact_search_points_rt(const rf_contact_search *s, int32_t first, rf_contact_points *c) {
  const int32_t left = s->touching - first;
  double body[3 * BLOCK];
  c->n = left < BLOCK ? left : BLOCK;
  c->place = s->touch_place + first;
  c->gap = s->touch_distance + first;
  for (int32_t k = BLOCK; k < 2 * BLOCK && k < left; ++k)
    rf_point_tree_prefetch_normal_rt(s->tree, c->place[k]);
  locate(s, body, c);
  find_directions(s, body, c);
}

void rf_contact_search_some_rt(const rf_contact_search *s, int32_t n, const int32_t *place,
                               const double *way, double *gap, rf_contact_points *c) {
  double body[3 * BLOCK];
  c->n = n;
  c->place = place;
  locate(s, body, c);
  rf_contact_search_shift_rt(s, way, gap, c);
}

void rf_contact_search_shift_rt(const rf_contact_search *s, const double *way, double *gap,
                                rf_contact_points *c) {
  double body[3 * BLOCK];
  for (int32_t i = 0; i < 3 * c->n; ++i) c->position[i] += way[i];
  rf_contact_places(&s->frame, c->n, c->position, body);
  rf_contact_distances_rt(&s->distance, c->n, body, gap);
  c->gap = gap;
  find_directions(s, body, c);
}

void rf_contact_search_ahead_rt(const rf_contact_search *s, int32_t n, const double *position,
                                const double *normal, double *gap, double *gradient) {
  double body[3 * BLOCK], slope[3 * BLOCK];
  rf_deformed_carriers carriers[BLOCK];
  rf_contact_places(&s->frame, n, position, body);
  rf_contact_slopes_rt(&s->distance, n, body, gap, slope, carriers);
  for (int32_t k = 0; k < n; ++k) {
    rf_contact_to_world(s->frame.rotation, slope + 3 * k, gradient + 3 * k);
    settle(normal + 3 * k, !s->conservative, gradient + 3 * k);
  }
}
