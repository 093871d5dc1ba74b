// Kernels of the point-tree, plain variant.
#define RF_WIDTH 4
#define RF_NAME(f) f##_plain_rt
#include "pointshell/tree_body.h"
