#include "fem/adjacency.h"

#include "base/alloc.h"

rf_status rf_node_elements(const rf_mesh *mesh, int32_t **ptr_out, int32_t **list_out,
                           rf_error *err) {
  rf_status st = RF_OK;
  const int nodes = (int)mesh->type;
  const int64_t corners_total = (int64_t)mesh->n_elements * nodes;
  int32_t *ptr = NULL, *list = NULL;
  if (corners_total > INT32_MAX)
    return rf_fail(err, RF_ERR_MEMORY, "%d elements are beyond the 32-bit index range",
                   mesh->n_elements);
  RF_ALLOC(ptr, (int64_t)mesh->n_nodes + 2);
  RF_ALLOC(list, corners_total);
  // counts two entries to the right, so that filling turns them into starts
  for (int64_t k = 0; k < corners_total; ++k) ++ptr[mesh->elements[k] + 2];
  for (int32_t i = 0; i < mesh->n_nodes; ++i) ptr[i + 2] += ptr[i + 1];
  for (int64_t k = 0; k < corners_total; ++k)
    list[ptr[mesh->elements[k] + 1]++] = (int32_t)(k / nodes);
  *ptr_out = ptr;
  *list_out = list;
  ptr = list = NULL;
done:
  rf_free(ptr);
  rf_free(list);
  return st;
}
