#include "dynamics/coupled_matrix.h"

#include <string.h>

#include "base/alloc.h"

void rf_coupled_matrix_release(rf_coupled_matrix *m) {
  rf_csc_free(&m->lower);
  rf_cholesky_free(m->factor);
  rf_free(m->place);
  rf_free(m->pair);
  *m = (rf_coupled_matrix){0};
}

static int32_t least(int32_t a, int32_t b) { return a < b ? a : b; }
static int32_t most(int32_t a, int32_t b) { return a > b ? a : b; }

// Rows of the pairs by columns, in blocks of nodes; ascending, as the pairs are and as free nodes
// are in the order of nodes.  ptr: (n + 1), row: (n_pairs).
static rf_status list_rows(const rf_system_coupling *c, const int32_t *column_of, int32_t n,
                           int32_t *ptr, int32_t *row) {
  for (int32_t k = 0; k < c->n_pairs; ++k) {
    const int32_t a = column_of[c->pair[2 * (int64_t)k]];
    const int32_t b = column_of[c->pair[2 * (int64_t)k + 1]];
    if (a < 0 || b < 0 || a == b) return RF_ERR_INTERNAL;
    ++ptr[least(a, b) + 1];
    row[k] = most(a, b);
  }
  for (int32_t j = 0; j < n; ++j) ptr[j + 1] += ptr[j];
  return RF_OK;
}

// Merges a column with further blocks of rows; returns the place behind it.
static int32_t merge_column(rf_coupled_matrix *m, const rf_csc *lower, int32_t column,
                            const int32_t *row, int32_t n_rows, int32_t at) {
  int32_t k = lower->colptr[column], block = 0, r = 0;
  const int32_t end = lower->colptr[column + 1];
  while (k < end || block < n_rows) {
    const int32_t own = k < end ? lower->rowind[k] : INT32_MAX;
    const int32_t more = block < n_rows ? 3 * row[block] + r : INT32_MAX;
    if (own <= more) m->place[k++] = at;
    if (more <= own && ++r == 3) {
      r = 0;
      ++block;
    }
    m->lower.rowind[at++] = least(own, more);
  }
  return at;
}

static rf_status build(rf_coupled_matrix *m, const rf_csc *lower, const rf_solid *solid,
                       const rf_system_coupling *c, rf_error *err) {
  rf_status st = RF_OK;
  const int32_t n = lower->cols / 3, entries = lower->colptr[lower->cols];
  int32_t *ptr = NULL, *row = NULL;
  rf_coupled_matrix_release(m);
  RF_ALLOC(ptr, n + (int64_t)1);
  RF_ALLOC(row, c->n_pairs);
  RF_ALLOC(m->pair, 2 * (int64_t)c->n_pairs);
  RF_ALLOC(m->place, entries);
  RF_TRY(list_rows(c, solid->free_of, n, ptr, row));
  RF_TRY(
      rf_csc_create(lower->rows, lower->cols, entries + 9 * (int64_t)c->n_pairs, &m->lower, err));
  int32_t at = 0;
  for (int32_t j = 0; j < lower->cols; ++j) {
    at = merge_column(m, lower, j, row + ptr[j / 3], ptr[j / 3 + 1] - ptr[j / 3], at);
    m->lower.colptr[j + 1] = at;
  }
  RF_TRY(rf_solid_factor_create(solid, &m->lower, &m->factor, err));
  m->n_pairs = c->n_pairs;
  memcpy(m->pair, c->pair, 2 * (size_t)c->n_pairs * sizeof *m->pair);
done:
  rf_free(ptr);
  rf_free(row);
  if (st < 0) rf_coupled_matrix_release(m);
  return st;
}

rf_status rf_coupled_matrix_fill(rf_coupled_matrix *m, const rf_csc *lower, const rf_solid *solid,
                                 const rf_system_coupling *c, rf_error *err) {
  const bool same = m->n_pairs == c->n_pairs &&
                    memcmp(m->pair, c->pair, 2 * (size_t)c->n_pairs * sizeof *m->pair) == 0;
  const rf_status st = same ? RF_OK : build(m, lower, solid, c, err);
  if (st < 0) return st;
  memset(m->lower.val, 0, (size_t)m->lower.colptr[m->lower.cols] * sizeof *m->lower.val);
  for (int32_t k = 0; k < lower->colptr[lower->cols]; ++k)
    m->lower.val[m->place[k]] = lower->val[k];
  return RF_OK;
}

void rf_coupled_matrix_add(const rf_system_coupling *c, const int32_t *column_of, double factor,
                           const rf_csc *to) {
  for (int32_t k = 0; k < c->n; ++k)
    for (int i = 0; i < 12; ++i)
      for (int j = 0; j < 12; ++j) {
        const int32_t a = column_of[c->node[4 * (int64_t)k + i / 3]];
        const int32_t b = column_of[c->node[4 * (int64_t)k + j / 3]];
        const int32_t row = 3 * a + i % 3, column = 3 * b + j % 3;
        if (a < 0 || b < 0 || row < column) continue;
        const int64_t at = rf_csc_find(to, row, column);
        if (at >= 0) to->val[at] += factor * c->matrix[144 * (int64_t)k + 12 * i + j];
      }
}
