// Supports that are released: the dense problems of their nodes (green.h).
#ifndef RF_GREEN_RELEASE_H
#define RF_GREEN_RELEASE_H

#include "green/green.h"

// Factors a symmetric matrix as rf_dense_cholesky_rt, by panels of LAPACK if it is large.  `good`
// unless a pivot is lost; `diagonal` (n) holds the entries before.
RF_MUST_CHECK rf_status rf_green_factorize(const rf_green *g, const rf_run *run, int32_t n,
                                           double *a, int32_t ld, double *diagonal, bool *good,
                                           rf_error *err);

typedef struct rf_green_release {
  const rf_green *g;
  const int32_t *released;  // indices in g->releasable
  int32_t n, ld;            // DOFs
  double *factor;           // of S + spring at the released DOFs          (ld, ld)
  double *load, *motion;    // Phi^T f, and the displacements by it            (ld)
} rf_green_release;

// Returns the stiffness whose rounding is in the entry of S of DOF k of the releasable nodes: a
// pivot counts as zero beside it, as S becomes small when few supports are left (released.h).
double rf_green_firm(const rf_green *g, int64_t k);

// Allocates a release, and factors S + `spring` (N/m, on the diagonal).  `good` as above: without a
// spring, the supports that are left hold the solid.
RF_MUST_CHECK rf_status rf_green_release_create(const rf_green *g, int32_t n_released,
                                                const int32_t *released, rf_green_release *out,
                                                rf_error *err);
void rf_green_release_free(rf_green_release *r);
RF_MUST_CHECK rf_status rf_green_release_factorize(rf_green_release *r, const rf_run *run,
                                                   double spring, bool *good, rf_error *err);

// Returns S of two released DOFs.
double rf_green_release_stiffness(const rf_green_release *r, int32_t i, int32_t j);
// Returns the static mode of a released DOF, a field over the surface.
const double *rf_green_release_mode(const rf_green_release *r, int32_t k);

// Sets r->load to Phi^T f of a load over the surface (count, 3); NULL: zero.
void rf_green_release_load(rf_green_release *r, const double *load);
// Solves for r->motion by r->load.
void rf_green_release_solve(rf_green_release *r);
// u (count, 3) += Phi times a motion.
void rf_green_release_add(const rf_green_release *r, const double *motion, double *u);

#endif
