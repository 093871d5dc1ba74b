// Exact minimum degree on the elimination graph; a row of bits holds the neighbours of a node.
#include <string.h>

#include "base/alloc.h"
#include "linalg/dissection_internal.h"

enum { WORD = 64 };

static inline int32_t ones(uint64_t v) {
  v -= v >> 1 & 0x5555555555555555u;
  v = (v & 0x3333333333333333u) + (v >> 2 & 0x3333333333333333u);
  v = (v + (v >> 4)) & 0x0f0f0f0f0f0f0f0fu;
  return (int32_t)(v * 0x0101010101010101u >> 56);
}

static int32_t words_of(int32_t bits) { return (bits + WORD - 1) / WORD; }

static inline uint64_t *row_of(uint64_t *rows, int32_t words, int32_t i) {
  return rows + (int64_t)words * i;
}

static int32_t count_bits(const uint64_t *row, int32_t words) {
  int32_t count = 0;
  for (int32_t i = 0; i < words; ++i) count += ones(row[i]);
  return count;
}

static inline void set_bit(uint64_t *row, int32_t bit) {
  row[bit / WORD] |= (uint64_t)1 << bit % WORD;
}
static inline void clear_bit(uint64_t *row, int32_t bit) {
  row[bit / WORD] &= ~((uint64_t)1 << bit % WORD);
}

// Lists the bits below `count`; returns their number.
static int32_t list_bits(const uint64_t *row, int32_t count, int32_t *list) {
  int32_t n = 0;
  for (int32_t k = 0; k * WORD < count; ++k)
    for (uint64_t left = row[k]; left; left &= left - 1) {
      const int32_t bit = k * WORD + __builtin_ctzll(left);
      if (bit < count) list[n++] = bit;
    }
  return n;
}

// Eliminates nodes 0 to count - 1 by minimum degree; further bits of the rows are nodes eliminated
// later.  Returns the sum of the degrees.
static int64_t eliminate(int32_t count, int32_t words, uint64_t *row, int32_t *degree,
                         int32_t *list, int32_t *order) {
  int64_t entries = 0;
  for (int32_t i = 0; i < count; ++i) degree[i] = count_bits(row_of(row, words, i), words);
  for (int32_t done = 0; done < count;) {
    int32_t pivot = -1;
    for (int32_t i = 0; i < count; ++i)
      if (degree[i] >= 0 && (pivot < 0 || degree[i] < degree[pivot])) pivot = i;
    int32_t least = degree[pivot] - 1;  // degree of nodes without neighbours beyond the clique
    const uint64_t *clique = row_of(row, words, pivot);
    const int32_t n = list_bits(clique, count, list);
    order[done++] = pivot;
    entries += degree[pivot];
    degree[pivot] = -1;
    for (int32_t k = 0; k < n; ++k) {
      uint64_t *other = row_of(row, words, list[k]);
      for (int32_t j = 0; j < words; ++j) other[j] |= clique[j];
      clear_bit(other, pivot);
      clear_bit(other, list[k]);
      degree[list[k]] = count_bits(other, words);
    }
    // such nodes come next, and fill nothing
    for (int32_t k = 0; k < n; ++k) {
      if (degree[list[k]] != least) continue;
      order[done++] = list[k];
      entries += least;
      degree[list[k]] = -1;
      for (int32_t j = 0; j < n; ++j) {
        if (degree[list[j]] < 0) continue;
        clear_bit(row_of(row, words, list[j]), list[k]);
        --degree[list[j]];
      }
      --least;
    }
  }
  return entries;
}

// Eliminates nodes 0 to count - 1 in this order.  Returns the sum of the degrees.
static int64_t eliminate_in_order(int32_t count, int32_t words, uint64_t *row, int32_t *list) {
  int64_t entries = 0;
  for (int32_t i = 0; i < count; ++i) {
    const uint64_t *clique = row_of(row, words, i);
    const int32_t n = list_bits(clique, count, list);
    entries += count_bits(clique, words);
    for (int32_t k = 0; k < n; ++k) {
      uint64_t *other = row_of(row, words, list[k]);
      for (int32_t j = 0; j < words; ++j) other[j] |= clique[j];
      clear_bit(other, i);
      clear_bit(other, list[k]);
    }
  }
  return entries;
}

