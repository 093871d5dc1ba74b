// Assembly: runs the element kernels and sums their results.
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "fem/constrained.h"
#include "fem/ghost.h"
#include "fem/kernels.h"

// with fewer elements a thread costs more than it saves
enum { ELEMENTS_PER_SLAB = 1000 };

static int slab_count(const rf_solid *s, const rf_run *run) {
  const int32_t most = s->mesh->n_elements / ELEMENTS_PER_SLAB;
  return most < 1 ? 1 : most < run->threads ? (int)most : run->threads;
}

// Ranks of the nodes that slab k of `slabs` owns: [low, high).
typedef struct slab {
  int32_t low, high;
} slab;

static slab slab_of(const rf_solid *s, int64_t k, int64_t slabs) {
  const int64_t n = s->mesh->n_nodes;
  return (slab){(int32_t)(n * k / slabs), (int32_t)(n * (k + 1) / slabs)};
}

static inline bool owns(slab own, int32_t rank) { return rank >= own.low && rank < own.high; }

static inline bool owns_all(const rf_solid *s, slab own) {
  return own.low == 0 && own.high == s->mesh->n_nodes;
}

// Elements of one law processed together by the kernels; unused lanes repeat the last element.
typedef struct batch {
  int32_t next;  // place after these elements
  int count;     // without unused lanes
  int law;       // of all its elements
  int32_t place[RF_MAX_LANES];
} batch;

// Finds the next batch with an element that touches the slab; false if there is none.
static bool next_batch(const rf_solid *s, slab own, batch *b) {
  const int lanes = rf_solid_lanes(s);
  for (bool touches = false; !touches;) {
    const int32_t first = b->next;
    // ranks of first elements ascend: no later element touches the slab
    if (first >= s->n_places || s->rank_lo[first] >= own.high) return false;
    b->count = lanes;
    while (s->visit[first + b->count - 1] < 0) --b->count;
    b->next += lanes;
    b->law = rf_law_index(s->material[s->element_material[s->visit[first]]].law);
    for (int l = 0; l < lanes; ++l) {
      b->place[l] = first + (l < b->count ? l : b->count - 1);
      touches = touches || s->rank_hi[b->place[l]] >= own.low;
    }
  }
  return true;
}

// Adds the forces of the lanes of a batch, with strides `lanes`. `nodes` and `all` are constants
// after inlining.
static inline void add_some(const int nodes, const bool all, const rf_solid *s, slab own,
                            const batch *b, const double *lane, double *force) {
  const int lanes = rf_solid_lanes(s);
  for (int l = 0; l < b->count; ++l) {
    const int32_t *element = s->corners + (int64_t)b->place[l] * nodes;
    for (int a = 0; a < nodes; ++a) {
      if (!all && !owns(own, s->rank[element[a]])) continue;
      double *to = force + 3 * (int64_t)element[a];
      for (int i = 0; i < 3; ++i) to[i] += lane[(3 * a + i) * lanes + l];
    }
  }
}

static void add_forces(const rf_solid *s, slab own, const batch *b, const double *lane,
                       double *force) {
  const int nodes = (int)s->mesh->type;
  if (!owns_all(s, own))
    add_some(nodes, false, s, own, b, lane, force);
  else if (nodes == 4)
    add_some(4, true, s, own, b, lane, force);
  else
    add_some(nodes, true, s, own, b, lane, force);
}

// Disables targets owned by other slabs, and those of unused lanes.
static void keep_own(const rf_solid *s, slab own, const batch *b, rf_lane_targets *t) {
  const int nodes = (int)s->mesh->type, pairs = nodes * (nodes + 1) / 2, lanes = rf_solid_lanes(s);
  const int64_t unused = (int64_t)(intptr_t)t->unused;
  for (int l = b->count; l < lanes; ++l)
    for (int k = 0; k < pairs; ++k) t->to[k * lanes + l] = unused;
  if (owns_all(s, own)) return;
  for (int l = 0; l < b->count; ++l) {
    const int32_t *element = s->corners + (int64_t)b->place[l] * nodes;
    int at = l;
    for (int i = 0; i < nodes; ++i)
      for (int j = i; j < nodes; ++j, at += lanes)
        if (!owns(own, s->rank[element[t->turned[at] ? j : i]])) t->to[at] = unused;
  }
}

typedef struct evaluation {
  const rf_solid *solid;
  rf_kernels kernels[RF_LAW_COUNT];
  int slabs;
  const double *u;
  const double *v, *viscosity;  // NULL: elastic
  double *energy;               // (places), nullable; for damping the power
  double *force, *tangent;
  bool upper;     // compute only the diagonal and the blocks above it
  bool definite;  // project the Hessians of points
} evaluation;

