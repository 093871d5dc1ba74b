// An elastic solid on a mesh: mass, energy, internal force, tangent, second derivative at rest.
//
//   F = I + grad u,  P = dW/dF by the law of the material (material/law.h)
//   R_a = int P grad(phi_a) dV = dU/du_a,  U = int W dV,  K = dR/du
//
// (B07 2.1).  Vectors over the mesh are (n_nodes, 3), DOF = 3 node + axis.
// Matrices over pairs of adjacent nodes share one pattern, rf_solid.graph: the mass has one number
// per pair (times the 3x3 identity), the tangent a row-major 3x3 block per pair.  Both triangles
// are stored.
//
// Assembly is "owner computes": each thread owns a slab of nodes and visits all elements touching
// it in one fixed order (rf_solid.visit), so every sum has the same order and the result the same
// bits for any number of threads.  The order follows a space-filling curve, so that the targets of
// the sums stay in the cache; tables of element data use that order: element e has place[e], place
// k is element visit[k]. Kernels process batches of places, one element per SIMD lane, and all
// elements of a batch have one law: where laws mix, each element joins the open batch of its law,
// and batches are ordered by their first element.  A batch that is not full has its unused places
// at its end.  Kernels for different instruction sets (rf_solid.simd) differ in rounding only.
//
// Elements may be inverted if their law is defined there (law.h); else energies and forces are NaN.
// Rejected are materials that are not elliptic at rest and elements whose Jacobian is not positive
// at a quadrature point.
#ifndef RF_FEM_FEM_H
#define RF_FEM_FEM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "linalg/cholesky.h"
#include "linalg/csc.h"
#include "linalg/simd.h"
#include "material/law.h"
#include "mesh/mesh.h"

typedef struct rf_material {
  const rf_law *law;
  double parameter[RF_LAW_PARAMETERS];  // as law->facts->parameters says
  double density;                       // kg/m^3
} rf_material;

enum { RF_BOX_FACES = 6 };

// Adjacency of nodes, including the node itself; columns ascending within a row.
typedef struct rf_graph {
  int32_t n;
  int32_t *ptr;  // (n + 1)
  int32_t *col;  // (ptr[n])
} rf_graph;

typedef struct rf_constrained rf_constrained;  // fem/constrained.h

typedef struct rf_solid {
  const rf_mesh *mesh;  // borrowed: must outlive the solid
  // NULL without constrained nodes.  With them, `graph`, `diagonal`, `mirror`, `mass` and `lumped`
  // are those of T^T A T, with zeros at constrained nodes, and `upper` is NULL.
  rf_constrained *constrained;
  int32_t quadrature;         // order of the standard rule, see fem/shape.h
  int32_t n_gauss;            // points of the standard rule
  bool congruent;             // all elements are translates of the first: whole ones share a table
  int64_t *first_point;       // of each element in the tables; NULL: 0 or place * n_gauss (places)
  int32_t *n_points;          // of each element; NULL: n_gauss     (places)
  double *gradient;           // shape function gradients, 1/m    (points, nodes, 3)
  double *volume;             // weight times Jacobian, m^3        (points)
  rf_material *material;      // (n_materials)
  int32_t *element_material;  // index into material        (n_elements)
  int32_t n_materials;
  rf_graph graph;
  // Stiffness of the ghost penalty (fem/ghost.h), one number times the identity per pair of nodes;
  // all NULL without cut cells.
  int32_t *ghost_mate;   // element across each face, -1: no penalty there (n_elements, 6)
  int32_t *ghost_ptr;    // range of a row in the arrays below   (n + 1)
  int32_t *ghost_entry;  // entry of graph.col                      (ghost_ptr[n])
  double *ghost_value;   // N/m                                     (ghost_ptr[n])
  int32_t *diagonal;     // entry (i,i)                         (n_nodes)
  int32_t *mirror;       // entry (j,i) of each entry (i,j)      (graph.ptr[n])
  // Entry of graph.col for each pair a <= b of an element's nodes: that of (a, b) or, if (b, a) is
  // above the diagonal, the complement ~ of that entry; unused lanes repeat the element before
  int32_t *upper;       // (places / lanes, pairs, lanes)
  double *mass;         // consistent mass, kg                 (graph.ptr[n])
  double *lumped;       // lumped mass of the nodes, positive, kg (n_nodes)
  double total_volume;  // m^3
  int32_t n_fixed, n_free;
  int32_t *fixed;    // fixed nodes, ascending              (n_fixed)
  int32_t *free;     // the others, less the constrained ones, ascending (n_free)
  int32_t *free_of;  // index in `free`, -1 when fixed, -2 when constrained (n_nodes)
  int32_t *rank;     // position of a node along the curve   (n_nodes)
  int32_t *by_rank;  // node at each position                (n_nodes)
  int32_t n_places;  // a multiple of the lanes
  int32_t *visit;    // element at each place, -1: unused      (places)
  int32_t *place;    // position of each element in `visit`  (n_elements)
  int32_t *corners;  // node indices of the elements           (places, nodes)
  int32_t *rank_lo;  // smallest rank of their nodes           (places)
  int32_t *rank_hi;  // largest                                (places)
  rf_simd simd;      // resolved: never RF_SIMD_BEST
} rf_solid;

