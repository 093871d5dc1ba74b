// Equilibrium R(x) = f by Newton-Raphson, of whatever has a potential P(x) = W(x) - f.x: of an
// unreduced solid (fem/statics.c) and of a reduced model (model/reduced_statics.c).
//
// A step along a direction of descent is shortened until P falls enough (Armijo).  The tangent
// gives such a direction where it is positive definite; elsewhere a multiple of the mass is added
// until it is.  Close to the solution differences of P drown in rounding; there the residual
// decides.  The load is applied part by part; with settings.halvings a part that fails is halved,
// and after two that went well the next one is twice as long.
#ifndef RF_FEM_NEWTON_H
#define RF_FEM_NEWTON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "fem/fem.h"

enum { RF_STATIC_HALVINGS = 20 };  // most

typedef struct rf_newton rf_newton;

// Problem to be solved.  Every function may read the state below; those without a status cannot
// fail.
typedef struct rf_newton_problem {
  // Sets the load to `part` of the whole and x, the last equilibrium, to where the search for the
  // next one begins.
  rf_status (*begin)(rf_newton *n, double part, double *x, rf_error *err);
  // Residual, potential, magnitude and scale at x, and the tangent K if asked for.
  rf_status (*evaluate)(rf_newton *n, const double *x, bool tangent, rf_error *err);
  // Ratio of K to the mass, the unit of the shift.
  double (*stiffness_per_mass)(const rf_newton *n);
  // Factor of K + shift M; RF_ERR_SINGULAR unless it is positive definite.
  rf_status (*factorize)(rf_newton *n, double shift, rf_error *err);
  // direction = (K + shift M)^-1 residual
  rf_status (*solve)(rf_newton *n, rf_error *err);
  // to = from + length direction
  void (*move)(const rf_newton *n, double length, const double *from, double *to);
  // Size of the rounding error of R at x: eps sum |K_ij| |x_j|.
  double (*rounding)(const rf_newton *n, const double *x);
  // Refuses an equilibrium x by RF_ERR_NO_CONVERGENCE.  NULL: all are welcome.
  rf_status (*accept)(const rf_newton *n, const double *x, rf_error *err);
  bool factor_is_dear;  // beside evaluations and solves, so that some more of these save time
} rf_newton_problem;

struct rf_newton {
  const rf_newton_problem *problem;
  void *context;         // of the problem
  int64_t n_values;      // numbers of x
  int64_t n_unknowns;    // of these, free
  double *trial, *next;  // memory of the problem's           (n_values)
  double *residual;      // f - R                             (n_unknowns)
  double *direction;     //                                   (n_unknowns)
  double potential;      // at the point evaluated last
  double magnitude;      // of the numbers it is the difference of
  double scale;          // what the residual is measured by: load, or reactions if larger
  bool at_rest;          // nothing has moved yet: a singular tangent is an error, not shifted
  double shift;          // factor of the mass that helped last, 0: none needed yet
  const rf_run *run;
  const rf_static_settings *set;
  rf_static_report *report;
  int64_t at, step, parts;  // of the load: reached, tried beyond, all
  double share;             // of the step tried, for the progress callback
};

enum { RF_STATIC_SHARES = 100 };  // that progress counts in each part of the load

RF_MUST_CHECK rf_status rf_newton_check(const rf_static_settings *set, rf_error *err);

// From the start value x to the solution; problem, context, sizes, memory and at_rest are set.  On
// every failure x holds the last equilibrium, or the start value if there was none; the text of
// RF_ERR_NO_CONVERGENCE tells how far the load was applied.
RF_MUST_CHECK rf_status rf_newton_solve(rf_newton *n, const rf_run *run,
                                        const rf_static_settings *set, double *x,
                                        rf_static_report *report, rf_error *err);

// For problems that predict: factor of the tangent evaluated last, shifted if that is what it
// takes.
RF_MUST_CHECK rf_status rf_newton_factorize(rf_newton *n, rf_error *err);

#endif
