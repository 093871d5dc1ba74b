// Local compliance of shells (contact/local.h) at the sites of a friction cycle (frictional.h).
#include <math.h>
#include <string.h>

#include "linalg/quat.h"
#include "world/frictional.h"

enum { BLOCK = RF_CONTACT_BLOCK, PRODUCTS = 8192, OF_PAIR = 2 };

// Index in the shell of the point at a place of the tree.
static int32_t point_of(const rf_world *world, int32_t pair, int32_t place) {
  return world->pair[pair]->contact->search.tree->point[place];
}

// Adds a force at a point to its carriers.
static void load(rf_frictional_dimple *d, int32_t point, const double force[3]) {
  const rf_contact_local *l = d->local;
  const int64_t first = (int64_t)point * l->corners;
  for (int64_t a = first; a < first + l->corners; ++a) {
    const int32_t i = l->carrier[a];
    double *to = d->force + 3 * (int64_t)i;
    if (l->weight[a] == 0.0) continue;
    if (d->loaded_in[i] != d->step) {
      d->loaded_in[i] = d->step;
      d->loaded[d->n_loaded++] = i;
      memset(to, 0, 3 * sizeof *to);
    }
    for (int k = 0; k < 3; ++k) to[k] += l->weight[a] * force[k];
  }
}

void rf_frictional_note_forces_rt(rf_frictional *c, const rf_world *world) {
  const int32_t pairs = c->sites.most * c->sites.most;
  const int32_t products = OF_PAIR * pairs > PRODUCTS ? OF_PAIR * pairs : PRODUCTS;
  for (int32_t k = 0; k < c->n_dimples; ++k) {
    ++c->dimple[k].step;
    c->dimple[k].n_loaded = 0;
    c->dimple[k].left = products;
  }
  for (int32_t i = 0; i < c->n_sites; ++i) {
    const rf_frictional_site *site = &c->site[i];
    rf_frictional_dimple *d = c->pair[site->pair].dimple;
    if (!d || !(c->forces[3 * i] > 0.0)) continue;
    load(d, point_of(world, site->pair, site->place),
         rf_frictional_law_rt(world, site->pair)->of[site->place].force);
  }
  for (int32_t k = 0; k < c->n_dimples; ++k)
    if (c->dimple[k].second) rf_frictional_second_begin_rt(c, world, &c->dimple[k]);
}

// Displacement of a carrier, computed once in a step.
static const double *moved(rf_frictional_dimple *d, int32_t i) {
  double *out = d->moved + 3 * (int64_t)i;
  if (d->moved_in[i] == d->step) return out;
  d->moved_in[i] = d->step;
  d->left -= d->n_loaded;
  memset(out, 0, 3 * sizeof *out);
  for (int32_t k = 0; k < d->n_loaded; ++k)
    rf_contact_local_carry_rt(d->local, i, d->loaded[k], d->force + 3 * (int64_t)d->loaded[k], out);
  return out;
}

void rf_frictional_linear_rt(rf_frictional_dimple *d, int32_t point, double out[3]) {
  const rf_contact_local *l = d->local;
  const int64_t first = (int64_t)point * l->corners;
  memset(out, 0, 3 * sizeof *out);
  for (int64_t a = first; a < first + l->corners; ++a) {
    if (l->weight[a] == 0.0) continue;
    const double *u = moved(d, l->carrier[a]);
    for (int k = 0; k < 3; ++k) out[k] += l->weight[a] * u[k];
  }
}

void rf_frictional_dimple_rt(const rf_frictional *c, const rf_world *world, int32_t pair,
                             int32_t place, double out[3]) {
  rf_frictional_dimple *d = c->pair[pair].dimple;
  const int32_t point = point_of(world, pair, place);
  memset(out, 0, 3 * sizeof *out);
  if (!rf_frictional_bent_rt(c, pair)) return;
  rf_frictional_linear_rt(d, point, out);
  if (d->second) rf_frictional_second_move_rt(d, point, out);
}

// Gaps of n of the points found, numbers `at`.
static void put_gaps(const rf_frictional *c, const rf_world *world, int32_t pair, int32_t n,
                     const int32_t *at) {
  rf_contact_search *s = &world->pair[pair]->contact->search;
  double position[3 * BLOCK], body[3 * BLOCK], gap[BLOCK];
  int32_t place[BLOCK] = {0};
  for (int32_t k = 0; k < n; ++k) place[k] = s->touch_place[at[k]];
  rf_contact_search_locate_rt(s, n, place, position, body);
  for (int32_t k = 0; k < n; ++k) {
    double dimple[3];
    rf_frictional_dimple_rt(c, world, pair, place[k], dimple);
    for (int i = 0; i < 3; ++i) position[3 * k + i] += dimple[i];
  }
  rf_contact_places(&s->frame, n, position, body);
  rf_contact_distances_rt(&s->distance, n, body, gap);
  for (int32_t k = 0; k < n; ++k) c->pair[pair].gap[at[k]] = gap[k];
}

void rf_frictional_dimple_gaps_rt(rf_frictional *c, const rf_world *world, int32_t pair) {
  rf_contact_search *s = &world->pair[pair]->contact->search;
  rf_frictional_pair *p = &c->pair[pair];
  const rf_contact_sites *law = rf_frictional_law_rt(world, pair);
  const int32_t total = s->touching, first = total > 0 ? p->next % total : 0;
  int32_t at[BLOCK] = {0}, n = 0;
  bool waits = false;
  p->through_m = 0.0;
  for (int32_t k = 0; k < total; ++k) {
    const int32_t i = first + k < total ? first + k : first + k - total;
    if (p->dimple->left <= 0 && !rf_frictional_bore_rt(law, s->touch_place[i])) {
      p->gap[i] = INFINITY;
      if (!waits) p->next = i;
      waits = true;
      continue;
    }
    at[n++] = i;
    if (n < BLOCK) continue;
    put_gaps(c, world, pair, n, at);
    n = 0;
  }
  if (n > 0) put_gaps(c, world, pair, n, at);
  if (!waits) p->next = 0;
}

