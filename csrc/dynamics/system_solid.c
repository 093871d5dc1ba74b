// An unreduced solid as a system: displacements (n_nodes, 3), sparse matrices.  Fixed nodes do not
// move.
#include "dynamics/system.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "dynamics/coupled_matrix.h"
#include "dynamics/prefactored.h"
#include "fem/fem.h"
#include "fem/mass_solve.h"
#include "linalg/cholesky.h"
#include "linalg/dense_rt.h"
#include "mesh/mesh.h"

typedef struct solid_system {
  rf_system base;
  const rf_solid *solid;
  double *viscosity;  // of each material, NULL: no strain-rate damping (n_materials, 2)
  double *stiffness;  // K(x), of implicit steps and where beta > 0     (entries, 3, 3)
  double *damping;    // D(x), of implicit steps                        (entries, 3, 3)
  double *product;    // of a matrix with a vector                      (n, 3)
  double *free;       // a vector over the free nodes                   (n_free, 3)
  rf_csc lower;       // matrix of a solve, over the free DOFs
  rf_cholesky *factor;
  rf_coupled_matrix coupled;           // the same where parts touch
  const rf_cholesky *used;             // factor of the last matrix
  const rf_system_coupling *coupling;  // to add to the next matrix, borrowed
  int32_t bad_column;                  // at which the last factorization failed
  const rf_system_points *added_to;    // points with blocks to add to the next matrix, borrowed
  const double *added_blocks;          // (n, 3, 3)
  double scale;            // by which the matrix of the stage is larger than the factored one
  bool has_damping;        // D is that of the last evaluation
  bool joined;             // the stiffness has its part of D already
  rf_solid_mass mass;      // of explicit steps
  rf_prefactored *inside;  // of those with damping inside; else NULL
  // of products with many vectors
  rf_csc free_mass;  // lower triangle over the free nodes
  double *lanes;     // groups of vectors, and of products; zero at fixed nodes  (2, groups, n, 8)
  int32_t groups;
} solid_system;

static solid_system *self(rf_system *s) { return (solid_system *)s; }

static void release(rf_system *base) {
  solid_system *s = self(base);
  double *const blocks[] = {s->viscosity, s->stiffness, s->damping, s->product, s->free};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; ++i) rf_free(blocks[i]);
  rf_csc_free(&s->lower);
  rf_cholesky_free(s->factor);
  rf_coupled_matrix_release(&s->coupled);
  rf_solid_mass_release(&s->mass);
  rf_prefactored_free(s->inside);
  rf_csc_free(&s->free_mass);
  rf_free(s->lanes);
  rf_free(s);
}

static rf_status check(const rf_system *base, const double *x, const char *name, rf_error *err) {
  const rf_solid *solid = ((const solid_system *)base)->solid;
  for (int32_t i = 0; i < solid->n_fixed; ++i)
    for (int32_t c = 0; c < 3; ++c) {
      const double value = x[3 * (int64_t)solid->fixed[i] + c];
      if (!(value == 0.0))
        return rf_fail(err, RF_ERR_ARG, "%s[%d, %d] is %g, but node %d is fixed: it must be 0",
                       name, solid->fixed[i], c, value, solid->fixed[i]);
    }
  return rf_constraints_require(solid->mesh->constraints, solid->mesh->n_nodes, x, name, err);
}

static rf_status evaluate(rf_system *base, const double *x, bool tangent, double *energy,
                          double *force) {
  solid_system *s = self(base);
  // damping multiplies by the stiffness, or adds to it; factorizations read the upper triangle
  const bool whole = base->damping_stiff > 0.0 || s->viscosity;
  double *stiffness = tangent || base->damping_stiff > 0.0 ? s->stiffness : NULL;
  s->joined = s->has_damping = false;
  return (whole ? rf_solid_evaluate : rf_solid_evaluate_upper)(s->solid, base->run, x, energy,
                                                               force, stiffness, base->err);
}

static rf_status make_definite(rf_system *base, const double *x) {
  solid_system *s = self(base);
  s->joined = false;
  return rf_solid_evaluate_as(s->solid, base->run, RF_TANGENT_UPPER | RF_TANGENT_DEFINITE, x, NULL,
                              NULL, s->stiffness, base->err);
}

