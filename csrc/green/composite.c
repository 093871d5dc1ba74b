// Equilibrium of composite bodies: Newton's method on the potential of the outer nodes.
#include "green/composite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "green/composite_parts.h"
#include "linalg/quat.h"
#include "linalg/vector.h"

static const double ARMIJO = 1e-4;    // part of the promised change of the potential
static const double NOISE = 1e-13;    // of the potential, relative to its terms
static const double SHORTEST = 1e-9;  // part of an increment
static const double REST = 1e-30;     // part of the first forces, of a body that returns to rest

enum { MOST_TURNS = 2 };  // parts of an increment by which frames turn first

typedef struct work {
  const rf_composite *c;
  const rf_run *run;
  const rf_composite_problem *problem;
  rf_composite_state *state;  // of the blocks
  bool *placed;               // their frames are unique  (n_blocks)
  int32_t *dof;               // unknown of each direction, -1: held  (n_outer, 3)
  int32_t n, *direction;      // unknowns, and their directions       (n)
  double *v, *trial, *step;   // (n_outer, 3)
  double *gradient;           // (n_outer, 3)
  double *base, *spin;        // rotations of blocks, and those of the step (n_blocks, 9), (.., 3)
  double *right;              // (n)
  double load;                // norm of the loads on outer nodes that are free, N
  double potential, strain, magnitude, forces, rounding;
  bool definite;
  const double *moving;  // directions v of the held nodes, for the product with the tangent
  rf_csc tangent;
  int32_t *place;  // entry of each unknown in a column  (threads, n)
  rf_cholesky *factor;
} work;

static void end(work *w) {
  for (int32_t b = 0; w->state && b < w->c->n_blocks; ++b) rf_composite_state_free(w->state + b);
  rf_free(w->state);
  rf_free(w->placed);
  rf_free(w->dof);
  rf_free(w->direction);
  rf_free(w->v);
  rf_free(w->trial);
  rf_free(w->step);
  rf_free(w->gradient);
  rf_free(w->base);
  rf_free(w->spin);
  rf_free(w->right);
  rf_free(w->place);
  rf_csc_free(&w->tangent);
  rf_cholesky_free(w->factor);
}

static rf_status begin(work *w, const double *force, rf_error *err) {
  rf_status st = RF_OK;
  const rf_composite *c = w->c;
  const int64_t outer = 3 * (int64_t)c->n_outer;
  RF_ALLOC(w->state, c->n_blocks);
  RF_ALLOC(w->placed, c->n_blocks);
  RF_ALLOC(w->v, outer);
  RF_ALLOC(w->trial, outer);
  RF_ALLOC(w->step, outer);
  RF_ALLOC(w->gradient, outer);
  RF_ALLOC(w->base, RF_COMPOSITE_TURN * (int64_t)c->n_blocks);
  RF_ALLOC(w->spin, 3 * (int64_t)c->n_blocks);
  for (int32_t b = 0; b < c->n_blocks; ++b) {
    RF_TRY(rf_composite_state_create(c, c->block + b, force, w->run, w->state + b, err));
    RF_TRY(rf_run_poll(w->run, err));
  }
done:
  return st;
}

static rf_status place_block(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  work *w = context;
  w->placed[task] = rf_composite_place(w->c->block + task, w->trial, w->state + task);
  return RF_OK;
}

// Sums the gradients of blocks in the world, less the loads of outer nodes.
static void gather(work *w) {
  const rf_composite *c = w->c;
  memset(w->gradient, 0, 3 * (size_t)c->n_outer * sizeof *w->gradient);
  for (int32_t b = 0; b < c->n_blocks; ++b) {
    const rf_composite_block *block = c->block + b;
    const rf_composite_state *s = w->state + b;
    for (int32_t i = 0; w->placed[b] && i < block->n_outer; ++i)
      for (int k = 0; k < 3; ++k)
        w->gradient[3 * (int64_t)block->outer[i] + k] += rf_vec3_dot(s->turn + 3 * k, s->p + 3 * i);
  }
  for (int32_t i = 0; w->problem->force && i < c->n_outer; ++i)
    for (int k = 0; k < 3; ++k)
      w->gradient[3 * (int64_t)i + k] -= w->problem->force[3 * (int64_t)c->outer[i] + k];
}

