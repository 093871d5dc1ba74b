#include "linalg/ordering.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "base/alloc.h"
#include "linalg/analysis.h"

static _Atomic int in_use = RF_ORDER_AUTO;

void rf_ordering_use(rf_ordering_method method) { atomic_store(&in_use, (int)method); }
rf_ordering_method rf_ordering_in_use(void) { return (rf_ordering_method)atomic_load(&in_use); }

// Builds the adjacency of nodes with `width` unknowns each.
static rf_status adjacency_of(const rf_csc *lower, int32_t width, rf_adjacency *out,
                              rf_error *err) {
  rf_status st = RF_OK;
  const int32_t n = lower->cols / width;
  int32_t *last = NULL, *at = NULL;
  *out = (rf_adjacency){.n = n};
  RF_ALLOC(out->ptr, (int64_t)n + 1);
  RF_ALLOC(last, n);
  RF_ALLOC(at, n);
  // counts, then enters each pair of nodes once in both rows
  for (int pass = 0; pass < 2; ++pass) {
    for (int32_t j = 0; j < n; ++j) last[j] = -1;
    for (int32_t c = 0; c < width * n; ++c)
      for (int32_t p = lower->colptr[c], j = c / width; p < lower->colptr[c + 1]; ++p) {
        const int32_t i = lower->rowind[p] / width;
        if (i == j || last[i] == j) continue;
        last[i] = j;
        if (pass == 0) {
          ++out->ptr[i + 1];
          ++out->ptr[j + 1];
        } else {
          out->neighbor[at[i]++] = j;
          out->neighbor[at[j]++] = i;
        }
      }
    if (pass == 1) break;
    for (int32_t j = 0; j < n; ++j) {
      if (out->ptr[j + 1] > INT32_MAX - out->ptr[j]) {
        st = rf_fail(err, RF_ERR_MEMORY, "the pairs of %d nodes exceed 32 bits", (int)n);
        goto done;
      }
      out->ptr[j + 1] += out->ptr[j];
      at[j] = out->ptr[j];
    }
    RF_ALLOC(out->neighbor, out->ptr[n]);
  }
done:
  rf_free(last);
  rf_free(at);
  if (st < 0) rf_adjacency_free(out);
  return st;
}

static rf_status failed(const rf_analysis *a, int32_t n, rf_error *err) {
  const int status = a->common.status;
  if (status != CHOLMOD_OUT_OF_MEMORY && status != CHOLMOD_TOO_LARGE)
    return rf_fail(err, RF_ERR_ARG, "a matrix of %d unknowns cannot be ordered (CHOLMOD status %d)",
                   (int)n, status);
  return rf_fail(err, RF_ERR_MEMORY,
                 "the analysis of a matrix of %d unknowns failed (CHOLMOD status %d): memory or "
                 "32-bit indices are exhausted",
                 (int)n, status);
}

// Orders by CHOLMOD, by METIS or AMD; sets the method taken.
static rf_status order_unknowns(const rf_csc *lower, rf_ordering_method *method,
                                int32_t *permutation, rf_error *err) {
  rf_status st = RF_OK;
  rf_analysis a = {0};
  rf_analysis_start(&a);
  a.common.supernodal = CHOLMOD_SIMPLICIAL;
  cholmod_factor *factor = *method == RF_ORDER_METIS
                               ? rf_analysis_run_metis(&a, lower)
                               : rf_analysis_run(&a, lower, CHOLMOD_AMD, NULL);
  if (!factor) st = failed(&a, lower->cols, err);
  if (factor && factor->ordering == CHOLMOD_AMD) *method = RF_ORDER_AMD;
  for (int32_t i = 0; factor && i < lower->cols; ++i)
    permutation[i] = ((const int32_t *)factor->Perm)[i];
  cholmod_free_factor(&factor, &a.common);
  rf_analysis_finish(&a);
  return st;
}

// Orders a graph by approximate minimum degree.
static rf_status order_graph(const rf_adjacency *graph, int32_t *order, rf_error *err) {
  rf_status st = RF_OK;
  const int32_t n = graph->n;
  rf_csc lower = {.rows = n, .cols = n};
  int32_t *at = NULL;
  RF_ALLOC(at, n);
  RF_ALLOC(lower.colptr, (int64_t)n + 1);
  RF_ALLOC(lower.rowind, (int64_t)n + graph->ptr[n] / 2);
  RF_ALLOC(lower.val, (int64_t)n + graph->ptr[n] / 2);
  for (int32_t j = 0; j < n; ++j) {
    int32_t below = 1;  // with the diagonal
    for (int32_t p = graph->ptr[j]; p < graph->ptr[j + 1]; ++p) below += graph->neighbor[p] > j;
    at[j] = lower.colptr[j];
    lower.colptr[j + 1] = lower.colptr[j] + below;
  }
  // by rows, so that each column is sorted
  for (int32_t i = 0; i < n; ++i) {
    for (int32_t p = graph->ptr[i]; p < graph->ptr[i + 1]; ++p)
      if (graph->neighbor[p] < i) lower.rowind[at[graph->neighbor[p]]++] = i;
    lower.rowind[at[i]++] = i;
  }
  rf_ordering_method method = RF_ORDER_AMD;
  st = order_unknowns(&lower, &method, order, err);
done:
  rf_free(at);
  rf_csc_free(&lower);
  return st;
}

