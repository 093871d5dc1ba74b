// Dense Cholesky kernels, plain variant.
#include "linalg/simd.h"

#define RF_WIDTH 4
#define RF_CHOLESKY rf_cholesky_plain_rt
#define RF_CHOLESKY_SOLVE rf_cholesky_solve_plain_rt
#include "linalg/dense_body.h"
