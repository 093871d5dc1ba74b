#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "linalg/blas.h"
#include "modes/modes.h"

enum { MATRIX_WEIGHTS = 1 };

struct rf_modes_solid {
  const rf_solid *solid;
  rf_cholesky *stiffness;
  rf_csc mass;                       // lower, scalar, over free nodes
  double *weight[RF_MODES_WEIGHTS];  // (n_free, 3) each
  const double *weights[RF_MODES_WEIGHTS];
  rf_modes_system system;
};

struct rf_modes_matrices {
  rf_cholesky *stiffness;
  const rf_csc *mass;
  double *weight[MATRIX_WEIGHTS];
  const double *weights[MATRIX_WEIGHTS];
  rf_modes_system system;
};

// y = M x where M acts alike on the three axes
static rf_status solid_mass(void *context, const rf_run *run, int32_t count, const double *x,
                            double *y, rf_error *err) {
  (void)run, (void)err;
  const rf_modes_solid *s = context;
  const rf_csc *m = &s->mass;
  const size_t length = 3 * (size_t)m->cols;
  memset(y, 0, length * (size_t)count * sizeof *y);
  for (int32_t c = 0; c < count; ++c) {
    const double *xc = x + length * (size_t)c;
    double *yc = y + length * (size_t)c;
    for (int32_t j = 0; j < m->cols; ++j) {
      const double *xj = xc + 3 * (size_t)j;
      double sum[3] = {0.0, 0.0, 0.0};
      for (int32_t p = m->colptr[j]; p < m->colptr[j + 1]; ++p) {
        const size_t i = 3 * (size_t)m->rowind[p];
        const double a = m->val[p];
        for (int axis = 0; axis < 3; ++axis) sum[axis] += a * xc[i + (size_t)axis];
        if (m->rowind[p] == j) continue;
        for (int axis = 0; axis < 3; ++axis) yc[i + (size_t)axis] += a * xj[axis];
      }
      for (int axis = 0; axis < 3; ++axis) yc[3 * (size_t)j + (size_t)axis] += sum[axis];
    }
  }
  return RF_OK;
}

// one column alone avoids the set-up of a parallel solve
static rf_status solve_with(rf_cholesky *f, const rf_run *run, int32_t count, const double *x,
                            double *y, rf_error *err) {
  if (count == 1) return rf_cholesky_solve(f, 1, x, y, err);
  return rf_cholesky_solve_parallel(f, run, count, x, y, err);
}

static rf_status solid_solve(void *context, const rf_run *run, int32_t count, const double *x,
                             double *y, rf_error *err) {
  const rf_modes_solid *s = context;
  return solve_with(s->stiffness, run, count, x, y, err);
}

// place of a vector in the list of distinct ones, appended when new
static int32_t place_of(const double *vector, const double **distinct, int32_t *n_distinct) {
  for (int32_t i = 0; i < *n_distinct; ++i)
    if (distinct[i] == vector) return i;
  distinct[*n_distinct] = vector;
  return (*n_distinct)++;
}

// the fem room works on all nodes: vectors are spread to them and results gathered back
static rf_status solid_hessian(void *context, const rf_run *run, int32_t count,
                               const double *const *a, const double *const *b, double *const *out,
                               rf_error *err) {
  rf_status st = RF_OK;
  const rf_modes_solid *s = context;
  const size_t all = 3 * (size_t)s->solid->mesh->n_nodes;
  const double **distinct = NULL, **pointer = NULL;
  double **result = NULL;
  double *spread = NULL, *products = NULL;
  int32_t n_distinct = 0;
  RF_ALLOC(distinct, 2 * (int64_t)count);
  RF_ALLOC(pointer, 2 * (int64_t)count);
  RF_ALLOC(result, count);
  RF_ALLOC(products, all * (size_t)count);
  for (int32_t p = 0; p < count; ++p) {
    place_of(a[p], distinct, &n_distinct);
    place_of(b[p], distinct, &n_distinct);
  }
  RF_ALLOC(spread, all * (size_t)n_distinct);
  for (int32_t i = 0; i < n_distinct; ++i)
    rf_solid_scatter(s->solid, distinct[i], spread + all * (size_t)i);
  for (int32_t p = 0; p < count; ++p) {
    pointer[p] = spread + all * (size_t)place_of(a[p], distinct, &n_distinct);
    pointer[count + p] = spread + all * (size_t)place_of(b[p], distinct, &n_distinct);
    result[p] = products + all * (size_t)p;
  }
  RF_TRY(rf_solid_hessian_product(s->solid, run, count, pointer, pointer + count, result, err));
  for (int32_t p = 0; p < count; ++p) rf_solid_gather(s->solid, result[p], out[p]);
done:
  rf_free(distinct);
  rf_free(pointer);
  rf_free(result);
  rf_free(spread);
  rf_free(products);
  return st;
}

