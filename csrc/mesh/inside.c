#include "mesh/inside.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "linalg/vec3.h"
#include "mesh/bvh.h"
#include "mesh/edges.h"
#include "mesh/orientation.h"

static const double INVERSE_4PI = 0.079577471545947667884;
static const double SHEET = 0.2;  // mean winding number of both sides below which a triangle is a
                                  // sheet; a bowl has 0.25 to 0.35
enum { SAMPLES = 512 };           // triangles sampled for it
static const uint64_t FIRST = UINT64_C(0x0101010101010101);  // points with x = 0

struct rf_inside {
  rf_winding *winding;
  rf_bvh border;   // over the border edges; no nodes: no border
  double *weight;  // length / (4 pi) of the border in each of its nodes
  double sheets;
};

void rf_inside_free(rf_inside *in) {
  if (!in) return;
  rf_winding_free(in->winding);
  rf_bvh_free(&in->border);
  rf_free(in->weight);
  rf_free(in);
}

const rf_winding *rf_inside_winding(const rf_inside *in) { return in->winding; }
double rf_inside_sheets(const rf_inside *in) { return in->sheets; }

// ---- the border -------------------------------------------------------------

// Returns the number of triangles that run up an edge less those that run down.
static int32_t excess_of(const rf_edges *e, const uint8_t *reversed, int32_t edge) {
  int32_t sum = 0;
  for (int32_t i = e->first[edge]; i < e->first[edge + 1]; ++i) {
    const int32_t s = e->side[i];
    const bool up = rf_edges_from(e, s) < rf_edges_to(e, s);
    sum += up != (reversed[s / 3] != 0) ? 1 : -1;
  }
  return sum < 0 ? -sum : sum;
}

// Computes box and weight of an edge.
static void border_edge(const rf_surface *s, const rf_edges *e, int32_t edge, int32_t excess,
                        double *box, double *weight) {
  const int32_t side = e->side[e->first[edge]];
  const double *a = s->vertices + 3 * (size_t)rf_edges_from(e, side),
               *b = s->vertices + 3 * (size_t)rf_edges_to(e, side);
  double way[3];
  rf_vec3_sub(b, a, way);
  *weight = INVERSE_4PI * excess * rf_vec3_length(way);
  for (int c = 0; c < 3; ++c) box[c] = fmin(a[c], b[c]), box[3 + c] = fmax(a[c], b[c]);
}

static rf_status make_border(rf_inside *in, const rf_surface *s, const uint8_t *reversed,
                             const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  rf_edges e = {0};
  double *box = NULL, *weight = NULL;
  int32_t count = 0;
  RF_TRY(rf_edges_create(s, run, &e, err));
  for (int32_t i = 0; i < e.n_edges; ++i) count += excess_of(&e, reversed, i) != 0;
  if (count == 0) goto done;
  RF_ALLOC(box, 6 * (size_t)count);
  RF_ALLOC(weight, count);
  count = 0;
  for (int32_t i = 0; i < e.n_edges; ++i) {
    const int32_t excess = excess_of(&e, reversed, i);
    if (excess == 0) continue;
    border_edge(s, &e, i, excess, box + 6 * (size_t)count, weight + count);
    ++count;
  }
  RF_TRY(rf_bvh_create(count, box, run, &in->border, err));
  RF_ALLOC(in->weight, in->border.n_nodes);
  // children follow their parents
  for (int32_t i = in->border.n_nodes - 1; i >= 0; --i) {
    const int32_t first = in->border.first[i];
    for (int32_t k = 0; k < in->border.count[i]; ++k)
      in->weight[i] += weight[in->border.item[first + k]];
    if (in->border.count[i] == 0) in->weight[i] = in->weight[first] + in->weight[first + 1];
  }
done:
  rf_edges_free(&e);
  rf_free(box);
  rf_free(weight);
  return st;
}

// Returns the share of area with a mean winding number of both sides, 1/2 below that of the inner
// side, near zero.
static double sheets_of(const rf_surface *s, const rf_winding *w) {
  const int64_t n = s->n_triangles, many = n < SAMPLES ? n : SAMPLES;
  double sheets = 0.0, all = 0.0;
  for (int64_t k = 0; k < many; ++k) {
    const int32_t t = (int32_t)(k * n / many);
    const double area = rf_surface_triangle_area(s, t);
    const bool sheet = rf_winding_between(w, s, t, RF_MIDDLE) < SHEET;
    all += area;
    if (sheet) sheets += area;
  }
  return all > 0.0 ? sheets / all : 1.0;  // lines have no inside
}

