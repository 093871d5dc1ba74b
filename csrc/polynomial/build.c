// Coefficients of the reduced energy through one Gram matrix (see polynomial.h).
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "linalg/blas.h"
#include "polynomial/polynomial.h"
#include "polynomial/strain.h"

enum {
  TILE = 192,              // rows and columns of the Gram matrix per task
  PANEL_BYTES = 16 << 20,  // a panel of strains; larger ones gain nothing
};

typedef struct gram {
  const rf_solid *solid;
  int32_t r, m;          // coordinates; pairs (0,b), then (a,b) with 1 <= a <= b
  const double *basis;   // (3 n, r): coordinate index fastest
  double *matrix;        // (m, m), lower triangle in Fortran's sense
  double *panel;         // columns of m: strain components of quadrature points
  double *scratch;       // (workers, 9, r)
  int32_t first, count;  // elements in the panel
  int32_t tiles;         // tiles along one side of the matrix
  rf_strain_kernels kernels;
} gram;

static rf_status factor_material(const rf_material *mat, rf_strain_factor *f, rf_error *err) {
  const double diagonal = mat->lambda + 2.0 * mat->mu, off = mat->lambda;
  f->l00 = sqrt(diagonal);
  f->l10 = f->l20 = off / f->l00;
  f->l11 = sqrt(diagonal - f->l10 * f->l10);
  f->l21 = (off - f->l20 * f->l10) / f->l11;
  f->l22 = sqrt(diagonal - f->l20 * f->l20 - f->l21 * f->l21);
  f->shear = 2.0 * sqrt(mat->mu);
  if (!(isfinite(f->l22) && f->l22 > 0.0 && isfinite(f->shear)))
    return rf_fail(err, RF_ERR_ARG, "material with lambda = %g, mu = %g has no positive energy",
                   mat->lambda, mat->mu);
  return RF_OK;
}

// One task of the first phase: the columns of one element.
static rf_status fill_task(void *context, int64_t task, int worker, rf_error *err) {
  const gram *w = context;
  const int32_t e = w->first + (int32_t)task, points = w->solid->n_gauss;
  const int32_t nodes = (int32_t)w->solid->mesh->type;
  double *g = w->scratch + (int64_t)worker * 9 * w->r;
  rf_strain_factor f;
  const rf_status st = factor_material(&w->solid->material[w->solid->element_material[e]], &f, err);
  if (st < 0) return st;
  const double *volume = rf_solid_volume(w->solid, e), *phi = rf_solid_gradient(w->solid, e);
  const double *u[RF_HEX8];
  for (int32_t a = 0; a < nodes; ++a)
    u[a] = w->basis + (int64_t)w->solid->mesh->elements[(int64_t)e * nodes + a] * 3 * w->r;
  for (int32_t p = 0; p < points; ++p) {
    double *column = w->panel + (task * points + p) * RF_STRAINS * (int64_t)w->m;
    w->kernels.gradients(nodes, w->r, phi + (int64_t)p * nodes * 3, u, g);
    const double root = sqrt(volume[p]);
    const rf_strain_factor weighted = {root * f.l00, root * f.l10, root * f.l11,  root * f.l20,
                                       root * f.l21, root * f.l22, root * f.shear};
    w->kernels.columns(w->r, &weighted, g, column);
  }
  return RF_OK;
}

// One task of the second phase: one tile of the lower triangle of the Gram matrix.
static rf_status multiply_task(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const gram *w = context;
  int32_t row = 0;
  while ((int64_t)(row + 1) * (row + 2) / 2 <= task) ++row;
  const int32_t column = (int32_t)(task - (int64_t)row * (row + 1) / 2);

  const int m = w->m, k = w->count * w->solid->n_gauss * RF_STRAINS;
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

// W = z^T G z / 2: every product of two pairs goes to the coefficient of its four indices.
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

rf_status rf_polynomial_build(const rf_solid *solid, const rf_run *run, int32_t r,
                              const double *basis, rf_simd simd, double *coefficient,
                              rf_error *err) {
  rf_status st = RF_OK;
  double *transposed = NULL;
  gram w = {.solid = solid, .r = r};
  const int32_t n_elements = solid->mesh->n_elements;
  const int64_t n_dofs = 3 * (int64_t)solid->mesh->n_nodes;
  if (!(r >= 1 && r <= RF_POLYNOMIAL_MAX_R))
    return rf_fail(err, RF_ERR_ARG, "r must be between 1 and %d, got %d", RF_POLYNOMIAL_MAX_R, r);
  if (!rf_simd_available(simd))
    return rf_fail(err, RF_ERR_ARG, "kernel variant '%s' does not run on this processor",
                   rf_simd_name(simd));
  w.kernels = strain_kernels(rf_simd_resolve(simd));

  w.m = r + r * (r + 1) / 2;
  w.tiles = (w.m + TILE - 1) / TILE;
  const int64_t per_element = (int64_t)w.m * RF_STRAINS * solid->n_gauss;
  int64_t in_panel = PANEL_BYTES / (int64_t)sizeof(double) / per_element;
  in_panel = in_panel < 1 ? 1 : in_panel > n_elements ? n_elements : in_panel;

  RF_ALLOC(transposed, n_dofs * r);
  RF_ALLOC(w.matrix, (int64_t)w.m * w.m);
  RF_ALLOC(w.panel, in_panel * per_element);
  RF_ALLOC(w.scratch, (int64_t)run->threads * 9 * r);
  for (int32_t i = 0; i < r; ++i)
    for (int64_t d = 0; d < n_dofs; ++d) transposed[d * r + i] = basis[i * n_dofs + d];
  w.basis = transposed;

  // tiles and panels do not depend on the number of threads, so neither do the sums
  rf_blas_serial_begin();
  for (int32_t first = 0; first < n_elements && st >= 0; first += w.count) {
    w.first = first;
    w.count = n_elements - first < in_panel ? n_elements - first : (int32_t)in_panel;
    st = rf_run_progress(run, first, n_elements, err);
    if (st >= 0) st = rf_run_tasks(run, w.count, 0, fill_task, &w, err);
    if (st >= 0)
      st = rf_run_tasks(run, (int64_t)w.tiles * (w.tiles + 1) / 2, 0, multiply_task, &w, err);
  }
  rf_blas_serial_end();
  if (st < 0) goto done;
  collect(&w, coefficient);
  RF_TRY(rf_run_progress(run, n_elements, n_elements, err));
done:
  rf_free(transposed);
  rf_free(w.matrix);
  rf_free(w.panel);
  rf_free(w.scratch);
  return st;
}
