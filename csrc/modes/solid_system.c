// A held or free solid as a system for modes.
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "linalg/deflate.h"
#include "modes/modes.h"

struct rf_modes_solid {
  const rf_solid *solid;
  rf_cholesky *stiffness;
  rf_csc mass;                       // lower triangle, scalar, over free nodes
  double *weight[RF_MODES_WEIGHTS];  // (n_free, 3) each
  const double *weights[RF_MODES_WEIGHTS];
  double *rigid, *rigid_mass;  // motions of a free solid, and M times them  (RF_RIGID, n_free, 3)
  rf_modes_system system;
};

static rf_status solid_mass(void *context, const rf_run *run, int32_t count, const double *x,
                            double *y, rf_error *err) {
  const rf_modes_solid *s = context;
  return rf_csc_symmetric_multiply(&s->mass, run, 3, count, x, y, err);
}

static rf_status solid_solve(void *context, const rf_run *run, int32_t count, const double *x,
                             double *y, rf_error *err) {
  const rf_modes_solid *s = context;
  if (!s->rigid) return rf_cholesky_solve(s->stiffness, run, count, x, y, err);
  // loads in equilibrium cause no force in the supports, so the supported solid solves the free
  // one; the rigid part that this adds is removed
  const int32_t n = s->system.operators.n;
  if (x != y) memcpy(y, x, (size_t)n * (size_t)count * sizeof *y);
  rf_status st = rf_deflate(run, n, RF_RIGID, s->rigid_mass, s->rigid, count, y, err);
  if (st >= 0) st = rf_cholesky_solve(s->stiffness, run, count, y, y, err);
  if (st >= 0) st = rf_deflate(run, n, RF_RIGID, s->rigid, s->rigid_mass, count, y, err);
  return st;
}

// Returns the index of a vector in the list of distinct ones; appends new vectors.
static int32_t place_of(const double *vector, const double **distinct, int32_t *n_distinct) {
  for (int32_t i = 0; i < *n_distinct; ++i)
    if (distinct[i] == vector) return i;
  distinct[*n_distinct] = vector;
  return (*n_distinct)++;
}

// The fem room works on all nodes: expands the vectors and gathers the results.
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

// Names the node and axis of a failed pivot.
static rf_status explain_singular(const rf_solid *solid, int32_t column, rf_error *err) {
  const char axis[3] = {'x', 'y', 'z'};
  return rf_fail(err, RF_ERR_SINGULAR,
                 "the stiffness matrix at rest is not positive definite (found at node %d, %c): "
                 "the solid is not supported, or parts of it are attached by a vanishing stiffness",
                 solid->free[column / 3], axis[column % 3]);
}

static void gather_rigid(const rf_solid *solid, const double *all, double *free) {
  for (size_t i = 0; i < RF_RIGID; ++i)
    rf_solid_gather(solid, all + 3 * (size_t)solid->mesh->n_nodes * i,
                    free + 3 * (size_t)solid->n_free * i);
}

// Sets the rigid motions of a free solid, and the supports of its stiffness.
static rf_status set_free(rf_modes_solid *s, const rf_run *run, rf_csc *lower, rf_error *err) {
  rf_status st = RF_OK;
  const int32_t n = 3 * s->solid->n_free;
  const size_t all = 3 * (size_t)s->solid->mesh->n_nodes;
  rf_rigid_body body;
  int32_t supports[RF_RIGID];
  double *modes = NULL, *product = NULL;  // over all nodes
  RF_ALLOC(modes, RF_RIGID * all);
  RF_ALLOC(product, RF_RIGID * all);
  RF_ALLOC(s->rigid, RF_RIGID * (int64_t)n);
  RF_ALLOC(s->rigid_mass, RF_RIGID * (int64_t)n);
  RF_TRY(rf_solid_rigid_body(s->solid, run, &body, err));
  rf_rigid_modes(s->solid, &body, modes);
  gather_rigid(s->solid, modes, s->rigid);
  memcpy(s->rigid_mass, s->rigid, RF_RIGID * (size_t)n * sizeof *s->rigid);
  rf_rigid_supports(n, s->rigid_mass, supports);
  // supports as stiff as the solid at these DOFs; the diagonal comes first in a column
  for (int i = 0; i < RF_RIGID; ++i) lower->val[lower->colptr[supports[i]]] *= 2.0;
  RF_TRY(rf_solid_mass_multiply(s->solid, run, RF_RIGID, modes, product, err));
  gather_rigid(s->solid, product, s->rigid_mass);
done:
  rf_free(modes);
  rf_free(product);
  return st;
}

rf_status rf_modes_solid_create(const rf_solid *solid, const rf_run *run, rf_modes_solid **out,
                                rf_error *err) {
  rf_status st = RF_OK;
  rf_modes_solid *s = NULL;
  rf_csc lower = {0};
  double *blocks = NULL;
  *out = NULL;
  const bool is_free = solid->n_fixed == 0;
  RF_TRY(is_free ? rf_solid_require_one_piece(solid, err) : rf_solid_require_held(solid, err));
  RF_ALLOC(s, 1);
  s->solid = solid;
  RF_ALLOC(blocks, 9 * (int64_t)solid->graph.ptr[solid->graph.n]);
  RF_TRY(rf_solid_evaluate_upper(solid, run, NULL, NULL, NULL, blocks, err));
  RF_TRY(rf_solid_free_pattern(solid, &lower, err));
  rf_solid_free_fill(solid, 0.0, blocks, &lower);
  rf_free(blocks);
  blocks = NULL;
  if (is_free) RF_TRY(set_free(s, run, &lower, err));
  RF_TRY(rf_solid_factor_create(solid, &lower, &s->stiffness, err));
  RF_TRY(rf_run_progress(run, -1, -1, err));
  int32_t column = 0;
  st = rf_cholesky_factorize(s->stiffness, run, &lower, &column, err);
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
                                           .null_space = is_free ? RF_RIGID : 0,
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
  rf_free(s->rigid);
  rf_free(s->rigid_mass);
  for (int w = 0; w < RF_MODES_WEIGHTS; ++w) rf_free(s->weight[w]);
  rf_free(s);
}

const rf_modes_system *rf_modes_solid_system(const rf_modes_solid *s) { return &s->system; }

const rf_cholesky *rf_modes_solid_factor(const rf_modes_solid *s) { return s->stiffness; }

const double *rf_modes_solid_rigid(const rf_modes_solid *s) { return s->rigid; }