static bool is_site(const rf_frictional *c, int32_t pair, int32_t place) {
  for (int32_t k = 0; k < c->sites.n; ++k)
    if (c->sites.site[k].pair == pair && c->sites.site[k].place == place) return true;
  return false;
}

void rf_frictional_note_others_rt(rf_frictional *c, const rf_world *world, int32_t pair) {
  const rf_contact_search *s = &world->pair[pair]->contact->search;
  double *depth_m = &c->pair[pair].depth_m;
  *depth_m = 0.0;
  for (int32_t i = 0; rf_frictional_bent_rt(c, pair) && i < s->touching; ++i)
    if (-c->pair[pair].gap[i] > *depth_m && !is_site(c, pair, s->touch_place[i]))
      *depth_m = -c->pair[pair].gap[i];
}

// S of two points, p that of the present row.  Carriers that points share are gathered once in a
// row.
static void between(rf_frictional_dimple *d, int32_t p, int32_t q, double block[9]) {
  const rf_contact_local *l = d->local;
  const int64_t first = (int64_t)q * l->corners;
  memset(block, 0, 9 * sizeof *block);
  for (int64_t b = first; b < first + l->corners; ++b) {
    const int32_t i = l->carrier[b];
    double *row = d->row + 9 * (int64_t)i;
    if (l->weight[b] == 0.0) continue;
    if (d->row_of[i] != d->n_rows) rf_contact_local_by_carrier_rt(l, p, i, row);
    d->row_of[i] = d->n_rows;
    for (int k = 0; k < 9; ++k) block[k] += l->weight[b] * row[k];
  }
}

// Enters A_i S A_j^T of two sites, axes A in the frame of the shell.
static void put_block(rf_frictional *c, const rf_world *world, int32_t i, int32_t j,
                      const double *axes) {
  const rf_frictional_site *a = &c->site[i], *b = &c->site[j];
  const size_t rows = 3 * (size_t)c->n_sites;
  rf_frictional_dimple *d = c->pair[a->pair].dimple;
  const int32_t p = point_of(world, a->pair, a->place), q = point_of(world, b->pair, b->place);
  double block[9], half[9], turned[9];
  between(d, p, q, block);
  if (d->second) {
    for (int k = 0; k < 9; ++k) block[k] *= d->second->whole;
    rf_frictional_second_note_rt(d, p, q, block);
  }
  rf_mat3_abt(axes + 9 * j, block, half);
  rf_mat3_abt(axes + 9 * i, half, turned);
  for (size_t k = 0; k < 3; ++k)
    for (size_t l = 0; l < 3; ++l) {
      const size_t row = 3 * (size_t)i + k, column = 3 * (size_t)j + l;
      c->local_matrix[row * rows + column] = c->local_matrix[column * rows + row] =
          turned[3 * k + l];
    }
}

double rf_frictional_put_local_rt(rf_frictional *c, const rf_world *world) {
  const int32_t n = c->n_sites;
  double axes[9 * RF_SITES_MOST], trace = 0.0;
  memset(c->local_matrix, 0, 9 * (size_t)n * (size_t)n * sizeof *c->local_matrix);
  for (int32_t k = 0; k < c->n_dimples; ++k)
    if (c->dimple[k].second) rf_frictional_second_sites_rt(c, world, &c->dimple[k]);
  for (int32_t i = 0; i < n; ++i) {
    const rf_frictional_pair *pair = &c->pair[c->site[i].pair];
    if (!pair->dimple) continue;
    ++pair->dimple->n_rows;
    for (int k = 0; k < 9; k += 3)
      rf_quat_rotate_back(pair->dimple->shell->pose.quaternion, c->axes + 9 * i + k,
                          axes + 9 * i + k);
    for (int32_t j = 0; j <= i; ++j)
      if (c->pair[c->site[j].pair].dimple == pair->dimple) put_block(c, world, i, j, axes);
  }
  for (int32_t k = 0; k < c->n_dimples; ++k)
    if (c->dimple[k].second) rf_frictional_second_put_rt(c, world, &c->dimple[k], axes);
  for (int32_t k = 0; k < 3 * n; ++k) trace += c->local_matrix[k * (3 * n + 1)];
  return trace;
}

void rf_frictional_note_depths_rt(rf_frictional *c, rf_world *world) {
  for (int32_t k = 0; k < c->n_dimples; ++k)
    if (c->dimple[k].second && c->dimple[k].second->wide) world->found.crowded = true;
  for (int32_t k = 0; k < world->n_pairs; ++k) {
    world->pair[k]->dimpled = rf_frictional_bent_rt(c, k);
    world->pair[k]->dimpled_m = c->pair[k].depth_m;
  }
  for (int32_t i = 0; i < c->n_sites; ++i) {
    rf_pair *pair = world->pair[c->site[i].pair];
    if (!c->pair[c->site[i].pair].dimple || !(c->forces[3 * i] > 0.0)) continue;
    pair->dimpled = true;
    pair->dimpled_m = fmax(pair->dimpled_m, c->yielding * c->forces[3 * i] - c->ends[3 * i]);
  }
}
