// Bounds on the forces of a solve that has ended early (multibody_solve.h).
//
// The forces of such a solve follow from displacements that they do not cause, and may give bodies
// energy without bound.  Parts of them, x of the normal ones and y of friction, are then chosen
// instead.  With F and G their sums in the coordinates of the bodies, U the displacements without
// them, f and t the forces at the points and f_0 those of the normal springs before the step, these
// minimize
//     D = 1/2 (x F + y G) . H^-1 (x F + y G) + (x F + y G) . U
//         + sum x f (x f / 2 - f_0) / (c k) + sum (y t)^2 / (2 k)
// over 0 <= y <= x <= 1.  The first two terms are the energy that the forces give to the motion,
// the last one is that of the springs of friction after the step, which keep no larger forces than
// y t.  For a dimple H^-1 is S / c and U minus the displacement by the forces of the last step,
// over c: with f_0 its terms are (f . (S + 1/k) f / 2 - f . g) / c, g the gaps without a dimple.
// The energy that points can give is that of the dimple and the springs in series, however stiff
// these are. D(x, y) <= D(x, 0): friction adds no energy; D(x, y) <= 0: both together add none but
// that of the normal springs.  All forces are applied where D(1, 1) is at most the energy of the
// springs of friction before the step.
//
// After few iterations no part of the forces may help, and bodies would fall through each other.
// Parts of the forces that the springs have without any motion by contact always help: they are the
// first step of steepest descent.  In worlds with dimples, whose solves are longer, those of the
// two with the smaller D are taken.
#ifndef RF_WORLD_MULTIBODY_BOUND_H
#define RF_WORLD_MULTIBODY_BOUND_H

#include "world/multibody_node.h"

// Sets the displacements to those without contact.  Nodes: those with contact, prepared without
// blocks of their own.
void rf_multibody_bound_begin(int32_t n_nodes, rf_multibody_node *const *nodes);
// Chooses parts of the present forces of pairs; returns D.
double rf_multibody_bound_weigh(double contact_damping, int32_t n_nodes,
                                rf_multibody_node *const *nodes, int32_t n_pairs,
                                rf_pair_rows *const *pairs, double part[2]);
// Reduces the forces weighed last to their parts.
void rf_multibody_bound_apply(int32_t n_nodes, rf_multibody_node *const *nodes, int32_t n_pairs,
                              rf_pair_rows *const *pairs, const double part[2]);

#endif
