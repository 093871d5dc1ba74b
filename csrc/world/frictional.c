#include "world/frictional.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "contact/contact_state.h"
#include "linalg/dense_rt.h"

static void release_second(rf_frictional_second *s) {
  if (!s) return;
  void *const its[] = {s->point, s->force, s->matrix, s->bearing, s->normal,
                       s->root,  s->more,  s->near,   s->at,      s->in};
  for (size_t i = 0; i < sizeof its / sizeof *its; ++i) rf_free(its[i]);
  rf_free(s);
}

static void release(void *self) {
  rf_frictional *c = self;
  if (!c) return;
  for (int32_t k = 0; c->pair && k < c->n_pairs; ++k) rf_free(c->pair[k].gap);
  for (int32_t k = 0; k < c->n_dimples; ++k) {
    const rf_frictional_dimple *d = &c->dimple[k];
    void *const its[] = {d->loaded,   d->force, d->moved, d->loaded_in,
                         d->moved_in, d->row,   d->row_of};
    for (size_t i = 0; i < sizeof its / sizeof *its; ++i) rf_free(its[i]);
    release_second(d->second);
  }
  for (int32_t k = 0; c->body && k < c->n_bodies; ++k) {
    rf_motion_free(c->body[k].whole);
    rf_free(c->body[k].way);
    rf_free(c->body[k].last_way);
    rf_free(c->body[k].last_q);
    rf_free(c->body[k].force);
  }
  void *const owned[] = {c->body, c->pair,  c->levers,       c->halves, c->factor,
                         c->axes, c->gap,   c->start,        c->forces, c->ends,
                         c->mu,   c->local, c->local_matrix, c->dimple};
  for (size_t k = 0; k < sizeof owned / sizeof *owned; ++k) rf_free(owned[k]);
  rf_friction_free(c->solver);
  rf_free(c);
}

static rf_status check_pair(const rf_world *world, int32_t k, rf_error *err) {
  const rf_contact_sites *law = rf_frictional_law_rt(world, k);
  const rf_contact_sites *first = rf_frictional_law_rt(world, 0);
  if (!law)
    return rf_fail(err, RF_ERR_ARG,
                   "contact %d has no friction, others have: make all contacts of one kind "
                   "(FrictionContact with mu=0 has none)",
                   (int)k);
  if (!(law->mu <= RF_FRICTION_MOST_MU))
    return rf_fail(err, RF_ERR_ARG, "contact %d has the coefficient of friction %g, more than %g",
                   (int)k, law->mu, RF_FRICTION_MOST_MU);
  if (law->compliance_m_per_n != first->compliance_m_per_n)
    return rf_fail(err, RF_ERR_ARG,
                   "contact %d has the compliance %g m/N, contact 0 %g m/N: give both the same one",
                   (int)k, law->compliance_m_per_n, first->compliance_m_per_n);
  return RF_OK;
}

static rf_status check_motion(const rf_motion *motion, rf_error *err) {
  if (!rf_scheme_takes_contact(motion->set.scheme))
    return rf_fail(err, RF_ERR_ARG,
                   "a simulation has an explicit integrator; friction needs an implicit one");
  if (!motion->system->life->copy)
    return rf_fail(err, RF_ERR_ARG, "friction needs simulations of a ReducedSolid");
  return RF_OK;
}

// The pose of a body is moved by its holder, or by the forces.
static bool is_held(const rf_body *body) { return !body->kind->anchored && !body->kind->move_rt; }

static rf_status create_body(const rf_world *world, rf_body *of, rf_frictional *c,
                             rf_frictional_body *b, rf_error *err) {
  rf_status st = RF_OK;
  b->of = of;
  b->first = c->rank;
  b->moves = !of->kind->anchored;
  b->n = rf_body_coordinates_rt(of);
  c->rank += (b->moves ? 6 : 0) + b->n;
  if (b->n == 0) return RF_OK;
  RF_TRY(check_motion(of->motion, err));
  RF_ALLOC(b->way, rf_dense_ld(b->n));
  RF_ALLOC(b->last_way, rf_dense_ld(b->n));
  RF_ALLOC(b->last_q, rf_dense_ld(b->n));
  RF_ALLOC(b->force, rf_dense_ld(b->n));
  RF_TRY(rf_body_whole_step(of, world->set.dt_s, &b->whole, err));
done:
  return st;
}

