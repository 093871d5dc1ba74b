// Coefficients of the reduced energy through one Gram matrix (see polynomial.h).
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "fem/fem.h"
#include "fem/ghost.h"
#include "linalg/vector.h"
#include "material/law.h"
#include "polynomial/damping.h"
#include "polynomial/gram.h"
#include "polynomial/polynomial.h"
#include "polynomial/strain.h"

static const double VANISHES = 1e-14;  // relative pivot that is rounding

typedef struct gram {
  const rf_solid *solid;
  int32_t r, m;            // coordinates, order of the matrix
  const int32_t *element;  // elements to include, NULL: all                      (n_elements)
  int32_t n_elements;
  rf_strain_factor *factor;  // of each material                             (n_materials)
  int32_t rows;              // strain components: RF_STRAINS, or 1 for the trace
  double *matrix;            // of one block
} gram;

// Adds what a matrix (m, m) contributes to the coefficients.
typedef void collect_fn(int32_t r, const double *matrix, double *out);

// Computes the unweighted factor of a material's elasticity matrix.
static rf_status factor_material(const rf_solid *s, int32_t material, rf_strain_factor *f,
                                 rf_error *err) {
  const rf_material *mat = &s->material[material];
  double C[36];
  *f = (rf_strain_factor){.coupled = !mat->law->facts->lame};
  rf_law_rest(mat->law, mat->parameter, C);
  for (int i = 0; i < RF_STRAINS; ++i) {
    double pivot = C[7 * i];
    for (int c = 0; c < i; ++c) pivot -= f->l[c][i] * f->l[c][i];
    if (!(isfinite(pivot) && pivot > 0.0))
      return rf_fail(err, RF_ERR_ARG, "material %d has no positive energy", (int)material);
    f->l[i][i] = sqrt(pivot);
    for (int k = i + 1; k < RF_STRAINS; ++k) {
      double sum = C[6 * k + i];
      for (int c = 0; c < i; ++c) sum -= f->l[c][k] * f->l[c][i];
      f->l[i][k] = sum / f->l[i][i];
    }
  }
  // convert from strains with doubled shears to tensor strains
  for (int i = 0; i < RF_STRAINS; ++i)
    for (int k = 3; k < RF_STRAINS; ++k) f->l[i][k] *= 2.0;
  return RF_OK;
}

// phi tr(E) I + 2 psi E may be semidefinite, even zero: vanishing pivots give zero columns.
static void factor_viscosity(double phi, double psi, rf_strain_factor *f) {
  const double diagonal = phi + 2.0 * psi, none = VANISHES * (fabs(phi) + psi);
  *f = (rf_strain_factor){.coupled = false};
  for (int k = 3; k < RF_STRAINS; ++k) f->l[k][k] = 2.0 * sqrt(psi);
  if (!(diagonal > none)) return;
  f->l[0][0] = sqrt(diagonal);
  f->l[0][1] = f->l[0][2] = phi / f->l[0][0];
  const double second = diagonal - f->l[0][1] * f->l[0][1];
  if (!(second > none)) return;
  f->l[1][1] = sqrt(second);
  f->l[1][2] = (phi - f->l[0][1] * f->l[0][2]) / f->l[1][1];
  f->l[2][2] = sqrt(fmax(diagonal - f->l[0][2] * f->l[0][2] - f->l[1][2] * f->l[1][2], 0.0));
}

// W = z^T G z / 2: adds every product of two pairs to the coefficient of its four indices.
static void collect(int32_t r, const double *matrix, double *coefficient) {
  const int32_t m = rf_gram_order(r);
  int32_t p = 0;
  for (int32_t a = 0; a <= r; ++a) {
    for (int32_t b = a ? a : 1; b <= r; ++b, ++p) {
      int32_t q = 0;
      for (int32_t c = 0; c <= a; ++c) {
        for (int32_t d = c ? c : 1; d <= r && q <= p; ++d, ++q) {
          // merge the ordered pairs c <= d and a <= b, where c <= a
          const int32_t j = d < a ? d : a, rest = d < a ? a : d;
          const int32_t k = rest < b ? rest : b, l = rest < b ? b : rest;
          const double g = matrix[(int64_t)q * m + p];
          coefficient[rf_polynomial_index(r, c, j, k, l)] += p == q ? 0.5 * g : g;
        }
      }
    }
  }
}

// Collects the triangle of G, row by row.  The column of a pair (a, a) is half of that in dE/dq_a.
static void collect_damping(int32_t r, const double *matrix, double *triangle) {
  const int32_t m = rf_gram_order(r);
  int64_t at = 0;
  for (int32_t a = 0, p = 0; a <= r; ++a)
    for (int32_t b = a ? a : 1; b <= r; ++b, ++p) {
      const double of_p = a == b ? 2.0 : 1.0;
      int32_t q = 0;
      for (int32_t c = 0; c <= a; ++c)
        for (int32_t d = c ? c : 1; d <= r && q <= p; ++d, ++q, ++at)
          triangle[at] += of_p * (c == d ? 2.0 : 1.0) * matrix[(int64_t)q * m + p];
    }
}

