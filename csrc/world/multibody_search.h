// Search for contact in a step of many bodies (multibody.h).
//
// Broad phase: spheres around all places of the bodies in the step give pairs that may meet, whose
// relative speed is noted; pairs whose spheres overlap at the beginning of the step are candidates.
// Narrow phase: the points of one body in the field of the other, on all threads.
#ifndef RF_WORLD_MULTIBODY_SEARCH_H
#define RF_WORLD_MULTIBODY_SEARCH_H

#include "base/run.h"
#include "world/broad.h"
#include "world/multibody_contacts.h"
#include "world/multibody_memory.h"
#include "world/multibody_node.h"
#include "world/multibody_shape.h"

// A shell that never moves, and yields by its dimple alone.
typedef struct rf_multibody_fixed {
  rf_pose pose;  // of its rest coordinates in the world
  int32_t shape;
  double friction;
  int32_t dimple_index;  // number of its dimple
} rf_multibody_fixed;

// Numbers of fixed shells in pairs: -2, -3, ...; -1 is the ground.
static inline int32_t rf_multibody_fixed_number(int32_t index) { return -2 - index; }

// A body, or a fixed shell, at the beginning of a step.
typedef struct rf_multibody_place {
  rf_pair_rows_frame frame;
  rf_broad_sphere sphere;  // around all that can touch
  double reach;            // of the points from its centre, m; negative: there are none
  double turning, speed;   // bounds of the speed of any point, m/s: about the centre, in all
} rf_multibody_place;

// Memory grows; zero to begin with but for the first group, which a user sets before each search.
typedef struct rf_multibody_search {
  double dt_s;
  const rf_field *ground;   // in the world; NULL: none
  double ground_thickness;  // m
  int32_t n_bodies;
  const rf_multibody_bounded *shapes;
  const int32_t *shape_of;  // by body; -1: none                         (n_bodies)
  const double *friction;   // coefficients by body                      (n_bodies)
  double ground_friction;
  const rf_multibody_memory *memory;  // of friction in the last step
  const rf_multibody_node *nodes;     // (n_bodies)
  int32_t n_fixed;
  const rf_multibody_fixed *fixed;  // (n_fixed)
  rf_multibody_node *dimples;       // by number; the search moves their points
  // results
  int32_t n_pairs;      // candidates
  rf_pair_rows *pairs;  // (n_pairs)
  double fastest;       // of all searches, see rf_multibody_report
  int32_t fastest_body;
  int32_t missed_body, missed_shell;  // of all searches, see rf_multibody_report
  // memory
  int32_t body_room, pair_room, n_workers;
  rf_multibody_place *places;  // of the bodies, then of the fixed shells   (n_bodies + n_fixed)
  rf_broad_sphere *swept;      // around all places in a step               (n_bodies + n_fixed)
  rf_broad broad;
  rf_multibody_contacts *workers;  // contacts of each worker                       (n_workers)
} rf_multibody_search;

// Place of a body, or of a fixed shell, by its number.
static inline const rf_multibody_place *rf_multibody_search_place(const rf_multibody_search *s,
                                                                  int32_t number) {
  return &s->places[number >= 0 ? number : s->n_bodies + rf_multibody_fixed_number(number)];
}

// Broad phase: lists the candidates, without their rows.
RF_MUST_CHECK rf_status rf_multibody_search_broad(rf_multibody_search *s, rf_error *err);
// Narrow phase: fills the rows of the candidates.
RF_MUST_CHECK rf_status rf_multibody_search_narrow(rf_multibody_search *s, const rf_run *run,
                                                   rf_error *err);
void rf_multibody_search_free(rf_multibody_search *s);  // its content; zero is fine

#endif
