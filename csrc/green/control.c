// Making control elements: handles, factor, linear fields, forces, rank.
#include "green/control.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "green/control_build.h"
#include "linalg/blas.h"
#include "linalg/dense_rt.h"
#include "linalg/vec3.h"

static const double LINE = 1e-8;  // width of nodes on one line, relative to their length
static const double RANK = 1e-9;  // eigenvalues below this fraction of the largest count as zero

enum { P = RF_CONTROL_PARAMETERS };

bool rf_control_spans_plane(const rf_mesh *mesh, int32_t count, const int32_t *nodes) {
  if (count < 3) return false;
  const double *const origin = mesh->nodes + 3 * (int64_t)nodes[0];
  double along[3] = {0}, longest = 0.0;
  for (int32_t k = 1; k < count; ++k) {
    double d[3];
    rf_vec3_sub(mesh->nodes + 3 * (int64_t)nodes[k], origin, d);
    const double length = rf_vec3_length(d);
    if (length > longest) longest = length, memcpy(along, d, sizeof along);
  }
  for (int32_t k = 1; k < count; ++k) {
    double d[3], c[3];
    rf_vec3_sub(mesh->nodes + 3 * (int64_t)nodes[k], origin, d);
    rf_vec3_cross(d, along, c);
    if (rf_vec3_length(c) > LINE * longest * longest) return true;
  }
  return false;
}

static rf_status check_settings(const rf_control_build *b, rf_error *err) {
  const rf_control_settings *set = b->set;
  const int32_t n = b->solid->mesh->n_nodes;
  const int32_t most = RF_CONTROL_MOST_GROUPS - 1;
  if (set->n_handles < 1 || set->n_handles > most)
    return rf_fail(err, RF_ERR_ARG, "handles must list 1 to %d sets of nodes, got %d", most,
                   set->n_handles);
  if (set->order < 1 || set->order > 3)
    return rf_fail(err, RF_ERR_ARG, "order must be 1, 2 or 3, got %d", set->order);
  for (int32_t k = 0; k < set->ptr[set->n_handles]; ++k)
    if (set->nodes[k] < 0 || set->nodes[k] >= n)
      return rf_fail(err, RF_ERR_ARG, "handles name node %d; nodes are numbered 0 to %d",
                     set->nodes[k], n - 1);
  for (int32_t k = 0; k < set->n_surface; ++k)
    if (set->surface[k] < 0 || set->surface[k] >= n)
      return rf_fail(err, RF_ERR_ARG, "surface_nodes[%d] is %d; nodes are numbered 0 to %d", k,
                     set->surface[k], n - 1);
  return rf_simd_check(set->simd, err);
}

// Refuses handles that have constrained nodes without their masters.
static rf_status check_followers(const rf_control_build *b, const int32_t *owner, rf_error *err) {
  const rf_constraints *c = b->solid->mesh->constraints;
  for (int32_t k = 0; c && k < c->n; ++k)
    for (int32_t p = c->ptr[k]; p < c->ptr[k + 1] && owner[c->slaves[k]] >= 0; ++p)
      if (owner[c->masters[p]] != owner[c->slaves[k]])
        return rf_fail(err, RF_ERR_ARG,
                       "handles[%d] has node %d, which is constrained to follow node %d, but not "
                       "that one: add it, or leave out node %d",
                       owner[c->slaves[k]], c->slaves[k], c->masters[p], c->slaves[k]);
  return RF_OK;
}

