// Variants of the field queries, one set per field_<variant>_rt.c; all give the same bits, for
// single points and blocks.
#ifndef RF_SDF_FIELD_KERNELS_H
#define RF_SDF_FIELD_KERNELS_H

#include "sdf/field.h"

typedef double rf_field_distance_fn(const rf_field *f, const double p[3]);
typedef double rf_field_gradient_fn(const rf_field *f, const double p[3], double gradient[3]);
typedef void rf_field_distances_fn(const rf_field *f, int32_t n, const double *points,
                                   double *distance);
typedef void rf_field_gradients_fn(const rf_field *f, int32_t n, const double *points,
                                   double *distance, double *gradient);
typedef void rf_field_prefetch_fn(const rf_field *f, const double p[3]);
rf_field_distance_fn rf_field_distance_plain_rt, rf_field_distance_avx2_rt;
rf_field_gradient_fn rf_field_gradient_plain_rt, rf_field_gradient_avx2_rt;
rf_field_distances_fn rf_field_distances_plain_rt, rf_field_distances_avx2_rt;
rf_field_gradients_fn rf_field_gradients_plain_rt, rf_field_gradients_avx2_rt;
rf_field_gradients_fn rf_field_slopes_plain_rt, rf_field_slopes_avx2_rt;
rf_field_prefetch_fn rf_field_prefetch_plain_rt, rf_field_prefetch_avx2_rt;

#endif
