// Body of the vector variants of column.h.  Needs RF_NAME (linalg/simd.h).
#define RF_WIDTH 4
#include "green/column.h"
#include "green/green.h"
#include "linalg/simd_body.h"

typedef float rf_f4 __attribute__((vector_size(4 * sizeof(float))));
typedef int32_t rf_i4 __attribute__((vector_size(4 * sizeof(int32_t))));

#define RF_KIND(f) f##_double
#define RF_ENTRY double
#define RF_VECTOR rf_v4
#define RF_LANE rf_m4
#include "green/column_kind_body.h"

#undef RF_KIND
#undef RF_ENTRY
#undef RF_VECTOR
#undef RF_LANE
#define RF_KIND(f) f##_single
#define RF_ENTRY float
#define RF_VECTOR rf_f4
#define RF_LANE rf_i4
#include "green/column_kind_body.h"
