// Assembly: runs the element kernels and adds up what they give.
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "fem/ghost.h"
#include "fem/kernels.h"

#if defined(__GNUC__)
#define RF_PREFETCH(address, to_write) __builtin_prefetch(address, to_write)
#else
#define RF_PREFETCH(address, to_write) ((void)(address))
#endif

// below this many elements a thread costs more than it brings
enum { ELEMENTS_PER_SLAB = 1000 };

// two doubles anywhere: compilers do not vectorise sums of nine by themselves
typedef double two __attribute__((vector_size(16), aligned(8), may_alias));

static int slab_count(const rf_solid *s, const rf_run *run) {
  const int32_t most = s->mesh->n_elements / ELEMENTS_PER_SLAB;
  return most < 1 ? 1 : most < run->threads ? (int)most : run->threads;
}

// ranks of the nodes that slab k of `slabs` owns: [low, high)
typedef struct slab {
  int32_t low, high;
} slab;

static slab slab_of(const rf_solid *s, int64_t k, int64_t slabs) {
  const int64_t n = s->mesh->n_nodes;
  return (slab){(int32_t)(n * k / slabs), (int32_t)(n * (k + 1) / slabs)};
}

static inline bool owns(slab own, int32_t rank) { return rank >= own.low && rank < own.high; }

// Places of the next elements touching the slab, from *at on; lanes left over repeat
// the last one.  Returns how many are new.
static int next_batch(const rf_solid *s, slab own, int lanes, int32_t *at, int32_t *batch) {
  int count = 0;
  for (; count < lanes && *at < s->mesh->n_elements; ++*at) {
    if (s->rank_lo[*at] >= own.high) break;  // and so are all that follow
    if (s->rank_hi[*at] >= own.low) batch[count++] = *at;
  }
  for (int l = count; count > 0 && l < lanes; ++l) batch[l] = batch[count - 1];
  return count;
}

static void add_force(const rf_solid *s, slab own, int32_t place, const double *lane, int lanes,
                      double *force) {
  const int nodes = (int)s->mesh->type;
  const int32_t *element = s->corners + (int64_t)place * nodes;
  for (int a = 0; a < nodes; ++a) {
    if (!owns(own, s->rank[element[a]])) continue;
    double *to = force + 3 * (int64_t)element[a];
    for (int i = 0; i < 3; ++i) to[i] += lane[(3 * a + i) * lanes];
  }
}

// Entries of the blocks of a batch, on or above the diagonal: those of the node pairs a <= b of
// each element's own numbering, lane by lane.
typedef struct targets {
  int32_t entry[RF_MAX_LANES * RF_MAX_PAIRS];  // -1: of another slab
  int32_t step[RF_MAX_LANES * RF_MAX_PAIRS];   // from column to column: 1, transposed blocks 3
} targets;

// Prefetches the scattered entries to which a batch is added while its elements are computed.
// `nodes`: a constant after inlining.
static inline void find_some(const int nodes, const rf_solid *s, int count, const int32_t *batch,
                             const double *tangent, targets *t) {
  int at = 0;
  for (int l = 0; l < count; ++l) {
    const int32_t *pair = s->pair + (int64_t)batch[l] * nodes * nodes;
    for (int a = 0; a < nodes; ++a)
      for (int b = a; b < nodes; ++b, ++at) {
        // of (i, j) and (j, i) the one above the diagonal comes first
        const int32_t one = pair[a * nodes + b], other = pair[b * nodes + a];
        t->entry[at] = one < other ? one : other;
        t->step[at] = one > other ? 3 : 1;
        const double *to = tangent + 9 * (int64_t)t->entry[at];
        RF_PREFETCH(to, 1);
        RF_PREFETCH(to + 8, 1);
      }
  }
}

