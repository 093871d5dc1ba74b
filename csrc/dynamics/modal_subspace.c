#include "dynamics/modal_subspace.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "dynamics/exponential.h"
#include "dynamics/motion.h"
#include "linalg/blas.h"
#include "linalg/tall.h"

enum { SPARE = 4 };  // vectors of sweeps beyond the modes, which makes the last of these good
enum { SWEPT = 3 };  // parts of a sweep: modes, responses, earlier modes

static rf_modal_subspace *self(const rf_motion *m) { return (rf_modal_subspace *)m->subspace; }

const rf_run *rf_modal_subspace_run(rf_modal_subspace *s) {
  const rf_run *run = s->blocks.system->run;
  s->run = run ? *run : (rf_run){.threads = 1};
  if (s->run.threads > s->threads) s->run.threads = s->threads;
  return &s->run;
}

// ---- coordinates

// out = A^T x, A of s vectors.
static rf_status onto(rf_modal_subspace *s, const double *a, const double *x, double *out) {
  return rf_tall_inner(rf_modal_subspace_run(s), s->blocks.n, s->s, a, 1, x, s->tall, out,
                       s->blocks.system->err);
}

// all += factor A c, with vectors `all` of the system.
static rf_status add_to(rf_modal_subspace *s, const double *a, const double *c, double factor,
                        double *all) {
  const rf_status st = rf_tall_add(rf_modal_subspace_run(s), s->blocks.n, s->s, a, 1, c, 1.0, 0.0,
                                   s->vector, s->blocks.system->err);
  if (st >= 0) rf_blocks_add(&s->blocks, factor, s->vector, all);
  return st;
}

// The same of a motion, in which constrained nodes follow their masters.
static rf_status move_by(rf_modal_subspace *s, const double *a, const double *c, double factor,
                         double *all) {
  const rf_status st = add_to(s, a, c, factor, all);
  rf_constraints_fill_rt(s->blocks.system->constraints, all);
  return st;
}

// out = A^T all.
static rf_status of_all(rf_modal_subspace *s, const double *a, const double *all, double *out) {
  rf_blocks_gather(&s->blocks, all, s->vector);
  return onto(s, a, s->vector, out);
}

// ---- the exponential step

// Eigenvalues and eigenvectors (turn) of X^T K X, of the K there.
static rf_status reduce(rf_modal_subspace *s) {
  const int32_t k = s->s;
  rf_status st = RF_OK;
  if (s->diagonal) {
    memset(s->turn, 0, (size_t)k * (size_t)k * sizeof *s->turn);
    for (int32_t i = 0; i < k; ++i) s->turn[i * k + i] = 1.0;
    return st;
  }
  st = rf_blocks_stiffness(&s->blocks, k, s->shapes, s->images);
  if (st >= 0)
    st = rf_tall_inner(rf_modal_subspace_run(s), s->blocks.n, k, s->shapes, k, s->images, s->tall,
                       s->turn, s->blocks.system->err);
  return st < 0 ? st : rf_modal_subspace_diagonalize(s, k, s->turn);
}

// From velocity and acceleration of the modes to their change in the time h and their rate at its
// end.  An unstable mode, lambda < 0, grows by cosh 1 at most; a faster one vibrates at its rate
// instead, as its tangent does not hold as far as it would grow.
static void propagate(rf_modal_subspace *s, double h, const double *v, const double *a) {
  const rf_system *system = s->blocks.system;
  const int32_t k = s->s;
  for (int32_t i = 0; i < k; ++i) {
    s->jump[i] = 0.0;
    s->end_rate[i] = v[i];
  }
  for (int32_t j = 0; j < k; ++j) {
    const double *mode = s->turn + (int64_t)j * k;
    const double value = s->values[j], lambda = value * h * h < -1.0 ? -value : value;
    const rf_exponential e =
        rf_exponential_mode_rt(lambda, system->damping_mass, system->damping_stiff, h);
    double along_v = 0.0, along_a = 0.0;
    for (int32_t i = 0; i < k; ++i) {
      along_v += mode[i] * v[i];
      along_a += mode[i] * a[i];
    }
    for (int32_t i = 0; i < k; ++i) {
      s->jump[i] += mode[i] * (e.of_v[0] * along_v + e.of_a[0] * along_a);
      s->end_rate[i] += mode[i] * (e.of_v[1] * along_v + e.of_a[1] * along_a);
    }
  }
}

