#include "dynamics/barrier_touch.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "dynamics/primitives.h"
#include "dynamics/rubbing.h"
#include "linalg/vec3.h"
#include "mesh/bvh.h"

static const double MARGIN = 2.0;  // of pairs at the beginning of a step, over delta
static const double ROUNDING = 8.0 * DBL_EPSILON;
// Most pairs along an increment: FEW, so many times the vertices and edges, or the pairs at the
// beginning of the step.  Parts that move by a few edges in a step have about 10 for each.
enum { FEW = 1 << 14, PER_ITEM = 32, PER_BEGUN = 4, HALVINGS = 60 };

typedef struct pair {
  bool edges;
  int32_t vertex[4];
  double delta;             // distance at which the barrier begins, m
  double parallel;          // eps of edges
  rf_primitive_nearest at;  // at the last evaluation
  bool touching;            // nearer than delta
  double normal_force;      // N
} pair;

// Friction of a pair that touched when the step began, or touches.
typedef struct rubbing {
  bool edges;
  int32_t vertex[4];
  rf_rubbing law;
} rubbing;

typedef struct touch {
  rf_barrier_touch base;
  const rf_barrier_shape *parts;
  rf_barrier_settings set;
  double *place, *velocity, *change, *gradient;  // (n_vertices, 3)
  double *triangle_box, *edge_box;               // (n_triangles, 6), (n_edges, 6)
  pair *pair;                                    // that may touch (n_pairs)
  int32_t n_pairs, pair_room, n_begun;           // n_begun: those when the step began
  rubbing *rub;                                  // (n_rubs)
  int32_t n_rubs, rub_room;
  int64_t *key;  // pairs of nodes that the pattern of the matrix has, ascending (n_keys)
  int32_t n_keys, key_room;
  int32_t *coupled;  // the same as nodes               (n_keys, 2)
  int32_t coupled_room;
  int32_t *stencil;  // nodes of each matrix             (., 4)
  double *matrix;    //                                  (., 12, 12)
  int32_t stencil_room, matrix_room, turning_room;
} touch;

// ---- memory of a motion

void rf_barrier_touch_free(rf_barrier_touch *base) {
  touch *t = (touch *)base;
  if (!t) return;
  double *const arrays[] = {t->place,        t->velocity, t->change, t->gradient,
                            t->triangle_box, t->edge_box, t->matrix, t->base.turning};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; ++i) rf_free(arrays[i]);
  rf_free(t->pair);
  rf_free(t->rub);
  rf_free(t->key);
  rf_free(t->coupled);
  rf_free(t->stencil);
  rf_free(t);
}

rf_status rf_barrier_touch_create(const rf_barrier_parts *base, const rf_barrier_settings *set,
                                  rf_barrier_touch **out, rf_error *err) {
  const rf_barrier_shape *p = (const rf_barrier_shape *)base;
  const int64_t n = 3 * (int64_t)p->n_vertices;
  rf_status st = RF_OK;
  touch *t = NULL;
  *out = NULL;
  RF_ALLOC(t, 1);
  t->base.parts = base;
  t->parts = p;
  t->set = *set;
  RF_ALLOC(t->place, n);
  RF_ALLOC(t->velocity, n);
  RF_ALLOC(t->change, n);
  RF_ALLOC(t->gradient, n);
  RF_ALLOC(t->triangle_box, 6 * (int64_t)p->n_triangles);
  RF_ALLOC(t->edge_box, 6 * (int64_t)p->n_edges);
  *out = &t->base;
  t = NULL;
done:
  rf_barrier_touch_free((rf_barrier_touch *)t);
  return st;
}

static rf_error *errors_of(const touch *t) {
  return t->base.system ? t->base.system->err : t->base.err;
}

// Returns an array with room for `count` items and the content of `array`, which it frees; NULL:
// out of memory, the array is as before.
static void *larger(void *array, int32_t *room, int64_t count, size_t size) {
  if (array && count <= *room) return array;
  const int64_t most = count + count / 2 + 64;
  void *more = most <= INT32_MAX ? rf_alloc((size_t)most, size) : NULL;
  if (!more) return NULL;
  if (*room > 0) memcpy(more, array, (size_t)*room * size);
  rf_free(array);
  *room = (int32_t)most;
  return more;
}

