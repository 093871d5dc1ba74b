// Body of the kernels of tree_kernels.h.  Needs RF_WIDTH and RF_NAME (linalg/simd.h).
#include "linalg/simd_body.h"
#include "pointshell/tree_kernels.h"

typedef float rf_vf __attribute__((vector_size(RF_WIDTH * sizeof(float))));

RF_INLINE rf_v load_wide(const float *p) {
  rf_vf v;
  memcpy(&v, p, sizeof v);
  return __builtin_convertvector(v, rf_v);
}

void RF_NAME(rf_tree_move)(int32_t n, int32_t count, const int32_t *place, const double *base,
                           const float *rows, const double *x, double *out) {
  for (int32_t k = 0; k < count; ++k) {
    const int64_t p = 3 * (int64_t)place[k];
    const float *a = rows + p * n, *b = a + n, *c = b + n;
    rf_v sa = {0}, sb = {0}, sc = {0};
    for (int32_t j = 0; j < n; j += RF_WIDTH) {
      const rf_v v = rf_load(x + j);
      sa += load_wide(a + j) * v;
      sb += load_wide(b + j) * v;
      sc += load_wide(c + j) * v;
    }
    const rf_v4 sums = rf_sums4(rf_fold4(sa), rf_fold4(sb), rf_fold4(sc), (rf_v4){0});
    for (int i = 0; i < 3; ++i) out[3 * k + i] = base[p + i] + sums[i];
  }
}

void RF_NAME(rf_tree_dot)(int32_t n, int32_t count, const int64_t *which, const float *rows,
                          const double *x, double *out) {
  for (int32_t k = 0; k < count; ++k) {
    const float *a = rows + which[k] * n;
    rf_v sum = {0};
    for (int32_t j = 0; j < n; j += RF_WIDTH) sum += load_wide(a + j) * rf_load(x + j);
    out[k] = rf_sum(sum);
  }
}

void RF_NAME(rf_tree_add)(int32_t n, const float *rows, const double *f, double *out) {
  const float *a = rows, *b = a + n, *c = b + n;
  const rf_v fa = rf_splat(f[0]), fb = rf_splat(f[1]), fc = rf_splat(f[2]);
  for (int32_t j = 0; j < n; j += RF_WIDTH)
    rf_store(out + j, rf_load(out + j) + load_wide(a + j) * fa + load_wide(b + j) * fb +
                          load_wide(c + j) * fc);
}