// Modes of the beginning of a step.
static rf_status refresh(rf_modal_subspace *s) {
  rf_status st = RF_OK;
  s->diagonal = false;
  if (s->modes == RF_SUBSPACE_REST) return st;
  s->known_before = s->known;
  s->begun = true;
  if (s->known && s->before) rf_modal_subspace_give(s, s->before);
  if (s->known && s->modes == RF_SUBSPACE_FOLLOW)
    st = rf_modal_subspace_sweep(s);
  else
    st = rf_modal_subspace_solve(s);
  if (!s->known_before && s->earlier)
    memset(s->earlier, 0, (size_t)s->most * (size_t)s->blocks.n * sizeof *s->earlier);
  s->base.responses_known = false;
  s->known = s->diagonal = st >= 0;
  return st;
}

static rf_status begin_stage(rf_motion *m, const double *v, bool first) {
  rf_modal_subspace *s = self(m);
  const int32_t k = s->s;
  const double of_rate = m->stage->velocity[RF_STAGE_CHANGE];
  double *const rate = s->coordinates, *const acceleration = rate + k;
  rf_status st = first ? refresh(s) : RF_OK;
  if (!first) s->diagonal = false;
  if (st >= 0) st = reduce(s);
  if (st >= 0) st = of_all(s, s->loads, v, rate);
  if (st >= 0) st = of_all(s, s->shapes, m->residual, acceleration);
  if (st < 0) return st;
  for (int32_t i = 0; i < k; ++i) acceleration[i] = -acceleration[i];
  propagate(s, m->stage->span_s, rate, acceleration);
  st = of_all(s, s->loads, m->known_rate, rate);
  for (int32_t i = 0; i < k; ++i) rate[i] = s->end_rate[i] - of_rate * s->jump[i] - rate[i];
  if (st >= 0) st = move_by(s, s->shapes, rate, 1.0, m->known_rate);
  s->base.jumps = m->set.newton_max == 1;
  if (st < 0 || s->base.jumps) return st;
  // iterations begin where the constraint holds
  st = move_by(s, s->shapes, s->jump, 1.0, m->x);
  memset(s->jump, 0, (size_t)k * sizeof *s->jump);
  m->prepared = false;
  return st;
}

static rf_status begin(rf_motion *m, const double *v, bool first) {
  rf_blas_serial_begin();
  const rf_status st = begin_stage(m, v, first);
  rf_blas_serial_end();
  return st;
}

// ---- solves

static rf_status project(rf_motion *m) {
  rf_modal_subspace *s = self(m);
  rf_blas_serial_begin();
  rf_status st = of_all(s, s->shapes, m->residual, s->multiplier);
  if (st >= 0) st = add_to(s, s->loads, s->multiplier, -1.0, m->residual);
  rf_blas_serial_end();
  return st;
}

// Factor of Q^T Z.
static rf_status couple(rf_modal_subspace *s) {
  const int32_t k = s->s;
  int info = 0;
  const rf_status st = rf_tall_inner(rf_modal_subspace_run(s), s->blocks.n, k, s->loads, k,
                                     s->responses, s->tall, s->coupling, s->blocks.system->err);
  if (st < 0) return st;
  dpotrf_("U", &k, s->coupling, &k, &info);
  s->base.responses_known = info == 0;
  return info == 0 ? RF_OK : RF_ERR_DIVERGED;
}

