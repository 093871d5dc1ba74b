// Prescribed displacements, released supports, and free solids: dense problems with blocks of G.
//
//   C f_c = d - (G f)_c,  u = G (f + E_c f_c),  C = G_cc
//
// A release of supports adds Phi S^-1 Phi^T to G, for all loads.  If those that are left do not
// hold the solid, S is singular, and held DOFs support it: their forces and the displacements a of
// the released nodes obey
//
//   C f_c + Phi_c a = d - (G f)_c,  S a - Phi_c^T f_c = Phi^T f,  u = G (f + E_c f_c) + Phi a.
//
// Held DOFs of a free solid support it likewise: its rigid motions R a join u, and the forces are
// in equilibrium, R^T (f + E_c f_c) = 0.
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "green/green.h"
#include "green/packed.h"
#include "green/release.h"
#include "linalg/dense_rt.h"

enum { ROWS = 96 };  // of a compliance between two polls

typedef struct work {
  const rf_green *g;
  const rf_green_problem *p;
  rf_green_release release;
  bool alone;                   // the supports that are left hold the solid
  double lift;                  // of the compliance (packed.h)
  int32_t held, ld;             // DOFs
  double *sag;                  // S^-1 Phi^T of unit forces at the held DOFs    (held, release.ld)
  double *compliance, *target;  // C and its factor, d - (G f)_c                  (ld, ld), (ld)
  double *answer;               // C^-1 R_c                           (RF_GREEN_RIGID + 1, ld)
  double *spread;               // C^-1 Phi_c, unless `alone`                    (release.n, ld)
} work;

static void release_work(work *w) {
  rf_green_release_free(&w->release);
  rf_free(w->sag);
  rf_free(w->compliance);
  rf_free(w->target);
  rf_free(w->answer);
  rf_free(w->spread);
}

static int64_t dof(const work *w, int32_t k) { return 3 * (int64_t)w->p->place[k] + w->p->axis[k]; }

// Returns Phi at a held DOF of a released one.
static double mode_at(const work *w, int32_t released, int32_t held) {
  return rf_green_release_mode(&w->release, released)[dof(w, held)];
}

static const double *rigid(const work *w, int k) {
  return w->g->rigid + (int64_t)k * 3 * rf_green_rows(w->g);
}

// Fills the compliance of the held DOFs, with the supports released.
static rf_status fill_compliance(work *w, const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  const rf_green *g = w->g;
  const rf_green_problem *p = w->p;
  const rf_green_release *r = &w->release;
  const int32_t released = w->alone ? r->n : 0;
  for (int32_t k = 0; k < w->held && released; ++k) {
    double *sag = w->sag + (int64_t)k * r->ld;
    for (int32_t q = 0; q < released; ++q) sag[q] = mode_at(w, q, k);
    rf_dense_cholesky_solve_rt(g->simd, released, r->factor, r->ld, sag, sag);
  }
  for (int32_t i = 0; i < w->held; ++i) {
    if (i % ROWS == 0) RF_TRY(rf_run_poll(run, err));
    for (int32_t j = i; j < w->held; ++j) {
      double block[9];
      rf_green_lifted_block_rt(g, w->lift, p->place[i], p->place[j], block);
      double entry = block[3 * p->axis[i] + p->axis[j]];
      for (int32_t q = 0; q < released; ++q)
        entry += mode_at(w, q, i) * w->sag[(int64_t)j * r->ld + q];
      w->compliance[(int64_t)i * w->ld + j] = w->compliance[(int64_t)j * w->ld + i] = entry;
    }
  }
done:
  return st;
}

static rf_status factorize_compliance(work *w, const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  bool good = false;
  double lift = 0.0;
  do {
    w->lift = lift;
    RF_TRY(fill_compliance(w, run, err));
    RF_TRY(rf_green_factorize(w->g, run, w->held, w->compliance, w->ld, w->answer, &good, err));
    lift = rf_green_next_lift(w->g, lift);
  } while (!good && lift > 0.0);
  if (!good && w->g->packed)
    st = rf_fail(err, RF_ERR_SINGULAR,
                 "held: the compliance of its %d directions is singular, or tolerance %g is too "
                 "coarse for them; make the Green's functions with a smaller one",
                 (int)w->held, w->g->packed->tolerance);
  else if (!good)
    st = rf_fail(err, RF_ERR_SINGULAR,
                 "held: the compliance of its %d directions is singular; nodes may be so close to "
                 "each other that they move alike, be constrained to follow each other, or hold "
                 "all of a free solid",
                 (int)w->held);
done:
  return st;
}

