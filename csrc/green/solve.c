// Prescribed displacements, released supports, and free solids: dense problems with blocks of G.
//
//   C f_c = d - (G f)_c,  u = G (f + E_c f_c),  C = G_cc
//
// A release of supports adds Phi S^-1 Phi^T to G, for all loads.  Held DOFs of a free solid support
// it: its rigid motions R a join u, and the forces are in equilibrium, R^T (f + E_c f_c) = 0.
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "green/green.h"
#include "green/packed.h"
#include "linalg/blas.h"
#include "linalg/dense_rt.h"

enum { PANEL = 96 };  // columns that LAPACK factors between two polls

// A pivot that is smaller than this part of its diagonal entry counts as zero.
static const double SMALL = 1e-11;

typedef struct work {
  const rf_green *g;
  const rf_green_problem *p;
  int32_t released, ld_released, held, ld;  // DOFs
  double *support;                          // factor of S at the released DOFs
  double *sag;          // S^-1 Phi^T of unit forces at the held DOFs         (held, ld_released)
  double *at_supports;  // Phi^T f, and S^-1 Phi^T f                        (2, ld_released)
  double *compliance, *target;  // C and its factor, d - (G f)_c            (ld, ld), (ld)
  double *answer;               // C^-1 R_c         (RF_GREEN_RIGID + 1, ld)
} work;

static void release_work(work *w) {
  rf_free(w->support);
  rf_free(w->sag);
  rf_free(w->at_supports);
  rf_free(w->compliance);
  rf_free(w->target);
  rf_free(w->answer);
}

// Returns Phi of released DOF k as a field over the surface.
static const double *static_mode(const work *w, int32_t k) {
  const int64_t mode = 3 * (int64_t)w->p->released[k / 3] + k % 3;
  return w->g->static_modes + mode * 3 * rf_green_rows(w->g);
}

static int64_t dof(const work *w, int32_t k) { return 3 * (int64_t)w->p->place[k] + w->p->axis[k]; }

static const double *rigid(const work *w, int k) {
  return w->g->rigid + (int64_t)k * 3 * rf_green_rows(w->g);
}

// The factor of rf_dense_cholesky_rt by panels of LAPACK, for matrices that take seconds.  The rows
// of the upper triangle are the columns of the lower one there.
static rf_status factorize_panels(const rf_run *run, int32_t n, double *a, int32_t ld, bool *good,
                                  rf_error *err) {
  const double one = 1.0, minus = -1.0;
  *good = true;
  for (int32_t k = 0; k < n; k += PANEL) {
    const int wide = n - k < PANEL ? n - k : PANEL, rest = n - k - wide, step = ld;
    double *corner = a + (int64_t)k * ld + k, *below = corner + wide;
    double *behind = below + (int64_t)wide * ld;
    int info = 0;
    rf_blas_serial_begin();
    dpotrf_("L", &wide, corner, &step, &info);
    if (info == 0 && rest > 0) {
      dtrsm_("R", "L", "T", "N", &rest, &wide, &one, corner, &step, below, &step);
      dsyrk_("L", "N", &rest, &wide, &minus, below, &step, &one, behind, &step);
    }
    rf_blas_serial_end();
    *good = info == 0;
    const rf_status st = rf_run_poll(run, err);
    if (st < 0 || !*good) return st;
  }
  for (int32_t i = 0; i < n; ++i) {
    double *row = a + (int64_t)i * ld;
    const double root = row[i];
    for (int32_t j = i / RF_DENSE_PAD * RF_DENSE_PAD; j < i; ++j) row[j] = 0.0;
    for (int32_t j = i + 1; j < n; ++j) row[j] *= root;
    row[i] = 1.0 / (root * root);
  }
  return RF_OK;
}

// Factors A; `good` unless a pivot is lost: `diagonal` holds the entries before.
static rf_status factorize(const rf_green *g, const rf_run *run, int32_t n, double *a, int32_t ld,
                           double *diagonal, bool *good, rf_error *err) {
  for (int32_t i = 0; i < n; ++i) diagonal[i] = a[(int64_t)i * ld + i];
  if (n <= PANEL) {
    *good = rf_dense_cholesky_rt(g->simd, n, a, ld);
  } else {
    const rf_status st = factorize_panels(run, n, a, ld, good, err);
    if (st < 0) return st;
  }
  for (int32_t i = 0; *good && i < n; ++i)
    *good = 1.0 > SMALL * diagonal[i] * a[(int64_t)i * ld + i];
  return RF_OK;
}

static rf_status factorize_supports(work *w, const rf_run *run, rf_error *err) {
  bool good = true;
  const rf_green *g = w->g;
  const int64_t r = 3 * (int64_t)g->n_releasable;
  for (int32_t i = 0; i < w->released; ++i)
    for (int32_t j = 0; j < w->released; ++j)
      w->support[(int64_t)i * w->ld_released + j] =
          g->support[(3 * (int64_t)w->p->released[i / 3] + i % 3) * r +
                     3 * (int64_t)w->p->released[j / 3] + j % 3];
  const rf_status st =
      factorize(g, run, w->released, w->support, w->ld_released, w->at_supports, &good, err);
  if (st < 0) return st;
  if (!good)
    return rf_fail(err, RF_ERR_SINGULAR,
                   "released leaves too few fixed nodes: the solid could move as a rigid body, and "
                   "held nodes do not count; release fewer, or make a solid without these fixed "
                   "nodes");
  return RF_OK;
}

