// Sums over fields of control elements, plain variant.
#define RF_WIDTH 4
#define RF_NAME(f) f##_plain_rt
#include "green/control_body.h"
