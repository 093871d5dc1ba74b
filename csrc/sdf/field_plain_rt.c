// Queries of fields, plain variant.
#define RF_WIDTH 4
#define RF_NAME(f) f##_plain_rt
#include "sdf/field_body.h"
