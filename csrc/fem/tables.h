// Creation of the quadrature tables of a solid, its mass and its volume.
#ifndef RF_FEM_TABLES_H
#define RF_FEM_TABLES_H

#include "base/status.h"
#include "fem/fem.h"

// Sets n_gauss, congruent, first_point, n_points, gradient, volume, mass, lumped and total_volume.
// Needs quadrature, the materials, the places and the pairs.
RF_MUST_CHECK rf_status rf_solid_build_tables(rf_solid *solid, rf_error *err);

#endif