// sum += (beta K + D) v; the blocks of D are kept where steps are implicit
static rf_status damp(solid_system *s, const double *x, const double *v, double *sum) {
  const rf_system *base = &s->base;
  rf_status st = RF_OK;
  if (base->damping_stiff > 0.0) {
    RF_TRY(rf_solid_block_multiply(s->solid, base->run, s->stiffness, 1, v, s->product, base->err));
    for (int64_t d = 0; d < base->n; ++d) sum[d] += base->damping_stiff * s->product[d];
  }
  if (s->viscosity) {
    double *matrix = s->has_damping ? NULL : s->damping;
    RF_TRY(rf_solid_damping(s->solid, base->run, s->viscosity, x, v, NULL, s->product, matrix,
                            base->err));
    s->has_damping = true;
    for (int64_t d = 0; d < base->n; ++d) sum[d] += s->product[d];
  }
done:
  return st;
}

static rf_status balance(rf_system *base, const double *x, const double *v, const double *w,
                         const double *force, const double *load, double *out) {
  solid_system *s = self(base);
  rf_status st = RF_OK;
  if (w) {
    RF_TRY(rf_solid_mass_multiply(s->solid, base->run, 1, w, out, base->err));
    RF_TRY(damp(s, x, v, out));
    for (int64_t d = 0; d < base->n; ++d) out[d] += force[d] - load[d];
  } else {
    memcpy(out, force, (size_t)base->n * sizeof *out);
    RF_TRY(damp(s, x, v, out));
    for (int64_t d = 0; d < base->n; ++d) out[d] -= load[d];
  }
  rf_system_keep_free_rt(base, out);
done:
  return st;
}

static void add_blocks(rf_system *base, const rf_system_points *points, const double *blocks,
                       const rf_system_coupling *coupling) {
  solid_system *s = self(base);
  s->added_to = points;
  s->added_blocks = blocks;
  s->coupling = coupling;
}

// Adds a block times a factor to the rows of free node a and the columns of free node b <= a.
// RF_ERR_INTERNAL: no element has both.
static rf_status join_block(const rf_csc *to, int32_t a, int32_t b, double factor,
                            const double *block) {
  for (int c = 0; c < 3; ++c) {
    const int first = a == b ? c : 0;
    const int64_t at = rf_csc_find(to, 3 * a + first, 3 * b + c);
    if (at < 0) return RF_ERR_INTERNAL;
    // rows of a node follow each other
    for (int r = first; r < 3; ++r) to->val[at + r - first] += factor * block[3 * r + c];
  }
  return RF_OK;
}

// Adds them to the matrix: each point couples the nodes that carry it.
static rf_status join_blocks(solid_system *s) {
  static const double none[9] = {0};
  const rf_system_points *p = s->added_to;
  s->added_to = NULL;
  for (int64_t k = 0; p && k < p->n; ++k) {
    const double *block = s->added_blocks + 9 * k, *weight = p->weight + k * p->corners;
    if (memcmp(block, none, sizeof none) == 0) continue;
    for (int64_t ij = 0; ij < (int64_t)p->corners * p->corners; ++ij) {
      const int64_t i = ij / p->corners, j = ij % p->corners;
      const int32_t a = s->solid->free_of[p->node[k * p->corners + i]];
      const int32_t b = s->solid->free_of[p->node[k * p->corners + j]];
      if (b < 0 || a < b) continue;
      if (join_block(&s->lower, a, b, weight[i] * weight[j] / s->scale, block) >= 0) continue;
      s->coupling = NULL;
      return rf_fail(s->base.err, RF_ERR_INTERNAL, "contact point %d couples nodes of no element",
                     (int)k);
    }
  }
  return RF_OK;
}

// Factor of `lower` and the coupling.
static rf_status factorize_coupled(solid_system *s) {
  const rf_system_coupling *coupling = s->coupling;
  const rf_system *base = &s->base;
  const rf_csc *matrix = &s->lower;
  rf_cholesky *factor = s->factor;
  s->coupling = NULL;
  if (coupling && coupling->n_pairs > 0) {
    const rf_status st =
        rf_coupled_matrix_fill(&s->coupled, &s->lower, s->solid, coupling, base->err);
    if (st < 0) return st;
    matrix = &s->coupled.lower;
    factor = s->coupled.factor;
  }
  if (coupling) rf_coupled_matrix_add(coupling, s->solid->free_of, 1.0 / s->scale, matrix);
  s->used = factor;
  return rf_cholesky_factorize(factor, base->run, matrix, &s->bad_column, base->err);
}

