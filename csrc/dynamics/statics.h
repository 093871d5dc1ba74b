// Static equilibrium R(x) = f of solids, reduced models and projected solids (B07 2.1.10: the
// equations of motion without mass and damping), by equilibrium.h.
//
// With settings.halvings a load step of a solid also fails if it inverts elements, which most
// laws accept: that is another branch than the one which starts at rest.  Iterates with a small
// residual are rejected likewise, before they converge.  Without halvings the report counts such
// elements.  A solution that stops short of the whole load reports the
// fraction that it reached.
//
// A residual above the tolerance is accepted where it stagnates at the rounding of R (see
// equilibrium.h); the report contains it.
#ifndef RF_DYNAMICS_STATICS_H
#define RF_DYNAMICS_STATICS_H

#include <stdbool.h>

#include "fem/fem.h"
#include "fem/loads.h"
#include "model/projected.h"
#include "model/reduced_model.h"

enum { RF_STATIC_HALVINGS = 20 };  // most

typedef struct rf_static_settings {
  double tolerance;    // on |residual| over free DOFs relative to the load's scale
  int32_t load_steps;  // the load is applied in this many equal parts
  int32_t newton_max;  // iterations per load step
  int32_t halvings;    // limit of halvings of a failed load step; 0: none
  // a failed step is not halved if it is this part of the load reached, unless it ended at the
  // limit of iterations; 0: always halved
  double resolution;
  double begin;    // fraction of the load under which the start is in equilibrium; 0: of none
  bool stability;  // tests the solution, for one factorization
} rf_static_settings;

typedef struct rf_static_report {
  int32_t iterations, load_steps, factorizations, shifted;  // shifted: the tangent was indefinite
  int32_t cuts;      // load steps that failed and were halved
  int32_t inverted;  // elements that are inside out at the end; of solids, -1: not counted
  int32_t stable;    // 1: the tangent at the solution is positive definite, 0: not, -1: not tested
  double fraction;   // fraction of the load reached by u
  double residual;   // last relative residual
} rf_static_report;

// R(u) = force on free DOFs, u = prescribed on the fixed ones (nullable: zero).  u (n, 3) is the
// start value on entry and the solution on return; on failure it is the last converged load step,
// or the start value if there is none.
RF_MUST_CHECK rf_status rf_statics_solve_solid(const rf_solid *solid, const rf_run *run,
                                               const rf_static_settings *set, const double *force,
                                               const double *prescribed, double *u,
                                               rf_static_report *report, rf_error *err);
// The same for the force (r) and the coordinates q (r).
RF_MUST_CHECK rf_status rf_statics_solve_reduced(const rf_reduced *model, const rf_run *run,
                                                 const rf_static_settings *set, const double *force,
                                                 double *q, rf_static_report *report,
                                                 rf_error *err);
RF_MUST_CHECK rf_status rf_statics_solve_projected(const rf_projected *model, const rf_run *run,
                                                   const rf_static_settings *set,
                                                   const double *force, double *q,
                                                   rf_static_report *report, rf_error *err);

// Draws `count` poses q (count, r): equilibria of the projected solid under random loads.  The
// linear response to a load has normally distributed modal coordinates with the variance 1/omega^2
// of thermal equilibrium, scaled so that its largest strain is a share of `strain`; shares are
// spread evenly over (0.02, 1).  Same seed, same poses.
RF_MUST_CHECK rf_status rf_statics_draw_poses(const rf_projected *model, const rf_run *run,
                                              int32_t count, double strain, uint64_t seed,
                                              double *q, rf_error *err);

// Scratch of several solutions of one solid, whose pattern is analysed once.  One thread at a time.
typedef struct rf_statics rf_statics;
RF_MUST_CHECK rf_status rf_statics_create(const rf_solid *solid, rf_statics **out, rf_error *err);
void rf_statics_free(rf_statics *w);  // NULL is allowed

// As rf_statics_solve_solid.
RF_MUST_CHECK rf_status rf_statics_solve(rf_statics *w, const rf_run *run,
                                         const rf_static_settings *set, const double *force,
                                         const double *prescribed, double *u,
                                         rf_static_report *report, rf_error *err);

// Solves for each load from rest, zero at the fixed nodes: u (count, n_nodes, 3), reports and
// outcomes (count).  A load that is a larger multiple of the load before continues from the
// solution of that, which may lead to another equilibrium than the load alone; if that was not
// reached, it is not tried: the same u, no iterations.  A load that finds no equilibrium has the
// outcome RF_ERR_NO_CONVERGENCE and its last load step in u; that is no failure of the call.  The
// part of it that was reached is exact to a thirty-second, or to the smallest step where steps end
// at the limit of iterations.  Progress is that of all loads, and follows each iteration.  Each
// thread takes the memory of a factor.
RF_MUST_CHECK rf_status rf_statics_solve_loads(const rf_solid *solid, const rf_run *run,
                                               const rf_static_settings *set, const rf_loads *loads,
                                               double *u, rf_static_report *reports,
                                               rf_status *outcomes, rf_error *err);

#endif
