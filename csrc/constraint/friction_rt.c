// The phases of a solve.
#include <math.h>
#include <string.h>

#include "base/clock_rt.h"
#include "constraint/friction_work.h"

enum {
  SWEEPS = 20,     // before Newton's method, and where an inner solve is stuck
  FEW_SWEEPS = 2,  // of these, between two tests of the residual
  WARM_STEPS = 8,  // of Newton's method, from the forces of a start
  STEPS = 40,      // of Newton's method
  PATIENCE = 15,   // of these, without a tenth less
  EARLY = 3,       // of these, in which forces may be large
  CENTRES = 30,    // of the proximal point
  INNER = 20,      // steps about each
  STUCK = 4,       // of these, without less
  MOST_PARTS = 16  // in which friction is increased
};
static const double GAIN_N = 1.0, GAIN_T = 3.0;
static const double REGULAR = 1e-3;  // times the root of the residual, at most 1
static const double SHIFT = 1e-2, LEAST_SHIFT = 1e-9;
static const double SOFT = 0.01;      // shift where there is no solution
static const double FAR = 1e-2;       // residual from which forces are not worth keeping
static const double LARGEST = 100.0;  // force of a problem that is not solved
static const double ENORMOUS = 1e8;   // force that counts as none

static void copy(const rf_friction *s, const double *from, double *to) {
  memcpy(to, from, 3 * (size_t)s->ld * sizeof *to);
}

// Keeps the forces of s->in_cone if their residual is the smallest so far; true: they solve.
static bool keep(rf_friction *s, double residual) {
  if (residual < s->best_residual) {
    s->best_residual = residual;
    copy(s, s->in_cone, s->best);
  }
  return s->best_residual <= s->limits.tolerance;
}

// Sets the iterate and its displacements.
static void restart(rf_friction *s, const double *from) {
  copy(s, from, s->force);
  rf_friction_move_rt(s, s->force, s->moved);
}

// Puts s->force into its cones, and returns the residual there.
static double projected_residual(rf_friction *s) {
  rf_friction_project_rt(s, s->force, s->in_cone);
  rf_friction_move_on_rt(s, s->force, s->moved, s->in_cone, s->moved_in);
  const double residual = rf_friction_residual_rt(s, s->in_cone, s->moved_in);
  if (residual > s->limits.tolerance) return residual;
  // differences of large forces round
  rf_friction_move_rt(s, s->in_cone, s->moved_in);
  return rf_friction_residual_rt(s, s->in_cone, s->moved_in);
}

// Updates the rate by a step.  One that took longer than expected was probably interrupted: it
// halves the rate at most.
static void learn(rf_friction *s, double work, double took_us) {
  const double least = 0.5 * s->work_per_us, rate = took_us > 0.0 ? work / took_us : least;
  s->work_per_us += 0.2 * ((rate > least ? rate : least) - s->work_per_us);
}

// A step whose time is measured; false: it does not fit into the time left.  A refusal raises the
// rate, up to the initial one, so that a few slow steps do not rule out all later ones.
static bool step(rf_friction *s, double gain_t, double regular) {
  rf_friction_poll_rt(s);
  const double begun_us = rf_clock_us_rt(), left_us = rf_friction_left_us_rt(s);
  if (left_us <= 0.0) return false;
  rf_friction_judge_rt(s, GAIN_N, gain_t);
  const double work = rf_friction_step_work_rt(s);
  if (isfinite(left_us) && work > left_us * s->work_per_us) {
    if (s->work_per_us < RF_FRICTION_WORK_PER_US) s->work_per_us *= 1.02;
    return false;
  }
  if (!rf_friction_step_rt(s, regular)) restart(s, s->best);
  if (s->unknown.n > 0) learn(s, work, rf_clock_us_rt() - begun_us);
  return true;
}

// ---- phases: the first two return true when the solve has ended, the others how they have

static double most_of(const rf_friction *s, const double *f) {
  double most = 0.0;
  for (int32_t k = 0; k < 3 * s->ld; ++k) most = fabs(f[k]) > most ? fabs(f[k]) : most;
  return most;
}

// Newton's method from the forces of a start, while each step halves the residual.  Contacts of one
// stiff body share their displacements: the first step judges by a gain divided among them, or all
// would seem to slip.
static bool step_first(rf_friction *s) {
  if (!(most_of(s, s->force) > 0.0)) return false;
  rf_friction_move_rt(s, s->force, s->moved);
  double now = projected_residual(s);
  copy(s, s->in_cone, s->first);
  if (keep(s, now)) return true;
  for (int32_t k = 0; k < WARM_STEPS; ++k) {
    if (!step(s, k == 0 ? GAIN_T / s->m : GAIN_T, REGULAR * now)) break;
    const double residual = projected_residual(s);
    if (keep(s, residual)) return true;
    if (residual > 0.5 * now) break;
    now = residual;
  }
  copy(s, s->best, s->force);
  return false;
}