rf_status rf_inside_create(const rf_surface *s, const rf_run *run, rf_inside **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_inside *in = NULL;
  uint8_t *reversed = NULL;
  *out = NULL;
  RF_ALLOC(reversed, s->n_triangles);
  RF_ALLOC(in, 1);
  RF_TRY(rf_orientation_find(s, run, reversed, err));
  RF_TRY(rf_winding_create_reversed(s, reversed, run, &in->winding, err));
  RF_TRY(make_border(in, s, reversed, run, err));
  in->sheets = sheets_of(s, in->winding);
  *out = in;
  in = NULL;
done:
  rf_inside_free(in);
  rf_free(reversed);
  return st;
}

static double box_gap2(const double *box, const double low[3], const double high[3]) {
  double sum = 0.0;
  for (int c = 0; c < 3; ++c) {
    const double gap = fmax(0.0, fmax(box[c] - high[c], low[c] - box[3 + c]));
    sum += gap * gap;
  }
  return sum;
}

double rf_inside_slope(const rf_inside *in, const double low[3], const double high[3]) {
  const rf_bvh *b = &in->border;
  double sum = 0.0;
  int32_t stack[RF_BVH_STACK];
  int depth = 0;
  if (b->n_nodes > 0) stack[depth++] = 0;
  while (depth > 0) {
    const int32_t node = stack[--depth];
    const double *box = b->box + 6 * (size_t)node;
    const double gap2 = box_gap2(box, low, high);
    double side = 0.0;
    for (int c = 0; c < 3; ++c) side = fmax(side, box[3 + c] - box[c]);
    if (b->count[node] == 0 && !(gap2 > side * side)) {
      stack[depth++] = b->first[node];
      stack[depth++] = b->first[node] + 1;
      continue;
    }
    if (!(gap2 > 0.0)) return INFINITY;
    sum += in->weight[node] / gap2;
  }
  return sum;
}

// ---- blocks -----------------------------------------------------------------

// Adds to `seed` its neighbours in `open`; false when there are none.
static bool grow(const uint64_t open[8], uint64_t seed[8]) {
  uint64_t next[8];
  bool grown = false;
  for (int z = 0; z < 8; ++z) {
    const uint64_t s = seed[z];
    uint64_t n = s | ((s & ~(FIRST << 7)) << 1) | ((s & ~FIRST) >> 1) | (s << 8) | (s >> 8);
    if (z > 0) n |= seed[z - 1];
    if (z < 7) n |= seed[z + 1];
    next[z] = n & open[z];
    grown = grown || next[z] != s;
  }
  memcpy(seed, next, sizeof next);
  return grown;
}

// Points of a cube within a block: from `low`, `size` along each axis.
typedef struct cube {
  int low[3], size;
} cube;

static void points_of(const cube *c, uint64_t out[8]) {
  const uint64_t row = ((UINT64_C(1) << c->size) - 1) << c->low[0];
  uint64_t plane = 0;
  for (int y = c->low[1]; y < c->low[1] + c->size; ++y) plane |= row << (8 * y);
  for (int z = 0; z < 8; ++z) out[z] = z >= c->low[2] && z < c->low[2] + c->size ? plane : 0;
}

// Fills the component of the lowest open point of a cube.  *at: the point to evaluate; returns the
// number of steps from it to the farthest point.
static int component_of(const cube *c, const uint64_t points[8], const uint64_t open[8],
                        uint64_t out[8], int *at) {
  if (memcmp(points, open, 8 * sizeof *open) == 0) {
    const int half = c->size / 2;
    memcpy(out, open, 8 * sizeof *out);
    *at = c->low[0] + half + 8 * (c->low[1] + half) + 64 * (c->low[2] + half);
    return 3 * half;
  }
  int z = 0, steps = 0;
  memset(out, 0, 8 * sizeof *out);
  while (open[z] == 0) ++z;
  const int bit = __builtin_ctzll(open[z]);
  *at = 64 * z + bit;
  out[z] = UINT64_C(1) << bit;
  while (grow(open, out)) ++steps;
  return steps;
}

