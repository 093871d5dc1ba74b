#include "cubature/build.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "linalg/blas.h"
#include "linalg/vector.h"
#include "polynomial/strain.h"

static const double NO_FORCE = 1e-12;  // of the largest

enum {
  CHUNKS = 64,                 // of elements, one task each
  LANES = 8,                   // most poses at once
  TRAINING_NUMBERS = 1 << 25,  // most numbers of the training matrix
  ROWS_PAD = 4
};

// Work under way.  Poses are in blocks of one per lane: those that train, then those held out.
typedef struct training {
  const rf_solid *solid;
  int32_t r, n_training, n_held, lanes, n_blocks;
  const double *basis;  // (r, n, 3)
  double *rows;         // basis by components, coordinate fastest       (3 n, r)
  double *poses;        // (blocks, r, lanes)
  int64_t *start;       // points before each element                    (n_elements + 1)
  int64_t n_candidates;
  int32_t n_rows;   // of the training matrix: r n_training, padded
  double *matrix;   // of each candidate its forces                  (candidates, n_rows)
  double *sums;     // forces of all points of a chunk               (chunks, blocks, r, lanes)
  double *strain;   // largest of a chunk                            (chunks)
  double *scratch;  // of each worker
  rf_strain_gradients_fn *gradients;
} training;

static int32_t chunk_at(const training *t, int64_t chunk) {
  return (int32_t)(t->solid->mesh->n_elements * chunk / CHUNKS);
}

static int64_t n_points(const training *t) { return t->start[t->solid->mesh->n_elements]; }

// Candidates are spread evenly over the points: number i is point candidate_at(i).
static int64_t candidate_at(const training *t, int64_t i) {
  return n_points(t) * i / t->n_candidates;
}
// Returns the first candidate that is not before a point.
static int64_t candidate_from(const training *t, int64_t point) {
  int64_t i = point * t->n_candidates / n_points(t);
  while (candidate_at(t, i) < point) ++i;
  return i;
}

static rf_strain_gradients_fn *gradients_for(rf_simd simd) {
#if RF_SIMD_X86
  if (simd == RF_SIMD_AVX512) return rf_strain_gradients_avx512;
  if (simd == RF_SIMD_AVX2) return rf_strain_gradients_avx2;
#endif
  (void)simd;
  return rf_strain_gradients_plain;
}

// Computes the gradients (9, r) of the basis at a point of an element.
static void table_at(const training *t, int32_t element, int32_t point, double *table) {
  const rf_mesh *mesh = t->solid->mesh;
  const int nodes = (int)mesh->type;
  const double *u[RF_MAX_NODES];
  for (int a = 0; a < nodes; ++a)
    u[a] = t->rows + 3 * (int64_t)mesh->elements[(int64_t)element * nodes + a] * t->r;
  t->gradients(nodes, t->r, rf_solid_gradient(t->solid, element) + (int64_t)point * nodes * 3, u,
               table);
}

// Computes the force (r, lanes) of one point, of unit weight, in a block of poses, and raises the
// strain to that of the point.
static void force_at(const training *t, const rf_material *material, const double *table,
                     const double *q, double *force, double *strain) {
  _Alignas(64) double parameters[RF_LAW_PARAMETERS * LANES] = {0}, G[9 * LANES] = {0};
  _Alignas(64) double P[9 * LANES], W[LANES];
  const int32_t r = t->r;
  const int lanes = t->lanes;
  for (int k = 0; k < RF_LAW_PARAMETERS; ++k)
    for (int l = 0; l < lanes; ++l) parameters[k * lanes + l] = material->parameter[k];
  for (int c = 0; c < 9; ++c)
    for (int32_t k = 0; k < r; ++k)
      for (int l = 0; l < lanes; ++l) G[c * lanes + l] += table[c * r + k] * q[k * lanes + l];
  for (int l = 0; l < lanes; ++l) *strain = fmax(*strain, rf_cubature_green(G + l, lanes));
  material->law->point[t->solid->simd](parameters, G, W, P, NULL);
  memset(force, 0, (size_t)(r * lanes) * sizeof *force);
  for (int c = 0; c < 9; ++c)
    for (int32_t k = 0; k < r; ++k)
      for (int l = 0; l < lanes; ++l) force[k * lanes + l] += table[c * r + k] * P[c * lanes + l];
}