void rf_modes_weights(const rf_solid *solid, double *by_axis, double *by_place) {
  double low[3], high[3];
  for (int axis = 0; axis < 3; ++axis) low[axis] = high[axis] = solid->mesh->nodes[axis];
  for (int32_t a = 0; a < solid->mesh->n_nodes; ++a) {
    for (int axis = 0; axis < 3; ++axis) {
      low[axis] = fmin(low[axis], solid->mesh->nodes[3 * (size_t)a + (size_t)axis]);
      high[axis] = fmax(high[axis], solid->mesh->nodes[3 * (size_t)a + (size_t)axis]);
    }
  }
  const double size = fmax(high[0] - low[0], fmax(high[1] - low[1], high[2] - low[2]));
  static const double direction[3] = {2.0, 1.3, 0.7};
  for (int32_t i = 0; i < solid->n_free; ++i) {
    const int32_t node = solid->free[i];
    const double *position = solid->mesh->nodes + 3 * (size_t)node;
    double exponent = 0.0;
    for (int axis = 0; axis < 3; ++axis)
      exponent += direction[axis] * (2.0 * position[axis] - low[axis] - high[axis]) / size;
    for (int axis = 0; axis < 3; ++axis) {
      const size_t dof = 3 * (size_t)i + (size_t)axis;
      by_axis[dof] = solid->lumped[node] * (1.0 + axis);
      by_place[dof] = solid->lumped[node] * exp(exponent);
    }
  }
}

// the node and axis a failed pivot belongs to make the message useful
static rf_status explain_singular(const rf_solid *solid, int32_t column, rf_error *err) {
  const char axis[3] = {'x', 'y', 'z'};
  return rf_fail(err, RF_ERR_SINGULAR,
                 "the stiffness matrix at rest is not positive definite (found at node %d, %c): "
                 "the solid is not held, or parts of it are attached by a vanishing stiffness",
                 solid->free[column / 3], axis[column % 3]);
}

rf_status rf_modes_solid_create(const rf_solid *solid, const rf_run *run, rf_modes_solid **out,
                                rf_error *err) {
  rf_status st = RF_OK;
  rf_modes_solid *s = NULL;
  rf_csc lower = {0};
  double *blocks = NULL;
  *out = NULL;
  RF_TRY(rf_solid_require_held(solid, err));
  RF_ALLOC(s, 1);
  s->solid = solid;
  RF_ALLOC(blocks, 9 * (int64_t)solid->graph.ptr[solid->graph.n]);
  RF_TRY(rf_solid_evaluate(solid, run, NULL, NULL, NULL, blocks, err));
  RF_TRY(rf_solid_free_pattern(solid, &lower, err));
  rf_solid_free_fill(solid, 0.0, blocks, &lower);
  rf_free(blocks);
  blocks = NULL;
  RF_TRY(rf_cholesky_create(&lower, &s->stiffness, err));
  RF_TRY(rf_run_progress(run, -1, -1, err));
  int32_t column = 0;
  // one BLAS thread: the same bits whatever the process has set
  rf_blas_serial_begin();
  st = rf_cholesky_factorize(s->stiffness, &lower, &column, err);
  rf_blas_serial_end();
  if (st == RF_ERR_SINGULAR) st = explain_singular(solid, column, err);
  if (st < 0) goto done;
  RF_TRY(rf_solid_free_mass(solid, &s->mass, err));
  for (int w = 0; w < RF_MODES_WEIGHTS; ++w) {
    RF_ALLOC(s->weight[w], 3 * (int64_t)solid->n_free);
    s->weights[w] = s->weight[w];
  }
  rf_modes_weights(solid, s->weight[0], s->weight[1]);
  s->system.operators = (rf_eigen_problem){.n = 3 * solid->n_free,
                                           .mass = solid_mass,
                                           .solve = solid_solve,
                                           .context = s,
                                           .n_weights = RF_MODES_WEIGHTS,
                                           .weights = s->weights};
  s->system.hessian = solid_hessian;
  *out = s;
  s = NULL;
done:
  rf_free(blocks);
  rf_csc_free(&lower);
  rf_modes_solid_free(s);
  return st;
}

void rf_modes_solid_free(rf_modes_solid *s) {
  if (!s) return;
  rf_cholesky_free(s->stiffness);
  rf_csc_free(&s->mass);
  for (int w = 0; w < RF_MODES_WEIGHTS; ++w) rf_free(s->weight[w]);
  rf_free(s);
}