// Refuses handles that share nodes, have fixed ones, or do not span a plane.  owner: handle of each
// node, -1: none.
static rf_status check_handles(const rf_control_build *b, int32_t *owner, rf_error *err) {
  const rf_control_settings *set = b->set;
  for (int32_t i = 0; i < b->solid->mesh->n_nodes; ++i) owner[i] = -1;
  for (int32_t h = 0; h < set->n_handles; ++h) {
    const int32_t *const nodes = set->nodes + set->ptr[h], count = set->ptr[h + 1] - set->ptr[h];
    for (int32_t k = 0; k < count; ++k) {
      const int32_t node = nodes[k];
      if (owner[node] == h)
        return rf_fail(err, RF_ERR_ARG, "handles[%d] names node %d twice", h, node);
      if (owner[node] >= 0)
        return rf_fail(err, RF_ERR_ARG,
                       "handles[%d] and handles[%d] share node %d; give each node to one handle",
                       owner[node], h, node);
      if (b->solid->free_of[node] == -1)
        return rf_fail(err, RF_ERR_ARG,
                       "handles[%d] has node %d, which is fixed in the solid; leave it out of one",
                       h, node);
      owner[node] = h;
    }
    if (count < 3 || !rf_control_spans_plane(b->solid->mesh, count, nodes))
      return rf_fail(err, RF_ERR_ARG,
                     "handles[%d] has %d node%s%s; a handle needs at least three that are not on "
                     "one line",
                     h, count, count == 1 ? "" : "s", count < 3 ? "" : ", all on one line");
  }
  return check_followers(b, owner, err);
}

// The series needs two groups, a quadratic law, and not too many products.
static rf_status check_series(const rf_control_build *b, rf_error *err) {
  const rf_control_settings *set = b->set;
  const int32_t groups = set->n_handles + (b->solid->n_fixed > 0);
  if (set->order == 1) return RF_OK;
  if (groups < 2)
    return rf_fail(err, RF_ERR_ARG,
                   "order %d needs two handles, or one and fixed nodes in the solid, that move "
                   "relative to each other; got one handle and no fixed node",
                   set->order);
  if (b->solid->n_fixed > 0 &&
      !rf_control_spans_plane(b->solid->mesh, b->solid->n_fixed, b->solid->fixed))
    return rf_fail(err, RF_ERR_ARG,
                   "order %d needs fixed nodes with a pose, at least three that are not on one "
                   "line; the %d of the solid are on one: fix more, or use order 1",
                   set->order, b->solid->n_fixed);
  const int32_t fields = P * groups + rf_control_products(set->order, 6 * (groups - 1));
  if (fields > RF_CONTROL_MOST_FIELDS)
    return rf_fail(err, RF_ERR_ARG,
                   "order %d of %d handles%s needs %d fields, more than %d; lower the order or "
                   "give fewer handles",
                   set->order, set->n_handles, groups > set->n_handles ? " and fixed nodes" : "",
                   fields, RF_CONTROL_MOST_FIELDS);
  char needs[32];
  memcpy(needs, "order 2 of control elements", sizeof "order 2 of control elements");
  if (set->order == 3) needs[6] = '3';
  return rf_solid_require_quadratic(b->solid, needs, err);
}

// Fixes the handles of a copy of the solid.
static rf_status hold(rf_control_build *b, const int32_t *owner, rf_error *err) {
  rf_status st = RF_OK;
  const rf_solid *s = b->solid;
  const int32_t n = s->mesh->n_nodes, total = s->n_fixed + b->set->ptr[b->set->n_handles];
  b->held = *s;
  b->held.fixed = b->held.free = b->held.free_of = NULL;
  b->held.n_fixed = b->held.n_free = 0;
  RF_ALLOC(b->held.fixed, total);
  RF_ALLOC(b->held.free, n);
  RF_ALLOC(b->held.free_of, n);
  for (int32_t i = 0; i < n; ++i) {
    // constrained nodes follow their masters, also in handles
    const bool follows = s->free_of[i] == -2;
    const bool fixed = !follows && (owner[i] >= 0 || s->free_of[i] < 0);
    b->held.free_of[i] = follows ? -2 : fixed ? -1 : b->held.n_free;
    if (fixed)
      b->held.fixed[b->held.n_fixed++] = i;
    else if (!follows)
      b->held.free[b->held.n_free++] = i;
  }
  if (b->held.n_free == 0) {
    st = rf_fail(err, RF_ERR_ARG,
                 "handles and fixed nodes are all %d nodes of the mesh; leave some to be solved "
                 "for",
                 n);
    goto done;
  }
  rf_error why = {0};
  st = rf_solid_require_held(&b->held, &why);
  if (st == RF_ERR_MESH)
    st = rf_fail(err, st, "handles and fixed nodes leave parts of the mesh loose: %s", why.text);
  else if (st < 0)
    st = rf_fail(err, st, "%s", why.text);
done:
  return st;
}

