// Points with a force between two steps (multibody.h), by pair and point: the springs of friction,
// and which points bear a force in a field that yields.
//
// Forces are kept in the axes of the tree, so that they turn with its body, and are projected on
// the tangents of the next step; places are kept in the frame of the field (pair_friction.h).
#ifndef RF_WORLD_MULTIBODY_MEMORY_H
#define RF_WORLD_MULTIBODY_MEMORY_H

#include "world/multibody_node.h"

typedef struct rf_multibody_grip {
  int32_t place;      // of the point in the tree
  double force_n[3];  // on the field's body, before the way of the point
  double at[3];       // the point in the frame of the field at the beginning of the step
  double limit_n;     // of the force at its end
} rf_multibody_grip;

typedef struct rf_multibody_gripped {
  int32_t tree, field;  // bodies; field -1: the ground
  int64_t first, end;   // of its points
} rf_multibody_gripped;

// Zero to begin with.
typedef struct rf_multibody_memory {
  int32_t n_pairs, pair_room;
  int64_t room;                 // of points
  rf_multibody_gripped *pairs;  // ascending by tree and field                    (n_pairs)
  rf_multibody_grip *points;    // of each pair ascending by place
  int32_t *places;              // of these
} rf_multibody_memory;

void rf_multibody_memory_free(rf_multibody_memory *m);  // its content; zero is fine
// Forgets all, and makes room for the points of pairs with friction, or fields that yield.
RF_MUST_CHECK rf_status rf_multibody_memory_reserve(rf_multibody_memory *m, int32_t n_pairs,
                                                    rf_pair_rows *const *pairs, rf_error *err);
// Records the points of pairs for which there is room, after the solve; nodes: by body.
void rf_multibody_memory_record(rf_multibody_memory *m, int32_t n_pairs, rf_pair_rows *const *pairs,
                                const rf_multibody_node *nodes);
// Returns the places of the points of a pair that bore a force, ascending; NULL and 0: none.
const int32_t *rf_multibody_memory_places(const rf_multibody_memory *m, const rf_pair_rows *t,
                                          int32_t *n);
// Sets the forces of springs in the rows of a pair; those of points that are new are zero.
void rf_multibody_memory_recall(const rf_multibody_memory *m, rf_pair_rows *t);

#endif
