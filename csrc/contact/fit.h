// Stiffness of contact for bodies that nothing but their own elasticity yields to.
//
// At rest, a force along the normal n of a surface point moves it by the compliance
//     c = n^T U K^-1 U^T n,
// K the stiffness at rest, of elastic coordinates only.  A contact of stiffness 30 / c in series
// with it feels softer than the body by 1/31: right for what is felt, and no stiffer than that, as
// more only disturbs the solve.  Where hardly anything yields, as near fixed nodes, c is taken for
// a fifth of that of the stiffest place meant to be pressed: the tenth percentile of those above a
// thousandth of the largest.
#ifndef RF_CONTACT_FIT_H
#define RF_CONTACT_FIT_H

#include <stdbool.h>

#include "base/status.h"
#include "deform/field.h"
#include "model/reduced_model.h"
#include "pointshell/tree.h"

// Compliances, m/N, of the points in the order of the shell (n_points), by the model under its
// tree.
RF_MUST_CHECK rf_status rf_fit_compliance(const rf_point_tree *tree, const rf_reduced *model,
                                          double *compliance, rf_error *err);

// Stiffness of each point, N/m, in the order of the shell (n_points).  Models are nullable: the
// shell is rigid, the field does not deform; for one that does, the median over its proxies of the
// mean over all directions joins the compliance of each point.  `fitted`: false, and nothing
// written, where nothing yields.
RF_MUST_CHECK rf_status rf_fit_stiffness(const rf_point_tree *tree, const rf_reduced *model,
                                         const rf_deformed_field *field,
                                         const rf_reduced *field_model, double *stiffness,
                                         bool *fitted, rf_error *err);

#endif
