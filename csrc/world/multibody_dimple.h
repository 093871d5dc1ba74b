// Dimple of a shell in the solve for the forces of all contacts (multibody_solve.h): the local
// compliance S of a body (contact/local.h), which is all that a fixed shell has.
//
// Its coordinates are the displacements d = S f of the points that touch, in the frame of the
// shell, over the factor c of the damping (pair_dimple.h), with H = c S^-1: forces of this step
// alone bend it, without inertia.  u is minus the displacement by the forces of the last step, over
// c, as gaps and friction count from places with these.  Below S is one c-th of it. It is
// semidefinite and dense.  It is never inverted: the solve knows the image H x of each vector x
// that it uses, and with B the square roots of the contact stiffness times the rows the
// preconditioner is
//     (S^-1 + B^T B)^-1 = S - S B^T (1 + B S B^T)^-1 B S.
// As a body at rest keeps the forces of the last step, that is where a solve begins.
#ifndef RF_WORLD_MULTIBODY_DIMPLE_H
#define RF_WORLD_MULTIBODY_DIMPLE_H

#include "contact/local.h"
#include "linalg/simd.h"
#include "pointshell/tree.h"
#include "world/pair_rows.h"

struct rf_multibody_node;

typedef struct rf_multibody_dimple {
  const rf_contact_local *local;  // borrowed
  rf_simd simd;
  double damping;  // c
  int32_t of;      // number of its body, or of a fixed shell
  // of a shell with a field: its points at the beginning of the step, and outward normals
  const rf_point_tree *tree;  // borrowed; NULL: no field
  double *at, *outward;       // in the frame of the shell                       (n_points, 3)
  double *row, *bound;        // coordinates of the tree (tree->row), (tree->bound)
  int32_t *number;  // of each point of the shell among those of this step; -1    (local->n_points)
  int32_t n;        // points of this step
  int32_t *point;   // of the shell                                               (n)
  double *matrix;   // S / c                                                        (3 n, ld)
  // forces of the last step that are not zero
  int32_t n_last;
  int32_t *last;       // points of the shell                                     (n_last)
  double *last_force;  // N, in the frame of the shell                            (n_last, 3)
  bool *known;         // points of that step                          (local->n_points)
  double *way;         // their displacements by these, m              (local->n_points, 3)
  // rows of the preconditioner, each with the entries from own_first on
  int32_t n_own;
  int32_t *own_first;  //                                                         (n_own + 1)
  int32_t *own_at;     // first coordinate of each entry
  double *own;         // B, of each entry (3)
  double *response;    // B S                                                       (n_own, ld)
  double *factor;  // of 1 + B S B^T                                            (ld, ld) of n_own
  double *weight;  // of these                                                  (ld of n_own)
  int32_t room, own_room, entry_room;
  int64_t response_room;
} rf_multibody_dimple;

// tree: of a shell with a field; NULL: none.
RF_MUST_CHECK rf_status rf_multibody_dimple_create(const rf_contact_local *local,
                                                   const rf_point_tree *tree,
                                                   rf_multibody_dimple **out, rf_error *err);
void rf_multibody_dimple_free(rf_multibody_dimple *d);  // NULL is fine

// Lists the points of the pairs of the node, with their coordinates in the rows, and makes room for
// them.
RF_MUST_CHECK rf_status rf_multibody_dimple_gather(struct rf_multibody_node *n,
                                                   rf_pair_rows *const *pairs, rf_error *err);
// Moves the points of a shell with a field to coordinates q of its tree (NULL: rest).
void rf_multibody_dimple_deform_rt(rf_multibody_dimple *d, const double *q);
static inline rf_shell_blend_points rf_multibody_dimple_shell(const rf_multibody_dimple *d) {
  return (rf_shell_blend_points){d->local->n_points, d->at, d->outward};
}
// Forces of the last step, until the next one.
static inline rf_pair_dimple_forces rf_multibody_dimple_last_forces(const rf_multibody_dimple *d) {
  return (rf_pair_dimple_forces){d->local, d->n_last, d->last, d->last_force, d->known, d->way};
}

// ---- multibody_dimple_rt.c: the functions of multibody_node.h for a dimple

// The dimple of a node in the pair of one of its sides.
const rf_pair_dimple *rf_multibody_dimple_in_pair_rt(const struct rf_multibody_node *n,
                                                     int32_t side, rf_pair_rows *const *pairs);
void rf_multibody_dimple_place_rt(struct rf_multibody_node *n);
RF_MUST_CHECK rf_status rf_multibody_dimple_begin_rt(struct rf_multibody_node *n,
                                                     rf_pair_rows *const *pairs);
void rf_multibody_dimple_gather_rt(const struct rf_multibody_node *n, rf_pair_rows *const *pairs,
                                   double *slot);
void rf_multibody_dimple_take_own_rt(const rf_multibody_dimple *d, const double *x, double *y);
// Enters the next row: `root` times an axis at row i of a pair.
void rf_multibody_dimple_enter_rt(rf_multibody_dimple *d, const rf_pair_dimple *of, int32_t i,
                                  const double axis[3], double root);
// Returns B x of row i.
double rf_multibody_dimple_along_rt(const rf_multibody_dimple *d, int32_t i, const double *x);
// Writes B S of row i into a slot of `size` numbers.
void rf_multibody_dimple_respond_rt(const rf_multibody_dimple *d, int32_t size, int32_t i,
                                    double *out);
double rf_multibody_dimple_weigh_rt(const struct rf_multibody_node *n, const double *r);
void rf_multibody_dimple_correct_rt(const struct rf_multibody_node *n, const double *r, double *z);
void rf_multibody_dimple_finish_rt(const struct rf_multibody_node *n);

#endif