// Copies the forces of the poses that train to the column of a candidate, pose by pose.
static void keep(const training *t, int32_t block, double volume, const double *force,
                 double *column) {
  for (int l = 0; l < t->lanes; ++l) {
    const int32_t pose = block * t->lanes + l;
    if (pose >= t->n_training) return;
    for (int32_t k = 0; k < t->r; ++k) column[pose * t->r + k] = volume * force[k * t->lanes + l];
  }
}

static int64_t block_size(const training *t) { return (int64_t)t->r * t->lanes; }

static rf_status train_chunk(void *context, int64_t task, int worker, rf_error *err) {
  (void)err;
  const training *t = context;
  const rf_solid *s = t->solid;
  const int64_t size = block_size(t);
  double *table = t->scratch + worker * (9 * (int64_t)t->r + size), *force = table + 9 * t->r;
  double *sums = t->sums + task * t->n_blocks * size;
  for (int32_t e = chunk_at(t, task); e < chunk_at(t, task + 1); ++e)
    for (int32_t p = 0; p < rf_solid_points(s, e); ++p) {
      const rf_material *material = &s->material[s->element_material[e]];
      const double volume = rf_solid_volume(s, e)[p];
      const int64_t at = t->start[e] + p, candidate = t->matrix ? candidate_from(t, at) : -1;
      const bool kept =
          t->matrix && candidate < t->n_candidates && candidate_at(t, candidate) == at;
      table_at(t, e, p, table);
      for (int32_t b = 0; b < t->n_blocks; ++b) {
        force_at(t, material, table, t->poses + b * size, force, t->strain + task);
        for (int64_t i = 0; i < size; ++i) sums[b * size + i] += volume * force[i];
        if (kept) keep(t, b, volume, force, t->matrix + candidate * t->n_rows);
      }
    }
  return RF_OK;
}

// Returns the index of a pose given by the user: training poses first, then those held out.
static int32_t given_at(const training *t, int32_t pose) {
  if (pose >= t->n_training)
    return (pose - t->n_training) * RF_CUBATURE_HOLD + RF_CUBATURE_HOLD - 1;
  return pose / (RF_CUBATURE_HOLD - 1) * RF_CUBATURE_HOLD + pose % (RF_CUBATURE_HOLD - 1);
}

static void pack_poses(const training *t, const double *given) {
  for (int32_t pose = 0; pose < t->n_blocks * t->lanes; ++pose) {
    const int32_t all = t->n_training + t->n_held, used = pose < all ? pose : all - 1;
    const double *q = given + (int64_t)given_at(t, used) * t->r;
    double *to = t->poses + pose / t->lanes * block_size(t) + pose % t->lanes;
    for (int32_t k = 0; k < t->r; ++k) to[k * t->lanes] = q[k];
  }
}

static rf_status check(int32_t r, const rf_cubature_settings *set, rf_error *err) {
  if (!(r >= 1 && r <= RF_CUBATURE_MAX_R))
    return rf_fail(err, RF_ERR_ARG, "r must be between 1 and %d, got %d", RF_CUBATURE_MAX_R, r);
  if (!(set->points >= 1 && set->points <= RF_CUBATURE_MAX_POINTS))
    return rf_fail(err, RF_ERR_ARG, "points must be between 1 and %d, got %d",
                   RF_CUBATURE_MAX_POINTS, set->points);
  if (!(isfinite(set->tolerance) && set->tolerance >= 0.0 && set->tolerance < 1.0))
    return rf_fail(err, RF_ERR_ARG, "tolerance must be at least 0 and below 1, got %g",
                   set->tolerance);
  if (!(set->n_poses >= RF_CUBATURE_HOLD && (int64_t)set->n_poses * r <= RF_CUBATURE_MAX_NUMBERS))
    return rf_fail(err, RF_ERR_ARG, "poses must have %d to %d rows, got %d", RF_CUBATURE_HOLD,
                   RF_CUBATURE_MAX_NUMBERS / r, set->n_poses);
  return RF_OK;
}

// Prepares the gradients of the basis at all points, which are candidates.
static rf_status prepare_points(training *t, rf_error *err) {
  rf_status st = RF_OK;
  const rf_solid *s = t->solid;
  const int32_t n = s->mesh->n_nodes;
  t->gradients = gradients_for(s->simd);
  RF_ALLOC(t->rows, 3 * (int64_t)n * t->r);
  for (int64_t d = 0; d < 3 * (int64_t)n; ++d)
    for (int32_t k = 0; k < t->r; ++k) t->rows[d * t->r + k] = t->basis[k * 3 * (int64_t)n + d];
  RF_ALLOC(t->start, s->mesh->n_elements + 1);
  for (int32_t e = 0; e < s->mesh->n_elements; ++e)
    t->start[e + 1] = t->start[e] + rf_solid_points(s, e);
  t->n_candidates = n_points(t);
done:
  return st;
}

