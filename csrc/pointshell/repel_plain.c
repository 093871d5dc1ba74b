// Forces between points, plain variant.
#define RF_WIDTH 4
#define RF_NAME(f) f##_plain
#include "pointshell/repel_body.h"
