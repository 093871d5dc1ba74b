#include "mesh/hanging.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "linalg/vec3.h"
#include "mesh/topology.h"

static const double NEAR = 1e-3;  // distance from the middle, over that of the middle to a corner

enum {
  MOST_FACE_NODES = 8,
  MOST_SPOTS = 17,
  DEEPEST = 64  // chain of nodes that follow others
};

// A point of a face where a node hangs, by shape functions of the face.
typedef struct spot {
  double weight[MOST_FACE_NODES];
  int masters;  // nodes with a weight, equal ones in elements of first order
} spot;

// ---- the spots of a face ----------------------------------------------------------------

static void set_weights(int32_t nodes, double x, double y, double w[MOST_FACE_NODES]) {
  if (nodes == 3 || nodes == 6) {
    const double L[3] = {1.0 - x - y, x, y};
    for (int a = 0; a < 3; ++a) w[a] = nodes == 3 ? L[a] : L[a] * (2.0 * L[a] - 1.0);
    for (int a = 0; a < 3 && nodes == 6; ++a) w[3 + a] = 4.0 * L[a] * L[(a + 1) % 3];
    return;
  }
  static const double AT[8][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1},
                                  {0, -1},  {1, 0},  {0, 1}, {-1, 0}};
  for (int a = 0; a < 4; ++a) {
    const double s = x * AT[a][0], t = y * AT[a][1];
    w[a] = 0.25 * (1.0 + s) * (1.0 + t) * (nodes == 4 ? 1.0 : s + t - 1.0);
  }
  for (int a = 4; a < 8 && nodes == 8; ++a) {
    const double s = x * AT[a][0], t = y * AT[a][1];
    w[a] = 0.5 * (AT[a][0] == 0.0 ? (1.0 - x * x) * (1.0 + t) : (1.0 + s) * (1.0 - y * y));
  }
}

// Lists the spots of a face with this number of nodes, those of edges first: middles, and of second
// order also quarters.
static int list_spots(int32_t nodes, spot spots[MOST_SPOTS]) {
  // local coordinates, from 0 to 1 in triangles and from -1 to 1 in quadrilaterals
  static const double TRIANGLE[9][2] = {{.5, 0},    {.5, .5},   {0, .5},  {.25, 0}, {.75, 0},
                                        {.75, .25}, {.25, .75}, {0, .75}, {0, .25}};
  static const double INNER[3][2] = {{.25, .25}, {.5, .25}, {.25, .5}};
  static const double SQUARE[12][2] = {{0, -1},  {1, 0},  {0, 1},  {-1, 0},  {-.5, -1}, {.5, -1},
                                       {1, -.5}, {1, .5}, {.5, 1}, {-.5, 1}, {-1, .5},  {-1, -.5}};
  static const double CROSS[5][2] = {{0, 0}, {.5, 0}, {0, .5}, {-.5, 0}, {0, -.5}};
  const bool triangle = nodes == 3 || nodes == 6, second = nodes == 6 || nodes == 8;
  const double(*edge)[2] = triangle ? TRIANGLE : SQUARE, (*inner)[2] = triangle ? INNER : CROSS;
  const int corners = triangle ? 3 : 4, edges = second ? 3 * corners : corners;
  const int inners = triangle ? (second ? 3 : 0) : second ? 5 : 1;
  int count = 0;
  for (int k = 0; k < edges + inners && count < MOST_SPOTS; ++k) {
    const double *at = k < edges ? edge[k] : inner[k - edges];
    spot *s = &spots[count++];
    *s = (spot){.masters = 0};
    set_weights(nodes, at[0], at[1], s->weight);
    for (int a = 0; a < nodes; ++a) s->masters += s->weight[a] != 0.0;
  }
  return count;
}

// ---- the search -------------------------------------------------------------------------

typedef struct search {
  const rf_mesh *mesh;
  rf_boundary faces;
  int32_t *ptr, *face;  // faces at each corner                  (n_nodes + 1), (corners of all)
  int32_t *masters;     // of each hanging node, -1: none     (n_nodes, 4)
  int32_t count;        // hanging nodes
  // the independent nodes that one node follows
  int32_t *touched;  // nodes with a weight                   (n_nodes)
  double *weight;    //                                          (n_nodes)
  int32_t *stamp;    // last constraint with a weight at a node  (n_nodes)
} search;

static int corners_of(const search *s) { return rf_element_is_tet(s->mesh->type) ? 3 : 4; }

