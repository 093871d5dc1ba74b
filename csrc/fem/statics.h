// Static solutions for several loads of one solid: one analysis of the tangent's pattern serves
// all, and loads are solved side by side.
//
// With settings.halvings (see fem/newton.h) a load step fails too where it turns elements inside
// out, which the material, a polynomial of u, would let pass: that is another branch than the one
// which starts at rest.  What stops short of the whole load tells the fraction that it reached.
#ifndef RF_FEM_STATICS_H
#define RF_FEM_STATICS_H

#include "fem/fem.h"
#include "fem/loads.h"

// Scratch of one solution after another; one thread at a time.
typedef struct rf_statics rf_statics;
RF_MUST_CHECK rf_status rf_statics_create(const rf_solid *solid, rf_statics **out, rf_error *err);
void rf_statics_free(rf_statics *w);  // NULL is fine

// As rf_solid_solve_static.
RF_MUST_CHECK rf_status rf_statics_solve(rf_statics *w, const rf_run *run,
                                         const rf_static_settings *set, const double *force,
                                         const double *prescribed, double *u,
                                         rf_static_report *report, rf_error *err);

// Each load by itself from rest, zero at the fixed nodes: u (count, n_nodes, 3), reports and
// outcomes (count).  A load that finds no equilibrium has the outcome RF_ERR_NO_CONVERGENCE and
// in u what it reached; that is no failure of the call.  Each thread takes the memory of a factor.
RF_MUST_CHECK rf_status rf_statics_solve_loads(const rf_solid *solid, const rf_run *run,
                                               const rf_static_settings *set, const rf_loads *loads,
                                               double *u, rf_static_report *reports,
                                               rf_status *outcomes, rf_error *err);

// Elements with det F <= 0 at one of their quadrature points.
int32_t rf_solid_inverted(const rf_solid *solid, const double *u);

#endif
