// A solid projected on a basis, evaluated directly: by way of the unreduced forces,
//   R~(q) = U^T R(U q),  K~(q) = U^T K(U q) U                      (B07 2.23, 2.25).
//
// The same functions of q as the polynomials of reduced_model.h, at a cost that grows with the
// mesh, but with r^2 only instead of r^4: for bases of more than some sixty vectors, whose
// polynomials are too large to be had (B07 2.13.2).  Nothing here is real-time code.
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
  double *rows;           // U, one row for each DOF, zero beyond r      (n_nodes, 3, ld)
  double *mass;           // M~, symmetric positive definite       (r, r)
} rf_projected;

// Copies and checks: finite, independent vectors that do not move fixed nodes.
RF_MUST_CHECK rf_status rf_projected_create(const rf_solid *solid, const rf_run *run, int32_t r,
                                            const double *basis, rf_projected **out, rf_error *err);
void rf_projected_free(rf_projected *model);  // NULL is fine

// u = U q, (n_nodes, 3), and f~ = U^T f.
RF_MUST_CHECK rf_status rf_projected_displacement(const rf_projected *model, const rf_run *run,
                                                  const double *q, double *u, rf_error *err);
RF_MUST_CHECK rf_status rf_projected_project(const rf_projected *model, const rf_run *run,
                                             const double *force, double *reduced, rf_error *err);

// Scratch of evaluations; one thread at a time.
typedef struct rf_projected_work rf_projected_work;
RF_MUST_CHECK rf_status rf_projected_work_create(const rf_projected *model, rf_projected_work **out,
                                                 rf_error *err);
void rf_projected_work_free(rf_projected_work *work);  // NULL is fine

// Any output may be NULL: energy (1), force (r), stiffness (r rows of ld), symmetric to the bit.
RF_MUST_CHECK rf_status rf_projected_evaluate(const rf_projected *model, const rf_run *run,
                                              rf_projected_work *work, const double *q,
                                              double *energy, double *force, double *stiffness,
                                              int32_t ld, rf_error *err);

// D~(q) = U^T D(U q) U of strain-rate damping (r rows of ld), symmetric to the bit; viscosity: phi
// and psi of each material, Pa s                                      (n_materials, 2).
RF_MUST_CHECK rf_status rf_projected_damping(const rf_projected *model, const rf_run *run,
                                             rf_projected_work *work, const double *viscosity,
                                             const double *q, double *matrix, int32_t ld,
                                             rf_error *err);

#endif
