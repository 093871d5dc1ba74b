// Quartic kernels, plain variant.
#include "linalg/simd.h"
#define RF_WIDTH 4
#define RF_QUARTIC rf_quartic_plain_rt
#define RF_QUARTIC_FINISH rf_quartic_finish_plain_rt
#define RF_PAIRS rf_pairs_plain_rt
#include "polynomial/quartic_body.h"