// Changes w->target by the rigid motion a that lets the forces balance the load, and adds it to u.
static rf_status support_free(work *w, const rf_run *run, double *u, rf_error *err) {
  bool good = true;
  const rf_green *g = w->g;
  enum { LD = 8 };
  _Alignas(64) double normal[LD * LD] = {0}, right[LD] = {0}, motion[LD] = {0}, diagonal[LD];
  for (int a = 0; a < RF_GREEN_RIGID; ++a) {
    double *column = w->answer + (int64_t)a * w->ld;
    memset(column, 0, (size_t)w->ld * sizeof *column);
    for (int32_t k = 0; k < w->held; ++k) column[k] = rigid(w, a)[dof(w, k)];
    rf_dense_cholesky_solve_rt(g->simd, w->held, w->compliance, w->ld, column, column);
    for (int32_t k = 0; k < w->held; ++k) right[a] += column[k] * w->target[k];
    for (int32_t i = 0; w->p->load && i < 3 * g->count; ++i)
      right[a] += rigid(w, a)[i] * w->p->load[i];
  }
  for (int a = 0; a < RF_GREEN_RIGID; ++a)
    for (int b = a; b < RF_GREEN_RIGID; ++b)
      for (int32_t k = 0; k < w->held; ++k)
        normal[a * LD + b] += rigid(w, a)[dof(w, k)] * w->answer[(int64_t)b * w->ld + k];
  const rf_status st = rf_green_factorize(g, run, RF_GREEN_RIGID, normal, LD, diagonal, &good, err);
  if (st < 0) return st;
  if (!good)
    return rf_fail(err, RF_ERR_SINGULAR,
                   "held does not support the free solid: hold three nodes that are not on a line, "
                   "or six directions that prevent every rigid motion");
  rf_dense_cholesky_solve_rt(g->simd, RF_GREEN_RIGID, normal, LD, right, motion);
  for (int a = 0; a < RF_GREEN_RIGID; ++a) {
    for (int32_t k = 0; k < w->held; ++k) w->target[k] -= motion[a] * rigid(w, a)[dof(w, k)];
    for (int32_t i = 0; i < 3 * g->count; ++i) u[i] += motion[a] * rigid(w, a)[i];
  }
  return RF_OK;
}

// Solves for the released displacements, which held DOFs keep finite, and changes w->target by
// them.
static rf_status support_released(work *w, const rf_run *run, double *u, rf_error *err) {
  bool good = true;
  rf_green_release *r = &w->release;
  for (int32_t q = 0; q < r->n; ++q) {
    double *column = w->spread + (int64_t)q * w->ld;
    for (int32_t k = 0; k < w->held; ++k) column[k] = mode_at(w, q, k);
    rf_dense_cholesky_solve_rt(w->g->simd, w->held, w->compliance, w->ld, column, column);
    for (int32_t k = 0; k < w->held; ++k) r->load[q] += column[k] * w->target[k];
  }
  memset(r->factor, 0, (size_t)r->ld * (size_t)r->ld * sizeof *r->factor);
  for (int32_t p = 0; p < r->n; ++p)
    for (int32_t q = p; q < r->n; ++q) {
      double sum = rf_green_release_stiffness(r, p, q);
      for (int32_t k = 0; k < w->held; ++k)
        sum += mode_at(w, p, k) * w->spread[(int64_t)q * w->ld + k];
      r->factor[(int64_t)p * r->ld + q] = r->factor[(int64_t)q * r->ld + p] = sum;
    }
  const rf_status st = rf_green_factorize(w->g, run, r->n, r->factor, r->ld, r->motion, &good, err);
  if (st < 0) return st;
  if (!good)
    return rf_fail(err, RF_ERR_SINGULAR,
                   "released leaves too few fixed nodes, and held does not replace them: the "
                   "solid could move as a rigid body; release fewer, or hold three nodes that are "
                   "not on a line");
  rf_green_release_solve(r);
  rf_green_release_add(r, r->motion, u);
  for (int32_t k = 0; k < w->held; ++k)
    for (int32_t q = 0; q < r->n; ++q) w->target[k] -= r->motion[q] * mode_at(w, q, k);
  return st;
}

