#include "mesh/constraints.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "linalg/vec3.h"
#include "mesh/mesh.h"

static const double SUM = 1e-12;     // largest error of the sum of weights
static const double PLACE = 1e-9;    // and of the rest place, over the distance to the masters
static const double FOLLOWS = 1e-8;  // of a displacement, over the largest one
static const double SINGLE = 1e-6;   // the same, after rounding to single precision

void rf_constraints_free(rf_constraints *c) {
  if (!c) return;
  rf_free(c->slaves);
  rf_free(c->ptr);
  rf_free(c->masters);
  rf_free(c->weights);
  rf_free(c);
}

// Checks slaves and offsets; tied[i]: node i is constrained.
static rf_status check_slaves(const rf_mesh *m, const rf_constraints *c, uint8_t *tied,
                              rf_error *err) {
  if (c->ptr[0] != 0) return rf_fail(err, RF_ERR_ARG, "ptr must begin with 0, got %d", c->ptr[0]);
  for (int32_t k = 0; k < c->n; ++k) {
    const int32_t s = c->slaves[k];
    if (!(s >= 0 && s < m->n_nodes))
      return rf_fail(err, RF_ERR_ARG, "slaves[%d] is %d; allowed are 0 to %d", k, s,
                     m->n_nodes - 1);
    if (k > 0 && s <= c->slaves[k - 1])
      return rf_fail(err, RF_ERR_ARG,
                     "slaves[%d] is %d, after %d: slaves must ascend, each node once", k, s,
                     c->slaves[k - 1]);
    if (c->ptr[k + 1] <= c->ptr[k])
      return rf_fail(err, RF_ERR_ARG,
                     "ptr[%d] is %d, after %d: node %d has no masters; leave it out", k + 1,
                     c->ptr[k + 1], c->ptr[k], s);
    tied[s] = 1;
  }
  return RF_OK;
}

// Checks the masters of constraint k, their weights, and the rest place of its node.  met[i] is the
// last constraint with master i, plus 1.  With `apart` the place may be rounded to single
// precision; another one only sets it.
static rf_status check_one(const rf_mesh *m, const rf_constraints *c, int32_t k,
                           const uint8_t *tied, int32_t *met, bool *apart, rf_error *err) {
  const int32_t s = c->slaves[k];
  const double *x = m->nodes + 3 * (int64_t)s;
  double sum = 0.0, mean[3] = {0.0, 0.0, 0.0}, reach = 0.0;
  for (int32_t p = c->ptr[k]; p < c->ptr[k + 1]; ++p) {
    const int32_t a = c->masters[p];
    if (!(a >= 0 && a < m->n_nodes))
      return rf_fail(err, RF_ERR_ARG, "masters[%d] is %d; allowed are 0 to %d", p, a,
                     m->n_nodes - 1);
    if (tied[a])
      return rf_fail(err, RF_ERR_MESH,
                     "node %d follows node %d, which is constrained itself: replace it by its own "
                     "masters",
                     s, a);
    if (met[a] == k + 1)
      return rf_fail(err, RF_ERR_MESH, "node %d has master %d twice: add their weights", s, a);
    met[a] = k + 1;
    if (!isfinite(c->weights[p]))
      return rf_fail(err, RF_ERR_ARG, "weights[%d] is %g; weights must be finite", p,
                     c->weights[p]);
    double off[3];
    rf_vec3_sub(m->nodes + 3 * (int64_t)a, x, off);
    reach = fmax(reach, rf_vec3_length(off));
    sum += c->weights[p];
    for (int i = 0; i < 3; ++i) mean[i] += c->weights[p] * off[i];
  }
  if (!(fabs(sum - 1.0) <= SUM))
    return rf_fail(err, RF_ERR_MESH,
                   "the weights of node %d sum to %.12g: they must sum to 1, or the mesh resists "
                   "translations",
                   s, sum);
  const double away = rf_vec3_length(mean), size = rf_vec3_length(x);
  if (apart) {
    *apart = *apart || !(away <= SINGLE * (size + reach));
    return RF_OK;
  }
  const double rounding = 16.0 * DBL_EPSILON * size;
  if (!(away <= PLACE * reach + rounding))
    return rf_fail(err, RF_ERR_MESH,
                   "node %d rests %.3g m from the mean of its masters: move it there, or the mesh "
                   "fails the patch test",
                   s, away);
  return RF_OK;
}

// Checks the table; `apart` as in check_one.
static rf_status check_all(const rf_mesh *m, const rf_constraints *from, bool *apart,
                           rf_error *err) {
  rf_status st = RF_OK;
  uint8_t *tied = NULL;
  int32_t *met = NULL;
  if (rf_element_is_quadratic(m->type))
    return rf_fail(err, RF_ERR_MESH,
                   "constrained nodes need elements without mid-edge nodes, of 4 or 8 nodes; these "
                   "have %d",
                   (int)m->type);
  if (m->constraints || from->n < 1)
    return rf_fail(err, RF_ERR_ARG, "constraints must name at least one node, and once only");
  RF_ALLOC(tied, m->n_nodes);
  RF_ALLOC(met, m->n_nodes);
  RF_TRY(check_slaves(m, from, tied, err));
  for (int32_t k = 0; k < from->n; ++k) RF_TRY(check_one(m, from, k, tied, met, apart, err));
done:
  rf_free(tied);
  rf_free(met);
  return st;
}