#define LARGER(array, room, count)                                                        \
  do {                                                                                    \
    void *more_ = larger(array, &(room), count, sizeof *(array));                         \
    if (!more_)                                                                           \
      return rf_fail(errors_of(t), RF_ERR_MEMORY, "out of memory: contact of %lld pairs", \
                     (long long)(count));                                                 \
    (array) = more_;                                                                      \
  } while (0)

// ---- pairs that may touch

static void put_places(touch *t, const double *x) {
  rf_barrier_parts_gather(t->parts, x, 1.0, t->place);
  for (int64_t i = 0; i < 3 * (int64_t)t->parts->n_vertices; ++i) t->place[i] += t->parts->rest[i];
}

// Box around vertices and where they move, larger by the margin on all sides.
static void put_box(const touch *t, const int32_t *vertex, int n, double margin, double *box) {
  for (int c = 0; c < 3; ++c) {
    box[c] = INFINITY;
    box[3 + c] = -INFINITY;
  }
  for (int i = 0; i < n; ++i)
    for (int c = 0; c < 3; ++c) {
      const int64_t at = 3 * (int64_t)vertex[i] + c;
      const double from = t->place[at], to = from + t->change[at];
      box[c] = fmin(box[c], fmin(from, to) - margin);
      box[3 + c] = fmax(box[3 + c], fmax(from, to) + margin);
    }
}

// Items that overlap the box of one item.
typedef struct query {
  touch *touch;
  const rf_bvh *bvh;
  const double *boxes;  // of the items in the tree
  const int32_t *vertices;
  int of;  // vertices of an item: 3 of triangles, 2 of edges
  double margin;
  int64_t most;  // pairs
  double box[6];
  int32_t item;  // a vertex or an edge
  rf_status status;
} query;

static rf_status add_pair(touch *t, const pair *new) {
  const rf_barrier_shape *p = t->parts;
  bool fixed = true;
  for (int i = 0; i < 4; ++i) fixed = fixed && p->fixed[new->vertex[i]];
  if (fixed) return RF_OK;
  LARGER(t->pair, t->pair_room, t->n_pairs + (int64_t)1);
  if (t->set.friction > 0.0) LARGER(t->rub, t->rub_room, t->n_pairs + (int64_t)1);
  t->pair[t->n_pairs++] = *new;
  return RF_OK;
}

// Rows of a vector (n_vertices, 3).
static void pick(const double *of, const int32_t *vertex, double out[4][3]) {
  for (int i = 0; i < 4; ++i) memcpy(out[i], of + 3 * (int64_t)vertex[i], sizeof out[i]);
}

static void load(const touch *t, const pair *c, rf_primitive *out) {
  out->edges = c->edges;
  out->parallel = c->parallel;
  pick(t->place, c->vertex, out->x);
}

// Sets the distance at which the barrier of two primitives of one part begins.  False if they share
// a vertex or stay farther apart along `change` than `margins` times that distance.
static bool may_touch_itself(const touch *t, double margins, pair *c) {
  rf_primitive rest = {.edges = c->edges}, p;
  rf_primitive_nearest at;
  double dx[4][3];
  const int first = c->edges ? 2 : 1;  // vertices of the first side
  for (int i = 0; i < first; ++i)
    for (int j = first; j < 4; ++j)
      if (c->vertex[i] == c->vertex[j]) return false;
  pick(t->parts->rest, c->vertex, rest.x);
  rf_primitive_find(&rest, &at);
  c->delta = fmin(c->delta, 0.5 * at.distance);
  load(t, c, &p);
  pick(t->change, c->vertex, dx);
  rf_primitive_find(&p, &at);
  return at.distance - rf_primitive_nearing(c->edges, dx) < margins * c->delta;
}

