#include "basis/lacking.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "linalg/blas.h"
#include "linalg/deflate.h"
#include "linalg/dense_rt.h"
#include "linalg/tall.h"
#include "linalg/vector.h"

enum { BLOCK = 32 };  // loads solved together

static const double ROUNDING = 1e-6;  // relative excess of the basis over the solid, or more:
static const double MORE = 4.0 * DBL_EPSILON;  // of the largest stiffness, over that of a vector
static const double STILL = 1e-9;              // of a load: its part that deforms a free solid
static const double RIGID = 1e-9;              // of a vector: its part that deforms a free solid

typedef struct work {
  const rf_solid *solid;
  const rf_run *run;
  int32_t n, r, ld;
  double rounding;                // of shares
  rf_csc stiffness;               // lower triangle over the free DOFs
  double *vectors, *forces;       // U and K U, of unit strain energy each (r, n)
  double *factor, *rhs, *answer;  // of U^T K U                            (r, ld), (ld), (ld)
  double *load, *moved, *again;   // f, u, K u                             (BLOCK, n)
  double size[BLOCK];             // largest entry of each load
  double *inner, *scratch;        // of tall products
} work;

static void release(work *w) {
  rf_csc_free(&w->stiffness);
  rf_free(w->vectors);
  rf_free(w->forces);
  rf_free(w->factor);
  rf_free(w->rhs);
  rf_free(w->answer);
  rf_free(w->load);
  rf_free(w->moved);
  rf_free(w->again);
  rf_free(w->inner);
  rf_free(w->scratch);
}

static rf_status allocate(work *w, rf_error *err) {
  rf_status st = RF_OK;
  const int32_t wide = w->r > BLOCK ? w->r : BLOCK;
  RF_ALLOC(w->vectors, (int64_t)w->r * w->n);
  RF_ALLOC(w->forces, (int64_t)w->r * w->n);
  RF_ALLOC(w->factor, (int64_t)w->ld * w->ld);
  RF_ALLOC(w->rhs, w->ld);
  RF_ALLOC(w->answer, w->ld);
  RF_ALLOC(w->load, (int64_t)BLOCK * w->n);
  RF_ALLOC(w->moved, (int64_t)BLOCK * w->n);
  RF_ALLOC(w->again, (int64_t)BLOCK * w->n);
  RF_ALLOC(w->inner, (int64_t)w->r * wide);
  RF_ALLOC(w->scratch, rf_tall_inner_scratch(w->n, w->r, wide));
done:
  return st;
}

static rf_status assemble(work *w, rf_error *err) {
  rf_status st = RF_OK;
  double *blocks = NULL;
  RF_ALLOC(blocks, 9 * (int64_t)w->solid->graph.ptr[w->solid->graph.n]);
  RF_TRY(rf_solid_evaluate_upper(w->solid, w->run, NULL, NULL, NULL, blocks, err));
  RF_TRY(rf_solid_free_pattern(w->solid, &w->stiffness, err));
  rf_solid_free_fill(w->solid, 0.0, blocks, &w->stiffness);
done:
  rf_free(blocks);
  return st;
}

// Gathers a field, with largest entry 1, so that no product of it over- or underflows; returns the
// largest entry that it had.
static double gather(const work *w, const double *field, double *out) {
  double largest = 0.0;
  rf_solid_gather(w->solid, field, out);
  for (int64_t k = 0; k < w->n; ++k) largest = fmax(largest, fabs(out[k]));
  for (int64_t k = 0; largest > 0.0 && k < w->n; ++k) out[k] /= largest;
  return largest;
}

// Removes rigid motions from the vectors of a free solid; refuses a vector of them alone.
static rf_status deform_only(work *w, const rf_modes_solid *modes, rf_error *err) {
  rf_status st = RF_OK;
  const rf_eigen_problem *k = &rf_modes_solid_system(modes)->operators;
  const double *rigid = rf_modes_solid_rigid(modes);
  const int64_t n = w->n;
  double *dual = NULL, *size = NULL;
  if (!rigid) return RF_OK;
  RF_ALLOC(dual, RF_RIGID * n);
  RF_ALLOC(size, w->r);
  for (int32_t i = 0; i < w->r; ++i) size[i] = rf_dot(n, w->vectors + i * n, w->vectors + i * n);
  RF_TRY(k->mass(k->context, w->run, RF_RIGID, rigid, dual, err));
  RF_TRY(rf_deflate(w->run, w->n, RF_RIGID, rigid, dual, w->r, w->vectors, err));
  for (int32_t i = 0; i < w->r; ++i) {
    const double *u = w->vectors + i * n;
    if (!(rf_dot(n, u, u) > RIGID * RIGID * size[i])) {
      st = rf_fail(err, RF_ERR_SINGULAR,
                   "vector %d of the basis has no stiffness: it is zero or a rigid motion", (int)i);
      goto done;
    }
  }
done:
  rf_free(dual);
  rf_free(size);
  return st;
}

