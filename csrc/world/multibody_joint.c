#include "world/multibody_joint.h"

#include "base/alloc.h"
#include "linalg/dense_rt.h"

static void free_rows(rf_multibody_joint *j) {
  rf_free(j->spring);
  rf_free(j->factor);
  rf_free(j->weight);
  j->spring = NULL;
  j->factor = j->weight = NULL;
  j->room = 0;
}

static void free_pairs(rf_multibody_joint *j) {
  rf_free(j->first);
  j->first = NULL;
  j->pair_room = 0;
}

void rf_multibody_joint_free(rf_multibody_joint *j) {
  free_rows(j);
  free_pairs(j);
}

rf_status rf_multibody_joint_reserve(rf_multibody_joint *j, const rf_multibody_touching *of,
                                     rf_error *err) {
  rf_status st = RF_OK;
  int64_t rows = 0, soft = 0;
  for (int32_t k = 0; k < of->n_pairs; ++k) {
    const rf_pair_rows *t = of->pairs[k];
    const int64_t own = (t->friction.mu > 0.0 ? RF_PAIR_SPRINGS : 1) * (int64_t)t->n_rows;
    rows += own;
    if (t->dimple[0].yields || t->dimple[1].yields) soft += own;
  }
  // the factor has the rows of rigid bodies, too, which do not need it
  j->on = 2 * soft > rows && rows <= RF_MULTIBODY_JOINT_MOST;
  if (!j->on) return st;
  if (of->n_pairs > j->pair_room) {
    free_pairs(j);
    RF_ALLOC(j->first, of->n_pairs + 1);
    j->pair_room = of->n_pairs;
  }
  if (rows > j->room) {
    // more points touch in the next steps
    const int32_t room = (int32_t)(rows + rows / 2);
    const size_t ld = (size_t)rf_dense_ld(room);
    free_rows(j);
    RF_ALLOC(j->spring, room);
    RF_ALLOC(j->factor, ld * ld);
    RF_ALLOC(j->weight, ld);
    j->room = room;
  }
done:
  return st;
}