// Z, unless it is there, and the vector y behind it in one block.
static rf_status respond(rf_motion *m) {
  rf_modal_subspace *s = self(m);
  const int64_t size = (int64_t)s->most * s->blocks.n;
  double *const y = s->responses + size;
  const bool all = !s->base.responses_known;
  rf_blocks_gather(&s->blocks, m->residual, y);
  for (int64_t i = 0; i < s->blocks.n; ++i) y[i] = -y[i];
  if (all) memcpy(s->responses, s->loads, (size_t)size * sizeof *y);
  double *const from = all ? s->responses : y;
  const rf_status st = rf_blocks_solve(&s->blocks, all ? s->most + 1 : 1, from, from);
  return st < 0 || !all ? st : couple(s);
}

static rf_status solve_constrained(rf_motion *m, double *increment) {
  rf_modal_subspace *s = self(m);
  const int k = s->s, one = 1;
  const double unit = 1.0;
  double *const part = s->coordinates, *const y = s->responses + (int64_t)s->most * s->blocks.n;
  rf_status st = respond(m);
  if (st >= 0) st = onto(s, s->loads, y, part);
  if (st < 0) return st;
  for (int32_t i = 0; i < k; ++i) part[i] = s->jump[i] - part[i];
  dtrsm_("L", "U", "T", "N", &k, &one, &unit, s->coupling, &k, part, &k);
  dtrsm_("L", "U", "N", "N", &k, &one, &unit, s->coupling, &k, part, &k);
  s->base.jumps = false;
  memset(s->jump, 0, (size_t)k * sizeof *s->jump);
  memset(increment, 0, (size_t)m->n * sizeof *increment);
  rf_blocks_add(&s->blocks, 1.0, y, increment);
  return move_by(s, s->responses, part, 1.0, increment);
}

static rf_status solve(rf_motion *m, double *increment) {
  rf_blas_serial_begin();
  const rf_status st = solve_constrained(m, increment);
  rf_blas_serial_end();
  return st;
}

static void end(rf_motion *m) {
  rf_modal_subspace *s = self(m);
  rf_blas_serial_begin();
  (void)move_by(s, s->shapes, s->multiplier, -1.0, m->xddot);
  if (s->begun) ++m->report.refreshes;
  s->begun = false;
  m->report.drift = s->drift;
  rf_blas_serial_end();
}

static void undo(rf_motion *m) {
  rf_modal_subspace *s = self(m);
  s->base.responses_known = s->base.jumps = false;
  if (!s->begun) return;
  s->begun = false;
  s->known = s->known_before;
  if (s->known && s->before) rf_modal_subspace_take(s, s->before);
}

static const rf_subspace_operations OPERATIONS = {
    .begin = begin, .project = project, .solve = solve, .end = end, .undo = undo};

// ---- life

static rf_status allocate(rf_modal_subspace *s, rf_error *err) {
  rf_status st = RF_OK;
  const bool follows = s->modes == RF_SUBSPACE_FOLLOW;
  const int64_t n = s->blocks.n, k = s->s, room = (follows ? SWEPT : 1) * (int64_t)s->most;
  const size_t inner = rf_tall_inner_scratch(s->blocks.n, (int32_t)room, (int32_t)room);
  const size_t turn = rf_tall_turn_scratch((int32_t)room, s->threads);
  s->n_work = (int)(1 + 6 * room + 2 * room * room);
  s->n_int_work = (int)(3 + 5 * room);
  RF_ALLOC(s->shapes, room * n);
  RF_ALLOC(s->loads, room * n);
  RF_ALLOC(s->images, room * n);
  RF_ALLOC(s->responses, (s->most + 1) * n);
  RF_ALLOC(s->vector, n);
  RF_ALLOC(s->tall, inner > turn ? inner : turn);
  RF_ALLOC(s->values, room);
  RF_ALLOC(s->turn, room * room);
  RF_ALLOC(s->small, room * room);
  RF_ALLOC(s->coupling, k * k);
  RF_ALLOC(s->jump, k);
  RF_ALLOC(s->end_rate, k);
  RF_ALLOC(s->multiplier, k);
  RF_ALLOC(s->coordinates, 2 * k);
  RF_ALLOC(s->work, s->n_work);
  RF_ALLOC(s->int_work, s->n_int_work);
  if (follows) {
    RF_ALLOC(s->earlier, s->most * n);
    RF_ALLOC(s->before, RF_SUBSPACE_PARTS * s->most * n);
  }
done:
  return st;
}