static int visit(void *context, int32_t at) {
  query *q = context;
  const rf_barrier_shape *p = q->touch->parts;
  const int32_t other = q->bvh->item[at], *v = q->vertices + q->of * (int64_t)other;
  const double *box = q->boxes + 6 * (int64_t)other;
  for (int c = 0; c < 3; ++c)
    if (box[c] > q->box[3 + c] || box[3 + c] < q->box[c]) return 0;
  pair new = {.edges = q->of == 2};
  if (new.edges) {
    if (other <= q->item) return 0;
    memcpy(new.vertex, p->edge + 2 * (int64_t)q->item, 2 * sizeof *v);
    memcpy(new.vertex + 2, v, 2 * sizeof *v);
    new.parallel = RF_PRIMITIVE_PARALLEL * p->square[q->item] * p->square[other];
  } else {
    new.vertex[0] = q->item;
    memcpy(new.vertex + 1, v, 3 * sizeof *v);
  }
  new.delta = q->touch->set.distance_m;
  if (p->part[new.vertex[0]] == p->part[new.vertex[3]] &&
      !(p->self && may_touch_itself(q->touch, q->margin / new.delta, &new)))
    return 0;
  q->status = add_pair(q->touch, &new);
  return q->status < 0 || q->touch->n_pairs > q->most;
}

// Queries the tree for all items of a query.
static void ask(query *q, int32_t n_items, const int32_t *item, int of) {
  for (q->item = 0; q->item < n_items && q->status >= 0; ++q->item) {
    const int32_t *vertex = item ? item + of * (int64_t)q->item : &q->item;
    put_box(q->touch, vertex, of, q->margin, q->box);
    if (rf_bvh_overlap(q->bvh, q->box, q->box + 3, visit, q) != 0) return;
  }
}

// Finds the pairs that may come nearer than the margin somewhere along `change`; stops where there
// are more than `most`.
static rf_status search(touch *t, double margin, int64_t most) {
  const rf_barrier_shape *p = t->parts;
  const rf_run one = {.threads = 1};
  const rf_run *run = t->base.system && t->base.system->run ? t->base.system->run : &one;
  rf_error *err = errors_of(t);
  rf_bvh triangles = {0}, edges = {0};
  rf_status st = RF_OK;
  t->n_pairs = 0;
  for (int64_t k = 0; k < p->n_triangles; ++k)
    put_box(t, p->triangle + 3 * k, 3, 0.0, t->triangle_box + 6 * k);
  for (int64_t k = 0; k < p->n_edges; ++k) put_box(t, p->edge + 2 * k, 2, 0.0, t->edge_box + 6 * k);
  RF_TRY(rf_bvh_create(p->n_triangles, t->triangle_box, run, &triangles, err));
  RF_TRY(rf_bvh_create(p->n_edges, t->edge_box, run, &edges, err));
  query of_vertices = {t, &triangles, t->triangle_box, p->triangle, 3, margin, most, {0}, 0, RF_OK};
  query of_edges = {t, &edges, t->edge_box, p->edge, 2, margin, most, {0}, 0, RF_OK};
  ask(&of_vertices, p->n_vertices, NULL, 1);
  RF_TRY(of_vertices.status);
  if (t->n_pairs <= most) ask(&of_edges, p->n_edges, p->edge, 2);
  st = of_edges.status;
done:
  rf_bvh_free(&triangles);
  rf_bvh_free(&edges);
  return st;
}

// Removes the mean motion of free vertices, which changes no distance but the boxes.
static void remove_common(touch *t) {
  const rf_barrier_shape *p = t->parts;
  double mean[3] = {0.0};
  int32_t free = 0;
  for (int32_t i = 0; i < p->n_vertices; ++i) free += !p->fixed[i];
  for (int64_t i = 0; i < 3 * (int64_t)p->n_vertices; ++i)
    if (!p->fixed[i / 3]) mean[i % 3] += t->change[i] / free;
  for (int64_t i = 0; i < 3 * (int64_t)p->n_vertices; ++i) t->change[i] -= mean[i % 3];
}

// Size of all vertices together over the largest change.
static double room_to_move(const touch *t) {
  double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
  double size = 0.0, largest = 0.0;
  for (int64_t i = 0; i < 3 * (int64_t)t->parts->n_vertices; ++i) {
    low[i % 3] = fmin(low[i % 3], t->place[i]);
    high[i % 3] = fmax(high[i % 3], t->place[i]);
    largest = fmax(largest, fabs(t->change[i]));
  }
  for (int c = 0; c < 3; ++c) size = fmax(size, high[c] - low[c]);
  return size / largest;
}

