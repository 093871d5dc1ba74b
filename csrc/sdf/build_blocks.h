// Blocks of the samples of a grid, which are filled independently of each other (build_fill.h).
//
// A block holds whole rows along z and whole packets.  Its boundaries follow from the numbers of
// samples alone; a block that is filled as a grid of its own, with its share of the coarse samples,
// has the same bits as within the whole.
#ifndef RF_SDF_BUILD_BLOCKS_H
#define RF_SDF_BUILD_BLOCKS_H

#include <stdbool.h>

#include "sdf/build_fill.h"

typedef struct rf_grid_block {
  int32_t start[2], n[3];  // first sample along x and y; samples
  int32_t coarse_n[3];     // coarse samples, if there are any
} rf_grid_block;

int64_t rf_grid_blocks(const rf_grid_filling *f);  // their number
void rf_grid_block_at(const rf_grid_filling *f, int64_t index, rf_grid_block *out);

// True if the samples of this rule depend on their earlier values.
bool rf_grid_rule_reads(rf_sign_rule rule);

// Copy the samples of a block out of the grid, and back; (n0, n1, n2), z fastest.
void rf_grid_block_read(const rf_grid_filling *f, const rf_grid_block *b, float *out);
void rf_grid_block_write(const rf_grid_filling *f, const rf_grid_block *b, const float *values);
// Copies its coarse samples (coarse_n0, coarse_n1, coarse_n2).
void rf_grid_block_coarse(const rf_grid_filling *f, const rf_grid_block *b, float *out);

#endif
