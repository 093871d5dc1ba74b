#include "mesh/tet10.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "linalg/vec3.h"
#include "mesh/reference.h"

// ---- Jacobian ---------------------------------------------------------------

enum {
  COEFFICIENTS = 20,  // of a cubic on a tetrahedron
  BISECTIONS = 6      // of an element that the bound does not settle
};

// J at the four corners: rows dx/dxi_k
typedef struct corner_jacobians {
  double j[4][3][3];
} corner_jacobians;

static corner_jacobians jacobians(const double x[10][3]) {
  corner_jacobians c = {0};
  for (int a = 0; a < 4; ++a) {
    const double xi[3] = {a == 1, a == 2, a == 3};
    double n[10], dn[10][3];
    rf_tet10_shape(xi, n, dn);
    // edges from corner 0 keep the digits of a mesh far from the origin
    for (int b = 1; b < 10; ++b)
      for (int k = 0; k < 3; ++k)
        for (int i = 0; i < 3; ++i) c.j[a][k][i] += dn[b][k] * (x[b][i] - x[0][i]);
  }
  return c;
}

// the coefficient of corners a, b, c: mean over the ways in which they give a row each
static double coefficient(const corner_jacobians *J, int a, int b, int c) {
  const int order[6][3] = {{a, b, c}, {b, c, a}, {c, a, b}, {a, c, b}, {c, b, a}, {b, a, c}};
  double sum = 0.0;
  for (int p = 0; p < 6; ++p)
    sum += rf_vec3_det(J->j[order[p][0]][0], J->j[order[p][1]][1], J->j[order[p][2]][2]);
  return sum / 6.0;
}

static void coefficients(const corner_jacobians *J, double value[COEFFICIENTS]) {
  int at = 0;
  for (int a = 0; a < 4; ++a)
    for (int b = a; b < 4; ++b)
      for (int c = b; c < 4; ++c) value[at++] = coefficient(J, a, b, c);
}

// corners of the eight parts of an element, by the nodes there
static const unsigned char PART[8][4] = {{0, 4, 6, 7}, {4, 1, 5, 8}, {6, 5, 2, 9}, {7, 8, 9, 3},
                                         {4, 5, 6, 8}, {4, 6, 7, 8}, {6, 9, 7, 8}, {6, 5, 9, 8}};

static double lower_bound(const corner_jacobians *J, double least, int bisections) {
  double value[COEFFICIENTS], low = INFINITY, corner = INFINITY;
  coefficients(J, value);
  for (int k = 0; k < COEFFICIENTS; ++k) {
    if (!isfinite(value[k])) return NAN;
    low = fmin(low, value[k]);
  }
  for (int a = 0; a < 4; ++a) corner = fmin(corner, coefficient(J, a, a, a));
  if (low > least || !(corner > least) || bisections == 0) return low;

  double lowest = INFINITY;
  for (int p = 0; p < 8 && !(lowest <= least); ++p) {
    corner_jacobians part = {0};
    for (int a = 0; a < 4; ++a) {
      const int node = PART[p][a];
      const int b = node < 4 ? node : RF_TET_EDGE[node - 4][0];
      const int c = node < 4 ? node : RF_TET_EDGE[node - 4][1];
      for (int k = 0; k < 9; ++k)
        (&part.j[a][0][0])[k] = 0.5 * ((&J->j[b][0][0])[k] + (&J->j[c][0][0])[k]);
    }
    lowest = fmin(lowest, lower_bound(&part, least, bisections - 1));
  }
  return lowest;
}

double rf_tet10_jacobian(const double x[10][3], double least) {
  const corner_jacobians J = jacobians(x);
  return lower_bound(&J, 6.0 * least, BISECTIONS) / 6.0;
}

double rf_tet10_volume(const double x[10][3]) {
  const corner_jacobians J = jacobians(x);
  double value[COEFFICIENTS], sum = 0.0;
  coefficients(&J, value);
  for (int k = 0; k < COEFFICIENTS; ++k) sum += value[k];
  return sum / (6.0 * COEFFICIENTS);
}

// ---- edges ------------------------------------------------------------------

