// Matrices and vectors of a solid in the formats of solvers and users.
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "fem/fem.h"

enum { ROWS_PER_TASK = 1024 };

typedef struct multiplication {
  const rf_solid *solid;
  const double *blocks;  // NULL: the mass
  const double *x;
  double *y;
  int64_t tasks_per_vector;
} multiplication;

static void mass_row(const rf_solid *s, int32_t i, const double *x, double *y) {
  double sum[3] = {0};
  for (int32_t p = s->graph.ptr[i]; p < s->graph.ptr[i + 1]; ++p) {
    const double *xj = x + 3 * (int64_t)s->graph.col[p];
    for (int c = 0; c < 3; ++c) sum[c] += s->mass[p] * xj[c];
  }
  memcpy(y + 3 * (int64_t)i, sum, sizeof sum);
}

static void block_row(const rf_solid *s, const double *blocks, int32_t i, const double *x,
                      double *y) {
  double sum[3] = {0};
  for (int32_t p = s->graph.ptr[i]; p < s->graph.ptr[i + 1]; ++p) {
    const double *xj = x + 3 * (int64_t)s->graph.col[p], *B = blocks + 9 * (int64_t)p;
    for (int r = 0; r < 3; ++r)
      sum[r] += B[3 * r] * xj[0] + B[3 * r + 1] * xj[1] + B[3 * r + 2] * xj[2];
  }
  memcpy(y + 3 * (int64_t)i, sum, sizeof sum);
}

static rf_status multiply_rows(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const multiplication *m = context;
  const rf_solid *s = m->solid;
  const int32_t n = s->mesh->n_nodes;
  const int64_t at = task / m->tasks_per_vector * 3 * n;
  const int32_t first = (int32_t)(task % m->tasks_per_vector) * ROWS_PER_TASK;
  const int32_t end = n - first < ROWS_PER_TASK ? n : first + ROWS_PER_TASK;
  for (int32_t i = first; i < end; ++i) {
    if (m->blocks)
      block_row(s, m->blocks, i, m->x + at, m->y + at);
    else
      mass_row(s, i, m->x + at, m->y + at);
  }
  return RF_OK;
}

static rf_status multiply(const rf_solid *s, const rf_run *run, const double *blocks,
                          int32_t n_vectors, const double *x, double *y, rf_error *err) {
  if (n_vectors < 0)
    return rf_fail(err, RF_ERR_ARG, "n_vectors must not be negative, got %d", n_vectors);
  multiplication m = {s, blocks, x, y, (s->mesh->n_nodes + ROWS_PER_TASK - 1) / ROWS_PER_TASK};
  return rf_run_tasks(run, m.tasks_per_vector * n_vectors, 0, multiply_rows, &m, err);
}

rf_status rf_solid_mass_multiply(const rf_solid *s, const rf_run *run, int32_t n_vectors,
                                 const double *x, double *y, rf_error *err) {
  return multiply(s, run, NULL, n_vectors, x, y, err);
}

rf_status rf_solid_block_multiply(const rf_solid *s, const rf_run *run, const double *blocks,
                                  int32_t n_vectors, const double *x, double *y, rf_error *err) {
  return multiply(s, run, blocks, n_vectors, x, y, err);
}

enum { LANES = RF_SOLID_LANES };

// Computes a node's rows for LANES vectors.
static inline __attribute__((always_inline)) void lane_row(const rf_solid *s, const double *blocks,
                                                           int32_t i, const double *x, double *y) {
  double sum[3][LANES] = {{0}};
  for (int32_t p = s->graph.ptr[i]; p < s->graph.ptr[i + 1]; ++p) {
    const double *xj = x + 3 * LANES * (int64_t)s->graph.col[p], *B = blocks + 9 * (int64_t)p;
    for (int r = 0; r < 3; ++r)
      for (int k = 0; k < LANES; ++k)
        sum[r][k] +=
            B[3 * r] * xj[k] + B[3 * r + 1] * xj[LANES + k] + B[3 * r + 2] * xj[2 * LANES + k];
  }
  memcpy(y + 3 * LANES * (int64_t)i, sum, sizeof sum);
}

typedef void lane_row_fn(const rf_solid *s, const double *blocks, int32_t i, const double *x,
                         double *y);

