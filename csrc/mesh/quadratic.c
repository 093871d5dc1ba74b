#include "mesh/quadratic.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "mesh/reference.h"

typedef struct edge {
  int32_t low, high;  // ends of the edge
  int32_t element, number;
} edge;

static int compare_edges(const void *a, const void *b) {
  const edge *x = a, *y = b;
  if (x->low != y->low) return x->low < y->low ? -1 : 1;
  if (x->high != y->high) return x->high < y->high ? -1 : 1;
  if (x->element != y->element) return x->element < y->element ? -1 : 1;
  return (x->number > y->number) - (x->number < y->number);
}

static bool same_edge(const edge *a, const edge *b) {
  return a->low == b->low && a->high == b->high;
}

// Sorts the edges of all elements; those with the same ends become adjacent.
static rf_status sorted_edges(const rf_mesh *mesh, edge **out, rf_error *err) {
  rf_status st = RF_OK;
  const rf_edges of = rf_edges_of(mesh->type);
  const int64_t count = (int64_t)of.count * mesh->n_elements;
  edge *edges = NULL;
  RF_ALLOC(edges, count);
  for (int64_t k = 0; k < count; ++k) {
    const int32_t element = (int32_t)(k / of.count), number = (int32_t)(k % of.count);
    const int32_t *node = mesh->elements + element * (int64_t)mesh->type;
    const int32_t a = node[of.end[number][0]], b = node[of.end[number][1]];
    edges[k] = (edge){a < b ? a : b, a < b ? b : a, element, number};
  }
  qsort(edges, (size_t)count, sizeof *edges, compare_edges);
  *out = edges;
done:
  return st;
}

static int32_t middle_of(const rf_mesh *mesh, const edge *e) {
  const int64_t at = (int64_t)mesh->type * e->element + rf_edges_of(mesh->type).corners;
  return mesh->elements[at + e->number];
}

const char *rf_edge_names(rf_element_type type) {
  return rf_element_is_tet(type) ? "01 12 02 03 13 23" : "01 12 23 30 45 56 67 74 04 15 26 37";
}

rf_status rf_mesh_check_edges(const rf_mesh *mesh, rf_error *err) {
  rf_status st = RF_OK;
  edge *edges = NULL;
  int64_t *first = NULL;   // edge of a mid-edge node, plus 1
  int32_t *corner = NULL;  // an element that has the node as a corner, plus 1
  const rf_edges of = rf_edges_of(mesh->type);
  const int64_t count = (int64_t)of.count * mesh->n_elements, nodes = (int64_t)mesh->type;
  RF_ALLOC(first, mesh->n_nodes);
  RF_ALLOC(corner, mesh->n_nodes);
  RF_TRY(sorted_edges(mesh, &edges, err));
  for (int32_t e = mesh->n_elements - 1; e >= 0; --e)
    for (int a = 0; a < of.corners; ++a) corner[mesh->elements[nodes * e + a]] = e + 1;
  for (int64_t k = 0; k < count; ++k) {
    const edge *e = edges + k;
    const int32_t middle = middle_of(mesh, e);
    if (k > 0 && same_edge(e, e - 1)) {
      if (middle == middle_of(mesh, e - 1)) continue;
      st = rf_fail(err, RF_ERR_MESH,
                   "elements %d and %d share the edge between nodes %d and %d, but its mid-edge "
                   "node is %d in one and %d in the other; merge them",
                   e[-1].element, e->element, e->low, e->high, middle_of(mesh, e - 1), middle);
      goto done;
    }
    if (corner[middle]) {
      st = rf_fail(err, RF_ERR_MESH,
                   "node %d is a mid-edge node of element %d and a corner of element %d; corners "
                   "come first in an element, then the middles of its edges %s",
                   middle, e->element, corner[middle] - 1, rf_edge_names(mesh->type));
      goto done;
    }
    if (first[middle]) {
      const edge *other = edges + first[middle] - 1;
      st = rf_fail(err, RF_ERR_MESH,
                   "node %d is the mid-edge node of two edges: between nodes %d and %d in element "
                   "%d, between %d and %d in element %d",
                   middle, other->low, other->high, other->element, e->low, e->high, e->element);
      goto done;
    }
    first[middle] = k + 1;
  }
done:
  rf_free(edges);
  rf_free(first);
  rf_free(corner);
  return st;
}

// Puts a node on the middle of every edge, in the order of their ends.
static void put_middles(const rf_mesh *mesh, const edge *edges, int64_t count, rf_mesh *m) {
  const int corners = (int)mesh->type, nodes = (int)m->type;
  int32_t middle = mesh->n_nodes - 1;
  for (int32_t e = 0; e < mesh->n_elements; ++e)
    memcpy(m->elements + nodes * (int64_t)e, mesh->elements + corners * (int64_t)e,
           (size_t)corners * sizeof *m->elements);
  for (int64_t k = 0; k < count; ++k) {
    const edge *e = edges + k;
    if (k == 0 || !same_edge(e, e - 1)) {
      ++middle;
      const double *a = m->nodes + 3 * (int64_t)e->low, *b = m->nodes + 3 * (int64_t)e->high;
      for (int i = 0; i < 3; ++i) m->nodes[3 * (int64_t)middle + i] = 0.5 * a[i] + 0.5 * b[i];
    }
    m->elements[nodes * (int64_t)e->element + corners + e->number] = middle;
  }
}

rf_status rf_mesh_quadratic(const rf_mesh *mesh, rf_mesh **out, rf_error *err) {
  rf_status st = RF_OK;
  edge *edges = NULL;
  rf_mesh *m = NULL;
  *out = NULL;
  if (rf_element_is_quadratic(mesh->type))
    return rf_fail(err, RF_ERR_ARG,
                   "only elements without mid-edge nodes can be made quadratic (tetrahedra of four "
                   "nodes, hexahedra of eight); these have %d",
                   (int)mesh->type);
  if (mesh->constraints)
    return rf_fail(err, RF_ERR_ARG,
                   "a mesh with constrained nodes cannot be made quadratic: make the cells of a "
                   "mesh without them quadratic");
  const rf_element_type type = mesh->type == RF_TET4 ? RF_TET10 : RF_HEX20;
  const int64_t count = rf_edges_of(type).count * (int64_t)mesh->n_elements;
  RF_TRY(sorted_edges(mesh, &edges, err));
  int64_t different = 0;
  for (int64_t k = 0; k < count; ++k) different += k == 0 || !same_edge(edges + k, edges + k - 1);
  if (mesh->n_nodes + different > RF_MESH_MAX_NODES) {
    st =
        rf_fail(err, RF_ERR_ARG, "the quadratic mesh would have %lld nodes, at most %d are allowed",
                (long long)(mesh->n_nodes + different), (int)RF_MESH_MAX_NODES);
    goto done;
  }
  RF_TRY(rf_mesh_allocate(type, mesh->n_nodes + (int32_t)different, mesh->n_elements, &m, err));
  memcpy(m->nodes, mesh->nodes, 3 * (size_t)mesh->n_nodes * sizeof *m->nodes);
  memcpy(m->regions, mesh->regions, (size_t)mesh->n_elements * sizeof *m->regions);
  put_middles(mesh, edges, count, m);
  // far from the origin middles are rounded, and small elements may fold over
  RF_TRY(rf_mesh_check_jacobians(m, err));
  *out = m;
  m = NULL;
done:
  rf_free(edges);
  rf_mesh_free(m);
  return st;
}
