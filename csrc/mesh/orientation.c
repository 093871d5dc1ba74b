#include "mesh/orientation.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "linalg/vec3.h"
#include "mesh/edges.h"
#include "mesh/winding.h"

enum {
  SAMPLES = 256,      // triangles of a part at which its own winding numbers are sampled
  NEST_SAMPLES = 16,  // triangles at which those of surrounding parts are sampled
  ASK = 1 << 16       // triangles between polls
};
static const double FLAT = 0.05;    // mean winding number of both sides: no orientation below
static const double CAVITY = 0.45;  // above this an inward part counts as closed

// A part of the surface.
typedef struct part {
  int32_t first, count;  // in `order`
  double facing;         // mean winding number between its sides; 1/2 or -1/2 if closed
  double low[3], high[3];
  double size;       // longest side of its box
  rf_winding *wind;  // winding numbers of the part alone; NULL until needed
  int32_t depth;     // number of parts around it
  int32_t root;      // outermost of these, or itself
  int sense;         // 1: unchanged, -1: reversed
} part;

typedef struct parts {
  const rf_surface *surface;
  const rf_run *run;
  uint8_t *reversed;
  rf_edges edges;
  int32_t n;
  int32_t *label;  // part of each triangle        (n_triangles)
  int32_t *order;  // triangles, part by part      (n_triangles)
  part *part;
} parts;

static void free_parts(parts *p) {
  for (int32_t i = 0; p->part && i < p->n; ++i) rf_winding_free(p->part[i].wind);
  rf_edges_free(&p->edges);
  rf_free(p->label);
  rf_free(p->order);
  rf_free(p->part);
}

static void corners_of(const parts *p, int32_t t, const double *x[3]) {
  const int32_t *v = p->surface->triangles + 3 * (size_t)t;
  for (int a = 0; a < 3; ++a) x[a] = p->surface->vertices + 3 * (size_t)v[a];
}

// ---- consistent orientation of each part ----------------------------------------

// Marks the neighbours of triangle t without a label; returns the new length of `order`.
static int32_t spread(parts *p, int32_t t, int32_t end) {
  const rf_edges *e = &p->edges;
  for (int32_t s = 3 * t; s < 3 * t + 3; ++s) {
    const int32_t edge = e->edge[s];
    if (edge < 0 || rf_edges_count(e, edge) != 2) continue;
    const int32_t *side = e->side + e->first[edge];
    const int32_t other = side[0] == s ? side[1] : side[0], next = other / 3;
    if (p->label[next] >= 0) continue;
    const bool same = rf_edges_from(e, s) == rf_edges_from(e, other);
    p->label[next] = p->label[t];
    p->reversed[next] = p->reversed[t] ^ (uint8_t)same;
    p->order[end++] = next;
  }
  return end;
}

// Gives the part the sense of the larger area.
static void settle_sense(parts *p, int32_t from, int32_t to) {
  double kept = 0.0, turned = 0.0;
  for (int32_t i = from; i < to; ++i) {
    const int32_t t = p->order[i];
    *(p->reversed[t] ? &turned : &kept) += rf_surface_triangle_area(p->surface, t);
  }
  if (!(turned > kept)) return;
  for (int32_t i = from; i < to; ++i) p->reversed[p->order[i]] ^= 1;
}

static rf_status find_parts(parts *p, rf_error *err) {
  rf_status st = RF_OK;
  const int32_t n = p->surface->n_triangles;
  RF_ALLOC(p->label, n);
  RF_ALLOC(p->order, n);
  RF_TRY(rf_edges_create(p->surface, p->run, &p->edges, err));
  memset(p->reversed, 0, (size_t)n);
  for (int32_t t = 0; t < n; ++t) p->label[t] = -1;
  int32_t end = 0;
  for (int32_t t = 0; t < n; ++t) {
    if (t % ASK == 0) RF_TRY(rf_run_poll(p->run, err));
    if (p->label[t] >= 0) continue;
    const int32_t begin = end;
    p->label[t] = p->n++;
    p->order[end++] = t;
    for (int32_t at = begin; at < end; ++at) end = spread(p, p->order[at], end);
    settle_sense(p, begin, end);
  }
  RF_ALLOC(p->part, p->n);
  for (int32_t i = 0; i < n; ++i) {
    part *one = &p->part[p->label[p->order[i]]];
    if (one->count++ == 0) one->first = i;
  }
done:
  return st;
}

