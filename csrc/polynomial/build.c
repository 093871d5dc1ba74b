// Coefficients of the reduced energy through one Gram matrix (see polynomial.h).
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "linalg/blas.h"
#include "polynomial/polynomial.h"

enum {
  STRAINS = 6,             // components of a strain: xx yy zz yz zx xy
  TILE = 128,              // rows and columns of the Gram matrix per task
  PANEL_BYTES = 16 << 20,  // a panel of strains; larger ones gain nothing
};

typedef struct gram {
  const rf_solid *solid;
  int32_t r, m;          // coordinates; pairs (0,b), then (a,b) with 1 <= a <= b
  const double *basis;   // (3 n, r): coordinate index fastest
  double *matrix;        // (m, m), lower triangle in Fortran's sense
  double *panel;         // columns of m: strain components of quadrature points
  double *scratch;       // (workers, 9 + 3, r)
  int32_t first, count;  // elements in the panel
  int32_t tiles;         // tiles along one side of the matrix
} gram;

// Factor of the elastic energy: |y|^2 = E : C : E / 1 for y = L^T E, scaled by root.
// Normal components through the 3x3 Cholesky factor of 2 mu I + lambda 1 1^T, shear
// ones, which stand twice in E : E, by sqrt(4 mu).
typedef struct energy_factor {
  double l00, l10, l11, l20, l21, l22, shear;
} energy_factor;