typedef struct edge {
  int32_t low, high;  // its ends
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

// the edges of all elements, those with the same ends side by side
static rf_status sorted_edges(const rf_mesh *mesh, edge **out, rf_error *err) {
  rf_status st = RF_OK;
  const int64_t count = 6 * (int64_t)mesh->n_elements;
  edge *edges = NULL;
  RF_ALLOC(edges, count);
  for (int64_t k = 0; k < count; ++k) {
    const int32_t *element = mesh->elements + (k / 6) * (int64_t)mesh->type;
    const int32_t a = element[RF_TET_EDGE[k % 6][0]], b = element[RF_TET_EDGE[k % 6][1]];
    edges[k] = (edge){a < b ? a : b, a < b ? b : a, (int32_t)(k / 6), (int32_t)(k % 6)};
  }
  qsort(edges, (size_t)count, sizeof *edges, compare_edges);
  *out = edges;
done:
  return st;
}

static int32_t middle_of(const rf_mesh *mesh, const edge *e) {
  return mesh->elements[10 * (int64_t)e->element + 4 + e->number];
}

rf_status rf_tet10_check_edges(const rf_mesh *mesh, rf_error *err) {
  rf_status st = RF_OK;
  edge *edges = NULL;
  int64_t *first = NULL;   // the edge of a mid-edge node, plus 1
  int32_t *corner = NULL;  // an element of which the node is a corner, plus 1
  const int64_t count = 6 * (int64_t)mesh->n_elements;
  RF_ALLOC(first, mesh->n_nodes);
  RF_ALLOC(corner, mesh->n_nodes);
  RF_TRY(sorted_edges(mesh, &edges, err));
  for (int32_t e = mesh->n_elements - 1; e >= 0; --e)
    for (int a = 0; a < 4; ++a) corner[mesh->elements[10 * (int64_t)e + a]] = e + 1;
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
                   "come first in an element, then the middles of its edges 01 12 02 03 13 23",
                   middle, e->element, corner[middle] - 1);
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

rf_status rf_mesh_quadratic(const rf_mesh *mesh, rf_mesh **out, rf_error *err) {
  rf_status st = RF_OK;
  edge *edges = NULL;
  rf_mesh *m = NULL;
  const int64_t count = 6 * (int64_t)mesh->n_elements;
  *out = NULL;
  if (mesh->type != RF_TET4)
    return rf_fail(err, RF_ERR_ARG,
                   "only four-node tetrahedra can be made quadratic; these have %d",
                   (int)mesh->type);
  RF_TRY(sorted_edges(mesh, &edges, err));
  int64_t different = 0;
  for (int64_t k = 0; k < count; ++k) different += k == 0 || !same_edge(edges + k, edges + k - 1);
  if (mesh->n_nodes + different > RF_MESH_MAX_NODES) {
    st =
        rf_fail(err, RF_ERR_ARG, "the quadratic mesh would have %lld nodes, at most %d are allowed",
                (long long)(mesh->n_nodes + different), (int)RF_MESH_MAX_NODES);
    goto done;
  }
  RF_TRY(rf_mesh_allocate(RF_TET10, mesh->n_nodes + (int32_t)different, mesh->n_elements, &m, err));
  memcpy(m->nodes, mesh->nodes, 3 * (size_t)mesh->n_nodes * sizeof *m->nodes);
  memcpy(m->regions, mesh->regions, (size_t)mesh->n_elements * sizeof *m->regions);
  for (int32_t e = 0; e < mesh->n_elements; ++e)
    memcpy(m->elements + 10 * (int64_t)e, mesh->elements + 4 * (int64_t)e, 4 * sizeof(int32_t));
  int32_t middle = mesh->n_nodes - 1;
  for (int64_t k = 0; k < count; ++k) {
    const edge *e = edges + k;
    if (k == 0 || !same_edge(e, e - 1)) {
      ++middle;
      const double *a = m->nodes + 3 * (int64_t)e->low, *b = m->nodes + 3 * (int64_t)e->high;
      for (int i = 0; i < 3; ++i) m->nodes[3 * (int64_t)middle + i] = 0.5 * a[i] + 0.5 * b[i];
    }
    m->elements[10 * (int64_t)e->element + 4 + e->number] = middle;
  }
  // far from the origin the middles are rounded, and small elements may fold over
  RF_TRY(rf_mesh_check_jacobians(m, err));
  *out = m;
  m = NULL;
done:
  rf_free(edges);
  rf_mesh_free(m);
  return st;
}
