// Names that the bodies of laws use: VARIANT ends those of functions, and Voigt's order numbers the
// entries of symmetric matrices.  For sources that include list_body.h with LANES defined.
#ifndef RF_MATERIAL_VOIGT_H
#define RF_MATERIAL_VOIGT_H

// Rows and columns of symmetric matrices in Voigt's order.
static const int ROW_OF[6] = {0, 1, 2, 1, 2, 0}, COLUMN_OF[6] = {0, 1, 2, 2, 0, 1};
// Place of entry (i, j) of a symmetric matrix in Voigt's order.
static const int VOIGT[3][3] = {{0, 5, 4}, {5, 1, 3}, {4, 3, 2}};

#define JOIN_NOW(a, b) a##_##b
#define JOIN(a, b) JOIN_NOW(a, b)
#define NAME(x) JOIN(x, VARIANT)

#endif