static rf_status prepare(training *t, const rf_run *run, const rf_cubature_settings *set,
                         rf_error *err) {
  rf_status st = RF_OK;
  t->lanes = rf_law_lanes(t->solid->simd);
  t->n_held = set->n_poses / RF_CUBATURE_HOLD;
  t->n_training = set->n_poses - t->n_held;
  t->n_blocks = (set->n_poses + t->lanes - 1) / t->lanes;
  t->n_rows = (t->r * t->n_training + ROWS_PAD - 1) / ROWS_PAD * ROWS_PAD;
  RF_TRY(prepare_points(t, err));
  RF_ALLOC(t->poses, t->n_blocks * block_size(t));
  pack_poses(t, set->poses);
  RF_ALLOC(t->sums, CHUNKS * t->n_blocks * block_size(t));
  RF_ALLOC(t->strain, CHUNKS);
  RF_ALLOC(t->scratch, run->threads * (9 * (int64_t)t->r + block_size(t)));
  const int64_t most = TRAINING_NUMBERS / t->n_rows;
  t->n_candidates = n_points(t) < most ? n_points(t) : most;
  if (n_points(t) > set->points) RF_ALLOC(t->matrix, t->n_candidates * t->n_rows);
done:
  return st;
}

static void release(training *t) {
  rf_free(t->rows);
  rf_free(t->start);
  rf_free(t->poses);
  rf_free(t->sums);
  rf_free(t->strain);
  rf_free(t->scratch);
  rf_free(t->matrix);
}

// Returns the sum of all points' forces at a pose.
static void force_of(const training *t, int32_t pose, double *force) {
  const int64_t size = block_size(t);
  for (int32_t k = 0; k < t->r; ++k) {
    const int64_t at = pose / t->lanes * size + k * t->lanes + pose % t->lanes;
    force[k] = 0.0;
    for (int c = 0; c < CHUNKS; ++c) force[k] += t->sums[c * t->n_blocks * size + at];
  }
}

// Rigid motions among deformations have the force of rounding.
static rf_status require_force(const training *t, int32_t pose, double size, double largest,
                               double drawn, rf_error *err) {
  if (isfinite(size) && size > NO_FORCE * largest) return RF_OK;
  if (drawn > 0.0)
    return rf_fail(err, RF_ERR_ARG,
                   "strain is %g: the poses drawn for it include one whose force is %s; make it "
                   "%s, or give poses",
                   drawn, isfinite(size) ? "rounding" : "not finite",
                   isfinite(size) ? "larger" : "smaller");
  return rf_fail(err, RF_ERR_ARG,
                 isfinite(size)
                     ? "poses[%d] has no force: leave it out"
                     : "poses[%d] has a force that is not finite: it is too far from rest, "
                       "or the law of a material is not defined there; make it smaller",
                 given_at(t, pose));
}

// x = factor S x for count vectors of r numbers.
static void apply_metric(const double *metric, int32_t r, int count, double factor, double *scratch,
                         double *x) {
  const double zero = 0.0;
  // rows of S are columns for LAPACK
  dgemm_("T", "N", &r, &count, &r, &factor, metric, &r, x, &r, &zero, scratch, &r);
  memcpy(x, scratch, (size_t)r * (size_t)count * sizeof *x);
}

// Scales the rows of each pose so that the force of all points, `target`, has unit norm there.
static rf_status weigh(const training *t, const double *metric, double *target, rf_error *err) {
  rf_status st = RF_OK;
  const int32_t r = t->r, n = t->n_training;
  double *factor = NULL, *scratch = NULL;
  RF_ALLOC(factor, n);
  RF_ALLOC(scratch, r * n);
  rf_blas_serial_begin();
  for (int32_t pose = 0; pose < n; ++pose) {
    double *of = target + pose * r;
    force_of(t, pose, of);
    apply_metric(metric, r, 1, 1.0, scratch, of);
    factor[pose] = 1.0 / rf_norm(r, of);
    for (int32_t k = 0; k < r; ++k) of[k] *= factor[pose];
  }
  for (int64_t j = 0; j < t->n_candidates; ++j) {
    double *column = t->matrix + j * t->n_rows;
    apply_metric(metric, r, n, 1.0, scratch, column);
    for (int32_t pose = 0; pose < n; ++pose)
      for (int32_t k = 0; k < r; ++k) column[pose * r + k] *= factor[pose];
  }
  rf_blas_serial_end();
done:
  rf_free(factor);
  rf_free(scratch);
  return st;
}

