// Constrained nodes of a mesh: each follows a weighted mean of other nodes, its masters.
//
//   x = T x~,  x_s = sum_m w_m x~_m at a constrained node s,  x_i = x~_i at the others
//
// They make meshes conforming where large cells meet small ones (mesh/grade.h).  Forces follow from
// virtual work: those of constrained nodes go to the masters, f~ = T^T f.  A rule that only moves
// the constrained nodes and drops their forces fails the patch test and loses mass.
//
// Masters are not constrained themselves, weights sum to one, and constrained nodes rest at the
// mean of their masters: T reproduces linear displacements.
#ifndef RF_MESH_CONSTRAINTS_H
#define RF_MESH_CONSTRAINTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "linalg/csc.h"

typedef struct rf_constraints {
  int32_t n;         // constrained nodes, may be 0
  int32_t *slaves;   // their indices, ascending             (n)
  int32_t *ptr;      // masters of each: ptr[k] .. ptr[k + 1] - 1   (n + 1)
  int32_t *masters;  // node indices                          (ptr[n])
  double *weights;   //                                       (ptr[n])
} rf_constraints;

typedef struct rf_mesh rf_mesh;

// Copies and checks the table; n >= 1.  RF_ERR_MESH unless the mesh has elements of first order and
// no constraints yet, cut elements have no constrained node, and all is as described above.
RF_MUST_CHECK rf_status rf_mesh_set_constraints(rf_mesh *mesh, const rf_constraints *from,
                                                rf_error *err);
// Checks the same of a table to be set, but sets `fit` to false if a constrained node rests farther
// from the mean of its masters than rounding to single precision explains.
RF_MUST_CHECK rf_status rf_mesh_constraints_fit(const rf_mesh *mesh, const rf_constraints *from,
                                                bool *fit, rf_error *err);
void rf_constraints_free(rf_constraints *constraints);  // NULL is allowed

// Creates T as a matrix (n_nodes, n_nodes - n): columns are the independent nodes, ascending.
RF_MUST_CHECK rf_status rf_constraints_matrix(const rf_constraints *constraints, int32_t n_nodes,
                                              rf_csc *out, rf_error *err);

// Returns the place of a node among the constrained ones, -1: it is independent.
static inline int32_t rf_constraints_find(const rf_constraints *c, int32_t node) {
  int32_t low = 0, high = c->n;
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    if (c->slaves[middle] < node)
      low = middle + 1;
    else
      high = middle;
  }
  return low < c->n && c->slaves[low] == node ? low : -1;
}

// Moves the constrained nodes to the mean of their masters: x = T x~, (n_nodes, 3).  NULL: nothing.
static inline void rf_constraints_fill_rt(const rf_constraints *c, double *x) {
  for (int32_t k = 0; c && k < c->n; ++k) {
    double sum[3] = {0.0, 0.0, 0.0};
    for (int32_t p = c->ptr[k]; p < c->ptr[k + 1]; ++p)
      for (int i = 0; i < 3; ++i) sum[i] += c->weights[p] * x[3 * (int64_t)c->masters[p] + i];
    for (int i = 0; i < 3; ++i) x[3 * (int64_t)c->slaves[k] + i] = sum[i];
  }
}

// Returns true if the constrained nodes of x are there already, to the bit.  NULL: true.
static inline bool rf_constraints_filled_rt(const rf_constraints *c, const double *x) {
  for (int32_t k = 0; c && k < c->n; ++k)
    for (int i = 0; i < 3; ++i) {
      double sum = 0.0;
      for (int32_t p = c->ptr[k]; p < c->ptr[k + 1]; ++p)
        sum += c->weights[p] * x[3 * (int64_t)c->masters[p] + i];
      if (!(sum == x[3 * (int64_t)c->slaves[k] + i])) return false;
    }
  return true;
}

// Sets the values of constrained nodes to zero.  NULL: nothing.
static inline void rf_constraints_clear_rt(const rf_constraints *c, double *x) {
  for (int32_t k = 0; c && k < c->n; ++k)
    for (int i = 0; i < 3; ++i) x[3 * (int64_t)c->slaves[k] + i] = 0.0;
}

// Moves forces of constrained nodes to their masters, and leaves zeros: T^T f.  NULL: nothing.
static inline void rf_constraints_fold_rt(const rf_constraints *c, double *f) {
  for (int32_t k = 0; c && k < c->n; ++k) {
    double *own = f + 3 * (int64_t)c->slaves[k];
    for (int32_t p = c->ptr[k]; p < c->ptr[k + 1]; ++p)
      for (int i = 0; i < 3; ++i) f[3 * (int64_t)c->masters[p] + i] += c->weights[p] * own[i];
    for (int i = 0; i < 3; ++i) own[i] = 0.0;
  }
}

// RF_ERR_ARG if one of n nodes, which touch something, is constrained.  NULL constraints pass.
RF_MUST_CHECK rf_status rf_constraints_require_free(const rf_constraints *constraints, int64_t n,
                                                    const int32_t *nodes, rf_error *err);

// RF_ERR_ARG, naming `name`, unless constrained nodes follow their masters in x (n_nodes, 3) up to
// 1e-8 of its largest value.  NULL constraints pass.
RF_MUST_CHECK rf_status rf_constraints_require(const rf_constraints *constraints, int32_t n_nodes,
                                               const double *x, const char *name, rf_error *err);
// The same of `count` fields (count, n_nodes, 3), each named by its number: name[k].
RF_MUST_CHECK rf_status rf_constraints_require_all(const rf_constraints *constraints,
                                                   int32_t n_nodes, int64_t count, const double *x,
                                                   const char *name, rf_error *err);

#endif