static bool sweep_first(rf_friction *s) {
  const int32_t together = s->limits.sweeps ? FEW_SWEEPS : SWEEPS;
  bool solved = false;
  rf_friction_move_rt(s, s->force, s->moved);
  for (int32_t k = 0; k < SWEEPS && !solved; k += together) {
    rf_friction_sweep_rt(s, together);
    solved = keep(s, projected_residual(s));
    copy(s, s->in_cone, s->first);
  }
  return solved;
}

// Sweeps from the best forces until they solve or the time is up; with a part of the friction, the
// caller does so.
static rf_friction_end out_of_time(rf_friction *s) {
  bool solved = false;
  if (s->part < 1.0) return RF_FRICTION_BUDGET;
  restart(s, s->best);
  while (!solved && rf_friction_left_us_rt(s) > 0.0) {
    rf_friction_sweep_rt(s, SWEEPS);
    solved = keep(s, projected_residual(s));
  }
  return solved ? RF_FRICTION_SOLVED : RF_FRICTION_BUDGET;
}

static rf_friction_end iterate(rf_friction *s) {
  double mark = s->best_residual;
  int32_t since = 0;
  for (int32_t k = 0; k < STEPS && since < PATIENCE; ++k) {
    const double now = rf_friction_residual_rt(s, s->force, s->moved);
    if (!step(s, GAIN_T, REGULAR * sqrt(now < 1.0 ? now : 1.0))) return out_of_time(s);
    const double residual = projected_residual(s);
    if (keep(s, residual)) return RF_FRICTION_SOLVED;
    // without a solution, forces grow
    if (k >= EARLY && most_of(s, s->in_cone) > LARGEST) break;
    if (residual < 0.9 * mark)
      mark = residual, since = 0;
    else
      ++since;
  }
  return RF_FRICTION_STALLED;
}

typedef struct inner {
  double residual, target;  // of the regularised problem: best, and to reach
  int32_t since;            // steps without a better one
} inner;

// Judges s->force: true if the inner solve has reached its target.
static bool judge(rf_friction *s, inner *n) {
  const double residual = projected_residual(s);
  ++n->since;
  if (residual < n->residual) {
    n->residual = residual;
    n->since = 0;
    copy(s, s->in_cone, s->inner);
  }
  for (int32_t k = 0; k < 3 * s->ld; ++k)
    s->moved_in[k] -= s->shift * (s->in_cone[k] - s->centre[k]);
  keep(s, rf_friction_residual_rt(s, s->in_cone, s->moved_in));
  return n->residual <= n->target || s->best_residual <= s->limits.tolerance;
}

typedef enum inner_end { REACHED, MISSED, LATE } inner_end;

static inner_end solve_inner(rf_friction *s, inner *n) {
  restart(s, s->centre);
  copy(s, s->centre, s->inner);
  for (int32_t k = 0; k < INNER; ++k) {
    if (!step(s, k % 2 ? GAIN_T : 1.0, 0.0)) return LATE;
    if (judge(s, n)) return REACHED;
    if (n->since < STUCK) continue;
    restart(s, s->inner);
    rf_friction_sweep_rt(s, SWEEPS);
    if (judge(s, n)) return REACHED;
    n->since = 0;
  }
  return MISSED;
}

// True if the last change of the forces, y, is normal with W y = 0 and y . free < 0: as y . d =
// y . free for any d = W f + free, d_n >= 0 is then impossible.  Along tangents, slip against y_t
// may make up for it.  W y counts as zero where only forces above ENORMOUS could open the contacts.
static bool is_pinched(rf_friction *s) {
  double most = 0.0, work = 0.0, moved = 0.0, across = 0.0;
  double *y = s->force;
  for (int32_t k = 0; k < 3 * s->ld; ++k) y[k] = s->inner[k] - s->centre[k];
  rf_friction_project_rt(s, y, y);
  for (int32_t k = 0; k < 3 * s->ld; ++k) most = fabs(y[k]) > most ? fabs(y[k]) : most;
  if (!(most > 0.0)) return false;
  for (int32_t k = 0; k < 3 * s->ld; ++k) y[k] /= most;
  for (int32_t k = s->ld; k < 3 * s->ld; ++k) across = fabs(y[k]) > across ? fabs(y[k]) : across;
  rf_friction_move_rt(s, y, s->moved);  // with the free motion
  for (int32_t k = 0; k < 3 * s->ld; ++k) {
    const double by_y = s->moved[k] - s->free[k];
    moved = fabs(by_y) > moved ? fabs(by_y) : moved;
    work += y[k] * s->free[k];
  }
  return across == 0.0 && work < -ENORMOUS * moved;
}

