// Sealed reduced model: basis, reduced mass, and the energy as a polynomial or by a cubature.  The
// result of the precomputation; immutable, shared by threads.
//
// u = U q with U the basis.  For a mass-orthonormal basis (M~ = U^T M U = I)
// coordinates are in kg^(1/2) m and reduced forces in N kg^(-1/2).
#ifndef RF_MODEL_REDUCED_MODEL_H
#define RF_MODEL_REDUCED_MODEL_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "cubature/cubature.h"
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
  // one of both
  rf_polynomial *polynomial;
  rf_cubature *cubature;
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
// Creates a model with a cubature, of which it takes ownership, also on failure.
RF_MUST_CHECK rf_status rf_reduced_create_sampled(int32_t n_nodes, const double *nodes,
                                                  const double *basis, const double *mass,
                                                  rf_cubature *cubature, rf_reduced **out,
                                                  rf_error *err);
// RF_ERR_SINGULAR, naming the first vector that depends on those before it, unless the reduced mass
// is symmetric positive definite.
RF_MUST_CHECK rf_status rf_reduced_check_mass(int32_t r, const double *mass, rf_error *err);
// Builds the model of a solid in the span of basis (r, n_nodes, 3); blocks as in
// rf_polynomial_build.
RF_MUST_CHECK rf_status rf_reduced_build(const rf_solid *solid, const rf_run *run, int32_t r,
                                         const double *basis, const double *blocks, rf_simd simd,
                                         rf_reduced **out, rf_error *err);
RF_MUST_CHECK rf_status rf_reduced_truncate(const rf_reduced *model, int32_t r_new,
                                            rf_reduced **out, rf_error *err);
void rf_reduced_free(rf_reduced *model);  // NULL is allowed

// Compute u = U q, (n_nodes, 3), and f~ = U^T f.
void rf_reduced_displacement(const rf_reduced *model, const double *q, double *u);
void rf_reduced_project(const rf_reduced *model, const double *force, double *reduced);

// Energy (1), force (r) and stiffness (r rows of ld) at q, each nullable, and the bytes of work
// memory of a call (64-byte aligned, need not be cleared).
void rf_reduced_evaluate_rt(const rf_reduced *model, const double *q, void *work, double *energy,
                            double *force, double *stiffness, int32_t ld);
// The same; with `definite` the stiffness of a model with a cubature is semidefinite, as
// rf_cubature_evaluate_rt says.  A polynomial has no points to project: its tangent stays true.
void rf_reduced_evaluate_as_rt(const rf_reduced *model, bool definite, const double *q, void *work,
                               double *energy, double *force, double *stiffness, int32_t ld);
size_t rf_reduced_work_bytes(const rf_reduced *model);
// RF_ERR_ARG, naming `subject`, unless the law of every point of a cubature is defined at q.
RF_MUST_CHECK rf_status rf_reduced_require_defined(const rf_reduced *model, const double *q,
                                                   const char *subject, rf_error *err);

static inline rf_simd rf_reduced_simd(const rf_reduced *model) {
  return model->polynomial ? model->polynomial->simd : model->cubature->simd;
}
// Returns the numbers that an evaluation reads.
static inline double rf_reduced_step_numbers(const rf_reduced *model) {
  if (model->polynomial) return (double)model->polynomial->count;
  return (double)model->cubature->n_batches * (double)model->cubature->batch_size;
}

// Returns an upper bound of the displacement of any node at q, m.
double rf_reduced_farthest_rt(const rf_reduced *model, const double *q);

#endif
