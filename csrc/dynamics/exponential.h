// Exact solution of one mode of  y'' + d y' + lambda y = constant,  d = alpha + beta lambda.
#ifndef RF_DYNAMICS_EXPONENTIAL_H
#define RF_DYNAMICS_EXPONENTIAL_H

#include <stdint.h>

// Changes over a time h from y' = v and y'' = a:  y by of_v[0] v + of_a[0] a,  y' by
// of_v[1] v + of_a[1] a.  These are h phi_1(h J) of J = [0 1; -lambda -d]; lambda may be negative.
typedef struct rf_exponential {
  double of_v[2], of_a[2];
} rf_exponential;

rf_exponential rf_exponential_mode_rt(double lambda, double alpha, double beta, double h);

#endif
