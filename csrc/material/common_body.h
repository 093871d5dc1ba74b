// Template: included by list_body.h before the bodies of laws for each instruction set, with LANES,
// TARGET and VARIANT defined.  Vector types and what several laws need.  No include guard, on
// purpose.
typedef double NAME(vec) __attribute__((vector_size(8 * LANES), may_alias));
typedef int64_t NAME(mask) __attribute__((vector_size(8 * LANES), may_alias));
typedef uint64_t NAME(bits) __attribute__((vector_size(8 * LANES), may_alias));
#undef VEC
#undef MASK
#undef BITS
#undef INLINE
#undef LAW_POINT
#undef LAW_SECOND
#define VEC NAME(vec)
#define MASK NAME(mask)
#define BITS NAME(bits)
#define INLINE static inline __attribute__((always_inline)) TARGET
// Functions of a law, with the types of law.h.
#define LAW_POINT(law)                                                                   \
  static TARGET void NAME(law##_point)(const double *parameters, const double *gradient, \
                                       double *energy, double *stress, double *tangent)
#define LAW_SECOND(law)                                                                \
  static TARGET void NAME(law##_second)(const double *parameters, const double *first, \
                                        const double *second, double *out)

INLINE VEC NAME(dot)(int n, const VEC *a, const VEC *b) {
  VEC sum = a[0] * b[0];
  for (int k = 1; k < n; ++k) sum += a[k] * b[k];
  return sum;
}

// Computes the mixed cofactor of two matrices, symmetric in them: the second derivative of cof F
// along a and b.  Half of it at a = b is cof a.
INLINE void NAME(mixed_cofactor)(const VEC *a, const VEC *b, VEC *out) {
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      const int k = (i + 1) % 3, m = (i + 2) % 3, l = (j + 1) % 3, n = (j + 2) % 3;
      out[3 * i + j] = a[3 * k + l] * b[3 * m + n] + b[3 * k + l] * a[3 * m + n] -
                       a[3 * k + n] * b[3 * m + l] - b[3 * k + n] * a[3 * m + l];
    }
}

// Returns a : b^T.
INLINE VEC NAME(dot_transposed)(const VEC *a, const VEC *b) {
  return a[0] * b[0] + a[4] * b[4] + a[8] * b[8] + a[1] * b[3] + a[3] * b[1] + a[2] * b[6] +
         a[6] * b[2] + a[5] * b[7] + a[7] * b[5];
}

// |G|^2, tr G, tr cof G, det G and cof G of G = F - 1.  With them, without cancellation at rest,
//   |F|^2 - 3 = 2 trace + square,   det F - 1 = trace + minors + det.
typedef struct NAME(invariants) {
  VEC square, trace, minors, det, cof[9];
} NAME(invariants);

INLINE NAME(invariants) NAME(invariants_of)(const VEC *G) {
  NAME(invariants) v;
  NAME(mixed_cofactor)(G, G, v.cof);
  for (int k = 0; k < 9; ++k) v.cof[k] *= 0.5;
  v.square = NAME(dot)(9, G, G);
  v.trace = G[0] + G[4] + G[8];
  v.minors = v.cof[0] + v.cof[4] + v.cof[8];
  v.det = NAME(dot)(3, G, v.cof);
  return v;
}

// Computes F, g = cof F = (1 + tr G) 1 - G^T + cof G, and F - g, which cancels at rest.
INLINE void NAME(cofactor_of)(const VEC *G, const NAME(invariants) * v, VEC *F, VEC *g, VEC *less) {
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      const int k = 3 * i + j;
      less[k] = G[k] + G[3 * j + i] - v->cof[k];
      F[k] = G[k];
      g[k] = v->cof[k] - G[3 * j + i];
      if (i == j) {
        less[k] -= v->trace;
        F[k] += 1.0;
        g[k] += 1.0 + v->trace;
      }
    }
}

// A += factor d(cof F)/dF.  Its entries are d(cof F)_ij / dF_kl = F_mn, where (i, k, m) and
// (j, l, n) are permutations, with their signs.
INLINE void NAME(add_cofactor_slope)(VEC factor, const VEC *F, VEC *A) {
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      for (int s = 1; s < 3; ++s)
        for (int r = 1; r < 3; ++r) {
          const int k = (i + s) % 3, m = (i + 3 - s) % 3, l = (j + r) % 3, n = (j + 3 - r) % 3;
          const VEC entry = factor * F[3 * m + n];
          if (s == r)
            A[9 * (3 * i + j) + 3 * k + l] += entry;
          else
            A[9 * (3 * i + j) + 3 * k + l] -= entry;
        }
}

// Returns log(1 + t) - t, NaN unless t > -1, without cancellation at small t: with 1 + t = 2^k (1 +
// f), sqrt(1/2) <= 1 + f < sqrt(2), and s = f / (2 + f), log(1 + f) - f = s (f^2/2 + R) - f^2/2,  R
// = 2 s^2/3 + 2 s^4/5 + ...
INLINE VEC NAME(log1p_less)(VEC t) {
  const VEC whole = 1.0 + t;
  const uint64_t root_half = 0x3fe6a09e667f3bcc;  // bits of sqrt(1/2)
  // unsigned where t <= -1 or NaN would overflow
  const MASK k = (MASK)((BITS)whole - root_half) >> 52;
  const VEC near = (VEC)((BITS)whole - ((BITS)k << 52)) - 1.0;
  const MASK same = k == 0;
  const VEC f = (VEC)(((MASK)t & same) | ((MASK)near & ~same));
  const VEC s = f / (2.0 + f), z = s * s, half = 0.5 * f * f;
  VEC series = (VEC){0} + 2.0 / 25.0;
  for (int n = 23; n >= 3; n -= 2) series = series * z + 2.0 / n;
  const VEC exponent = __builtin_convertvector(k, VEC);
  const VEC sum =
      exponent * 0.693147180559945309417232 + (f - t) + (s * (half + z * series) - half);
  return (VEC)((MASK)sum | ~(MASK)(whole > 0.0));  // all bits set: NaN
}
