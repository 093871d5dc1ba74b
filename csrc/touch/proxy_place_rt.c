// Places on the surface next to a point.
#include <math.h>
#include <string.h>

#include "linalg/vec3.h"
#include "touch/proxy_tables.h"

enum { MOST_STEPS = 256 };  // triangles of a walk

static const double *corner_of(const rf_tip_tables *t, int32_t triangle, int k) {
  return t->vertex + 3 * (int64_t)t->edges.corner[3 * (int64_t)triangle + k];
}

// Sets the weights on side k by the part of the way along it.
static void on_side(int k, double part, rf_tip_place *out) {
  memset(out->weight, 0, sizeof out->weight);
  out->feature = part <= 0.0 ? 3 + k : part >= 1.0 ? 3 + (k + 1) % 3 : k;
  part = fmin(fmax(part, 0.0), 1.0);
  out->weight[k] = 1.0 - part;
  out->weight[(k + 1) % 3] = part;
}

static void set_position(const double *const corner[3], const double point[3], rf_tip_place *out) {
  double way[3];
  for (int i = 0; i < 3; ++i) {
    out->position[i] = out->weight[0] * corner[0][i] + out->weight[1] * corner[1][i] +
                       out->weight[2] * corner[2][i];
    way[i] = point[i] - out->position[i];
  }
  out->square = rf_vec3_dot(way, way);
}

void rf_tip_on_triangle_rt(const rf_tip_tables *t, int32_t triangle, const double point[3],
                           rf_tip_place *out) {
  const double *const corner[3] = {corner_of(t, triangle, 0), corner_of(t, triangle, 1),
                                   corner_of(t, triangle, 2)};
  const double *normal = t->face_normal + 3 * (int64_t)triangle;
  double way[3][3], to[3][3], out_of[3];
  int outside = -1;
  for (int k = 0; k < 3; ++k) {
    double across[3];
    rf_vec3_sub(corner[(k + 1) % 3], corner[k], way[k]);
    rf_vec3_sub(point, corner[k], to[k]);
    rf_vec3_cross(way[k], normal, across);  // away from the triangle
    out_of[k] = rf_vec3_dot(across, to[k]);
    if (out_of[k] > 0.0) outside = k;
  }
  out->triangle = triangle;
  if (outside < 0) {
    // weights are areas opposite of the corners
    const double sum = out_of[0] + out_of[1] + out_of[2];
    for (int k = 0; k < 3; ++k) out->weight[(k + 2) % 3] = out_of[k] / sum;
    out->feature = -1;
    for (int k = 0; k < 3; ++k)
      if (out_of[k] == 0.0) out->feature = k;
    set_position(corner, point, out);
    return;
  }
  // the nearest of the sides that the point is beyond
  out->square = INFINITY;
  for (int k = 0; k < 3; ++k) {
    if (!(out_of[k] > 0.0)) continue;
    rf_tip_place one = {.triangle = triangle};
    on_side(k, rf_vec3_dot(to[k], way[k]) / rf_vec3_dot(way[k], way[k]), &one);
    set_position(corner, point, &one);
    if (one.square < out->square) *out = one;
  }
}

static void try_triangle(const rf_tip_tables *t, int32_t triangle, const double point[3],
                         rf_tip_place *best) {
  rf_tip_place one;
  rf_tip_on_triangle_rt(t, triangle, point, &one);
  if (one.square < best->square) *best = one;
}

void rf_tip_walk_rt(const rf_tip_tables *t, const double point[3], rf_tip_place *place) {
  rf_tip_place best;
  rf_tip_on_triangle_rt(t, place->triangle, point, &best);
  for (int step = 0; step < MOST_STEPS && best.feature >= 0; ++step) {
    const rf_tip_place now = best;
    if (now.feature >= 3) {
      const int32_t v = t->edges.corner[3 * (int64_t)now.triangle + now.feature - 3];
      for (int32_t k = t->fan_first[v]; k < t->fan_first[v + 1]; ++k)
        try_triangle(t, t->fan[k], point, &best);
    } else {
      const int32_t edge = t->edges.edge[3 * (int64_t)now.triangle + now.feature];
      for (int32_t k = t->edges.first[edge]; k < t->edges.first[edge + 1]; ++k)
        try_triangle(t, t->edges.side[k] / 3, point, &best);
    }
    if (best.triangle == now.triangle) break;
  }
  *place = best;
}

// Squared distance of a point from a box of the grid.
static double square_to_box(const rf_tip_grid *g, const double point[3], const int32_t at[3]) {
  double low[3], high[3], way[3];
  for (int i = 0; i < 3; ++i) {
    low[i] = g->low[i] + g->side_m * at[i];
    high[i] = low[i] + g->side_m;
  }
  rf_vec3_beyond(point, low, high, way);
  return rf_vec3_dot(way, way);
}