typedef struct rf_solid_settings {
  const rf_material *material;  // (n_materials)
  int32_t n_materials;
  const int32_t *element_material;  // (n_elements)
  const int32_t *fixed;             // distinct node indices in any order (n_fixed); constrained
                                    // ones only with all their masters: they are left out
  int32_t n_fixed;
  int32_t quadrature;  // order: 2 or 3, see fem/shape.h; ignored for tets of four nodes
  rf_simd simd;        // must be available on this processor
} rf_solid_settings;

RF_MUST_CHECK rf_status rf_solid_create(const rf_mesh *mesh, const rf_solid_settings *set,
                                        const rf_run *run, rf_solid **out, rf_error *err);
void rf_solid_free(rf_solid *solid);  // NULL is allowed

// RF_ERR_ARG unless all laws are quadratic in Green's strain, which `needs` (the subject of the
// message) relies on: then forces are cubic polynomials of u.
RF_MUST_CHECK rf_status rf_solid_require_quadratic(const rf_solid *solid, const char *needs,
                                                   rf_error *err);
bool rf_solid_is_quadratic(const rf_solid *solid);

// Returns the number of elements that the kernels process together: those at consecutive places
// from a multiple of this number on.
static inline int rf_solid_lanes(const rf_solid *s) {
  return s->simd == RF_SIMD_AVX512 ? 8 : s->simd == RF_SIMD_AVX2 ? 4 : 2;
}
// Returns the index in `upper` of the pair a <= b of the element at a place.
static inline int64_t rf_solid_upper_at(const rf_solid *s, int64_t place, int a, int b) {
  const int nodes = (int)s->mesh->type, lanes = rf_solid_lanes(s);
  const int64_t pairs = nodes * (nodes + 1) / 2, pair = a * nodes - a * (a - 1) / 2 + b - a;
  return (place / lanes * pairs + pair) * lanes + place % lanes;
}

// Return the number of quadrature points of the element at a place, and the first of them in the
// tables.
static inline int32_t rf_solid_points_at(const rf_solid *s, int32_t place) {
  return s->n_points ? s->n_points[place] : s->n_gauss;
}
static inline int64_t rf_solid_first_at(const rf_solid *s, int32_t place) {
  if (s->first_point) return s->first_point[place];
  return s->congruent ? 0 : (int64_t)place * s->n_gauss;
}

// The same for element e, and pointers to its gradients and volumes in the tables.
static inline int32_t rf_solid_points(const rf_solid *s, int32_t e) {
  return rf_solid_points_at(s, s->place[e]);
}
static inline const double *rf_solid_gradient(const rf_solid *s, int32_t e) {
  return s->gradient + rf_solid_first_at(s, s->place[e]) * (int64_t)s->mesh->type * 3;
}
static inline const double *rf_solid_volume(const rf_solid *s, int32_t e) {
  return s->volume + rf_solid_first_at(s, s->place[e]);
}

// Computes energy (1), force (n,3) and tangent blocks (graph.ptr[n], 3, 3), each unless NULL. u
// NULL means rest.  Values of u at constrained nodes are not used: these follow their masters.
RF_MUST_CHECK rf_status rf_solid_evaluate(const rf_solid *solid, const rf_run *run, const double *u,
                                          double *energy, double *force, double *tangent,
                                          rf_error *err);
