#include "world/multibody_memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "contact/frame.h"
#include "linalg/vec3.h"

void rf_multibody_memory_free(rf_multibody_memory *m) {
  rf_free(m->pairs);
  rf_free(m->points);
  rf_free(m->places);
  *m = (rf_multibody_memory){0};
}

static bool remembers(const rf_pair_rows *t) { return t->friction.mu > 0.0 || t->dimple[1].yields; }

rf_status rf_multibody_memory_reserve(rf_multibody_memory *m, int32_t n_pairs,
                                      rf_pair_rows *const *pairs, rf_error *err) {
  rf_status st = RF_OK;
  int32_t gripped = 0;
  int64_t points = 0;
  m->n_pairs = 0;
  for (int32_t k = 0; k < n_pairs; ++k) {
    if (!remembers(pairs[k])) continue;
    ++gripped;
    points += pairs[k]->n_rows;
  }
  if (gripped <= m->pair_room && points <= m->room) return st;
  rf_multibody_memory_free(m);
  const int32_t pair_room = gripped + gripped / 2;
  const int64_t room = points + points / 2;
  RF_ALLOC(m->pairs, pair_room);
  RF_ALLOC(m->points, room);
  RF_ALLOC(m->places, room);
  m->pair_room = pair_room;
  m->room = room;
done:
  return st;
}

static int by_bodies(const void *a, const void *b) {
  const rf_multibody_gripped *x = a, *y = b;
  if (x->tree != y->tree) return x->tree < y->tree ? -1 : 1;
  return (x->field > y->field) - (x->field < y->field);
}

static int by_place(const void *a, const void *b) {
  const rf_multibody_grip *x = a, *y = b;
  return (x->place > y->place) - (x->place < y->place);
}

// Way of the field's body at a point along a tangent, by its deformation alone.
static double way_of_field(const rf_pair_rows *t, const rf_multibody_node *nodes,
                           const double *row) {
  if (t->side[1].r == 0) return 0.0;
  const double *u = nodes[t->side[1].body].displacement;
  const int32_t first = t->side[0].size + RF_SLOT_RIGID;
  return rf_dot_padded(t->side[1].size - RF_SLOT_RIGID, row + first, u + RF_SLOT_RIGID);
}

// Writes the points of a pair that bear a force, with their springs; returns their number.
static int64_t grip(const rf_pair_rows *t, const rf_multibody_node *nodes, rf_multibody_grip *out) {
  const rf_pair_friction *f = &t->friction;
  int64_t n = 0;
  for (int32_t i = 0; i < t->n_rows; ++i) {
    const bool slips = f->mu > 0.0;
    if (slips ? !(f->limit[i] > 0.0) : !(t->force[i] < 0.0)) continue;
    rf_multibody_grip *g = &out[n++];
    *g = (rf_multibody_grip){.place = t->place[i]};
    if (!slips) continue;
    const double *axes = f->axes + 6 * (size_t)i;
    g->limit_n = f->limit[i];
    memcpy(g->at, f->at + 3 * (size_t)i, sizeof g->at);
    for (int e = 0; e < 2; ++e) {
      const double *row = f->rows + (2 * (size_t)i + (size_t)e) * (size_t)t->size;
      // the way that recall adds is that over the field at rest
      const double force = f->last[2 * i + e] - t->stiff[i] * way_of_field(t, nodes, row);
      for (int k = 0; k < 3; ++k) g->force_n[k] += force * axes[3 * e + k];
    }
  }
  return n;
}

void rf_multibody_memory_record(rf_multibody_memory *m, int32_t n_pairs, rf_pair_rows *const *pairs,
                                const rf_multibody_node *nodes) {
  int64_t next = 0;
  m->n_pairs = 0;
  for (int32_t k = 0; k < n_pairs; ++k) {
    const rf_pair_rows *t = pairs[k];
    if (!remembers(t)) continue;
    const int64_t n = grip(t, nodes, m->points + next);
    if (n == 0) continue;
    qsort(m->points + next, (size_t)n, sizeof *m->points, by_place);
    for (int64_t i = next; i < next + n; ++i) m->places[i] = m->points[i].place;
    m->pairs[m->n_pairs++] =
        (rf_multibody_gripped){t->side[0].body, t->side[1].body, next, next + n};
    next += n;
  }
  if (m->n_pairs) qsort(m->pairs, (size_t)m->n_pairs, sizeof *m->pairs, by_bodies);
}

// Sets the spring of a point after its way over the other body.
static void stretch(rf_pair_rows *t, int32_t i, const rf_multibody_grip *g) {
  rf_pair_friction *f = &t->friction;
  const double *axes = f->axes + 6 * (size_t)i;
  double way[3], turned[3], trial[2];
  rf_vec3_sub(f->at + 3 * (size_t)i, g->at, way);
  rf_contact_to_world(f->turn, way, turned);
  for (int e = 0; e < 2; ++e)
    trial[e] =
        rf_vec3_dot(g->force_n, axes + 3 * e) + t->stiff[i] * rf_vec3_dot(turned, axes + 3 * e);
  rf_pair_friction_return_rt(trial, g->limit_n, f->last + 2 * (size_t)i);
}

static const rf_multibody_gripped *find(const rf_multibody_memory *m, const rf_pair_rows *t) {
  const rf_multibody_gripped asked = {.tree = t->side[0].body, .field = t->side[1].body};
  if (m->n_pairs == 0) return NULL;
  return bsearch(&asked, m->pairs, (size_t)m->n_pairs, sizeof *m->pairs, by_bodies);
}

const int32_t *rf_multibody_memory_places(const rf_multibody_memory *m, const rf_pair_rows *t,
                                          int32_t *n) {
  const rf_multibody_gripped *pair = find(m, t);
  *n = pair ? (int32_t)(pair->end - pair->first) : 0;
  return pair ? m->places + pair->first : NULL;
}

void rf_multibody_memory_recall(const rf_multibody_memory *m, rf_pair_rows *t) {
  const rf_multibody_gripped *pair = find(m, t);
  if (!pair) return;
  for (int32_t i = 0; i < t->n_rows; ++i) {
    const rf_multibody_grip wanted = {.place = t->place[i]};
    const rf_multibody_grip *point =
        bsearch(&wanted, m->points + pair->first, (size_t)(pair->end - pair->first),
                sizeof *m->points, by_place);
    if (point) stretch(t, i, point);
  }
}
