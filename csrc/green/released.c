#include "green/released.h"

#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "green/release.h"
#include "linalg/dense_rt.h"
#include "linalg/vector.h"

enum { ROWS = 256 };  // of A between two polls

rf_status rf_green_released_allocate(const rf_green *g, const rf_green_settings *set,
                                     rf_green **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_green *h = NULL;
  *out = NULL;
  if (set->count <= g->stored)
    return rf_fail(err, RF_ERR_ARG, "released must name a node; pass at least one");
  for (int32_t k = g->stored; k < set->count; ++k)
    for (int32_t i = 0; i < k; ++i)
      if (set->node[i] == set->node[k])
        return rf_fail(err, RF_ERR_ARG, "node %d occurs twice", (int)set->node[k]);
  RF_TRY(rf_green_reserve(g->n_nodes, false, set, &h, err));
  h->entry = g->entry;
  h->packed = g->packed;
  h->borrows = true;
  h->simd = g->simd;
  h->stored = g->stored;
  h->n_added = 3 * (h->count - h->stored);
  RF_ALLOC(h->added, 3 * (int64_t)h->count * h->n_added);
  RF_ALLOC(h->firm, 3 * (int64_t)h->n_releasable);
  *out = h;
  h = NULL;
done:
  rf_green_free(h);
  return st;
}

// Allocates the result: places of `g`, then the released supports; `left` (n_releasable)
// gets the indices of the others.
static rf_status make_room(const rf_green_release *r, int32_t *left, rf_green **out,
                           rf_error *err) {
  rf_status st = RF_OK;
  const rf_green *g = r->g;
  const int32_t n = r->n / 3;
  int32_t *node = NULL, *rest = NULL, n_left = 0;
  RF_ALLOC(node, g->count + (int64_t)n);
  RF_ALLOC(rest, g->n_releasable);
  memcpy(node, g->node, (size_t)g->count * sizeof *node);
  for (int32_t k = 0; k < n; ++k) node[g->count + k] = g->releasable[r->released[k]];
  for (int32_t k = 0; k < g->n_releasable; ++k) {
    bool gone = false;
    for (int32_t q = 0; q < n; ++q) gone = gone || r->released[q] == k;
    if (gone) continue;
    left[n_left] = k;
    rest[n_left++] = g->releasable[k];
  }
  const rf_green_settings set = {.node = node,
                                 .count = g->count + n,
                                 .releasable = rest,
                                 .n_releasable = n_left,
                                 .single = g->single,
                                 .simd = g->simd};
  RF_TRY(rf_green_released_allocate(g, &set, out, err));
done:
  rf_free(node);
  rf_free(rest);
  return st;
}

// Fills A: the columns of `g`, then L^-1 [Phi^T 1].
static rf_status fill_added(const rf_green_release *r, const rf_run *run, rf_green *h,
                            rf_error *err) {
  rf_status st = RF_OK;
  const rf_green *g = r->g;
  const int64_t field = 3 * (int64_t)rf_green_rows(h), old = 3 * (int64_t)g->count;
  const int64_t n = h->n_added, before = g->n_added;
  double *half = NULL;
  RF_ALLOC(half, r->n * field);
  for (int32_t k = 0; k < r->n; ++k) {
    memcpy(half + k * field, rf_green_release_mode(r, k), (size_t)old * sizeof *half);
    half[k * field + old + k] = 1.0;
  }
  rf_dense_half_solve_rt(g->simd, r->n, r->factor, r->ld, (int32_t)field, half);
  for (int64_t i = 0; i < 3 * (int64_t)h->count; ++i) {
    if (i % ROWS == 0) RF_TRY(rf_run_poll(run, err));
    if (i < old && before > 0)
      memcpy(h->added + i * n, g->added + i * before, (size_t)before * sizeof *half);
    for (int32_t k = 0; k < r->n; ++k) h->added[i * n + before + k] = half[k * field + i];
  }
done:
  rf_free(half);
  return st;
}

// Fills static modes and stiffness of the supports that are left.
static rf_status fill_left(rf_green_release *r, const rf_run *run, const int32_t *left, rf_green *h,
                           rf_error *err) {
  rf_status st = RF_OK;
  const rf_green *g = r->g;
  const int64_t old = 3 * (int64_t)g->count, size = 3 * (int64_t)g->n_releasable;
  const int64_t n = 3 * (int64_t)h->n_releasable, from = 3 * (int64_t)rf_green_rows(g);
  const int64_t field = 3 * (int64_t)rf_green_rows(h);
  for (int64_t j = 0; j < n; ++j) {
    RF_TRY(rf_run_poll(run, err));
    const int64_t own = 3 * (int64_t)left[j / 3] + j % 3;
    double *mode = h->static_modes + j * field;
    for (int32_t k = 0; k < r->n; ++k)
      r->load[k] = g->support[own * size + 3 * (int64_t)r->released[k / 3] + k % 3];
    rf_green_release_solve(r);  // a column of X
    h->firm[j] = rf_green_firm(g, own);
    for (int32_t k = 0; k < r->n; ++k) {
      const int64_t other = 3 * (int64_t)r->released[k / 3] + k % 3;
      h->firm[j] += r->motion[k] * r->motion[k] * rf_green_firm(g, other);
    }
    memcpy(mode, g->static_modes + own * from, (size_t)old * sizeof *mode);
    for (int32_t k = 0; k < r->n; ++k) {
      const double *other = rf_green_release_mode(r, k);
      for (int64_t i = 0; i < old; ++i) mode[i] -= r->motion[k] * other[i];
      mode[old + k] = -r->motion[k];
    }
    for (int64_t i = 0; i <= j; ++i) {
      const double *row = g->support + (3 * (int64_t)left[i / 3] + i % 3) * size;
      double value = row[own];
      for (int32_t k = 0; k < r->n; ++k)
        value -= row[3 * (int64_t)r->released[k / 3] + k % 3] * r->motion[k];
      h->support[i * n + j] = h->support[j * n + i] = value;
    }
  }
done:
  return st;
}

rf_status rf_green_released_create(const rf_green *g, const rf_run *run, int32_t n,
                                   const int32_t *released, rf_green **out, rf_error *err) {
  rf_status st = RF_OK;
  bool good = true;
  rf_green *h = NULL;
  int32_t *left = NULL;
  rf_green_release r = {0};
  *out = NULL;
  RF_TRY(rf_green_release_create(g, n, released, &r, err));
  RF_TRY(rf_green_release_factorize(&r, run, 0.0, &good, err));
  if (!good) {
    st = rf_fail(err, RF_ERR_SINGULAR,
                 "released leaves too few fixed nodes: the solid could move as a rigid body; "
                 "release fewer, three nodes that are not on a line must stay");
    goto done;
  }
  RF_ALLOC(left, g->n_releasable);
  RF_TRY(make_room(&r, left, &h, err));
  RF_TRY(fill_added(&r, run, h, err));
  RF_TRY(fill_left(&r, run, left, h, err));
  *out = h;
  h = NULL;
done:
  rf_green_release_free(&r);
  rf_free(left);
  rf_green_free(h);
  return st;
}