// Kinds of tangents, to be combined.
enum {
  // Blocks below the diagonal (column below row) are unspecified, and those on it are symmetric
  // only up to rounding: factorizations read the upper triangle only (rf_solid_free_fill).
  RF_TANGENT_UPPER = 1,
  // The Hessian d2W/dF2 of each quadrature point becomes the nearest positive semidefinite matrix
  // (Frobenius norm), by raising negative eigenvalues to zero, so that the sum is semidefinite up
  // to rounding.  Elements without negative eigenvalues keep their bits; eigenvalues above -1e-13
  // of the largest entry count as zero.  Energy and force are not affected.
  RF_TANGENT_DEFINITE = 2
};
// The same with the tangent of a kind.
RF_MUST_CHECK rf_status rf_solid_evaluate_as(const rf_solid *solid, const rf_run *run,
                                             unsigned kind, const double *u, double *energy,
                                             double *force, double *tangent, rf_error *err);

// The same with RF_TANGENT_UPPER.
RF_MUST_CHECK rf_status rf_solid_evaluate_upper(const rf_solid *solid, const rf_run *run,
                                                const double *u, double *energy, double *force,
                                                double *tangent, rf_error *err);

// Strain-rate damping f = D(u) v, S_D = phi tr(E') I + 2 psi E' (B07 2.34 to 2.38).  viscosity:
// phi and psi of each material, Pa s (n_materials, 2).  Any output may be NULL: power v.f (1),
// force (n,3), blocks of D (graph.ptr[n], 3, 3), symmetric and, if rf_viscosity_check passes,
// positive semidefinite.  u NULL means rest, v NULL zero.
RF_MUST_CHECK rf_status rf_viscosity_check(int32_t n_materials, const double *viscosity,
                                           rf_error *err);
RF_MUST_CHECK rf_status rf_solid_damping(const rf_solid *solid, const rf_run *run,
                                         const double *viscosity, const double *u, const double *v,
                                         double *power, double *force, double *matrix,
                                         rf_error *err);

// Computes out_p = (H:a_p) b_p at rest for n_products pairs, each (n,3), in which constrained nodes
// follow their masters:
// int d2P/ds dt (1 + s grad a + t grad b) grad(phi) dV.
RF_MUST_CHECK rf_status rf_solid_hessian_product(const rf_solid *solid, const rf_run *run,
                                                 int32_t n_products, const double *const *a,
                                                 const double *const *b, double *const *out,
                                                 rf_error *err);

// Computes the consistent mass of the elements of one material at density 1, on the pattern of
// solid->mass: (graph.ptr[n]).
RF_MUST_CHECK rf_status rf_solid_material_volume(const rf_solid *solid, int32_t material,
                                                 double *mass, rf_error *err);

// Computes y = M x and y = K x for n_vectors vectors (n_vectors, n, 3).
RF_MUST_CHECK rf_status rf_solid_mass_multiply(const rf_solid *solid, const rf_run *run,
                                               int32_t n_vectors, const double *x, double *y,
                                               rf_error *err);
RF_MUST_CHECK rf_status rf_solid_block_multiply(const rf_solid *solid, const rf_run *run,
                                                const double *blocks, int32_t n_vectors,
                                                const double *x, double *y, rf_error *err);

// Computes y = K x for groups of vectors side by side, (groups, n, 3, RF_SOLID_LANES): K is read
// once a group.
enum { RF_SOLID_LANES = 8 };
RF_MUST_CHECK rf_status rf_solid_block_multiply_lanes(const rf_solid *solid, const rf_run *run,
                                                      const double *blocks, int32_t groups,
                                                      const double *x, double *y, rf_error *err);

// Lower triangle over the free DOFs of a M + B, with B given as tangent blocks (nullable: zero).
// `_pattern` allocates, `_fill` only writes values, so that a factor can be reused.
RF_MUST_CHECK rf_status rf_solid_free_pattern(const rf_solid *solid, rf_csc *lower, rf_error *err);
void rf_solid_free_fill(const rf_solid *solid, double mass_factor, const double *blocks,
                        rf_csc *lower);