static void make_group(const rf_mesh *mesh, const int32_t *nodes, rf_control_group *g) {
  for (int32_t k = 0; k < g->count; ++k)
    for (int i = 0; i < 3; ++i) g->mean[i] += mesh->nodes[3 * (int64_t)nodes[k] + i] / g->count;
  for (int32_t k = 0; k < g->count; ++k) {
    double d[3];
    rf_vec3_sub(mesh->nodes + 3 * (int64_t)nodes[k], g->mean, d);
    for (int i = 0; i < 9; ++i) g->moment[i] += d[i / 3] * d[i % 3];
  }
}

void rf_control_find_centre(rf_control *c) {
  for (int32_t g = 0; g < c->n_groups; ++g) c->count += c->group[g].count;
  for (int32_t g = 0; g < c->n_groups; ++g)
    for (int i = 0; i < 3; ++i) c->centre[i] += c->group[g].mean[i] * c->group[g].count / c->count;
}

static rf_status make_groups(rf_control_build *b, rf_error *err) {
  rf_status st = RF_OK;
  rf_control *c = b->control;
  const rf_control_settings *set = b->set;
  c->n_handles = set->n_handles;
  c->n_groups = set->n_handles + (b->solid->n_fixed > 0);
  c->n_parameters = P * c->n_groups;
  c->order = set->order;
  c->single = set->single;
  c->simd = rf_simd_resolve(set->simd);
  c->n_surface = set->n_surface;
  c->ld = rf_dense_ld(c->n_parameters);
  RF_ALLOC(c->group, c->n_groups);
  RF_ALLOC(b->nodes, c->n_groups);
  for (int32_t g = 0; g < c->n_groups; ++g) {
    const bool handle = g < set->n_handles;
    b->nodes[g] = handle ? set->nodes + set->ptr[g] : b->solid->fixed;
    c->group[g].count = handle ? set->ptr[g + 1] - set->ptr[g] : b->solid->n_fixed;
    make_group(b->solid->mesh, b->nodes[g], c->group + g);
  }
  rf_control_find_centre(c);
done:
  return st;
}

rf_status rf_control_build_begin(rf_control_build *b, rf_error *err) {
  rf_status st = RF_OK;
  const rf_mesh *mesh = b->solid->mesh;
  rf_csc lower = {0};
  int32_t *owner = NULL;
  RF_TRY(check_settings(b, err));
  RF_ALLOC(owner, mesh->n_nodes);
  RF_TRY(check_handles(b, owner, err));
  RF_TRY(check_series(b, err));
  RF_TRY(hold(b, owner, err));
  RF_ALLOC(b->control, 1);
  RF_TRY(make_groups(b, err));
  RF_ALLOC(b->blocks, 9 * (int64_t)b->solid->graph.ptr[mesh->n_nodes]);
  RF_ALLOC(b->load, RF_CHOLESKY_BLOCK * 3 * (int64_t)mesh->n_nodes);
  RF_ALLOC(b->part, RF_CHOLESKY_BLOCK * 3 * (int64_t)b->held.n_free);
  RF_TRY(rf_solid_evaluate(b->solid, b->run, NULL, NULL, NULL, b->blocks, err));
  RF_TRY(rf_solid_free_pattern(&b->held, &lower, err));
  rf_solid_free_fill(&b->held, 0.0, b->blocks, &lower);
  RF_TRY(rf_solid_factor_create(&b->held, &lower, &b->factor, err));
  RF_TRY(rf_cholesky_factorize(b->factor, b->run, &lower, NULL, err));
done:
  rf_csc_free(&lower);
  rf_free(owner);
  return st;
}

