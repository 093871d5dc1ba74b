// Gradient inertia: bounds the highest frequency of a solid of cut cells.
//
// What is left of a cell that is hardly filled has its stiffness and its mass in proportion to its
// volume, at a frequency that grows as it gets thinner: one sliver raises the highest frequency of
// the whole solid.  Added to the mass of a cell e that is filled by the fraction f < 1 is
//
//   (b h^2) (1 - f) rho int_e |grad u - g|^2 dV,
//
// over the filled part, with the edge h of the cells and the mean gradient g over the filled part
// of the cell's host: its fullest neighbour, where that is fuller and shares a ghost face, else the
// cell itself.  Inertia in proportion to the stiffness bounds what both make together
// (Askes & Aifantis 2011; Olovsson, Simonsson & Unosson 2005 as scaling of mass).  It vanishes on
// linear displacements, so mass, centre and inertia stay exact; long waves of a wave number k lose
// b (h k)^2 / 2 of their frequency in cells that are cut, and nothing elsewhere.  b is 1/5 for
// elements of eight nodes and 1/42 for those of twenty.
#ifndef RF_FEM_INERTIA_H
#define RF_FEM_INERTIA_H

#include "base/status.h"
#include "fem/fem.h"

// Adds it for a density of each material, kg/m^3 (n_materials), to entries on the pattern of
// solid->mass (graph.ptr[n]), both triangles alike to the bit.
RF_MUST_CHECK rf_status rf_solid_add_gradient_inertia(const rf_solid *solid, const double *density,
                                                      double *entries, rf_error *err);

#endif
