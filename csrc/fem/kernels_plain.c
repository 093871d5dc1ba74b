// Element kernels, plain variant.
#include <math.h>
#include <string.h>

#include "fem/kernels.h"

#define LANES 2
#define TARGET
#define NAME(x) x##_plain
#define VARIANT RF_SIMD_PLAIN
#include "fem/kernels_list_body.h"