const rf_modes_system *rf_modes_solid_system(const rf_modes_solid *s) { return &s->system; }

static rf_status matrices_mass(void *context, const rf_run *run, int32_t count, const double *x,
                               double *y, rf_error *err) {
  (void)run, (void)err;
  const rf_modes_matrices *m = context;
  rf_csc_symmetric_multiply(m->mass, count, x, y);
  return RF_OK;
}

static rf_status matrices_solve(void *context, const rf_run *run, int32_t count, const double *x,
                                double *y, rf_error *err) {
  const rf_modes_matrices *m = context;
  return solve_with(m->stiffness, run, count, x, y, err);
}

// a fixed number in [1, 2) for each place, without pattern: no symmetry survives it
static double scatter(int32_t place) {
  const uint32_t mixed = (uint32_t)place * 2654435769u;
  return 1.0 + (double)(mixed ^ (mixed >> 15)) * 0x1p-32;
}

rf_status rf_modes_matrices_create(const rf_csc *stiffness, const rf_csc *mass,
                                   rf_modes_matrices **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_modes_matrices *m = NULL;
  const int32_t n = stiffness->rows;
  *out = NULL;
  if (mass->rows != n || mass->cols != n || stiffness->cols != n)
    return rf_fail(err, RF_ERR_ARG, "stiffness (%d x %d) and mass (%d x %d) must be square alike",
                   stiffness->rows, stiffness->cols, mass->rows, mass->cols);
  RF_ALLOC(m, 1);
  m->mass = mass;
  RF_TRY(rf_cholesky_create(stiffness, &m->stiffness, err));
  rf_blas_serial_begin();
  st = rf_cholesky_factorize(m->stiffness, stiffness, NULL, err);
  rf_blas_serial_end();
  if (st < 0) goto done;

  // repeated modes of unknowns without geometry are told apart by place in the vector
  RF_ALLOC(m->weight[0], n);
  for (int32_t j = 0; j < n; ++j)
    for (int32_t p = mass->colptr[j]; p < mass->colptr[j + 1]; ++p)
      if (mass->rowind[p] == j) m->weight[0][j] = mass->val[p] * scatter(j);
  m->weights[0] = m->weight[0];
  m->system.operators = (rf_eigen_problem){.n = n,
                                           .mass = matrices_mass,
                                           .solve = matrices_solve,
                                           .context = m,
                                           .n_weights = MATRIX_WEIGHTS,
                                           .weights = m->weights};
  *out = m;
  m = NULL;
done:
  rf_modes_matrices_free(m);
  return st;
}

void rf_modes_matrices_free(rf_modes_matrices *m) {
  if (!m) return;
  rf_cholesky_free(m->stiffness);
  for (int w = 0; w < MATRIX_WEIGHTS; ++w) rf_free(m->weight[w]);
  rf_free(m);
}

const rf_modes_system *rf_modes_matrices_system(const rf_modes_matrices *m) { return &m->system; }

rf_status rf_modes_linear(const rf_modes_system *system, const rf_run *run, int32_t k,
                          double *eigenvalues, double *shapes, rf_error *err) {
  const rf_eigen_settings set = {.k = k};
  if (!(k >= 1 && k < system->operators.n))
    return rf_fail(err, RF_ERR_ARG,
                   "k must be between 1 and %d (free degrees of freedom less one), got %d",
                   system->operators.n - 1, k);
  return rf_eigen_smallest(&system->operators, &set, run, eigenvalues, shapes, NULL, err);
}

void rf_modes_frequencies(int32_t k, const double *eigenvalues, double *frequencies) {
  const double two_pi = 6.283185307179586;
  for (int32_t j = 0; j < k; ++j) frequencies[j] = sqrt(fmax(eigenvalues[j], 0.0)) / two_pi;
}

rf_status rf_modes_expand(const rf_solid *solid, int64_t count, double *vectors, rf_error *err) {
  rf_status st = RF_OK;
  const size_t all = 3 * (size_t)solid->mesh->n_nodes, held = 3 * (size_t)solid->n_free;
  double *one = NULL;
  RF_ALLOC(one, held);
  // from the back: the wide place of a vector never covers a narrow one still to be read
  for (int64_t v = count - 1; v >= 0; --v) {
    memcpy(one, vectors + held * (size_t)v, held * sizeof *one);
    rf_solid_scatter(solid, one, vectors + all * (size_t)v);
  }
done:
  rf_free(one);
  return st;
}
