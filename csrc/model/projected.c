#include "model/projected.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "linalg/blas.h"
#include "linalg/dense_rt.h"
#include "model/mass.h"
#include "model/project_row.h"
#include "model/reduced_model.h"

// Rows of U are cut into chunks whose number depends only on the mesh, and chunk sums are added in
// order: results have the same bits for any number of threads.
enum { MOST_CHUNKS = 32, NODES_PER_CHUNK = 64, STRIP = 32, PANEL = 64 };

struct rf_projected_work {
  double *u, *force;  // displacements and unreduced force    (n, 3)
  double *blocks;     // unreduced tangent or damping matrix  (entries, 3, 3)
  double *partial;    // U^T K U of each chunk                (chunks, r, r)
  double *products;   // rows of K U, one strip per chunk     (chunks, STRIP, 3, ld)
};

static int32_t chunk_count(int32_t n) {
  const int32_t count = n / NODES_PER_CHUNK;
  return count < 1 ? 1 : count < MOST_CHUNKS ? count : MOST_CHUNKS;
}

// Returns the first node of a chunk.
static int32_t chunk_at(int32_t n, int64_t chunk) { return (int32_t)(n * chunk / chunk_count(n)); }

static rf_status check_basis(const rf_solid *solid, int32_t r, const double *basis, rf_error *err) {
  const int64_t dofs = 3 * (int64_t)solid->mesh->n_nodes;
  for (int32_t j = 0; j < r; ++j) {
    const double *vector = basis + j * dofs;
    for (int64_t d = 0; d < dofs; ++d)
      if (!isfinite(vector[d]))
        return rf_fail(err, RF_ERR_ARG, "basis[%d, %lld, %lld] is %g; all must be finite", j,
                       (long long)(d / 3), (long long)(d % 3), vector[d]);
    for (int32_t i = 0; i < solid->n_fixed; ++i) {
      const double *u = vector + 3 * (int64_t)solid->fixed[i];
      if (!(u[0] == 0.0 && u[1] == 0.0 && u[2] == 0.0))
        return rf_fail(err, RF_ERR_ARG, "basis[%d] moves node %d, which is fixed", j,
                       solid->fixed[i]);
    }
  }
  return rf_constraints_require_all(solid->mesh->constraints, solid->mesh->n_nodes, r, basis,
                                    "basis", err);
}

rf_status rf_projected_create(const rf_solid *solid, const rf_run *run, int32_t r,
                              const double *basis, rf_projected **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_projected *model = NULL;
  *out = NULL;
  const int64_t dofs = 3 * (int64_t)solid->mesh->n_nodes;
  if (!(r >= 1 && r <= RF_PROJECTED_MAX_R))
    return rf_fail(err, RF_ERR_ARG, "r must be between 1 and %d, got %d", RF_PROJECTED_MAX_R, r);
  RF_TRY(check_basis(solid, r, basis, err));
  RF_ALLOC(model, 1);
  model->solid = solid;
  model->r = r;
  RF_ALLOC(model->mass, r * r);
  RF_TRY(rf_reduced_mass(solid, run, r, basis, model->mass, err));
  RF_TRY(rf_reduced_check_mass(r, model->mass, err));
  model->ld = rf_dense_ld(r);
  RF_ALLOC(model->rows, dofs * model->ld);
  for (int64_t d = 0; d < dofs; ++d)
    for (int32_t j = 0; j < r; ++j) model->rows[d * model->ld + j] = basis[j * dofs + d];
  *out = model;
  model = NULL;
done:
  rf_projected_free(model);
  return st;
}

void rf_projected_free(rf_projected *model) {
  if (!model) return;
  rf_free(model->rows);
  rf_free(model->mass);
  rf_free(model);
}

typedef struct job {
  const rf_projected *model;
  rf_projected_work *work;
  const double *from;
  double *to;
} job;

static rf_status displace(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const job *k = context;
  const int32_t r = k->model->r, n = k->model->solid->mesh->n_nodes;
  for (int64_t d = 3 * (int64_t)chunk_at(n, task); d < 3 * (int64_t)chunk_at(n, task + 1); ++d) {
    const double *row = k->model->rows + d * k->model->ld;
    // four partial sums shorten the dependency chain
    double sum[4] = {0};
    int32_t j = 0;
    for (; j + 4 <= r; j += 4)
      for (int32_t c = 0; c < 4; ++c) sum[c] += row[j + c] * k->from[j + c];
    for (; j < r; ++j) sum[0] += row[j] * k->from[j];
    k->to[d] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  }
  return RF_OK;
}

