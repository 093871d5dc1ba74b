// Exact solution of  y'' + d y' + lambda y = constant  over a time: of one mode, and of many at
// once as functions of a tridiagonal matrix.
#ifndef RF_DYNAMICS_EXPONENTIAL_H
#define RF_DYNAMICS_EXPONENTIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Changes over a time h from y' = v and y'' = a:  y by of_v[0] v + of_a[0] a,  y' by
// of_v[1] v + of_a[1] a.  These are h phi_1(h J) of J = [0 1; -lambda -d], d = alpha + beta lambda;
// lambda may be negative.
typedef struct rf_exponential {
  double of_v[2], of_a[2];
} rf_exponential;

rf_exponential rf_exponential_mode_rt(double lambda, double alpha, double beta, double h);

// The four functions as series of Chebyshev polynomials on an interval of lambda.  Steps that are
// long for its end are made of equal parts.
enum { RF_EXPONENTIAL_TERMS = 64 };
typedef struct rf_exponential_series {
  double alpha, beta, h;
  double low, high;  // the interval; empty: no series yet
  int32_t parts, terms;
  double factor[4][RF_EXPONENTIAL_TERMS];  // of_v, of_a
  double cosine[4 * RF_EXPONENTIAL_TERMS];
} rf_exponential_series;

// The series for an interval that contains [low, high].  False: the step is too long for it.
bool rf_exponential_cover_rt(rf_exponential_series *s, double low, double high);

// Bounds of the eigenvalues of a tridiagonal matrix: diagonal (n), entries beside it (n - 1).
void rf_exponential_bounds_rt(int32_t n, const double *diagonal, const double *beside, double *low,
                              double *high);

// Changes of y and y' (n) by the series of that matrix, which covers its eigenvalues; v or a may be
// NULL: zero.
size_t rf_exponential_work_bytes(int32_t n);
void rf_exponential_apply_rt(const rf_exponential_series *s, int32_t n, const double *diagonal,
                             const double *beside, const double *v, const double *a, void *work,
                             double *change, double *rate_change);

#endif
