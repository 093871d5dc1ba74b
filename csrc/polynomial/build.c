// Coefficients of the reduced energy through one Gram matrix (see polynomial.h).
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "fem/fem.h"
#include "fem/ghost.h"
#include "linalg/blas.h"
#include "linalg/vector.h"
#include "material/law.h"
#include "polynomial/damping.h"
#include "polynomial/polynomial.h"
#include "polynomial/strain.h"

enum {
  TILE = 192,              // rows and columns of the Gram matrix per task
  PANEL_BYTES = 16 << 20,  // size of a panel of strains; larger ones bring no gain
};

static const double VANISHES = 1e-14;  // relative pivot that is rounding

typedef struct gram {
  const rf_solid *solid;
  int32_t r, m;            // coordinates; number of pairs (0,b), then (a,b) with 1 <= a <= b
  const double *basis;     // (3 n, r): coordinate index fastest
  const int32_t *element;  // elements to include, NULL: all                      (n_elements)
  int32_t n_elements;
  rf_strain_factor *factor;  // of each material                             (n_materials)
  int32_t rows;              // strain components: RF_STRAINS, or 1 for the trace
  double *matrix;            // (m, m), lower triangle in Fortran's order
  double *panel;             // columns of m values: strain components of quadrature points
  double *scratch;           // per worker: gradients (9, r), for the trace columns (RF_STRAINS, m)
  int64_t scratch_stride;
  int64_t *start;        // quadrature points before each element           (n_elements + 1)
  int32_t first, count;  // elements in the panel
  int32_t tiles;         // tiles along one side of the matrix
  rf_strain_kernels kernels;
} gram;

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

static int32_t element_at(const gram *w, int32_t k) { return w->element ? w->element[k] : k; }

// Runs one task of the first phase: the columns of one element.
static rf_status fill_task(void *context, int64_t task, int worker, rf_error *err) {
  (void)err;
  const gram *w = context;
  const int32_t e = element_at(w, w->first + (int32_t)task);
  const int32_t points = rf_solid_points(w->solid, e);
  const int64_t before = w->start[w->first + task] - w->start[w->first];
  const int32_t nodes = (int32_t)w->solid->mesh->type;
  double *g = w->scratch + worker * w->scratch_stride, *columns = g + 9 * (int64_t)w->r;
  const rf_strain_factor *f = &w->factor[w->solid->element_material[e]];
  const double *volume = rf_solid_volume(w->solid, e), *phi = rf_solid_gradient(w->solid, e);
  const double *u[RF_MAX_NODES];
  for (int32_t a = 0; a < nodes; ++a)
    u[a] = w->basis + (int64_t)w->solid->mesh->elements[(int64_t)e * nodes + a] * 3 * w->r;
  for (int32_t p = 0; p < points; ++p) {
    double *column = w->panel + (before + p) * w->rows * (int64_t)w->m;
    w->kernels.gradients(nodes, w->r, phi + (int64_t)p * nodes * 3, u, g);
    rf_strain_factor weighted = *f;
    const double root = sqrt(volume[p]);
    for (int i = 0; i < RF_STRAINS; ++i)
      for (int k = i; k < RF_STRAINS; ++k) weighted.l[i][k] *= root;
    w->kernels.columns(w->r, &weighted, g, w->rows == RF_STRAINS ? column : columns);
    if (w->rows == 1) memcpy(column, columns, (size_t)w->m * sizeof *column);
  }
  return RF_OK;
}

// Runs one task of the second phase: one tile of the lower triangle of the Gram matrix.
static rf_status multiply_task(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const gram *w = context;
  int32_t row = 0;
  while ((int64_t)(row + 1) * (row + 2) / 2 <= task) ++row;
  const int32_t column = (int32_t)(task - (int64_t)row * (row + 1) / 2);

  const int m = w->m, k = (int)(w->start[w->first + w->count] - w->start[w->first]) * w->rows;
  const int rows = m - row * TILE < TILE ? m - row * TILE : TILE;
  const int columns = m - column * TILE < TILE ? m - column * TILE : TILE;
  const double one = 1.0, *a = w->panel + row * TILE, *b = w->panel + column * TILE;
  double *c = w->matrix + (int64_t)column * TILE * m + row * TILE;
  if (row == column)
    dsyrk_("L", "N", &rows, &k, &one, a, &m, &one, c, &m);
  else
    dgemm_("N", "T", &rows, &columns, &k, &one, a, &m, b, &m, &one, c, &m);
  return RF_OK;
}

// W = z^T G z / 2: adds every product of two pairs to the coefficient of its four indices.
static void collect(const gram *w, double *coefficient) {
  const int32_t r = w->r, m = w->m;
  memset(coefficient, 0, (size_t)rf_polynomial_count(r) * sizeof *coefficient);
  int32_t p = 0;
  for (int32_t a = 0; a <= r; ++a) {
    for (int32_t b = a ? a : 1; b <= r; ++b, ++p) {
      int32_t q = 0;
      for (int32_t c = 0; c <= a; ++c) {
        for (int32_t d = c ? c : 1; d <= r && q <= p; ++d, ++q) {
          // merge the ordered pairs c <= d and a <= b, where c <= a
          const int32_t j = d < a ? d : a, rest = d < a ? a : d;
          const int32_t k = rest < b ? rest : b, l = rest < b ? b : rest;
          const double g = w->matrix[(int64_t)q * m + p];
          coefficient[rf_polynomial_index(r, c, j, k, l)] += p == q ? 0.5 * g : g;
        }
      }
    }
  }
}