static void lane_row_plain(const rf_solid *s, const double *blocks, int32_t i, const double *x,
                           double *y) {
  lane_row(s, blocks, i, x, y);
}

#if RF_SIMD_X86
// the same bits: without fused multiplications
__attribute__((target("avx2"))) static void lane_row_avx2(const rf_solid *s, const double *blocks,
                                                          int32_t i, const double *x, double *y) {
  lane_row(s, blocks, i, x, y);
}
#else
#define lane_row_avx2 lane_row_plain
#endif

static rf_status multiply_lanes(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const multiplication *m = context;
  const rf_solid *s = m->solid;
  lane_row_fn *const row = s->simd != RF_SIMD_PLAIN ? lane_row_avx2 : lane_row_plain;
  const int32_t n = s->mesh->n_nodes;
  const int64_t at = task / m->tasks_per_vector * 3 * LANES * n;
  const int32_t first = (int32_t)(task % m->tasks_per_vector) * ROWS_PER_TASK;
  const int32_t end = n - first < ROWS_PER_TASK ? n : first + ROWS_PER_TASK;
  for (int32_t i = first; i < end; ++i) row(s, m->blocks, i, m->x + at, m->y + at);
  return RF_OK;
}

rf_status rf_solid_block_multiply_lanes(const rf_solid *s, const rf_run *run, const double *blocks,
                                        int32_t groups, const double *x, double *y, rf_error *err) {
  multiplication m = {s, blocks, x, y, (s->mesh->n_nodes + ROWS_PER_TASK - 1) / ROWS_PER_TASK};
  return rf_run_tasks(run, m.tasks_per_vector * groups, 0, multiply_lanes, &m, err);
}

// Column (j, c) of the lower triangle contains the rows (i, r) of the free nodes i >= j, without r
// < c if i = j.  `free` ascends, so rows come out sorted.
rf_status rf_solid_free_pattern(const rf_solid *s, rf_csc *lower, rf_error *err) {
  rf_status st = RF_OK;
  int64_t nnz = 0;
  if (s->n_free < 1)
    return rf_fail(err, RF_ERR_ARG, "every node is fixed: there is nothing to solve for");
  for (int32_t k = 0; k < s->n_free; ++k) {
    const int32_t j = s->free[k];
    for (int32_t p = s->graph.ptr[j]; p < s->graph.ptr[j + 1]; ++p) {
      const int32_t i = s->free_of[s->graph.col[p]];
      nnz += i > k ? 9 : i == k ? 6 : 0;
    }
  }
  RF_TRY(rf_csc_create(3 * s->n_free, 3 * s->n_free, nnz, lower, err));
  int32_t at = 0;
  for (int32_t k = 0; k < s->n_free; ++k) {
    const int32_t j = s->free[k];
    for (int c = 0; c < 3; ++c) {
      for (int32_t p = s->graph.ptr[j]; p < s->graph.ptr[j + 1]; ++p) {
        const int32_t i = s->free_of[s->graph.col[p]];
        for (int r = i == k ? c : 0; i >= k && r < 3; ++r) lower->rowind[at++] = 3 * i + r;
      }
      lower->colptr[3 * k + c + 1] = at;
    }
  }
done:
  return st;
}

rf_status rf_solid_free_points(const rf_solid *s, double **out, rf_error *err) {
  rf_status st = RF_OK;
  RF_ALLOC(*out, 3 * (int64_t)s->n_free);
  rf_solid_gather(s, s->mesh->nodes, *out);
done:
  return st;
}

rf_status rf_solid_factor_create(const rf_solid *s, const rf_csc *lower, rf_cholesky **out,
                                 rf_error *err) {
  double *point = NULL;
  rf_status st = rf_solid_free_points(s, &point, err);
  if (st >= 0)
    st = rf_cholesky_create(lower, &(rf_places){lower->cols / s->n_free, point}, out, err);
  rf_free(point);
  return st;
}

