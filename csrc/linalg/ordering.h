// Orderings of symmetric sparse matrices, which determine the size of their Cholesky factors.
#ifndef RF_LINALG_ORDERING_H
#define RF_LINALG_ORDERING_H

#include <stdint.h>

#include "base/status.h"
#include "linalg/csc.h"
#include "linalg/dissection.h"

typedef enum rf_ordering_method {
  RF_ORDER_AUTO,            // dissection of unknowns with places, otherwise METIS
  RF_ORDER_DISSECTION,      // linalg/dissection.h
  RF_ORDER_METIS,           // AMD if CHOLMOD was built without METIS, or METIS fails
  RF_ORDER_AMD,             // approximate minimum degree
  RF_ORDER_MINIMUM_DEGREE,  // exact
  RF_ORDER_NESTED,          // of regular grids
  RF_ORDER_SIMPLE,          // by cut elements
  RF_ORDER_COUNT
} rf_ordering_method;

// Places of unknowns: those of node i are width i to width i + width - 1.
typedef struct rf_places {
  int32_t width;
  const double *point;  // (n / width, 3)
} rf_places;

// Method for the factors of the process: AUTO, DISSECTION, METIS or AMD.  Any thread may call both.
void rf_ordering_use(rf_ordering_method method);
rf_ordering_method rf_ordering_in_use(void);

// Orders the unknowns of a lower triangle with diagonal: permutation (n), unknowns in the order of
// elimination.  places: nullable; DISSECTION and NESTED need them.  The unknowns of a node stay
// together.  SIMPLE takes elements and points of all nodes of their mesh instead, with `width`.
// method: becomes the one taken, that of AUTO, or AMD for METIS.
RF_MUST_CHECK rf_status rf_ordering(const rf_csc *lower, const rf_places *places,
                                    const rf_dissection_elements *elements,
                                    rf_ordering_method *method, int32_t *permutation,
                                    rf_error *err);

typedef struct rf_ordering_counts {
  double nonzeros;  // of L with its diagonal
  double fill;      // nonzeros of L less those of the lower triangle
  double flops;     // of the factorization: sum of d^2 + 2 d over columns with d below the diagonal
} rf_ordering_counts;

// Counts the factor of a permuted matrix exactly, by its elimination tree.  RF_ERR_ARG unless the
// permutation is one.
RF_MUST_CHECK rf_status rf_ordering_count(const rf_csc *lower, const int32_t *permutation,
                                          rf_ordering_counts *out, rf_error *err);

#endif
