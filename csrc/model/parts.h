// A reduced model split by materials, to be recombined for other constants (B07 2.11).
//
// The energy is linear in lambda and mu, and the mass in the density, of each material, so the
// model for any constants is a weighted sum of parts, exact to rounding, without the mesh.  A
// general material has a single part, its complete energy, scaled by a stiffness factor.
#ifndef RF_MODEL_PARTS_H
#define RF_MODEL_PARTS_H

#include "model/reduced_model.h"

// Constants of one material.
typedef struct rf_part_constants {
  double lambda, mu;  // Pa; for a general material: stiffness factor, and 0
  double density;     // kg/m^3
} rf_part_constants;

typedef struct rf_reduced_parts {
  int32_t r, n_materials;
  rf_polynomial **energy;  // for lambda and mu; if general one, then NULL       (n_materials, 2)
  double *volume;          // m^3                                                  (n_materials)
  double *mass;            // reduced mass at density 1                     (n_materials, r, r)
} rf_reduced_parts;

// Builds the model of a solid in the span of `basis` (r, n_nodes, 3), and its parts.
RF_MUST_CHECK rf_status rf_reduced_parts_build(const rf_solid *solid, const rf_run *run, int32_t r,
                                               const double *basis, rf_simd simd,
                                               rf_reduced_parts **out, rf_reduced **model,
                                               rf_error *err);

// Creates parts from the arrays of a file: coefficients (n_materials, 2, C(r+4, 4)), only one set
// for materials with `general` (n_materials), volumes and masses.
RF_MUST_CHECK rf_status rf_reduced_parts_create(int32_t r, int32_t n_materials,
                                                const double *coefficient, const bool *general,
                                                const double *volume, const double *mass,
                                                rf_simd simd, rf_reduced_parts **out,
                                                rf_error *err);

// Copies the parts of the first r_new coordinates.
RF_MUST_CHECK rf_status rf_reduced_parts_truncate(const rf_reduced_parts *parts, int32_t r_new,
                                                  rf_reduced_parts **out, rf_error *err);
void rf_reduced_parts_free(rf_reduced_parts *parts);  // NULL is allowed

// Creates the model with these constants (n_materials), in the basis of `like`.
RF_MUST_CHECK rf_status rf_reduced_parts_combine(const rf_reduced_parts *parts,
                                                 const rf_reduced *like,
                                                 const rf_part_constants *constants,
                                                 rf_reduced **out, rf_error *err);

#endif
