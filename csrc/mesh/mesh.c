#include "mesh/mesh.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "linalg/vec3.h"
#include "mesh/curved.h"
#include "mesh/local.h"
#include "mesh/quadratic.h"
#include "mesh/reference.h"

// A Jacobian below this fraction of the cubed element size counts as rounding.
static const double DEGENERATE = 1e-14;
// Edges that differ by less, relative to the longest, count as parallel: the Jacobian then varies
// far less than its distance to zero.
static const double PARALLEL = 1e-9;

void rf_mesh_free(rf_mesh *mesh) {
  if (!mesh) return;
  rf_rule_free(mesh->rule);
  rf_constraints_free(mesh->constraints);
  rf_free(mesh->nodes);
  rf_free(mesh->elements);
  rf_free(mesh->regions);
  rf_free(mesh);
}

rf_status rf_mesh_allocate(rf_element_type type, int32_t n_nodes, int32_t n_elements, rf_mesh **out,
                           rf_error *err) {
  rf_status st = RF_OK;
  rf_mesh *m = NULL;
  *out = NULL;

  if (!(type == RF_TET4 || type == RF_HEX8 || rf_element_is_quadratic(type)))
    return rf_fail(err, RF_ERR_ARG,
                   "an element must have 4 or 10 nodes (tet) or 8 or 20 (hex), not %d", (int)type);
  if (!(n_elements >= 1)) return rf_fail(err, RF_ERR_MESH, "the mesh has no elements");
  if (!(n_nodes >= (int32_t)type))
    return rf_fail(err, RF_ERR_MESH, "the mesh has %d nodes, its elements need at least %d",
                   (int)n_nodes, (int)type);
  if (!(n_nodes <= RF_MESH_MAX_NODES))
    return rf_fail(err, RF_ERR_ARG, "the mesh has %d nodes, at most %d are allowed", (int)n_nodes,
                   (int)RF_MESH_MAX_NODES);

  RF_ALLOC(m, 1);
  m->type = type;
  m->n_nodes = n_nodes;
  m->n_elements = n_elements;
  RF_ALLOC(m->nodes, 3 * (size_t)n_nodes);
  RF_ALLOC(m->elements, (size_t)type * (size_t)n_elements);
  RF_ALLOC(m->regions, n_elements);
  *out = m;
  return RF_OK;

done:
  rf_mesh_free(m);
  return st;
}

// ---- checks ---------------------------------------------------------------

static rf_status check_nodes(const rf_mesh *m, rf_error *err) {
  for (int32_t i = 0; i < m->n_nodes; ++i) {
    const double *x = m->nodes + 3 * (size_t)i;
    if (!(isfinite(x[0]) && isfinite(x[1]) && isfinite(x[2])))
      return rf_fail(err, RF_ERR_MESH, "node %d is at (%g, %g, %g): coordinates must be finite",
                     (int)i, x[0], x[1], x[2]);
  }
  return RF_OK;
}

static rf_status check_indices(const rf_mesh *m, rf_error *err) {
  const int k = (int)m->type;
  for (int32_t e = 0; e < m->n_elements; ++e) {
    const int32_t *el = m->elements + (size_t)k * (size_t)e;
    for (int a = 0; a < k; ++a) {
      if (!(el[a] >= 0 && el[a] < m->n_nodes))
        return rf_fail(err, RF_ERR_MESH, "element %d refers to node %d; allowed are 0 to %d",
                       (int)e, (int)el[a], (int)(m->n_nodes - 1));
      for (int b = 0; b < a; ++b)
        if (el[b] == el[a])
          return rf_fail(err, RF_ERR_MESH,
                         "element %d has node %d twice: an element needs %d different nodes "
                         "(remove collapsed elements)",
                         (int)e, (int)el[a], k);
    }
  }
  return RF_OK;
}

static rf_status check_referenced(const rf_mesh *m, rf_error *err) {
  rf_status st = RF_OK;
  uint8_t *seen = NULL;
  RF_ALLOC(seen, m->n_nodes);
  const size_t count = (size_t)m->type * (size_t)m->n_elements;
  for (size_t i = 0; i < count; ++i) seen[m->elements[i]] = 1;
  int32_t missing = 0, first = -1;
  for (int32_t i = 0; i < m->n_nodes; ++i) {
    if (seen[i]) continue;
    if (first < 0) first = i;
    ++missing;
  }
  if (missing > 0)
    st = rf_fail(err, RF_ERR_MESH,
                 "%d of %d nodes belong to no element, the first is node %d: they would have no "
                 "mass and no stiffness; leave such nodes out",
                 (int)missing, (int)m->n_nodes, (int)first);
done:
  rf_free(seen);
  return st;
}