void rf_polynomial_add(int64_t count, const double *part, double *total) {
  for (int64_t i = 0; i < count; ++i) total[i] += part[i];
}

// Computes the `count` coefficients of w->element (w->n_elements of them) with w->factor: the sum
// of those of the blocks, in their order.
static rf_status build(gram *w, const rf_run *run, const double *basis, rf_simd simd,
                       collect_fn *collect_to, int64_t count, double *out, rf_error *err) {
  rf_status st = RF_OK;
  const int32_t blocks = rf_gram_blocks(w->solid, w->n_elements);
  int64_t finished = 0;
  double *part = NULL;
  rf_gram_block block = {0};
  w->m = rf_gram_order(w->r);
  memset(out, 0, (size_t)count * sizeof *out);
  RF_ALLOC(w->matrix, (int64_t)w->m * w->m);
  if (blocks > 1) RF_ALLOC(part, count);
  for (int32_t i = 0; i < blocks; ++i) {
    RF_TRY(rf_run_progress(run, finished, w->n_elements, err));
    RF_TRY(rf_gram_gather(w->solid, w->element, w->n_elements, w->r, basis, i, &block, err));
    RF_TRY(rf_gram_matrix(&block, run, w->rows, w->factor, simd, w->matrix, err));
    finished += block.n_elements;
    rf_gram_block_free(&block);
    if (part) memset(part, 0, (size_t)count * sizeof *part);
    collect_to(w->r, w->matrix, part ? part : out);
    if (part) rf_polynomial_add(count, part, out);
  }
  RF_TRY(rf_run_progress(run, w->n_elements, w->n_elements, err));
done:
  rf_gram_block_free(&block);
  rf_free(w->matrix);
  rf_free(part);
  return st;
}

// Adds the quadratic energy of the ghost penalty, with the factor of each material.
static rf_status add_ghosts(const rf_solid *solid, const rf_run *run, int32_t r,
                            const double *basis, const double *factor, double *coefficient,
                            rf_error *err) {
  rf_status st = RF_OK;
  const int64_t dofs = 3 * (int64_t)solid->mesh->n_nodes;
  rf_solid penalty = *solid;  // carries the penalty's stiffness in place of its mass
  double *product = NULL;
  penalty.mass = NULL;
  if (!solid->ghost_mate) return RF_OK;
  RF_ALLOC(penalty.mass, solid->graph.ptr[solid->mesh->n_nodes]);
  RF_ALLOC(product, r * dofs);
  RF_TRY(rf_solid_ghost_matrix(solid, factor, penalty.mass, err));
  RF_TRY(rf_solid_mass_multiply(&penalty, run, r, basis, product, err));
  for (int32_t i = 0; i < r; ++i)
    for (int32_t j = i; j < r; ++j)
      coefficient[rf_polynomial_index(r, 0, 0, i + 1, j + 1)] +=
          (i == j ? 0.5 : 1.0) * rf_dot(dofs, basis + i * dofs, product + j * dofs);
done:
  rf_free(penalty.mass);
  rf_free(product);
  return st;
}

static rf_status check_arguments(int32_t r, rf_simd simd, rf_error *err) {
  if (!(r >= 1 && r <= RF_POLYNOMIAL_MAX_R))
    return rf_fail(err, RF_ERR_ARG, "r must be between 1 and %d, got %d", RF_POLYNOMIAL_MAX_R, r);
  return rf_simd_check(simd, err);
}

rf_status rf_polynomial_factors(const rf_solid *solid, rf_strain_factor *factor, double *modulus,
                                rf_error *err) {
  rf_status st = RF_OK;
  RF_TRY(rf_solid_require_quadratic(solid, "the polynomial of a reduced model", err));
  for (int32_t m = 0; m < solid->n_materials; ++m) {
    RF_TRY(factor_material(solid, m, &factor[m], err));
    modulus[m] = rf_solid_ghost_modulus(solid, m);
  }
done:
  return st;
}

rf_status rf_polynomial_block(const rf_gram_block *block, const rf_run *run,
                              const rf_strain_factor *factor, rf_simd simd, double *coefficient,
                              rf_error *err) {
  rf_status st = RF_OK;
  double *matrix = NULL;
  const int64_t m = rf_gram_order(block->r);
  RF_TRY(check_arguments(block->r, simd, err));
  RF_ALLOC(matrix, m * m);
  RF_TRY(rf_gram_matrix(block, run, RF_STRAINS, factor, simd, matrix, err));
  memset(coefficient, 0, (size_t)rf_polynomial_count(block->r) * sizeof *coefficient);
  collect(block->r, matrix, coefficient);
done:
  rf_free(matrix);
  return st;
}

