// Rows of K U, plain variant.
#define RF_WIDTH 4
#define RF_NAME(f) f##_plain
#include "model/project_row_body.h"
