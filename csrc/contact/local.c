#include "contact/local.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"

static const double MORE = 1e-6;    // relative excess of the basis over the solid that is rounding
static const double LEAST = 1e-10;  // diagonal entries over the largest, smaller ones count as that

void rf_contact_local_free(rf_contact_local *l) {
  if (!l) return;
  rf_free(l->carrier);
  rf_free(l->weight);
  rf_free(l->entry);
  rf_free(l->lacking);
  rf_cubic_free(l->second);
  rf_free(l->direction);
  rf_free(l);
}

// Lower triangular L of a symmetric positive definite matrix, in place.
static rf_status factor(int32_t n, double *a, rf_error *err) {
  for (int32_t j = 0; j < n; ++j) {
    double *row = a + (int64_t)j * n;
    const double whole = row[j];
    for (int32_t k = 0; k < j; ++k) row[j] -= row[k] * row[k];
    if (!(row[j] > 1e-12 * whole))
      return rf_fail(err, RF_ERR_SINGULAR,
                     "the stiffness of the solid in the basis is not positive definite: vector %d "
                     "is a rigid motion, or depends on those before it",
                     (int)j);
    row[j] = sqrt(row[j]);
    for (int32_t i = j + 1; i < n; ++i) {
      double *other = a + (int64_t)i * n;
      for (int32_t k = 0; k < j; ++k) other[j] -= other[k] * row[k];
      other[j] /= row[j];
    }
  }
  return RF_OK;
}

static float *diagonal_of(const rf_contact_local *l, int64_t row) {
  const int64_t p = row / 3;
  return l->entry + 9 * (p * (p + 1) / 2 + p) + 4 * (row % 3);
}

// A build: rows of S, one carrier after the other.
typedef struct build {
  const rf_contact_local_settings *set;
  rf_contact_local *local;
  int32_t corners;      // nodes of a carrier
  const int32_t *node;  //                                                 (n_carriers, corners)
  const double *weight;
  double *at_nodes, *v;  // V at the nodes (n_nodes, 3, r), and at the carriers (n_carriers, 3, r)
  double *rows;          // of G, of each worker                              (n_nodes, 9)
} build;

// v = L^-1 u for each row of the basis.
static void solve_rows(const rf_contact_local_settings *set, const double *root, double *v) {
  const int32_t r = set->r;
  for (int64_t k = 0; k < 3 * (int64_t)set->n_nodes; ++k) {
    const double *u = set->basis + k * r;
    double *x = v + k * r;
    for (int32_t i = 0; i < r; ++i) {
      double sum = u[i];
      for (int32_t j = 0; j < i; ++j) sum -= root[(int64_t)i * r + j] * x[j];
      x[i] = sum / root[(int64_t)i * r + i];
    }
  }
}

static void gather_carriers(build *b) {
  const int64_t size = 3 * (int64_t)b->set->r;
  for (int64_t p = 0; p < b->local->n_carriers; ++p)
    for (int64_t a = p * b->corners; a < (p + 1) * b->corners; ++a) {
      const double w = b->weight[a], *from = b->at_nodes + size * b->node[a];
      for (int64_t k = 0; w != 0.0 && k < size; ++k) b->v[p * size + k] += w * from[k];
    }
}

// B -= V_p V_q^T
static void subtract(const build *b, int64_t p, int64_t q, double block[9]) {
  const int32_t r = b->set->r;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      const double *x = b->v + (3 * p + i) * r, *y = b->v + (3 * q + j) * r;
      double sum = 0.0;
      for (int32_t k = 0; k < r; ++k) sum += x[k] * y[k];
      block[3 * i + j] -= sum;
    }
}

static rf_status row_task(void *context, int64_t p, int worker, rf_error *err) {
  (void)err;
  const build *b = context;
  const rf_contact_local_settings *set = b->set;
  double *row = b->rows + 9 * (int64_t)worker * set->n_nodes;
  float *entry = b->local->entry + 9 * (p * (p + 1) / 2);
  memset(row, 0, 9 * (size_t)set->n_nodes * sizeof *row);
  for (int64_t a = p * b->corners; a < (p + 1) * b->corners; ++a)
    for (int32_t i = 0; b->weight[a] != 0.0 && i < set->n_nodes; ++i) {
      double one[9];
      set->block(set->of, b->node[a], i, one);
      for (int k = 0; k < 9; ++k) row[9 * (int64_t)i + k] += b->weight[a] * one[k];
    }
  for (int64_t q = 0; q <= p; ++q, entry += 9) {
    double block[9] = {0.0};
    for (int64_t c = q * b->corners; c < (q + 1) * b->corners; ++c)
      for (int k = 0; b->weight[c] != 0.0 && k < 9; ++k)
        block[k] += b->weight[c] * row[9 * (int64_t)b->node[c] + k];
    subtract(b, p, q, block);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j)
        entry[3 * i + j] =
            (float)(p == q ? 0.5 * (block[3 * i + j] + block[3 * j + i]) : block[3 * i + j]);
  }
  return RF_OK;
}