// ---- outward orientation ------------------------------------------------------

static rf_status make_winding(parts *p, part *one, rf_error *err) {
  rf_status st = RF_OK;
  int32_t *triangles = NULL;
  uint8_t *reversed = NULL;
  if (one->wind) return RF_OK;
  RF_ALLOC(triangles, 3 * (size_t)one->count);
  RF_ALLOC(reversed, one->count);
  for (int32_t i = 0; i < one->count; ++i) {
    const int32_t t = p->order[one->first + i];
    memcpy(triangles + 3 * (size_t)i, p->surface->triangles + 3 * (size_t)t, 3 * sizeof *triangles);
    reversed[i] = p->reversed[t];
  }
  const rf_surface alone = {p->surface->n_vertices, one->count, p->surface->vertices, triangles};
  RF_TRY(rf_winding_create_reversed(&alone, reversed, p->run, &one->wind, err));
done:
  rf_free(triangles);
  rf_free(reversed);
  return st;
}

static void set_box(const parts *p, part *one) {
  for (int c = 0; c < 3; ++c) one->low[c] = INFINITY, one->high[c] = -INFINITY;
  for (int32_t i = one->first; i < one->first + one->count; ++i) {
    const double *x[3];
    corners_of(p, p->order[i], x);
    for (int k = 0; k < 9; ++k) {
      one->low[k % 3] = fmin(one->low[k % 3], x[k / 3][k % 3]);
      one->high[k % 3] = fmax(one->high[k % 3], x[k / 3][k % 3]);
    }
  }
  for (int c = 0; c < 3; ++c) one->size = fmax(one->size, one->high[c] - one->low[c]);
}

// True if every edge belongs to two triangles that run along it in opposite directions.
static bool is_closed(const parts *p, const part *one) {
  const rf_edges *e = &p->edges;
  for (int32_t i = one->first; i < one->first + one->count; ++i) {
    const int32_t t = p->order[i];
    for (int32_t s = 3 * t; s < 3 * t + 3; ++s) {
      if (e->edge[s] < 0) continue;
      if (rf_edges_count(e, e->edge[s]) != 2) return false;
      const int32_t *side = e->side + e->first[e->edge[s]];
      const int32_t other = side[0] == s ? side[1] : side[0];
      const bool same = rf_edges_from(e, s) == rf_edges_from(e, other);
      if (same != (p->reversed[t] != p->reversed[other / 3])) return false;
    }
  }
  return true;
}

// Returns the volume about the middle of its box, in units of its size.
static double volume_of(const parts *p, const part *one) {
  double sum = 0.0;
  for (int32_t i = one->first; i < one->first + one->count && one->size > 0.0; ++i) {
    const double *x[3];
    double y[3][3];
    corners_of(p, p->order[i], x);
    for (int k = 0; k < 9; ++k) {
      const int c = k % 3;
      y[k / 3][c] = (x[k / 3][c] - (0.5 * one->low[c] + 0.5 * one->high[c])) / one->size;
    }
    const double det = rf_vec3_det(y[0], y[1], y[2]);
    sum += p->reversed[p->order[i]] ? -det : det;
  }
  return sum / 6.0;
}

// Returns the mean, by area over some triangles of a part, of the winding number of another part,
// or of its own between both sides.
static double mean_winding(const parts *p, const part *of, const rf_winding *w, int64_t most) {
  double sum = 0.0, all = 0.0;
  const int64_t many = of->count < most ? of->count : most;
  for (int64_t k = 0; k < many; ++k) {
    const int32_t t = p->order[of->first + (int32_t)(k * of->count / many)];
    const double area = rf_surface_triangle_area(p->surface, t);
    sum += area * rf_winding_between(w, p->surface, t, RF_MIDDLE);
    all += area;
  }
  return all > 0.0 ? sum / all : 0.0;
}

static rf_status find_facing(parts *p, part *one, rf_error *err) {
  rf_status st = RF_OK;
  set_box(p, one);
  one->sense = 1;
  if (one->count == 1) return RF_OK;
  if (is_closed(p, one)) {
    const double volume = volume_of(p, one);
    one->facing = volume > 0.0 ? 0.5 : volume < 0.0 ? -0.5 : 0.0;
    return RF_OK;
  }
  RF_TRY(make_winding(p, one, err));
  one->facing = mean_winding(p, one, one->wind, SAMPLES);
  rf_winding_free(one->wind);
  one->wind = NULL;
done:
  return st;
}