rf_status rf_mesh_constraints_fit(const rf_mesh *m, const rf_constraints *from, bool *fit,
                                  rf_error *err) {
  bool apart = false;
  const rf_status st = check_all(m, from, &apart, err);
  *fit = !apart;
  return st;
}

rf_status rf_mesh_set_constraints(rf_mesh *m, const rf_constraints *from, rf_error *err) {
  rf_status st = RF_OK;
  rf_constraints *c = NULL;
  RF_TRY(check_all(m, from, NULL, err));
  const size_t masters = (size_t)from->ptr[from->n];
  RF_ALLOC(c, 1);
  c->n = from->n;
  RF_ALLOC(c->slaves, c->n);
  RF_ALLOC(c->ptr, (int64_t)c->n + 1);
  RF_ALLOC(c->masters, masters);
  RF_ALLOC(c->weights, masters);
  memcpy(c->slaves, from->slaves, (size_t)c->n * sizeof *c->slaves);
  memcpy(c->ptr, from->ptr, ((size_t)c->n + 1) * sizeof *c->ptr);
  memcpy(c->masters, from->masters, masters * sizeof *c->masters);
  memcpy(c->weights, from->weights, masters * sizeof *c->weights);
  m->constraints = c;
  c = NULL;
  st = rf_mesh_check_cut_nodes(m, err);
done:
  rf_constraints_free(c);
  return st;
}

rf_status rf_constraints_matrix(const rf_constraints *c, int32_t n_nodes, rf_csc *out,
                                rf_error *err) {
  rf_status st = RF_OK;
  int32_t *start = NULL, *column = NULL;  // of each independent node; column of each node
  const int32_t columns = n_nodes - c->n, own = c->ptr[c->n];
  RF_ALLOC(start, (int64_t)n_nodes + 1);
  RF_ALLOC(column, n_nodes);
  RF_TRY(rf_csc_create(n_nodes, columns, (int64_t)columns + own, out, err));
  for (int32_t k = 0; k < c->n; ++k) column[c->slaves[k]] = -1;
  for (int32_t i = 0, at = 0; i < n_nodes; ++i)
    if (column[i] == 0) {
      column[i] = at++;
      ++out->colptr[column[i] + 1];
    }
  for (int32_t p = 0; p < own; ++p) ++out->colptr[column[c->masters[p]] + 1];
  for (int32_t j = 0; j < columns; ++j) out->colptr[j + 1] += out->colptr[j];
  memcpy(start, out->colptr, (size_t)columns * sizeof *start);
  // rows in ascending order, so that they are sorted within each column
  for (int32_t i = 0, k = 0; i < n_nodes; ++i) {
    if (column[i] >= 0) {
      out->rowind[start[column[i]]] = i;
      out->val[start[column[i]]++] = 1.0;
      continue;
    }
    for (int32_t p = c->ptr[k]; p < c->ptr[k + 1]; ++p) {
      const int32_t j = column[c->masters[p]];
      out->rowind[start[j]] = i;
      out->val[start[j]++] = c->weights[p];
    }
    ++k;
  }
done:
  rf_free(start);
  rf_free(column);
  return st;
}

rf_status rf_constraints_require_free(const rf_constraints *c, int64_t n, const int32_t *nodes,
                                      rf_error *err) {
  for (int64_t i = 0; c && i < n; ++i)
    if (rf_constraints_find(c, nodes[i]) >= 0)
      return rf_fail(err, RF_ERR_ARG,
                     "node %d touches but is constrained to follow others, which contact does not "
                     "know: nodes of the surface must be independent, as voxelize(..., graded=) "
                     "makes them",
                     nodes[i]);
  return RF_OK;
}

rf_status rf_constraints_require(const rf_constraints *c, int32_t n_nodes, const double *x,
                                 const char *name, rf_error *err) {
  double largest = 0.0;
  if (!c) return RF_OK;
  for (int64_t d = 0; d < 3 * (int64_t)n_nodes; ++d) largest = fmax(largest, fabs(x[d]));
  for (int32_t k = 0; k < c->n; ++k)
    for (int i = 0; i < 3; ++i) {
      double mean = 0.0;
      for (int32_t p = c->ptr[k]; p < c->ptr[k + 1]; ++p)
        mean += c->weights[p] * x[3 * (int64_t)c->masters[p] + i];
      const double value = x[3 * (int64_t)c->slaves[k] + i];
      const double off = fabs(value - mean);
      if (off <= FOLLOWS * largest) continue;
      return rf_fail(err, RF_ERR_ARG,
                     "%s[%d, %d] is %g, but node %d is constrained, and the mean of its masters is "
                     "%g, which differs by %.3g; allowed is %.3g%s; make constrained nodes follow "
                     "(mesh.constraints.fill)",
                     name, c->slaves[k], i, value, c->slaves[k], mean, off, FOLLOWS * largest,
                     off <= SINGLE * largest ? " (single precision?)" : "");
    }
  return RF_OK;
}

rf_status rf_constraints_require_all(const rf_constraints *c, int32_t n_nodes, int64_t count,
                                     const double *x, const char *name, rf_error *err) {
  char own[64];
  for (int64_t k = 0; c && k < count; ++k) {
    snprintf(own, sizeof own, "%s[%lld]", name, (long long)k);
    const rf_status st = rf_constraints_require(c, n_nodes, x + 3 * k * n_nodes, own, err);
    if (st < 0) return st;
  }
  return RF_OK;
}
