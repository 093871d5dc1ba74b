// Side of a plane, or of a line, on which a point lies: the exact sign for the given doubles.
//
// The determinant is first computed in floating point; if it does not exceed its rounding bound, it
// is recomputed exactly as a sum of non-overlapping numbers (Shewchuk, Adaptive Precision
// Floating-Point Arithmetic, 1997, theorems 10, 12 and 19; the bound is his o3derrboundA). Signs
// are thus consistent, however close points are to a plane.
//
// Products must neither overflow nor underflow: coordinates are 0 or from 2^-250 to 2^250 in
// magnitude.
#ifndef RF_LINALG_ORIENT_H
#define RF_LINALG_ORIENT_H

enum { RF_ORIENT_UNSURE = 2 };

// Returns the sign of det(b - a, c - a, p - a): 1 if p is in front of the triangle, 0 on its plane.
int rf_orient3(const double a[3], const double b[3], const double c[3], const double p[3]);
// The same, or RF_ORIENT_UNSURE if rounding may decide the sign.
int rf_orient3_fast(const double a[3], const double b[3], const double c[3], const double p[3]);

// Returns the sign of the area of (a, b, c) seen against an axis: positive for counterclockwise.
int rf_orient2(const double a[3], const double b[3], const double c[3], int axis);

// Computes out = (b - a) x (c - a), each component exact and rounded once; this matters for
// triangles so thin that only rounding errors would remain.
void rf_orient_normal(const double a[3], const double b[3], const double c[3], double out[3]);

#endif
