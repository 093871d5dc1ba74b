// Kernels of cubatures, plain variant.
#include "cubature/points_rt.h"

#define LANES 2
#define VARIANT plain_rt
#include "cubature/points_body.h"
