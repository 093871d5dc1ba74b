#include "model/parts.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "fem/fem.h"
#include "mesh/mesh.h"
#include "model/mass.h"

// Creates empty parts.
static rf_status create(int32_t r, int32_t n_materials, rf_reduced_parts **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_reduced_parts *p = NULL;
  *out = NULL;
  if (!(r >= 1 && r <= RF_POLYNOMIAL_MAX_R))
    return rf_fail(err, RF_ERR_ARG, "r must be between 1 and %d, got %d", RF_POLYNOMIAL_MAX_R, r);
  if (!(n_materials >= 1))
    return rf_fail(err, RF_ERR_ARG, "a model has at least one material, got %d", n_materials);
  RF_ALLOC(p, 1);
  p->r = r;
  p->n_materials = n_materials;
  RF_ALLOC(p->energy, 2 * (int64_t)n_materials);
  RF_ALLOC(p->volume, n_materials);
  RF_ALLOC(p->mass, (int64_t)n_materials * r * r);
  *out = p;
  p = NULL;
done:
  rf_reduced_parts_free(p);
  return st;
}

void rf_reduced_parts_free(rf_reduced_parts *p) {
  if (!p) return;
  if (p->energy)
    for (int32_t k = 0; k < 2 * p->n_materials; ++k) rf_polynomial_free(p->energy[k]);
  rf_free(p->energy);
  rf_free(p->volume);
  rf_free(p->mass);
  rf_free(p);
}

// Computes volume and U^T M U of the elements of one material at density 1.
static rf_status material_mass(const rf_solid *solid, const rf_run *run, int32_t material,
                               int32_t r, const double *basis, double *volume, double *mass,
                               rf_error *err) {
  rf_status st = RF_OK;
  rf_solid alone = *solid;
  alone.mass = NULL;
  RF_ALLOC(alone.mass, solid->graph.ptr[solid->graph.n]);
  RF_TRY(rf_solid_material_volume(solid, material, alone.mass, err));
  *volume = 0.0;
  for (int32_t k = 0; k < solid->graph.ptr[solid->graph.n]; ++k) *volume += alone.mass[k];
  RF_TRY(rf_reduced_mass(&alone, run, r, basis, mass, err));
done:
  rf_free(alone.mass);
  return st;
}

static bool is_general(const rf_solid *solid, int32_t material) {
  return !solid->material[material].law->facts->lame;
}

rf_status rf_reduced_parts_create(int32_t r, int32_t n_materials, const double *coefficient,
                                  const bool *general, const double *volume, const double *mass,
                                  rf_simd simd, rf_reduced_parts **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_reduced_parts *p = NULL;
  *out = NULL;
  RF_TRY(create(r, n_materials, &p, err));
  const int64_t count = rf_polynomial_count(r), entries = (int64_t)n_materials * r * r;
  for (int32_t m = 0; m < n_materials; ++m)
    for (int k = 0; k < (general[m] ? 1 : 2); ++k)
      RF_TRY(rf_polynomial_create(r, coefficient + (2 * m + k) * count, simd, &p->energy[2 * m + k],
                                  err));
  for (int64_t i = 0; i < entries; ++i) {
    if (isfinite(mass[i])) continue;
    st = rf_fail(err, RF_ERR_ARG, "mass of material %d has an entry that is not finite",
                 (int)(i / (r * r)));
    goto done;
  }
  memcpy(p->mass, mass, (size_t)entries * sizeof *mass);
  for (int32_t m = 0; m < n_materials; ++m) {
    p->volume[m] = volume[m];
    if (isfinite(volume[m]) && volume[m] > 0.0) continue;
    st = rf_fail(err, RF_ERR_ARG, "volume of material %d is %g; it must be positive", m, volume[m]);
    goto done;
  }
  *out = p;
  p = NULL;
done:
  rf_reduced_parts_free(p);
  return st;
}

rf_status rf_reduced_parts_truncate(const rf_reduced_parts *parts, int32_t r_new,
                                    rf_reduced_parts **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_reduced_parts *p = NULL;
  const int64_t r = parts->r;
  *out = NULL;
  if (!(r_new >= 1 && r_new <= parts->r))
    return rf_fail(err, RF_ERR_ARG, "r must be between 1 and %d, got %d", parts->r, r_new);
  RF_TRY(create(r_new, parts->n_materials, &p, err));
  for (int32_t k = 0; k < 2 * parts->n_materials; ++k)
    if (parts->energy[k])
      RF_TRY(rf_polynomial_truncate(parts->energy[k], r_new, &p->energy[k], err));
  memcpy(p->volume, parts->volume, (size_t)parts->n_materials * sizeof *p->volume);
  for (int32_t m = 0; m < parts->n_materials; ++m)
    for (int32_t i = 0; i < r_new; ++i)
      memcpy(p->mass + ((int64_t)m * r_new + i) * r_new, parts->mass + (m * r + i) * r,
             (size_t)r_new * sizeof *p->mass);
  *out = p;
  p = NULL;
done:
  rf_reduced_parts_free(p);
  return st;
}

