// Equilibrium R(x) = f of any system by Newton's iterations (newton.h), as a minimum of P(x) = W(x)
// - f.x.
//
// A step along a direction of descent is shortened until P falls enough (Armijo).  The tangent
// gives such a direction where it is positive definite; elsewhere a multiple of the mass is added
// or, where small ones do not help, the law is made semidefinite point by point.  Close to the
// solution differences of P drown in rounding; there the residual decides.  Where it stagnates
// above the tolerance, the rounding of R is measured, by changing x in its last digits: no residual
// far below this level can be attained, and one near it is accepted.  R of a polynomial in q, or of
// a projected mesh, may cancel to far less than the parts that it sums.  The load is applied part
// by part; with settings.halvings a part that fails is halved, and after two that went well the
// next one is twice as long.
#ifndef RF_DYNAMICS_EQUILIBRIUM_H
#define RF_DYNAMICS_EQUILIBRIUM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "dynamics/statics.h"
#include "dynamics/system.h"

enum { RF_STATIC_SHARES = 100 };  // that progress counts in each part of the load

typedef struct rf_equilibrium rf_equilibrium;

// Extensions of a kind of system.  Both are nullable.
typedef struct rf_equilibrium_hooks {
  // Moves x, the last equilibrium, to where the search for the next one begins, under e->load.
  rf_status (*begin)(rf_equilibrium *e, double part, double *x);
  // Rejects an equilibrium x by RF_ERR_NO_CONVERGENCE.
  rf_status (*accept)(const rf_equilibrium *e, const double *x, rf_error *err);
} rf_equilibrium_hooks;

// Changes of an indefinite tangent: a shift by the mass, or a semidefinite one if small shifts do
// not help; after one that gave no descent the other.
typedef enum rf_repair { RF_REPAIR_ANY, RF_REPAIR_SHIFT, RF_REPAIR_PROJECT } rf_repair;

// Vectors have system->ld values.
struct rf_equilibrium {
  rf_system *system;  // owned
  const rf_equilibrium_hooks *hooks;
  void *context;         // of the hooks
  const double *whole;   // load                             (n)
  double *load, *force;  // part of the load, R(x)
  double *trial, *next;  // places
  double *residual;      // load - R, zero where nothing can move
  double *direction;     // of the search
  double potential;      // at the point evaluated last
  double magnitude;      // of the numbers it is the difference of
  double scale;          // of the residual: load, or reactions if larger
  bool at_rest;          // nothing has moved yet: a singular tangent is an error, not shifted
  double shift;          // factor of the mass that helped last, 0: none needed yet
  bool shifted;          // the factor is not that of the true tangent
  bool projected;        // but of a semidefinite one
  rf_repair repair;      // of the next indefinite tangent
  const rf_run *run;
  const rf_static_settings *set;
  rf_static_report *report;
  int64_t at, step, parts;  // of the load: reached, tried beyond, all
  double first;             // size of the residual before the first iteration
  double size, ratio;       // residual evaluated last, and over that before
  double noise;             // rounding of R, of its scale; 0: not measured in this load step
  double energy_noise;      // rounding of P; 0: not measured
  bool indefinite;          // so was a tangent in the load step tried last
  bool exhausted;           // the load step tried last ended at the limit of iterations
  double share;             // of the step tried, for the progress callback
};

// The system is taken over, also on failure.
RF_MUST_CHECK rf_status rf_equilibrium_create(rf_system *system, const rf_equilibrium_hooks *hooks,
                                              void *context, rf_equilibrium **out, rf_error *err);
void rf_equilibrium_free(rf_equilibrium *e);  // NULL is allowed

RF_MUST_CHECK rf_status rf_statics_check(const rf_static_settings *set, rf_error *err);

// From the start value x (n) to the solution under `load` (n).  e->at_rest is set.  On every
// failure x holds the last equilibrium, or the start value if there was none; the text of
// RF_ERR_NO_CONVERGENCE gives the part of the load that was applied.
RF_MUST_CHECK rf_status rf_equilibrium_solve(rf_equilibrium *e, const rf_run *run,
                                             const rf_static_settings *set, const double *load,
                                             double *x, rf_static_report *report, rf_error *err);

// For hooks.  Evaluates residual, potential, magnitude and scale at x, and K if asked for.
RF_MUST_CHECK rf_status rf_equilibrium_evaluate(rf_equilibrium *e, const double *x, bool tangent);
// Factor of the tangent evaluated last at e->next, semidefinite or shifted if necessary.
RF_MUST_CHECK rf_status rf_equilibrium_factorize(rf_equilibrium *e);

#endif