// The matrix is factored over its factor of K, which saves a pass over the stiffness.
static rf_status factorize(rf_system *base, double mass, double stiffness, double damping,
                           const double *added) {
  solid_system *s = self(base);
  const int64_t entries = 9 * (int64_t)s->solid->graph.ptr[s->solid->mesh->n_nodes];
  if (added) return RF_ERR_INTERNAL;
  s->scale = stiffness > 0.0 ? stiffness : 1.0;
  if (s->damping && damping != 0.0 && !s->joined)
    for (int64_t i = 0; i < entries; ++i) s->stiffness[i] += damping / s->scale * s->damping[i];
  s->joined = s->joined || damping != 0.0;
  rf_solid_free_fill(s->solid, mass / s->scale, stiffness > 0.0 ? s->stiffness : NULL, &s->lower);
  const rf_status st = join_blocks(s);
  return st < 0 ? st : factorize_coupled(s);
}

static rf_status solve(rf_system *base, const double *b, double *x) {
  solid_system *s = self(base);
  rf_solid_gather(s->solid, b, s->free);
  const rf_status st = rf_cholesky_solve(s->used, base->run, 1, s->free, s->free, base->err);
  if (st < 0) return st;
  for (int64_t i = 0; i < 3 * (int64_t)s->solid->n_free; ++i) s->free[i] /= s->scale;
  rf_solid_scatter(s->solid, s->free, x);
  return RF_OK;
}

static rf_status mass_solve(rf_system *base, const double *b, double *x) {
  return rf_solid_mass_solve(&self(base)->mass, base->run, b, x, base->err);
}

static rf_status damp_inside(rf_system *base, const double *v, double *out) {
  return rf_prefactored_multiply(self(base)->inside, base->run, v, out, base->err);
}

static rf_status damped_response(rf_system *base, double dt_s, int32_t i, double *x) {
  return rf_prefactored_respond(self(base)->inside, base->run, dt_s, i / 3, x, base->err);
}

static rf_status damped_solve(rf_system *base, double dt_s, const double *b, double *x) {
  return rf_prefactored_solve(self(base)->inside, base->run, dt_s, b, x, &base->iterations,
                              base->err);
}

static double farthest(const rf_system *base, const double *x) {
  const rf_solid *solid = ((const solid_system *)base)->solid;
  return rf_system_largest_stretch(solid->mesh, x);
}

// Fills the blocks below the diagonal, which an evaluation for a factorization leaves out.
static void mirror(const rf_solid *s, double *blocks) {
  for (int32_t i = 0; i < s->mesh->n_nodes; ++i)
    for (int32_t p = s->graph.ptr[i]; p < s->graph.ptr[i + 1] && s->graph.col[p] < i; ++p) {
      const double *above = blocks + 9 * (int64_t)s->mirror[p];
      for (int k = 0; k < 9; ++k) blocks[9 * (int64_t)p + k] = above[3 * (k % 3) + k / 3];
    }
}

static rf_status multiply(rf_system *base, const double *x, double *out) {
  const solid_system *s = self(base);
  mirror(s->solid, s->stiffness);
  return rf_solid_block_multiply(s->solid, base->run, s->stiffness, 1, x, out, base->err);
}

static rf_status reserve(rf_system *base, int32_t most, rf_error *err) {
  solid_system *s = self(base);
  rf_status st = RF_OK;
  s->groups = (most + RF_SOLID_LANES - 1) / RF_SOLID_LANES;
  RF_ALLOC(s->lanes, 2 * RF_SOLID_LANES * (int64_t)s->groups * base->n);
  RF_TRY(rf_solid_free_mass(s->solid, &s->free_mass, err));
done:
  return st;
}

static rf_status mass_block(rf_system *base, int32_t count, const double *x, double *y) {
  return rf_csc_symmetric_multiply(&self(base)->free_mass, base->run, 3, count, x, y, base->err);
}

