// Gradient inertia: bounds the highest frequency of a solid of cut cells.
//
// Stiffness and mass of a barely filled cell are proportional to its volume; its frequency grows as
// the filled part gets thinner, so that one sliver would raise the highest frequency of the whole
// solid.  The mass of a cell e with filled fraction f < 1 gets
//
//   (b h^2) (1 - f) rho int_e |grad u - g|^2 dV
//
// over the filled part, with the edge h of the cells and the mean gradient g over the filled part
// of the host: the fullest among the cell and its neighbours across ghost faces.  Equally filled
// hosts have equal shares, so a symmetric body has a symmetric mass.
//
// This inertia is proportional to the stiffness and so bounds their ratio (Askes & Aifantis 2011;
// Olovsson, Simonsson & Unosson 2005 as mass scaling). It vanishes on linear displacements: mass,
// centre and inertia stay exact.  Long waves of wave number k lose at most b (h k)^2 / 2 of their
// frequency in cut cells, and nothing elsewhere.  b is 1/5 for elements of eight nodes and 1/42 for
// those of twenty.
//
// Parts thinner than a cell, without a fuller cell beside them, are not bounded: they stretch
// across their thickness by a linear displacement, whose mass is exact and whose frequency is high.
#ifndef RF_FEM_INERTIA_H
#define RF_FEM_INERTIA_H

#include "base/status.h"
#include "fem/fem.h"

// Smaller differences of filled fractions count as equal, so that rounding does not choose among
// cells.
#define RF_ALIKE 1e-3

// Adds the inertia for the density of each material, kg/m^3 (n_materials), to entries on the
// pattern of solid->mass (graph.ptr[n]); keeps them symmetric bit by bit.  h: edge of the cells, m.
RF_MUST_CHECK rf_status rf_solid_add_gradient_inertia(const rf_solid *solid, double h,
                                                      const double *density, double *entries,
                                                      rf_error *err);

#endif
