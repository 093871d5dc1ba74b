// A reduced model taken apart by materials, to be put together for other constants (B07 2.11).
//
// The energy is linear in lambda and mu and the mass in the density of each material, so that
// the model of any constants is a weighted sum of parts, exact to rounding, without the mesh.
// A general material has one part, its energy as it is, and a factor of stiffness for constant.
#ifndef RF_MODEL_PARTS_H
#define RF_MODEL_PARTS_H

#include "model/reduced_model.h"

// Constants of one material.
typedef struct rf_part_constants {
  double lambda, mu;  // Pa; of a general material the factor, and 0
  double density;     // kg/m^3
} rf_part_constants;

typedef struct rf_reduced_parts {
  int32_t r, n_materials;
  rf_polynomial **energy;  // of lambda and of mu; of a general material one, NULL (n_materials, 2)
  double *volume;          // m^3                                                  (n_materials)
  double *mass;            // reduced mass at density 1                     (n_materials, r, r)
} rf_reduced_parts;

// The model of a solid in the span of `basis` (r, n_nodes, 3), and its parts.
RF_MUST_CHECK rf_status rf_reduced_parts_build(const rf_solid *solid, const rf_run *run, int32_t r,
                                               const double *basis, rf_simd simd,
                                               rf_reduced_parts **out, rf_reduced **model,
                                               rf_error *err);

// From numbers, as a file has them: coefficients (n_materials, 2, C(r+4, 4)), of which
// `general` (n_materials) have one only, volumes and masses.
RF_MUST_CHECK rf_status rf_reduced_parts_create(int32_t r, int32_t n_materials,
                                                const double *coefficient, const bool *general,
                                                const double *volume, const double *mass,
                                                rf_simd simd, rf_reduced_parts **out,
                                                rf_error *err);

// Copies the parts of the first r_new coordinates.
RF_MUST_CHECK rf_status rf_reduced_parts_truncate(const rf_reduced_parts *parts, int32_t r_new,
                                                  rf_reduced_parts **out, rf_error *err);
void rf_reduced_parts_free(rf_reduced_parts *parts);  // NULL is fine

// The model with these constants (n_materials), in the basis of `like`.
RF_MUST_CHECK rf_status rf_reduced_parts_combine(const rf_reduced_parts *parts,
                                                 const rf_reduced *like,
                                                 const rf_part_constants *constants,
                                                 rf_reduced **out, rf_error *err);

#endif
