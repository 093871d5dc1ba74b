// The nearest of some tens of places, without branches: for contact/deformed_field_rt.c.
#ifndef RF_CONTACT_DEFORMED_FIELD_NEAREST_H
#define RF_CONTACT_DEFORMED_FIELD_NEAREST_H

#include <stdint.h>

#include "linalg/simd.h"

enum { RF_NEAREST_MOST = 1024, RF_NEAREST_BITS = 10 };

// Sets out to the k nearest to x of n places, n a multiple of 8 up to RF_NEAREST_MOST, k <= n;
// coordinate c of place i is at place[c stride + i].  Squares of distances that differ by less
// than 1e-12 of themselves count as equal, and equal ones go by their numbers.
typedef void rf_deformed_nearest_fn(const double *place, int32_t stride, int32_t n,
                                    const double x[3], int32_t k, int32_t *out);
RF_SIMD_DECLARE(rf_deformed_nearest_fn, rf_deformed_nearest);

#endif