// Modes at rest.
static rf_status solve_rest(rf_modal_subspace *s, rf_error *err) {
  rf_system *system = s->blocks.system;
  rf_status st = RF_OK;
  double *rest = NULL, *force = NULL;
  RF_ALLOC(rest, system->ld);
  RF_ALLOC(force, system->ld);
  RF_TRY(system->operations->evaluate(system, rest, true, NULL, force));
  st = rf_modal_subspace_solve(s);
  if (st == RF_ERR_DIVERGED || st == RF_ERR_SINGULAR)
    st = rf_fail(err, st, "the modes at rest were not found: the stiffness is not finite");
  s->known = st >= 0;
done:
  rf_free(rest);
  rf_free(force);
  return st;
}

rf_status rf_modal_subspace_create(rf_system *system, const rf_run *run, int32_t modes_of,
                                   rf_subspace_modes modes, rf_modal_subspace **out,
                                   rf_error *err) {
  rf_status st = RF_OK;
  rf_modal_subspace *s = NULL;
  *out = NULL;
  if (modes_of < 1) return rf_fail(err, RF_ERR_ARG, "exact must be at least 0, got %d", modes_of);
  const int32_t room = (int32_t)rf_system_unknowns(system) - 1;
  if (modes_of > room)
    return rf_fail(err, RF_ERR_ARG, "exact must be at most %d, one less than the unknowns, got %d",
                   room, modes_of);
  RF_ALLOC(s, 1);
  s->base.operations = &OPERATIONS;
  s->modes = modes;
  s->s = modes_of;
  s->threads = run ? run->threads : 1;
  system->run = run;
  system->err = err;
  RF_TRY(rf_blocks_init(&s->blocks, system, SWEPT * (modes_of + SPARE), err));
  const int32_t most = s->blocks.n - 1;
  s->most = modes != RF_SUBSPACE_FOLLOW ? modes_of
            : modes_of + SPARE < most   ? modes_of + SPARE
                                        : most;
  RF_TRY(allocate(s, err));
  if (modes == RF_SUBSPACE_REST) RF_TRY(solve_rest(s, err));
  *out = s;
  s = NULL;
done:
  system->run = NULL;
  system->err = NULL;
  rf_modal_subspace_free(s);
  return st;
}

void rf_modal_subspace_free(rf_modal_subspace *s) {
  if (!s) return;
  double *const blocks[] = {s->shapes, s->loads,    s->images,     s->responses,   s->vector,
                            s->tall,   s->values,   s->turn,       s->small,       s->coupling,
                            s->jump,   s->end_rate, s->multiplier, s->coordinates, s->work,
                            s->before, s->earlier};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; ++i) rf_free(blocks[i]);
  rf_free(s->int_work);
  rf_blocks_release(&s->blocks);
  rf_free(s);
}

static size_t size_of(const rf_modal_subspace *s) { return (size_t)s->most * (size_t)s->blocks.n; }

void rf_modal_subspace_take(rf_modal_subspace *s, const double *from) {
  double *const parts[RF_SUBSPACE_PARTS] = {s->shapes, s->loads, s->responses, s->earlier};
  const size_t size = size_of(s);
  for (size_t k = 0; k < RF_SUBSPACE_PARTS; ++k)
    memcpy(parts[k], from + k * size, size * sizeof *from);
  s->known = true;
}

void rf_modal_subspace_give(const rf_modal_subspace *s, double *to) {
  const double *const parts[RF_SUBSPACE_PARTS] = {s->shapes, s->loads, s->responses, s->earlier};
  const size_t size = size_of(s);
  for (size_t k = 0; k < RF_SUBSPACE_PARTS; ++k) memcpy(to + k * size, parts[k], size * sizeof *to);
}
