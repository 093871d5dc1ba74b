// Cut cells: cubes that count as far as a surface encloses them.
//
// Of each cube that the surface meets, mesh/cut_cell.h finds the filled part and mesh/cubature.h a
// quadrature rule for it.  Cubes that are all empty are left out, and so are islands: parts of less
// than half a cube that hang together with nothing through the filled parts of their faces (the
// largest part always stays).  Where cubes that hang together enclose nothing at all, the surface
// is a sheet there and they stay whole.
#ifndef RF_MESH_CUT_H
#define RF_MESH_CUT_H

#include <stdint.h>

#include "base/status.h"
#include "mesh/mesh.h"
#include "mesh/surface.h"

typedef struct rf_cut_report {
  int32_t n_cut;      // cells with a rule of their own
  int32_t n_empty;    // cells left out since nothing of them is filled
  int32_t n_islands;  // and since they belonged to islands
  int32_t n_sheets;   // cells that stay whole though nothing is enclosed
  int32_t n_dense;    // cells whose rule has more points than moments
} rf_cut_report;

// `cubes` is a mesh of equal cubes, axis-aligned (mesh/voxelize.h).  order 1: the result has eight
// nodes an element, 2: twenty.
RF_MUST_CHECK rf_status rf_mesh_cut(const rf_mesh *cubes, const rf_surface *surface, int order,
                                    const rf_run *run, rf_mesh **out, rf_cut_report *report,
                                    rf_error *err);

#endif
