// Products and solutions of a system (system.h) for many vectors at once, over its free unknowns:
// vectors (count, n) without padding, in the order of the unknowns.
#ifndef RF_DYNAMICS_BLOCKS_H
#define RF_DYNAMICS_BLOCKS_H

#include <stdint.h>

#include "base/status.h"
#include "dynamics/system.h"

typedef struct rf_blocks {
  rf_system *system;  // borrowed
  int32_t n;          // free unknowns
  int32_t *unknown;   // their places in a vector of the system  (n)
  double *in, *out;   // padded vectors of dense systems         (ld)
} rf_blocks;

// Of at most `most` vectors at once.  RF_ERR_ARG: the system has no such operations.
RF_MUST_CHECK rf_status rf_blocks_init(rf_blocks *b, rf_system *system, int32_t most,
                                       rf_error *err);
void rf_blocks_release(rf_blocks *b);  // zeros are fine

// y = M x, K x and A^-1 x, with K of the last evaluation and A the last matrix factored.
RF_MUST_CHECK rf_status rf_blocks_mass(const rf_blocks *b, int32_t count, const double *x,
                                       double *y);
RF_MUST_CHECK rf_status rf_blocks_stiffness(const rf_blocks *b, int32_t count, const double *x,
                                            double *y);
RF_MUST_CHECK rf_status rf_blocks_solve(const rf_blocks *b, int32_t count, const double *x,
                                        double *y);  // y may be x

// From a vector of the system to one over the free unknowns; and all += factor free.
void rf_blocks_gather(const rf_blocks *b, const double *all, double *free);
void rf_blocks_add(const rf_blocks *b, double factor, const double *free, double *all);

#endif
