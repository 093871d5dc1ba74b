// Friction kernels, plain variant.
#define RF_WIDTH 4
#define RF_NAME(f) f##_plain_rt
#include "constraint/friction_body.h"
