#include "mesh/touching.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "linalg/vec3.h"
#include "mesh/bvh.h"
#include "mesh/face_point.h"
#include "mesh/topology.h"

enum { POLL = 256 };                   // faces between polls for a stop
static const double OPPOSITE = -0.99;  // cosine of the angle between the normals
static const double CORNER = 0.9;      // way from the middle to a corner of the points near it

typedef struct search {
  const rf_mesh *mesh;
  rf_boundary faces;
  rf_face_frame *frame;  // (n_faces)
  rf_bvh tree;           // of the faces
  int32_t face, found;   // the one that is compared, and the first one on which it lies; -1
  double x[RF_MOST_FACE_NODES][3];  // places of the nodes of the face
} search;

static const int32_t *nodes_of(const search *s, int32_t f) {
  return s->faces.nodes + (int64_t)f * s->faces.face_nodes;
}

static void places_of(const search *s, int32_t f, double x[RF_MOST_FACE_NODES][3]) {
  for (int a = 0; a < s->faces.face_nodes; ++a)
    memcpy(x[a], s->mesh->nodes + 3 * (int64_t)nodes_of(s, f)[a], sizeof x[a]);
}

// Computes the box of a face, wider by the distance of points that are on it.
static void box_of(const search *s, int32_t f, const double x[][3], double low[3], double high[3]) {
  for (int i = 0; i < 3; ++i) {
    low[i] = high[i] = x[0][i];
    for (int a = 1; a < s->faces.face_nodes; ++a) {
      low[i] = fmin(low[i], x[a][i]);
      high[i] = fmax(high[i], x[a][i]);
    }
    low[i] -= RF_FACE_NEAR * s->frame[f].reach;
    high[i] += RF_FACE_NEAR * s->frame[f].reach;
  }
}

// Returns true if each node of a face follows others or belongs to the other face; of a face with
// nodes that follow others, those that hang over the other face need not.  Sets *some if a node
// does.
static bool is_tied(const search *s, int32_t f, int32_t other, double near, bool *some) {
  const rf_constraints *c = s->mesh->constraints;
  const int32_t nodes = s->faces.face_nodes;
  double x[RF_MOST_FACE_NODES][3];
  int32_t loose[RF_MOST_FACE_NODES], n_loose = 0;
  bool follows = false;
  for (int a = 0; a < nodes; ++a) {
    const int32_t node = nodes_of(s, f)[a];
    const bool bound = c && rf_constraints_find(c, node) >= 0;
    bool tied = bound;
    for (int b = 0; b < nodes && !tied; ++b) tied = nodes_of(s, other)[b] == node;
    follows = follows || bound;
    if (tied)
      *some = true;
    else
      loose[n_loose++] = node;
  }
  if (n_loose > 0 && !follows) return false;
  places_of(s, other, x);
  for (int a = 0; a < n_loose; ++a)
    if (rf_face_holds(nodes, (const double(*)[3])x, s->mesh->nodes + 3 * (int64_t)loose[a], near))
      return false;
  return true;
}

// Compares the middle of the face, then points near its corners: faces that overlap by less than
// half have no middle on the other.  Faces with common or tied nodes are compared by their middles
// only: near a common edge, or where some nodes hang over, corners come close without a fault.
static int compare(void *context, int32_t at) {
  search *s = context;
  const int32_t f = s->face, other = s->tree.item[at], nodes = s->faces.face_nodes;
  const rf_face_frame *one = s->frame + f, *two = s->frame + other;
  const double near = RF_FACE_NEAR * fmin(one->reach, two->reach);
  double x[RF_MOST_FACE_NODES][3], point[3];
  if (s->faces.element[f] == s->faces.element[other] || (s->found >= 0 && other > s->found))
    return 0;
  if (!(rf_vec3_dot(one->normal, two->normal) < OPPOSITE)) return 0;
  bool some = false;
  if (is_tied(s, f, other, near, &some) || is_tied(s, other, f, near, &some)) return 0;
  const int corners = some ? 0 : nodes % 3 ? 4 : 3;
  places_of(s, other, x);
  for (int a = -1; a < corners; ++a) {
    for (int i = 0; i < 3; ++i)
      point[i] = one->middle[i] + (a < 0 ? 0.0 : CORNER * (s->x[a][i] - one->middle[i]));
    if (!rf_face_holds(nodes, (const double(*)[3])x, point, near)) continue;
    s->found = other;
    return 0;
  }
  return 0;
}

static void find_on(search *s) {
  double low[3], high[3];
  places_of(s, s->face, s->x);
  box_of(s, s->face, (const double(*)[3])s->x, low, high);
  rf_bvh_overlap(&s->tree, low, high, compare, s);
}

static rf_status make_tree(search *s, const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  double *box = NULL, x[RF_MOST_FACE_NODES][3];
  RF_ALLOC(box, 6 * (int64_t)s->faces.n_faces);
  for (int32_t f = 0; f < s->faces.n_faces; ++f) {
    double *low = box + 6 * (int64_t)f;
    places_of(s, f, x);
    rf_face_middle(s->faces.face_nodes, (const double(*)[3])x, s->frame + f);
    box_of(s, f, (const double(*)[3])x, low, low + 3);
  }
  RF_TRY(rf_bvh_create(s->faces.n_faces, box, run, &s->tree, err));
done:
  rf_free(box);
  return st;
}

rf_status rf_mesh_find_touching(const rf_mesh *mesh, const rf_run *run, int32_t *count,
                                int32_t **pairs, rf_error *err) {
  rf_status st = RF_OK;
  search s = {.mesh = mesh};
  *pairs = NULL;
  *count = 0;
  RF_TRY(rf_mesh_boundary(mesh, &s.faces, err));
  RF_ALLOC(s.frame, s.faces.n_faces);
  RF_ALLOC(*pairs, 2 * (int64_t)s.faces.n_faces);
  if (s.faces.n_faces > 0) RF_TRY(make_tree(&s, run, err));
  for (int32_t f = 0; f < s.faces.n_faces; ++f) {
    if (f % POLL == 0) RF_TRY(rf_run_poll(run, err));
    s.face = f;
    s.found = -1;
    find_on(&s);
    if (s.found < 0) continue;
    (*pairs)[2 * (int64_t)*count] = s.faces.element[f];
    (*pairs)[2 * (int64_t)*count + 1] = s.faces.element[s.found];
    ++*count;
  }
done:
  if (st < 0) {
    rf_free(*pairs);
    *pairs = NULL;
    *count = 0;
  }
  rf_boundary_free(&s.faces);
  rf_bvh_free(&s.tree);
  rf_free(s.frame);
  return st;
}