static rf_status add_second(const rf_contact_local *local, rf_frictional_dimple *d, rf_error *err) {
  rf_status st = RF_OK;
  const int64_t most = local->n_points < RF_SITES_MOST ? local->n_points : RF_SITES_MOST;
  const int32_t ld = rf_dense_ld((int32_t)most);
  RF_ALLOC(d->second, 1);
  rf_frictional_second *s = d->second;
  s->simd = rf_simd_resolve(RF_SIMD_BEST);
  s->whole = s->part = 1.0;
  RF_ALLOC(s->point, most);
  RF_ALLOC(s->force, most);
  RF_ALLOC(s->matrix, most * most);
  RF_ALLOC(s->bearing, most);
  RF_ALLOC(s->normal, most * most);
  RF_ALLOC(s->root, (int64_t)ld * ld);
  RF_ALLOC(s->more, most);
  RF_ALLOC(s->near, most);
  RF_ALLOC(s->at, local->n_points);
  RF_ALLOC(s->in, local->n_points);
done:
  return st;
}

// Finds the dimple of the shell of pair k, or adds it.
static rf_status add_dimple(const rf_world *world, int32_t k, rf_frictional *c, rf_error *err) {
  rf_status st = RF_OK;
  const rf_contact_local *local = world->pair[k]->contact->local;
  const rf_body *shell = world->pair[k]->side[RF_PAIR_TREE].body;
  if (!local) return RF_OK;
  RF_ALLOC(c->pair[k].gap, world->pair[k]->contact->search.tree->n_points);
  for (int32_t i = 0; i < c->n_dimples; ++i) {
    if (c->dimple[i].shell != shell) continue;
    if (c->dimple[i].local != local)
      return rf_fail(err, RF_ERR_ARG,
                     "contact %d has another local compliance than a contact of the same body "
                     "before, and forces of one would not bend the shell of the other: pass one "
                     "LocalCompliance, of one PointTree, to all contacts of the body",
                     (int)k);
    c->pair[k].dimple = &c->dimple[i];
    return RF_OK;
  }
  rf_frictional_dimple *d = c->pair[k].dimple = &c->dimple[c->n_dimples++];
  d->local = local;
  d->shell = shell;
  RF_ALLOC(d->loaded, local->n_carriers);
  RF_ALLOC(d->force, 3 * (int64_t)local->n_carriers);
  RF_ALLOC(d->moved, 3 * (int64_t)local->n_carriers);
  RF_ALLOC(d->loaded_in, local->n_carriers);
  RF_ALLOC(d->moved_in, local->n_carriers);
  RF_ALLOC(d->row, 9 * (int64_t)local->n_carriers);
  RF_ALLOC(d->row_of, local->n_carriers);
  if (local->second) RF_TRY(add_second(local, d, err));
done:
  return st;
}

static rf_status create_bodies(const rf_world *world, rf_frictional *c, rf_error *err) {
  rf_status st = RF_OK;
  int32_t holders = 0;
  RF_ALLOC(c->body, world->n_bodies);
  c->n_pairs = world->n_pairs;
  RF_ALLOC(c->pair, world->n_pairs);
  RF_ALLOC(c->dimple, world->n_pairs);
  for (int32_t k = 0; k < world->n_pairs; ++k) {
    c->pair[k] = (rf_frictional_pair){.side = {-1, -1}};
    RF_TRY(add_dimple(world, k, c, err));
  }
  for (int32_t i = 0; i < world->n_bodies; ++i) {
    rf_body *of = world->body[i];
    if (!of->motion && of->kind->anchored) continue;
    const int32_t number = c->n_bodies++;
    RF_TRY(create_body(world, of, c, &c->body[number], err));
    if (is_held(of)) {
      c->held = number;
      ++holders;
    }
    for (int32_t k = 0; k < world->n_pairs; ++k)
      for (int e = 0; e < 2; ++e)
        if (world->pair[k]->side[e].body == of) c->pair[k].side[e] = number;
  }
  if (holders != 1)
    st = rf_fail(err, RF_ERR_ARG, "a world with friction has one held body, not %d", (int)holders);
done:
  return st;
}