static void find_targets(const rf_solid *s, slab own, int count, const int32_t *batch,
                         const double *tangent, targets *t) {
  const int nodes = (int)s->mesh->type;
  if (nodes == 4)
    find_some(4, s, count, batch, tangent, t);
  else
    find_some(nodes, s, count, batch, tangent, t);
  if (own.low == 0 && own.high == s->mesh->n_nodes) return;
  int at = 0;
  for (int l = 0; l < count; ++l) {
    const int32_t *element = s->corners + (int64_t)batch[l] * nodes;
    for (int a = 0; a < nodes; ++a)
      for (int b = a; b < nodes; ++b, ++at)
        if (!owns(own, s->rank[element[t->step[at] == 1 ? a : b]])) t->entry[at] = -1;
  }
}

// Adds the blocks of a batch.
static void add_tangents(int count, const targets *t, const double *restrict K,
                         double *restrict tangent) {
  for (int k = 0; k < count; ++k, K += 9) {
    if (t->entry[k] < 0) continue;
    const ptrdiff_t c = t->step[k], r = 4 - c;
    double *restrict to = tangent + 9 * (int64_t)t->entry[k];
    // no branch: which of two nodes comes first is not predictable
    *(two *)to += (two){K[0], K[c]};
    *(two *)(to + 2) += (two){K[2 * c], K[r]};
    *(two *)(to + 4) += (two){K[4], K[r + 2 * c]};
    *(two *)(to + 6) += (two){K[2 * r], K[2 * r + c]};
    to[8] += K[8];
  }
}

typedef struct evaluation {
  const rf_solid *solid;
  rf_kernels kernels;
  int slabs;
  const double *u;
  const double *v, *viscosity;  // NULL: elastic
  double *energy;               // (places), nullable; power of the damping
  double *force, *tangent;
  bool upper;  // leaves out what is below the diagonal
} evaluation;

// First entry of row i on or right of the diagonal.
static int32_t diagonal(const rf_solid *s, int32_t i) {
  int32_t p = s->graph.ptr[i];
  while (s->graph.col[p] < i) ++p;
  return p;
}

static void clear_rows(const evaluation *j, int32_t first, int32_t end) {
  const rf_solid *s = j->solid;
  for (int32_t k = first; k < end; ++k) {
    const int32_t i = s->by_rank[k];
    if (j->force) memset(j->force + 3 * (int64_t)i, 0, 3 * sizeof *j->force);
    if (!j->tangent) continue;
    const int64_t from = diagonal(s, i), to = s->graph.ptr[i + 1];
    memset(j->tangent + 9 * from, 0, (size_t)(9 * (to - from)) * sizeof(double));
  }
}

