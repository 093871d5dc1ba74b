#include "mesh/hanging.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "linalg/vec3.h"
#include "mesh/bvh.h"
#include "mesh/face_point.h"
#include "mesh/topology.h"

enum {
  POLL = 256,   // faces between polls for a stop
  DEEPEST = 64  // chain of nodes that follow others
};

// ---- the search -------------------------------------------------------------------------

typedef struct search {
  const rf_mesh *mesh;
  const rf_run *run;
  rf_boundary faces;
  int32_t *ptr, *face;  // faces at each corner                  (n_nodes + 1), (corners of all)
  rf_bvh tree;          // nodes of the faces
  int32_t *node;        // of each item of the tree                  (n_nodes)
  int32_t *masters;     // of each hanging node, -1: none         (n_nodes, 4)
  double *share;        // weights of the masters                 (n_nodes, 4)
  int32_t count;        // hanging nodes
  // nodes on one face; they hang if faces of the surface join them to its corners
  int32_t *on, n_on;  //                                          (n_nodes)
  int32_t *queue;     //                                  (n_nodes + corners)
  int32_t *last;      // last face that a node was on, -1: none      (n_nodes)
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

// Notes that a node hangs at a place of a face.  An edge decides before a face.
static void note(search *s, int32_t node, const double *weight, const int32_t *face) {
  int32_t *masters = s->masters + 4 * (int64_t)node;
  double *share = s->share + 4 * (int64_t)node;
  const rf_constraints *known = s->mesh->constraints;
  if (known && rf_constraints_find(known, node) >= 0) return;
  int count = 0;
  for (int a = 0; a < s->faces.face_nodes; ++a) count += weight[a] != 0.0;
  if (masters[0] >= 0 && (masters[2] < 0 || count > 2)) return;
  s->count += masters[0] < 0;
  memset(masters, 255, 4 * sizeof *masters);
  const bool second = rf_element_is_quadratic(s->mesh->type);
  for (int a = 0, k = 0; a < s->faces.face_nodes && k < (second ? 1 : 4); ++a)
    if (weight[a] != 0.0) {
      masters[k] = face[a];
      share[k++] = weight[a];
    }
}

static int collect(void *context, int32_t at) {
  search *s = context;
  s->on[s->n_on++] = s->node[s->tree.item[at]];
  return 0;
}

// Finds the nodes on face f that its element does not have, and notes those that other faces join
// to its corners, one by one.
static void compare(search *s, int32_t f) {
  const rf_boundary *b = &s->faces;
  const int32_t *own = b->nodes + (int64_t)f * b->face_nodes;
  double x[RF_MOST_FACE_NODES][3], low[3], high[3], middle[3] = {0}, off[3], reach = 0.0;
  for (int a = 0; a < b->face_nodes; ++a)
    memcpy(x[a], s->mesh->nodes + 3 * (int64_t)own[a], sizeof x[a]);
  const int corners = corners_of(s);
  for (int a = 0; a < corners; ++a)
    for (int i = 0; i < 3; ++i) middle[i] += x[a][i] / corners;
  for (int a = 0; a < corners; ++a) {
    rf_vec3_sub(x[a], middle, off);
    reach = fmax(reach, sqrt(rf_vec3_dot(off, off)));
  }
  for (int i = 0; i < 3; ++i) {
    low[i] = high[i] = x[0][i];
    for (int a = 1; a < b->face_nodes; ++a) {
      low[i] = fmin(low[i], x[a][i]);
      high[i] = fmax(high[i], x[a][i]);
    }
    low[i] -= RF_FACE_NEAR * reach;
    high[i] += RF_FACE_NEAR * reach;
  }
  s->n_on = 0;
  rf_bvh_overlap(&s->tree, low, high, collect, s);
  double w[RF_MOST_FACE_NODES];
  int32_t found = 0, queued = 0;
  for (int32_t k = 0; k < s->n_on; ++k) {
    const int32_t node = s->on[k];
    if (has_node(s->mesh, b->element[f], node)) continue;
    if (!rf_face_weights(b->face_nodes, (const double(*)[3])x, s->mesh->nodes + 3 * (int64_t)node,
                         reach, w))
      continue;
    s->last[node] = f;
    ++found;
  }
  for (int a = 0; a < corners && found > 0; ++a) s->queue[queued++] = own[a];
  for (int32_t q = 0; q < queued && found > 0; ++q)
    for (int32_t p = s->ptr[s->queue[q]]; p < s->ptr[s->queue[q] + 1]; ++p) {
      const int32_t *other = b->nodes + (int64_t)s->face[p] * b->face_nodes;
      for (int a = 0; a < b->face_nodes; ++a) {
        if (s->last[other[a]] != f) continue;
        s->last[other[a]] = -1;
        --found;
        s->queue[queued++] = other[a];
        if (rf_face_weights(b->face_nodes, (const double(*)[3])x,
                            s->mesh->nodes + 3 * (int64_t)other[a], reach, w))
          note(s, other[a], w, own);
      }
    }
}

// Makes the tree of the nodes of the faces.
static rf_status make_tree(search *s, rf_error *err) {
  rf_status st = RF_OK;
  const rf_boundary *b = &s->faces;
  double *boxes = NULL;
  int32_t count = 0;
  for (int64_t k = 0; k < (int64_t)b->face_nodes * b->n_faces; ++k) s->last[b->nodes[k]] = 0;
  for (int32_t i = 0; i < s->mesh->n_nodes; ++i) {
    if (s->last[i] < 0) continue;
    s->last[i] = -1;
    s->node[count++] = i;
  }
  RF_ALLOC(boxes, 6 * (int64_t)count);
  for (int32_t k = 0; k < count; ++k)
    for (int c = 0; c < 6; ++c)
      boxes[6 * (int64_t)k + c] = s->mesh->nodes[3 * (int64_t)s->node[k] + c % 3];
  if (count > 0) RF_TRY(rf_bvh_create(count, boxes, s->run, &s->tree, err));
done:
  rf_free(boxes);
  return st;
}

static rf_status find(search *s, rf_error *err) {
  rf_status st = RF_OK;
  const int64_t n = s->mesh->n_nodes;
  RF_TRY(rf_mesh_boundary(s->mesh, &s->faces, err));
  RF_TRY(list_faces(s, err));
  RF_ALLOC(s->node, n);
  RF_ALLOC(s->on, n);
  RF_ALLOC(s->queue, n + 4);
  RF_ALLOC(s->last, n);
  RF_ALLOC(s->share, 4 * n);
  RF_ALLOC(s->masters, 4 * n);
  memset(s->last, 255, (size_t)n * sizeof *s->last);
  memset(s->masters, 255, 4 * (size_t)n * sizeof *s->masters);
  RF_TRY(make_tree(s, err));
  for (int32_t f = 0; f < s->faces.n_faces; ++f) {
    if (f % POLL == 0) RF_TRY(rf_run_poll(s->run, err));
    compare(s, f);
  }
done:
  return st;
}

static void release(search *s) {
  rf_boundary_free(&s->faces);
  rf_bvh_free(&s->tree);
  rf_free(s->ptr);
  rf_free(s->face);
  rf_free(s->node);
  rf_free(s->on);
  rf_free(s->queue);
  rf_free(s->last);
  rf_free(s->masters);
  rf_free(s->share);
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
    good = expand(s, masters[a], weight * s->share[4 * (int64_t)node + a], depth + 1, stamp, count);
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

rf_status rf_mesh_find_hanging(const rf_mesh *mesh, const rf_run *run, int32_t *count,
                               int32_t **nodes, rf_error *err) {
  rf_status st = RF_OK;
  search s = {.mesh = mesh, .run = run};
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

rf_status rf_mesh_constrain_hanging(const rf_mesh *mesh, const rf_run *run, rf_mesh **out,
                                    rf_error *err) {
  rf_status st = RF_OK;
  search s = {.mesh = mesh, .run = run};
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