// ---- nested parts -------------------------------------------------------------

// True if the boxes permit nesting; of equal boxes the later counts as inner.
static bool may_contain(const parts *p, int32_t outer, int32_t inner) {
  const part *a = &p->part[outer], *b = &p->part[inner];
  if (outer == inner || !(fabs(a->facing) > FLAT)) return false;
  bool equal = true;
  for (int c = 0; c < 3; ++c) {
    if (!(a->low[c] <= b->low[c] && a->high[c] >= b->high[c])) return false;
    equal = equal && a->low[c] == b->low[c] && a->high[c] == b->high[c];
  }
  return !equal || outer < inner;
}

// Finds the parts around a part and sums their winding numbers there.
static rf_status find_around(parts *p, int32_t inner, rf_error *err) {
  part *one = &p->part[inner];
  one->root = inner;
  for (int32_t i = 0; i < p->n; ++i) {
    if (!may_contain(p, i, inner)) continue;
    rf_status st = make_winding(p, &p->part[i], err);
    if (st == RF_OK) st = rf_run_poll(p->run, err);
    if (st < 0) return st;
    if (!(fabs(mean_winding(p, one, p->part[i].wind, NEST_SAMPLES)) > RF_WINDING_INSIDE)) continue;
    ++one->depth;
    if (p->part[i].size > p->part[one->root].size || one->root == inner) one->root = i;
  }
  return RF_OK;
}

// Returns the sum of the winding numbers of surrounding parts in their present orientation.
static double winding_around(const parts *p, int32_t inner) {
  double sum = 0.0;
  for (int32_t i = 0; i < p->n; ++i) {
    const part *outer = &p->part[i];
    if (!may_contain(p, i, inner) || !outer->wind) continue;
    const double w = mean_winding(p, &p->part[inner], outer->wind, NEST_SAMPLES);
    if (fabs(w) > RF_WINDING_INSIDE) sum += outer->sense * w;
  }
  return sum;
}

// Settles parts from the outermost to the innermost.
static rf_status settle_nests(parts *p, rf_error *err) {
  rf_status st = RF_OK;
  int32_t deepest = 0;
  for (int32_t i = 0; i < p->n; ++i) {
    if (!(fabs(p->part[i].facing) > FLAT)) continue;
    RF_TRY(find_around(p, i, err));
    if (p->part[i].depth > deepest) deepest = p->part[i].depth;
  }
  for (int32_t depth = 0; depth <= deepest; ++depth)
    for (int32_t i = 0; i < p->n; ++i) {
      part *one = &p->part[i];
      if (!(fabs(one->facing) > FLAT) || one->depth != depth) continue;
      if (p->part[one->root].facing < 0.0) one->sense = -1;
      const double facing = one->sense * one->facing;
      if (facing > 0.0) continue;
      const bool cavity = depth > 0 && -facing > CAVITY && winding_around(p, i) > RF_WINDING_INSIDE;
      if (!cavity) one->sense = -one->sense;
    }
done:
  return st;
}

// Only surfaces with inward parts need the search for nested parts.
static rf_status settle_parts(parts *p, rf_error *err) {
  bool inward = false;
  for (int32_t i = 0; i < p->n; ++i) {
    if (i % 256 == 0) {
      const rf_status st = rf_run_poll(p->run, err);
      if (st < 0) return st;
    }
    const rf_status st = find_facing(p, &p->part[i], err);
    if (st < 0) return st;
    inward = inward || p->part[i].facing < -FLAT;
  }
  return inward ? settle_nests(p, err) : RF_OK;
}

rf_status rf_orientation_find(const rf_surface *surface, const rf_run *run, uint8_t *reversed,
                              rf_error *err) {
  rf_status st = RF_OK;
  parts p = {.surface = surface, .run = run, .reversed = reversed};
  RF_TRY(find_parts(&p, err));
  RF_TRY(settle_parts(&p, err));
  for (int32_t t = 0; t < surface->n_triangles; ++t)
    if (p.part[p.label[t]].sense < 0) reversed[t] ^= 1;
done:
  free_parts(&p);
  return st;
}
