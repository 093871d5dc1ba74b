// A body in the solve for the forces of all contacts (multibody_solve.h), or the dimple of one
// (multibody_dimple.h).
#ifndef RF_WORLD_MULTIBODY_NODE_H
#define RF_WORLD_MULTIBODY_NODE_H

#include <stddef.h>

#include "dynamics/free_body.h"
#include "world/multibody_dimple.h"
#include "world/pair_rows.h"

// Side of a pair on a body.
typedef struct rf_multibody_side {
  int32_t pair, side;
} rf_multibody_side;

// A body in the solve.  Memory is made when the body first touches something.
typedef struct rf_multibody_node {
  rf_multibody_dimple *dimple;  // owned; NULL: a body
  // of a body only
  rf_free_body *body;    // owned by the whole
  int32_t dimple_index;  // number of its dimple; -1: none
  rf_motion *impact;     // its deformation in steps with contact; owned
  double *own;           // c K of the body alone, of all rows                       (size, size)
  double *added;         // A of the deformation, its reduced part                   (ld, ld)
  double *response;      // of the reduced coordinates to motions of the body        (6, ld)
  double *rigid;         // factor of the rigid block without them                   (8, 8)
  // of both
  int32_t r, size;           // of its slot
  rf_multibody_side *sides;  // of this step, in the order of pairs; borrowed  (n_sides)
  int32_t n_sides;
  // slots
  double *base;               // u, from which e counts
  double *change;             // e
  double *inertia;            // H e
  double *elastic;            // force of the deformation at e = 0
  double *residual;           // elastic - H e + forces of the contacts
  double *step;               // of Newton's iteration
  double *stepped;            // H step
  double *displacement;       // u + e
  double *corrected;          // residual, preconditioned
  double *direction, *image;  // of conjugate gradients, and its image by the preconditioner
  double *moved;              // its image by H
  double *product;            // its image by the system
  double *force;              // of the contacts
  double *best[2];            // e and H e with the least residual by the law of friction
  // of this body in sums over all
  double dot, left, energy;
} rf_multibody_node;

// Vectors of the nodes of a pair: one of theirs, at an offset in a node.
static inline rf_pair_slots rf_multibody_slots_of(const rf_multibody_node *all,
                                                  const rf_multibody_node *dimples,
                                                  const rf_pair_rows *t, size_t offset) {
  rf_pair_slots out = {0};
  for (int e = 0; e < 2; ++e) {
    const char *body = t->side[e].body >= 0 ? (const char *)&all[t->side[e].body] : NULL;
    const char *dimple = t->dimple[e].yields ? (const char *)&dimples[t->dimple[e].node] : NULL;
    if (body) out.side[e] = *(double *const *)(body + offset);
    if (dimple) out.dimple[e] = *(double *const *)(dimple + offset);
  }
  return out;
}
#define RF_MULTIBODY_SLOTS(all, dimples, pair, slot) \
  rf_multibody_slots_of((all), (dimples), (pair), offsetof(rf_multibody_node, slot))

RF_MUST_CHECK rf_status rf_multibody_node_reserve(rf_multibody_node *node, rf_error *err);
// Replaces the slots by those of a size.
RF_MUST_CHECK rf_status rf_multibody_node_reserve_slots(rf_multibody_node *n, int32_t size,
                                                        rf_error *err);
void rf_multibody_node_free(
    rf_multibody_node *node);  // its content, but for the body; zero is fine

// Sets u, and e to zero, or to that of a body whose velocity stays as it is.
void rf_multibody_node_place_rt(rf_multibody_node *n, bool stays);
// Prepares a body that is placed: its own block, the step of its deformation and the elastic force.
// Without pairs (NULL) the block is zero.
RF_MUST_CHECK rf_status rf_multibody_node_begin_rt(rf_multibody_node *n, rf_pair_rows *const *pairs,
                                                   double contact_damping);
// Adds the generalised forces of its contacts to a slot.
void rf_multibody_node_gather_rt(const rf_multibody_node *n, rf_pair_rows *const *pairs,
                                 double *slot);
// y -= own x
void rf_multibody_node_take_own_rt(const rf_multibody_node *n, const double *x, double *y);
// Upper bound of r H^-1 r.
double rf_multibody_node_weigh_rt(const rf_multibody_node *n, const double *r);
// z = P^-1 r
void rf_multibody_node_correct_rt(rf_multibody_node *n, const double *r, double *z);
// Makes the step under n->force.
RF_MUST_CHECK rf_status rf_multibody_node_finish_rt(rf_multibody_node *n);

#endif