rf_status rf_projected_displacement(const rf_projected *model, const rf_run *run, const double *q,
                                    double *u, rf_error *err) {
  job k = {.model = model, .from = q, .to = u};
  return rf_run_tasks(run, chunk_count(model->solid->mesh->n_nodes), 0, displace, &k, err);
}

// Computes a chunk's part of U^T f in its row of `to` (chunks, r).
static rf_status project_chunk(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const job *k = context;
  const int32_t r = k->model->r, n = k->model->solid->mesh->n_nodes;
  double *restrict to = k->to + task * r;
  for (int32_t j = 0; j < r; ++j) to[j] = 0.0;
  for (int64_t d = 3 * (int64_t)chunk_at(n, task); d < 3 * (int64_t)chunk_at(n, task + 1); ++d) {
    const double *restrict row = k->model->rows + d * k->model->ld;
    const double f = k->from[d];
    for (int32_t j = 0; j < r; ++j) to[j] += f * row[j];
  }
  return RF_OK;
}

// Computes U^T f; `scratch` is (chunks, r).
static rf_status project(const rf_projected *model, const rf_run *run, const double *force,
                         double *scratch, double *reduced, rf_error *err) {
  const int32_t r = model->r, chunks = chunk_count(model->solid->mesh->n_nodes);
  job k = {.model = model, .from = force, .to = scratch};
  const rf_status st = rf_run_tasks(run, chunks, 0, project_chunk, &k, err);
  if (st < 0) return st;
  for (int32_t j = 0; j < r; ++j) {
    reduced[j] = 0.0;
    for (int32_t c = 0; c < chunks; ++c) reduced[j] += scratch[(int64_t)c * r + j];
  }
  return st;
}

rf_status rf_projected_project(const rf_projected *model, const rf_run *run, const double *force,
                               double *reduced, rf_error *err) {
  rf_status st = RF_OK;
  double *scratch = NULL;
  RF_ALLOC(scratch, (int64_t)chunk_count(model->solid->mesh->n_nodes) * model->r);
  RF_TRY(project(model, run, force, scratch, reduced, err));
done:
  rf_free(scratch);
  return st;
}

rf_status rf_projected_work_create(const rf_projected *model, rf_projected_work **out,
                                   rf_error *err) {
  rf_status st = RF_OK;
  rf_projected_work *w = NULL;
  *out = NULL;
  const rf_solid *solid = model->solid;
  const int32_t n = solid->mesh->n_nodes;
  const int64_t chunks = chunk_count(n), r = model->r;
  RF_ALLOC(w, 1);
  RF_ALLOC(w->u, 3 * (int64_t)n);
  RF_ALLOC(w->force, 3 * (int64_t)n);
  RF_ALLOC(w->blocks, 9 * (int64_t)solid->graph.ptr[n]);
  RF_ALLOC(w->partial, chunks * r * r);
  RF_ALLOC(w->products, chunks * STRIP * 3 * model->ld);
  *out = w;
  w = NULL;
done:
  rf_projected_work_free(w);
  return st;
}

void rf_projected_work_free(rf_projected_work *w) {
  if (!w) return;
  rf_free(w->u);
  rf_free(w->force);
  rf_free(w->blocks);
  rf_free(w->partial);
  rf_free(w->products);
  rf_free(w);
}

static rf_project_row_fn *row_kernel(rf_simd simd) {
#if RF_SIMD_X86
  if (simd == RF_SIMD_AVX512) return rf_project_row_avx512;
  if (simd == RF_SIMD_AVX2) return rf_project_row_avx2;
#endif
  (void)simd;
  return rf_project_row_plain;
}

