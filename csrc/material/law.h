// Elastic laws at a point: energy density W(F), first Piola-Kirchhoff stress P = dW/dF and dP/dF.
//
// A law is frame invariant, W(RF) = W(F), without stress at rest, and elliptic there: its rest
// stiffness C (6 x 6, Voigt's order xx yy zz yz zx xy, shear strains twice) is positive definite.
// It takes G = F - 1, from which strains are computed without cancellation at small displacements.
// W, P and A are NaN where the law is not defined: where det F <= 0, unless its facts say that it
// is `defined_inverted`.
//
// Laws with W = E : C : E / 2, quadratic in Green's strain, have forces that are cubic in the
// displacements: only of these a reduced model is a polynomial.  `quadratic_in_e` says so, and all
// that relies on it asks it, for solids through rf_solid_require_quadratic (fem/fem.h).
//
// To add a law: a body, which has its formulas and the table of its facts, and a row in
// material/list_body.h (and a class in Python).  Bodies are written for vectors, one point per
// lane, and compiled for every instruction set, and once for one lane: the reference.  Formulas
// that several need (invariants, cofactors and their derivatives) are in common_body.h, those of
// principal axes in principal_body.h.
#ifndef RF_MATERIAL_LAW_H
#define RF_MATERIAL_LAW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "linalg/simd.h"

enum { RF_LAW_PARAMETERS = 36, RF_LAW_VARIANTS = 4 };

typedef struct rf_law_parameter {
  const char *name;
  int32_t count;  // numbers
} rf_law_parameter;

// Kernels of fem that serve a law: those for any, or its own.
typedef enum rf_law_kernels {
  RF_LAW_KERNELS_GENERAL,
  RF_LAW_KERNELS_STVK,
  RF_LAW_KERNELS_LINEAR
} rf_law_kernels;

typedef struct rf_law_facts {
  bool quadratic_in_e;
  bool defined_inverted;  // W, P and A are finite where det F <= 0, too
  bool isotropic;
  bool lame;  // the parameters are Lame's constants lambda and mu of small strains, Pa
  rf_law_kernels kernels;
  const rf_law_parameter *parameters;  // ends with a name of NULL
  // RF_ERR_ARG, with the number of the material, unless the law is elliptic at rest.
  rf_status (*check)(const double *parameters, int32_t material, rf_error *err);
} rf_law_facts;

// Facts of every law whose parameters are Lame's constants.
#define RF_LAW_LAME \
  .isotropic = true, .lame = true, .parameters = rf_law_lame_parameters, .check = rf_law_check_lame

// Computes W (1), P (9) and dP/dF (9, 9), the last nullable, from G (9), row by row.  Every array,
// and that of the parameters, has the lanes of its variant fastest and is aligned to them.
typedef void rf_law_point_fn(const double *parameters, const double *G, double *W, double *P,
                             double *A);
// Computes the second derivative of P at rest along two gradients, d2P/ds dt (1 + s A + t B) (9).
typedef void rf_law_second_fn(const double *parameters, const double *A, const double *B,
                              double *out);

// Computes C = A+ - A (9, 9), with which dP/dF = A at G becomes the nearest positive semidefinite
// matrix in the Frobenius norm: negative eigenvalues become zero.  Overwrites A.  Sets `selected`
// to -1 in lanes with an eigenvalue below -1e-13 of the largest entry of A, and to 0 in others,
// where C is zero; false, and no C, if there are none.  `isotropic` as the facts of the law say.
typedef bool rf_law_definite_fn(bool isotropic, const double *G, double *A, double *C,
                                int64_t *selected);
extern rf_law_definite_fn *const rf_law_definite[RF_LAW_VARIANTS];

typedef struct rf_law {
  const char *name;
  const rf_law_facts *facts;
  // by rf_simd; in the place of RF_SIMD_BEST the reference of one lane
  rf_law_point_fn *point[RF_LAW_VARIANTS];
  rf_law_second_fn *second[RF_LAW_VARIANTS];
} rf_law;

#include "material/list_body.h"

#define RF_LAW_ONE(name, ...) +1
enum { RF_LAW_COUNT = 0 RF_LAWS(RF_LAW_ONE) };
extern const rf_law rf_laws[RF_LAW_COUNT];

// NULL: there is none of that name.
const rf_law *rf_law_named(const char *name);
static inline int rf_law_index(const rf_law *law) { return (int)(law - rf_laws); }
static inline int rf_law_parameter_count(const rf_law *law) {
  int count = 0;
  for (const rf_law_parameter *p = law->facts->parameters; p->name; ++p) count += p->count;
  return count;
}
// Returns the number of points that a variant processes.
static inline int rf_law_lanes(rf_simd variant) {
  static const int lanes[RF_LAW_VARIANTS] = {1, 2, 4, 8};
  return lanes[variant];
}

// Computes C, the stiffness at rest, Pa.
void rf_law_rest(const rf_law *law, const double *parameters, double C[36]);

// For facts: Lame's constants and their check, and the check of a stiffness matrix (36).
extern const rf_law_parameter rf_law_lame_parameters[];
rf_status rf_law_check_lame(const double *parameters, int32_t material, rf_error *err);
rf_status rf_law_check_stiffness(const double *parameters, int32_t material, rf_error *err);

#endif
