// Positive quadrature rules with few points and given moments, for parts of the reference cube [-1,
// 1]^3.
//
// The part is given by the filled fractions of SUB^3 equal sub-cells.  Candidates with positive
// weights come from one Gauss-Radau rule per row of sub-cells along one axis (discrete Stieltjes
// procedure, Gautschi 2004, sections 2.2 and 3.1) and two Gauss points per sub-cell across the row.
// A non-negative least squares problem selects points and weights with the same moments (Lawson &
// Hanson 1974, chapter 23, adding several columns per iteration after Dessole, Marcuzzi & Vianello
// 2020); a solution with no more points than moments exists (Tchakaloff 1957). Moments are those of
// Legendre polynomials on the bounding box of the filled sub-cells:
//
//   order 1: degree 2 per axis, 27 moments: strain energies of trilinear hexahedra, quadratic in u
//   order 2: degree 4 per axis and 6 in all, 72 moments: the same of 20-node hexahedra
//
// Additions and products have a fixed order, so all threads compute the same bits.
#ifndef RF_MESH_CUBATURE_H
#define RF_MESH_CUBATURE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

enum {
  RF_CUT_SUB = 8,  // sub-cells along an axis
  RF_CUT_SUBS = RF_CUT_SUB * RF_CUT_SUB * RF_CUT_SUB,
  RF_CUT_CANDIDATES = 3 * 4 * RF_CUT_SUB * RF_CUT_SUB,
  RF_CUT_MOMENTS = 72,
};

// Returns the number of polynomials up to the degree of the order.
static inline int rf_cut_moments(int order) { return order == 1 ? 27 : 72; }

typedef struct rf_cut_rule {
  int count;
  double point[RF_CUT_CANDIDATES][3];
  double weight[RF_CUT_CANDIDATES];
} rf_cut_rule;

typedef struct rf_cut_work rf_cut_work;
RF_MUST_CHECK rf_status rf_cut_work_create(rf_cut_work **out, rf_error *err);
void rf_cut_work_free(rf_cut_work *work);  // NULL is allowed

// Computes the candidates for `fraction` (z, y, x), each in [0, 1]; their weights sum to 8 times
// the mean.
void rf_cut_candidates(int order, const double fraction[RF_CUT_SUBS], rf_cut_rule *out);

// Reduces the rule to no more points than moments; false, and the rule unchanged, if the iteration
// does not reach the moments.
bool rf_cut_reduce(int order, rf_cut_work *work, rf_cut_rule *rule);

#endif
