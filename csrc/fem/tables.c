// Integrals over the elements at rest.
#include "fem/tables.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "fem/constrained.h"
#include "fem/ghost.h"
#include "fem/shape.h"
#include "linalg/vec3.h"
#include "mesh/local.h"

// Tolerance of coordinates of translated elements, relative to their size.  It is also the error of
// the table they share; far from the origin, where rounding is larger, it grows up to a bound that
// is still negligible in all results.
static const double TRANSLATED = 1e-12;
static const double TRANSLATED_FAR = 1e-9;

enum { MOST_SHARED = 32 };  // shapes of elements of a graded mesh that share tables

static void corners(const rf_mesh *mesh, int32_t e, double *x) {
  const int nodes = (int)mesh->type;
  const int32_t *element = mesh->elements + (int64_t)e * nodes;
  for (int a = 0; a < nodes; ++a)
    memcpy(x + 3 * a, mesh->nodes + 3 * (int64_t)element[a], 3 * sizeof *x);
}

// True if element e is a translate of another one, up to rounding; farthest: largest coordinate of
// the mesh.
static bool is_translate(const rf_mesh *mesh, int32_t e, int32_t other, double farthest) {
  const int nodes = (int)mesh->type;
  double first[3 * RF_MAX_NODES], x[3 * RF_MAX_NODES], size = 0.0;
  corners(mesh, other, first);
  for (int a = 1; a < nodes; ++a)
    for (int i = 0; i < 3; ++i) size = fmax(size, fabs(first[3 * a + i] - first[i]));
  // a difference of four coordinates, each rounded relative to its distance from the origin
  const double tolerance =
      TRANSLATED * size + fmin(4.0 * DBL_EPSILON * farthest, TRANSLATED_FAR * size);
  corners(mesh, e, x);
  for (int a = 1; a < nodes; ++a)
    for (int i = 0; i < 3; ++i) {
      const double difference = (x[3 * a + i] - x[i]) - (first[3 * a + i] - first[i]);
      if (!(fabs(difference) <= tolerance)) return false;
    }
  return true;
}

static double farthest_of(const rf_mesh *mesh) {
  double farthest = 0.0;
  for (int64_t i = 0; i < 3 * (int64_t)mesh->n_nodes; ++i)
    farthest = fmax(farthest, fabs(mesh->nodes[i]));
  return farthest;
}

// True if all elements are translates of the first.
static bool all_congruent(const rf_mesh *mesh) {
  const double farthest = farthest_of(mesh);
  for (int32_t e = 1; e < mesh->n_elements; ++e)
    if (!is_translate(mesh, e, 0, farthest)) return false;
  return true;
}

// ---- points -----------------------------------------------------------------

// Returns the quadrature points of element e if it is cut; no points: it is whole.
static rf_points own_points(const rf_mesh *mesh, int32_t e) {
  const rf_rule *r = mesh->rule;
  if (!r) return (rf_points){0};
  const int64_t first = r->ptr[e];
  return (rf_points){(int32_t)(r->ptr[e + 1] - first), r->point + 3 * first, r->weight + first};
}

static rf_points points_of(const rf_mesh *mesh, int32_t e, const rf_standard_rule *standard) {
  const rf_points own = own_points(mesh, e);
  return own.count > 0 ? own : rf_shape_points(standard);
}

static rf_status allocate_points(rf_solid *s, int64_t count, rf_error *err) {
  rf_status st = RF_OK;
  RF_ALLOC(s->gradient, count * (int64_t)s->mesh->type * 3);
  RF_ALLOC(s->volume, count);
done:
  return st;
}

// True if elements share tables by `first_point`, which kernels of tetrahedra do not read.
static bool shares_some(const rf_solid *s) {
  return s->mesh->constraints && !s->congruent && !rf_element_is_tet(s->mesh->type);
}

// Cells of a graded mesh share a table with the translates of a few first ones: kernels take shared
// tables from the cache.  The others have tables of their own.
static rf_status share_points(rf_solid *s, rf_error *err) {
  rf_status st = RF_OK;
  const double farthest = farthest_of(s->mesh);
  int32_t first[MOST_SHARED], shared = 0;
  int64_t next = 0;
  RF_ALLOC(s->first_point, s->n_places);
  if (s->mesh->rule) RF_ALLOC(s->n_points, s->n_places);
  for (int32_t k = 0; k < s->n_places; ++k) {
    const int32_t e = s->visit[k];
    if (e < 0) continue;
    const int32_t own = own_points(s->mesh, e).count;
    if (s->n_points) s->n_points[k] = own > 0 ? own : s->n_gauss;
    if (own > 0) {
      s->first_point[k] = next;
      next += own;
      continue;
    }
    int32_t c = 0;
    while (c < shared && !is_translate(s->mesh, e, first[c], farthest)) ++c;
    s->first_point[k] = c < shared ? s->first_point[s->place[first[c]]] : next;
    if (c < shared) continue;
    next += s->n_gauss;
    if (shared < MOST_SHARED) first[shared++] = e;
  }
  st = allocate_points(s, next, err);
done:
  return st;
}