void rf_control_build_end(rf_control_build *b) {
  rf_control_free(b->control);
  rf_cholesky_free(b->factor);
  rf_free(b->held.fixed);
  rf_free(b->held.free);
  rf_free(b->held.free_of);
  rf_free(b->blocks);
  rf_free(b->load);
  rf_free(b->part);
  rf_free(b->nodes);
  rf_free(b->surface);
}

void rf_control_prescribe(const rf_control_build *b, const double *parameters, double *u) {
  const double *const places = b->solid->mesh->nodes;
  for (int32_t g = 0; g < b->control->n_groups; ++g) {
    const rf_control_group *group = b->control->group + g;
    const double *const T = parameters + P * g, *const M = T + 3;
    for (int32_t k = 0; k < group->count; ++k) {
      const int64_t at = 3 * (int64_t)b->nodes[g][k];
      double d[3];
      rf_vec3_sub(places + at, group->mean, d);
      for (int i = 0; i < 3; ++i) u[at + i] = T[i] + rf_vec3_dot(M + 3 * i, d);
    }
  }
}

void rf_control_gather(const rf_control_build *b, const double *force, double *forces) {
  const double *const places = b->solid->mesh->nodes;
  memset(forces, 0, (size_t)b->control->n_parameters * sizeof *forces);
  for (int32_t g = 0; g < b->control->n_groups; ++g) {
    const rf_control_group *group = b->control->group + g;
    double *const T = forces + P * g, *const M = T + 3;
    for (int32_t k = 0; k < group->count; ++k) {
      const int64_t at = 3 * (int64_t)b->nodes[g][k];
      double d[3];
      rf_vec3_sub(places + at, group->mean, d);
      for (int i = 0; i < 3; ++i) {
        T[i] += force[at + i];
        for (int j = 0; j < 3; ++j) M[3 * i + j] += force[at + i] * d[j];
      }
    }
  }
}

void rf_control_sample(const rf_control_build *b, const double *u, double *to) {
  for (int32_t k = 0; k < b->set->n_surface; ++k)
    memcpy(to + 3 * (int64_t)k, u + 3 * (int64_t)b->set->surface[k], 3 * sizeof *to);
}

rf_status rf_control_respond(const rf_control_build *b, int count, const double *load, double *u,
                             rf_error *err) {
  rf_status st = RF_OK;
  const rf_solid *held = &b->held;
  const int64_t all = 3 * (int64_t)held->mesh->n_nodes, free = 3 * (int64_t)held->n_free;
  RF_TRY(rf_solid_block_multiply(held, b->run, b->blocks, count, u, b->load, err));
  for (int k = 0; k < count; ++k) {
    double *const total = b->load + k * all;
    for (int64_t i = 0; i < all; ++i) total[i] = -total[i] - (load ? load[k * all + i] : 0.0);
    rf_constraints_fold_rt(held->mesh->constraints, total);
    rf_solid_gather(held, total, b->part + k * free);
  }
  RF_TRY(rf_cholesky_solve(b->factor, b->run, count, b->part, b->part, err));
  for (int k = 0; k < count; ++k)
    for (int32_t i = 0; i < held->n_free; ++i)
      memcpy(u + k * all + 3 * (int64_t)held->free[i], b->part + k * free + 3 * (int64_t)i,
             3 * sizeof *u);
  for (int k = 0; k < count; ++k) rf_constraints_fill_rt(held->mesh->constraints, u + k * all);
done:
  return st;
}