static rf_status make_room(rf_frictional *c, rf_error *err) {
  rf_status st = RF_OK;
  const size_t most = (size_t)c->sites.most, rank = (size_t)c->rank;
  const rf_friction_settings set = {
      .most = c->sites.most, .most_rank = c->rank, .simd = RF_SIMD_BEST};
  c->ld = rf_dense_ld(3 * c->sites.most);
  const size_t ld = (size_t)c->ld;
  RF_TRY(rf_friction_create(&set, &c->solver, err));
  RF_ALLOC(c->levers, rank * ld);
  RF_ALLOC(c->halves, rank * ld);
  RF_ALLOC(c->factor, rank * ld);
  RF_ALLOC(c->axes, 9 * most);
  RF_ALLOC(c->gap, ld);
  RF_ALLOC(c->start, ld);
  RF_ALLOC(c->forces, ld);
  RF_ALLOC(c->ends, ld);
  RF_ALLOC(c->mu, ld);
  RF_ALLOC(c->local, (size_t)rf_dense_ld(c->rank));
  if (c->n_dimples > 0) RF_ALLOC(c->local_matrix, 9 * most * most);
done:
  return st;
}

// Least distance of sites, and margin: half the diagonal of a cell of the field; of a field without
// cells, a hundredth of the shell.
static double spacing_of(const rf_contact *contact) {
  const rf_contact_distance *d = &contact->search.distance;
  const rf_field *field = d->field ? d->field : d->deformed->field[0];
  const double extent = contact->search.tree->extent;
  return field->bend > 0.0 && isfinite(field->bend) ? fmin(field->bend, extent) : 0.01 * extent;
}

static rf_status create(rf_world *world, void **self, rf_error *err) {
  rf_status st = RF_OK;
  rf_frictional *c = NULL;
  if (world->n_pairs < 1)
    return rf_fail(err, RF_ERR_ARG, "a world with friction needs a pair of bodies");
  for (int32_t k = 0; k < world->n_pairs; ++k) {
    st = check_pair(world, k, err);
    if (st < 0) return st;
  }
  RF_ALLOC(c, 1);
  RF_TRY(create_bodies(world, c, err));
  int32_t most = 1;
  double spacing = INFINITY;
  for (int32_t k = 0; k < world->n_pairs; ++k) {
    rf_contact_sites *law = rf_frictional_law_rt(world, k);
    law->solved = true;
    // a direction that turns to the normal of the shell would make edges into ramps
    world->pair[k]->contact->search.conservative = true;
    c->compliance = law->compliance_m_per_n;
    c->budget_us = fmax(c->budget_us, law->budget_us);
    if (law->most > most) most = law->most;
    spacing = fmin(spacing, spacing_of(world->pair[k]->contact));
  }
  c->margin_m = spacing;
  rf_sites_reset_rt(&c->sites, most, spacing > 0.0 ? spacing : 1e-6);
  RF_TRY(make_room(c, err));
  *self = c;
  c = NULL;
done:
  release(c);
  return st;
}

const rf_solver_kind rf_solver_frictional = {.name = "frictional",
                                             .create = create,
                                             .release = release,
                                             .foresee_rt = rf_frictional_foresee_rt,
                                             .constrain_rt = rf_frictional_constrain_rt,
                                             .step_rt = rf_frictional_finish_rt,
                                             .prepare_rt = rf_frictional_prepare_rt,
                                             .reset_rt = rf_frictional_reset_rt};
