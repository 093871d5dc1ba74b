// Compressible Mooney-Rivlin (Ciarlet, Geymonat 1982, with the volume term of Ogden).  With
// I = |F|^2, g = cof F, II = |g|^2, J = det F and b = 2 c1 + 4 c2,
//
//   W = c1 (I - 3) + c2 (II - 3) + kappa/2 (J - 1)^2 - b ln J
//   P = 2 c1 F + 2 c2 (I F - F F^T F) + (kappa (J - 1) - b/J) g
//   dP = 2 c1 dF + 2 c2 (2 (F:dF) F + I dF - dF F^T F - F dF^T F - F F^T dF)
//        + (kappa + b/J^2) (g:dF) g + (kappa (J - 1) - b/J) dg
//
// At small strains mu = 2 (c1 + c2) and lambda = 4 c2 + kappa.  The terms that cancel at rest are
// left out: with h = g - 1 and y = J - 1, I - 3 = 2 tr G + |G|^2, II - 3 = 4 tr G + 2 tr cof G +
// |h|^2, ln J = y + (ln(1 + y) - y), and I F - F F^T F is the mixed cofactor of F and g.  NaN for
// J <= 0, as ln J is.  Body of a law, see law.h; no include guard, on purpose.

// Computes mixed cofactor(F, g) - 2 g = (tr G + tr h) 1 - G^T - h^T - 2 h + mixed cofactor(G, h).
INLINE void NAME(mooney_rivlin_less)(const VEC *G, const VEC *h, VEC *out) {
  NAME(mixed_cofactor)(G, h, out);
  const VEC trace = G[0] + G[4] + G[8] + h[0] + h[4] + h[8];
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      out[3 * i + j] -= G[3 * j + i] + h[3 * j + i] + 2.0 * h[3 * i + j];
      if (i == j) out[3 * i + j] += trace;
    }
}

// A += factor d(I F - F F^T F)/dF
INLINE void NAME(mooney_rivlin_slope)(VEC factor, const VEC *F, VEC *A) {
  const VEC square = NAME(dot)(9, F, F);
  VEC right[9], left[9];
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      right[3 * i + j] = F[i] * F[j] + F[3 + i] * F[3 + j] + F[6 + i] * F[6 + j];
      left[3 * i + j] = NAME(dot)(3, F + 3 * i, F + 3 * j);
    }
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 3; ++k)
        for (int l = 0; l < 3; ++l) {
          VEC entry = 2.0 * F[3 * i + j] * F[3 * k + l] - F[3 * i + l] * F[3 * k + j];
          if (i == k) entry -= right[3 * l + j];
          if (j == l) entry -= left[3 * i + k];
          if (i == k && j == l) entry += square;
          A[9 * (3 * i + j) + 3 * k + l] += factor * entry;
        }
}

LAW_POINT(mooney_rivlin) {
  const VEC *p = (const VEC *)parameters, *G = (const VEC *)gradient;
  VEC *P = (VEC *)stress, *A = (VEC *)tangent, F[9], g[9], h[9], less[9], less_g[9];
  const VEC c1 = p[0], c2 = p[1], kappa = p[2], b = 2.0 * c1 + 4.0 * c2;
  const NAME(invariants) v = NAME(invariants_of)(G);
  const VEC y = v.trace + v.minors + v.det, inverse = 1.0 / (1.0 + y);
  NAME(cofactor_of)(G, &v, F, g, less);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      h[3 * i + j] = v.cof[3 * i + j] - G[3 * j + i];
      if (i == j) h[3 * i + j] += v.trace;
    }
  *(VEC *)energy = c1 * (v.square - 2.0 * (v.minors + v.det)) +
                   c2 * (NAME(dot)(9, h, h) - 2.0 * v.minors - 4.0 * v.det) + 0.5 * kappa * y * y -
                   b * NAME(log1p_less)(y);
  const VEC pressure = kappa * y + b * y * inverse;
  NAME(mooney_rivlin_less)(G, h, less_g);
  for (int k = 0; k < 9; ++k) P[k] = 2.0 * c1 * less[k] + 2.0 * c2 * less_g[k] + pressure * g[k];
  // not a number where the law is not defined
  const MASK defined = y > -1.0;
  for (int k = 0; k < 9; ++k) P[k] = (VEC)((MASK)P[k] | ~defined);
  if (!A) return;
  const VEC of_gg = kappa + b * inverse * inverse;
  for (int i = 0; i < 9; ++i)
    for (int j = 0; j < 9; ++j) A[9 * i + j] = of_gg * g[i] * g[j];
  for (int i = 0; i < 9; ++i) A[10 * i] += 2.0 * c1;
  NAME(mooney_rivlin_slope)(2.0 * c2, F, A);
  NAME(add_cofactor_slope)(kappa * y - b * inverse, F, A);
  for (int k = 0; k < 81; ++k) A[k] = (VEC)((MASK)A[k] | ~defined);
}

