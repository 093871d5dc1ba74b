// Sealed reduced model: basis, reduced mass, energy polynomial.  The result of the precomputation;
// immutable, shared by threads.
//
// u = U q with U the basis.  For a mass-orthonormal basis (M~ = U^T M U = I)
// coordinates are in kg^(1/2) m and reduced forces in N kg^(-1/2).
#ifndef RF_MODEL_REDUCED_MODEL_H
#define RF_MODEL_REDUCED_MODEL_H

#include <math.h>
#include <stdint.h>

#include "base/status.h"
#include "polynomial/polynomial.h"

typedef struct rf_reduced_basis rf_reduced_basis;

typedef struct rf_reduced {
  int32_t r;                 // reduced coordinates
  int32_t n_nodes;           // nodes of the basis' mesh
  const double *basis;       // U, coordinate by coordinate      (r, n_nodes, 3)
  rf_reduced_basis *shared;  // owner of the basis, shared by all models with this basis
  const double *reach;       // largest displacement of a node by each vector   (r)
  const double *turn;  // R of U = Q R with orthonormal columns of Q, row-major; (r, r) of the whole
                       // basis, which may have more vectors (turn_columns)
  int32_t turn_columns;
  double turned_reach;  // largest displacement of a node at |R q| = 1
  double length_m;      // diagonal of the bounding box of the nodes at rest; INFINITY: not known
  double *mass;         // M~, symmetric positive definite     (r, r)
  rf_polynomial *polynomial;
} rf_reduced;

// Copies and checks (finite, symmetric positive definite mass) the arrays of every model, computed
// or loaded, and seals it.  nodes (n_nodes, 3), nullable: positions at rest.
RF_MUST_CHECK rf_status rf_reduced_create(int32_t r, int32_t n_nodes, const double *nodes,
                                          const double *basis, const double *mass,
                                          const double *coefficient, rf_simd simd, rf_reduced **out,
                                          rf_error *err);
// Creates a model with the first r <= like->r vectors of another model's basis.  Takes ownership of
// the polynomial, also on failure.
RF_MUST_CHECK rf_status rf_reduced_create_like(const rf_reduced *like, const double *mass,
                                               rf_polynomial *polynomial, rf_reduced **out,
                                               rf_error *err);
// RF_ERR_SINGULAR, naming the first vector that depends on those before it, unless the reduced mass
// is symmetric positive definite.
RF_MUST_CHECK rf_status rf_reduced_check_mass(int32_t r, const double *mass, rf_error *err);
// Builds the model of a solid in the span of basis (r, n_nodes, 3).
RF_MUST_CHECK rf_status rf_reduced_build(const rf_solid *solid, const rf_run *run, int32_t r,
                                         const double *basis, rf_simd simd, rf_reduced **out,
                                         rf_error *err);
RF_MUST_CHECK rf_status rf_reduced_truncate(const rf_reduced *model, int32_t r_new,
                                            rf_reduced **out, rf_error *err);
void rf_reduced_free(rf_reduced *model);  // NULL is allowed

// Compute u = U q, (n_nodes, 3), and f~ = U^T f.
void rf_reduced_displacement(const rf_reduced *model, const double *q, double *u);
void rf_reduced_project(const rf_reduced *model, const double *force, double *reduced);

// Returns an upper bound of the displacement of any node at q, m.
double rf_reduced_farthest_rt(const rf_reduced *model, const double *q);

#endif