// The points that were chosen, ascending, with the factor of the volume of each.
typedef struct choice {
  int32_t count;
  int32_t *candidate;
  double *factor;
} choice;

static void sort(choice *c) {
  for (int32_t i = 1; i < c->count; ++i)
    for (int32_t k = i; k > 0 && c->candidate[k] < c->candidate[k - 1]; --k) {
      const int32_t candidate = c->candidate[k];
      const double factor = c->factor[k];
      c->candidate[k] = c->candidate[k - 1], c->factor[k] = c->factor[k - 1];
      c->candidate[k - 1] = candidate, c->factor[k - 1] = factor;
    }
}

static rf_status choose(const training *t, const rf_run *run, const rf_cubature_settings *set,
                        choice *c, rf_error *err) {
  rf_status st = RF_OK;
  double *target = NULL;
  const int64_t most = t->matrix ? set->points : n_points(t);
  RF_ALLOC(c->candidate, most);
  RF_ALLOC(c->factor, most);
  if (!t->matrix) {
    c->count = (int32_t)most;
    for (int32_t i = 0; i < c->count; ++i) c->candidate[i] = i, c->factor[i] = 1.0;
    return st;
  }
  RF_ALLOC(target, t->n_rows);
  RF_TRY(weigh(t, set->metric, target, err));
  RF_TRY(rf_cubature_select(run, t->n_rows, (int32_t)t->n_candidates, t->matrix, target,
                            set->points, set->tolerance, c->candidate, c->factor, &c->count, err));
  if (c->count == 0) {
    st = rf_fail(err, RF_ERR_INTERNAL, "no point of the mesh reduces the error of the cubature");
    goto done;
  }
  sort(c);
done:
  rf_free(target);
  return st;
}

static rf_status assemble(const training *t, const double *linear, const choice *c, rf_simd simd,
                          rf_cubature **out, rf_error *err) {
  rf_status st = RF_OK;
  const rf_solid *s = t->solid;
  double *gradient = NULL, *weight = NULL;
  int32_t *material = NULL, element = 0;
  rf_cubature_material *materials = NULL;
  RF_ALLOC(gradient, 9 * (int64_t)c->count * t->r);
  RF_ALLOC(weight, c->count);
  RF_ALLOC(material, c->count);
  RF_ALLOC(materials, s->n_materials);
  for (int32_t i = 0; i < c->count; ++i) {
    const int64_t point = candidate_at(t, c->candidate[i]);
    while (t->start[element + 1] <= point) ++element;
    const int32_t own = (int32_t)(point - t->start[element]);
    table_at(t, element, own, gradient + 9 * (int64_t)i * t->r);
    weight[i] = c->factor[i] * rf_solid_volume(s, element)[own];
    material[i] = s->element_material[element];
  }
  for (int32_t m = 0; m < s->n_materials; ++m) {
    materials[m].law = s->material[m].law;
    memcpy(materials[m].parameter, s->material[m].parameter, sizeof materials[m].parameter);
  }
  const rf_cubature_parts parts = {.r = t->r,
                                   .n_points = c->count,
                                   .n_materials = s->n_materials,
                                   .gradient = gradient,
                                   .weight = weight,
                                   .material = material,
                                   .materials = materials,
                                   .linear = linear};
  RF_TRY(rf_cubature_create(&parts, simd, out, err));
done:
  rf_free(gradient);
  rf_free(weight);
  rf_free(material);
  rf_free(materials);
  return st;
}

