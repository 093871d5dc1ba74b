// Kernels of rf_cubature_evaluate_rt.  The laws of materials are compiled into them, so that the
// objects themselves prove what real-time code calls.
#ifndef RF_CUBATURE_POINTS_RT_H
#define RF_CUBATURE_POINTS_RT_H

#include <stdint.h>

#include "cubature/cubature.h"
#include "linalg/simd.h"

enum { RF_CUBATURE_LANES = 8 };  // most

// Sums over the points of each lane; lanes are fastest, and their stride is their number.
typedef struct rf_cubature_work {
  double *q;       // with zeros                           (padded)
  double *energy;  //                                      (lanes)
  double *force;   //                                      (padded, lanes)
  double *rows;    // A : grad U_k of one batch            (padded, 9, lanes)
  double *matrix;  // tiles that contain an entry k <= l   (padded, padded, lanes)
} rf_cubature_work;

typedef enum rf_cubature_tangent {
  RF_CUBATURE_NO_TANGENT,
  RF_CUBATURE_TANGENT,
  RF_CUBATURE_DEFINITE
} rf_cubature_tangent;

// Clears the sums and adds all points; the matrix only if asked for.
typedef void rf_cubature_add_fn(const rf_cubature *c, const rf_cubature_work *work,
                                rf_cubature_tangent tangent);
RF_SIMD_DECLARE(rf_cubature_add_fn, rf_cubature_add);

#endif
