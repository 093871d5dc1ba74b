#include "dynamics/pull.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "linalg/dense_rt.h"

rf_status rf_pull_create(int32_t r, const double rest_m[3], const double *rows, double stiffness,
                         rf_pull **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_pull *pull = NULL;
  *out = NULL;
  if (!(stiffness >= 0.0 && isfinite(stiffness)))
    return rf_fail(err, RF_ERR_ARG, "stiffness must be finite and at least 0, got %g", stiffness);
  RF_ALLOC(pull, 1);
  pull->r = r;
  pull->ld = rf_dense_ld(r);
  pull->stiffness = stiffness;
  memcpy(pull->rest_m, rest_m, sizeof pull->rest_m);
  RF_ALLOC(pull->rows, 3 * pull->ld);
  RF_ALLOC(pull->added, pull->ld * pull->ld);
  RF_ALLOC(pull->force, pull->ld);
  for (int a = 0; a < 3; ++a)
    memcpy(pull->rows + a * pull->ld, rows + (size_t)a * (size_t)r, (size_t)r * sizeof *rows);
  *out = pull;
  pull = NULL;
done:
  rf_pull_free(pull);
  return st;
}

void rf_pull_free(rf_pull *pull) {
  if (!pull) return;
  rf_free(pull->rows);
  rf_free(pull->added);
  rf_free(pull->force);
  rf_free(pull);
}

rf_status rf_pull_body_stiffness(const rf_reduced *model, const double *rows, double *stiffness,
                                 rf_error *err) {
  enum { COLUMNS = RF_DENSE_PAD };
  rf_status st = RF_OK;
  const int32_t r = model->r, ld = rf_dense_ld(r);
  const rf_simd simd = rf_reduced_simd(model);
  double *rest = NULL, *matrix = NULL, *half = NULL, yields = 0.0;
  char *work = NULL;
  RF_ALLOC(rest, ld);
  RF_ALLOC(matrix, (size_t)ld * (size_t)ld);
  RF_ALLOC(half, (size_t)ld * COLUMNS);
  RF_ALLOC(work, rf_reduced_work_bytes(model));
  rf_reduced_evaluate_rt(model, rest, work, NULL, NULL, matrix, ld);
  if (!rf_dense_cholesky_rt(simd, r, matrix, ld)) {
    st = rf_fail(err, RF_ERR_SINGULAR, "the stiffness at rest is not positive definite");
    goto done;
  }
  for (int a = 0; a < 3; ++a)
    for (int32_t i = 0; i < r; ++i) half[i * COLUMNS + a] = rows[a * r + i];
  rf_dense_half_solve_rt(simd, r, matrix, ld, COLUMNS, half);
  for (int64_t i = 0; i < (int64_t)r * COLUMNS; ++i) yields += half[i] * half[i];
  if (yields > 0.0 && isfinite(1.0 / yields))
    *stiffness = 1.0 / yields;
  else
    st = rf_fail(err, RF_ERR_SINGULAR, "the point cannot move: it is fixed");
done:
  rf_free(rest);
  rf_free(matrix);
  rf_free(half);
  rf_free(work);
  return st;
}
