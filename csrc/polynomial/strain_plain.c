// Strains of pairs, plain variant.
#define RF_NAME(f) f##_plain
#include "polynomial/strain_body.h"
