// A solid as a rigid body: mass, centre, inertia and the six motions that strain nothing.
//
// All of it follows from the consistent mass M:  a turn about axis e through the centre c is
// the field e x (x - c), and the inertia is I_ij = turn_i^T M turn_j.
#ifndef RF_FEM_RIGID_H
#define RF_FEM_RIGID_H

#include "fem/fem.h"

enum { RF_RIGID = 6 };

typedef struct rf_rigid_body {
  double mass;        // kg
  double centre[3];   // of mass, m
  double inertia[9];  // about the centre, axes of the world, kg m^2
  double moments[3];  // principal moments, ascending
  double axes[9];     // the axis of each, right-handed  (axis, xyz)
} rf_rigid_body;

RF_MUST_CHECK rf_status rf_solid_rigid_body(const rf_solid *solid, const rf_run *run,
                                            rf_rigid_body *out, rf_error *err);

// The motions as vectors (RF_RIGID, n_nodes, 3), M-orthonormal: translations along x, y, z,
// then turns about the principal axes.
void rf_rigid_modes(const rf_solid *solid, const rf_rigid_body *body, double *modes);

// Six DOFs that hold a free solid without straining it: the stiffness between them and the
// ground carries nothing as long as loads are in equilibrium.  Destroys `modes`.
void rf_rigid_supports(int32_t n_dofs, double *modes, int32_t supports[RF_RIGID]);

#endif