static rf_status make_room(work *w, rf_error *err) {
  rf_status st = RF_OK;
  w->held = w->p->held;
  w->ld = rf_dense_ld(w->held);
  RF_TRY(rf_green_release_create(w->g, w->p->n_released, w->p->released, &w->release, err));
  RF_ALLOC(w->sag, (int64_t)w->held * w->release.ld);
  RF_ALLOC(w->compliance, (int64_t)w->ld * w->ld);
  RF_ALLOC(w->target, w->ld);
  RF_ALLOC(w->answer, (RF_GREEN_RIGID + 1) * (int64_t)w->ld);
done:
  return st;
}

// Decides what holds the solid.
static rf_status factorize_supports(work *w, const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  RF_TRY(rf_green_release_factorize(&w->release, run, 0.0, &w->alone, err));
  if (w->alone) return st;
  if (!w->held)
    return rf_fail(err, RF_ERR_SINGULAR,
                   "released leaves too few fixed nodes: the solid could move as a rigid body; "
                   "release fewer, or hold three nodes that are not on a line");
  RF_ALLOC(w->spread, (int64_t)w->release.n * w->ld);
done:
  return st;
}

// Adds the forces of the held DOFs to u; r->load becomes Phi^T of them.
static void add_forces(work *w, double *u) {
  rf_green_release *r = &w->release;
  memset(r->load, 0, (size_t)r->ld * sizeof *r->load);
  for (int32_t k = 0; k < w->held; ++k) {
    double f[3] = {0.0, 0.0, 0.0};
    f[w->p->axis[k]] = w->target[k];
    rf_green_add_lifted_rt(w->g, w->lift, 1, &w->p->place[k], f, u);
    for (int32_t q = 0; q < r->n; ++q) r->load[q] += mode_at(w, q, k) * w->target[k];
  }
}

rf_status rf_green_solve(const rf_green *g, const rf_run *run, const rf_green_problem *problem,
                         double *force, double *u, double *released, double *lift, rf_error *err) {
  rf_status st = RF_OK;
  work w = {.g = g, .p = problem};
  rf_green_release *r = &w.release;
  RF_TRY(make_room(&w, err));
  RF_TRY(factorize_supports(&w, run, err));
  rf_green_load_rt(g, problem->load, u);
  rf_green_release_load(r, problem->load);
  if (w.alone) {
    rf_green_release_solve(r);
    rf_green_release_add(r, r->motion, u);
  }
  RF_TRY(rf_run_poll(run, err));
  if (w.held) {
    for (int32_t k = 0; k < w.held; ++k) w.target[k] = problem->target[k] - u[dof(&w, k)];
    RF_TRY(factorize_compliance(&w, run, err));
    if (g->rigid) RF_TRY(support_free(&w, run, u, err));
    if (!w.alone) RF_TRY(support_released(&w, run, u, err));
    rf_dense_cholesky_solve_rt(g->simd, w.held, w.compliance, w.ld, w.target, w.target);
  }
  *lift = w.lift;
  for (int32_t q = 0; q < r->n; ++q) released[q] = r->motion[q];
  for (int32_t k = 0; k < w.held; ++k) force[k] = w.target[k];
  add_forces(&w, u);
  if (w.alone) {
    rf_green_release_solve(r);
    rf_green_release_add(r, r->motion, u);
    for (int32_t q = 0; q < r->n; ++q) released[q] += r->motion[q];
  }
  // to the bit, where sums of large opposite forces in single precision would leave some noise
  for (int32_t k = 0; k < w.held; ++k) u[dof(&w, k)] = problem->target[k];
done:
  release_work(&w);
  return st;
}
