#include "mesh/bvh.h"

#include <math.h>
#include <stdbool.h>

#include "base/alloc.h"
#include "base/run.h"

enum { ASK = 1 << 16 };  // items partitioned between polls for a stop

void rf_bvh_free(rf_bvh *b) {
  rf_free(b->box);
  rf_free(b->first);
  rf_free(b->count);
  rf_free(b->item);
  *b = (rf_bvh){0};
}

// Returns twice the centre of an item along an axis, the sort key.
static double key_of(const double *boxes, int32_t item, int axis) {
  return boxes[6 * (size_t)item + (size_t)axis] + boxes[6 * (size_t)item + 3 + (size_t)axis];
}

// Equal centres are ordered by number, so the halves are unique.
static bool comes_before(const double *boxes, int axis, int32_t a, int32_t b) {
  const double x = key_of(boxes, a, axis), y = key_of(boxes, b, axis);
  return x < y || (x == y && a < b);
}

// Quickselect: afterwards no item from `middle` on comes before an item in front of it.
static void halve(const double *boxes, int axis, int32_t *item, int32_t low, int32_t high,
                  int32_t middle) {
  while (high - low > 1) {
    const int32_t pivot = item[low + (high - low) / 2];
    int32_t i = low, j = high - 1;
    while (i <= j) {
      while (comes_before(boxes, axis, item[i], pivot)) ++i;
      while (comes_before(boxes, axis, pivot, item[j])) --j;
      if (i > j) break;
      const int32_t t = item[i];
      item[i++] = item[j];
      item[j--] = t;
    }
    if (middle <= j)
      high = j + 1;
    else if (middle >= i)
      low = i;
    else
      return;
  }
}

static void bound(rf_bvh *b, const double *boxes, int32_t node, int32_t low, int32_t high) {
  double *box = b->box + 6 * (size_t)node;
  for (int c = 0; c < 3; ++c) box[c] = INFINITY, box[3 + c] = -INFINITY;
  for (int32_t i = low; i < high; ++i)
    for (int c = 0; c < 3; ++c) {
      const double *other = boxes + 6 * (size_t)b->item[i];
      if (other[c] < box[c]) box[c] = other[c];
      if (other[3 + c] > box[3 + c]) box[3 + c] = other[3 + c];
    }
}

rf_status rf_bvh_create(int32_t n_items, const double *boxes, const rf_run *run, rf_bvh *out,
                        rf_error *err) {
  rf_status st = RF_OK;
  rf_bvh b = {.n_items = n_items};
  *out = (rf_bvh){0};
  if (!(n_items >= 1))
    return rf_fail(err, RF_ERR_ARG, "a tree needs at least one item, got %d", n_items);
  // leaves have two items or more (one if there is only one): no more nodes than items
  RF_ALLOC(b.box, 6 * (size_t)n_items);
  RF_ALLOC(b.first, n_items);
  RF_ALLOC(b.count, n_items);
  RF_ALLOC(b.item, n_items);
  for (int32_t i = 0; i < n_items; ++i) b.item[i] = i;

  // nodes still to be split, with their items
  struct {
    int32_t node, low, high;
  } stack[RF_BVH_STACK];
  int depth = 0;
  int64_t halved = ASK;
  b.n_nodes = 1;
  stack[depth].node = 0, stack[depth].low = 0, stack[depth].high = n_items;
  ++depth;
  while (depth > 0) {
    --depth;
    const int32_t node = stack[depth].node, low = stack[depth].low, high = stack[depth].high;
    halved += high - low;
    if (halved >= ASK) {
      RF_TRY(rf_run_poll(run, err));
      halved = 0;
    }
    bound(&b, boxes, node, low, high);
    if (high - low <= RF_BVH_LEAF) {
      b.first[node] = low;
      b.count[node] = high - low;
      continue;
    }
    const double *box = b.box + 6 * (size_t)node;
    int axis = 0;
    for (int c = 1; c < 3; ++c)
      if (box[3 + c] - box[c] > box[3 + axis] - box[axis]) axis = c;
    const int32_t middle = low + (high - low) / 2;
    halve(boxes, axis, b.item, low, high, middle);
    b.first[node] = b.n_nodes;
    b.n_nodes += 2;
    stack[depth].node = b.first[node], stack[depth].low = low, stack[depth].high = middle;
    ++depth;
    stack[depth].node = b.first[node] + 1, stack[depth].low = middle, stack[depth].high = high;
    ++depth;
  }
  *out = b;
  return RF_OK;

done:
  rf_bvh_free(&b);
  return st;
}
