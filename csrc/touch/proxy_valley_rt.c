// Faces that hold a tip together, at an edge or a corner of the surface.
//
// Without friction the force on the body is -sum of p_k n_k over the faces there, p_k >= 0, with
// d + C sum of p_k n_k across none of them inward: the faces that the tip presses push, and none
// pulls.  Its direction is the normal of the contact, as in a cone of friction about it each force
// is one that the faces can bear.  At most three faces of different normals push.
#include <math.h>
#include <string.h>

#include "linalg/vec3.h"
#include "touch/proxy_state.h"

enum {
  MOST_FACES = 64,  // at an edge or a corner: more are those it presses most
  SWEEPS = 16       // over them
};
static const double SETTLED = 1e-9;  // of the distance: correction in a sweep

typedef struct faces {
  int n;
  int32_t triangle[MOST_FACES];
  double part[MOST_FACES];
} faces;

static const double *normal_of(const rf_tip_tables *t, int32_t triangle) {
  return t->face_normal + 3 * (int64_t)triangle;
}

// Adds a face, in place of the one that the tip presses least where there are too many; `up`: from
// the tip to the place.
static void add(const rf_tip_tables *t, int32_t triangle, const double up[3], faces *out) {
  int at = out->n;
  if (at == MOST_FACES) {
    double least = rf_vec3_dot(normal_of(t, triangle), up);
    for (int k = 0; k < MOST_FACES; ++k) {
      const double one = rf_vec3_dot(normal_of(t, out->triangle[k]), up);
      if (one < least) least = one, at = k;
    }
    if (at == MOST_FACES) return;
  } else {
    ++out->n;
  }
  out->part[at] = 0.0;
  out->triangle[at] = triangle;
}

static void collect(const rf_tip *tip, const rf_tip_place *place, faces *out) {
  const rf_tip_tables *t = tip->tables;
  double up[3];
  rf_vec3_sub(place->position, tip->last, up);
  const int64_t side = 3 * (int64_t)place->triangle + place->feature % 3;
  out->n = 0;
  if (place->feature >= 3) {
    const int32_t v = t->edges.corner[side];
    for (int32_t k = t->fan_first[v]; k < t->fan_first[v + 1]; ++k) add(t, t->fan[k], up, out);
  } else {
    const int32_t edge = t->edges.edge[side];
    for (int32_t k = t->edges.first[edge]; k < t->edges.first[edge + 1]; ++k)
      add(t, t->edges.side[k] / 3, up, out);
  }
}

// Solves for the parts of the faces, one after the other.
static void share(const rf_tip *tip, const rf_tip_place *place, faces *f) {
  double c[9], left[3], moved[MOST_FACES][3];
  rf_tip_compliance_now_rt(tip, place->triangle, place->weight, c);
  for (int k = 0; k < f->n; ++k)
    for (int i = 0; i < 3; ++i)
      moved[k][i] = rf_vec3_dot(c + 3 * i, normal_of(tip->tables, f->triangle[k]));
  rf_vec3_sub(place->position, tip->last, left);
  const double small = SETTLED * rf_vec3_length(left);
  double most = INFINITY;
  for (int sweep = 0; sweep < SWEEPS && most > small; ++sweep) {
    most = 0.0;
    for (int k = 0; k < f->n; ++k) {
      const double *normal = normal_of(tip->tables, f->triangle[k]);
      const double soft = rf_vec3_dot(normal, moved[k]);
      const double part = fmax(f->part[k] + rf_vec3_dot(normal, left) / soft, 0.0);
      const double change = part - f->part[k];
      for (int i = 0; i < 3; ++i) left[i] -= change * moved[k][i];
      most = fmax(most, fabs(change) * soft);
      f->part[k] = part;
    }
  }
}

// Distance of the centre of a triangle above the plane of a face that has the place.
static double height(const rf_tip_tables *t, const rf_tip_place *place, int32_t triangle,
                     const double normal[3]) {
  double sum = 0.0;
  for (int k = 0; k < 3; ++k) {
    double way[3];
    const int32_t v = t->edges.corner[3 * (int64_t)triangle + k];
    rf_vec3_sub(t->vertex + 3 * (int64_t)v, place->position, way);
    sum += rf_vec3_dot(normal, way) / 3.0;
  }
  return sum;
}

// Returns true if a face that the tip presses meets another one in a sharp valley, and no two
// faces that it presses meet in a ridge.
static bool is_valley(const rf_tip_tables *t, const rf_tip_place *place, const faces *f) {
  bool found = false;
  for (int k = 0; k < f->n; ++k) {
    if (!(f->part[k] > 0.0)) continue;
    const double *normal = normal_of(t, f->triangle[k]);
    for (int j = 0; j < f->n; ++j) {
      if (rf_vec3_dot(normal, normal_of(t, f->triangle[j])) >= RF_TIP_SMOOTH) continue;
      const bool above = height(t, place, f->triangle[j], normal) > 0.0;
      if (!above && f->part[j] > 0.0) return false;
      found = found || above;
    }
  }
  return found;
}

bool rf_tip_hold_rt(const rf_tip *tip, const rf_tip_place *place, double normal[3], bool *valley) {
  faces f;
  *valley = false;
  if (place->feature < 0) return false;
  collect(tip, place, &f);
  share(tip, place, &f);
  memset(normal, 0, 3 * sizeof *normal);
  for (int k = 0; k < f.n; ++k)
    for (int i = 0; i < 3; ++i) normal[i] += f.part[k] * normal_of(tip->tables, f.triangle[k])[i];
  const double length = rf_vec3_length(normal);
  if (!(length > 0.0)) return false;
  for (int i = 0; i < 3; ++i) normal[i] /= length;
  *valley = is_valley(tip->tables, place, &f);
  return true;
}