// Raises the diagonal, so that S stays semidefinite with its roundings E.  |E_ij| is at most
// u |S_ij|: with d_i the root of S_ii, E + diag(d_i sum_j u |S_ij| / d_j) is semidefinite by
// Gershgorin's theorem.  As |S_ij| <= d_i d_j, that raises S_ii by a part of u times the number of
// rows, also beside nodes that yield by orders of magnitude more.  Roundings of the double
// precision before are far smaller.
static rf_status raise_diagonal(rf_contact_local *l, rf_error *err) {
  rf_status st = RF_OK;
  const int64_t rows = 3 * (int64_t)l->n_carriers;
  double *root = NULL, *sum = NULL, largest = 0.0;
  RF_ALLOC(root, rows);
  RF_ALLOC(sum, rows);
  for (int64_t i = 0; i < rows; ++i) {
    root[i] = *diagonal_of(l, i);
    largest = fmax(largest, root[i]);
  }
  for (int64_t i = 0; i < rows; ++i) root[i] = sqrt(fmax(root[i], LEAST * largest));
  const float *entry = l->entry;
  for (int64_t p = 0; p < l->n_carriers; ++p)
    for (int64_t q = 0; q <= p; ++q, entry += 9)
      for (int k = 0; k < 9; ++k) {
        const double size = fabs((double)entry[k]);
        const int64_t i = 3 * p + k / 3, j = 3 * q + k % 3;
        sum[i] += size / root[j];
        if (q < p) sum[j] += size / root[i];
      }
  for (int64_t i = 0; largest > 0.0 && i < rows; ++i)
    *diagonal_of(l, i) = (float)((double)*diagonal_of(l, i) + FLT_EPSILON * root[i] * sum[i]);
done:
  rf_free(root);
  rf_free(sum);
  return st;
}

// Compliance of a point of the solid, trace.
static double whole_of(const rf_contact_local_settings *set, int64_t p) {
  double sum = 0.0;
  for (int64_t a = p * set->corners; a < (p + 1) * set->corners; ++a)
    for (int64_t c = p * set->corners; c < (p + 1) * set->corners; ++c) {
      const double w = set->weight[a] * set->weight[c];
      double one[9];
      if (w == 0.0) continue;
      set->block(set->of, set->node[a], set->node[c], one);
      sum += w * (one[0] + one[4] + one[8]);
    }
  return sum;
}

static rf_status measure(const rf_contact_local_settings *set, rf_contact_local *l, rf_error *err) {
  for (int32_t p = 0; p < l->n_points; ++p) {
    const double whole = whole_of(set, p);
    double block[9];
    rf_contact_local_between_rt(l, p, p, block);
    for (int i = 0; i < 9; i += 4)
      if (!(block[i] >= -MORE * whole))
        return rf_fail(err, RF_ERR_ARG,
                       "at point %d the basis gives way by %.3g m/N more than the solid: reduced "
                       "model and solid do not belong together",
                       (int)p, -block[i]);
    l->lacking[p] = whole > 0.0 ? (block[0] + block[4] + block[8]) / whole : 0.0;
  }
  return RF_OK;
}

static rf_status check(const rf_contact_local_settings *set, rf_error *err) {
  for (int64_t k = 0; k < (int64_t)set->n_points * set->corners; ++k)
    if (set->weight[k] != 0.0 && !(set->node[k] >= 0 && set->node[k] < set->n_nodes))
      return rf_fail(err, RF_ERR_ARG, "node %d of point %lld has no Green's function",
                     (int)set->node[k], (long long)(k / set->corners));
  return RF_OK;
}