// Collects the triangle of G, row by row.  The column of a pair (a, a) is half of that in dE/dq_a.
static void collect_damping(const gram *w, double *triangle) {
  int64_t at = 0;
  for (int32_t a = 0, p = 0; a <= w->r; ++a)
    for (int32_t b = a ? a : 1; b <= w->r; ++b, ++p) {
      const double of_p = a == b ? 2.0 : 1.0;
      int32_t q = 0;
      for (int32_t c = 0; c <= a; ++c)
        for (int32_t d = c ? c : 1; d <= w->r && q <= p; ++d, ++q, ++at)
          triangle[at] = of_p * (c == d ? 2.0 : 1.0) * w->matrix[(int64_t)q * w->m + p];
    }
}

static rf_strain_kernels strain_kernels(rf_simd simd) {
#if RF_SIMD_X86
  if (simd == RF_SIMD_AVX512)
    return (rf_strain_kernels){rf_strain_gradients_avx512, rf_strain_columns_avx512};
  if (simd == RF_SIMD_AVX2)
    return (rf_strain_kernels){rf_strain_gradients_avx2, rf_strain_columns_avx2};
#endif
  (void)simd;
  return (rf_strain_kernels){rf_strain_gradients_plain, rf_strain_columns_plain};
}

// Counts the quadrature points that fit in a panel.
static rf_status count_points(gram *w, int64_t *in_panel, rf_error *err) {
  rf_status st = RF_OK;
  const int64_t usual = w->solid->n_gauss, bytes = (int64_t)sizeof(double) * w->m * w->rows;
  int64_t most = 1;
  RF_ALLOC(w->start, (int64_t)w->n_elements + 1);
  for (int32_t k = 0; k < w->n_elements; ++k) {
    const int32_t points = rf_solid_points(w->solid, element_at(w, k));
    w->start[k + 1] = w->start[k] + points;
    most = points > most ? points : most;
  }
  *in_panel = PANEL_BYTES / (bytes * usual) * usual;
  if (*in_panel > w->start[w->n_elements]) *in_panel = w->start[w->n_elements];
  if (*in_panel < most) *in_panel = most;
done:
  return st;
}

// Counts the elements from w->first on that fit in the panel.
static int32_t elements_in_panel(const gram *w, int64_t in_panel) {
  int32_t end = w->first;
  while (end < w->n_elements && w->start[end + 1] - w->start[w->first] <= in_panel) ++end;
  return end - w->first;
}

// Computes the coefficients of w->element (w->n_elements of them) with w->factor; sets the rest of
// w.
static rf_status build(gram *w, const rf_run *run, const double *basis, rf_simd simd,
                       void (*collect_to)(const gram *w, double *out), double *out, rf_error *err) {
  rf_status st = RF_OK;
  double *transposed = NULL;
  const rf_solid *solid = w->solid;
  const int32_t r = w->r, n_elements = w->n_elements;
  const int64_t n_dofs = 3 * (int64_t)solid->mesh->n_nodes;
  w->kernels = strain_kernels(rf_simd_resolve(simd));
  w->m = r + r * (r + 1) / 2;
  w->tiles = (w->m + TILE - 1) / TILE;
  int64_t in_panel = 0;
  w->scratch_stride = 9 * (int64_t)r + (w->rows == 1 ? RF_STRAINS * (int64_t)w->m : 0);

  RF_ALLOC(transposed, n_dofs * r);
  RF_ALLOC(w->matrix, (int64_t)w->m * w->m);
  RF_TRY(count_points(w, &in_panel, err));
  RF_ALLOC(w->panel, in_panel * w->m * w->rows);
  RF_ALLOC(w->scratch, run->threads * w->scratch_stride);
  for (int32_t i = 0; i < r; ++i)
    for (int64_t d = 0; d < n_dofs; ++d) transposed[d * r + i] = basis[i * n_dofs + d];
  w->basis = transposed;

  // tiles and panels, and so the sums, do not depend on the number of threads
  rf_blas_serial_begin();
  for (int32_t first = 0; first < n_elements && st >= 0; first += w->count) {
    w->first = first;
    w->count = elements_in_panel(w, in_panel);
    st = rf_run_progress(run, first, n_elements, err);
    if (st >= 0) st = rf_run_tasks(run, w->count, 0, fill_task, w, err);
    if (st >= 0)
      st = rf_run_tasks(run, (int64_t)w->tiles * (w->tiles + 1) / 2, 0, multiply_task, w, err);
  }
  rf_blas_serial_end();
  if (st < 0) goto done;
  collect_to(w, out);
  RF_TRY(rf_run_progress(run, n_elements, n_elements, err));
done:
  rf_free(transposed);
  rf_free(w->matrix);
  rf_free(w->panel);
  rf_free(w->start);
  rf_free(w->scratch);
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

rf_status rf_polynomial_build(const rf_solid *solid, const rf_run *run, int32_t r,
                              const double *basis, rf_simd simd, double *coefficient,
                              rf_error *err) {
  rf_status st = RF_OK;
  double *modulus = NULL;
  gram w = {.solid = solid, .r = r, .rows = RF_STRAINS, .n_elements = solid->mesh->n_elements};
  RF_TRY(check_arguments(r, simd, err));
  RF_TRY(rf_solid_require_quadratic(solid, "the polynomial of a reduced model", err));
  RF_ALLOC(w.factor, solid->n_materials);
  RF_ALLOC(modulus, solid->n_materials);
  for (int32_t m = 0; m < solid->n_materials; ++m) {
    RF_TRY(factor_material(solid, m, &w.factor[m], err));
    modulus[m] = rf_solid_ghost_modulus(solid, m);
  }
  RF_TRY(build(&w, run, basis, simd, collect, coefficient, err));
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
  RF_TRY(build(&w, run, basis, simd, collect, coefficient, err));
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
  RF_TRY(build(&w, run, basis, simd, collect_damping, triangle, err));
done:
  rf_free(w.factor);
  return st;
}
