#include "green/contact.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "constraint/friction_poll.h"
#include "green/packed.h"
#include "green/release.h"
#include "linalg/blas.h"
#include "linalg/dense_rt.h"
#include "linalg/vec3.h"

enum {
  MOST_CENTRES = 60,  // solves with springs at other places
  MOST_UNSOLVED = 3   // of these without a solution
};

// Stiffness of all springs together, relative to that of a released DOF; the rest of their force
// that counts as zero, relative to the largest force.
static const double SPRING = 1e-3, ENOUGH = 1e-10;
// The force of springs falls by more than this in half of the solves if the solid comes to rest.
static const double FALLING = 0.9;
// A fall by less than this asks for a smaller tolerance of the solver, down to LEAST.
static const double SLOW = 0.5, LEAST = 1e-15;
// Part of the diagonal of W by which rounding may make it indefinite.
static const double ROUNDING = 1e-9;

// Fills the rows normal, first and second tangent of a right-handed frame.
static rf_status make_frame(const double normal[3], int32_t k, double frame[9], rf_error *err) {
  const double length = rf_vec3_length(normal);
  if (!(length > 0.0 && isfinite(length)))
    return rf_fail(err, RF_ERR_ARG, "normals[%d] is (%g, %g, %g), which has no direction", (int)k,
                   normal[0], normal[1], normal[2]);
  for (int c = 0; c < 3; ++c) frame[c] = normal[c] / length;
  rf_vec3_tangents(frame, frame + 3, frame + 6);
  return RF_OK;
}

// Adds forces (m, 3) at points to u, of lifted Green's functions.
static void add_forces(const rf_green *g, double lift, int32_t m, const rf_green_point *point,
                       const double *force, double *u) {
  for (int32_t k = 0; k < m; ++k)
    for (int a = 0; a < 3; ++a) {
      const double w = point[k].weight[a], *f = force + 3 * (int64_t)k;
      const double part[3] = {w * f[0], w * f[1], w * f[2]};
      if (w != 0.0) rf_green_add_lifted_rt(g, lift, 1, &point[k].place[a], part, u);
    }
}

static void displacement_of(const rf_green_point *p, const double *u, double out[3]) {
  for (int c = 0; c < 3; ++c) {
    out[c] = 0.0;
    for (int a = 0; a < 3; ++a) out[c] += p->weight[a] * u[3 * (int64_t)p->place[a] + c];
  }
}

// rf_green_between_rt of lifted Green's functions.
static void lifted_between(const rf_green *g, const rf_green_point *p, const rf_green_point *q,
                           double lift, double block[9]) {
  memset(block, 0, 9 * sizeof *block);
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b) {
      const double weight = p->weight[a] * q->weight[b];
      if (weight == 0.0) continue;
      double one[9];
      rf_green_lifted_block_rt(g, lift, p->place[a], q->place[b], one);
      for (int c = 0; c < 9; ++c) block[c] += weight * one[c];
    }
}

// Fills W without released supports, of Green's functions that are lifted (packed.h).
static void fill_operator(const rf_green *g, const rf_green_contact *contact, const double *frame,
                          double lift, double *w) {
  const int32_t m = contact->m;
  for (int32_t p = 0; p < m; ++p)
    for (int32_t q = 0; q <= p; ++q) {
      double block[9], turned[9], own[9];
      lifted_between(g, &contact->point[p], &contact->point[q], lift, block);
      // F_p B F_q^T = F_p (F_q B^T)^T
      rf_mat3_abt(frame + 9 * (int64_t)q, block, turned);
      rf_mat3_abt(frame + 9 * (int64_t)p, turned, own);
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
          const int64_t row = 3 * (int64_t)p + i, column = 3 * (int64_t)q + j;
          if (column > row) continue;
          w[row * 3 * m + column] = w[column * 3 * m + row] = own[3 * i + j];
        }
    }
}

