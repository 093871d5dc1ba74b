// Reduced energy, force and stiffness of any material by a cubature: a weighted sum over a few
// quadrature points of the mesh (An, Kim and James 2008; Farhat et al. 2014).
//
//   W(q) = sum_p w_p W_p(G_p),  G_p = sum_k q_k grad U_k at point p
//   R_i = sum_p w_p P(G_p) : grad U_i,  K_ij = sum_p w_p grad U_i : A(G_p) : grad U_j
//
// with the energy density, stress P and stiffness A = dP/dF of the law of the point.  Force and
// stiffness are derivatives of one energy, so forces are conservative and stiffnesses symmetric.
// Weights are positive: where the A of all points are positive semidefinite, as at rest, so is K.
#ifndef RF_CUBATURE_CUBATURE_H
#define RF_CUBATURE_CUBATURE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "linalg/simd.h"
#include "material/law.h"

enum { RF_CUBATURE_MAX_R = 256, RF_CUBATURE_PAD = 4 };

typedef struct rf_cubature_material {
  const rf_law *law;
  double parameter[RF_LAW_PARAMETERS];
} rf_cubature_material;

// Points are in batches of one law, one point per lane; a batch that is not full repeats its last
// point with zero weight.
typedef struct rf_cubature {
  int32_t r, n_points, n_materials;
  double *gradient;                 // of the basis at the points, 1/m         (n_points, 9, r)
  double *weight;                   // positive, m^3                           (n_points)
  int32_t *material;                // of each point                           (n_points)
  rf_cubature_material *materials;  //                                         (n_materials)
  double *linear;                   // stiffness of a linear part, (r, r); NULL: none
  rf_simd simd;                     // resolved
  int32_t padded;                   // r, rounded up to RF_CUBATURE_PAD
  int32_t n_parameters;             // most of any law
  int32_t n_batches;
  int32_t *batch_law;  // index of the law                                    (n_batches)
  bool *isotropic;     // facts of the law                                    (n_batches)
  int64_t batch_size;  // numbers of a batch
  double *stream;      // of each batch: weights (lanes), parameters (n_parameters, lanes),
                       // gradients (padded, 9, lanes)
} rf_cubature;

// Arrays from which a cubature is made.
typedef struct rf_cubature_parts {
  int32_t r, n_points, n_materials;
  const double *gradient;                 // (n_points, 9, r)
  const double *weight;                   // (n_points)
  const int32_t *material;                // (n_points)
  const rf_cubature_material *materials;  // (n_materials)
  const double *linear;                   // (r, r), NULL: none
} rf_cubature_parts;

// Copies and checks the arrays: numbers finite, weights positive, materials known and accepted by
// their laws, the linear part symmetric.
RF_MUST_CHECK rf_status rf_cubature_create(const rf_cubature_parts *parts, rf_simd simd,
                                           rf_cubature **out, rf_error *err);
// Creates the cubature of the first r_new coordinates.
RF_MUST_CHECK rf_status rf_cubature_truncate(const rf_cubature *c, int32_t r_new, rf_cubature **out,
                                             rf_error *err);
void rf_cubature_free(rf_cubature *c);  // NULL is allowed

// Returns the work memory of one evaluation (64-byte aligned, need not be cleared).
size_t rf_cubature_work_bytes(int32_t r);

// Computes energy (1), force (r) and stiffness (r rows of `ld` >= r doubles, full symmetric), each
// unless NULL.  NaN where the law of a point is not defined.  definite: A of each point is replaced
// by the nearest positive semidefinite matrix (rf_law_definite), so that K is semidefinite, up to
// rounding; where the A of all points are, K keeps its bits.
void rf_cubature_evaluate_rt(const rf_cubature *c, bool definite, const double *q, void *work,
                             double *energy, double *force, double *stiffness, int32_t ld);

// Returns the Green strain |F^T F - 1| / 2 (Frobenius norm), F = 1 + G, with entry i of G at
// G[i * stride].
static inline double rf_cubature_green(const double *G, int stride) {
  double sum = 0.0;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      double twice = G[(3 * i + j) * stride] + G[(3 * j + i) * stride];
      for (int k = 0; k < 3; ++k) twice += G[(3 * k + i) * stride] * G[(3 * k + j) * stride];
      sum += twice * twice;
    }
  return 0.5 * sqrt(sum);
}

// F = 1 + G of a point at q, row by row.
void rf_cubature_deform_rt(const rf_cubature *c, int32_t point, const double *q, double f[9]);
// Returns the largest Green strain (rf_cubature_green) at q of `count` points from `first` on;
// point 0 follows the last one.
double rf_cubature_strain_rt(const rf_cubature *c, const double *q, int32_t first, int32_t count);

// RF_ERR_ARG unless the laws of all points are defined at q; the text names `subject` (that makes
// it so) and the first point.
RF_MUST_CHECK rf_status rf_cubature_require_defined(const rf_cubature *c, const double *q,
                                                    const char *subject, rf_error *err);

#endif
