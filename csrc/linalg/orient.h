// On which side of a plane, or of a line, a point is: the exact sign for the doubles as given.
//
// The determinant is computed in floating point first; where it is not larger than its rounding
// may be, it is computed again without any, as a sum of numbers that do not overlap (Shewchuk,
// Adaptive Precision Floating-Point Arithmetic, 1997, theorems 10, 12 and 19; the bound is his
// o3derrboundA).  Signs thus agree with each other, however near points are to a plane.
//
// Products must neither overflow nor lose digits below the smallest number: coordinates are 0 or
// from 2^-250 to 2^250.
#ifndef RF_LINALG_ORIENT_H
#define RF_LINALG_ORIENT_H

enum { RF_ORIENT_UNSURE = 2 };

// Sign of det(b - a, c - a, p - a): 1 where p is in front of the triangle, 0 on its plane.
int rf_orient3(const double a[3], const double b[3], const double c[3], const double p[3]);
// The same, or RF_ORIENT_UNSURE where rounding may be in the way.
int rf_orient3_fast(const double a[3], const double b[3], const double c[3], const double p[3]);

// Sign of the area of (a, b, c) seen along an axis: positive where c is left of the way from a to b
// and the axis comes towards the eye.
int rf_orient2(const double a[3], const double b[3], const double c[3], int axis);

// out = (b - a) x (c - a), each component the exact one, rounded: also of triangles so thin that
// of products of rounded ways nothing is left but rounding.
void rf_orient_normal(const double a[3], const double b[3], const double c[3], double out[3]);

#endif