static void clear_rows(const evaluation *j, int32_t first, int32_t end) {
  const rf_solid *s = j->solid;
  for (int32_t k = first; k < end; ++k) {
    const int32_t i = s->by_rank[k];
    if (j->force) memset(j->force + 3 * (int64_t)i, 0, 3 * sizeof *j->force);
    if (!j->tangent) continue;
    const int64_t from = s->diagonal[i], to = s->graph.ptr[i + 1];
    memset(j->tangent + 9 * from, 0, (size_t)(9 * (to - from)) * sizeof(double));
  }
}

// Copies the complete rows of ranks [first, end) to the columns below the diagonal, for bitwise
// symmetry.  Only the owner of a row writes to its column.
static void mirror_rows(const evaluation *job, int32_t first, int32_t end) {
  const rf_solid *s = job->solid;
  for (int32_t k = first; k < end; ++k) {
    const int32_t i = s->by_rank[k];
    int32_t p = s->diagonal[i];
    // the diagonal block is symmetric up to rounding
    double *to = job->tangent + 9 * (int64_t)p;
    for (int r = 1; r < 3; ++r)
      for (int c = 0; c < r; ++c) to[3 * r + c] = to[3 * c + r];
    while (++p < s->graph.ptr[i + 1]) {
      const double *from = job->tangent + 9 * (int64_t)p;
      double *mirror = job->tangent + 9 * (int64_t)s->mirror[p];
      for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 3; ++c) mirror[3 * r + c] = from[3 * c + r];
    }
  }
}

static rf_status evaluate_slab(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const evaluation *j = context;
  const rf_solid *s = j->solid;
  const slab own = slab_of(s, task, j->slabs);
  const bool whole = j->tangent && !j->upper;
  rf_lane_targets places = {0}, *const targets = j->tangent ? &places : NULL;
  rf_lane_results out;

  // one sweep: rows are cleared before their first element and mirrored after their last
  int32_t cleared = own.low, mirrored = own.low;
  batch b = {.next = 0};
  while (next_batch(s, own, &b)) {
    int32_t reach = cleared;
    for (int l = 0; l < b.count; ++l)
      reach = s->rank_hi[b.place[l]] >= reach ? s->rank_hi[b.place[l]] + 1 : reach;
    reach = reach < own.high ? reach : own.high;
    clear_rows(j, cleared, reach);
    cleared = reach;

    if (targets) {
      j->kernels[b.law].find(s, b.place[0], j->tangent, targets);
      keep_own(s, own, &b, targets);
    }
    if (j->viscosity)
      j->kernels[b.law].viscous(s, j->viscosity, b.place, j->u, j->v, targets, &out);
    else
      j->kernels[b.law].elastic(s, b.place, j->u, targets, &out);
    if (targets && j->definite) j->kernels[b.law].definite(s, b.place, j->u, targets);
    for (int l = 0; l < b.count && j->energy; ++l)
      if (owns(own, s->rank_lo[b.place[l]])) j->energy[b.place[l]] = out.energy[l];
    if (j->force) add_forces(s, own, &b, out.force, j->force);
    const int32_t left = b.next < s->n_places ? s->rank_lo[b.next] : own.high;
    const int32_t complete = left < own.high ? left : own.high;
    if (whole && complete > mirrored) {
      mirror_rows(j, mirrored, complete);
      mirrored = complete;
    }
  }
  if (whole) mirror_rows(j, mirrored, own.high);
  return RF_OK;
}

static rf_status run_evaluation(evaluation *job, const rf_run *run, double *sum, rf_error *err) {
  const rf_solid *s = job->solid;
  rf_status st = RF_OK;
  double *rest = NULL;
  rf_kernels_for(s, job->kernels);
  job->slabs = slab_count(s, run);
  if (!job->u || (job->viscosity && !job->v)) RF_ALLOC(rest, 3 * (int64_t)s->mesh->n_nodes);
  if (!job->u) job->u = rest;
  if (!job->v) job->v = rest;
  if (sum) RF_ALLOC(job->energy, s->n_places);
  RF_TRY(rf_run_tasks(run, job->slabs, 0, evaluate_slab, job, err));
  if (sum) {
    *sum = 0.0;
    for (int32_t k = 0; k < s->n_places; ++k) *sum += job->energy[k];
  }
done:
  rf_free(rest);
  rf_free(job->energy);
  return st;
}

// Evaluates the elements of a solid with constrained nodes, and folds the results.
static rf_status run_constrained(const evaluation *wanted, const rf_run *run, double *sum,
                                 rf_error *err) {
  rf_status st = RF_OK;
  const rf_solid *s = wanted->solid, *elements = s->constrained->elements;
  evaluation job = *wanted;
  double *u = NULL, *v = NULL, *blocks = NULL;
  RF_TRY(rf_constrained_copy(s, wanted->u, &u, err));
  RF_TRY(rf_constrained_copy(s, wanted->v, &v, err));
  if (wanted->tangent) RF_ALLOC(blocks, 9 * (int64_t)elements->graph.ptr[elements->graph.n]);
  job.solid = elements;
  if (u) job.u = u;
  if (v) job.v = v;
  job.tangent = blocks;
  job.upper = true;  // folding reads the upper triangle
  RF_TRY(run_evaluation(&job, run, sum, err));
  if (!wanted->viscosity)
    RF_TRY(rf_solid_add_ghosts(elements, run, u ? u : wanted->u, sum, wanted->force, blocks, true,
                               err));
  if (wanted->force) rf_constraints_fold_rt(s->mesh->constraints, wanted->force);
  if (blocks)
    RF_TRY(
        rf_constrained_fold_blocks(s, run, blocks, wanted->upper, 0, NULL, wanted->tangent, err));
done:
  rf_free(u);
  rf_free(v);
  rf_free(blocks);
  return st;
}

