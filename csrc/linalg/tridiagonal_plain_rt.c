// Reduction to tridiagonal form, plain variant.
#define RF_WIDTH 4
#define RF_NAME(f) f##_plain_rt
#include "linalg/tridiagonal_body.h"