static double winding_of(const rf_inside *in, const rf_inside_block *b, int at) {
  const int i[3] = {at & 7, at >> 3 & 7, at >> 6};
  double p[3];
  for (int c = 0; c < 3; ++c) p[c] = b->origin[c] + b->step[c] * i[c];
  return rf_winding_at(in->winding, p);
}

static void set_point(rf_inside_block *b, int at, double w) {
  b->winding[at] = (float)w;
  if (w > RF_WINDING_INSIDE) b->inside[at >> 6] |= UINT64_C(1) << (at & 63);
}

static void ask_each(const rf_inside *in, rf_inside_block *b, const uint64_t which[8]) {
  for (int z = 0; z < 8; ++z)
    for (uint64_t bits = which[z]; bits; bits &= bits - 1) {
      const int at = 64 * z + __builtin_ctzll(bits);
      set_point(b, at, winding_of(in, b, at));
    }
}

static double slope_of(const rf_inside *in, const rf_inside_block *b, const cube *c) {
  double low[3], high[3];
  for (int i = 0; i < 3; ++i) {
    low[i] = b->origin[i] + b->step[i] * c->low[i];
    high[i] = low[i] + b->step[i] * (c->size - 1);
  }
  return rf_inside_slope(in, low, high);
}

// Classifies the open points of a cube whose component lies on one side of 1/2; leaves the others
// in `left`. True if any are left.
static bool decide_cube(const rf_inside *in, rf_inside_block *b, const cube *c, uint64_t left[8]) {
  const double slope = slope_of(in, b, c), step = fmax(b->step[0], fmax(b->step[1], b->step[2]));
  uint64_t points[8], open[8], some[8], any = 0, remain = 0;
  points_of(c, points);
  for (int z = 0; z < 8; ++z) any |= open[z] = left[z] & points[z];
  while (any) {
    int at;
    const int steps = component_of(c, points, open, some, &at);
    const double w = winding_of(in, b, at);
    // a single point has w itself
    const double apart = steps > 0 ? slope * step * steps + RF_WINDING_ERROR : 0.0;
    const bool settled = fabs(w - RF_WINDING_INSIDE) > apart || steps == 0;
    any = 0;
    for (int z = 0; z < 8; ++z) {
      for (uint64_t bits = settled ? some[z] : 0; bits; bits &= bits - 1)
        set_point(b, 64 * z + __builtin_ctzll(bits), w);
      if (settled)
        left[z] &= ~some[z];
      else
        remain |= some[z];
      any |= open[z] &= ~some[z];
    }
  }
  return remain != 0;
}

// Classifies the eight halves of a cube recursively.
static void decide_parts(const rf_inside *in, rf_inside_block *b, const cube *c, uint64_t left[8]) {
  const int half = c->size / 2;
  for (int k = 0; k < 8; ++k) {
    const cube part = {
        {c->low[0] + (k & 1) * half, c->low[1] + (k >> 1 & 1) * half, c->low[2] + (k >> 2) * half},
        half};
    if (decide_cube(in, b, &part, left) && half > 2) decide_parts(in, b, &part, left);
  }
}

void rf_inside_decide(const rf_inside *in, rf_inside_block *b) {
  const cube whole = {{0, 0, 0}, RF_INSIDE_BLOCK};
  uint64_t left[8], rest[8];
  memset(b->inside, 0, sizeof b->inside);
  for (int z = 0; z < 8; ++z) {
    left[z] = b->open[z] & b->ask[z];
    rest[z] = b->ask[z] & ~left[z];
  }
  if (decide_cube(in, b, &whole, left)) decide_parts(in, b, &whole, left);
  for (int z = 0; z < 8; ++z) rest[z] |= left[z];
  ask_each(in, b, rest);
}

int rf_inside_doubts(const rf_inside_block *b) {
  int sum = 0;
  for (int z = 0; z < 8; ++z)
    for (uint64_t bits = b->ask[z]; bits; bits &= bits - 1) {
      const double w = (double)b->winding[64 * z + __builtin_ctzll(bits)];
      sum += w > RF_INSIDE_LOW && w < RF_INSIDE_HIGH;
    }
  return sum;
}
