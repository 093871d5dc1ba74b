#include "mesh/wide.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

// Error of scaled coordinates in the box; relative error outside it.
static const double ROUNDING = 1e-15;

void rf_wide_free(rf_wide *w) {
  rf_free(w->node);
  *w = (rf_wide){0};
}

static float below(double x) {
  const float f = (float)x;
  return (double)f > x ? nextafterf(f, -INFINITY) : f;
}

static float above(double x) { return -below(-x); }

// Collects the children of a binary node, inner ones replaced by their own children: up to four.
static int grandchildren(const rf_bvh *b, int32_t node, int32_t *out) {
  int n = 0;
  if (b->count[node] > 0) {
    out[n++] = node;  // a tree of one leaf
    return n;
  }
  for (int32_t child = b->first[node]; child < b->first[node] + 2; ++child) {
    if (b->count[child] > 0) {
      out[n++] = child;
      continue;
    }
    out[n++] = b->first[child];
    out[n++] = b->first[child] + 1;
  }
  return n;
}

static void set_box(const rf_wide *w, rf_wide_node *node, int lane, const double *box) {
  for (int c = 0; c < 3; ++c) {
    node->low[c][lane] = below(w->scale * (box[c] - w->centre[c]) - ROUNDING);
    node->high[c][lane] = above(w->scale * (box[3 + c] - w->centre[c]) + ROUNDING);
  }
}

// Fits the scaled coordinates to the box of the whole tree.
static void set_scale(rf_wide *w, const double *box) {
  double half = 0.0;
  for (int c = 0; c < 3; ++c) {
    w->centre[c] = 0.5 * box[c] + 0.5 * box[3 + c];
    half = fmax(half, 0.5 * box[3 + c] - 0.5 * box[c]);
  }
  w->scale = half > 1e-150 ? fmin(1.0 / half, 1e150) : 1.0;
}

rf_status rf_wide_create(const rf_bvh *tree, rf_wide *out, rf_error *err) {
  rf_status st = RF_OK;
  rf_wide w = {0};
  *out = (rf_wide){0};
  // each node replaces an inner binary node, of which there are fewer than half
  RF_ALLOC(w.node, tree->n_nodes / 2 + 1);
  set_scale(&w, tree->box);
  struct {
    int32_t node, of;
  } stack[RF_WIDE_STACK];
  int depth = 0;
  w.n_nodes = 1;
  stack[depth].node = 0, stack[depth++].of = 0;
  while (depth > 0) {
    --depth;
    rf_wide_node *node = &w.node[stack[depth].node];
    int32_t child[4];
    const int n = grandchildren(tree, stack[depth].of, child);
    for (int lane = 0; lane < 4; ++lane) {
      node->first[lane] = -1;
      if (lane >= n) continue;
      set_box(&w, node, lane, tree->box + 6 * (size_t)child[lane]);
      node->count[lane] = tree->count[child[lane]];
      node->first[lane] = node->count[lane] > 0 ? tree->first[child[lane]] : w.n_nodes++;
      if (node->count[lane] > 0) continue;
      stack[depth].node = node->first[lane], stack[depth++].of = child[lane];
    }
  }
  *out = w;
  return RF_OK;

done:
  rf_wide_free(&w);
  return st;
}

void rf_wide_begin(rf_wide_search *s, const rf_wide *tree, const double p[3], double square) {
  s->tree = tree;
  s->square = tree->scale * tree->scale;
  for (int c = 0; c < 3; ++c) {
    const double x = tree->scale * (p[c] - tree->centre[c]), error = ROUNDING * (1.0 + fabs(x));
    const float low = below(x - error), high = above(x + error);
    s->low[c] = (rf_wide_f4){low, low, low, low};
    s->high[c] = (rf_wide_f4){high, high, high, high};
  }
  rf_wide_bound(s, square);
  s->stack[0].distance = 0.0f;
  s->stack[0].first = 0;
  s->stack[0].count = 0;
  s->depth = 1;
}

static inline rf_wide_f4 larger(rf_wide_f4 a, rf_wide_f4 b) {
#ifdef __SSE__
  return __builtin_ia32_maxps(a, b);
#else
  const rf_wide_i4 first = (rf_wide_i4)(a > b);
  return (rf_wide_f4)((first & (rf_wide_i4)a) | (~first & (rf_wide_i4)b));
#endif
}

// Returns the squared distances from the four boxes of a node.
static inline rf_wide_f4 distances(const rf_wide_search *s, const rf_wide_node *node) {
  rf_wide_f4 sum = {0};
  for (int c = 0; c < 3; ++c) {
    const rf_wide_f4 way =
        larger(larger(node->low[c] - s->high[c], s->low[c] - node->high[c]), (rf_wide_f4){0});
    sum += way * way;
  }
  return sum;
}

int32_t rf_wide_next(rf_wide_search *s, int32_t *first) {
  while (s->depth > 0) {
    const int top = --s->depth;
    if (!(s->stack[top].distance <= s->bound)) continue;
    if (s->stack[top].count > 0) {
      *first = s->stack[top].first;
      return s->stack[top].count;
    }
    const rf_wide_node *node = &s->tree->node[s->stack[top].first];
    const rf_wide_f4 distance = distances(s, node);
    // push the nearest last, so that it is visited first
    int depth = top;
    for (int lane = 0; lane < 4; ++lane) {
      const float d = distance[lane];
      if (!(d <= s->bound) || node->first[lane] < 0) continue;
      int at = depth++;
      for (; at > top && s->stack[at - 1].distance < d; --at) s->stack[at] = s->stack[at - 1];
      s->stack[at].distance = d;
      s->stack[at].first = node->first[lane];
      s->stack[at].count = node->count[lane];
    }
    s->depth = depth;
  }
  return 0;
}