// Compares the forces, without the linear part, which is exact.
static rf_status measure(const training *t, const rf_cubature_settings *set, const rf_cubature *c,
                         rf_cubature_report *report, rf_error *err) {
  rf_status st = RF_OK;
  const int32_t r = t->r;
  double *force = NULL, *scratch = NULL, trained = 0.0, held = 0.0;
  void *work = NULL;
  RF_ALLOC(force, 2 * (int64_t)r);
  RF_ALLOC(scratch, 2 * (int64_t)r);
  work = rf_alloc(rf_cubature_work_bytes(r), 1);
  if (!work) {
    st = rf_fail(err, RF_ERR_MEMORY, "out of memory: the error of the cubature");
    goto done;
  }
  rf_cubature elastic = *c;
  elastic.linear = NULL;
  rf_blas_serial_begin();
  for (int32_t pose = 0; pose < t->n_training + t->n_held; ++pose) {
    double *found = force + r;
    force_of(t, pose, force);
    rf_cubature_evaluate_rt(&elastic, false, set->poses + (int64_t)given_at(t, pose) * r, work,
                            NULL, found, NULL, r);
    for (int32_t k = 0; k < r; ++k) found[k] -= force[k];
    if (pose < t->n_training) apply_metric(set->metric, r, 2, 1.0, scratch, force);
    const double error = rf_norm(r, found) / rf_norm(r, force);
    *(pose < t->n_training ? &trained : &held) += error * error;
    if (pose >= t->n_training) report->largest_error = fmax(report->largest_error, error);
  }
  rf_blas_serial_end();
  report->training_error = sqrt(trained / t->n_training);
  report->error = sqrt(held / t->n_held);
done:
  rf_free(force);
  rf_free(scratch);
  rf_free(work);
  return st;
}

rf_status rf_cubature_build(const rf_solid *solid, const rf_run *run, int32_t r,
                            const double *basis, const rf_cubature_settings *set, rf_simd simd,
                            rf_cubature **out, rf_cubature_report *report, rf_error *err) {
  rf_status st = RF_OK;
  training t = {.solid = solid, .r = r, .basis = basis};
  choice c = {0};
  double *force = NULL, *size = NULL, largest = 0.0;
  rf_run_part first = {run, 0, 1, 2}, second = {run, 1, 2, 2};
  const rf_run training_run = rf_run_of_part(&first), choosing_run = rf_run_of_part(&second);
  *out = NULL;
  *report = (rf_cubature_report){0};
  RF_TRY(check(r, set, err));
  RF_TRY(prepare(&t, run, set, err));
  RF_ALLOC(force, r);
  RF_ALLOC(size, set->n_poses);
  RF_TRY(rf_run_tasks(&training_run, CHUNKS, 1, train_chunk, &t, err));
  for (int32_t pose = 0; pose < set->n_poses; ++pose) {
    force_of(&t, pose, force);
    size[pose] = rf_norm(r, force);
    if (isfinite(size[pose])) largest = fmax(largest, size[pose]);
  }
  for (int32_t pose = 0; pose < set->n_poses; ++pose)
    RF_TRY(require_force(&t, pose, size[pose], largest, set->drawn, err));
  RF_TRY(choose(&t, &choosing_run, set, &c, err));
  RF_TRY(assemble(&t, set->linear, &c, simd, out, err));
  *report = (rf_cubature_report){
      .training = t.n_training, .held_out = t.n_held, .candidates = t.matrix ? t.n_candidates : 0};
  for (int chunk = 0; chunk < CHUNKS; ++chunk)
    report->strain = fmax(report->strain, t.strain[chunk]);
  RF_TRY(measure(&t, set, *out, report, err));
  RF_TRY(rf_run_progress(run, 2, 2, err));
done:
  if (st < 0) {
    rf_cubature_free(*out);
    *out = NULL;
  }
  release(&t);
  rf_free(c.candidate);
  rf_free(c.factor);
  rf_free(force);
  rf_free(size);
  return st;
}

rf_status rf_cubature_spread(const rf_solid *solid, int32_t r, const double *basis, int32_t points,
                             const double *linear, rf_simd simd, rf_cubature **out, rf_error *err) {
  rf_status st = RF_OK;
  training t = {.solid = solid, .r = r, .basis = basis};
  choice c = {0};
  double passed = 0.0;
  const double share = solid->total_volume / points;
  *out = NULL;
  RF_TRY(prepare_points(&t, err));
  RF_ALLOC(c.candidate, points + 1);
  RF_ALLOC(c.factor, points + 1);
  for (int32_t e = 0; e < solid->mesh->n_elements; ++e)
    for (int32_t p = 0; p < rf_solid_points(solid, e); ++p) {
      // a point stands for the middles of shares in its volume
      const double volume = rf_solid_volume(solid, e)[p];
      const double middles = floor((passed + volume) / share + 0.5) - floor(passed / share + 0.5);
      passed += volume;
      if (!(middles > 0.0) || c.count > points) continue;
      c.candidate[c.count] = (int32_t)(t.start[e] + p);
      c.factor[c.count++] = middles * share / volume;
    }
  RF_TRY(assemble(&t, linear, &c, simd, out, err));
done:
  release(&t);
  rf_free(c.candidate);
  rf_free(c.factor);
  return st;
}