// Finds the pairs along a part of the increment, which becomes shorter where boxes around what it
// sweeps would make far too many.
static rf_status search_along(touch *t, const double *increment, double *part) {
  const int64_t items = (int64_t)t->parts->n_vertices + t->parts->n_edges;
  int64_t most = PER_BEGUN * (int64_t)t->n_begun;
  if (most < FEW + PER_ITEM * items) most = FEW + PER_ITEM * items;
  for (int k = 0;; ++k) {
    rf_barrier_parts_gather(t->parts, increment, *part, t->change);
    if (k > 0) remove_common(t);
    const rf_status st = search(t, t->set.distance_m, k < HALVINGS ? most : INT32_MAX);
    if (st < 0 || t->n_pairs <= most || k == HALVINGS) return st;
    if (k > 0) *part *= fmin(0.5, room_to_move(t));
    // also of an increment that is not finite
    if (!(*part > 0.0)) return RF_ERR_DIVERGED;
  }
}

// ---- energy and forces

static void add_gradient(touch *t, const int32_t *vertex, const double *gradient) {
  for (int i = 0; i < 12; ++i) t->gradient[3 * (int64_t)vertex[i / 3] + i % 3] += gradient[i];
}

static void evaluate_pair(touch *t, pair *c) {
  rf_primitive p;
  rf_primitive_energy e;
  load(t, c, &p);
  rf_primitive_find(&p, &c->at);
  c->normal_force = 0.0;
  c->touching = false;
  if (c->at.distance >= c->delta) return;
  // also for NaN
  if (!(c->at.distance > 0.0)) {
    t->base.energy = INFINITY;
    return;
  }
  rf_primitive_evaluate(&p, &c->at, t->set.stiffness, c->delta, &e);
  c->touching = true;
  c->normal_force = e.normal_force;
  t->base.energy += e.value;
  t->base.noise += ROUNDING * e.normal_force * (rf_vec3_length(p.x[0]) + rf_vec3_length(p.x[3]));
  add_gradient(t, c->vertex, e.gradient);
}

// Friction by the present normal forces, weights and planes; there is room for all pairs.
static void hold(touch *t) {
  t->n_rubs = 0;
  for (int32_t k = 0; t->set.friction > 0.0 && k < t->n_pairs; ++k) {
    const pair *c = t->pair + k;
    if (!c->touching) continue;
    rubbing *r = t->rub + t->n_rubs++;
    r->edges = c->edges;
    memcpy(r->vertex, c->vertex, sizeof r->vertex);
    memcpy(r->law.weight, c->at.weight, sizeof r->law.weight);
    memcpy(r->law.normal, c->at.normal, sizeof r->law.normal);
    r->law.force = t->set.friction * c->normal_force;
  }
}

static void rub(touch *t, rubbing *r, double rate) {
  double v[4][3], gradient[12];
  pick(t->velocity, r->vertex, v);
  t->base.energy += rf_rubbing_evaluate(&r->law, v, t->set.slip_m_s, gradient) / rate;
  add_gradient(t, r->vertex, gradient);
}

void rf_barrier_touch_evaluate(rf_barrier_touch *base, const double *x, const double *v,
                               double rate, double *residual) {
  touch *t = (touch *)base;
  const rf_barrier_shape *p = t->parts;
  base->energy = base->noise = 0.0;
  put_places(t, x);
  memset(t->gradient, 0, 3 * (size_t)p->n_vertices * sizeof *t->gradient);
  for (int32_t k = 0; k < t->n_pairs; ++k) evaluate_pair(t, t->pair + k);
  if (base->coupled) hold(t);
  if (t->n_rubs > 0) rf_barrier_parts_gather(p, v, 1.0, t->velocity);
  for (int32_t k = 0; k < t->n_rubs; ++k) rub(t, t->rub + k, rate);
  for (int64_t i = 0; residual && i < 3 * (int64_t)p->n_vertices; ++i)
    if (!p->fixed[i / 3]) residual[3 * (int64_t)p->node[i / 3] + i % 3] += t->gradient[i];
}

double rf_barrier_touch_slope(const rf_barrier_touch *base, const double *increment) {
  const touch *t = (const touch *)base;
  const rf_barrier_shape *p = t->parts;
  double sum = 0.0;
  for (int64_t i = 0; i < 3 * (int64_t)p->n_vertices; ++i)
    if (!p->fixed[i / 3]) sum += t->gradient[i] * increment[3 * (int64_t)p->node[i / 3] + i % 3];
  return sum;
}

