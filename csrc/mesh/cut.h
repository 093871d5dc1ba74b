// Cut cells: cubes that count as far as a surface encloses them.
//
// For each cube that meets the surface, mesh/cut_cell.h computes the filled part and
// mesh/cubature.h its quadrature rule.  Empty cubes are dropped, and so are islands: components,
// connected through the filled parts of faces, of less than half a cube in total (the largest
// component always stays). A component of cubes that encloses nothing at all is a sheet; its cubes
// stay whole.
#ifndef RF_MESH_CUT_H
#define RF_MESH_CUT_H

#include <stdint.h>

#include "base/status.h"
#include "mesh/mesh.h"
#include "mesh/surface.h"

typedef struct rf_cut_report {
  int32_t n_cut;      // cells with a quadrature rule of their own
  int32_t n_empty;    // cells dropped because they are empty
  int32_t n_islands;  // cells dropped with islands
  int32_t n_sheets;   // cells kept whole although nothing is enclosed
  int32_t n_dense;    // cells whose rule has more points than moments
} rf_cut_report;

// Cuts `cubes`, a mesh of equal axis-aligned cubes (mesh/voxelize.h). Elements of the result have
// eight nodes for order 1, twenty for order 2.
RF_MUST_CHECK rf_status rf_mesh_cut(const rf_mesh *cubes, const rf_surface *surface, int order,
                                    const rf_run *run, rf_mesh **out, rf_cut_report *report,
                                    rf_error *err);

#endif
