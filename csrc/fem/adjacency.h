// Elements around each node.
#ifndef RF_FEM_ADJACENCY_H
#define RF_FEM_ADJACENCY_H

#include <stdint.h>

#include "base/status.h"
#include "mesh/mesh.h"

// Elements around node i, ascending: list[ptr[i]] .. list[ptr[i + 1] - 1].  Both arrays
// are allocated here and belong to the caller.
RF_MUST_CHECK rf_status rf_node_elements(const rf_mesh *mesh, int32_t **ptr, int32_t **list,
                                         rf_error *err);

#endif