// Returns the longest distance between corners of the tet.
static double tet_size(const double x[RF_MAX_NODES][3]) {
  double edge[3], size = 0.0;
  for (int e = 0; e < 6; ++e) {
    rf_vec3_sub(x[RF_TET_EDGE[e][0]], x[RF_TET_EDGE[e][1]], edge);
    size = fmax(size, rf_vec3_length(edge));
  }
  return size;
}

// Returns the volume of the tet; size is its longest edge.
static double tet_volume(const double x[RF_MAX_NODES][3], double *size) {
  double edge[3][3];
  *size = tet_size(x);
  for (int a = 1; a < 4; ++a) rf_vec3_sub(x[a], x[0], edge[a - 1]);
  return rf_vec3_det(edge[0], edge[1], edge[2]) / 6.0;
}

// Edges of the hexahedron along each local axis, as (from, to).
static const unsigned char EDGE[3][4][2] = {{{0, 1}, {3, 2}, {4, 5}, {7, 6}},
                                            {{0, 3}, {1, 2}, {4, 7}, {5, 6}},
                                            {{0, 4}, {1, 5}, {3, 7}, {2, 6}}};

// Returns det(dx/dxi) times 8 at local coordinates xi: the volume of the parallelepiped spanned
// there, m^3.
static double hex_jacobian(const double x[RF_MAX_NODES][3], double scale, const double *at) {
  const double xi[3] = {scale * at[0], scale * at[1], scale * at[2]};
  double n[8], dn[8][3], j[3][3] = {{0}};
  rf_hex_shape(xi, n, dn);
  for (int a = 0; a < 8; ++a)
    for (int k = 0; k < 3; ++k)
      for (int i = 0; i < 3; ++i) j[k][i] += dn[a][k] * x[a][i];
  return 8.0 * rf_vec3_det(j[0], j[1], j[2]);
}

// A parallelepiped has one Jacobian: the common case of voxels.  Sets size, the longest edge, and
// for parallelepipeds volume.
static bool is_parallelepiped(const double x[RF_MAX_NODES][3], double *size, double *volume) {
  double edge[3][4][3];
  *size = 0.0;
  for (int k = 0; k < 3; ++k)
    for (int i = 0; i < 4; ++i) {
      rf_vec3_sub(x[EDGE[k][i][1]], x[EDGE[k][i][0]], edge[k][i]);
      *size = fmax(*size, rf_vec3_length(edge[k][i]));
    }
  bool parallel = true;
  for (int k = 0; k < 3; ++k)
    for (int i = 1; i < 4; ++i)
      for (int c = 0; c < 3; ++c)
        parallel &= fabs(edge[k][i][c] - edge[k][0][c]) <= PARALLEL * *size;
  *volume = rf_vec3_det(edge[0][0], edge[1][0], edge[2][0]);
  return parallel;
}

// Returns the smallest Jacobian volume over corners and Gauss points.
static double hex8_volume(const double x[RF_MAX_NODES][3]) {
  double least = INFINITY;
  for (int a = 0; a < 8; ++a) {
    least = fmin(least, hex_jacobian(x, 1.0, RF_HEX_CORNER[a]));
    least = fmin(least, hex_jacobian(x, RF_GAUSS_2, RF_HEX_CORNER[a]));
  }
  for (int p = 0; p < 27; ++p) {
    const double at[3] = {p % 3 - 1, p / 3 % 3 - 1, p / 9 - 1};
    least = fmin(least, hex_jacobian(x, RF_GAUSS_3, at));
  }
  return least;
}

// Returns the volume that decides if an element is usable, and the size of the element.
static double least_volume(rf_element_type type, const double x[RF_MAX_NODES][3], double *size) {
  if (type == RF_TET4) return tet_volume(x, size);
  if (type == RF_TET10) {
    *size = tet_size(x);
    return rf_tet10_jacobian(x, DEGENERATE * *size * *size * *size);
  }
  double volume;
  const bool parallel = is_parallelepiped(x, size, &volume);
  if (parallel && (type == RF_HEX8 || rf_local_straight(type, x))) return volume;
  if (type == RF_HEX8) return hex8_volume(x);
  return rf_hex20_jacobian(x, DEGENERATE * *size * *size * *size);
}

