// Vector types and basic operations of kernel bodies.  Included by the *_body.h files; a
// translation unit sets RF_WIDTH once, before.
#ifndef RF_LINALG_SIMD_BODY_H
#define RF_LINALG_SIMD_BODY_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifndef RF_WIDTH
#error "set RF_WIDTH (4 or 8 doubles) before including a kernel body"
#endif

#define RF_INLINE static inline __attribute__((always_inline))

typedef double rf_v __attribute__((vector_size(RF_WIDTH * sizeof(double))));
typedef double rf_v4 __attribute__((vector_size(4 * sizeof(double))));
typedef int64_t rf_m4 __attribute__((vector_size(4 * sizeof(int64_t))));

RF_INLINE rf_v rf_load(const double *p) {
  rf_v v;
  memcpy(&v, p, sizeof v);
  return v;
}
// Loads once: compilers like to repeat a load as memory operand of every instruction that uses the
// value, and kernels are limited by loads.
RF_INLINE rf_v rf_load_once(const double *p) {
  rf_v v = rf_load(p);
#if defined(__AVX512F__) && RF_WIDTH == 8
  __asm__("" : "+v"(v));
#elif defined(__AVX2__) && RF_WIDTH == 4
  __asm__("" : "+x"(v));
#endif
  return v;
}
RF_INLINE void rf_store(double *p, rf_v v) { memcpy(p, &v, sizeof v); }
RF_INLINE rf_v4 rf_load4(const double *p) {
  rf_v4 v;
  memcpy(&v, p, sizeof v);
  return v;
}
RF_INLINE void rf_store4(double *p, rf_v4 v) { memcpy(p, &v, sizeof v); }
RF_INLINE rf_v rf_splat(double x) { return x - (rf_v){0}; }

typedef int64_t rf_m __attribute__((vector_size(RF_WIDTH * sizeof(int64_t))));

// Return the lane-wise size, and the larger of two; b where either is NaN.
RF_INLINE rf_v rf_abs(rf_v v) { return (rf_v)((rf_m)v & INT64_MAX); }
RF_INLINE rf_v rf_larger(rf_v a, rf_v b) {
  const rf_m first = (rf_m)(a > b);
  return (rf_v)((first & (rf_m)a) | (~first & (rf_m)b));
}

RF_INLINE int rf_any4(rf_m4 mask) {
#ifdef __AVX__
  return __builtin_ia32_movmskpd256((rf_v4)mask) != 0;
#else
  return (mask[0] | mask[1] | mask[2] | mask[3]) != 0;
#endif
}

RF_INLINE int rf_all4(rf_m4 mask) {
#ifdef __AVX__
  return __builtin_ia32_movmskpd256((rf_v4)mask) == 15;
#else
  return (mask[0] & mask[1] & mask[2] & mask[3]) != 0;
#endif
}

// Folds the lanes to four.
RF_INLINE rf_v4 rf_fold4(rf_v v) {
#if RF_WIDTH == 8
  rf_v4 half[2];
  memcpy(half, &v, sizeof v);
  return half[0] + half[1];
#else
  return v;
#endif
}

#if defined(__clang__)
#define RF_SHUFFLE(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
#define RF_SHUFFLE(a, b, i, j, k, l) __builtin_shuffle(a, b, (rf_m4){i, j, k, l})
#endif

// Returns {sum of a, sum of b, sum of c, sum of d}.
RF_INLINE rf_v4 rf_sums4(rf_v4 a, rf_v4 b, rf_v4 c, rf_v4 d) {
  const rf_v4 ab = RF_SHUFFLE(a, b, 0, 4, 2, 6) + RF_SHUFFLE(a, b, 1, 5, 3, 7);
  const rf_v4 cd = RF_SHUFFLE(c, d, 0, 4, 2, 6) + RF_SHUFFLE(c, d, 1, 5, 3, 7);
  return RF_SHUFFLE(ab, cd, 0, 1, 4, 5) + RF_SHUFFLE(ab, cd, 2, 3, 6, 7);
}

RF_INLINE void rf_transpose4(rf_v4 x[4]) {
  const rf_v4 a = RF_SHUFFLE(x[0], x[1], 0, 4, 2, 6), b = RF_SHUFFLE(x[0], x[1], 1, 5, 3, 7);
  const rf_v4 c = RF_SHUFFLE(x[2], x[3], 0, 4, 2, 6), d = RF_SHUFFLE(x[2], x[3], 1, 5, 3, 7);
  x[0] = RF_SHUFFLE(a, c, 0, 1, 4, 5);
  x[1] = RF_SHUFFLE(b, d, 0, 1, 4, 5);
  x[2] = RF_SHUFFLE(a, c, 2, 3, 6, 7);
  x[3] = RF_SHUFFLE(b, d, 2, 3, 6, 7);
}

RF_INLINE double rf_sum(rf_v v) {
  const rf_v4 f = rf_fold4(v);
  return (f[0] + f[1]) + (f[2] + f[3]);
}

// Returns the lane-wise square root.
RF_INLINE rf_v4 rf_root4(rf_v4 x) {
#if defined(__clang__) && __clang_major__ >= 17  // clang 22 has not the next one any more
  return __builtin_elementwise_sqrt(x);
#elif defined(__AVX__)
  return __builtin_ia32_sqrtpd256(x);
#else
  return (rf_v4){sqrt(x[0]), sqrt(x[1]), sqrt(x[2]), sqrt(x[3])};
#endif
}

// Return the lane-wise minimum and maximum; b where either is NaN.
RF_INLINE rf_v4 rf_least4(rf_v4 a, rf_v4 b) {
#ifdef __AVX__
  return __builtin_ia32_minpd256(a, b);
#else
  const rf_m4 first = (rf_m4)(a < b);
  return (rf_v4)((first & (rf_m4)a) | (~first & (rf_m4)b));
#endif
}
RF_INLINE rf_v4 rf_most4(rf_v4 a, rf_v4 b) {
#ifdef __AVX__
  return __builtin_ia32_maxpd256(a, b);
#else
  const rf_m4 first = (rf_m4)(a > b);
  return (rf_v4)((first & (rf_m4)a) | (~first & (rf_m4)b));
#endif
}

#endif
