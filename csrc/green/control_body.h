// Body of the sums over fields of control elements.  Needs RF_WIDTH and RF_NAME (linalg/simd.h).
#include "green/control.h"
#include "linalg/simd_body.h"

#define REAL double
#define COMBINE RF_NAME(rf_control_combine_double)
#define TILE(f) f##_double
#include "green/control_tile_body.h"
#undef REAL
#undef COMBINE
#undef TILE

#define REAL float
#define COMBINE RF_NAME(rf_control_combine_single)
#define TILE(f) f##_single
#include "green/control_tile_body.h"
