// Nested point-tree: the hierarchy over a pointshell for contact search, with bounds that follow
// reduced deformations (B07 3.7, 3.9, 3.10).
//
// Tree level j contains the points of repulsion levels 0 .. j: a node is (point, tree level). Its
// children on level j + 1 are its own copy and those points of repulsion level j + 1 to which it is
// the nearest point of levels <= j, at rest (ties: the lowest index). So each node is a point of
// the shell, and its sphere is centred there.
//
// The place of a point is its position in the tree: places are ordered level by level, and within a
// level the children of one node are adjacent.  The nodes of level j are the places 0 .. count[j] -
// 1.
//
// Sphere of a node c under reduced coordinates q, over the points s of its subtree:
//   R = R0 + sum_j a_j |q_j|,  R0 = max_s |P_s - P_c|,  a_j = max_s |U_s,j - U_c,j|     (3.12)
// which bounds |x_s - x_c| by the triangle inequality.  Nodes of the deepest level have R = 0.
//
// Motion U, tilt T of normals and bounds are stored as float32 and used as float64: half the memory
// traffic per visit, for a constant relative rounding of the deformation (not of the rest shape) of
// 6e-8. Bounds are those of the rounded motion and are rounded up: beyond float32 to infinity, so
// that such spheres are never culled, and never to denormal numbers.
#ifndef RF_POINTSHELL_TREE_H
#define RF_POINTSHELL_TREE_H

#include <stdint.h>

#include "base/status.h"
#include "linalg/simd.h"

enum { RF_TREE_MAX_LEVELS = 32 };
// Limit of positions and displacements of points, m, so that squares are finite.
#define RF_TREE_FARTHEST 1e100

typedef struct rf_point_tree {
  int32_t n_points, n_levels;
  int32_t r;           // reduced coordinates; 0: rigid
  int32_t row, bound;  // floats of a row of motion and of a bound: r and 1 + r, padded to 8
  int32_t *count;      // nodes of each tree level                          (n_levels)
  int64_t *node;       // first node of each tree level                     (n_levels + 1)
  int32_t *point;      // index in the shell of the point of each place     (n_points)
  int32_t *place;      // its inverse                                       (n_points)
  int32_t *parent;     // place of the parent; -1 on level 0                (n_points)
  int32_t *child;      // first new child of interior node (j, p) at j + node[j] + p; the next entry
                       // ends the range   (node[n_levels - 1] + n_levels - 1)
  double *rest;        // P, m                                              (n_points, 3)
  double *normal;      // N, inward unit vectors                            (n_points, 3)
  float *motion;       // U; NULL where r = 0                               (n_points, 3, row)
  float *tilt;         // T; NULL where r = 0                               (n_points, 3, row)
  float *bounds;  // R0 and a_j of interior nodes                      (node[n_levels - 1], bound)
  double centre[3];     // centre of the box of the points at rest, m
  double extent;        // largest distance of a point at rest from the centre, m
  double *motion_most;  // largest |U_s,j| of all points                     (r)
  double *growth_most;  // largest a_j of each level                         (n_levels, r)
  rf_simd simd;
} rf_point_tree;

// Creates a tree from copies of points (n, 3), unit normals (n, 3), levels ascending from 0 without
// gaps (n), and motion and tilt (n, 3, r), nullable where r is 0.
RF_MUST_CHECK rf_status rf_point_tree_create(int32_t n_points, const double *points,
                                             const double *normals, const int32_t *levels,
                                             int32_t r, const double *motion, const double *tilt,
                                             rf_simd simd, const rf_run *run, rf_point_tree **out,
                                             rf_error *err);
void rf_point_tree_free(rf_point_tree *tree);  // NULL is allowed

// Rejects a q (nullable) that moves points too far or is not finite.
RF_MUST_CHECK rf_status rf_point_tree_check(const rf_point_tree *tree, const double *q,
                                            rf_error *err);

// Computes the radii of the nodes of a level in the order of the shell (count[level]); q nullable:
// rest.  The bound (3.12), or with `tight` the true max_s |x_s - x_c|.
RF_MUST_CHECK rf_status rf_point_tree_radii(const rf_point_tree *tree, const rf_run *run,
                                            int32_t level, const double *q, int tight,
                                            double *radii, rf_error *err);

// Returns a bound on the distance of the points at q (nullable: rest) from `centre`, m; NaN if q
// contains NaN.
double rf_point_tree_reach_rt(const rf_point_tree *tree, const double *q);

// Pads q with zeros for the functions below (row), and likewise (1, |q|) (bound).
void rf_point_tree_pad_rt(const rf_point_tree *tree, const double *q, double *row, double *bound);

// Computes the positions of the points at some places (count, 3).
void rf_point_tree_positions_rt(const rf_point_tree *tree, int32_t count, const int32_t *place,
                                const double *row, double *positions);
// Computes unit normals; zero if the deformation degenerates them.
void rf_point_tree_normals_rt(const rf_point_tree *tree, int32_t count, const int32_t *place,
                              const double *row, double *normals);
// Computes the radii of interior nodes, numbered as `bounds`.
void rf_point_tree_bounds_rt(const rf_point_tree *tree, int32_t count, const int64_t *node,
                             const double *bound, double *radii);
// Adds U^T f for the point at a place to reduced (row).
void rf_point_tree_project_rt(const rf_point_tree *tree, int32_t place, const double force[3],
                              double *reduced);

// Prefetches a point or a node; no effect on results.
static inline void rf_point_tree_prefetch_point_rt(const rf_point_tree *t, int32_t place) {
#if defined(__GNUC__)
  __builtin_prefetch(t->rest + 3 * (int64_t)place);
  if (!t->r) return;
  const char *rows = (const char *)(t->motion + 3 * (int64_t)place * t->row);
  const int64_t bytes = 3 * (int64_t)t->row * (int64_t)sizeof(float);
  for (int64_t b = 0; b < bytes; b += 64) __builtin_prefetch(rows + b);
#else
  (void)t, (void)place;
#endif
}
static inline void rf_point_tree_prefetch_normal_rt(const rf_point_tree *t, int32_t place) {
#if defined(__GNUC__)
  __builtin_prefetch(t->normal + 3 * (int64_t)place);
  if (!t->r) return;
  const char *rows = (const char *)(t->tilt + 3 * (int64_t)place * t->row);
  const int64_t bytes = 3 * (int64_t)t->row * (int64_t)sizeof(float);
  for (int64_t b = 0; b < bytes; b += 64) __builtin_prefetch(rows + b);
#else
  (void)t, (void)place;
#endif
}
static inline void rf_point_tree_prefetch_bound_rt(const rf_point_tree *t, int64_t node) {
#if defined(__GNUC__)
  const char *bound = (const char *)(t->bounds + node * t->bound);
  const int64_t bytes = (int64_t)t->bound * (int64_t)sizeof(float);
  for (int64_t b = 0; b < bytes; b += 64) __builtin_prefetch(bound + b);
#else
  (void)t, (void)node;
#endif
}

#endif