// Computes the sum of the products of a, b and their transposes in II, of both orders.
INLINE void NAME(mooney_rivlin_products)(const VEC *a, const VEC *b, VEC *out) {
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      VEC sum = {0};
      for (int k = 0; k < 3; ++k)
        sum += a[3 * i + k] * (b[3 * k + j] + b[3 * j + k]) +
               b[3 * i + k] * (a[3 * k + j] + a[3 * j + k]) + a[3 * k + i] * b[3 * k + j] +
               b[3 * k + i] * a[3 * k + j];
      out[3 * i + j] = sum;
    }
}

LAW_SECOND(mooney_rivlin) {
  const VEC *p = (const VEC *)parameters, *a = (const VEC *)first, *b = (const VEC *)second;
  const VEC kappa = p[2], volume = 2.0 * p[0] + 4.0 * p[1], twice = 2.0 * p[1];
  VEC mixed[9], products[9], *to = (VEC *)out;
  NAME(mixed_cofactor)(a, b, mixed);
  NAME(mooney_rivlin_products)(a, b, products);
  const VEC trace_a = a[0] + a[4] + a[8], trace_b = b[0] + b[4] + b[8];
  // first to third derivatives of the volume term at J = 1: -b, kappa + b, -2 b
  const VEC of_unit = (3.0 * kappa + volume) * trace_a * trace_b -
                      (kappa + volume) * NAME(dot_transposed)(a, b) +
                      2.0 * twice * NAME(dot)(9, a, b);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      const int k = 3 * i + j, turned = 3 * j + i;
      to[k] = twice * (2.0 * (trace_b * a[k] + trace_a * b[k]) - products[k]) -
              (kappa + volume) * (trace_a * b[turned] + trace_b * a[turned]) - volume * mixed[k];
      if (i == j) to[k] += of_unit;
    }
}

#if LANES == 1
static rf_status mooney_rivlin_check(const double *p, int32_t material, rf_error *err) {
  const double c1 = p[0], c2 = p[1], kappa = p[2];
  // polyconvex, and elliptic at rest
  if (!(isfinite(c1) && isfinite(c2) && isfinite(kappa) && c1 >= 0.0 && c2 >= 0.0 &&
        c1 + c2 > 0.0 && kappa >= 0.0))
    return rf_fail(err, RF_ERR_ARG,
                   "material %d: c1 = %g, c2 = %g, kappa = %g; none may be negative, and c1 + c2 "
                   "must be positive",
                   material, c1, c2, kappa);
  return RF_OK;
}

static const rf_law_parameter mooney_rivlin_parameters[] = {
    {"c1", 1}, {"c2", 1}, {"kappa", 1}, {0}};
static const rf_law_facts mooney_rivlin_facts = {.isotropic = true,
                                                 .kernels = RF_LAW_KERNELS_GENERAL,
                                                 .parameters = mooney_rivlin_parameters,
                                                 .check = mooney_rivlin_check};
#endif
