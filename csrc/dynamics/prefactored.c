#include "dynamics/prefactored.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "fem/fem.h"
#include "linalg/vector.h"

enum { REST, RESULT, DIRECTION, PRODUCT, SOLVED, OTHER, RF_PREFACTORED_VECTORS };

// The error falls to 3 % in an iteration, so that 8 are enough; more only where the matrix is not
// finite.
static const double ACCURACY = 1e-12;
enum { MOST_ITERATIONS = 30 };

static int64_t entries(const rf_csc *a) { return a->colptr[a->cols]; }
static int64_t size(const rf_prefactored *d) { return 3 * (int64_t)d->solid->n_free; }
static double *vector(const rf_prefactored *d, int which) { return d->vectors + which * size(d); }

// Fills M and D at rest.
static rf_status fill(rf_prefactored *d, const rf_run *run, const rf_system_damping *damping,
                      bool lumped, rf_error *err) {
  const rf_solid *s = d->solid;
  const int64_t n = 9 * (int64_t)s->graph.ptr[s->mesh->n_nodes];
  rf_status st = RF_OK;
  double *blocks = NULL, *viscous = NULL;
  RF_ALLOC(blocks, n);
  RF_TRY(rf_solid_evaluate(s, run, NULL, NULL, NULL, blocks, err));
  for (int64_t i = 0; i < n; ++i) blocks[i] *= damping->stiffness;
  if (damping->viscosity) {
    RF_ALLOC(viscous, n);
    RF_TRY(rf_solid_damping(s, run, damping->viscosity, NULL, NULL, NULL, NULL, viscous, err));
    for (int64_t i = 0; i < n; ++i) blocks[i] += viscous[i];
  }
  rf_solid_free_fill(s, lumped ? 0.0 : 1.0, NULL, &d->mass);
  for (int32_t j = 0; lumped && j < d->mass.cols; ++j)  // the diagonal is first in its column
    d->mass.val[d->mass.colptr[j]] = s->lumped[s->free[j / 3]];
  rf_solid_free_fill(s, 0.0, blocks, &d->damping);
  for (int64_t i = 0; i < entries(&d->damping); ++i)
    d->damping.val[i] += damping->mass * d->mass.val[i];
done:
  rf_free(blocks);
  rf_free(viscous);
  return st;
}

rf_status rf_prefactored_create(const rf_solid *solid, const rf_run *run,
                                const rf_system_damping *damping, bool lumped, rf_prefactored **out,
                                rf_error *err) {
  rf_status st = RF_OK;
  rf_prefactored *d = NULL;
  *out = NULL;
  RF_ALLOC(d, 1);
  d->solid = solid;
  d->first_s = damping->inside_s;
  RF_TRY(rf_solid_free_pattern(solid, &d->mass, err));
  RF_TRY(rf_csc_copy(&d->mass, &d->damping, err));
  RF_TRY(rf_csc_copy(&d->mass, &d->matrix, err));
  RF_ALLOC(d->vectors, RF_PREFACTORED_VECTORS * size(d));
  RF_TRY(fill(d, run, damping, lumped, err));
  *out = d;
  d = NULL;
done:
  rf_prefactored_free(d);
  return st;
}

void rf_prefactored_free(rf_prefactored *d) {
  if (!d) return;
  rf_csc_free(&d->mass);
  rf_csc_free(&d->damping);
  rf_csc_free(&d->matrix);
  for (int i = 0; i < RF_PREFACTORED_FACTORS; ++i) rf_cholesky_free(d->factor[i]);
  rf_free(d->vectors);
  rf_free(d);
}

rf_status rf_prefactored_multiply(rf_prefactored *d, const rf_run *run, const double *x, double *y,
                                  rf_error *err) {
  rf_solid_gather(d->solid, x, vector(d, REST));
  const rf_status st =
      rf_csc_symmetric_multiply(&d->damping, run, 1, 1, vector(d, REST), vector(d, PRODUCT), err);
  if (st < 0) return st;
  rf_solid_scatter(d->solid, vector(d, PRODUCT), y);
  rf_constraints_clear_rt(d->solid->mesh->constraints, y);  // forces are at the masters
  return st;
}

// The matrix of a step becomes that of the length dt_s.
static void assemble(rf_prefactored *d, double dt_s) {
  if (d->dt_s == dt_s) return;
  for (int64_t i = 0; i < entries(&d->matrix); ++i)
    d->matrix.val[i] = d->mass.val[i] + 0.5 * dt_s * d->damping.val[i];
  d->dt_s = dt_s;
}