// Computes a chunk's part of U^T (K U) for the blocks K, lower triangle in LAPACK's order, strip by
// strip of its rows.
static rf_status project_rows(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const job *k = context;
  const rf_projected *model = k->model;
  const rf_graph *graph = &model->solid->graph;
  rf_project_row_fn *product_row = row_kernel(model->solid->simd);
  const int r = model->r, ld = model->ld;
  const int32_t n = model->solid->mesh->n_nodes, end = chunk_at(n, task + 1);
  double *sum = k->work->partial + task * r * r;
  double *y = k->work->products + task * STRIP * 3 * ld;
  const double one = 1.0, zero = 0.0;
  bool fresh = true;
  for (int32_t i = chunk_at(n, task); i < end; i += STRIP) {
    const int32_t nodes = end - i < STRIP ? end - i : STRIP;
    const int rows = 3 * nodes;
    for (int32_t a = 0; a < nodes; ++a) {
      const int64_t p = graph->ptr[i + a];
      product_row(ld, (int32_t)(graph->ptr[i + a + 1] - p), graph->col + p, k->work->blocks + 9 * p,
                  model->rows, y + 3 * (int64_t)a * ld);
    }
    for (int first = 0; first < r; first += PANEL) {
      const int columns = r - first < PANEL ? r - first : PANEL, below = r - first;
      dgemm_("N", "T", &below, &columns, &rows, &one, model->rows + 3 * (int64_t)i * ld + first,
             &ld, y + first, &ld, fresh ? &zero : &one, sum + (int64_t)first * r + first, &r);
    }
    fresh = false;
  }
  return RF_OK;
}

static rf_status project_blocks(const rf_projected *model, const rf_run *run, rf_projected_work *w,
                                double *matrix, int32_t ld, rf_error *err) {
  const int32_t r = model->r, chunks = chunk_count(model->solid->mesh->n_nodes);
  job k = {.model = model, .work = w};
  rf_blas_serial_begin();
  const rf_status st = rf_run_tasks(run, chunks, 0, project_rows, &k, err);
  rf_blas_serial_end();
  if (st < 0) return st;
  for (int32_t j = 0; j < r; ++j)
    for (int32_t i = j; i < r; ++i) {
      double sum = 0.0;
      for (int32_t c = 0; c < chunks; ++c)
        sum += w->partial[(int64_t)c * r * r + (int64_t)j * r + i];
      matrix[(int64_t)i * ld + j] = matrix[(int64_t)j * ld + i] = sum;
    }
  return st;
}

rf_status rf_projected_evaluate_as(const rf_projected *model, const rf_run *run,
                                   rf_projected_work *w, unsigned kind, const double *q,
                                   double *energy, double *force, double *stiffness, int32_t ld,
                                   rf_error *err) {
  rf_status st = RF_OK;
  // the projection reads whole rows
  const unsigned whole = kind & ~(unsigned)RF_TANGENT_UPPER;
  RF_TRY(rf_projected_displacement(model, run, q, w->u, err));
  RF_TRY(rf_solid_evaluate_as(model->solid, run, whole, w->u, energy, force ? w->force : NULL,
                              stiffness ? w->blocks : NULL, err));
  // the sums of the stiffness serve as scratch, r^2 per chunk
  if (force) RF_TRY(project(model, run, w->force, w->partial, force, err));
  if (stiffness) RF_TRY(project_blocks(model, run, w, stiffness, ld, err));
done:
  return st;
}

rf_status rf_projected_evaluate(const rf_projected *model, const rf_run *run, rf_projected_work *w,
                                const double *q, double *energy, double *force, double *stiffness,
                                int32_t ld, rf_error *err) {
  return rf_projected_evaluate_as(model, run, w, 0, q, energy, force, stiffness, ld, err);
}

rf_status rf_projected_require_defined(const rf_projected *model, const rf_run *run,
                                       rf_projected_work *w, const double *q, const char *subject,
                                       rf_error *err) {
  const rf_status st = rf_projected_displacement(model, run, q, w->u, err);
  return st < 0 ? st : rf_solid_require_defined(model->solid, w->u, subject, err);
}

rf_status rf_projected_damping(const rf_projected *model, const rf_run *run, rf_projected_work *w,
                               const double *viscosity, const double *q, double *matrix, int32_t ld,
                               rf_error *err) {
  rf_status st = RF_OK;
  RF_TRY(rf_projected_displacement(model, run, q, w->u, err));
  RF_TRY(rf_solid_damping(model->solid, run, viscosity, w->u, NULL, NULL, NULL, w->blocks, err));
  RF_TRY(project_blocks(model, run, w, matrix, ld, err));
done:
  return st;
}
