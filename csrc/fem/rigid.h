// A solid as a rigid body: mass, centre, inertia and the six strain-free motions.
//
// All follow from the consistent mass M: a rotation about axis e through the centre c is the field
// e x (x - c), and the inertia is I_ij = turn_i^T M turn_j.
#ifndef RF_FEM_RIGID_H
#define RF_FEM_RIGID_H

#include "fem/fem.h"

enum { RF_RIGID = 6 };

typedef struct rf_rigid_body {
  double mass;        // kg
  double centre[3];   // centre of mass, m
  double inertia[9];  // about the centre, in world axes, kg m^2
  double moments[3];  // principal moments, ascending
  double axes[9];     // principal axes, right-handed  (axis, xyz)
} rf_rigid_body;

RF_MUST_CHECK rf_status rf_solid_rigid_body(const rf_solid *solid, const rf_run *run,
                                            rf_rigid_body *out, rf_error *err);

// Computes the motions as vectors (RF_RIGID, n_nodes, 3), M-orthonormal: translations along x, y,
// z, then rotations about the principal axes.
void rf_rigid_modes(const rf_solid *solid, const rf_rigid_body *body, double *modes);

// Finds six DOFs that support a free solid statically determinately: supports there carry no force
// if loads are in equilibrium.  Destroys `modes`.
void rf_rigid_supports(int32_t n_dofs, double *modes, int32_t supports[RF_RIGID]);

#endif