static rf_status factor_material(const rf_material *mat, energy_factor *f, rf_error *err) {
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

// Displacement gradients of all coordinates at one quadrature point:
// g[3 c + x][i] = d(U_i)_c / dx.
static void displacement_gradients(const gram *w, int32_t e, int32_t point, double *g) {
  const rf_mesh *mesh = w->solid->mesh;
  const int32_t nodes = (int32_t)mesh->type, r = w->r;
  const double *phi = rf_solid_gradient(w->solid, e) + (int64_t)point * nodes * 3;
  memset(g, 0, 9 * (size_t)r * sizeof *g);
  for (int32_t a = 0; a < nodes; ++a) {
    const double *u = w->basis + (int64_t)mesh->elements[(int64_t)e * nodes + a] * 3 * r;
    for (int32_t c = 0; c < 3; ++c)
      for (int32_t x = 0; x < 3; ++x) {
        const double p = phi[3 * a + x];
        double *out = g + (3 * c + x) * r;
        for (int32_t i = 0; i < r; ++i) out[i] += p * u[c * r + i];
      }
  }
}

// Six columns: the strain of each pair at one quadrature point, times L^T and `root`.
static void strain_columns(const gram *w, const energy_factor *f, double root, const double *g,
                           double *column) {
  const int32_t r = w->r, m = w->m;
  double *xx = column, *yy = xx + m, *zz = yy + m, *yz = zz + m, *zx = yz + m, *xy = zx + m;
#define G(c, x) (g + (3 * (c) + (x)) * r)
  // pairs (0, b): sym(G_b)
  for (int32_t i = 0; i < r; ++i) {
    xx[i] = G(0, 0)[i];
    yy[i] = G(1, 1)[i];
    zz[i] = G(2, 2)[i];
    yz[i] = 0.5 * (G(1, 2)[i] + G(2, 1)[i]);
    zx[i] = 0.5 * (G(2, 0)[i] + G(0, 2)[i]);
    xy[i] = 0.5 * (G(0, 1)[i] + G(1, 0)[i]);
  }
  // pairs (a, b): (G_a^T G_b + G_b^T G_a) / 2, once only where a = b
  int64_t at = r;
  for (int32_t a = 0; a < r; ++a) {
    for (int32_t b = a; b < r; ++b) {
      double s[STRAINS] = {0};
      for (int32_t c = 0; c < 3; ++c) {
        const double ax = G(c, 0)[a], ay = G(c, 1)[a], az = G(c, 2)[a];
        const double bx = G(c, 0)[b], by = G(c, 1)[b], bz = G(c, 2)[b];
        s[0] += ax * bx;
        s[1] += ay * by;
        s[2] += az * bz;
        s[3] += 0.5 * (ay * bz + az * by);
        s[4] += 0.5 * (az * bx + ax * bz);
        s[5] += 0.5 * (ax * by + ay * bx);
      }
      const int64_t p = at + (b - a);
      xx[p] = s[0];
      yy[p] = s[1];
      zz[p] = s[2];
      yz[p] = s[3];
      zx[p] = s[4];
      xy[p] = s[5];
    }
    for (int32_t k = 0; k < STRAINS; ++k) column[k * (int64_t)m + at] *= 0.5;
    at += r - a;
  }
#undef G
  const double l00 = root * f->l00, l10 = root * f->l10, l11 = root * f->l11, l20 = root * f->l20,
               l21 = root * f->l21, l22 = root * f->l22, shear = root * f->shear;
  for (int32_t p = 0; p < m; ++p) {
    const double x = xx[p], y = yy[p], z = zz[p];
    xx[p] = l00 * x + l10 * y + l20 * z;
    yy[p] = l11 * y + l21 * z;
    zz[p] = l22 * z;
    yz[p] *= shear;
    zx[p] *= shear;
    xy[p] *= shear;
  }
}

// One task of the first phase: the columns of one element.
static rf_status fill_task(void *context, int64_t task, int worker, rf_error *err) {
  const gram *w = context;
  const int32_t e = w->first + (int32_t)task, points = w->solid->n_gauss;
  double *g = w->scratch + (int64_t)worker * 9 * w->r;
  energy_factor f;
  const rf_status st = factor_material(&w->solid->material[w->solid->element_material[e]], &f, err);
  if (st < 0) return st;
  const double *volume = rf_solid_volume(w->solid, e);
  for (int32_t p = 0; p < points; ++p) {
    double *column = w->panel + (task * points + p) * STRAINS * (int64_t)w->m;
    displacement_gradients(w, e, p, g);
    strain_columns(w, &f, sqrt(volume[p]), g, column);
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

  const int m = w->m, k = w->count * w->solid->n_gauss * STRAINS;
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

rf_status rf_polynomial_build(const rf_solid *solid, const rf_run *run, int32_t r,
                              const double *basis, double *coefficient, rf_error *err) {
  rf_status st = RF_OK;
  double *transposed = NULL;
  gram w = {.solid = solid, .r = r};
  const int32_t n_elements = solid->mesh->n_elements;
  const int64_t n_dofs = 3 * (int64_t)solid->mesh->n_nodes;
  if (!(r >= 1 && r <= RF_POLYNOMIAL_MAX_R))
    return rf_fail(err, RF_ERR_ARG, "r must be between 1 and %d, got %d", RF_POLYNOMIAL_MAX_R, r);

  w.m = r + r * (r + 1) / 2;
  w.tiles = (w.m + TILE - 1) / TILE;
  const int64_t per_element = (int64_t)w.m * STRAINS * solid->n_gauss;
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

rf_status rf_polynomial_mass(const rf_solid *solid, const rf_run *run, int32_t r,
                             const double *basis, double *mass, rf_error *err) {
  rf_status st = RF_OK;
  double *product = NULL;
  const int dofs = 3 * solid->mesh->n_nodes;
  RF_ALLOC(product, (int64_t)r * dofs);
  RF_TRY(rf_solid_mass_multiply(solid, run, r, basis, product, err));
  const double one = 1.0, zero = 0.0;
  dgemm_("T", "N", &r, &r, &dofs, &one, basis, &dofs, product, &dofs, &zero, mass, &r);
  for (int32_t i = 0; i < r; ++i)
    for (int32_t j = 0; j < i; ++j) {
      const double mean = 0.5 * (mass[i * r + j] + mass[j * r + i]);
      mass[i * r + j] = mass[j * r + i] = mean;
    }
done:
  rf_free(product);
  return st;
}
