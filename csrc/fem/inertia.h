// Gradient inertia: bounds the highest frequency of a solid of cut cells.
//
// The stiffness and the mass of a hardly filled cell are in proportion to its volume; their
// frequency grows as the filled part gets thinner, so that one sliver would raise the highest
// frequency of the whole solid.  The mass of a cell e that is filled by the fraction f < 1 gets
//
//   (b h^2) (1 - f) rho int_e |grad u - g|^2 dV
//
// over the filled part, with the edge h of the cells and the mean gradient g over the filled part
// of the host: the fullest among the cell and its neighbours across ghost faces.  Hosts that are
// filled alike have equal shares, so a symmetric body has a symmetric mass.
//
// This inertia is in proportion to the stiffness and so bounds their ratio (Askes & Aifantis 2011;
// Olovsson, Simonsson & Unosson 2005 as scaling of mass).  It vanishes on linear displacements:
// mass, centre and inertia stay exact.  Long waves of wave number k lose at most b (h k)^2 / 2 of
// their frequency in cut cells, and nothing elsewhere.  b is 1/5 for elements of eight nodes and
// 1/42 for those of twenty.
//
// It is no bound for parts thinner than a cell: with no fuller cell beside them, they stretch
// across their thickness by a linear displacement, whose mass is exact and whose frequency is high.
#ifndef RF_FEM_INERTIA_H
#define RF_FEM_INERTIA_H

#include "base/status.h"
#include "fem/fem.h"

// Filled fractions that differ by less are alike, so that rounding does not choose among cells.
#define RF_ALIKE 1e-3

// h: edge of the cells, m.  Adds the inertia for a density of each material, kg/m^3 (n_materials),
// to entries on the pattern of solid->mass (graph.ptr[n]); keeps them symmetric to the bit.
RF_MUST_CHECK rf_status rf_solid_add_gradient_inertia(const rf_solid *solid, double h,
                                                      const double *density, double *entries,
                                                      rf_error *err);

#endif