static rf_status order_nodes(const rf_csc *lower, const rf_places *places,
                             const rf_dissection_elements *elements, rf_ordering_method method,
                             int32_t width, int32_t *order, rf_error *err) {
  rf_adjacency graph = {0};
  if (method == RF_ORDER_SIMPLE)
    return rf_dissection_simple(elements, places->point, lower->cols / width, order, err);
  rf_status st = adjacency_of(lower, width, &graph, err);
  if (st >= 0 && method == RF_ORDER_DISSECTION)
    st = rf_dissection(&graph, places->point, order_graph, order, err);
  if (st >= 0 && method == RF_ORDER_NESTED)
    st = rf_dissection_nested(&graph, places->point, order, err);
  if (st >= 0 && method == RF_ORDER_MINIMUM_DEGREE) st = rf_minimum_degree(&graph, order, err);
  rf_adjacency_free(&graph);
  return st;
}

rf_status rf_ordering(const rf_csc *lower, const rf_places *places,
                      const rf_dissection_elements *elements, rf_ordering_method *taken,
                      int32_t *permutation, rf_error *err) {
  rf_status st = RF_OK;
  int32_t *order = NULL;
  const int32_t n = lower->cols, width = places ? places->width : 1;
  if (*taken == RF_ORDER_AUTO) *taken = places ? RF_ORDER_DISSECTION : RF_ORDER_METIS;
  const rf_ordering_method method = *taken;
  if (lower->rows != n || n < 1 || width < 1 || n % width)
    return rf_fail(err, RF_ERR_ARG, "a matrix of %d x %d has no places for %d unknowns each",
                   (int)lower->rows, (int)n, (int)width);
  if (!places && method != RF_ORDER_METIS && method != RF_ORDER_AMD &&
      method != RF_ORDER_MINIMUM_DEGREE)
    return rf_fail(err, RF_ERR_ARG, "this ordering needs the places of the unknowns");
  if (!elements && method == RF_ORDER_SIMPLE)
    return rf_fail(err, RF_ERR_ARG, "the simple dissection needs elements");
  if (method == RF_ORDER_METIS || method == RF_ORDER_AMD)
    return order_unknowns(lower, taken, permutation, err);
  RF_ALLOC(order, n / width);
  RF_TRY(order_nodes(lower, places, elements, method, width, order, err));
  for (int32_t i = 0; i < n; ++i) permutation[i] = width * order[i / width] + i % width;
done:
  rf_free(order);
  return st;
}

rf_status rf_ordering_count(const rf_csc *lower, const int32_t *permutation,
                            rf_ordering_counts *out, rf_error *err) {
  rf_status st = RF_OK;
  rf_analysis a = {0};
  bool *seen = NULL;
  *out = (rf_ordering_counts){0};
  RF_ALLOC(seen, lower->cols);
  for (int32_t i = 0; i < lower->cols; ++i) {
    const int32_t j = permutation[i];
    if (j < 0 || j >= lower->cols || seen[j]) {
      st = rf_fail(err, RF_ERR_ARG, "permutation[%d] is %d, which is %s", (int)i, (int)j,
                   j < 0 || j >= lower->cols ? "out of range" : "there before");
      goto done;
    }
    seen[j] = true;
  }
  rf_analysis_start(&a);
  a.common.supernodal = CHOLMOD_SIMPLICIAL;
  a.common.postorder = 0;
  cholmod_factor *factor = rf_analysis_run(&a, lower, CHOLMOD_GIVEN, permutation);
  if (!factor) st = failed(&a, lower->cols, err);
  for (int32_t j = 0; factor && j < lower->cols; ++j) {
    const double below = ((const int32_t *)factor->ColCount)[j] - 1.0;
    out->nonzeros += below + 1.0;
    out->flops += below * below + 2.0 * below;
  }
  out->fill = out->nonzeros - lower->colptr[lower->cols];
  cholmod_free_factor(&factor, &a.common);
done:
  rf_analysis_finish(&a);
  rf_free(seen);
  return st;
}
