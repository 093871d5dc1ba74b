#include "mesh/holes.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "linalg/vec3.h"
#include "mesh/edges.h"

enum { MOST = 200, ASK = 64 };     // vertices of a loop triangulated at once; rows between polls
static const double SHORT = 1e-4;  // weight of squared sides relative to areas

void rf_holes_free(rf_holes *h) {
  rf_free(h->first);
  rf_free(h->vertex);
  *h = (rf_holes){0};
}

// ---- loops ------------------------------------------------------------------

// A side of the border.
typedef struct side {
  int32_t from, to;
} side;

// Returns the number of border sides on an edge, and one of them.
static int32_t sides_on(const rf_edges *e, const uint8_t *reversed, int32_t edge, side *out) {
  int32_t excess = 0;
  for (int32_t i = e->first[edge]; i < e->first[edge + 1]; ++i) {
    const int32_t s = e->side[i];
    const bool up = rf_edges_from(e, s) < rf_edges_to(e, s);
    excess += up != (reversed && reversed[s / 3]) ? 1 : -1;
  }
  const int32_t s = e->side[e->first[edge]], a = rf_edges_from(e, s), b = rf_edges_to(e, s);
  const int32_t low = a < b ? a : b, high = a < b ? b : a;
  *out = excess > 0 ? (side){low, high} : (side){high, low};
  return excess < 0 ? -excess : excess;
}

// The border's sides, sorted by their first vertex.
typedef struct border {
  int32_t n_vertices, n;
  int32_t *next;   // next unused side from each vertex, up to first[v + 1]  (n_vertices)
  int32_t *first;  //                                                         (n_vertices + 1)
  int32_t *to;     // vertices at which the sides end                        (n)
} border;

static void free_border(border *b) {
  rf_free(b->next);
  rf_free(b->first);
  rf_free(b->to);
}

static rf_status find_border(const rf_surface *s, const uint8_t *reversed, const rf_run *run,
                             border *b, rf_error *err) {
  rf_status st = RF_OK;
  rf_edges e = {0};
  side one;
  b->n_vertices = s->n_vertices;
  RF_TRY(rf_edges_create(s, run, &e, err));
  RF_ALLOC(b->first, (size_t)s->n_vertices + 1);
  RF_ALLOC(b->next, s->n_vertices);
  for (int32_t i = 0; i < e.n_edges; ++i) {
    const int32_t many = sides_on(&e, reversed, i, &one);
    b->n += many;
    if (many > 0) b->first[one.from + 1] += many;
  }
  for (int32_t v = 0; v < s->n_vertices; ++v) {
    b->first[v + 1] += b->first[v];
    b->next[v] = b->first[v];
  }
  RF_ALLOC(b->to, b->n);
  for (int32_t i = 0; i < e.n_edges; ++i)
    for (int32_t many = sides_on(&e, reversed, i, &one); many > 0; --many)
      b->to[b->next[one.from]++] = one.to;
  for (int32_t v = 0; v < s->n_vertices; ++v) b->next[v] = b->first[v];
done:
  rf_edges_free(&e);
  return st;
}

// Walks from a vertex along unused sides; a vertex met again closes a loop, which is removed from
// the path.  place: position of each vertex on the path, + 1; all zero before and after.
static void walk(border *b, int32_t start, int32_t *way, int32_t *place, rf_holes *out,
                 int32_t *end) {
  int32_t length = 1;
  way[0] = start;
  place[start] = 1;
  while (length > 0) {
    const int32_t at = way[length - 1];
    if (b->next[at] == b->first[at + 1]) {
      place[at] = 0;
      --length;
      continue;
    }
    const int32_t to = b->to[b->next[at]++];
    if (place[to] == 0) {
      way[length++] = to;
      place[to] = length;
      continue;
    }
    const int32_t from = place[to] - 1;
    for (int32_t i = from; i < length; ++i) out->vertex[(*end)++] = way[i];
    for (int32_t i = from + 1; i < length; ++i) place[way[i]] = 0;
    length = from + 1;
    out->first[++out->n] = *end;
  }
}

rf_status rf_holes_find(const rf_surface *s, const uint8_t *reversed, const rf_run *run,
                        rf_holes *out, rf_error *err) {
  rf_status st = RF_OK;
  border b = {0};
  rf_holes made = {0};
  int32_t *way = NULL, *place = NULL, end = 0;
  *out = (rf_holes){0};
  RF_TRY(find_border(s, reversed, run, &b, err));
  RF_ALLOC(made.vertex, b.n);
  RF_ALLOC(made.first, b.n / 3 + 1);  // a loop has at least three sides
  RF_ALLOC(way, (size_t)b.n + 1);
  RF_ALLOC(place, s->n_vertices);
  for (int32_t v = 0; v < s->n_vertices; ++v)
    if (b.next[v] < b.first[v + 1]) walk(&b, v, way, place, &made, &end);
  *out = made;
  made = (rf_holes){0};
done:
  free_border(&b);
  rf_holes_free(&made);
  rf_free(way);
  rf_free(place);
  return st;
}

// ---- triangles --------------------------------------------------------------

int64_t rf_holes_triangles(const rf_holes *h) {
  return h->n > 0 ? (int64_t)h->first[h->n] - 2 * (int64_t)h->n : 0;
}

