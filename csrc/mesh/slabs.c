#include "mesh/slabs.h"

#include <math.h>

#include "base/alloc.h"
#include "mesh/topology.h"

static const double EVEN = 1e-9;  // of a slab: layers whose centres are on a cut stay together

rf_status rf_mesh_pieces(const rf_mesh *m, const int32_t *label, int32_t n_labels, bool by_face,
                         int32_t *piece, int32_t *count, rf_error *err) {
  rf_status st = RF_OK;
  const int nodes = (int)m->type;
  rf_mesh split = {.type = m->type, .n_elements = m->n_elements};
  int32_t *first = NULL, *next = NULL, *seen = NULL, *copy = NULL;
  RF_ALLOC(first, n_labels);
  RF_ALLOC(next, m->n_elements);
  RF_ALLOC(seen, m->n_nodes);
  RF_ALLOC(copy, m->n_nodes);
  RF_ALLOC(split.elements, (int64_t)nodes * m->n_elements);
  for (int32_t k = 0; k < n_labels; ++k) first[k] = -1;
  for (int32_t e = 0; e < m->n_elements; ++e) {
    next[e] = first[label[e]];
    first[label[e]] = e;
  }
  // each label has its own copy of a node
  for (int32_t k = 0; k < n_labels; ++k)
    for (int32_t e = first[k]; e >= 0; e = next[e])
      for (int a = 0; a < nodes; ++a) {
        const int32_t node = m->elements[(int64_t)nodes * e + a];
        if (seen[node] != k + 1) copy[node] = split.n_nodes++;
        seen[node] = k + 1;
        split.elements[(int64_t)nodes * e + a] = copy[node];
      }
  RF_TRY(rf_mesh_components(&split, by_face, piece, count, err));
done:
  rf_free(first);
  rf_free(next);
  rf_free(seen);
  rf_free(copy);
  rf_free(split.elements);
  return st;
}

// Sets the slab of each element.
static rf_status assign_slabs(const rf_mesh *m, int32_t number, int32_t *slab, rf_error *err) {
  rf_status st = RF_OK;
  const int nodes = (int)m->type;
  double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
  int32_t *used = NULL;
  int axis = 0;
  RF_ALLOC(used, number);
  for (int64_t i = 0; i < 3 * (int64_t)m->n_nodes; ++i) {
    low[i % 3] = fmin(low[i % 3], m->nodes[i]);
    high[i % 3] = fmax(high[i % 3], m->nodes[i]);
  }
  for (int k = 1; k < 3; ++k)
    if (high[k] - low[k] > high[axis] - low[axis]) axis = k;
  for (int32_t e = 0; e < m->n_elements; ++e) {
    double sum = 0.0;
    for (int a = 0; a < nodes; ++a)
      sum += m->nodes[3 * (int64_t)m->elements[(int64_t)nodes * e + a] + axis];
    const double along = (sum / nodes - low[axis]) / (high[axis] - low[axis]);
    slab[e] = (int32_t)fmin(fmax(number * along + EVEN, 0.0), number - 1);
    used[slab[e]] = 1;
  }
  for (int32_t k = 0; k < number; ++k)
    if (!used[k]) {
      st = rf_fail(err, RF_ERR_ARG,
                   "blocks is %d, but slab %d of these along %c has no element: elements are "
                   "longer; take fewer blocks",
                   number, k, "xyz"[axis]);
      goto done;
    }
done:
  rf_free(used);
  return st;
}

// Returns the block with which a piece shares most nodes of elements, -1: none.
static int32_t nearest(const rf_mesh *m, const int32_t *piece, int32_t own, const int32_t *block_of,
                       int32_t *mark, int32_t *votes, int32_t n_blocks) {
  const int nodes = (int)m->type;
  int32_t best = -1;
  for (int32_t k = 0; k < n_blocks; ++k) votes[k] = 0;
  for (int32_t e = 0; e < m->n_elements; ++e)
    for (int a = 0; piece[e] == own && a < nodes; ++a)
      mark[m->elements[(int64_t)nodes * e + a]] = own + 1;
  for (int32_t e = 0; e < m->n_elements; ++e)
    for (int a = 0; block_of[piece[e]] >= 0 && a < nodes; ++a)
      votes[block_of[piece[e]]] += mark[m->elements[(int64_t)nodes * e + a]] == own + 1;
  for (int32_t k = 0; k < n_blocks; ++k)
    if (votes[k] > 0 && (best < 0 || votes[k] > votes[best])) best = k;
  return best;
}

rf_status rf_mesh_slabs(const rf_mesh *m, int32_t number, double small, int32_t *block,
                        rf_error *err) {
  rf_status st = RF_OK;
  int32_t *piece = NULL, *size = NULL, *slab = NULL, *largest = NULL, *block_of = NULL;
  int32_t *from = NULL, *mark = NULL, *votes = NULL, pieces, made = 0, left = 0;
  RF_ALLOC(piece, m->n_elements);
  RF_ALLOC(largest, number);
  RF_ALLOC(from, (int64_t)number + 1);
  RF_ALLOC(mark, m->n_nodes);
  RF_TRY(assign_slabs(m, number, block, err));
  RF_TRY(rf_mesh_pieces(m, block, number, true, piece, &pieces, err));
  RF_ALLOC(size, pieces);
  RF_ALLOC(slab, pieces);
  RF_ALLOC(block_of, pieces);
  RF_ALLOC(votes, pieces);
  for (int32_t e = 0; e < m->n_elements; ++e) {
    ++size[piece[e]];
    slab[piece[e]] = block[e];
  }
  for (int32_t p = 0; p < pieces; ++p) {
    block_of[p] = -1;
    if (size[p] > largest[slab[p]]) largest[slab[p]] = size[p];
  }
  for (int32_t p = 0; p < pieces; ++p) left += size[p] < small * largest[slab[p]];
  // blocks are numbered by slab
  for (int32_t p = 0; p < pieces; ++p) from[slab[p] + 1] += size[p] >= small * largest[slab[p]];
  for (int32_t k = 0; k < number; ++k) from[k + 1] += from[k];
  made = from[number];
  for (int32_t p = 0; p < pieces; ++p)
    if (size[p] >= small * largest[slab[p]]) block_of[p] = from[slab[p]]++;
  while (left > 0) {
    const int32_t before = left;
    int32_t most = -1;
    for (int32_t p = 0; p < pieces; ++p) {
      if (block_of[p] >= 0) continue;
      block_of[p] = nearest(m, piece, p, block_of, mark, votes, made);
      if (block_of[p] >= 0)
        --left;
      else if (most < 0 || size[p] > size[most])
        most = p;
    }
    if (left < before) continue;
    block_of[most] = made++;
    --left;
  }
  for (int32_t e = 0; e < m->n_elements; ++e) block[e] = block_of[piece[e]];
done:
  rf_free(piece);
  rf_free(size);
  rf_free(slab);
  rf_free(largest);
  rf_free(block_of);
  rf_free(from);
  rf_free(mark);
  rf_free(votes);
  return st;
}