rf_status rf_barrier_touch_reach(rf_barrier_touch *base, const double *increment, double *part) {
  touch *t = (touch *)base;
  double most = 1.0;
  const rf_status st = search_along(t, increment, part);
  if (st < 0) return st;
  for (int32_t k = 0; k < t->n_pairs; ++k) {
    const pair *c = t->pair + k;
    rf_primitive p;
    double dx[4][3];
    load(t, c, &p);
    pick(t->change, c->vertex, dx);
    most = rf_primitive_reach(&p, dx, most);
  }
  *part *= most;
  return RF_OK;
}

// ---- the matrix

// Keys of the pairs of free nodes among four vertices that may be uncoupled; returns how many.
static int keys_of(const rf_barrier_shape *p, const int32_t *vertex, int64_t *key) {
  int n = 0;
  for (int i = 0; i < 4; ++i)
    for (int j = i + 1; j < 4; ++j) {
      const int32_t a = vertex[i], b = vertex[j];
      if ((p->self || p->part[a] != p->part[b]) && !p->fixed[a] && !p->fixed[b])
        key[n++] = rf_barrier_key(p->node[a], p->node[b], p->n_all);
    }
  return n;
}

// Adds all pairs that may touch to the pattern.
static rf_status couple(touch *t) {
  const int32_t n = t->parts->n_all;
  LARGER(t->key, t->key_room, t->n_keys + 6 * (int64_t)t->n_pairs);
  for (int32_t k = 0; k < t->n_pairs; ++k)
    t->n_keys += keys_of(t->parts, t->pair[k].vertex, t->key + t->n_keys);
  t->n_keys = rf_barrier_key_unique(t->key, t->n_keys);
  LARGER(t->coupled, t->coupled_room, 2 * (int64_t)t->n_keys);
  for (int32_t k = 0; k < t->n_keys; ++k) {
    t->coupled[2 * (int64_t)k] = (int32_t)(t->key[k] / n);
    t->coupled[2 * (int64_t)k + 1] = (int32_t)(t->key[k] % n);
  }
  return RF_OK;
}

static bool is_coupled(const touch *t, const int32_t *vertex) {
  int64_t key[6];
  const int n = keys_of(t->parts, vertex, key);
  for (int i = 0; i < n; ++i)
    if (!bsearch(key + i, t->key, (size_t)t->n_keys, sizeof *key, rf_barrier_key_order))
      return false;
  return true;
}

// Names the nodes of matrix k.
static void put_stencil(touch *t, const int32_t *vertex, int32_t k) {
  for (int i = 0; i < 4; ++i) t->stencil[4 * (int64_t)k + i] = t->parts->node[vertex[i]];
}

static void clear_fixed(const touch *t, const int32_t *vertex, double *matrix) {
  for (int i = 0; i < 144; ++i)
    if (t->parts->fixed[vertex[i / 36]] || t->parts->fixed[vertex[i % 12 / 3]]) matrix[i] = 0.0;
}

// Sets the unsymmetric matrix of a pair.
static void turn(const touch *t, const pair *c, const rf_primitive *p, const rubbing *r,
                 double *matrix) {
  double v[4][3], slope[12];
  pick(t->velocity, c->vertex, v);
  rf_primitive_force_slope(p, &c->at, t->set.stiffness, c->delta, slope);
  for (int i = 0; i < 12; ++i) slope[i] *= t->set.friction;
  rf_rubbing_turn(&r->law, &c->at, slope, v, t->set.slip_m_s, matrix);
  clear_fixed(t, c->vertex, matrix);
}

