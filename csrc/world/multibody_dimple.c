#include "world/multibody_dimple.h"

#include <string.h>

#include "base/alloc.h"
#include "linalg/dense_rt.h"
#include "world/multibody_node.h"

static void free_points(rf_multibody_dimple *d) {
  rf_free(d->point);
  rf_free(d->matrix);
  rf_free(d->last);
  rf_free(d->last_force);
  d->point = d->last = NULL;
  d->matrix = d->last_force = NULL;
  d->room = 0;
}

static void free_own(rf_multibody_dimple *d) {
  rf_free(d->own_first);
  rf_free(d->factor);
  rf_free(d->weight);
  d->own_first = NULL;
  d->factor = d->weight = NULL;
  d->own_room = 0;
}

static void free_entries(rf_multibody_dimple *d) {
  rf_free(d->own_at);
  rf_free(d->own);
  d->own_at = NULL;
  d->own = NULL;
  d->entry_room = 0;
}

void rf_multibody_dimple_free(rf_multibody_dimple *d) {
  if (!d) return;
  free_points(d);
  free_own(d);
  free_entries(d);
  rf_free(d->response);
  rf_free(d->number);
  rf_free(d->known);
  rf_free(d->way);
  rf_free(d->at);
  rf_free(d->outward);
  rf_free(d->row);
  rf_free(d->bound);
  rf_free(d);
}

rf_status rf_multibody_dimple_create(const rf_contact_local *local, const rf_point_tree *tree,
                                     rf_multibody_dimple **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_multibody_dimple *d = NULL;
  *out = NULL;
  RF_ALLOC(d, 1);
  d->local = local;
  d->simd = rf_simd_resolve(RF_SIMD_BEST);
  RF_ALLOC(d->number, local->n_points);
  RF_ALLOC(d->known, local->n_points);
  RF_ALLOC(d->way, 3 * (size_t)local->n_points);
  for (int32_t i = 0; i < local->n_points; ++i) d->number[i] = -1;
  d->tree = tree;
  if (tree) {
    RF_ALLOC(d->at, 3 * (size_t)local->n_points);
    RF_ALLOC(d->outward, 3 * (size_t)local->n_points);
    RF_ALLOC(d->row, tree->row);
    RF_ALLOC(d->bound, tree->bound);
    rf_multibody_dimple_deform_rt(d, NULL);
  }
  *out = d;
  d = NULL;
done:
  rf_multibody_dimple_free(d);
  return st;
}

// Makes room for n points of a step; the forces of the last one stay.
static rf_status reserve_points(rf_multibody_node *node, int32_t n, rf_error *err) {
  rf_status st = RF_OK;
  rf_multibody_dimple *d = node->dimple;
  const int32_t room = n + n / 8 + 1, n_last = d->n_last;  // S takes the square of it
  int32_t *last = NULL;
  double *force = NULL;
  if (n < d->room) return st;  // there is room for one at least: no vector is NULL
  RF_ALLOC(last, room);
  RF_ALLOC(force, 3 * (size_t)room);
  if (n_last) {
    memcpy(last, d->last, (size_t)n_last * sizeof *last);
    memcpy(force, d->last_force, 3 * (size_t)n_last * sizeof *force);
  }
  free_points(d);
  d->last = last;
  d->last_force = force;
  last = NULL;
  force = NULL;
  RF_ALLOC(d->point, room);
  RF_ALLOC(d->matrix, 3 * (size_t)room * (size_t)rf_dense_ld(3 * room));
  RF_TRY(rf_multibody_node_reserve_slots(node, rf_dense_ld(3 * room), err));
  d->room = room;
done:
  rf_free(last);
  rf_free(force);
  return st;
}

static rf_status reserve_own(rf_multibody_dimple *d, int32_t rows, int32_t entries, int32_t size,
                             rf_error *err) {
  rf_status st = RF_OK;
  const size_t ld = (size_t)rf_dense_ld(rows);
  if (entries > d->entry_room) {
    free_entries(d);
    RF_ALLOC(d->own_at, entries);
    RF_ALLOC(d->own, 3 * (size_t)entries);
    d->entry_room = entries;
  }
  if (rows > d->own_room) {
    free_own(d);
    RF_ALLOC(d->own_first, rows + 1);
    RF_ALLOC(d->factor, ld * ld);
    RF_ALLOC(d->weight, ld);
    d->own_room = rows;
  }
  const int64_t values = (int64_t)rows * size + 1;  // also if no row has points
  if (values > d->response_room) {
    rf_free(d->response);
    d->response_room = 0;
    RF_ALLOC(d->response, values);
    d->response_room = values;
  }
done:
  return st;
}

// The rows of one point share its coordinates, also those of several pairs.
rf_status rf_multibody_dimple_gather(rf_multibody_node *node, rf_pair_rows *const *pairs,
                                     rf_error *err) {
  rf_status st = RF_OK;
  rf_multibody_dimple *d = node->dimple;
  int32_t points = 0, rows = 0, entries = 0;
  d->n = 0;
  for (int32_t i = 0; i < d->local->n_points; ++i) d->number[i] = -1;
  for (int32_t k = 0; k < node->n_sides; ++k) {
    const rf_pair_rows *t = pairs[node->sides[k].pair];
    const rf_pair_dimple *own = rf_multibody_dimple_in_pair_rt(node, k, pairs);
    const int32_t axes = t->friction.mu > 0.0 ? 3 : 1, read = own->corners * t->n_rows;
    rows += axes * t->n_rows;
    entries += axes * read;
    for (int32_t i = 0; i < read; ++i) {
      if (own->point[i] < 0) continue;
      int32_t *number = &d->number[own->point[i]];
      if (*number < 0) *number = points++;
      own->at[i] = 3 * *number;
    }
  }
  // those of the last step as well: their forces are kept in the same memory
  RF_TRY(reserve_points(node, points > d->n_last ? points : d->n_last, err));
  for (int32_t i = 0; i < d->local->n_points; ++i)
    if (d->number[i] >= 0) d->point[d->number[i]] = i;
  d->n = points;
  node->size = rf_dense_ld(3 * d->n);
  RF_TRY(reserve_own(d, rows, entries, node->size, err));
done:
  return st;
}