// Carriers of the points.
static rf_status put_carriers(const rf_contact_local_settings *set, rf_contact_local *l,
                              rf_error *err) {
  rf_status st = RF_OK;
  l->n_points = set->n_points;
  l->n_carriers = set->by_points ? set->n_points : set->n_nodes;
  l->corners = set->by_points ? 1 : set->corners;
  const int64_t n = (int64_t)l->n_points * l->corners;
  RF_ALLOC(l->carrier, n);
  RF_ALLOC(l->weight, n);
  RF_ALLOC(l->lacking, l->n_points);
  for (int64_t k = 0; k < n; ++k) {
    l->weight[k] = set->by_points ? 1.0 : set->weight[k];
    l->carrier[k] = set->by_points ? (int32_t)k : l->weight[k] != 0.0 ? set->node[k] : 0;
  }
  l->entry = rf_alloc((size_t)rf_contact_local_entries(l->n_carriers), sizeof *l->entry);
  if (!l->entry)
    st = rf_fail(err, RF_ERR_MEMORY, "out of memory: a local compliance of %d %s needs %.3g GB",
                 (int)l->n_carriers, set->by_points ? "points" : "nodes",
                 4e-9 * (double)rf_contact_local_entries(l->n_carriers));
done:
  return st;
}

rf_status rf_contact_local_create(const rf_contact_local_settings *set, const rf_run *run,
                                  rf_contact_local **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_contact_local *l = NULL;
  build b = {.set = set};
  double *root = NULL, *ones = NULL;
  int32_t *own = NULL;
  const int64_t r = set->r;
  *out = NULL;
  RF_TRY(check(set, err));
  RF_ALLOC(l, 1);
  RF_TRY(put_carriers(set, l, err));
  b.local = l;
  b.corners = set->by_points ? set->corners : 1;
  b.node = set->node;
  b.weight = set->weight;
  if (!set->by_points) {
    RF_ALLOC(own, set->n_nodes);
    RF_ALLOC(ones, set->n_nodes);
    for (int32_t k = 0; k < set->n_nodes; ++k) own[k] = k, ones[k] = 1.0;
    b.node = own;
    b.weight = ones;
  }
  RF_ALLOC(root, r * r);
  RF_ALLOC(b.at_nodes, 3 * set->n_nodes * r);
  RF_ALLOC(b.v, 3 * l->n_carriers * r);
  RF_ALLOC(b.rows, 9 * (int64_t)run->threads * set->n_nodes);
  if (r > 0) memcpy(root, set->stiffness, (size_t)(r * r) * sizeof *root);
  RF_TRY(factor(set->r, root, err));
  if (r > 0) solve_rows(set, root, b.at_nodes);
  gather_carriers(&b);
  RF_TRY(rf_run_tasks(run, l->n_carriers, 1, row_task, &b, err));
  RF_TRY(raise_diagonal(l, err));
  RF_TRY(measure(set, l, err));
  *out = l;
  l = NULL;
done:
  rf_contact_local_free(l);
  rf_free(root);
  rf_free(ones);
  rf_free(own);
  rf_free(b.at_nodes);
  rf_free(b.v);
  rf_free(b.rows);
  return st;
}

rf_status rf_contact_local_take_second(rf_contact_local *l, rf_cubic *second,
                                       const double *direction, rf_error *err) {
  rf_status st = RF_OK;
  RF_ALLOC(l->direction, 3 * (int64_t)l->n_points);
  memcpy(l->direction, direction, 3 * (size_t)l->n_points * sizeof *direction);
  l->second = second;
done:
  return st;
}

rf_status rf_contact_local_displace(const rf_contact_local *l, int32_t n, const int32_t *point,
                                    const double *force, double *u, rf_error *err) {
  rf_status st = RF_OK;
  double *load = NULL, *moved = NULL;
  bool *loaded = NULL;
  RF_ALLOC(load, 3 * (int64_t)l->n_carriers);
  RF_ALLOC(moved, 3 * (int64_t)l->n_carriers);
  RF_ALLOC(loaded, l->n_carriers);
  for (int32_t k = 0; k < n; ++k)
    for (int64_t a = (int64_t)point[k] * l->corners; a < ((int64_t)point[k] + 1) * l->corners;
         ++a) {
      if (l->weight[a] == 0.0) continue;
      loaded[l->carrier[a]] = true;
      for (int i = 0; i < 3; ++i)
        load[3 * (int64_t)l->carrier[a] + i] += l->weight[a] * force[3 * (int64_t)k + i];
    }
  for (int32_t j = 0; j < l->n_carriers; ++j)
    for (int32_t i = 0; loaded[j] && i < l->n_carriers; ++i)
      rf_contact_local_carry_rt(l, i, j, load + 3 * (int64_t)j, moved + 3 * (int64_t)i);
  for (int64_t p = 0; p < l->n_points; ++p)
    for (int64_t a = p * l->corners; a < (p + 1) * l->corners; ++a)
      for (int i = 0; l->weight[a] != 0.0 && i < 3; ++i)
        u[3 * p + i] += l->weight[a] * moved[3 * (int64_t)l->carrier[a] + i];
done:
  rf_free(load);
  rf_free(moved);
  rf_free(loaded);
  return st;
}