// Fills W; of packed Green's functions with the least lift that makes it semidefinite to rounding.
static rf_status fill_definite(const rf_green *g, const rf_green_contact *contact,
                               const double *frame, double *w, double *lift, rf_error *err) {
  rf_status st = RF_OK;
  const int n = 3 * contact->m;
  double *copy = NULL, mean = 0.0;
  *lift = 0.0;
  fill_operator(g, contact, frame, 0.0, w);
  if (!g->packed) return st;
  RF_ALLOC(copy, (int64_t)n * n);
  for (int i = 0; i < n; ++i) mean += w[(int64_t)i * n + i] / n;
  for (;;) {
    int info = 0;
    memcpy(copy, w, (size_t)n * (size_t)n * sizeof *w);
    for (int i = 0; i < n; ++i) copy[(int64_t)i * n + i] += ROUNDING * mean;
    rf_blas_serial_begin();
    dpotrf_("L", &n, copy, &n, &info);
    rf_blas_serial_end();
    if (info == 0) break;
    *lift = rf_green_next_lift(g, *lift);
    if (*lift == 0.0) {
      st = rf_fail(err, RF_ERR_SINGULAR,
                   "tolerance is too coarse for these contacts: %g makes their compliance "
                   "indefinite; make the Green's functions with a smaller one",
                   g->packed->tolerance);
      goto done;
    }
    fill_operator(g, contact, frame, *lift, w);
  }
done:
  rf_free(copy);
  return st;
}

// Turns vectors (m, 3) into the frames, or back.
static void turn(int32_t m, const double *frame, bool back, const double *from, double *to) {
  for (int32_t k = 0; k < m; ++k)
    for (int i = 0; i < 3; ++i) {
      double sum = 0.0;
      for (int j = 0; j < 3; ++j)
        sum += frame[9 * (int64_t)k + (back ? 3 * j + i : 3 * i + j)] * from[3 * (int64_t)k + j];
      to[3 * (int64_t)k + i] = sum;
    }
}

typedef struct work {
  const rf_green *g;
  const rf_green_contact *contact;
  rf_green_release release;
  bool alone;      // the supports that are left hold the solid
  double spring;   // N/m, unless `alone`
  double *frame;   // (m, 9)
  double *w;       // W without and with released supports           (3m, 3m)
  double *modes;   // Phi at the points, in their frames        (release.n, 3m)
  double *centre;  // places of the springs                         (release.n)
  double *carry;   // Phi^T f of the load                           (release.n)
  double *bare;    // places of the points by the load alone            (m, 3)
  double *free, *start, *force, *moved;  // in the frames               (m, 3)
} work;

static void release_work(work *w) {
  rf_green_release_free(&w->release);
  rf_free(w->frame);
  rf_free(w->w);
  rf_free(w->modes);
  rf_free(w->centre);
  rf_free(w->carry);
  rf_free(w->bare);
  rf_free(w->free);
  rf_free(w->start);
  rf_free(w->force);
  rf_free(w->moved);
}

static rf_status make_room(work *w, rf_error *err) {
  rf_status st = RF_OK;
  const int64_t m = w->contact->m;
  RF_TRY(rf_green_release_create(w->g, w->contact->n_released, w->contact->released, &w->release,
                                 err));
  RF_ALLOC(w->frame, 9 * m);
  RF_ALLOC(w->w, 9 * m * m);
  RF_ALLOC(w->modes, w->release.n * 3 * m);
  RF_ALLOC(w->centre, w->release.n);
  RF_ALLOC(w->carry, w->release.n);
  RF_ALLOC(w->bare, 3 * m);
  RF_ALLOC(w->free, 3 * m);
  RF_ALLOC(w->start, 3 * m);
  RF_ALLOC(w->force, 3 * m);
  RF_ALLOC(w->moved, 3 * m);
done:
  return st;
}