// Provides the factor of a level.
static rf_status factorize(rf_prefactored *d, const rf_run *run, int32_t level,
                           const rf_cholesky **out, rf_error *err) {
  bool fresh;
  const int32_t i = rf_prefactored_take(&d->levels, level, &fresh);
  rf_status st = RF_OK;
  *out = d->factor[i];
  if (!fresh) return st;
  assemble(d, ldexp(d->first_s, level));
  if (!d->factor[i]) st = rf_solid_factor_create(d->solid, &d->matrix, &d->factor[i], err);
  if (st >= 0) st = rf_cholesky_factorize(d->factor[i], run, &d->matrix, NULL, err);
  if (st < 0) d->levels.used[i] = 0;
  *out = d->factor[i];
  return st;
}

typedef struct preconditioner {
  const rf_cholesky *factor[2];
  double part[2];
} preconditioner;

static rf_status apply(const rf_prefactored *d, const rf_run *run, const preconditioner *p,
                       const double *x, double *y, rf_error *err) {
  double *other = vector(d, OTHER);
  rf_status st = rf_cholesky_solve(p->factor[0], run, 1, x, y, err);
  if (st >= 0) st = rf_cholesky_solve(p->factor[1], run, 1, x, other, err);
  for (int64_t i = 0; i < size(d); ++i) y[i] = p->part[0] * y[i] + p->part[1] * other[i];
  return st;
}

// Conjugate gradients: solves for the vector REST, into RESULT.
static rf_status iterate(rf_prefactored *d, const rf_run *run, const preconditioner *by,
                         int64_t *iterations, rf_error *err) {
  const int64_t n = size(d);
  double *r = vector(d, REST), *x = vector(d, RESULT), *p = vector(d, DIRECTION);
  double *product = vector(d, PRODUCT), *z = vector(d, SOLVED);
  rf_status st = RF_OK;
  memset(x, 0, (size_t)n * sizeof *x);
  RF_TRY(apply(d, run, by, r, p, err));
  const double first = rf_dot(n, r, p);
  double square = first;
  for (int k = 0; k < MOST_ITERATIONS && square > ACCURACY * ACCURACY * first; ++k) {
    RF_TRY(rf_csc_symmetric_multiply(&d->matrix, run, 1, 1, p, product, err));
    const double length = square / rf_dot(n, p, product);
    for (int64_t i = 0; i < n; ++i) x[i] += length * p[i], r[i] -= length * product[i];
    RF_TRY(apply(d, run, by, r, z, err));
    const double next = rf_dot(n, r, z);
    for (int64_t i = 0; i < n; ++i) p[i] = z[i] + next / square * p[i];
    square = next;
    ++*iterations;
  }
  if (!isfinite(square)) x[0] = NAN;  // the step fails
done:
  return st;
}

rf_status rf_prefactored_solve(rf_prefactored *d, const rf_run *run, double dt_s, const double *x,
                               double *y, int64_t *iterations, rf_error *err) {
  preconditioner by;
  const int32_t level = rf_prefactored_split(d->first_s, dt_s, by.part);
  rf_status st = RF_OK;
  RF_TRY(factorize(d, run, level, &by.factor[0], err));
  rf_solid_gather(d->solid, x, vector(d, REST));
  if (by.part[1] == 0.0) {
    RF_TRY(rf_cholesky_solve(by.factor[0], run, 1, vector(d, REST), vector(d, RESULT), err));
  } else {
    RF_TRY(factorize(d, run, level + 1, &by.factor[1], err));
    assemble(d, dt_s);
    RF_TRY(iterate(d, run, &by, iterations, err));
  }
  rf_solid_scatter(d->solid, vector(d, RESULT), y);
done:
  return st;
}

rf_status rf_prefactored_respond(rf_prefactored *d, const rf_run *run, double dt_s, int32_t node,
                                 double *x, rf_error *err) {
  const int64_t n = 3 * (int64_t)d->solid->mesh->n_nodes;
  double part[2];
  double *const columns = d->vectors;  // the first three vectors
  const rf_cholesky *factor;
  rf_status st = RF_OK;
  const int32_t level = rf_prefactored_split(d->first_s, dt_s, part);
  if (part[1] != 0.0) return RF_ERR_INTERNAL;
  RF_TRY(factorize(d, run, level, &factor, err));
  memset(x, 0, 3 * (size_t)n * sizeof *x);
  for (int64_t k = 0; k < 3; ++k) {
    x[n * k + 3 * (int64_t)node + k] = 1.0;
    rf_solid_gather(d->solid, x + n * k, columns + size(d) * k);
  }
  RF_TRY(rf_cholesky_solve(factor, run, 3, columns, columns, err));
  for (int64_t k = 0; k < 3; ++k) rf_solid_scatter(d->solid, columns + size(d) * k, x + n * k);
done:
  return st;
}