rf_status rf_solid_evaluate_as(const rf_solid *s, const rf_run *run, unsigned kind, const double *u,
                               double *energy, double *force, double *tangent, rf_error *err) {
  const bool upper = kind & RF_TANGENT_UPPER;
  evaluation job = {.solid = s,
                    .u = u,
                    .force = force,
                    .tangent = tangent,
                    .upper = upper,
                    .definite = kind & RF_TANGENT_DEFINITE};
  if (s->constrained) return run_constrained(&job, run, energy, err);
  const rf_status st = run_evaluation(&job, run, energy, err);
  return st < 0 ? st : rf_solid_add_ghosts(s, run, u, energy, force, tangent, upper, err);
}

rf_status rf_solid_evaluate(const rf_solid *s, const rf_run *run, const double *u, double *energy,
                            double *force, double *tangent, rf_error *err) {
  return rf_solid_evaluate_as(s, run, 0, u, energy, force, tangent, err);
}

rf_status rf_solid_evaluate_upper(const rf_solid *s, const rf_run *run, const double *u,
                                  double *energy, double *force, double *tangent, rf_error *err) {
  return rf_solid_evaluate_as(s, run, RF_TANGENT_UPPER, u, energy, force, tangent, err);
}

rf_status rf_viscosity_check(int32_t n_materials, const double *viscosity, rf_error *err) {
  for (int32_t m = 0; m < n_materials; ++m) {
    const double phi = viscosity[2 * (int64_t)m], psi = viscosity[2 * (int64_t)m + 1];
    if (!(isfinite(phi) && isfinite(psi) && psi >= 0.0 && 3.0 * phi + 2.0 * psi >= 0.0))
      return rf_fail(err, RF_ERR_ARG,
                     "phi = %g, psi = %g of material %d would add energy: psi and 3 phi + 2 psi "
                     "must be finite and >= 0",
                     phi, psi, m);
  }
  return RF_OK;
}

rf_status rf_solid_damping(const rf_solid *s, const rf_run *run, const double *viscosity,
                           const double *u, const double *v, double *power, double *force,
                           double *matrix, rf_error *err) {
  evaluation job = {
      .solid = s, .u = u, .v = v, .viscosity = viscosity, .force = force, .tangent = matrix};
  if (s->constrained) return run_constrained(&job, run, power, err);
  return run_evaluation(&job, run, power, err);
}

typedef struct products {
  const rf_solid *solid;
  rf_kernels kernels[RF_LAW_COUNT];
  int slabs;
  const double *const *a;
  const double *const *b;
  double *const *out;
} products;

static rf_status product_slab(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const products *j = context;
  const rf_solid *s = j->solid;
  const int64_t p = task / j->slabs;
  const slab own = slab_of(s, task % j->slabs, j->slabs);
  _Alignas(64) double lane[RF_MAX_NODES * 3 * RF_MAX_LANES];
  for (int32_t k = own.low; k < own.high; ++k)
    memset(j->out[p] + 3 * (int64_t)s->by_rank[k], 0, 3 * sizeof(double));
  batch b = {.next = 0};
  while (next_batch(s, own, &b)) {
    j->kernels[b.law].hessian(s, b.place, j->a[p], j->b[p], lane);
    add_forces(s, own, &b, lane, j->out[p]);
  }
  return RF_OK;
}

rf_status rf_solid_hessian_product(const rf_solid *s, const rf_run *run, int32_t n_products,
                                   const double *const *a, const double *const *b,
                                   double *const *out, rf_error *err) {
  if (n_products < 0)
    return rf_fail(err, RF_ERR_ARG, "n_products must not be negative, got %d", n_products);
  const rf_solid *elements = s->constrained ? s->constrained->elements : s;
  products job = {.solid = elements,
                  // many products are one task each; a few are cut into slabs
                  .slabs = n_products >= 2 * run->threads ? 1 : slab_count(s, run),
                  .a = a,
                  .b = b,
                  .out = out};
  rf_kernels_for(s, job.kernels);
  const rf_status st =
      rf_run_tasks(run, (int64_t)n_products * job.slabs, n_products > 1, product_slab, &job, err);
  for (int32_t p = 0; p < n_products && st >= 0; ++p)
    rf_constraints_fold_rt(s->mesh->constraints, out[p]);
  return st;
}