bool rf_tip_near_rt(const rf_tip_tables *t, const double point[3], rf_tip_place *out) {
  static const int order[3] = {0, -1, 1};  // the own box first
  const rf_tip_grid *g = &t->grid;
  int32_t own[3];
  for (int i = 0; i < 3; ++i) {
    const double at = floor((point[i] - g->low[i]) / g->side_m);
    if (!(at >= -1.0 && at <= g->n[i])) return false;
    own[i] = (int32_t)at;
  }
  out->triangle = -1;
  out->square = g->side_m * g->side_m;
  for (int n = 0; n < 27; ++n) {
    const int32_t at[3] = {own[0] + order[n / 9], own[1] + order[n / 3 % 3], own[2] + order[n % 3]};
    bool there = true;
    for (int i = 0; i < 3; ++i) there = there && at[i] >= 0 && at[i] < g->n[i];
    if (!there || square_to_box(g, point, at) >= out->square) continue;
    const int64_t box = ((int64_t)at[0] * g->n[1] + at[1]) * g->n[2] + at[2];
    for (int64_t k = g->first[box]; k < g->first[box + 1]; ++k)
      try_triangle(t, g->triangle[k], point, out);
  }
  return out->triangle >= 0;
}

void rf_tip_scan_rt(const rf_tip_tables *t, const double point[3], int32_t begin, int32_t end,
                    rf_tip_place *best) {
  for (int32_t k = begin; k < end; ++k) try_triangle(t, k, point, best);
}

void rf_tip_normal_rt(const rf_tip_tables *t, const rf_tip_place *place, double normal[3]) {
  const double *corner = t->corner_normal + 9 * (int64_t)place->triangle;
  for (int i = 0; i < 3; ++i)
    normal[i] = place->weight[0] * corner[i] + place->weight[1] * corner[3 + i] +
                place->weight[2] * corner[6 + i];
  const double length = rf_vec3_length(normal);
  for (int i = 0; i < 3; ++i) normal[i] /= length;
}

void rf_tip_outward_rt(const rf_tip_tables *t, const rf_tip_place *place, double normal[3]) {
  const int64_t side = 3 * (int64_t)place->triangle + place->feature % 3;
  if (place->feature < 0) {
    memcpy(normal, t->face_normal + 3 * (int64_t)place->triangle, 3 * sizeof *normal);
  } else if (place->feature >= 3) {
    memcpy(normal, t->pseudonormal + 3 * (int64_t)t->edges.corner[side], 3 * sizeof *normal);
  } else {
    const int32_t edge = t->edges.edge[side];
    memset(normal, 0, 3 * sizeof *normal);
    for (int32_t k = t->edges.first[edge]; k < t->edges.first[edge + 1]; ++k)
      for (int i = 0; i < 3; ++i) normal[i] += t->face_normal[3 * (t->edges.side[k] / 3) + i];
  }
}

static void add_symmetric(const double *block, double factor, double c[9]) {
  static const int at[9] = {0, 5, 4, 5, 1, 3, 4, 3, 2};
  for (int k = 0; k < 9; ++k) c[k] += factor * block[at[k]];
}

void rf_tip_discs_at_rt(const rf_tip_tables *t, int32_t triangle, const double weight[3],
                        int32_t disc[6], double part[6]) {
  for (int k = 0; k < 3; ++k) {
    const int64_t side = 3 * (int64_t)triangle + k;
    disc[k] = t->edges.corner[side];
    part[k] = weight[k] * (2.0 * weight[k] - 1.0);
    disc[3 + k] = t->n_vertices + t->edges.edge[side];
    part[3 + k] = 4.0 * weight[k] * weight[(k + 1) % 3];
  }
}

void rf_tip_compliance_of_rt(const rf_tip_tables *t, int32_t triangle, const double weight[3],
                             double compliance[9]) {
  memset(compliance, 0, 9 * sizeof *compliance);
  for (int k = 0; k < 3; ++k) {
    const int64_t side = 3 * (int64_t)triangle + k;
    const int64_t corner = t->edges.corner[side], edge = t->n_vertices + t->edges.edge[side];
    add_symmetric(t->own + RF_TIP_SYMMETRIC * corner, weight[k] * weight[k], compliance);
    add_symmetric(t->own + RF_TIP_SYMMETRIC * edge, 2.0 * weight[k] * weight[(k + 1) % 3],
                  compliance);
  }
}
