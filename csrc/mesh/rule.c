#include "mesh/rule.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "linalg/vec3.h"
#include "mesh/mesh.h"
#include "mesh/reference.h"

static const double BEYOND = 1e-9;   // rounding allowance of the reference cube
static const double UNEQUAL = 1e-5;  // in edges: largest difference between corners of equal boxes
static const double UNLIKE = 1e-9;   // relative difference allowed between two integrals of a rule

void rf_rule_free(rf_rule *rule) {
  if (!rule) return;
  rf_free(rule->ptr);
  rf_free(rule->point);
  rf_free(rule->weight);
  rf_free(rule->product);
  rf_free(rule);
}

int32_t rf_mesh_cut_count(const rf_mesh *mesh) {
  int32_t count = 0;
  for (int32_t e = 0; mesh->rule && e < mesh->n_elements; ++e)
    count += mesh->rule->ptr[e + 1] > mesh->rule->ptr[e];
  return count;
}

static bool is_cut(const rf_rule *r, int32_t e) { return r && r->ptr[e + 1] > r->ptr[e]; }

int32_t rf_mesh_first_cut(const rf_mesh *mesh) {
  int32_t e = 0;
  while (e < mesh->n_elements && !is_cut(mesh->rule, e)) ++e;
  return e < mesh->n_elements ? e : 0;
}

double rf_mesh_fraction(const rf_mesh *mesh, int32_t e) {
  const rf_rule *r = mesh->rule;
  if (!r || r->ptr[e + 1] == r->ptr[e]) return 1.0;
  double sum = 0.0;
  for (int64_t p = r->ptr[e]; p < r->ptr[e + 1]; ++p) sum += r->weight[p];
  return sum / 8.0;
}

static rf_status check_pointers(const rf_mesh *mesh, const int64_t *ptr, int64_t n_points,
                                rf_error *err) {
  if (ptr[0] != 0 || ptr[mesh->n_elements] != n_points)
    return rf_fail(err, RF_ERR_ARG, "rule: ptr goes from %lld to %lld; it must from 0 to %lld",
                   (long long)ptr[0], (long long)ptr[mesh->n_elements], (long long)n_points);
  for (int32_t e = 0; e < mesh->n_elements; ++e)
    if (!(ptr[e + 1] >= ptr[e] && ptr[e + 1] <= n_points && ptr[e + 1] - ptr[e] <= INT32_MAX / 64))
      return rf_fail(err, RF_ERR_ARG, "rule: the points of element %d end at %lld", (int)e,
                     (long long)ptr[e + 1]);
  return RF_OK;
}

static rf_status check_points(const rf_rule *r, int64_t n_points, rf_error *err) {
  for (int64_t p = 0; p < n_points; ++p) {
    const double *x = r->point + 3 * p;
    for (int i = 0; i < 3; ++i)
      if (!(fabs(x[i]) <= 1.0 + BEYOND))
        return rf_fail(err, RF_ERR_ARG, "rule: point %lld is at (%g, %g, %g); allowed are -1 to 1",
                       (long long)p, x[0], x[1], x[2]);
    if (!(r->weight[p] > 0.0 && r->weight[p] <= 8.0 * (1.0 + BEYOND)))
      return rf_fail(err, RF_ERR_ARG, "rule: weight %lld is %g; allowed is above 0 and up to 8",
                     (long long)p, r->weight[p]);
  }
  return RF_OK;
}

static rf_status check_products(const rf_mesh *mesh, const double *product, int64_t n_products,
                                rf_error *err) {
  const int64_t pairs = (int64_t)mesh->type * ((int64_t)mesh->type + 1) / 2;
  if (n_products != pairs * rf_mesh_cut_count(mesh))
    return rf_fail(err, RF_ERR_ARG, "rule: %lld products do not fit %d cut elements",
                   (long long)n_products, (int)rf_mesh_cut_count(mesh));
  for (int64_t k = 0; k < n_products; ++k)
    if (!(fabs(product[k]) <= 8.0 * (1.0 + BEYOND)))
      return rf_fail(err, RF_ERR_ARG, "rule: product %lld is %g; no product is above 8",
                     (long long)k, product[k]);
  return RF_OK;
}

