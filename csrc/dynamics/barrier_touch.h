// Shared by barrier_parts.c, surfaces of parts, and barrier_touch.c, their contact in one motion.
#ifndef RF_DYNAMICS_BARRIER_TOUCH_H
#define RF_DYNAMICS_BARRIER_TOUCH_H

#include <stdbool.h>
#include <stdint.h>

#include "dynamics/barrier_parts.h"

typedef struct rf_barrier_shape {
  rf_barrier_parts base;
  bool self;  // parts touch themselves too
  int32_t n_all, n_parts, n_vertices, n_triangles, n_edges;
  int32_t *node, *part, *fixed;  // of each vertex           (n_vertices)
  double *rest;                  // m                        (n_vertices, 3)
  int32_t *triangle;             // vertices                 (n_triangles, 3)
  int32_t *edge;                 //                          (n_edges, 2)
  double *square;                // of their lengths at rest (n_edges)
} rf_barrier_shape;

// Keys of unordered pairs of 0 .. n - 1, their order for qsort and bsearch, and a sort that removes
// those that occur twice and returns how many are left.
static inline int64_t rf_barrier_key(int32_t a, int32_t b, int32_t n) {
  return a < b ? a * (int64_t)n + b : b * (int64_t)n + a;
}
int rf_barrier_key_order(const void *a, const void *b);
int32_t rf_barrier_key_unique(int64_t *key, int32_t n);

// The values of a vector of the system at the vertices (n_vertices, 3), times a factor; x nullable.
void rf_barrier_parts_gather(const rf_barrier_shape *p, const double *x, double factor,
                             double *out);

// As in rf_barrier_parts_operations.
RF_MUST_CHECK rf_status rf_barrier_touch_create(const rf_barrier_parts *parts,
                                                const rf_barrier_settings *set,
                                                rf_barrier_touch **out, rf_error *err);
void rf_barrier_touch_free(rf_barrier_touch *t);
RF_MUST_CHECK rf_status rf_barrier_touch_begin(rf_barrier_touch *t, const double *x);
void rf_barrier_touch_evaluate(rf_barrier_touch *t, const double *x, const double *v, double rate,
                               double *residual);
RF_MUST_CHECK rf_status rf_barrier_touch_linearize(rf_barrier_touch *t, double rate);
void rf_barrier_touch_turn(const rf_barrier_touch *t, const double *x, double *out);
double rf_barrier_touch_slope(const rf_barrier_touch *t, const double *increment);
RF_MUST_CHECK rf_status rf_barrier_touch_reach(rf_barrier_touch *t, const double *increment,
                                               double *part);

#endif
