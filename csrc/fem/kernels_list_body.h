// Template: all kernels for one instruction set.  Included by kernels.c with LANES, TARGET, NAME(x)
// and VARIANT (an rf_simd) defined, which it undefines.  No include guard, on purpose.
#include "fem/kernels_common_body.h"
#include "fem/kernels_stvk_body.h"

#include "fem/kernels_linear_body.h"
#include "fem/kernels_viscous_body.h"

#include "fem/kernels_general_body.h"

#undef LANES
#undef TARGET
#undef NAME
#undef VARIANT