// Tables are stored in the order of `place`; congruent whole elements share the first.
static rf_status lay_out_points(rf_solid *s, const rf_standard_rule *standard, rf_error *err) {
  rf_status st = RF_OK;
  const int32_t n = s->n_places;
  if (shares_some(s)) return share_points(s, err);
  if (!s->mesh->rule)
    return allocate_points(s, (int64_t)standard->count * (s->congruent ? 1 : n), err);
  int64_t next = s->congruent ? standard->count : 0;
  RF_ALLOC(s->first_point, n);
  RF_ALLOC(s->n_points, n);
  for (int32_t k = 0; k < n; ++k) {
    const int32_t e = s->visit[k];
    if (e < 0) continue;
    const bool shares = s->congruent && own_points(s->mesh, e).count == 0;
    s->n_points[k] = points_of(s->mesh, e, standard).count;
    s->first_point[k] = shares ? 0 : next;
    if (!shares) next += s->n_points[k];
  }
  st = allocate_points(s, next, err);
done:
  return st;
}

static rf_status fill_points(rf_solid *s, const rf_standard_rule *standard, rf_error *err) {
  double x[3 * RF_MAX_NODES];
  bool shared = false;   // the table of the whole elements exists
  int64_t complete = 0;  // end of the tables of a graded mesh so far
  for (int32_t k = 0; k < s->n_places && shares_some(s); ++k) {
    if (s->visit[k] < 0 || s->first_point[k] < complete) continue;
    const rf_points points = points_of(s->mesh, s->visit[k], standard);
    complete = s->first_point[k] + points.count;
    corners(s->mesh, s->visit[k], x);
    const rf_status st =
        rf_shape_tables(s->mesh->type, points, x, s->visit[k],
                        s->gradient + s->first_point[k] * (int64_t)s->mesh->type * 3,
                        s->volume + s->first_point[k], NULL, err);
    if (st < 0) return st;
  }
  if (shares_some(s)) return RF_OK;
  for (int32_t e = 0; e < s->mesh->n_elements; ++e) {
    const int64_t first = rf_solid_first_at(s, s->place[e]);
    const bool shares = s->congruent && own_points(s->mesh, e).count == 0;
    if (shares && shared) continue;
    shared = shared || shares;
    corners(s->mesh, e, x);
    const rf_status st = rf_shape_tables(s->mesh->type, points_of(s->mesh, e, standard), x, e,
                                         s->gradient + first * (int64_t)s->mesh->type * 3,
                                         s->volume + first, NULL, err);
    if (st < 0) return st;
  }
  return RF_OK;
}

// ---- mass -------------------------------------------------------------------

// Integrals of N_a N_b, element by element in ascending order.
typedef struct products {
  const rf_solid *solid;
  rf_standard_rule rule;
  int32_t cut;  // cut elements visited so far
  bool known;   // the product of the congruent whole elements is known
  double whole[RF_MAX_NODES * RF_MAX_NODES], own[RF_MAX_NODES * RF_MAX_NODES];
} products;

static products begin_products(const rf_solid *s) {
  products p = {.solid = s};
  rf_shape_rule(s->mesh->type, rf_shape_mass_order(s->mesh->type, s->quadrature), &p.rule);
  return p;
}

// Computes the integrals of N_a N_b over a cut element from those in reference coordinates.
static void scale_own_product(products *p, int32_t e) {
  const rf_mesh *mesh = p->solid->mesh;
  const int nodes = (int)mesh->type;
  const double *from = mesh->rule->product + (int64_t)p->cut++ * (nodes * (nodes + 1) / 2);
  double x[RF_MAX_NODES][3];
  const double centre[3] = {0.0, 0.0, 0.0};
  rf_local at;
  corners(mesh, e, x[0]);
  rf_local_map(mesh->type, (const double(*)[3])x, centre, &at);
  const double det = rf_vec3_det(at.j[0], at.j[1], at.j[2]);
  for (int a = 0; a < nodes; ++a)
    for (int b = a; b < nodes; ++b) p->own[nodes * a + b] = p->own[nodes * b + a] = det * *from++;
}

static rf_status next_product(products *p, int32_t e, const double **product, rf_error *err) {
  const rf_mesh *mesh = p->solid->mesh;
  double x[3 * RF_MAX_NODES];
  *product = p->whole;
  if (own_points(mesh, e).count > 0) {
    scale_own_product(p, e);
    *product = p->own;
    return RF_OK;
  }
  if (p->known) return RF_OK;
  p->known = p->solid->congruent;
  corners(mesh, e, x);
  return rf_shape_tables(mesh->type, rf_shape_points(&p->rule), x, e, NULL, NULL, p->whole, err);
}

