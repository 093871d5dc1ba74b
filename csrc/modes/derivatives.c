#include "base/alloc.h"
#include "base/run.h"
#include "modes/modes.h"

// All right-hand sides are written first, in the memory of the solutions, then solved in place: the
// blocks of both are fixed, so the result does not depend on the number of threads.
rf_status rf_modes_derivatives_of(const rf_modes_system *system, const rf_run *run, int32_t k,
                                  const double *shapes, int64_t begin, int64_t end,
                                  double *derivatives, rf_error *err) {
  rf_status st = RF_OK;
  const rf_eigen_problem *op = &system->operators;
  const size_t n = (size_t)op->n;
  const int64_t pairs = end - begin;
  const double *a[RF_CHOLESKY_BLOCK], *b[RF_CHOLESKY_BLOCK];
  double *out[RF_CHOLESKY_BLOCK];
  if (!system->hessian)
    return rf_fail(err, RF_ERR_ARG, "the system has no Hessian, which modal derivatives need");
  if (op->shift != 0.0)
    return rf_fail(err, RF_ERR_ARG, "modal derivatives without inertia need K itself, not K - %g M",
                   op->shift);
  if (!(k >= 1))
    return rf_fail(err, RF_ERR_ARG, "modal derivatives need at least one mode, got %d", k);
  if (!(begin >= 0 && begin % RF_CHOLESKY_BLOCK == 0 && begin < end &&
        (end % RF_CHOLESKY_BLOCK == 0 || end == rf_modes_pairs(k)) && end <= rf_modes_pairs(k)))
    return rf_fail(err, RF_ERR_ARG, "pairs %lld to %lld of %lld are no whole blocks of %d",
                   (long long)begin, (long long)end, (long long)rf_modes_pairs(k),
                   RF_CHOLESKY_BLOCK);

  int32_t filled = 0;
  int64_t finished = 0, place = 0;
  for (int32_t i = 0; i < k; ++i) {
    for (int32_t j = i; j < k; ++j, ++place) {
      if (place < begin || place >= end) continue;
      a[filled] = shapes + n * (size_t)j;
      b[filled] = shapes + n * (size_t)i;
      out[filled] = derivatives + n * (size_t)(finished + filled);
      ++filled;
      if (filled < RF_CHOLESKY_BLOCK && finished + filled < pairs) continue;
      rf_run_part part = {run, finished, finished + filled, 2 * pairs};
      const rf_run inner = rf_run_of_part(&part);
      RF_TRY(system->hessian(op->context, &inner, filled, a, b, out, err));
      finished += filled;
      filled = 0;
    }
  }
  for (size_t i = 0; i < n * (size_t)pairs; ++i) derivatives[i] = -derivatives[i];

  const int64_t at_once = (int64_t)RF_CHOLESKY_BLOCK * run->threads;
  for (int64_t first = 0; first < pairs; first += at_once) {
    const int64_t last = pairs - first < at_once ? pairs : first + at_once;
    rf_run_part part = {run, pairs + first, pairs + last, 2 * pairs};
    const rf_run inner = rf_run_of_part(&part);
    double *rhs = derivatives + n * (size_t)first;
    RF_TRY(op->solve(op->context, &inner, (int32_t)(last - first), rhs, rhs, err));
    RF_TRY(rf_run_progress(run, pairs + last, 2 * pairs, err));
  }
done:
  return st;
}

rf_status rf_modes_derivatives(const rf_modes_system *system, const rf_run *run, int32_t k,
                               const double *shapes, double *derivatives, rf_error *err) {
  if (!(k >= 1))
    return rf_fail(err, RF_ERR_ARG, "modal derivatives need at least one mode, got %d", k);
  return rf_modes_derivatives_of(system, run, k, shapes, 0, rf_modes_pairs(k), derivatives, err);
}

static rf_status check_held(const rf_solid *solid, int32_t k, const double *shapes, rf_error *err) {
  const size_t all = 3 * (size_t)solid->mesh->n_nodes;
  for (int32_t v = 0; v < k; ++v) {
    for (int32_t f = 0; f < solid->n_fixed; ++f) {
      const double *u = shapes + all * (size_t)v + 3 * (size_t)solid->fixed[f];
      if (u[0] == 0.0 && u[1] == 0.0 && u[2] == 0.0) continue;
      return rf_fail(err, RF_ERR_ARG,
                     "shapes[%d] moves node %d, which is fixed, by (%g, %g, %g); it must be zero "
                     "there",
                     (int)v, (int)solid->fixed[f], u[0], u[1], u[2]);
    }
  }
  return rf_constraints_require_all(solid->mesh->constraints, solid->mesh->n_nodes, k, shapes,
                                    "shapes", err);
}

rf_status rf_modes_held_derivatives(const rf_modes_solid *modes, const rf_solid *solid,
                                    const rf_run *run, int32_t k, const double *shapes,
                                    int64_t begin, int64_t end, double *derivatives,
                                    rf_error *err) {
  rf_status st = RF_OK;
  const size_t all = 3 * (size_t)solid->mesh->n_nodes, held = 3 * (size_t)solid->n_free;
  double *directions = NULL;
  if (solid->n_fixed == 0)
    return rf_fail(err, RF_ERR_ARG, "the solid is free: its derivatives have no blocks");
  RF_TRY(check_held(solid, k, shapes, err));
  RF_ALLOC(directions, held * (size_t)k);
  for (int32_t v = 0; v < k; ++v)
    rf_solid_gather(solid, shapes + all * (size_t)v, directions + held * (size_t)v);
  RF_TRY(rf_modes_derivatives_of(rf_modes_solid_system(modes), run, k, directions, begin, end,
                                 derivatives, err));
  RF_TRY(rf_modes_expand(solid, end - begin, derivatives, err));
done:
  rf_free(directions);
  return st;
}

static rf_status free_derivatives(const rf_modes_solid *modes, const rf_solid *solid,
                                  const rf_run *run, int32_t k, const double *shapes,
                                  double *derivatives, rf_error *err) {
  rf_status st = RF_OK;
  const size_t all = 3 * (size_t)solid->mesh->n_nodes, held = 3 * (size_t)solid->n_free;
  double *directions = NULL;
  RF_ALLOC(directions, held * (size_t)k);
  for (int32_t v = 0; v < k; ++v)
    rf_solid_gather(solid, shapes + all * (size_t)v, directions + held * (size_t)v);
  RF_TRY(rf_modes_free_derivatives(modes, run, k, directions, derivatives, NULL, err));
  RF_TRY(rf_modes_expand(solid, (int64_t)k * k, derivatives, err));
done:
  rf_free(directions);
  return st;
}

rf_status rf_modes_solid_derivatives(const rf_solid *solid, const rf_run *run, int32_t k,
                                     const double *shapes, double *derivatives, rf_error *err) {
  rf_status st = RF_OK;
  rf_modes_solid *modes = NULL;
  RF_TRY(check_held(solid, k, shapes, err));
  RF_TRY(rf_modes_solid_create(solid, run, &modes, err));
  if (solid->n_fixed == 0)
    st = free_derivatives(modes, solid, run, k, shapes, derivatives, err);
  else
    st = rf_modes_held_derivatives(modes, solid, run, k, shapes, 0, rf_modes_pairs(k), derivatives,
                                   err);
done:
  rf_modes_solid_free(modes);
  return st;
}