void rf_solid_free_fill(const rf_solid *s, double mass_factor, const double *blocks,
                        rf_csc *lower) {
  double *to = lower->val;
  for (int32_t k = 0; k < s->n_free; ++k) {
    const int32_t j = s->free[k];
    for (int c = 0; c < 3; ++c)
      for (int32_t p = s->graph.ptr[j]; p < s->graph.ptr[j + 1]; ++p) {
        const int32_t i = s->free_of[s->graph.col[p]];
        // entry p is (j, i); the transposed block (i, j) has its column c in row c
        const double *B = blocks ? blocks + 9 * (int64_t)p + 3 * c : NULL;
        for (int r = i == k ? c : 0; i >= k && r < 3; ++r)
          *to++ = (B ? B[r] : 0.0) + (r == c ? mass_factor * s->mass[p] : 0.0);
      }
  }
}

rf_status rf_solid_free_mass(const rf_solid *s, rf_csc *lower, rf_error *err) {
  rf_status st = RF_OK;
  int64_t nnz = 0;
  if (s->n_free < 1)
    return rf_fail(err, RF_ERR_ARG, "every node is fixed: there is nothing to solve for");
  for (int32_t k = 0; k < s->n_free; ++k)
    for (int32_t p = s->graph.ptr[s->free[k]]; p < s->graph.ptr[s->free[k] + 1]; ++p)
      nnz += s->free_of[s->graph.col[p]] >= k;
  RF_TRY(rf_csc_create(s->n_free, s->n_free, nnz, lower, err));
  int32_t at = 0;
  for (int32_t k = 0; k < s->n_free; ++k) {
    for (int32_t p = s->graph.ptr[s->free[k]]; p < s->graph.ptr[s->free[k] + 1]; ++p) {
      const int32_t i = s->free_of[s->graph.col[p]];
      if (i < k) continue;
      lower->rowind[at] = i;
      lower->val[at++] = s->mass[p];
    }
    lower->colptr[k + 1] = at;
  }
done:
  return st;
}

rf_status rf_solid_full_mass(const rf_solid *s, bool lumped, rf_csc *out, rf_error *err) {
  rf_status st = RF_OK;
  const int32_t n = s->mesh->n_nodes;
  RF_TRY(rf_csc_create(3 * n, 3 * n, lumped ? 3 * (int64_t)n : 3 * (int64_t)s->graph.ptr[n], out,
                       err));
  int32_t at = 0;
  for (int32_t j = 0; j < n; ++j)
    for (int c = 0; c < 3; ++c) {
      if (lumped) {
        out->rowind[at] = 3 * j + c;
        out->val[at++] = s->lumped[j];
      }
      for (int32_t p = s->graph.ptr[j]; !lumped && p < s->graph.ptr[j + 1]; ++p) {
        out->rowind[at] = 3 * s->graph.col[p] + c;
        out->val[at++] = s->mass[p];
      }
      out->colptr[3 * j + c + 1] = at;
    }
done:
  return st;
}

rf_status rf_solid_full_tangent(const rf_solid *s, const double *blocks, rf_csc *out,
                                rf_error *err) {
  rf_status st = RF_OK;
  const int32_t n = s->mesh->n_nodes;
  RF_TRY(rf_csc_create(3 * n, 3 * n, 9 * (int64_t)s->graph.ptr[n], out, err));
  int32_t at = 0;
  for (int32_t j = 0; j < n; ++j)
    for (int c = 0; c < 3; ++c) {
      for (int32_t p = s->graph.ptr[j]; p < s->graph.ptr[j + 1]; ++p)
        for (int r = 0; r < 3; ++r) {
          out->rowind[at] = 3 * s->graph.col[p] + r;
          out->val[at++] = blocks[9 * (int64_t)s->mirror[p] + 3 * r + c];
        }
      out->colptr[3 * j + c + 1] = at;
    }
done:
  return st;
}

void rf_solid_gather(const rf_solid *s, const double *all, double *free) {
  for (int32_t k = 0; k < s->n_free; ++k)
    memcpy(free + 3 * (int64_t)k, all + 3 * (int64_t)s->free[k], 3 * sizeof *free);
}

void rf_solid_scatter(const rf_solid *s, const double *free, double *all) {
  for (int32_t k = 0; k < s->n_fixed; ++k)
    memset(all + 3 * (int64_t)s->fixed[k], 0, 3 * sizeof *all);
  for (int32_t k = 0; k < s->n_free; ++k)
    memcpy(all + 3 * (int64_t)s->free[k], free + 3 * (int64_t)k, 3 * sizeof *all);
  rf_constraints_fill_rt(s->mesh->constraints, all);
}
