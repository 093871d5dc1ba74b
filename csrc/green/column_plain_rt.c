// Columns of Green's functions, plain variant.
#define RF_JOIN(f) f##_plain_rt
#define RF_NAME(f) RF_JOIN(f)
#include "green/column_body.h"