// Points and products of an element must give the same integral of each shape function, and at most
// that of a whole cube.
static rf_status check_moments(const rf_mesh *mesh, const rf_rule *r, int32_t e,
                               const double *product, rf_error *err) {
  const int nodes = (int)mesh->type;
  double of_points[RF_MAX_NODES] = {0}, of_products[RF_MAX_NODES] = {0}, total = 0.0;
  for (int64_t p = r->ptr[e]; p < r->ptr[e + 1]; ++p) {
    double shape[RF_MAX_NODES], unused[RF_MAX_NODES][3];
    rf_reference_shape(mesh->type, r->point + 3 * p, shape, unused);
    total += r->weight[p];
    for (int a = 0; a < nodes; ++a) of_points[a] += r->weight[p] * shape[a];
  }
  if (!(total <= 8.0 * (1.0 + BEYOND)))
    return rf_fail(err, RF_ERR_ARG, "rule: the weights of element %d sum to %g; allowed is up to 8",
                   (int)e, total);
  for (int a = 0; a < nodes; ++a)
    for (int b = a; b < nodes; ++b, ++product) {
      if (a == b && !(*product >= 0.0))
        return rf_fail(err, RF_ERR_ARG, "rule: the square of shape function %d of element %d is %g",
                       a, (int)e, *product);
      of_products[a] += *product;
      if (a != b) of_products[b] += *product;
    }
  for (int a = 0; a < nodes; ++a)
    if (!(fabs(of_products[a] - of_points[a]) <= UNLIKE * total))
      return rf_fail(err, RF_ERR_ARG,
                     "rule: shape function %d of element %d is %g by products and %g by points", a,
                     (int)e, of_products[a], of_points[a]);
  return RF_OK;
}

static rf_status check_all_moments(const rf_mesh *mesh, const rf_rule *r, rf_error *err) {
  const int64_t pairs = (int64_t)mesh->type * ((int64_t)mesh->type + 1) / 2;
  const double *product = r->product;
  for (int32_t e = 0; e < mesh->n_elements; ++e) {
    if (r->ptr[e + 1] == r->ptr[e]) continue;
    const rf_status st = check_moments(mesh, r, e, product, err);
    if (st < 0) return st;
    product += pairs;
  }
  return RF_OK;
}

// Computes the vector from the first node of element e to node a.
static void way_to(const rf_mesh *mesh, int32_t e, int a, double way[3]) {
  const int32_t *element = mesh->elements + (size_t)mesh->type * (size_t)e;
  const double *from = mesh->nodes + 3 * (size_t)element[0];
  const double *to = mesh->nodes + 3 * (size_t)element[a];
  for (int i = 0; i < 3; ++i) way[i] = to[i] - from[i];
}

// Computes the position of a node of the reference cube.
static void reference_node(int a, double xi[3]) {
  const double *c = RF_HEX_CORNER[a < 8 ? a : RF_HEX_EDGE[a - 8][0]];
  const double *d = RF_HEX_CORNER[a < 8 ? a : RF_HEX_EDGE[a - 8][1]];
  for (int k = 0; k < 3; ++k) xi[k] = 0.5 * (c[k] + d[k]);
}

// Returns the size of element e over that of a box with this edge, to a power of two.
static double scale_of(const rf_mesh *mesh, int32_t e, const double edge[3]) {
  double way[3];
  way_to(mesh, e, 1, way);
  return exp2(round(0.5 * log2(rf_vec3_dot(way, way) / rf_vec3_dot(edge, edge))));
}

