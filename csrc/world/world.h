// A world: bodies, and pairs of them that may touch, stepped together.
//
// A step is made of stages, which a haptic cycle calls one by one:
//     search    evaluates contact of all pairs at the present state,
//     load      sums wrenches and reduced forces of each body, in the order of the pairs,
//     condense  (solvers that solve for several bodies at once) adds the responses of all bodies to
//               force and gradient on the held one, which its holder then moves,
//     step      moves the bodies.
// A global solver (world/solver.h) acts between load and step.  One that makes the forces of
// contact itself begins before the search (foresee) and ends after it (constrain), in place of
// condense.
//
// A world copies what it is given and owns its bodies and pairs.  Stages do not allocate.
#ifndef RF_WORLD_WORLD_H
#define RF_WORLD_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "body/body.h"
#include "world/pair.h"
#include "world/solver.h"

typedef struct rf_world_settings {
  double dt_s;  // length of a step
  int32_t most_bodies, most_pairs;
} rf_world_settings;

// Results of a search, over all pairs.
typedef struct rf_world_found {
  double deepest_m;  // penetration, of all pairs
  // of pairs with the held body, or without free ones: deepest penetration, smallest travel of any
  // point before one touches (no pair: INFINITY), touching points
  double depth_m, clearance_m;
  int32_t touching;
  int32_t visited;  // nodes
  int32_t level;    // smallest over pairs of the deepest level rendered
  bool unsolved;    // the solver has made forces that do not meet its tolerance
  // more points of shells with a local compliance touch than it has sites, or than are in its reach
  bool crowded;
} rf_world_found;

// Computing time of a search, divided among the pairs.
typedef struct rf_world_budget {
  double left_us;   // processor time from begun_us on
  double begun_us;  // processor time of the thread (rf_processor_us_rt) at the beginning
} rf_world_budget;

typedef struct rf_world {
  rf_world_settings set;
  int32_t n_bodies, n_pairs;
  rf_body **body;  // owned                         (n_bodies)
  rf_pair **pair;  // owned, and their contacts     (n_pairs)
  const rf_solver_kind *solver;
  void *solving;         // of the solver, owned
  bool joint;            // this step is solved for several bodies at once
  rf_world_found found;  // of the last search
} rf_world;

RF_MUST_CHECK rf_status rf_world_create(const rf_world_settings *set, rf_world **out,
                                        rf_error *err);
void rf_world_free(rf_world *world);  // NULL is fine

// Adds a body made from a copy of the settings; `out` is borrowed.
RF_MUST_CHECK rf_status rf_world_add_body(rf_world *world, const rf_body_settings *set,
                                          rf_body **out, rf_error *err);
// Adds a pair with a copy of the contact; the bodies are those of this world.
RF_MUST_CHECK rf_status rf_world_add_pair(rf_world *world, const rf_contact *contact, rf_body *tree,
                                          rf_body *field, rf_pair **out, rf_error *err);
// Chooses the solver by its name, "split" at first.  Any other solver is prepared for the present
// bodies and pairs; none can be added afterwards.
RF_MUST_CHECK rf_status rf_world_solve_by(rf_world *world, const char *solver, rf_error *err);

// ---- stages

// budget: equal parts for the pairs of what is left; NULL: contacts keep their own budgets.
RF_MUST_CHECK rf_status rf_world_search_rt(rf_world *world, const rf_world_budget *budget);
void rf_world_load_rt(rf_world *world);
// Sets world->joint.  In a joint step writes wrench (6) and gradient (6, 6) on the held body, with
// the responses of all bodies; else, if at all, those of contact alone.  again: solves the same
// step again, without the damping of contact (world/coupled.h).  RF_ERR_SINGULAR: the step is not
// joint.
RF_MUST_CHECK rf_status rf_world_condense_rt(rf_world *world, rf_body *held, bool again,
                                             double wrench[6], double gradient[36]);
// True if the solver makes the forces of contact: the next two then take the place of condense.
static inline bool rf_world_constrains_rt(const rf_world *world) {
  return world->solver->constrain_rt != NULL;
}
RF_MUST_CHECK rf_status rf_world_foresee_rt(rf_world *world, const rf_held_free *held);
// wrench (6): on the held body; it has been added to no load.  move (6), in a second call in a step
// only: the motion of the held body, in place of the one that the forces give it; else NULL.  The
// solve ends when the processor time of the thread is end_us.
RF_MUST_CHECK rf_status rf_world_constrain_rt(rf_world *world, const double *move, double end_us,
                                              double wrench[6]);
// Moves all bodies; move (6): motion of the held one in this step.  Prepares the next step.
RF_MUST_CHECK rf_status rf_world_step_rt(rf_world *world, const double move[6]);

// Forgets the contact of earlier steps, as after a jump of the held body.
void rf_world_forget_rt(rf_world *world);
// Asks all contacts for the clearance, or no longer.
void rf_world_ask_clearance_rt(rf_world *world, bool asked);
// Number of increments of all bodies that were shortened so far (dynamics/newton.h).
int64_t rf_world_shortened_rt(const rf_world *world);

#endif