rf_status rf_polynomial_build(const rf_solid *solid, const rf_run *run, int32_t r,
                              const double *basis, const double *blocks, rf_simd simd,
                              double *coefficient, rf_error *err) {
  rf_status st = RF_OK;
  double *modulus = NULL;
  const int64_t count = rf_polynomial_count(r);
  gram w = {.solid = solid, .r = r, .rows = RF_STRAINS, .n_elements = solid->mesh->n_elements};
  RF_TRY(check_arguments(r, simd, err));
  RF_ALLOC(w.factor, solid->n_materials);
  RF_ALLOC(modulus, solid->n_materials);
  RF_TRY(rf_polynomial_factors(solid, w.factor, modulus, err));
  if (blocks)
    memcpy(coefficient, blocks, (size_t)count * sizeof *coefficient);
  else
    RF_TRY(build(&w, run, basis, simd, collect, count, coefficient, err));
  RF_TRY(add_ghosts(solid, run, r, basis, modulus, coefficient, err));
done:
  rf_free(w.factor);
  rf_free(modulus);
  return st;
}

// Factors of the energies (tr E)^2 / 2, with its column in place of the first normal strain's, and
// E:E.
static void factor_part(rf_part part, rf_strain_factor *f) {
  *f = (rf_strain_factor){.coupled = false};
  if (part == RF_PART_LAMBDA) {
    for (int k = 0; k < 3; ++k) f->l[0][k] = 1.0;
  } else {
    for (int k = 0; k < 3; ++k) f->l[k][k] = sqrt(2.0);
    for (int k = 3; k < RF_STRAINS; ++k) f->l[k][k] = 2.0;
  }
}

rf_status rf_polynomial_build_part(const rf_solid *solid, const rf_run *run, int32_t r,
                                   const double *basis, rf_simd simd, int32_t material,
                                   rf_part part, double *coefficient, rf_error *err) {
  rf_status st = RF_OK;
  gram w = {.solid = solid, .r = r, .rows = part == RF_PART_LAMBDA ? 1 : RF_STRAINS};
  int32_t *element = NULL;
  double *modulus = NULL;
  RF_TRY(check_arguments(r, simd, err));
  RF_TRY(rf_solid_require_quadratic(solid, "the polynomial of a reduced model", err));
  if (!(material >= 0 && material < solid->n_materials))
    return rf_fail(err, RF_ERR_ARG, "material must be between 0 and %d, got %d",
                   solid->n_materials - 1, material);
  RF_ALLOC(w.factor, solid->n_materials);
  if (part == RF_PART_WHOLE)
    RF_TRY(factor_material(solid, material, &w.factor[material], err));
  else
    factor_part(part, &w.factor[material]);
  RF_ALLOC(element, solid->mesh->n_elements);
  for (int32_t e = 0; e < solid->mesh->n_elements; ++e)
    if (solid->element_material[e] == material) element[w.n_elements++] = e;
  w.element = element;
  RF_TRY(build(&w, run, basis, simd, collect, rf_polynomial_count(r), coefficient, err));
  RF_ALLOC(modulus, solid->n_materials);
  if (part == RF_PART_WHOLE) modulus[material] = rf_solid_ghost_modulus(solid, material);
  if (part == RF_PART_MU) modulus[material] = RF_GHOST_MODULUS;
  RF_TRY(add_ghosts(solid, run, r, basis, modulus, coefficient, err));
done:
  rf_free(w.factor);
  rf_free(element);
  rf_free(modulus);
  return st;
}

rf_status rf_damping_build(const rf_solid *solid, const rf_run *run, int32_t r, const double *basis,
                           const double *viscosity, rf_simd simd, double *triangle, rf_error *err) {
  rf_status st = RF_OK;
  gram w = {.solid = solid, .r = r, .rows = RF_STRAINS, .n_elements = solid->mesh->n_elements};
  RF_TRY(check_arguments(r, simd, err));
  if (r > RF_DAMPING_MAX_R)
    return rf_fail(err, RF_ERR_ARG, "r must be between 1 and %d, got %d", RF_DAMPING_MAX_R, r);
  RF_TRY(rf_viscosity_check(solid->n_materials, viscosity, err));
  RF_ALLOC(w.factor, solid->n_materials);
  for (int32_t m = 0; m < solid->n_materials; ++m)
    factor_viscosity(viscosity[2 * (int64_t)m], viscosity[2 * (int64_t)m + 1], &w.factor[m]);
  RF_TRY(build(&w, run, basis, simd, collect_damping, rf_damping_count(r), triangle, err));
done:
  rf_free(w.factor);
  return st;
}
