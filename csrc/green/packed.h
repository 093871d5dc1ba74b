// Green's functions with blocks of low rank.
//
// Nodes are grouped by place in tiles of up to RF_GREEN_CLUSTER.  The block of two tiles is stored
// as U V^T where that takes less memory, with an error E that obeys two bounds (|.|: Frobenius):
//
//   |E| <= tolerance |G_IJ|,   |L_I^-1 E L_J^-T| <= tolerance,   G_II = L_I L_I^T
//
// By the second one, the work of forces on I through the error of displacements by forces on J is
// at most `tolerance` times the geometric mean of the works of each in its own tile: forces that
// nearly cancel each other have small errors, too.  Blocks on the diagonal are dense, and rounding
// to float comes on top.
//
// Contacts need definite parts of G.  An error may spoil that; then the blocks on the diagonal are
// lifted: multiplied by 1 + lift, the smallest of tolerance 2^k that makes the part definite, also
// in the displacements by the forces of the contacts.
#ifndef RF_GREEN_PACKED_H
#define RF_GREEN_PACKED_H

#include <stdbool.h>
#include <stdint.h>

#include "green/green.h"

enum { RF_GREEN_CLUSTER = 64, RF_GREEN_DENSE = -1 };

// Slots are places in the order of the tiles.  Block (I, J), I >= J, has the index
// I (I + 1) / 2 + J and follows block (I - 1, J) in strip J.  A dense block is stored by columns,
// those of U and V likewise, U first.
typedef struct rf_green_packed {
  double tolerance;
  int32_t tiles;
  int32_t *begin;  // first slot of each tile       (tiles + 1)
  int32_t *place;  // of each slot                  (count)
  int32_t *slot;   // of each place                 (count)
  int32_t *tile;   // of each place                 (count)
  int32_t *rank;   // of blocks, or RF_GREEN_DENSE  (rf_green_packed_blocks)
  int64_t *at;     // first entry of each block in its strip
  void **strip;    // (tiles)
} rf_green_packed;

static inline int64_t rf_green_packed_blocks(int32_t tiles) {
  return (int64_t)tiles * (tiles + 1) / 2;
}
static inline int64_t rf_green_packed_index(int32_t I, int32_t J) {
  return (int64_t)I * (I + 1) / 2 + J;
}
// Returns the number of DOFs of a tile.
static inline int32_t rf_green_packed_size(const rf_green_packed *p, int32_t tile) {
  return 3 * (p->begin[tile + 1] - p->begin[tile]);
}

struct rf_green_columns;

// Computes and packs all blocks of g, which has none.
RF_MUST_CHECK rf_status rf_green_packed_create(rf_green *g, const struct rf_green_columns *columns,
                                               double tolerance, const rf_run *run, rf_error *err);
void rf_green_packed_free(rf_green_packed *p);  // NULL is allowed

// Returns the number of entries, copies them strip by strip, and sets those of a file.
int64_t rf_green_packed_entries(const rf_green_packed *p);
void rf_green_packed_copy(const rf_green *g, void *to);
typedef struct rf_green_packed_file {
  double tolerance;
  int32_t tiles;
  const int32_t *begin, *place, *rank;  // as above
  int64_t n_entries;
  const void *entry;
} rf_green_packed_file;
// RF_ERR_ARG: the arrays contradict each other.
RF_MUST_CHECK rf_status rf_green_packed_restore(rf_green *g, const rf_green_packed_file *file,
                                                rf_error *err);

// Returns the lift after `lift`; 0 if there is none: a triangle is not lifted, and no part by more
// than its own size.
static inline double rf_green_next_lift(const rf_green *g, double lift) {
  if (!g->packed) return 0.0;
  const double next = lift > 0.0 ? 2.0 * lift : g->packed->tolerance;
  return next <= 1.0 ? next : 0.0;
}
// Returns the factor of the block of two places with entries.
static inline double rf_green_lifted(const rf_green *g, double lift, int32_t i, int32_t j) {
  return lift > 0.0 && g->packed->tile[i] == g->packed->tile[j] ? 1.0 + lift : 1.0;
}

// The operations of green.h.
void rf_green_packed_block_rt(const rf_green *g, int32_t i, int32_t j, double block[9]);
// With blocks on the diagonal lifted; place: NULL for forces at all places in their order.
void rf_green_packed_add_rt(const rf_green *g, double lift, int32_t m, const int32_t *place,
                            const double *force, double *u);

#endif