// Factors S, with springs if it is singular, and adds the released supports to W.
static rf_status release_supports(work *w, const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  rf_green_release *r = &w->release;
  const int32_t m = w->contact->m;
  double *column = NULL;
  RF_TRY(rf_green_release_factorize(r, run, 0.0, &w->alone, err));
  if (!w->alone) {
    bool good = false;
    double mean = 0.0;
    for (int32_t i = 0; i < r->n; ++i) mean += rf_green_release_stiffness(r, i, i) / r->n;
    w->spring = 3.0 * SPRING * mean / r->n;
    RF_TRY(rf_green_release_factorize(r, run, w->spring, &good, err));
    if (!good) {
      st = rf_fail(err, RF_ERR_SINGULAR, "the stiffness of the released nodes is indefinite");
      goto done;
    }
  }
  RF_ALLOC(column, r->ld);
  for (int32_t k = 0; k < r->n; ++k) {
    const double *mode = rf_green_release_mode(r, k);
    for (int32_t p = 0; p < m; ++p)
      displacement_of(&w->contact->point[p], mode, w->free + 3 * (int64_t)p);
    turn(m, w->frame, false, w->free, w->modes + (int64_t)k * 3 * m);
  }
  for (int32_t i = 0; i < 3 * m && r->n; ++i) {
    for (int32_t k = 0; k < r->n; ++k) column[k] = w->modes[(int64_t)k * 3 * m + i];
    rf_dense_cholesky_solve_rt(w->g->simd, r->n, r->factor, r->ld, column, column);
    double *row = w->w + (int64_t)i * 3 * m;
    for (int32_t k = 0; k < r->n; ++k)
      for (int32_t j = 0; j < 3 * m; ++j) row[j] += column[k] * w->modes[(int64_t)k * 3 * m + j];
  }
  // symmetric to the bit
  for (int64_t i = 0; i < 3 * m; ++i)
    for (int64_t j = 0; j < i; ++j) w->w[j * 3 * m + i] = w->w[i * 3 * m + j];
done:
  rf_free(column);
  return st;
}

// Solves for the motion of the released nodes by the load, the springs, and forces of contacts.
static void move_released(work *w, const double *force) {
  rf_green_release *r = &w->release;
  const int64_t rows = 3 * (int64_t)w->contact->m;
  for (int32_t k = 0; k < r->n; ++k) {
    r->load[k] = w->carry[k] + w->spring * w->centre[k];
    for (int64_t i = 0; force && i < rows; ++i) r->load[k] += w->modes[k * rows + i] * force[i];
  }
  rf_green_release_solve(r);
}

static double largest(int64_t n, const double *x) {
  double most = 0.0;
  for (int64_t i = 0; i < n; ++i) most = fmax(most, fabs(x[i]));
  return most;
}

// Solves for the forces; those of a start are in w->force.
static rf_status solve_contact(work *w, rf_friction *solver, bool started,
                               const rf_friction_limits *limits, rf_contact_state *state,
                               rf_friction_report *report, rf_error *err) {
  const int64_t rows = 3 * (int64_t)w->contact->m;
  move_released(w, NULL);
  memcpy(w->free, w->bare, (size_t)rows * sizeof *w->free);
  for (int32_t k = 0; k < w->release.n; ++k)
    for (int64_t i = 0; i < rows; ++i) w->free[i] += w->modes[k * rows + i] * w->release.motion[k];
  memcpy(w->start, w->force, (size_t)rows * sizeof *w->start);
  const rf_status st =
      rf_friction_solve_rt(solver, w->free, w->contact->mu, started ? w->start : NULL, limits,
                           w->force, w->moved, state, report);
  if (st < 0)
    return rf_fail(err, st, "gaps, forces or compliances are out of range: values must be below %g",
                   RF_FRICTION_MOST_SCALE);
  return st;
}

// Refuses what the springs still hold.
static rf_status refuse(const rf_friction_report *report, bool falls, rf_error *err) {
  static const char *const opening = "released leaves too few fixed nodes, and the contacts ";
  if (report->end != RF_FRICTION_SOLVED)
    return rf_fail(err, RF_ERR_SINGULAR,
                   "%shold the solid by no forces that were found (residual %.2g): points that are "
                   "close to each other or named twice may be the cause",
                   opening, report->residual);
  if (falls)
    return rf_fail(err, RF_ERR_SINGULAR,
                   "%sbarely hold the solid against the load: it still moved after %d steps; take "
                   "more friction or a smaller load along the surface, or release fewer",
                   opening, (int)MOST_CENTRES);
  return rf_fail(err, RF_ERR_SINGULAR,
                 "%sdo not hold the solid against the load: it would move away; release fewer, or "
                 "add contacts on the other side",
                 opening);
}