static rf_friction_end regularise(rf_friction *s) {
  double shift = SHIFT, least = LEAST_SHIFT;
  copy(s, s->best, s->centre);
  double residual = s->best_residual;
  for (int32_t k = 0; k < CENTRES; ++k) {
    ++s->report.centres;
    rf_friction_shift_rt(s, shift);
    inner n = {.residual = residual, .target = 0.1 * residual};
    const inner_end end = solve_inner(s, &n);
    rf_friction_shift_rt(s, 0.0);
    if (s->best_residual <= s->limits.tolerance) return RF_FRICTION_SOLVED;
    if (end == LATE) return out_of_time(s);
    if (end == REACHED) {
      if (is_pinched(s)) return RF_FRICTION_INFEASIBLE;
      copy(s, s->inner, s->centre);
      rf_friction_move_rt(s, s->centre, s->moved);
      residual = rf_friction_residual_rt(s, s->centre, s->moved);
      shift = fmax(0.3 * shift, least);
      least = fmax(0.5 * least, LEAST_SHIFT);
    } else {
      shift *= 5.0;
      least = 0.7 * shift;
    }
  }
  return RF_FRICTION_STALLED;
}

// Sets a part of the given friction, with forces to begin from.
static void set_part(rf_friction *s, double part, const double *from) {
  s->part = part;
  for (int32_t i = 0; i < s->ld; ++i) s->mu[i] = part * s->given_mu[i];
  rf_friction_project_rt(s, from, s->best);
  restart(s, s->best);
  s->best_residual = rf_friction_residual_rt(s, s->force, s->moved);
}

static void save_best(rf_friction *s) {
  copy(s, s->best, s->kept);
  s->kept_residual = s->best_residual;
}

// Sets the given friction, with the forces saved as the best.
static void restore_best(rf_friction *s) {
  set_part(s, 1.0, s->kept);
  s->best_residual = s->kept_residual;
}

// True if there is no solution with any friction: a body is pinched.
static bool is_infeasible(rf_friction *s) {
  save_best(s);
  memset(s->inner, 0, 3 * (size_t)s->ld * sizeof *s->inner);
  set_part(s, 0.0, s->inner);
  const rf_friction_end end = regularise(s);
  restore_best(s);
  return end == RF_FRICTION_INFEASIBLE;
}

// Increases friction from zero in `parts` parts, each begun at the forces of the last.
static rf_friction_end increase(rf_friction *s, int parts) {
  rf_friction_end end = RF_FRICTION_STALLED;
  save_best(s);
  memset(s->best, 0, 3 * (size_t)s->ld * sizeof *s->best);
  for (int k = 1; k <= parts && end != RF_FRICTION_BUDGET; ++k) {
    copy(s, s->best, s->inner);
    set_part(s, (double)k / parts, s->inner);
    rf_friction_sweep_rt(s, SWEEPS);
    end = keep(s, projected_residual(s)) ? RF_FRICTION_SOLVED : iterate(s);
    if (end == RF_FRICTION_STALLED) end = regularise(s);
  }
  if (s->part < 1.0 || s->best_residual > s->kept_residual) restore_best(s);
  return end == RF_FRICTION_BUDGET ? out_of_time(s) : end;
}

static rf_friction_end search(rf_friction *s) {
  rf_friction_end end = iterate(s);
  if (end != RF_FRICTION_STALLED) return end;
  if (is_infeasible(s)) return RF_FRICTION_INFEASIBLE;
  end = regularise(s);
  for (int parts = 2; parts <= MOST_PARTS && end == RF_FRICTION_STALLED; parts *= 2)
    end = increase(s, parts);
  return end;
}

// ---- forces that do not solve are bounded and do not add energy

// Replaces the best forces by those of W + SOFT.
static void soften(rf_friction *s) {
  memset(s->centre, 0, 3 * (size_t)s->ld * sizeof *s->centre);
  rf_friction_shift_rt(s, SOFT);
  copy(s, s->first, s->inner);
  restart(s, s->first);
  inner n = {.residual = INFINITY, .target = s->limits.tolerance};
  for (int32_t k = 0; k < INNER && !judge(s, &n); ++k) {
    restart(s, s->in_cone);
    if (k % 2)
      rf_friction_sweep_rt(s, SWEEPS);
    else if (!step(s, GAIN_T, 0.0))
      break;
  }
  rf_friction_shift_rt(s, 0.0);
  copy(s, s->inner, s->best);
}

