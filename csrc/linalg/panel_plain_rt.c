// Kernels of triangular solves, plain variant.
#define RF_WIDTH 4
#define RF_NAME(f) f##_plain_rt
#include "linalg/panel_body.h"