// Solves with the springs at the last places until they carry no force.
static rf_status settle(work *w, rf_friction *solver, const rf_friction_limits *limits,
                        rf_friction_poll *asked, rf_contact_state *state,
                        rf_friction_report *report, rf_error *err) {
  rf_status st = RF_OK;
  rf_green_release *r = &w->release;
  rf_friction_limits inner = *limits;
  double size = w->contact->load ? largest(3 * (int64_t)w->g->count, w->contact->load) : 0.0;
  double first = 0.0, rest = 0.0;
  int32_t unsolved = 0;
  // errors of the solves add up in the places of the springs
  if (!w->alone) inner.tolerance = fmin(inner.tolerance, ENOUGH);
  for (int centre = 0; centre < MOST_CENTRES && unsolved < MOST_UNSOLVED; ++centre) {
    RF_TRY(solve_contact(w, solver, centre > 0, &inner, state, report, err));
    RF_TRY(asked->st);
    move_released(w, w->force);
    if (w->alone) return st;
    const double before = rest;
    rest = 0.0;
    for (int32_t k = 0; k < r->n; ++k) {
      rest = fmax(rest, fabs(w->spring * (r->motion[k] - w->centre[k])));
      w->centre[k] = r->motion[k];
    }
    // a body that evades has no force in the end: the largest of all solves counts
    size = fmax(size, largest(3 * (int64_t)w->contact->m, w->force));
    if (report->end == RF_FRICTION_STALLED && report->residual <= limits->tolerance)
      report->end = RF_FRICTION_SOLVED;
    if (rest <= ENOUGH * size) return st;
    if (report->end != RF_FRICTION_SOLVED) ++unsolved;
    if (centre > 0 && rest > SLOW * before) inner.tolerance = fmax(0.01 * inner.tolerance, LEAST);
    if (centre == MOST_CENTRES / 2) first = rest;
  }
  st = refuse(report, rest < FALLING * first, err);
done:
  return st;
}

rf_status rf_green_contact_solve(const rf_green *g, const rf_run *run,
                                 const rf_green_contact *contact, double tolerance, double *force,
                                 double *gap, rf_contact_state *state, double *released, double *u,
                                 double *lift, rf_friction_report *report, rf_error *err) {
  rf_status st = RF_OK;
  rf_friction_poll asked = {.run = run, .err = err};
  const rf_friction_limits limits = {.tolerance = tolerance,
                                     .budget_us = INFINITY,
                                     .stop = rf_friction_poll_stop,
                                     .context = &asked};
  const int32_t m = contact->m;
  const rf_friction_settings set = {.most = m, .simd = g->simd};
  rf_friction *solver = NULL;
  work w = {.g = g, .contact = contact};
  RF_TRY(rf_friction_create(&set, &solver, err));
  RF_TRY(make_room(&w, err));
  for (int32_t k = 0; k < m; ++k)
    RF_TRY(make_frame(contact->normal + 3 * (int64_t)k, k, w.frame + 9 * (int64_t)k, err));
  RF_TRY(fill_definite(g, contact, w.frame, w.w, lift, err));
  RF_TRY(release_supports(&w, run, err));
  rf_green_load_rt(g, contact->load, u);
  rf_green_release_load(&w.release, contact->load);
  for (int32_t k = 0; k < w.release.n; ++k) w.carry[k] = w.release.load[k];
  for (int32_t k = 0; k < m; ++k) {
    double *place = w.moved + 3 * (int64_t)k;
    displacement_of(&contact->point[k], u, place);
    for (int c = 0; c < 3; ++c) place[c] += contact->gap[3 * (int64_t)k + c];
  }
  turn(m, w.frame, false, w.moved, w.bare);
  st = rf_friction_set_matrix_rt(solver, m, w.w);
  if (st < 0) {
    rf_fail(err, st, "gaps, forces or compliances are out of range: values must be below %g",
            RF_FRICTION_MOST_SCALE);
    goto done;
  }
  RF_TRY(settle(&w, solver, &limits, &asked, state, report, err));
  turn(m, w.frame, true, w.force, force);
  turn(m, w.frame, true, w.moved, gap);
  add_forces(g, *lift, m, contact->point, force, u);
  rf_green_release_add(&w.release, w.release.motion, u);
  for (int32_t k = 0; k < w.release.n; ++k) released[k] = w.release.motion[k];
done:
  rf_friction_free(solver);
  release_work(&w);
  return st;
}