// Copies a vector over the free nodes to a lane of a group, or back.
static void to_lane(const rf_solid *s, const double *free, double *lane) {
  for (int64_t i = 0; i < s->n_free; ++i)
    for (int64_t c = 0; c < 3; ++c)
      lane[RF_SOLID_LANES * (3 * (int64_t)s->free[i] + c)] = free[3 * i + c];
}
static void from_lane(const rf_solid *s, const double *lane, double *free) {
  for (int64_t i = 0; i < s->n_free; ++i)
    for (int64_t c = 0; c < 3; ++c)
      free[3 * i + c] = lane[RF_SOLID_LANES * (3 * (int64_t)s->free[i] + c)];
}

static rf_status stiffness_block(rf_system *base, int32_t count, const double *x, double *y) {
  solid_system *s = self(base);
  const int64_t n_free = 3 * (int64_t)s->solid->n_free, group = RF_SOLID_LANES * (int64_t)base->n;
  const int32_t groups = (count + RF_SOLID_LANES - 1) / RF_SOLID_LANES;
  double *const product = s->lanes + s->groups * group;
  if (groups > s->groups) return RF_ERR_INTERNAL;
  mirror(s->solid, s->stiffness);
  for (int32_t k = 0; k < count; ++k)
    to_lane(s->solid, x + k * n_free, s->lanes + k / RF_SOLID_LANES * group + k % RF_SOLID_LANES);
  const rf_status st = rf_solid_block_multiply_lanes(s->solid, base->run, s->stiffness, groups,
                                                     s->lanes, product, base->err);
  for (int32_t k = 0; k < count; ++k)
    from_lane(s->solid, product + k / RF_SOLID_LANES * group + k % RF_SOLID_LANES, y + k * n_free);
  return st;
}

static rf_status solve_block(rf_system *base, int32_t count, const double *x, double *y) {
  const solid_system *s = self(base);
  const rf_status st = rf_cholesky_solve(s->used, base->run, count, x, y, base->err);
  const int64_t all = count * 3 * (int64_t)s->solid->n_free;
  for (int64_t i = 0; i < all; ++i) y[i] /= s->scale;
  return st;
}

static double rounding(const rf_system *base, const double *x) {
  const rf_solid *s = ((const solid_system *)base)->solid;
  const double *blocks = ((const solid_system *)base)->stiffness;
  double sum = 0.0;
  for (int32_t k = 0; k < s->n_free; ++k)
    for (int r = 0; r < 3; ++r) {
      double row = 0.0;
      for (int32_t p = s->graph.ptr[s->free[k]]; p < s->graph.ptr[s->free[k] + 1]; ++p) {
        // below the diagonal stands the transposed block of the other triangle
        const bool below = s->graph.col[p] < s->free[k];
        const double *B = blocks + 9 * (int64_t)(below ? s->mirror[p] : p) + (below ? r : 3 * r);
        for (int c = 0; c < 3; ++c)
          row += fabs(B[below ? 3 * c : c] * x[3 * (int64_t)s->graph.col[p] + c]);
      }
      sum += row * row;
    }
  return DBL_EPSILON * sqrt(sum);
}

static double stiffness_per_mass(const rf_system *base) {
  const rf_solid *s = ((const solid_system *)base)->solid;
  const double *blocks = ((const solid_system *)base)->stiffness;
  double stiffness = 0.0, mass = 0.0;
  for (int32_t k = 0; k < s->n_free; ++k)
    for (int32_t p = s->graph.ptr[s->free[k]]; p < s->graph.ptr[s->free[k] + 1]; ++p)
      if (s->graph.col[p] == s->free[k]) {
        for (int i = 0; i < 3; ++i) stiffness += fabs(blocks[9 * (int64_t)p + 4 * i]);
        mass += 3.0 * s->mass[p];
      }
  return stiffness / mass;
}

static rf_status require_defined(rf_system *base, const double *x, const char *subject,
                                 rf_error *err) {
  return rf_solid_require_defined(self(base)->solid, x, subject, err);
}

static rf_status explain_singular(const rf_system *base, rf_error *err) {
  const solid_system *s = (const solid_system *)base;
  const int32_t node = s->solid->free[s->bad_column / 3];
  const double *x = s->solid->mesh->nodes + 3 * (int64_t)node;
  return rf_fail(
      err, RF_ERR_SINGULAR,
      "the stiffness at rest is singular at node %d (%g, %g, %g): a part of the solid can "
      "move without strain, for example swing about an edge or a node by which alone it "
      "hangs on the rest; connect the parts through faces, or fix nodes of each part",
      node, x[0], x[1], x[2]);
}