// Computes the potential and its gradient at w->trial; an infinite potential without frames.
static rf_status place_all(work *w, rf_error *err) {
  rf_status st = RF_OK;
  const rf_composite *c = w->c;
  RF_TRY(rf_run_tasks(w->run, c->n_blocks, 0, place_block, w, err));
  w->potential = w->strain = w->magnitude = w->forces = w->rounding = 0.0;
  for (int32_t b = 0; b < c->n_blocks; ++b) {
    const rf_composite_block *block = c->block + b;
    const rf_composite_state *s = w->state + b;
    if (!w->placed[b]) w->potential = INFINITY;
    if (!w->placed[b]) continue;
    w->potential += s->potential;
    w->strain += s->strain;
    w->magnitude += fabs(s->strain) + fabs(s->potential);
    w->forces += rf_norm(3 * (int64_t)block->n_outer, s->p);
    w->rounding += s->rounding;
  }
  for (int32_t i = 0; w->problem->force && i < c->n_outer; ++i) {
    const double work_of =
        rf_vec3_dot(w->problem->force + 3 * (int64_t)c->outer[i], w->trial + 3 * (int64_t)i);
    w->potential -= work_of;
    w->magnitude += fabs(work_of);
  }
  w->forces += w->load;
  gather(w);
done:
  return st;
}

static rf_status linearize_block(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  work *w = context;
  rf_composite_linearize(w->c->block + task, w->definite, w->state + task);
  return RF_OK;
}

