// Interface of global solvers: they turn the loads of a step into motions of several bodies.
//
// To add a solver: a source with its table, and a row below.
#ifndef RF_WORLD_SOLVER_H
#define RF_WORLD_SOLVER_H

#include <stdbool.h>

#include "base/status.h"

struct rf_world;
struct rf_body;

// The held body in a step without contact, and what contact adds to its motion.
typedef struct rf_held_free {
  double way[6];          // motion of its reference point, and rotation
  double compliance[36];  // of both by a wrench in the step, symmetric positive     (6, 6)
  double reach_m;         // largest distance of the body from its reference point; 0: unknown
} rf_held_free;

typedef struct rf_solver_kind {
  const char *name;
  // Prepares for the bodies and pairs of a world, and asks pairs for the blocks it needs.
  rf_status (*create)(struct rf_world *world, void **self, rf_error *err);
  void (*release)(void *self);  // NULL is fine
  // Of solvers that make the forces of contact themselves, in place of condense_rt: both or none.
  // Begins a step: free motions of all bodies, and the distance within which pairs look for points.
  rf_status (*foresee_rt)(void *self, struct rf_world *world, const rf_held_free *held);
  // Solves for the forces after the search; wrench (6): of contact on the held body.  Sets
  // world->joint and world->found.unsolved.
  rf_status (*constrain_rt)(void *self, struct rf_world *world, const double *move, double end_us,
                            double wrench[6]);
  // Condenses the load of the held body; wrench and gradient are those of contact.  Sets
  // world->joint if it changes them.
  rf_status (*condense_rt)(void *self, struct rf_world *world, bool again, double wrench[6],
                           double gradient[36]);
  // Moves all bodies of a joint step.
  rf_status (*step_rt)(void *self, struct rf_world *world, const double move[6]);
  // Precomputes what the next step needs from the states alone.
  void (*prepare_rt)(void *self);
  // Forgets the contact of earlier steps.  NULL: nothing to forget.
  void (*reset_rt)(void *self);
} rf_solver_kind;

// The registry: a row a solver.
#define RF_SOLVERS(ROW)                                                     \
  ROW(split)      /* each body alone, under the load before the step */     \
  ROW(coupled)    /* the held body and all that deform (world/coupled.h) */ \
  ROW(frictional) /* the same, by sites with friction (world/frictional.h) */

#define RF_SOLVER_DECLARE(name) extern const rf_solver_kind rf_solver_##name;
RF_SOLVERS(RF_SOLVER_DECLARE)
#undef RF_SOLVER_DECLARE

// The solver of a name; NULL: there is none.
const rf_solver_kind *rf_solver_find(const char *name);

#endif