// Copies the complete rows of ranks [first, end) to the columns below the diagonal, symmetric to
// the bit.  Only the owner of a row writes to its column.
static void mirror_rows(const evaluation *job, int32_t first, int32_t end) {
  const rf_solid *s = job->solid;
  for (int32_t k = first; k < end; ++k) {
    const int32_t i = s->by_rank[k];
    int32_t p = diagonal(s, i);
    // the diagonal block is symmetric but for rounding
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
  const int lanes = j->kernels.lanes;
  const slab own = slab_of(s, task, j->slabs);
  const int pairs = (int)s->mesh->type * ((int)s->mesh->type + 1) / 2;
  const bool whole = j->tangent && !j->upper;
  targets places;
  rf_lane_results out;

  // one sweep: rows are cleared when the first element reaches them and mirrored when the
  // last one has left
  int32_t cleared = own.low, mirrored = own.low;
  int32_t at = 0, batch[RF_MAX_LANES];
  for (int count; (count = next_batch(s, own, lanes, &at, batch)) > 0;) {
    int32_t reach = cleared;
    for (int l = 0; l < count; ++l)
      reach = s->rank_hi[batch[l]] >= reach ? s->rank_hi[batch[l]] + 1 : reach;
    reach = reach < own.high ? reach : own.high;
    clear_rows(j, cleared, reach);
    cleared = reach;

    if (j->tangent) find_targets(s, own, count, batch, j->tangent, &places);
    if (j->viscosity)
      j->kernels.viscous(s, j->viscosity, batch, j->u, j->v, j->tangent != NULL, &out);
    else
      j->kernels.elastic(s, batch, j->u, j->tangent != NULL, &out);
    for (int l = 0; l < count; ++l) {
      if (j->energy && owns(own, s->rank_lo[batch[l]])) j->energy[batch[l]] = out.energy[l];
      if (j->force) add_force(s, own, batch[l], out.force + l, lanes, j->force);
    }
    if (j->tangent) add_tangents(count * pairs, &places, out.tangent, j->tangent);
    const int32_t left = at < s->mesh->n_elements ? s->rank_lo[at] : own.high;
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
  job->kernels = rf_kernels_for(s);
  job->slabs = slab_count(s, run);
  if (!job->u || (job->viscosity && !job->v)) RF_ALLOC(rest, 3 * (int64_t)s->mesh->n_nodes);
  if (!job->u) job->u = rest;
  if (!job->v) job->v = rest;
  if (sum) RF_ALLOC(job->energy, s->mesh->n_elements);
  RF_TRY(rf_run_tasks(run, job->slabs, 0, evaluate_slab, job, err));
  if (sum) {
    *sum = 0.0;
    for (int32_t e = 0; e < s->mesh->n_elements; ++e) *sum += job->energy[e];
  }
done:
  rf_free(rest);
  rf_free(job->energy);
  return st;
}

static rf_status evaluate(const rf_solid *s, const rf_run *run, const double *u, bool upper,
                          double *energy, double *force, double *tangent, rf_error *err) {
  evaluation job = {.solid = s, .u = u, .force = force, .tangent = tangent, .upper = upper};
  const rf_status st = run_evaluation(&job, run, energy, err);
  return st < 0 ? st : rf_solid_add_ghosts(s, run, u, energy, force, tangent, upper, err);
}

rf_status rf_solid_evaluate(const rf_solid *s, const rf_run *run, const double *u, double *energy,
                            double *force, double *tangent, rf_error *err) {
  return evaluate(s, run, u, false, energy, force, tangent, err);
}

rf_status rf_solid_evaluate_upper(const rf_solid *s, const rf_run *run, const double *u,
                                  double *energy, double *force, double *tangent, rf_error *err) {
  return evaluate(s, run, u, true, energy, force, tangent, err);
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
  return run_evaluation(&job, run, power, err);
}

typedef struct products {
  const rf_solid *solid;
  rf_kernels kernels;
  int slabs;
  const double *const *a;
  const double *const *b;
  double *const *out;
} products;

static rf_status product_slab(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const products *j = context;
  const rf_solid *s = j->solid;
  const int lanes = j->kernels.lanes;
  const int64_t p = task / j->slabs;
  const slab own = slab_of(s, task % j->slabs, j->slabs);
  _Alignas(64) double lane[RF_MAX_NODES * 3 * RF_MAX_LANES];
  for (int32_t k = own.low; k < own.high; ++k)
    memset(j->out[p] + 3 * (int64_t)s->by_rank[k], 0, 3 * sizeof(double));
  int32_t at = 0, batch[RF_MAX_LANES];
  for (int count; (count = next_batch(s, own, lanes, &at, batch)) > 0;) {
    j->kernels.hessian(s, batch, j->a[p], j->b[p], lane);
    for (int l = 0; l < count; ++l) add_force(s, own, batch[l], lane + l, lanes, j->out[p]);
  }
  return RF_OK;
}

rf_status rf_solid_hessian_product(const rf_solid *s, const rf_run *run, int32_t n_products,
                                   const double *const *a, const double *const *b,
                                   double *const *out, rf_error *err) {
  if (n_products < 0)
    return rf_fail(err, RF_ERR_ARG, "n_products must not be negative, got %d", n_products);
  products job = {.solid = s,
                  .kernels = rf_kernels_for(s),
                  // many products are one task each; a few are cut into slabs
                  .slabs = n_products >= 2 * run->threads ? 1 : slab_count(s, run),
                  .a = a,
                  .b = b,
                  .out = out};
  return rf_run_tasks(run, (int64_t)n_products * job.slabs, n_products > 1, product_slab, &job,
                      err);
}