static const rf_system_blocks BLOCKS = {
    .reserve = reserve, .mass = mass_block, .stiffness = stiffness_block, .solve = solve_block};
static const rf_system_operations OPERATIONS = {.evaluate = evaluate,
                                                .make_definite = make_definite,
                                                .balance = balance,
                                                .factorize = factorize,
                                                .add_blocks = add_blocks,
                                                .solve = solve,
                                                .mass_solve = mass_solve,
                                                .damp = damp_inside,
                                                .damped_solve = damped_solve,
                                                .damped_response = damped_response,
                                                .farthest = farthest,
                                                .multiply = multiply,
                                                .rounding = rounding,
                                                .blocks = &BLOCKS,
                                                .stiffness_per_mass = stiffness_per_mass};
static const rf_system_life LIFE = {.release = release,
                                    .check = check,
                                    .require_defined = require_defined,
                                    .explain_singular = explain_singular};

rf_status rf_system_solid(const void *of, const rf_run *run, const rf_system_damping *damping,
                          rf_system_steps steps, rf_system **out, rf_error *err) {
  const bool explicit_steps = steps != RF_STEPS_IMPLICIT;
  const bool inside = damping->inside_s > 0.0 && (damping->stiffness > 0.0 || damping->viscosity);
  const rf_solid *solid = of;
  rf_status st = RF_OK;
  solid_system *s = NULL;
  const int32_t n = 3 * solid->mesh->n_nodes;
  const int64_t entries = 9 * (int64_t)solid->graph.ptr[solid->mesh->n_nodes];
  *out = NULL;
  RF_TRY(rf_system_damping_check(damping, err));
  if (damping->strain_rate)
    return rf_fail(err, RF_ERR_ARG, "a solid takes viscosities, but no reduced damping");
  RF_ALLOC(s, 1);
  s->base = (rf_system){.operations = &OPERATIONS,
                        .life = &LIFE,
                        .model = solid,
                        .n = n,
                        .fixed = solid->fixed,
                        .n_fixed = solid->n_fixed,
                        .constraints = solid->mesh->constraints,
                        .ld = ((int64_t)n + RF_DENSE_PAD - 1) / RF_DENSE_PAD * RF_DENSE_PAD,
                        .damping_mass = inside ? 0.0 : damping->mass,
                        .damping_stiff = inside ? 0.0 : damping->stiffness,
                        .length_m = rf_mesh_length(solid->mesh->n_nodes, solid->mesh->nodes),
                        .cubic_force = rf_solid_is_quadratic(solid),
                        .explicit_steps = explicit_steps,
                        .own_damping = !inside && damping->viscosity != NULL,
                        .inside = inside,
                        .factor_is_dear = true,
                        .simd = solid->simd};
  s->solid = solid;
  RF_ALLOC(s->product, n);
  if (damping->viscosity) RF_TRY(rf_viscosity_check(solid->n_materials, damping->viscosity, err));
  if (damping->viscosity && !inside) {
    RF_ALLOC(s->viscosity, 2 * (int64_t)solid->n_materials);
    memcpy(s->viscosity, damping->viscosity, 2 * (size_t)solid->n_materials * sizeof(double));
  }
  if (steps != RF_STEPS_EXPLICIT || s->base.damping_stiff > 0.0) RF_ALLOC(s->stiffness, entries);
  if (explicit_steps) {
    const bool lumped = steps == RF_STEPS_EXPLICIT && rf_solid_steps_lumped(solid);
    RF_TRY(rf_solid_mass_init(&s->mass, solid, run, lumped, err));
    if (inside && solid->n_free > 0)
      RF_TRY(rf_prefactored_create(solid, run, damping, lumped, &s->inside, err));
  } else if (solid->n_free > 0) {
    if (damping->viscosity) RF_ALLOC(s->damping, entries);
    RF_ALLOC(s->free, 3 * (int64_t)solid->n_free);
    RF_TRY(rf_solid_free_pattern(solid, &s->lower, err));
    RF_TRY(rf_solid_factor_create(solid, &s->lower, &s->factor, err));
    s->used = s->factor;
  }
  *out = &s->base;
  s = NULL;
done:
  if (s) release(&s->base);
  return st;
}