static rf_status list_faces(search *s, rf_error *err) {
  rf_status st = RF_OK;
  const rf_boundary *b = &s->faces;
  const int corners = corners_of(s);
  RF_ALLOC(s->ptr, (int64_t)s->mesh->n_nodes + 2);
  RF_ALLOC(s->face, (int64_t)corners * b->n_faces);
  // counts two entries to the right, so that filling turns them into starts
  for (int32_t f = 0; f < b->n_faces; ++f)
    for (int a = 0; a < corners; ++a) ++s->ptr[b->nodes[(int64_t)f * b->face_nodes + a] + 2];
  for (int32_t i = 0; i < s->mesh->n_nodes; ++i) s->ptr[i + 2] += s->ptr[i + 1];
  for (int32_t f = 0; f < b->n_faces; ++f)
    for (int a = 0; a < corners; ++a)
      s->face[s->ptr[b->nodes[(int64_t)f * b->face_nodes + a] + 1]++] = f;
done:
  return st;
}

static bool has_node(const rf_mesh *m, int32_t e, int32_t node) {
  const int32_t *own = m->elements + (int64_t)e * (int64_t)m->type;
  for (int a = 0; a < (int)m->type; ++a)
    if (own[a] == node) return true;
  return false;
}

// Notes that a node hangs at a spot of a face.  An edge decides before a face.
static void note(search *s, int32_t node, const spot *at, const int32_t *face) {
  int32_t *masters = s->masters + 4 * (int64_t)node;
  const rf_constraints *known = s->mesh->constraints;
  if (known && rf_constraints_find(known, node) >= 0) return;
  if (masters[0] >= 0 && (masters[2] < 0 || at->masters > 2)) return;
  s->count += masters[0] < 0;
  memset(masters, 255, 4 * sizeof *masters);
  const bool second = rf_element_is_quadratic(s->mesh->type);
  for (int a = 0, k = 0; a < s->faces.face_nodes && k < (second ? 1 : 4); ++a)
    if (at->weight[a] != 0.0) masters[k++] = face[a];
}

// Compares the nodes around a corner of a face with its spots.
static void compare(search *s, int32_t f, const double place[][3], const spot *spots, int count,
                    int32_t corner) {
  const rf_boundary *b = &s->faces;
  const int32_t *own = b->nodes + (int64_t)f * b->face_nodes;
  for (int32_t p = s->ptr[corner]; p < s->ptr[corner + 1]; ++p) {
    if (s->face[p] == f) continue;
    const int32_t *other = b->nodes + (int64_t)s->face[p] * b->face_nodes;
    for (int a = 0; a < b->face_nodes; ++a) {
      const double *x = s->mesh->nodes + 3 * (int64_t)other[a];
      for (int k = 0; k < count; ++k) {
        double off[3], reach[3];
        rf_vec3_sub(x, place[k], off);
        rf_vec3_sub(s->mesh->nodes + 3 * (int64_t)corner, place[k], reach);
        if (rf_vec3_dot(off, off) > NEAR * NEAR * rf_vec3_dot(reach, reach)) continue;
        if (!has_node(s->mesh, b->element[f], other[a])) note(s, other[a], &spots[k], own);
      }
    }
  }
}

static rf_status find(search *s, rf_error *err) {
  rf_status st = RF_OK;
  spot spots[MOST_SPOTS];
  double place[MOST_SPOTS][3];
  RF_TRY(rf_mesh_boundary(s->mesh, &s->faces, err));
  RF_TRY(list_faces(s, err));
  RF_ALLOC(s->masters, 4 * (int64_t)s->mesh->n_nodes);
  memset(s->masters, 255, 4 * (size_t)s->mesh->n_nodes * sizeof *s->masters);
  const rf_boundary *b = &s->faces;
  const int count = list_spots(b->face_nodes, spots);
  for (int32_t f = 0; f < b->n_faces; ++f) {
    const int32_t *own = b->nodes + (int64_t)f * b->face_nodes;
    memset(place, 0, sizeof place);
    for (int k = 0; k < count; ++k)
      for (int a = 0; a < b->face_nodes; ++a)
        for (int i = 0; i < 3; ++i)
          place[k][i] += spots[k].weight[a] * s->mesh->nodes[3 * (int64_t)own[a] + i];
    for (int a = 0; a < corners_of(s); ++a)
      compare(s, f, (const double(*)[3])place, spots, count, own[a]);
  }
done:
  return st;
}

static void release(search *s) {
  rf_boundary_free(&s->faces);
  rf_free(s->ptr);
  rf_free(s->face);
  rf_free(s->masters);
  rf_free(s->stamp);
  rf_free(s->weight);
  rf_free(s->touched);
}

// ---- the table --------------------------------------------------------------------------