static int compare_i32(const void *a, const void *b) {
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

static rf_status number_unknowns(work *w, rf_error *err) {
  rf_status st = RF_OK;
  const rf_composite *c = w->c;
  const rf_composite_problem *p = w->problem;
  RF_ALLOC(w->dof, 3 * (int64_t)c->n_outer);
  RF_ALLOC(w->direction, 3 * (int64_t)c->n_outer);
  for (int32_t i = 0; i < 3 * c->n_outer; ++i) {
    const bool held = c->fixed[i / 3] || (p->held && p->held[i]);
    w->dof[i] = held ? -1 : w->n;
    if (!held) w->direction[w->n++] = i;
  }
  RF_ALLOC(w->right, w->n);
  for (int32_t i = 0; p->force && i < w->n; ++i) {
    const int32_t at = w->direction[i];
    w->load = hypot(w->load, p->force[3 * (int64_t)c->outer[at / 3] + at % 3]);
  }
done:
  return st;
}

// Makes and analyses the pattern of the lower triangle.
static rf_status make_pattern(work *w, rf_error *err) {
  rf_status st = RF_OK;
  const rf_composite *c = w->c;
  int32_t *seen = NULL, *near = NULL;
  double *point = NULL;
  RF_ALLOC(seen, c->n_outer);
  RF_ALLOC(near, c->n_outer);
  RF_ALLOC(w->place, (int64_t)w->run->threads * w->n);
  for (int round = 0; round < 2; ++round) {
    int64_t entries = 0;
    memset(seen, 0, (size_t)c->n_outer * sizeof *seen);
    for (int32_t i = 0; i < c->n_outer; ++i) {
      int32_t count = 0;
      for (int32_t m = c->ptr[i]; m < c->ptr[i + 1]; ++m) {
        const rf_composite_block *block = c->block + c->member[2 * (int64_t)m];
        for (int32_t j = 0; j < block->n_outer; ++j) {
          const int32_t other = block->outer[j];
          if (other < i || seen[other] == i + 1) continue;
          seen[other] = i + 1;
          near[count++] = other;
        }
      }
      qsort(near, (size_t)count, sizeof *near, compare_i32);
      for (int k = 0; k < 3; ++k) {
        const int32_t column = w->dof[3 * (int64_t)i + k];
        if (column < 0) continue;
        for (int32_t a = 0; a < count; ++a)
          for (int r = 0; r < 3; ++r) {
            const int32_t row = w->dof[3 * (int64_t)near[a] + r];
            if (row < column) continue;
            if (round) w->tangent.rowind[entries] = row;
            ++entries;
          }
        if (round) w->tangent.colptr[column + 1] = (int32_t)entries;
      }
    }
    if (entries > INT32_MAX) {
      st = rf_fail(err, RF_ERR_MEMORY,
                   "blocks have too many nodes in common: %lld entries of the tangent are beyond "
                   "the 32-bit range; cut along smaller sections",
                   (long long)entries);
      goto done;
    }
    if (!round) RF_TRY(rf_csc_create(w->n, w->n, entries, &w->tangent, err));
  }
  // nodes stay together unless some directions of one are held
  bool whole = w->n % 3 == 0;
  for (int32_t i = 0; i < w->n; ++i)
    whole = whole && w->direction[i] == w->direction[i / 3 * 3] / 3 * 3 + i % 3;
  const int32_t width = whole ? 3 : 1;
  RF_ALLOC(point, 3 * (int64_t)(w->n / width));
  for (int32_t i = 0; i < w->n / width; ++i)
    memcpy(point + 3 * (int64_t)i, c->rest + 3 * (int64_t)c->outer[w->direction[width * i] / 3],
           3 * sizeof *point);
  RF_TRY(rf_cholesky_create(&w->tangent, &(rf_places){width, point}, &w->factor, err));
done:
  rf_free(seen);
  rf_free(near);
  rf_free(point);
  return st;
}

// Fills the columns of an outer node; with w->moving subtracts K times these from w->right.
static rf_status fill_node(void *context, int64_t task, int worker, rf_error *err) {
  (void)err;
  work *w = context;
  const rf_composite *c = w->c;
  const int32_t *const column = w->dof + 3 * task;
  int32_t *const place = w->place + (int64_t)worker * w->n, first = -1;
  rf_csc *K = &w->tangent;
  for (int k = 2; k >= 0; --k)
    if (column[k] >= 0) first = column[k];
  if (first < 0) return RF_OK;
  // columns of one node have the same rows, from the diagonal on
  for (int32_t p = K->colptr[first]; p < K->colptr[first + 1]; ++p)
    place[K->rowind[p]] = p - K->colptr[first];
  for (int k = 0; k < 3; ++k)
    for (int32_t p = 0; column[k] >= 0 && p < K->colptr[column[k] + 1] - K->colptr[column[k]]; ++p)
      K->val[K->colptr[column[k]] + p] = 0.0;
  for (int32_t m = c->ptr[task]; m < c->ptr[task + 1]; ++m) {
    const int32_t b = c->member[2 * (int64_t)m], own = c->member[2 * (int64_t)m + 1];
    const rf_composite_block *block = c->block + b;
    for (int32_t j = 0; j < block->n_outer; ++j) {
      const int32_t other = block->outer[j];
      const int32_t *const row = w->dof + 3 * (int64_t)other;
      if (other < task && !w->moving) continue;
      double entry[9];
      rf_composite_entry(block, w->state + b, j, own, entry);
      for (int i = 0; i < 9; ++i) {
        const int32_t at = row[i / 3], to = column[i % 3];
        if (to < 0) continue;
        if (at >= to)
          K->val[K->colptr[to] + place[at] - (to - first)] += entry[i];
        else if (at < 0 && w->moving)
          w->right[to] -= entry[i] * w->moving[3 * (int64_t)other + i / 3];
      }
    }
  }
  return RF_OK;
}

// Factors the Hessian, or with w->definite the tangent without its indefinite terms.  w->right
// becomes minus the gradient, less the tangent times w->moving.
static rf_status try_factor(work *w, bool *positive, rf_error *err) {
  rf_status st = RF_OK;
  rf_error why = {0};
  if (!w->factor) RF_TRY(make_pattern(w, err));
  for (int32_t i = 0; i < w->n; ++i) w->right[i] = -w->gradient[w->direction[i]];
  RF_TRY(rf_run_tasks(w->run, w->c->n_blocks, 0, linearize_block, w, err));
  RF_TRY(rf_run_tasks(w->run, w->c->n_outer, 0, fill_node, w, err));
  st = rf_cholesky_factorize(w->factor, w->run, &w->tangent, NULL, &why);
  *positive = st >= 0;
  if (st == RF_ERR_SINGULAR) return RF_OK;
  if (st < 0) return rf_fail(err, st, "%s", why.text);
done:
  return st;
}

static rf_status factorize(work *w, rf_error *err) {
  rf_status st = RF_OK;
  for (int definite = 0; definite < 2; ++definite) {
    bool positive;
    w->definite = definite;
    RF_TRY(try_factor(w, &positive, err));
    if (positive) return st;
  }
  st = rf_fail(err, RF_ERR_SINGULAR,
               "the tangent of the composite body is not positive definite: blocks swing about "
               "nodes on one line, or are folded");
done:
  return st;
}

// Moves the held nodes to their places and the others along with them, by the linear response.
static rf_status move_held(work *w, rf_error *err) {
  rf_status st = RF_OK;
  const rf_composite *c = w->c;
  const rf_composite_problem *p = w->problem;
  bool moves = false;
  for (int32_t i = 0; i < 3 * c->n_outer; ++i) {
    const double to = c->fixed[i / 3] ? 0.0 : p->held && p->held[i] ? p->target[i] : w->v[i];
    w->step[i] = to - w->v[i];
    moves = moves || w->step[i] != 0.0;
  }
  if (!moves) return RF_OK;
  if (w->n > 0) {
    w->moving = w->step;
    st = factorize(w, err);
    w->moving = NULL;
    if (st < 0) goto done;
    RF_TRY(rf_cholesky_solve(w->factor, w->run, 1, w->right, w->right, err));
    for (int32_t i = 0; i < w->n; ++i) w->step[w->direction[i]] = w->right[i];
  }
  for (int32_t i = 0; i < 3 * c->n_outer; ++i) w->v[i] += w->step[i];
  // exactly
  for (int32_t i = 0; i < 3 * c->n_outer; ++i)
    if (w->dof[i] < 0) w->v[i] = c->fixed[i / 3] ? 0.0 : p->target[i];
  memcpy(w->trial, w->v, 3 * (size_t)c->n_outer * sizeof *w->v);
  RF_TRY(place_all(w, err));
  if (!isfinite(w->potential))
    st = rf_fail(err, RF_ERR_ARG,
                 "held moves nodes so far at once that blocks have no rotation: move them in "
                 "steps, each from the solution before (u0)");
done:
  return st;
}

// Turns the frames by a part of the rotations of w->step, and w->trial becomes the equilibrium with
// these frames.
static rf_status turn_frames(work *w, double part, rf_error *err) {
  rf_status st = RF_OK;
  const rf_composite *c = w->c;
  for (int32_t b = 0; b < c->n_blocks; ++b) {
    double q[4], more[9], turn[9], w_part[3];
    const double *const R = w->base + RF_COMPOSITE_TURN * (int64_t)b;
    for (int k = 0; k < 3; ++k) w_part[k] = part * w->spin[3 * (int64_t)b + k];
    rf_quat_of_rotation(w_part, q);
    rf_quat_to_matrix(q, more);
    for (int k = 0; k < 9; ++k)
      turn[k] = R[k / 3 * 3] * more[k % 3] + R[k / 3 * 3 + 1] * more[3 + k % 3] +
                R[k / 3 * 3 + 2] * more[6 + k % 3];
    rf_composite_fix_frame(c->block + b, w->v, turn, w->state + b);
    w->placed[b] = true;  // also if it was not at the last trial
  }
  gather(w);
  for (int32_t i = 0; i < w->n; ++i) w->right[i] = -w->gradient[w->direction[i]];
  RF_TRY(rf_run_tasks(w->run, c->n_outer, 0, fill_node, w, err));
  RF_TRY(rf_cholesky_factorize(w->factor, w->run, &w->tangent, NULL, err));
  RF_TRY(rf_cholesky_solve(w->factor, w->run, 1, w->right, w->right, err));
  memcpy(w->trial, w->v, 3 * (size_t)c->n_outer * sizeof *w->v);
  for (int32_t i = 0; i < w->n; ++i) w->trial[w->direction[i]] += w->right[i];
done:
  return st;
}

// Moves w->v along w->step until the potential falls enough.  Straight steps stretch blocks that
// they turn; where a whole one does not help, the frames turn first.
static rf_status advance(work *w, double slope, rf_error *err) {
  rf_status st = RF_OK;
  const int64_t outer = 3 * (int64_t)w->c->n_outer;
  const double before = w->potential, noise = NOISE * w->magnitude;
  for (int32_t b = 0; b < w->c->n_blocks; ++b) {
    rf_composite_turn_of(w->c->block + b, w->state + b, w->step, w->spin + 3 * (int64_t)b);
    memcpy(w->base + RF_COMPOSITE_TURN * (int64_t)b, w->state[b].turn, sizeof w->state[b].turn);
  }
  int turns = 0;
  for (double part = 1.0; part > SHORTEST; part *= 0.5) {
    for (int64_t i = 0; i < outer; ++i) w->trial[i] = w->v[i] + part * w->step[i];
    RF_TRY(place_all(w, err));
    bool good = w->potential <= before + ARMIJO * part * slope + noise;
    for (; !good && turns < MOST_TURNS; ++turns) {
      const double turned = ldexp(1.0, -turns);
      RF_TRY(turn_frames(w, turned, err));
      RF_TRY(place_all(w, err));
      good = w->potential <= before + ARMIJO * turned * slope;
    }
    if (!good) continue;
    memcpy(w->v, w->trial, (size_t)outer * sizeof *w->v);
    return st;
  }
  // the states are those of the last trial
  memcpy(w->trial, w->v, (size_t)outer * sizeof *w->v);
  RF_TRY(place_all(w, err));
  return RF_ERR_NO_CONVERGENCE;
done:
  return st;
}

static double size_of(const work *w) {
  double sum = 0.0;
  for (int32_t i = 0; i < w->n; ++i)
    sum += w->gradient[w->direction[i]] * w->gradient[w->direction[i]];
  return sqrt(sum);
}

static rf_status iterate(work *w, rf_composite_report *report, rf_error *err) {
  rf_status st = RF_OK;
  const rf_composite_problem *p = w->problem;
  double first = 0.0;
  for (report->iterations = 0;; ++report->iterations) {
    const double size = size_of(w);
    report->residual = w->forces > 0.0 ? size / w->forces : 0.0;
    report->energy = w->strain;
    if (report->iterations == 0) first = w->forces;
    if (size <= p->tolerance * w->forces || size <= REST * first) return RF_OK;
    if (report->iterations > 0 && size <= w->rounding) return RF_OK;
    if (report->iterations == p->newton_max || st == RF_ERR_NO_CONVERGENCE)
      return rf_fail(err, RF_ERR_NO_CONVERGENCE,
                     "no equilibrium after %d iterations: the relative residual is %.2g, and "
                     "should be %.2g; apply the load, or move the held nodes, in steps (u0)",
                     report->iterations, report->residual, p->tolerance);
    RF_TRY(factorize(w, err));
    double slope = 0.0;
    RF_TRY(rf_cholesky_solve(w->factor, w->run, 1, w->right, w->right, err));
    memset(w->step, 0, 3 * (size_t)w->c->n_outer * sizeof *w->step);
    for (int32_t i = 0; i < w->n; ++i) {
      w->step[w->direction[i]] = w->right[i];
      slope += w->right[i] * w->gradient[w->direction[i]];
    }
    st = advance(w, slope, err);
    if (st < 0 && st != RF_ERR_NO_CONVERGENCE) return st;
  }
done:
  return st;
}

static rf_status test_stability(work *w, bool *stable, rf_error *err) {
  *stable = true;
  w->definite = false;
  return w->n > 0 ? try_factor(w, stable, err) : RF_OK;
}

// Measures how far blocks turn from each other and how far they are strained.
static void measure(const work *w, rf_composite_report *report) {
  const rf_composite *c = w->c;
  double least = 3.0;  // trace of a rotation between blocks
  for (int32_t i = 0; i < c->n_outer; ++i)
    for (int32_t m = c->ptr[i]; m < c->ptr[i + 1]; ++m)
      for (int32_t k = c->ptr[i]; k < m; ++k) {
        const double *const one = w->state[c->member[2 * (int64_t)m]].turn;
        const double *const two = w->state[c->member[2 * (int64_t)k]].turn;
        least = fmin(least, rf_dot(RF_COMPOSITE_TURN, one, two));
      }
  report->angle = acos(fmax(-1.0, 0.5 * (least - 1.0)));
  for (int32_t b = 0; b < c->n_blocks; ++b) {
    const rf_composite_block *block = c->block + b;
    const uint8_t *soft = w->problem->soft;
    double d = 0.0, firm = 0.0, arm = 0.0;
    for (int64_t i = 0; i < block->n_outer; ++i) {
      const double length = rf_vec3_length(w->state[b].d + 3 * i);
      d = fmax(d, length);
      if (!soft || !soft[block->outer[i]]) firm = fmax(firm, length);
      arm = fmax(arm, rf_vec3_length(block->arm + 3 * i));
    }
    report->strain = fmax(report->strain, d / arm);
    report->firm = fmax(report->firm, firm / arm);
  }
}

rf_status rf_composite_solve(const rf_composite *c, const rf_run *run,
                             const rf_composite_problem *problem, double *u, double *turn,
                             double *reaction, rf_composite_report *report, rf_error *err) {
  rf_status st = RF_OK;
  work w = {.c = c, .run = run, .problem = problem};
  *report = (rf_composite_report){0};
  RF_TRY(begin(&w, problem->force, err));
  RF_TRY(number_unknowns(&w, err));
  for (int32_t i = 0; problem->start && i < c->n_outer; ++i)
    memcpy(w.v + 3 * (int64_t)i, problem->start + 3 * (int64_t)c->outer[i], 3 * sizeof *w.v);
  memcpy(w.trial, w.v, 3 * (size_t)c->n_outer * sizeof *w.v);
  RF_TRY(place_all(&w, err));
  if (!isfinite(w.potential)) {
    bool placed = true;
    for (int32_t b = 0; b < c->n_blocks; ++b) placed = placed && w.placed[b];
    st = placed ? rf_fail(err, RF_ERR_ARG, "%s too large: the potential is not finite",
                          problem->start ? "force or u0 is" : "force is")
                : rf_fail(err, RF_ERR_ARG, "u0 flattens or mirrors a block: it has no rotation");
    goto done;
  }
  RF_TRY(move_held(&w, err));
  RF_TRY(iterate(&w, report, err));
  RF_TRY(test_stability(&w, &report->stable, err));
  measure(&w, report);
  for (int32_t i = 0; i < c->n_outer; ++i)
    for (int k = 0; k < 3; ++k) {
      const int64_t at = 3 * (int64_t)i + k;
      u[3 * (int64_t)c->outer[i] + k] = w.v[at];
      reaction[at] = w.dof[at] < 0 ? w.gradient[at] : 0.0;
    }
  for (int32_t b = 0; b < c->n_blocks; ++b) {
    memcpy(turn + RF_COMPOSITE_TURN * (int64_t)b, w.state[b].turn, sizeof w.state[b].turn);
    RF_TRY(rf_composite_recover(c, c->block + b, w.state + b, run, u, err));
  }
done:
  end(&w);
  return st;
}

rf_status rf_composite_evaluate(const rf_composite *c, const rf_run *run, const double *force,
                                const double *v, bool definite, double *potential, double *gradient,
                                double *tangent, rf_error *err) {
  rf_status st = RF_OK;
  const rf_composite_problem problem = {.force = force};
  const int64_t outer = 3 * (int64_t)c->n_outer;
  work w = {.c = c, .run = run, .problem = &problem, .definite = definite};
  RF_TRY(begin(&w, force, err));
  memcpy(w.trial, v, (size_t)outer * sizeof *v);
  RF_TRY(place_all(&w, err));
  if (!isfinite(w.potential)) {
    st = rf_fail(err, RF_ERR_ARG, "v flattens or mirrors a block: it has no rotation");
    goto done;
  }
  RF_TRY(rf_run_tasks(run, c->n_blocks, 0, linearize_block, &w, err));
  *potential = w.potential;
  memcpy(gradient, w.gradient, (size_t)outer * sizeof *gradient);
  memset(tangent, 0, (size_t)(outer * outer) * sizeof *tangent);
  for (int32_t b = 0; b < c->n_blocks; ++b) {
    const rf_composite_block *block = c->block + b;
    for (int32_t i = 0; i < block->n_outer; ++i)
      for (int32_t j = 0; j < block->n_outer; ++j) {
        double entry[9];
        rf_composite_entry(block, w.state + b, i, j, entry);
        for (int k = 0; k < 9; ++k)
          tangent[(3 * (int64_t)block->outer[i] + k / 3) * outer + 3 * (int64_t)block->outer[j] +
                  k % 3] += entry[k];
      }
  }
done:
  end(&w);
  return st;
}
