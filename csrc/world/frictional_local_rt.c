// Local compliance of shells (contact/local.h) at the sites of a friction cycle (frictional.h).
#include <math.h>
#include <string.h>

#include "linalg/quat.h"
#include "world/frictional.h"

// Index in the shell of the point at a place of the tree.
static int32_t point_of(const rf_world *world, int32_t pair, int32_t place) {
  return world->pair[pair]->contact->search.tree->point[place];
}

void rf_frictional_note_forces_rt(rf_frictional *c, const rf_world *world) {
  c->n_borne = 0;
  for (int32_t i = 0; i < c->n_sites; ++i) {
    const rf_frictional_site *site = &c->site[i];
    if (!c->pair[site->pair].local || !(c->forces[3 * i] > 0.0)) continue;
    rf_frictional_borne *to = &c->borne[c->n_borne++];
    to->pair = site->pair;
    to->point = point_of(world, site->pair, site->place);
    memcpy(to->force, rf_frictional_law_rt(world, site->pair)->of[site->place].force,
           sizeof to->force);
  }
}

// True if forces on the shell of one pair displace the points of the other.
static bool share(const rf_frictional_pair *a, const rf_frictional_pair *b) {
  return a->local && a->local == b->local && a->shell == b->shell;
}

void rf_frictional_dimple_rt(const rf_frictional *c, const rf_world *world, int32_t pair,
                             int32_t place, double out[3]) {
  const rf_frictional_pair *mine = &c->pair[pair];
  memset(out, 0, 3 * sizeof *out);
  if (!mine->local || c->n_borne == 0) return;
  const int32_t point = point_of(world, pair, place);
  for (int32_t k = 0; k < c->n_borne; ++k) {
    const rf_frictional_borne *from = &c->borne[k];
    if (!share(mine, &c->pair[from->pair])) continue;
    rf_contact_local_push_rt(mine->local, point, from->point, from->force, out);
  }
}

// Enters A_i S A_j^T of two sites, axes A in the frame of the shell.
static void put_block(rf_frictional *c, const rf_world *world, int32_t i, int32_t j,
                      const double *axes) {
  const rf_frictional_site *a = &c->site[i], *b = &c->site[j];
  const size_t rows = 3 * (size_t)c->n_sites;
  double block[9], half[9], turned[9];
  rf_contact_local_between_rt(c->pair[a->pair].local, point_of(world, a->pair, a->place),
                              point_of(world, b->pair, b->place), block);
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
  for (int32_t i = 0; i < n; ++i) {
    const rf_frictional_pair *pair = &c->pair[c->site[i].pair];
    if (!pair->local) continue;
    for (int k = 0; k < 9; k += 3)
      rf_quat_rotate_back(pair->shell->pose.quaternion, c->axes + 9 * i + k, axes + 9 * i + k);
    for (int32_t j = 0; j <= i; ++j)
      if (share(pair, &c->pair[c->site[j].pair])) put_block(c, world, i, j, axes);
    for (int32_t k = 3 * i; k < 3 * i + 3; ++k) trace += c->local_matrix[k * (3 * n + 1)];
  }
  return trace;
}

void rf_frictional_note_depths_rt(rf_frictional *c, rf_world *world) {
  for (int32_t k = 0; k < world->n_pairs; ++k) world->pair[k]->dimpled = false;
  for (int32_t i = 0; i < c->n_sites; ++i) {
    rf_pair *pair = world->pair[c->site[i].pair];
    if (!c->pair[c->site[i].pair].local || !(c->forces[3 * i] > 0.0)) continue;
    if (!pair->dimpled) pair->dimpled_m = 0.0;
    pair->dimpled = true;
    pair->dimpled_m = fmax(pair->dimpled_m, c->yielding * c->forces[3 * i] - c->ends[3 * i]);
  }
}