rf_status rf_barrier_touch_linearize(rf_barrier_touch *base, double rate) {
  touch *t = (touch *)base;
  const int32_t rubs = rate > 0.0 ? t->n_rubs : 0;
  int32_t n = 0, touching = 0;
  bool known = true;
  for (int32_t k = 0; k < t->n_pairs; ++k) touching += t->pair[k].touching;
  // then friction is of the pairs that touch
  base->n_turning = base->coupled ? t->n_rubs : 0;
  LARGER(t->stencil, t->stencil_room, 4 * ((int64_t)touching + rubs));
  LARGER(t->matrix, t->matrix_room, 144 * ((int64_t)touching + rubs));
  LARGER(base->turning, t->turning_room, 144 * (int64_t)base->n_turning);
  for (int32_t k = 0; k < t->n_pairs; ++k) {
    const pair *c = t->pair + k;
    double *matrix = t->matrix + 144 * (int64_t)n;
    rf_primitive p;
    if (!c->touching) continue;
    load(t, c, &p);
    known = known && is_coupled(t, c->vertex);
    rf_primitive_linearize(&p, &c->at, t->set.stiffness, c->delta, base->definite, matrix);
    clear_fixed(t, c->vertex, matrix);
    if (n < base->n_turning) turn(t, c, &p, t->rub + n, base->turning + 144 * (int64_t)n);
    put_stencil(t, c->vertex, n++);
  }
  for (int32_t k = 0; k < rubs; ++k) {
    double *matrix = t->matrix + 144 * (int64_t)n;
    rf_rubbing_linearize(&t->rub[k].law, t->set.slip_m_s, rate, matrix);
    clear_fixed(t, t->rub[k].vertex, matrix);
    put_stencil(t, t->rub[k].vertex, n++);
  }
  const rf_status st = known ? RF_OK : couple(t);
  base->coupling = (rf_system_coupling){t->n_keys, t->coupled, n, t->stencil, t->matrix};
  return st;
}

void rf_barrier_touch_turn(const rf_barrier_touch *base, const double *x, double *out) {
  const touch *t = (const touch *)base;
  for (int64_t k = 0; k < base->n_turning; ++k) {
    const int32_t *node = t->stencil + 4 * k;
    const double *matrix = base->turning + 144 * k;
    double from[4][3];
    pick(x, node, from);
    for (int i = 0; i < 12; ++i)
      for (int j = 0; j < 12; ++j)
        out[3 * (int64_t)node[i / 3] + i % 3] += matrix[12 * i + j] * from[j / 3][j % 3];
  }
}

// ---- the beginning of a step

rf_status rf_barrier_touch_begin(rf_barrier_touch *base, const double *x) {
  touch *t = (touch *)base;
  t->n_rubs = t->n_keys = 0;
  put_places(t, x);
  rf_barrier_parts_gather(t->parts, NULL, 0.0, t->change);
  const rf_status st = search(t, MARGIN * t->set.distance_m, INT32_MAX);
  t->n_begun = t->n_pairs;
  return st < 0 ? st : couple(t);
}

static int rubbing_order(const void *a, const void *b) {
  const rubbing *x = a, *y = b;
  if (x->edges != y->edges) return x->edges ? 1 : -1;
  return memcmp(x->vertex, y->vertex, sizeof x->vertex);
}

// Sets the friction on the first side of a pair; zero if it is not among those sorted.
static void read_friction(const touch *t, const pair *c, const rubbing *sorted, double *out) {
  rubbing key = {.edges = c->edges};
  memcpy(key.vertex, c->vertex, sizeof key.vertex);
  const rubbing *r = bsearch(&key, sorted, (size_t)t->n_rubs, sizeof key, rubbing_order);
  if (r) rf_rubbing_force(&r->law, t->set.slip_m_s, out);
}

rf_status rf_barrier_parts_read(const rf_barrier_touch *base, rf_barrier_contact **out, int32_t *n,
                                double *least, rf_error *err) {
  const touch *t = (const touch *)base;
  rf_status st = RF_OK;
  rubbing *sorted = NULL;
  *n = 0;
  *least = INFINITY;
  for (int32_t k = 0; k < t->n_pairs; ++k) *n += t->pair[k].touching;
  RF_ALLOC(*out, *n);
  RF_ALLOC(sorted, t->n_rubs);
  if (t->n_rubs > 0) memcpy(sorted, t->rub, (size_t)t->n_rubs * sizeof *sorted);
  qsort(sorted, (size_t)t->n_rubs, sizeof *sorted, rubbing_order);
  *n = 0;
  for (int32_t k = 0; k < t->n_pairs; ++k) {
    const pair *c = t->pair + k;
    *least = fmin(*least, c->at.distance);
    if (!c->touching) continue;
    rf_barrier_contact *to = *out + (*n)++;
    for (int i = 0; i < 4; ++i) to->node[i] = t->parts->node[c->vertex[i]];
    memcpy(to->weight, c->at.weight, sizeof to->weight);
    memcpy(to->normal, c->at.normal, sizeof to->normal);
    to->distance = c->at.distance;
    to->force = c->normal_force;
    read_friction(t, c, sorted, to->friction);
  }
done:
  rf_free(sorted);
  return st;
}
