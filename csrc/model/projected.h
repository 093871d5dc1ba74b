// A solid projected on a basis and evaluated directly, by its unreduced forces,
//   R~(q) = U^T R(U q),  K~(q) = U^T K(U q) U                      (B07 2.23, 2.25).
//
// The same functions of q as the polynomials of reduced_model.h; the cost grows with the mesh, but
// only as r^2 instead of r^4. For bases of more than about sixty vectors, whose polynomials would
// be too large (B07 2.13.2). Not real-time code.
#ifndef RF_MODEL_PROJECTED_H
#define RF_MODEL_PROJECTED_H

#include <stdint.h>

#include "base/status.h"
#include "fem/fem.h"

enum { RF_PROJECTED_MAX_R = 1024 };

typedef struct rf_projected {
  const rf_solid *solid;  // borrowed: must outlive this
  int32_t r;              // reduced coordinates
  int32_t ld;             // r, rounded up for vector kernels
  double *rows;           // U, one row per DOF, zero beyond r          (n_nodes, 3, ld)
  double *mass;           // M~, symmetric positive definite       (r, r)
} rf_projected;

// Copies and checks the basis: finite, independent vectors that vanish at fixed nodes.
RF_MUST_CHECK rf_status rf_projected_create(const rf_solid *solid, const rf_run *run, int32_t r,
                                            const double *basis, rf_projected **out, rf_error *err);
void rf_projected_free(rf_projected *model);  // NULL is allowed

// Compute u = U q, (n_nodes, 3), and f~ = U^T f.
RF_MUST_CHECK rf_status rf_projected_displacement(const rf_projected *model, const rf_run *run,
                                                  const double *q, double *u, rf_error *err);
RF_MUST_CHECK rf_status rf_projected_project(const rf_projected *model, const rf_run *run,
                                             const double *force, double *reduced, rf_error *err);

// Scratch of evaluations, for one thread at a time.
typedef struct rf_projected_work rf_projected_work;
RF_MUST_CHECK rf_status rf_projected_work_create(const rf_projected *model, rf_projected_work **out,
                                                 rf_error *err);
void rf_projected_work_free(rf_projected_work *work);  // NULL is allowed

// Computes energy (1), force (r), stiffness (r rows of ld), bitwise symmetric, each unless NULL.
RF_MUST_CHECK rf_status rf_projected_evaluate(const rf_projected *model, const rf_run *run,
                                              rf_projected_work *work, const double *q,
                                              double *energy, double *force, double *stiffness,
                                              int32_t ld, rf_error *err);
// The same with the tangent of the solid of a kind (fem/fem.h), of which RF_TANGENT_UPPER changes
// nothing here: with RF_TANGENT_DEFINITE the stiffness is semidefinite up to rounding.
RF_MUST_CHECK rf_status rf_projected_evaluate_as(const rf_projected *model, const rf_run *run,
                                                 rf_projected_work *work, unsigned kind,
                                                 const double *q, double *energy, double *force,
                                                 double *stiffness, int32_t ld, rf_error *err);

// As rf_solid_require_defined, at U q.
RF_MUST_CHECK rf_status rf_projected_require_defined(const rf_projected *model, const rf_run *run,
                                                     rf_projected_work *work, const double *q,
                                                     const char *subject, rf_error *err);

// Computes D~(q) = U^T D(U q) U of strain-rate damping (r rows of ld), bitwise symmetric;
// viscosity: phi and psi of each material, Pa s (n_materials, 2).
RF_MUST_CHECK rf_status rf_projected_damping(const rf_projected *model, const rf_run *run,
                                             rf_projected_work *work, const double *viscosity,
                                             const double *q, double *matrix, int32_t ld,
                                             rf_error *err);

#endif