// Sets rows of bits for the nodes of a part; the nodes around it follow, as many as there are bits.
// Returns the nodes with bits.
static int32_t set_rows(rf_dissection_work *w, int32_t count, const int32_t *node) {
  const rf_adjacency *g = w->graph;
  int32_t n = count;
  for (int32_t i = 0; i < count; ++i) w->place[node[i]] = i;
  // nodes around the leaf; the queue lists them
  for (int32_t i = 0; i < count; ++i)
    for (int32_t p = g->ptr[node[i]]; p < g->ptr[node[i] + 1]; ++p) {
      const int32_t other = g->neighbor[p];
      if (w->place[other] >= 0 || n == RF_LEAF_BITS) continue;
      w->queue[n - count] = other;
      w->place[other] = n++;
    }
  const int32_t words = words_of(n);
  memset(w->bits, 0, (size_t)count * (size_t)words * sizeof *w->bits);
  for (int32_t i = 0; i < count; ++i)
    for (int32_t p = g->ptr[node[i]]; p < g->ptr[node[i] + 1]; ++p)
      if (w->place[g->neighbor[p]] >= 0)
        set_bit(row_of(w->bits, words, i), w->place[g->neighbor[p]]);
  for (int32_t i = 0; i < n; ++i) w->place[i < count ? node[i] : w->queue[i - count]] = -1;
  return n;
}

int64_t rf_dissection_leaf(rf_dissection_work *w, int32_t count, int32_t *node) {
  const int32_t n = set_rows(w, count, node);
  int32_t degree[RF_MOST_LEAF], list[RF_MOST_LEAF], order[RF_MOST_LEAF];
  const int64_t entries = eliminate(count, words_of(n), w->bits, degree, list, order);
  for (int32_t i = 0; i < count; ++i) degree[i] = node[order[i]];
  memcpy(node, degree, (size_t)count * sizeof *node);
  return n < RF_LEAF_BITS ? entries : RF_MANY_ENTRIES;
}

int64_t rf_dissection_entries(rf_dissection_work *w, int32_t count, const int32_t *node) {
  int32_t list[RF_MOST_LEAF];
  const int32_t n = set_rows(w, count, node);
  const int64_t entries = eliminate_in_order(count, words_of(n), w->bits, list);
  return n < RF_LEAF_BITS ? entries : RF_MANY_ENTRIES;
}

void rf_dissection_leaves(rf_dissection_work *w, int32_t count, int32_t *node) {
  for (int32_t i = 0; i < count; i += w->leaf)
    rf_dissection_leaf(w, count - i < w->leaf ? count - i : w->leaf, node + i);
}

rf_status rf_minimum_degree(const rf_adjacency *graph, int32_t *order, rf_error *err) {
  rf_status st = RF_OK;
  uint64_t *row = NULL;
  int32_t *degree = NULL, *list = NULL;
  const int32_t n = graph->n, words = words_of(n);
  if (n > RF_MINIMUM_DEGREE_MAX)
    return rf_fail(err, RF_ERR_ARG,
                   "exact minimum degree takes up to %d nodes, got %d: use \"amd\", which "
                   "approximates degrees",
                   RF_MINIMUM_DEGREE_MAX, n);
  RF_ALLOC(row, (int64_t)n * words);
  RF_ALLOC(degree, n);
  RF_ALLOC(list, n);
  for (int32_t i = 0; i < n; ++i)
    for (int32_t p = graph->ptr[i]; p < graph->ptr[i + 1]; ++p)
      set_bit(row_of(row, words, i), graph->neighbor[p]);
  eliminate(n, words, row, degree, list, order);
done:
  rf_free(row);
  rf_free(degree);
  rf_free(list);
  return st;
}