typedef struct filling {
  const rf_surface *surface;
  const rf_run *run;
  double *best;     // least weight for the loop from i to j        (MOST, MOST)
  int32_t *middle;  // vertex of the triangle on the side ij        (MOST, MOST)
  int32_t *to;      // output position of the next triangle
} filling;

static const double *place_of(const filling *f, int32_t v) {
  return f->surface->vertices + 3 * (size_t)v;
}

static double square_of(const filling *f, int32_t a, int32_t b) {
  double way[3];
  rf_vec3_sub(place_of(f, b), place_of(f, a), way);
  return rf_vec3_dot(way, way);
}

static double weight_of(const filling *f, int32_t a, int32_t b, int32_t c) {
  double u[3], v[3], n[3];
  rf_vec3_sub(place_of(f, b), place_of(f, a), u);
  rf_vec3_sub(place_of(f, c), place_of(f, a), v);
  rf_vec3_cross(u, v, n);
  return 0.5 * rf_vec3_length(n) +
         SHORT * (rf_vec3_dot(u, u) + rf_vec3_dot(v, v) + square_of(f, b, c));
}

// Reverses the loop direction, in which the adjacent triangles run.
static void put_triangle(filling *f, int32_t a, int32_t b, int32_t c) {
  *f->to++ = a;
  *f->to++ = c;
  *f->to++ = b;
}

// Writes the triangles of the part from i to j.
static void put_part(filling *f, const int32_t *loop, int32_t i, int32_t j) {
  int32_t stack[2 * MOST][2], depth = 0;
  stack[depth][0] = i, stack[depth++][1] = j;
  while (depth > 0) {
    i = stack[--depth][0], j = stack[depth][1];
    if (j - i < 2) continue;
    const int32_t k = f->middle[i * MOST + j];
    put_triangle(f, loop[i], loop[k], loop[j]);
    stack[depth][0] = i, stack[depth++][1] = k;
    stack[depth][0] = k, stack[depth++][1] = j;
  }
}

static rf_status fill_small(filling *f, const int32_t *loop, int32_t n, rf_error *err) {
  for (int32_t i = 0; i + 1 < n; ++i) f->best[i * MOST + i + 1] = 0.0;
  for (int32_t apart = 2; apart < n; ++apart) {
    if (apart % ASK == 0) {
      const rf_status st = rf_run_poll(f->run, err);
      if (st < 0) return st;
    }
    for (int32_t i = 0; i + apart < n; ++i) {
      const int32_t j = i + apart;
      double best = INFINITY;
      f->middle[i * MOST + j] = i + 1;
      for (int32_t k = i + 1; k < j; ++k) {
        const double weight =
            f->best[i * MOST + k] + f->best[k * MOST + j] + weight_of(f, loop[i], loop[k], loop[j]);
        if (!(weight < best)) continue;
        best = weight;
        f->middle[i * MOST + j] = k;
      }
      f->best[i * MOST + j] = best;
    }
  }
  put_part(f, loop, 0, n - 1);
  return RF_OK;
}

// Finds the shortest cut across a loop that leaves at least a quarter of it on either side.
static rf_status find_cut(const filling *f, const int32_t *loop, int32_t n, int32_t cut[2],
                          rf_error *err) {
  double shortest = INFINITY;
  cut[0] = 0, cut[1] = n / 2;
  for (int32_t i = 0; i < n; ++i) {
    if (i % ASK == 0) {
      const rf_status st = rf_run_poll(f->run, err);
      if (st < 0) return st;
    }
    for (int32_t j = i + n / 4; j < n && j - i <= n - n / 4; ++j) {
      const double square = square_of(f, loop[i], loop[j]);
      if (!(square < shortest)) continue;
      shortest = square;
      cut[0] = i, cut[1] = j;
    }
  }
  return RF_OK;
}

// Triangulates a loop, which is overwritten.
static rf_status fill_loop(filling *f, int32_t *loop, int32_t n, rf_error *err) {
  rf_status st = RF_OK;
  int32_t *part = NULL, cut[2];
  if (n <= MOST) return fill_small(f, loop, n, err);
  RF_TRY(find_cut(f, loop, n, cut, err));
  // both parts contain the ends of the cut
  const int32_t inner = cut[1] - cut[0] + 1, outer = n - inner + 2;
  RF_ALLOC(part, inner);
  memcpy(part, loop + cut[0], (size_t)inner * sizeof *part);
  memmove(loop + cut[0] + 1, loop + cut[1], (size_t)(n - cut[1]) * sizeof *loop);
  RF_TRY(fill_loop(f, part, inner, err));
  RF_TRY(fill_loop(f, loop, outer, err));
done:
  rf_free(part);
  return st;
}

rf_status rf_holes_fill(const rf_surface *s, const rf_holes *h, const rf_run *run,
                        int32_t *triangles, rf_error *err) {
  rf_status st = RF_OK;
  filling f = {.surface = s, .run = run, .to = triangles};
  int32_t *loop = NULL;
  RF_ALLOC(f.best, MOST * MOST);
  RF_ALLOC(f.middle, MOST * MOST);
  for (int32_t i = 0; i < h->n; ++i) {
    const int32_t n = h->first[i + 1] - h->first[i];
    RF_ALLOC(loop, n);
    memcpy(loop, h->vertex + h->first[i], (size_t)n * sizeof *loop);
    RF_TRY(fill_loop(&f, loop, n, err));
    rf_free(loop);
    loop = NULL;
  }
done:
  rf_free(loop);
  rf_free(f.best);
  rf_free(f.middle);
  return st;
}
