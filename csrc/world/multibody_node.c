#include "world/multibody_node.h"

#include <string.h>

#include "base/alloc.h"
#include "linalg/dense_rt.h"

// Vectors of a node with the size of a slot.
enum { SLOTS = 16 };
static void list_slots(rf_multibody_node *n, double **out[SLOTS]) {
  double **const all[SLOTS] = {&n->base,      &n->change,    &n->inertia, &n->elastic,
                               &n->residual,  &n->step,      &n->stepped, &n->displacement,
                               &n->corrected, &n->direction, &n->image,   &n->moved,
                               &n->product,   &n->force,     &n->best[0], &n->best[1]};
  memcpy(out, all, sizeof all);
}

void rf_multibody_node_free(rf_multibody_node *n) {
  double **slots[SLOTS];
  list_slots(n, slots);
  for (int i = 0; i < SLOTS; ++i) rf_free(*slots[i]);
  rf_free(n->own);
  rf_free(n->added);
  rf_free(n->response);
  rf_free(n->rigid);
  rf_motion_free(n->impact);
  rf_multibody_dimple_free(n->dimple);
}

rf_status rf_multibody_node_reserve_slots(rf_multibody_node *n, int32_t size, rf_error *err) {
  rf_status st = RF_OK;
  double **slots[SLOTS];
  list_slots(n, slots);
  for (int i = 0; i < SLOTS; ++i) {
    rf_free(*slots[i]);
    *slots[i] = NULL;
  }
  for (int i = 0; i < SLOTS; ++i) RF_ALLOC(*slots[i], size);
done:
  return st;
}

rf_status rf_multibody_node_reserve(rf_multibody_node *n, rf_error *err) {
  rf_status st = RF_OK;
  if (n->dimple || n->impact) return st;
  const int32_t ld = (int32_t)n->body->deformation->system->ld;
  n->r = n->body->deformation->n;
  n->size = RF_SLOT_RIGID + ld;
  // again after a failure
  const rf_multibody_node fresh = {
      .body = n->body, .dimple_index = n->dimple_index, .r = n->r, .size = n->size};
  rf_multibody_node_free(n);
  rf_multibody_side *sides = n->sides;
  const int32_t n_sides = n->n_sides;
  *n = fresh;
  n->sides = sides;
  n->n_sides = n_sides;
  RF_TRY(rf_multibody_node_reserve_slots(n, n->size, err));
  RF_ALLOC(n->own, n->size * n->size);
  RF_ALLOC(n->added, ld * ld);
  RF_ALLOC(n->response, 6 * ld);
  RF_ALLOC(n->rigid, RF_SLOT_RIGID * RF_SLOT_RIGID);
  rf_motion_settings set = n->body->deformation->set;
  set.scheme = &rf_scheme_backward_euler;
  set.own = NULL;
  RF_TRY(rf_motion_clone(n->body->deformation, &set, &n->impact, err));
done:
  return st;
}