// Adds the independent nodes that a node follows, with their weights; false: it follows itself.
static bool expand(search *s, int32_t node, double weight, int depth, int32_t stamp,
                   int32_t *count) {
  const rf_constraints *known = s->mesh->constraints;
  const int32_t *masters = s->masters + 4 * (int64_t)node;
  const int32_t k = known ? rf_constraints_find(known, node) : -1;
  bool good = depth < DEEPEST;
  int all = 0;
  while (all < 4 && masters[all] >= 0) ++all;
  for (int a = 0; good && a < all; ++a)
    good = expand(s, masters[a], weight / all, depth + 1, stamp, count);
  for (int32_t p = k < 0 ? 0 : known->ptr[k]; k >= 0 && good && p < known->ptr[k + 1]; ++p)
    good = expand(s, known->masters[p], weight * known->weights[p], depth + 1, stamp, count);
  if (all > 0 || k >= 0) return good;
  if (s->stamp[node] != stamp) {
    s->stamp[node] = stamp;
    s->weight[node] = 0.0;
    s->touched[(*count)++] = node;
  }
  s->weight[node] += weight;
  return good;
}

// Makes the table of the hanging nodes and of those that are constrained already.
static rf_status make_table(search *s, rf_constraints *c, rf_error *err) {
  rf_status st = RF_OK;
  const int32_t n = s->mesh->n_nodes;
  const rf_constraints *known = s->mesh->constraints;
  int64_t room = 0, at = 0;
  RF_ALLOC(s->stamp, n);
  RF_ALLOC(s->weight, n);
  RF_ALLOC(s->touched, n);
  c->n = s->count + (known ? known->n : 0);
  RF_ALLOC(c->slaves, c->n);
  RF_ALLOC(c->ptr, (int64_t)c->n + 1);
  // counts the masters, then stores them
  for (int pass = 0; pass < 2; ++pass) {
    at = 0;
    for (int32_t i = 0, k = 0; i < n; ++i) {
      if (s->masters[4 * (int64_t)i] < 0 && !(known && rf_constraints_find(known, i) >= 0))
        continue;
      int32_t count = 0;
      if (!expand(s, i, 1.0, 0, (pass * c->n) + k + 1, &count)) {
        st = rf_fail(err, RF_ERR_MESH,
                     "node %d follows itself through others: mesh.constraints does not fit its "
                     "elements",
                     i);
        goto done;
      }
      for (int32_t p = 0; pass == 1 && p < count; ++p) {
        c->masters[at + p] = s->touched[p];
        c->weights[at + p] = s->weight[s->touched[p]];
      }
      at += count;
      c->slaves[k] = i;
      c->ptr[++k] = (int32_t)at;
    }
    if (pass == 1) break;
    room = at;
    RF_ALLOC(c->masters, room);
    RF_ALLOC(c->weights, room);
  }
done:
  return st;
}

static void table_release(rf_constraints *c) {
  rf_free(c->slaves);
  rf_free(c->ptr);
  rf_free(c->masters);
  rf_free(c->weights);
}

rf_status rf_mesh_find_hanging(const rf_mesh *mesh, int32_t *count, int32_t **nodes,
                               rf_error *err) {
  rf_status st = RF_OK;
  search s = {.mesh = mesh};
  *nodes = NULL;
  *count = 0;
  RF_TRY(find(&s, err));
  RF_ALLOC(*nodes, s.count);
  for (int32_t i = 0; i < mesh->n_nodes; ++i)
    if (s.masters[4 * (int64_t)i] >= 0) (*nodes)[(*count)++] = i;
done:
  release(&s);
  return st;
}

rf_status rf_mesh_constrain_hanging(const rf_mesh *mesh, rf_mesh **out, rf_error *err) {
  rf_status st = RF_OK;
  search s = {.mesh = mesh};
  rf_constraints c = {0};
  rf_mesh *made = NULL;
  double *nodes = NULL;
  *out = NULL;
  if (rf_element_is_quadratic(mesh->type))
    return rf_fail(err, RF_ERR_MESH,
                   "nodes of elements with mid-edge nodes cannot be constrained: take a conforming "
                   "mesh, or constrain one of 4 or 8 nodes an element");
  RF_TRY(find(&s, err));
  RF_TRY(make_table(&s, &c, err));
  RF_ALLOC(nodes, 3 * (int64_t)mesh->n_nodes);
  memcpy(nodes, mesh->nodes, 3 * (size_t)mesh->n_nodes * sizeof *nodes);
  rf_constraints_fill_rt(&c, nodes);
  RF_TRY(rf_mesh_create(mesh->type, mesh->n_nodes, nodes, mesh->n_elements, mesh->elements,
                        mesh->regions, &made, err));
  if (c.n > 0) RF_TRY(rf_mesh_set_constraints(made, &c, err));
  RF_TRY(rf_mesh_copy_rule(mesh, made, err));
  *out = made;
  made = NULL;
done:
  release(&s);
  table_release(&c);
  rf_free(nodes);
  rf_mesh_free(made);
  return st;
}