static rf_status check_constants(const rf_reduced_parts *parts, const rf_part_constants *constants,
                                 rf_error *err) {
  for (int32_t m = 0; m < parts->n_materials; ++m) {
    const rf_part_constants *c = &constants[m];
    const bool general = !parts->energy[2 * m + 1];
    // same condition as for a solid: positive energy
    const bool elastic =
        isfinite(c->lambda) && isfinite(c->mu) &&
        (general ? c->lambda > 0.0 : c->mu > 0.0 && 3.0 * c->lambda + 2.0 * c->mu > 0.0);
    if (!elastic)
      return rf_fail(err, RF_ERR_ARG,
                     general ? "material %d: the factor of its stiffness must be positive, got %g"
                             : "material %d: lambda = %g, mu = %g; mu and 3 lambda + 2 mu must be "
                               "positive",
                     m, c->lambda, c->mu);
    if (!(isfinite(c->density) && c->density > 0.0))
      return rf_fail(err, RF_ERR_ARG, "material %d: density must be finite and positive, got %g", m,
                     c->density);
  }
  return RF_OK;
}

rf_status rf_reduced_parts_combine(const rf_reduced_parts *parts, const rf_reduced *like,
                                   const rf_part_constants *constants, rf_reduced **out,
                                   rf_error *err) {
  rf_status st = RF_OK;
  rf_polynomial *energy = NULL;
  double *weight = NULL, *mass = NULL;
  const int64_t entries = (int64_t)parts->r * parts->r;
  *out = NULL;
  if (like->r != parts->r)
    return rf_fail(err, RF_ERR_ARG, "the parts have %d reduced coordinates, the model has %d",
                   parts->r, like->r);
  RF_TRY(check_constants(parts, constants, err));
  RF_ALLOC(weight, 2 * (int64_t)parts->n_materials);
  RF_ALLOC(mass, entries);
  for (int32_t m = 0; m < parts->n_materials; ++m) {
    weight[2 * m] = constants[m].lambda;
    weight[2 * m + 1] = constants[m].mu;
    for (int64_t i = 0; i < entries; ++i)
      mass[i] += constants[m].density * parts->mass[m * entries + i];
  }
  RF_TRY(rf_polynomial_combine(2 * parts->n_materials, parts->energy, weight, &energy, err));
  st = rf_reduced_create_like(like, mass, energy, out, err);
done:
  rf_free(weight);
  rf_free(mass);
  return st;
}

rf_status rf_reduced_parts_build(const rf_solid *solid, const rf_run *run, int32_t r,
                                 const double *basis, rf_simd simd, rf_reduced_parts **out,
                                 rf_reduced **model, rf_error *err) {
  rf_status st = RF_OK;
  rf_reduced_parts *p = NULL;
  double *coefficient = NULL, *mass = NULL, *weight = NULL;
  rf_polynomial *energy = NULL;
  const int32_t steps = 2 * solid->n_materials;
  *out = NULL;
  *model = NULL;
  RF_TRY(rf_solid_require_quadratic(solid, "an editable reduced model", err));
  RF_TRY(create(r, solid->n_materials, &p, err));
  RF_ALLOC(coefficient, rf_polynomial_count(r));
  RF_ALLOC(mass, r * r);
  RF_ALLOC(weight, steps);
  // check before the long work: dependent vectors are a common mistake
  RF_TRY(rf_reduced_mass(solid, run, r, basis, mass, err));
  RF_TRY(rf_reduced_check_mass(r, mass, err));
  for (int32_t m = 0; m < solid->n_materials; ++m) {
    RF_TRY(
        material_mass(solid, run, m, r, basis, &p->volume[m], p->mass + (int64_t)m * r * r, err));
    for (int k = 0; k < (is_general(solid, m) ? 1 : 2); ++k) {
      const rf_part part = is_general(solid, m) ? RF_PART_WHOLE
                           : k == 0             ? RF_PART_LAMBDA
                                                : RF_PART_MU;
      rf_run_part share = {run, 2 * m + k, 2 * m + k + 1, steps};
      const rf_run inner = rf_run_of_part(&share);
      RF_TRY(rf_polynomial_build_part(solid, &inner, r, basis, simd, m, part, coefficient, err));
      RF_TRY(rf_polynomial_create(r, coefficient, simd, &p->energy[2 * m + k], err));
    }
  }
  for (int32_t m = 0; m < solid->n_materials; ++m) {
    const double *constants = solid->material[m].parameter;
    weight[2 * m] = is_general(solid, m) ? 1.0 : constants[0];
    weight[2 * m + 1] = is_general(solid, m) ? 0.0 : constants[1];
  }
  RF_TRY(rf_polynomial_combine(steps, p->energy, weight, &energy, err));
  RF_TRY(rf_reduced_create(r, solid->mesh->n_nodes, solid->mesh->nodes, basis, mass,
                           energy->coefficient, simd, model, err));
  RF_TRY(rf_run_progress(run, steps, steps, err));
  *out = p;
  p = NULL;
done:
  rf_free(coefficient);
  rf_free(mass);
  rf_free(weight);
  rf_polynomial_free(energy);
  rf_reduced_parts_free(p);
  if (st < 0) {
    rf_reduced_free(*model);
    *model = NULL;
  }
  return st;
}