// Requires equal boxes: cut cells are coupled across faces, whose normals and sizes must agree.
// Whole ones may be larger by powers of two, as in graded meshes and parts of these: they share no
// face of four nodes with smaller ones.
static rf_status check_boxes(const rf_mesh *mesh, const rf_rule *rule, rf_error *err) {
  double edge[3][3], size = 0.0, way[3], xi[3];
  static const int ALONG[3] = {1, 3, 4};
  int32_t first = 0;
  while (first + 1 < mesh->n_elements && !is_cut(rule, first)) ++first;
  if (!(mesh->type == RF_HEX8 || mesh->type == RF_HEX20))
    return rf_fail(err, RF_ERR_MESH, "only hexahedra can be cut, not elements of %d nodes",
                   (int)mesh->type);
  for (int k = 0; k < 3; ++k) {
    way_to(mesh, first, ALONG[k], edge[k]);
    for (int i = 0; i < 3; ++i) size = fmax(size, fabs(edge[k][i]));
  }
  for (int32_t e = 0; e < mesh->n_elements; ++e) {
    const bool may_differ = !is_cut(rule, e);
    const double scale = may_differ ? scale_of(mesh, e, edge[0]) : 1.0;
    for (int a = 0; a < (int)mesh->type; ++a) {
      way_to(mesh, e, a, way);
      reference_node(a, xi);
      for (int i = 0; i < 3; ++i) {
        double expected = 0.0;
        for (int k = 0; k < 3; ++k) expected += 0.5 * (1.0 + xi[k]) * scale * edge[k][i];
        if (!(fabs(way[i] - expected) <= UNEQUAL * scale * size))
          return rf_fail(err, RF_ERR_MESH,
                         "element %d differs from element %d: cut cells need equal boxes", (int)e,
                         (int)first);
      }
    }
  }
  return RF_OK;
}

rf_status rf_mesh_set_rule(rf_mesh *mesh, const rf_rule *from, int64_t n_points, int64_t n_products,
                           rf_error *err) {
  rf_status st = RF_OK;
  RF_TRY(check_pointers(mesh, from->ptr, n_points, err));
  RF_TRY(check_boxes(mesh, from, err));
  RF_TRY(check_points(from, n_points, err));
  RF_ALLOC(mesh->rule, 1);
  RF_ALLOC(mesh->rule->ptr, (int64_t)mesh->n_elements + 1);
  memcpy(mesh->rule->ptr, from->ptr, ((size_t)mesh->n_elements + 1) * sizeof *from->ptr);
  RF_TRY(rf_mesh_check_cut_nodes(mesh, err));
  RF_TRY(check_products(mesh, from->product, n_products, err));
  RF_TRY(check_all_moments(mesh, from, err));
  RF_ALLOC(mesh->rule->point, 3 * n_points);
  RF_ALLOC(mesh->rule->weight, n_points);
  RF_ALLOC(mesh->rule->product, n_products);
  memcpy(mesh->rule->point, from->point, 3 * (size_t)n_points * sizeof *from->point);
  memcpy(mesh->rule->weight, from->weight, (size_t)n_points * sizeof *from->weight);
  memcpy(mesh->rule->product, from->product, (size_t)n_products * sizeof *from->product);
done:
  return st;
}

rf_status rf_mesh_check_cut_nodes(const rf_mesh *mesh, rf_error *err) {
  if (!mesh->constraints || !mesh->rule) return RF_OK;
  for (int32_t e = 0; e < mesh->n_elements; ++e)
    for (int a = 0; is_cut(mesh->rule, e) && a < (int)mesh->type; ++a) {
      const int32_t node = mesh->elements[(int64_t)e * (int64_t)mesh->type + a];
      if (rf_constraints_find(mesh->constraints, node) >= 0)
        return rf_fail(err, RF_ERR_MESH,
                       "node %d of the cut element %d is constrained: only whole elements may have "
                       "such nodes, as voxelize(..., graded=) makes them",
                       node, (int)e);
    }
  return RF_OK;
}

rf_status rf_mesh_copy_rule(const rf_mesh *from, rf_mesh *to, rf_error *err) {
  rf_status st = RF_OK;
  const rf_rule *r = from->rule;
  if (!r) return RF_OK;
  const int64_t points = r->ptr[from->n_elements];
  const int64_t pairs = (int64_t)from->type * ((int64_t)from->type + 1) / 2;
  RF_TRY(rf_mesh_set_rule(to, r, points, pairs * rf_mesh_cut_count(from), err));
done:
  return st;
}