rf_status rf_mesh_check_jacobians(const rf_mesh *m, rf_error *err) {
  const int k = (int)m->type;
  int32_t inverted = 0, first = -1;
  double value = 0.0;
  bool degenerate = false;
  for (int32_t e = 0; e < m->n_elements; ++e) {
    const int32_t *el = m->elements + (size_t)k * (size_t)e;
    double x[RF_MAX_NODES][3], size;
    for (int a = 0; a < k; ++a) memcpy(x[a], m->nodes + 3 * (size_t)el[a], sizeof x[a]);
    const double volume = least_volume(m->type, (const double(*)[3])x, &size);
    if (volume > DEGENERATE * size * size * size && isfinite(volume)) continue;
    if (first < 0) {
      first = e;
      value = volume;
      degenerate = !(fabs(volume) > DEGENERATE * size * size * size);
    }
    ++inverted;
  }
  if (first < 0) return RF_OK;

  char others[64] = "";
  if (inverted > 1)
    snprintf(others, sizeof others, "; %d more cannot be used either", (int)(inverted - 1));
  if (!isfinite(value))
    return rf_fail(err, RF_ERR_MESH, "element %d is too large: its volume overflows", (int)first);
  if (degenerate)
    return rf_fail(err, RF_ERR_MESH,
                   "element %d is degenerate (%s %.3g m^3): remove it or move its nodes%s",
                   (int)first, k == 4 ? "volume" : "smallest Jacobian", value, others);
  if (k == 4)
    return rf_fail(err, RF_ERR_MESH,
                   "element %d is inverted (volume %.3g m^3): swap two of its nodes, so that node "
                   "3 is on the side to which the normal of nodes 0, 1, 2 points%s",
                   (int)first, value, others);
  if (rf_element_is_quadratic(m->type))
    return rf_fail(err, RF_ERR_MESH,
                   "element %d is inverted (smallest Jacobian %.3g m^3): either its nodes are not "
                   "in VTK order (corners, then the middles of edges %s) or its edges are bent too "
                   "much%s",
                   (int)first, value, rf_edge_names(m->type), others);
  return rf_fail(
      err, RF_ERR_MESH,
      "element %d is inverted (smallest Jacobian %.3g m^3): either its nodes are not "
      "in VTK order (0 1 2 3 around the bottom, 4 5 6 7 above them) or it is not convex%s",
      (int)first, value, others);
}

rf_status rf_mesh_create(rf_element_type type, int32_t n_nodes, const double *nodes,
                         int32_t n_elements, const int32_t *elements, const int32_t *regions,
                         rf_mesh **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_mesh *m = NULL;
  *out = NULL;
  RF_TRY(rf_mesh_allocate(type, n_nodes, n_elements, &m, err));
  memcpy(m->nodes, nodes, 3 * (size_t)n_nodes * sizeof *nodes);
  memcpy(m->elements, elements, (size_t)type * (size_t)n_elements * sizeof *elements);
  if (regions) memcpy(m->regions, regions, (size_t)n_elements * sizeof *regions);

  RF_TRY(check_nodes(m, err));
  RF_TRY(check_indices(m, err));
  RF_TRY(check_referenced(m, err));
  if (rf_element_is_quadratic(type)) RF_TRY(rf_mesh_check_edges(m, err));
  RF_TRY(rf_mesh_check_jacobians(m, err));
  *out = m;
  m = NULL;

done:
  rf_mesh_free(m);
  return st;
}

double rf_mesh_length(int32_t n, const double *nodes) {
  double low[3], high[3], diagonal[3];
  memcpy(low, nodes, sizeof low);
  memcpy(high, nodes, sizeof high);
  for (int32_t k = 1; k < n; ++k)
    for (int i = 0; i < 3; ++i) {
      low[i] = fmin(low[i], nodes[3 * (int64_t)k + i]);
      high[i] = fmax(high[i], nodes[3 * (int64_t)k + i]);
    }
  rf_vec3_sub(high, low, diagonal);
  return rf_vec3_length(diagonal);
}