// Allocates the rest positions of the free nodes (n_free, 3); the caller frees them.
RF_MUST_CHECK rf_status rf_solid_free_points(const rf_solid *solid, double **out, rf_error *err);
// Analyses such a matrix, or a scalar one over the free nodes, for factors, with the places of its
// unknowns.
RF_MUST_CHECK rf_status rf_solid_factor_create(const rf_solid *solid, const rf_csc *lower,
                                               rf_cholesky **out, rf_error *err);
// Creates the lower triangle of the scalar mass matrix over the free nodes (n_free x n_free).
RF_MUST_CHECK rf_status rf_solid_free_mass(const rf_solid *solid, rf_csc *lower, rf_error *err);
// Create whole 3n x 3n matrices, fixed DOFs included, for export.
RF_MUST_CHECK rf_status rf_solid_full_mass(const rf_solid *solid, bool lumped, rf_csc *out,
                                           rf_error *err);
RF_MUST_CHECK rf_status rf_solid_full_tangent(const rf_solid *solid, const double *blocks,
                                              rf_csc *out, rf_error *err);

// Convert between (n,3) vectors over all nodes and (n_free,3) vectors over the free ones.  Scatter
// moves constrained nodes with their masters, so it is for displacements.
void rf_solid_gather(const rf_solid *solid, const double *all, double *free);
void rf_solid_scatter(const rf_solid *solid, const double *free, double *all);  // zeros at fixed

// RF_ERR_MESH with an explanation when a connected part of the mesh is held by fewer than three
// non-collinear fixed nodes: its stiffness would be singular.
RF_MUST_CHECK rf_status rf_solid_require_held(const rf_solid *solid, rf_error *err);
// RF_ERR_MESH when a free solid has zero-energy motions other than those of one rigid body.
RF_MUST_CHECK rf_status rf_solid_require_one_piece(const rf_solid *solid, rf_error *err);

// Computes the largest eigenvalue lambda of B x = lambda M x over the free DOFs, B given as
// symmetric tangent blocks: by Lanczos' method, at most lambda up to rounding and within the
// relative error `tol` of an eigenvalue; and, for the lumped mass, an upper bound, which needs no
// iteration to converge.  RF_ERR_NO_CONVERGENCE: `tol` is too small.
RF_MUST_CHECK rf_status rf_solid_highest(const rf_solid *solid, const rf_run *run,
                                         const double *blocks, bool lumped, double tol,
                                         double *value, rf_error *err);
RF_MUST_CHECK rf_status rf_solid_highest_bound(const rf_solid *solid, const rf_run *run,
                                               const double *blocks, double *value, rf_error *err);

// Returns the factor of u at which the largest Green strain at a quadrature point (|E|, Frobenius)
// is `strain`; INFINITY without a displacement gradient.
double rf_solid_strain_factor(const rf_solid *solid, const double *u, double strain);

// Computes means over elements, each unless NULL: of Green's strain E = (F^T F - I)/2 over the rest
// volume (n_elements, 3, 3); of Cauchy's stress sigma = P F^T / det F, Pa, over the deformed
// volume, int P F^T dV / int det F dV (n_elements, 3, 3), without ghost penalties; and von Mises'
// stress of that mean, Pa (n_elements).  RF_ERR_ARG where sigma is not defined.
RF_MUST_CHECK rf_status rf_solid_measures(const rf_solid *solid, const rf_run *run, const double *u,
                                          double *strain, double *stress, double *mises,
                                          rf_error *err);

// Returns the number of elements with det F <= 0 at one of their quadrature points.
int32_t rf_solid_inverted(const rf_solid *solid, const double *u);
// RF_ERR_ARG unless the laws of all elements are defined at u; the text names `subject` (that makes
// it so) and the first element.
RF_MUST_CHECK rf_status rf_solid_require_defined(const rf_solid *solid, const double *u,
                                                 const char *subject, rf_error *err);
// RF_ERR_MESH if u turns an element inside out, where Cauchy's stress is not defined.
RF_MUST_CHECK rf_status rf_solid_require_upright(const rf_solid *solid, const double *u,
                                                 rf_error *err);

#endif
