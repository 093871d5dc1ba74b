// Elements around each node.
#ifndef RF_FEM_ADJACENCY_H
#define RF_FEM_ADJACENCY_H

#include <stdint.h>

#include "base/status.h"
#include "mesh/mesh.h"

// Lists the elements around node i, ascending: list[ptr[i]] .. list[ptr[i + 1] - 1]. The caller
// frees both arrays.
RF_MUST_CHECK rf_status rf_node_elements(const rf_mesh *mesh, int32_t **ptr, int32_t **list,
                                         rf_error *err);

#endif
