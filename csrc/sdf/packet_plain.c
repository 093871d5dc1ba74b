// Distances of packets, plain variant.
#define RF_WIDTH 4
#define RF_NAME(f) f##_plain
#include "sdf/packet_body.h"
