#include "dynamics/blocks.h"

#include <string.h>

#include "base/alloc.h"
#include "linalg/dense_rt.h"

static rf_status list_unknowns(rf_blocks *b, rf_error *err) {
  const rf_system *s = b->system;
  rf_status st = RF_OK;
  double *moves = NULL;
  RF_ALLOC(moves, s->n);
  RF_ALLOC(b->unknown, s->n);
  for (int32_t i = 0; i < s->n; ++i) moves[i] = 1.0;
  rf_system_clear_fixed_rt(s, moves);
  rf_constraints_clear_rt(s->constraints, moves);
  for (int32_t i = 0; i < s->n; ++i)
    if (moves[i] != 0.0) b->unknown[b->n++] = i;
done:
  rf_free(moves);
  return st;
}

rf_status rf_blocks_init(rf_blocks *b, rf_system *system, int32_t most, rf_error *err) {
  rf_status st = RF_OK;
  *b = (rf_blocks){.system = system};
  if (!system->operations->dense && !system->operations->blocks)
    return rf_fail(err, RF_ERR_ARG, "systems of this kind have no exact modes");
  RF_TRY(list_unknowns(b, err));
  if (system->operations->dense) {
    RF_ALLOC(b->in, system->ld);
    RF_ALLOC(b->out, system->ld);
  } else {
    RF_TRY(system->operations->blocks->reserve(system, most, err));
  }
done:
  return st;
}

void rf_blocks_release(rf_blocks *b) {
  rf_free(b->unknown);
  rf_free(b->in);
  rf_free(b->out);
}

void rf_blocks_gather(const rf_blocks *b, const double *all, double *free) {
  for (int32_t i = 0; i < b->n; ++i) free[i] = all[b->unknown[i]];
}

void rf_blocks_add(const rf_blocks *b, double factor, const double *free, double *all) {
  for (int32_t i = 0; i < b->n; ++i) all[b->unknown[i]] += factor * free[i];
}

// Applies a dense matrix, or the inverse of a factored one, to each vector.
static void apply_dense(const rf_blocks *b, bool inverse, const double *matrix, int32_t count,
                        const double *x, double *y) {
  const rf_system *s = b->system;
  const int32_t ld = (int32_t)s->ld;
  for (int32_t k = 0; k < count; ++k) {
    memcpy(b->in, x + (int64_t)k * b->n, (size_t)b->n * sizeof *x);
    if (inverse)
      rf_dense_cholesky_solve_rt(s->simd, s->n, matrix, ld, b->in, b->out);
    else
      rf_dense_multiply_rt(s->simd, s->n, matrix, ld, b->in, b->out);
    memcpy(y + (int64_t)k * b->n, b->out, (size_t)b->n * sizeof *y);
  }
}

rf_status rf_blocks_mass(const rf_blocks *b, int32_t count, const double *x, double *y) {
  const rf_system_operations *op = b->system->operations;
  if (!op->dense) return op->blocks->mass(b->system, count, x, y);
  apply_dense(b, false, op->dense(b->system).mass, count, x, y);
  return RF_OK;
}

rf_status rf_blocks_stiffness(const rf_blocks *b, int32_t count, const double *x, double *y) {
  const rf_system_operations *op = b->system->operations;
  if (!op->dense) return op->blocks->stiffness(b->system, count, x, y);
  apply_dense(b, false, op->dense(b->system).stiffness, count, x, y);
  return RF_OK;
}

rf_status rf_blocks_solve(const rf_blocks *b, int32_t count, const double *x, double *y) {
  const rf_system_operations *op = b->system->operations;
  if (!op->dense) return op->blocks->solve(b->system, count, x, y);
  apply_dense(b, true, op->dense(b->system).factor, count, x, y);
  return RF_OK;
}