// Adds the response of the released supports to a load with Phi^T f in at_supports.
static void add_release(work *w, double *u) {
  if (!w->released) return;
  double *motion = w->at_supports + w->ld_released;
  rf_dense_cholesky_solve_rt(w->g->simd, w->released, w->support, w->ld_released, w->at_supports,
                             motion);
  for (int32_t k = 0; k < w->released; ++k) {
    const double *mode = static_mode(w, k);
    for (int32_t i = 0; i < 3 * w->g->count; ++i) u[i] += motion[k] * mode[i];
  }
}

// u = response to a load over the surface.
static void respond_to_load(work *w, double *u) {
  const rf_green *g = w->g;
  const double *load = w->p->load;
  rf_green_load_rt(g, load, u);
  for (int32_t k = 0; k < w->released; ++k) {
    const double *mode = static_mode(w, k);
    double sum = 0.0;
    for (int32_t i = 0; load && i < 3 * g->count; ++i) sum += mode[i] * load[i];
    w->at_supports[k] = sum;
  }
  add_release(w, u);
}

// Fills the compliance of the held DOFs, with the supports released.
static rf_status fill_compliance(work *w, double lift, const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  const rf_green *g = w->g;
  const rf_green_problem *p = w->p;
  for (int32_t k = 0; k < w->held; ++k) {
    double *sag = w->sag + (int64_t)k * w->ld_released;
    for (int32_t q = 0; q < w->released; ++q) sag[q] = static_mode(w, q)[dof(w, k)];
    if (w->released)
      rf_dense_cholesky_solve_rt(g->simd, w->released, w->support, w->ld_released, sag, sag);
  }
  for (int32_t i = 0; i < w->held; ++i) {
    if (i % PANEL == 0) RF_TRY(rf_run_poll(run, err));
    for (int32_t j = i; j < w->held; ++j) {
      double block[9];
      rf_green_block_rt(g, p->place[i], p->place[j], block);
      double entry = block[3 * p->axis[i] + p->axis[j]] *
                     rf_green_lifted(g, lift, p->place[i], p->place[j]);
      for (int32_t q = 0; q < w->released; ++q)
        entry += static_mode(w, q)[dof(w, i)] * w->sag[(int64_t)j * w->ld_released + q];
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
    RF_TRY(fill_compliance(w, lift, run, err));
    RF_TRY(factorize(w->g, run, w->held, w->compliance, w->ld, w->answer, &good, err));
    lift = rf_green_next_lift(w->g, lift);
  } while (!good && lift > 0.0);
  if (!good)
    st = rf_fail(err, RF_ERR_SINGULAR,
                 "held: the compliance of its %d directions is singular; nodes may be so close to "
                 "each other that they move alike, or hold all of a free solid",
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
  const rf_status st = factorize(g, run, RF_GREEN_RIGID, normal, LD, diagonal, &good, err);
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

static rf_status make_room(work *w, rf_error *err) {
  rf_status st = RF_OK;
  w->released = 3 * w->p->n_released;
  w->held = w->p->held;
  w->ld_released = rf_dense_ld(w->released);
  w->ld = rf_dense_ld(w->held);
  RF_ALLOC(w->support, (int64_t)w->ld_released * w->ld_released);
  RF_ALLOC(w->sag, (int64_t)w->held * w->ld_released);
  RF_ALLOC(w->at_supports, 2 * (int64_t)w->ld_released);
  RF_ALLOC(w->compliance, (int64_t)w->ld * w->ld);
  RF_ALLOC(w->target, w->ld);
  RF_ALLOC(w->answer, (RF_GREEN_RIGID + 1) * (int64_t)w->ld);
done:
  return st;
}

rf_status rf_green_solve(const rf_green *g, const rf_run *run, const rf_green_problem *problem,
                         double *force, double *u, double *released, rf_error *err) {
  rf_status st = RF_OK;
  work w = {.g = g, .p = problem};
  RF_TRY(make_room(&w, err));
  RF_TRY(factorize_supports(&w, run, err));
  respond_to_load(&w, u);
  RF_TRY(rf_run_poll(run, err));
  if (w.held) {
    for (int32_t k = 0; k < w.held; ++k) w.target[k] = problem->target[k] - u[dof(&w, k)];
    RF_TRY(factorize_compliance(&w, run, err));
    if (g->rigid) RF_TRY(support_free(&w, run, u, err));
    rf_dense_cholesky_solve_rt(g->simd, w.held, w.compliance, w.ld, w.target, w.target);
  }
  for (int32_t q = 0; q < w.released; ++q) released[q] = w.at_supports[w.ld_released + q];
  memset(w.at_supports, 0, 2 * (size_t)w.ld_released * sizeof *w.at_supports);
  for (int32_t k = 0; k < w.held; ++k) {
    const double f[3] = {problem->axis[k] == 0 ? w.target[k] : 0.0,
                         problem->axis[k] == 1 ? w.target[k] : 0.0,
                         problem->axis[k] == 2 ? w.target[k] : 0.0};
    force[k] = w.target[k];
    rf_green_add_rt(g, 1, &problem->place[k], f, u);
    for (int32_t q = 0; q < w.released; ++q)
      w.at_supports[q] += static_mode(&w, q)[dof(&w, k)] * force[k];
  }
  add_release(&w, u);
  for (int32_t q = 0; q < w.released; ++q) released[q] += w.at_supports[w.ld_released + q];
  // to the bit, where sums of large opposite forces in single precision would leave some noise
  for (int32_t k = 0; k < w.held; ++k) u[dof(&w, k)] = problem->target[k];
done:
  release_work(&w);
  return st;
}