// The fields of the parameters, one group at a time, and the forces on all parameters.
static rf_status make_linear(rf_control_build *b, rf_error *err) {
  rf_status st = RF_OK;
  rf_control *c = b->control;
  const int64_t all = 3 * (int64_t)b->solid->mesh->n_nodes, row = 3 * (int64_t)c->n_surface;
  double *u = NULL, *forces = NULL, *unit = NULL;
  RF_ALLOC(u, P * all);
  RF_ALLOC(forces, c->n_parameters);
  RF_ALLOC(unit, c->n_parameters);
  RF_ALLOC(c->matrix, (int64_t)c->n_parameters * c->ld);
  for (int32_t g = 0; g < c->n_groups; ++g) {
    memset(u, 0, (size_t)(P * all) * sizeof *u);
    for (int k = 0; k < P; ++k) {
      unit[P * g + k] = 1.0;
      rf_control_prescribe(b, unit, u + k * all);
      unit[P * g + k] = 0.0;
    }
    RF_TRY(rf_control_respond(b, P, NULL, u, err));
    for (int k = 0; k < P; ++k) {
      const int32_t column = P * g + k;
      rf_control_sample(b, u + k * all, b->surface + column * row);
      RF_TRY(rf_solid_block_multiply(b->solid, b->run, b->blocks, 1, u + k * all, b->load, err));
      rf_control_gather(b, b->load, forces);
      for (int32_t i = 0; i < c->n_parameters; ++i)
        c->matrix[(int64_t)i * c->ld + column] = forces[i];
    }
    RF_TRY(rf_run_progress(b->run, g + 1, c->n_groups + (c->order > 1), err));
  }
  for (int32_t i = 0; i < c->n_parameters; ++i)
    for (int32_t j = 0; j < i; ++j) {
      double *const below = c->matrix + (int64_t)i * c->ld + j;
      double *const above = c->matrix + (int64_t)j * c->ld + i;
      *below = *above = 0.5 * (*below + *above);
    }
done:
  rf_free(u);
  rf_free(forces);
  rf_free(unit);
  return st;
}

// The rank of the forces on the handles, with M times the size of a handle as its unit.
static rf_status make_rank(rf_control *c, rf_error *err) {
  rf_status st = RF_OK;
  const int n = P * c->n_handles, lwork = 1 + 6 * n + 2 * n * n, liwork = 3 + 5 * n;
  double *a = NULL, *values = NULL, *work = NULL;
  int *iwork = NULL, info = 0;
  RF_ALLOC(a, (int64_t)n * n);
  RF_ALLOC(values, n);
  RF_ALLOC(work, lwork);
  RF_ALLOC(iwork, liwork);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      double value = c->matrix[(int64_t)i * c->ld + j];
      for (int side = 0; side < 2; ++side) {
        const int k = side ? j : i;
        const rf_control_group *g = c->group + k / P;
        const double trace = g->moment[0] + g->moment[4] + g->moment[8];
        if (k % P >= 3) value /= sqrt(trace / g->count);
      }
      a[(int64_t)i * n + j] = value;
    }
  rf_blas_serial_begin();
  dsyevd_("N", "L", &n, a, &n, values, work, &lwork, iwork, &liwork, &info);
  rf_blas_serial_end();
  if (info != 0) {
    st = rf_fail(err, RF_ERR_NO_CONVERGENCE, "eigenvalues of the forces on handles not found");
    goto done;
  }
  for (int i = 0; i < n; ++i) c->rank += values[i] > RANK * values[n - 1];
done:
  rf_free(a);
  rf_free(values);
  rf_free(work);
  rf_free(iwork);
  return st;
}

// Packs the fields and the rest places of the surface into tiles.
static rf_status make_tiles(rf_control_build *b, rf_error *err) {
  rf_status st = RF_OK;
  rf_control *c = b->control;
  const int32_t tile = rf_control_tile(c->single), tiles = rf_control_tiles(c);
  const int64_t row = 3 * (int64_t)c->n_surface;
  float *single = NULL;
  double *twice = NULL;
  RF_ALLOC(c->arm, 3 * (int64_t)tiles * tile);
  if (c->single)
    RF_ALLOC(single, 3 * (int64_t)tiles * tile * c->n_fields);
  else
    RF_ALLOC(twice, 3 * (int64_t)tiles * tile * c->n_fields);
  c->fields = c->single ? (void *)single : (void *)twice;
  for (int32_t k = 0; k < c->n_surface; ++k)
    for (int i = 0; i < 3; ++i) {
      const int32_t at = k / tile;
      c->arm[(3 * (int64_t)at + i) * tile + k % tile] =
          b->solid->mesh->nodes[3 * (int64_t)b->set->surface[k] + i] - c->centre[i];
      for (int32_t f = 0; f < c->n_fields; ++f) {
        const double value = b->surface[f * row + 3 * (int64_t)k + i];
        const int64_t to = (3 * ((int64_t)at * c->n_fields + f) + i) * tile + k % tile;
        if (c->single)
          single[to] = (float)value;
        else
          twice[to] = value;
      }
    }
done:
  return st;
}

