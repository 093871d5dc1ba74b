// Stiffness of contact for bodies that yield by their own elasticity only, without a coupling.
//
// At rest, a force along the normal n of a surface point moves it by the compliance
//     c = n^T U K^-1 U^T n,
// K the stiffness at rest, of elastic coordinates only.  With a contact of stiffness 30 / c in
// series the body feels softer by 1/31; stiffer contact only disturbs the solve.  Near fixed nodes,
// which hardly yield, c has a lower bound: a fifth of the compliance of the stiffest place meant to
// be pressed, which is the tenth percentile of those above a thousandth of the largest.
#ifndef RF_CONTACT_FIT_H
#define RF_CONTACT_FIT_H

#include <stdbool.h>

#include "base/status.h"
#include "deform/field.h"
#include "model/reduced_model.h"
#include "pointshell/tree.h"

// Computes the compliances, m/N, of the points in the order of the shell (n_points), by the model
// under the tree.
RF_MUST_CHECK rf_status rf_fit_compliance(const rf_point_tree *tree, const rf_reduced *model,
                                          double *compliance, rf_error *err);

// Computes the stiffness of each point, N/m, in the order of the shell (n_points).  Models are
// nullable: a rigid shell, a field that does not deform.  A field that does adds to the compliance
// of each point the median over its proxies of their mean compliance over all directions. `fitted`:
// false, and nothing written, if neither body yields.
RF_MUST_CHECK rf_status rf_fit_stiffness(const rf_point_tree *tree, const rf_reduced *model,
                                         const rf_deformed_field *field,
                                         const rf_reduced *field_model, double *stiffness,
                                         bool *fitted, rf_error *err);

#endif