static void shorten(rf_friction *s, double part) {
  for (int32_t k = 0; k < 3 * s->ld; ++k) s->best[k] *= part;
}

static void make_safe(rf_friction *s) {
  const bool poor = s->report.end == RF_FRICTION_INFEASIBLE || s->best_residual > FAR;
  if (poor && rf_friction_left_us_rt(s) > 0.0) soften(s);
  if (!(most_of(s, s->best) <= LARGEST)) copy(s, s->first, s->best);
  const double most = most_of(s, s->best);
  if (most > LARGEST) shorten(s, LARGEST / most);  // along the cones
  rf_friction_move_rt(s, s->best, s->moved);
  double work = 0.0, of_free = 0.0;
  for (int32_t k = 0; k < 3 * s->ld; ++k) {
    work += s->best[k] * s->moved[k];
    of_free += s->best[k] * s->free[k];
  }
  // f . (c W f + free) = 0
  if (work > 0.0) shorten(s, of_free < 0.0 ? -of_free / (work - of_free) : 0.0);
  if (!isfinite(work)) memset(s->best, 0, 3 * (size_t)s->ld * sizeof *s->best);
}

// Judged as in a step with gains of one, but by the forces and displacements of the end.
static rf_contact_state state_of(const rf_friction *s, int32_t i) {
  const int32_t ld = s->ld;
  const double *f = s->best, *u = s->moved_in;
  if (!(f[i] > u[i] * s->inverse_n[i])) return RF_CONTACT_OPEN;
  const double p1 = f[ld + i] - u[ld + i] * s->inverse_t[i];
  const double p2 = f[2 * ld + i] - u[2 * ld + i] * s->inverse_t[i];
  return sqrt(p1 * p1 + p2 * p2) <= s->mu[i] * f[i] ? RF_CONTACT_STICKS : RF_CONTACT_SLIPS;
}

static void refuse(const rf_friction *s, const rf_friction_results *out) {
  for (int32_t k = 0; k < 3 * s->m; ++k) {
    out->force[k] = 0.0;
    if (out->gap) out->gap[k] = 0.0;
  }
  for (int32_t i = 0; out->state && i < s->m; ++i) out->state[i] = RF_CONTACT_OPEN;
  *out->report = (rf_friction_report){.end = RF_FRICTION_STALLED, .residual = INFINITY};
}

rf_status rf_friction_open_rt(rf_friction *s, const double *free, const double *mu,
                              const double *start, const rf_friction_limits *limits,
                              const rf_friction_results *out) {
  s->begun_us = rf_clock_us_rt();
  s->reserve_us = 0.0;
  s->stopped = false;
  s->part = 1.0;
  s->limits = *limits;
  s->report = (rf_friction_report){.end = RF_FRICTION_SOLVED};
  if (!(limits->tolerance > 0.0 && limits->budget_us > 0.0) ||
      rf_friction_begin_rt(s, free, mu, start) < 0) {
    refuse(s, out);
    return RF_ERR_ARG;
  }
  memset(s->best, 0, 3 * (size_t)s->ld * sizeof *s->best);
  s->best_residual = rf_friction_residual_rt(s, s->best, s->free);
  return RF_OK;
}

void rf_friction_poll_rt(rf_friction *s) {
  if (s->limits.stop && !s->stopped) s->stopped = s->limits.stop(s->limits.context);
}

void rf_friction_close_rt(rf_friction *s, const rf_friction_results *out) {
  rf_friction_move_rt(s, s->best, s->moved_in);
  s->report.residual = rf_friction_residual_rt(s, s->best, s->moved_in);
  rf_friction_end_rt(s, s->best, out->force, out->gap);
  for (int32_t i = 0; out->state && i < s->m; ++i) out->state[i] = state_of(s, i);
  s->report.elapsed_us = rf_clock_us_rt() - s->begun_us;
  *out->report = s->report;
}

rf_status rf_friction_solve_rt(rf_friction *s, const double *free, const double *mu,
                               const double *start, const rf_friction_limits *limits, double *force,
                               double *gap, rf_contact_state *state, rf_friction_report *report) {
  const rf_friction_results out = {force, gap, state, report};
  const rf_status st = rf_friction_open_rt(s, free, mu, start, limits, &out);
  if (st < 0) return st;
  const bool stepped = !limits->sweeps && step_first(s);
  if (!stepped && !sweep_first(s)) s->report.end = search(s);
  if (s->best_residual > s->limits.tolerance) make_safe(s);
  rf_friction_close_rt(s, &out);
  return RF_OK;
}