rf_status rf_control_create(const rf_solid *solid, const rf_control_settings *set,
                            const rf_run *run, rf_control **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_control_build b = {.solid = solid, .set = set, .run = run};
  *out = NULL;
  RF_TRY(rf_control_build_begin(&b, err));
  rf_control *c = b.control;
  c->n_relative = c->order > 1 ? 6 * (c->n_groups - 1) : 0;
  c->n_fields = c->n_parameters + rf_control_products(c->order, c->n_relative);
  RF_ALLOC(b.surface, (int64_t)c->n_fields * 3 * c->n_surface);
  RF_TRY(make_linear(&b, err));
  RF_TRY(make_rank(c, err));
  if (c->order > 1) RF_TRY(rf_control_build_series(&b, err));
  RF_TRY(make_tiles(&b, err));
  *out = b.control;
  b.control = NULL;
done:
  rf_control_build_end(&b);
  return st;
}

void rf_control_free(rf_control *c) {
  if (!c) return;
  rf_free(c->group);
  rf_free(c->matrix);
  rf_free(c->fields);
  rf_free(c->arm);
  rf_free(c->to_relative);
  rf_free(c->gauge);
  rf_free(c->product_forces);
  rf_free(c);
}

int64_t rf_control_bytes(const rf_control *c) {
  return (int64_t)rf_control_tiles(c) * c->n_fields * 3 * RF_CONTROL_TILE_BYTES;
}

// The terms are in the first of the lanes, whose others are zero.
rf_status rf_control_terms(const rf_solid *solid, const rf_control_settings *set, const rf_run *run,
                           const double *c, int32_t terms, double *u, rf_error *err) {
  enum { LANES = RF_CONTROL_LANES };
  rf_status st = RF_OK;
  rf_control_build b = {.solid = solid, .set = set, .run = run};
  const int64_t all = 3 * (int64_t)solid->mesh->n_nodes;
  const double *term[RF_CONTROL_MOST_TERMS];
  double *lanes = NULL, *force = NULL, *load = NULL, *parameters = NULL;
  if (terms < 1 || terms > RF_CONTROL_MOST_TERMS) {
    st = rf_fail(err, RF_ERR_ARG, "order must be between 1 and %d, got %d", RF_CONTROL_MOST_TERMS,
                 terms);
    goto done;
  }
  if (terms > 1) RF_TRY(rf_solid_require_quadratic(solid, "a series", err));
  RF_TRY(rf_control_build_begin(&b, err));
  RF_ALLOC(lanes, terms * LANES * all);
  RF_ALLOC(force, LANES * all);
  RF_ALLOC(load, all);
  RF_ALLOC(parameters, b.control->n_parameters);
  memcpy(parameters, c, (size_t)(P * set->n_handles) * sizeof *c);
  memset(u, 0, (size_t)(terms * all) * sizeof *u);
  rf_control_prescribe(&b, parameters, u);
  for (int n = 1; n <= terms; ++n) {
    double *const own = u + (n - 1) * all, *const lane = lanes + (n - 1) * LANES * all;
    if (n > 1) rf_control_series_force(solid, n, term, force);
    for (int64_t i = 0; i < all; ++i) load[i] = force[i * LANES];
    RF_TRY(rf_control_respond(&b, 1, load, own, err));
    for (int64_t i = 0; i < all; ++i) lane[i * LANES] = own[i];
    term[n - 1] = lane;
    RF_TRY(rf_run_progress(run, n, terms, err));
  }
done:
  rf_control_build_end(&b);
  rf_free(lanes);
  rf_free(force);
  rf_free(load);
  rf_free(parameters);
  return st;
}
