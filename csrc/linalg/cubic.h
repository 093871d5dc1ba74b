// Symmetric cubic form of n numbers g, with entries where all three of a triple are near:
//
//   C(g) = 1/6 sum T_ijk g_i g_j g_k
//
// Entries are stored once, in single precision: those of i, j <= i and k <= j at the number i.
#ifndef RF_LINALG_CUBIC_H
#define RF_LINALG_CUBIC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef struct rf_cubic {
  int32_t n, widest;  // most near numbers of one
  int64_t *first;     // in `near`, of each number                                (n + 1)
  int32_t *near;      // ascending; the last is the number itself
  int64_t *at;        // in `entry`, of each number                               (n + 1)
  float *entry;       // T of near a and b <= a at a (a + 1) / 2 + b
} rf_cubic;

// Makes a form of zeros on points (n, 3); those at most `reach` apart are near.  RF_ERR_ARG: it
// would have more than `most` entries.
RF_MUST_CHECK rf_status rf_cubic_create(int32_t n, const double *place, double reach, int64_t most,
                                        rf_cubic **out, rf_error *err);
void rf_cubic_free(rf_cubic *c);  // NULL is fine

// Computes the second derivative sum_k T_ijk g_k for some numbers, distinct and ascending; others
// have g = 0.  g (count), matrix (count, count); local (count) is scratch.  Unless `all`, entries
// of two numbers with g = 0 are left out.
void rf_cubic_second_rt(const rf_cubic *c, int32_t count, const int32_t *number, const double *g,
                        bool all, int32_t *local, double *matrix);

// True if near numbers of some, distinct and ascending, have others that are near: these are no
// groups that are near as a whole.  Also true of more than 64.  local (count) is scratch.
bool rf_cubic_wide_rt(const rf_cubic *c, int32_t count, const int32_t *number, int32_t *local);

#endif
