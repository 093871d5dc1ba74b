// Ghost penalty: couples the cut cells of a solid to their neighbours.
//
// A nearly empty cell has little stiffness and mass: its matrices are nearly singular, and its
// nodes vibrate at frequencies far above all others.  On every face between two cells of one
// material, at least one of them filled by less than a half (0.37 for elements of twenty nodes),
// and, if no neighbour of its own material is fuller than such a cell, also on its faces to other
// materials, with E and rho of the softer,
//
//   W += (g/2) E h int |[d_n u]|^2 + c h^2 |[d_nn u]|^2 dA,   M likewise with g_M rho h^2 in place
//   of g E,
//
// [.] is the jump across the face, h the edge of the cells; g = g_M = 0.0005 and c = 0 for elements
// of eight nodes, 0.000125, 0.00005 and 0.05 for those of twenty (Burman 2010; the mass: Sticko &
// Kreiss 2016).  In nearly empty cells the penalty alone makes modes, at the angular frequency
// sqrt(g E / (g_M rho)) / h: above those that the elements resolve.  Its mass is too small to bound
// the highest frequency, which fem/inertia.h does.  The penalty vanishes on linear (twenty nodes:
// quadratic) displacements, so mass, centre, inertia and constant strains stay exact.  It is
// invariant under rotations, [d_n (R u)] = R [d_n u], so the energy stays quadratic in u.  E is
// that of the shear modulus at Poisson's ratio 0.3, to be linear in the material.
#ifndef RF_FEM_GHOST_H
#define RF_FEM_GHOST_H

#include "base/status.h"
#include "fem/fem.h"

// Sets ghost_mate, which stays NULL without cut cells.
RF_MUST_CHECK rf_status rf_solid_find_ghosts(rf_solid *solid, rf_error *err);

// Sets ghost_ptr, ghost_entry and ghost_value and adds the mass to solid->mass.
RF_MUST_CHECK rf_status rf_solid_build_ghosts(rf_solid *solid, rf_error *err);

// Computes entries = sum over ghost faces of factor g h int [d_n N_a][d_n N_b] + .. on the pattern
// of solid->mass (graph.ptr[n]), with a factor per material of the face (n_materials), such as the
// E of the penalty, Pa.
RF_MUST_CHECK rf_status rf_solid_ghost_matrix(const rf_solid *solid, const double *factor,
                                              double *entries, rf_error *err);

// The same row by row, of some nodes.
typedef struct rf_solid_ghost_rows {
  int32_t *first, *element;  // elements of each node                           (n + 1), (first[n])
  int32_t *place;            // work: entry of each node in a row                              (n)
  double *face;              // matrices of the faces across each axis
} rf_solid_ghost_rows;

RF_MUST_CHECK rf_status rf_solid_ghost_rows_create(const rf_solid *solid, rf_solid_ghost_rows **out,
                                                   rf_error *err);
void rf_solid_ghost_rows_free(rf_solid_ghost_rows *g);  // NULL is fine
// Sets the rows of n nodes (NULL: 0 to n - 1), among them all nodes of the ghost faces of `solid`,
// which has no constrained nodes, at these.
void rf_solid_ghost_rows_fill(rf_solid_ghost_rows *g, const rf_solid *solid, const double *factor,
                              int32_t n, const int32_t *rows, double *entries);
double rf_solid_ghost_modulus(const rf_solid *solid, int32_t material);

// Computes entries = mass of the penalty plus gradient inertia (fem/inertia.h) on the same pattern,
// for the density of each material, kg/m^3 (n_materials). The solid must have cut cells.
RF_MUST_CHECK rf_status rf_solid_ghost_mass(const rf_solid *solid, const double *density,
                                            double *entries, rf_error *err);

// E of the penalty for a shear modulus of 1.
extern const double RF_GHOST_MODULUS;

// Adds the penalty at u to energy (1), force (n, 3) and tangent blocks (graph.ptr[n], 3, 3), each
// unless NULL; `upper`: only to blocks on or above the diagonal.
RF_MUST_CHECK rf_status rf_solid_add_ghosts(const rf_solid *solid, const rf_run *run,
                                            const double *u, double *energy, double *force,
                                            double *tangent, bool upper, rf_error *err);

#endif