// Computes U, K U and the factor of U^T K U, with vectors of unit strain energy.
static rf_status take_basis(work *w, const rf_modes_solid *modes, const double *vectors,
                            rf_error *err) {
  rf_status st = RF_OK;
  const int64_t n = w->n, r = w->r, all = 3 * (int64_t)w->solid->mesh->n_nodes;
  double largest = 0.0;
  for (int64_t k = 0; k < n; ++k)
    largest = fmax(largest, w->stiffness.val[w->stiffness.colptr[k]]);  // on the diagonal
  for (int64_t i = 0; i < r; ++i) gather(w, vectors + i * all, w->vectors + i * n);
  RF_TRY(deform_only(w, modes, err));
  RF_TRY(rf_csc_symmetric_multiply(&w->stiffness, w->run, 1, w->r, w->vectors, w->forces, err));
  w->rounding = ROUNDING;
  for (int64_t i = 0; i < r; ++i) {
    double *u = w->vectors + i * n, *f = w->forces + i * n;
    const double energy = rf_dot(n, u, f), size = rf_dot(n, u, u);
    if (!(energy > 0.0 && isfinite(energy))) {
      st = rf_fail(err, RF_ERR_SINGULAR, "vector %d of the basis has no stiffness%s", (int)i,
                   size > 0.0 ? " that rounding leaves" : ": it is zero");
      goto done;
    }
    // the energy of slender or soft and stiff solids is small: cancellation in K u leaves it few
    // digits
    w->rounding = fmax(w->rounding, MORE * largest * size / energy);
    for (int64_t k = 0; k < n; ++k) u[k] /= sqrt(energy), f[k] /= sqrt(energy);
  }
  RF_TRY(rf_tall_inner(w->run, w->n, w->r, w->vectors, w->r, w->forces, w->scratch, w->inner, err));
  for (int64_t i = 0; i < r; ++i)
    for (int64_t j = 0; j < r; ++j)
      w->factor[i * w->ld + j] = 0.5 * (w->inner[i * r + j] + w->inner[j * r + i]);
  if (!rf_dense_cholesky_rt(w->solid->simd, w->r, w->factor, w->ld))
    st = rf_fail(err, RF_ERR_SINGULAR, "the vectors of the basis are linearly dependent");
done:
  return st;
}

// Computes what the basis lacks of one load, number `which`.
static rf_status one_load(work *w, int32_t which, const double *f, const double *u,
                          const double *forces, const double *inner, double *lacking,
                          double *work_of_load, rf_error *err) {
  const double whole = rf_dot(w->n, f, u), size = rf_dot(w->n, f, f);
  const double deforms = rf_dot(w->n, forces, forces);
  if (!(whole > 0.0 && deforms > STILL * STILL * size))
    return rf_fail(err, RF_ERR_ARG,
                   "force[%d] does no work: it is zero, acts on fixed nodes alone, or only "
                   "accelerates a free solid",
                   (int)which);
  memcpy(w->rhs, inner, (size_t)w->r * sizeof *w->rhs);
  rf_dense_cholesky_solve_rt(w->solid->simd, w->r, w->factor, w->ld, w->rhs, w->answer);
  const double left = 1.0 - rf_dot(w->r, w->rhs, w->answer) / whole;
  if (!(left >= -w->rounding))
    return rf_fail(err, RF_ERR_SINGULAR, "the vectors of the basis are linearly dependent");
  *lacking = fmax(left, 0.0);
  *work_of_load = whole;
  return RF_OK;
}

static rf_status take_loads(work *w, const rf_modes_solid *modes, int32_t count,
                            const double *loads, double *lacking, double *works, rf_error *err) {
  rf_status st = RF_OK;
  const rf_eigen_problem *k = &rf_modes_solid_system(modes)->operators;
  const int64_t all = 3 * (int64_t)w->solid->mesh->n_nodes;
  double *folded = NULL;
  RF_ALLOC(folded, all);
  for (int32_t first = 0; first < count; first += BLOCK) {
    const int32_t some = count - first < BLOCK ? count - first : BLOCK;
    for (int32_t j = 0; j < some; ++j) {
      memcpy(folded, loads + all * (first + j), (size_t)all * sizeof *folded);
      rf_constraints_fold_rt(w->solid->mesh->constraints, folded);
      w->size[j] = gather(w, folded, w->load + (int64_t)j * w->n);
    }
    RF_TRY(k->solve(k->context, w->run, some, w->load, w->moved, err));
    RF_TRY(rf_csc_symmetric_multiply(&w->stiffness, w->run, 1, some, w->moved, w->again, err));
    RF_TRY(rf_tall_inner(w->run, w->n, w->r, w->forces, some, w->moved, w->scratch, w->inner, err));
    for (int32_t j = 0; j < some; ++j) {
      const int64_t at = (int64_t)j * w->n;
      RF_TRY(one_load(w, first + j, w->load + at, w->moved + at, w->again + at,
                      w->inner + (int64_t)j * w->r, lacking + first + j, works + first + j, err));
      works[first + j] *= w->size[j] * w->size[j];
    }
    RF_TRY(rf_run_progress(w->run, first + some, count, err));
  }
done:
  rf_free(folded);
  return st;
}

rf_status rf_basis_lacking(const rf_solid *solid, const rf_run *run, int32_t r,
                           const double *vectors, int32_t count, const double *loads,
                           double *lacking, double *works, rf_error *err) {
  rf_status st = RF_OK;
  rf_modes_solid *modes = NULL;
  work w = {.solid = solid, .run = run, .n = 3 * solid->n_free, .r = r, .ld = rf_dense_ld(r)};
  RF_TRY(rf_modes_solid_create(solid, run, &modes, err));
  RF_TRY(allocate(&w, err));
  RF_TRY(assemble(&w, err));
  rf_blas_serial_begin();
  st = take_basis(&w, modes, vectors, err);
  if (st >= 0) st = take_loads(&w, modes, count, loads, lacking, works, err);
  rf_blas_serial_end();
done:
  rf_modes_solid_free(modes);
  release(&w);
  return st;
}