// Computes row sums of the mass.  Those of second-order elements are negative at corners: there
// each element distributes its mass in proportion to the diagonal (Hinton, Rock, Zienkiewicz 1976).
static void lump_row_sums(rf_solid *s) {
  for (int32_t i = 0; i < s->mesh->n_nodes; ++i)
    for (int32_t p = s->graph.ptr[i]; p < s->graph.ptr[i + 1]; ++p) s->lumped[i] += s->mass[p];
}

static void lump_diagonal(rf_solid *s, int32_t e, double density, const double *product) {
  const int nodes = (int)s->mesh->type;
  double whole = 0.0, diagonal = 0.0;
  for (int k = 0; k < nodes * nodes; ++k) whole += product[k];
  for (int a = 0; a < nodes; ++a) diagonal += product[(nodes + 1) * a];
  for (int a = 0; a < nodes; ++a)
    s->lumped[s->mesh->elements[(int64_t)e * nodes + a]] +=
        density * whole * (product[(nodes + 1) * a] / diagonal);
}

// Adds the symmetric product of element e to the entries of its pairs of nodes.
static void add_product(const rf_solid *s, int32_t e, double factor, const double *product,
                        double *mass) {
  const int nodes = (int)s->mesh->type;
  for (int a = 0; a < nodes; ++a)
    for (int b = a; b < nodes; ++b) {
      const int32_t upper = s->upper[rf_solid_upper_at(s, s->place[e], a, b)];
      const int32_t entry = upper < 0 ? ~upper : upper;
      mass[entry] += factor * product[nodes * a + b];
      if (a < b) mass[s->mirror[entry]] += factor * product[nodes * a + b];
    }
}

static rf_status build_mass(rf_solid *s, rf_error *err) {
  rf_status st = RF_OK;
  const rf_mesh *mesh = s->mesh;
  const int nodes = (int)mesh->type;
  products all = begin_products(s);
  RF_ALLOC(s->mass, s->graph.ptr[mesh->n_nodes]);
  RF_ALLOC(s->lumped, mesh->n_nodes);
  for (int32_t e = 0; e < mesh->n_elements; ++e) {
    const double *product, density = s->material[s->element_material[e]].density;
    RF_TRY(next_product(&all, e, &product, err));
    // shape functions sum to one; the sum of weights is less accurate for curved edges
    for (int k = 0; k < nodes * nodes; ++k) s->total_volume += product[k];
    add_product(s, e, density, product, s->mass);
    if (rf_element_is_quadratic(mesh->type)) lump_diagonal(s, e, density, product);
  }
  if (!rf_element_is_quadratic(mesh->type)) lump_row_sums(s);
done:
  return st;
}

static rf_status add_ghost_volume(const rf_solid *s, int32_t material, double *mass,
                                  rf_error *err) {
  rf_status st = RF_OK;
  const int32_t entries = s->graph.ptr[s->mesh->n_nodes];
  double *density = NULL, *ghost = NULL;
  if (!s->ghost_mate) return RF_OK;
  RF_ALLOC(density, s->n_materials);
  RF_ALLOC(ghost, entries);
  density[material] = 1.0;
  RF_TRY(rf_solid_ghost_mass(s, density, ghost, err));
  for (int32_t p = 0; p < entries; ++p) mass[p] += ghost[p];
done:
  rf_free(density);
  rf_free(ghost);
  return st;
}

static rf_status volume_of_elements(const rf_solid *elements, const void *material, double *mass,
                                    rf_error *err) {
  return rf_solid_material_volume(elements, *(const int32_t *)material, mass, err);
}

rf_status rf_solid_material_volume(const rf_solid *s, int32_t material, double *mass,
                                   rf_error *err) {
  const rf_mesh *mesh = s->mesh;
  if (s->constrained) return rf_constrained_numbers(s, volume_of_elements, &material, mass, err);
  products all = begin_products(s);
  memset(mass, 0, (size_t)s->graph.ptr[mesh->n_nodes] * sizeof *mass);
  for (int32_t e = 0; e < mesh->n_elements; ++e) {
    const double *product;
    const rf_status st = next_product(&all, e, &product, err);
    if (st < 0) return st;
    if (s->element_material[e] != material) continue;
    add_product(s, e, 1.0, product, mass);
  }
  return add_ghost_volume(s, material, mass, err);
}

rf_status rf_solid_build_tables(rf_solid *s, rf_error *err) {
  rf_status st = RF_OK;
  rf_standard_rule standard;
  rf_shape_rule(s->mesh->type, s->quadrature, &standard);
  s->n_gauss = standard.count;
  s->congruent = all_congruent(s->mesh);
  RF_TRY(lay_out_points(s, &standard, err));
  RF_TRY(fill_points(s, &standard, err));
  RF_TRY(build_mass(s, err));
done:
  return st;
}
