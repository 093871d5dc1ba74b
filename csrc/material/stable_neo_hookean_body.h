// Stable neo-Hookean (Smith, De Goes, Kim 2018).  With lambda_L and mu_L of small strains,
// mu = 4/3 mu_L, lambda = lambda_L + 5/6 mu_L, a = 1 + 3 mu / (4 lambda), I = |F|^2, J = det F,
// g = cof F and t = (I - 3)/4,
//
//   W = mu/2 (I - 3) + lambda/2 ((J - a)^2 - (1 - a)^2) - mu/2 ln(1 + t)
//   P = mu (1 - 1/(I + 1)) F + lambda (J - a) g
//   dP = mu (1 - 1/(I + 1)) dF + 2 mu (F:dF) F/(I + 1)^2 + lambda (g:dF) g + lambda (J - a) dg
//
// The terms that cancel at rest are left out: I - 3 = 2 tr G + |G|^2, J - 1 = tr G + tr cof G +
// det G, 1 - 1/(I + 1) = 3/4 + t/(I + 1).  Finite for inverted elements.  Body of a law, see law.h;
// no include guard, on purpose.

typedef struct NAME(invariants) {
  VEC mu, lambda, square, t, trace, minors, det, cof[9];  // of G
} NAME(invariants);

INLINE NAME(invariants) NAME(invariants_of)(const VEC *p, const VEC *G) {
  NAME(invariants) v;
  v.mu = p[1] * (4.0 / 3.0);
  v.lambda = p[0] + p[1] * (5.0 / 6.0);
  NAME(mixed_cofactor)(G, G, v.cof);
  for (int k = 0; k < 9; ++k) v.cof[k] *= 0.5;
  v.square = NAME(dot)(9, G, G);
  v.trace = G[0] + G[4] + G[8];
  v.minors = v.cof[0] + v.cof[4] + v.cof[8];
  v.det = NAME(dot)(3, G, v.cof);
  v.t = 0.25 * (2.0 * v.trace + v.square);
  return v;
}

LAW_POINT(stable_neo_hookean) {
  const VEC *G = (const VEC *)gradient;
  VEC *P = (VEC *)stress, *A = (VEC *)tangent, F[9], g[9];
  const NAME(invariants) v = NAME(invariants_of)((const VEC *)parameters, G);
  const VEC y = v.trace + v.minors + v.det, inverse = 0.25 / (1.0 + v.t);
  *(VEC *)energy = v.mu * (0.375 * v.square - 0.75 * (v.minors + v.det)) + 0.5 * v.lambda * y * y -
                   0.5 * v.mu * NAME(log1p_less)(v.t);
  const VEC more = v.mu * v.t * inverse, pressure = v.lambda * y;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      const int k = 3 * i + j;
      // cof(1 + G) = (1 + tr G) 1 - G^T + cof G
      VEC less = G[k] + G[3 * j + i] - v.cof[k];  // F - cof F
      F[k] = G[k];
      g[k] = v.cof[k] - G[3 * j + i];
      if (i == j) {
        less -= v.trace;
        F[k] += 1.0;
        g[k] += 1.0 + v.trace;
      }
      P[k] = 0.75 * v.mu * less + more * F[k] + pressure * g[k];
    }
  if (!A) return;
  const VEC of_own = 0.75 * v.mu + more, of_f = 2.0 * v.mu * inverse * inverse;
  const VEC of_dg = pressure - 0.75 * v.mu;
  for (int a = 0; a < 9; ++a)
    for (int b = 0; b < 9; ++b) A[9 * a + b] = of_f * F[a] * F[b] + v.lambda * g[a] * g[b];
  for (int a = 0; a < 9; ++a) A[10 * a] += of_own;
  // dg_ij = F_mn where (i, k, m) and (j, l, n) are permutations, with their signs
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      for (int s = 1; s < 3; ++s)
        for (int r = 1; r < 3; ++r) {
          const int k = (i + s) % 3, m = (i + 3 - s) % 3, l = (j + r) % 3, n = (j + 3 - r) % 3;
          const VEC entry = of_dg * F[3 * m + n];
          if (s == r)
            A[9 * (3 * i + j) + 3 * k + l] += entry;
          else
            A[9 * (3 * i + j) + 3 * k + l] -= entry;
        }
}

LAW_SECOND(stable_neo_hookean) {
  const VEC *p = (const VEC *)parameters, *a = (const VEC *)first, *b = (const VEC *)second;
  const VEC mu = p[1] * (4.0 / 3.0), lambda = p[0] + p[1] * (5.0 / 6.0);
  VEC mixed[9], *to = (VEC *)out;
  NAME(mixed_cofactor)(a, b, mixed);
  const VEC trace_a = a[0] + a[4] + a[8], trace_b = b[0] + b[4] + b[8];
  const VEC ab = NAME(dot)(9, a, b);
  const VEC crossed = a[0] * b[0] + a[4] * b[4] + a[8] * b[8] + a[1] * b[3] + a[3] * b[1] +
                      a[2] * b[6] + a[6] * b[2] + a[5] * b[7] + a[7] * b[5];
  // derivatives of mu (1 - 1/(I + 1)) by I: mu/16 and -mu/32
  const VEC of_unit =
      0.125 * mu * (ab - trace_a * trace_b) + lambda * (3.0 * trace_a * trace_b - crossed);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      const int k = 3 * i + j, turned = 3 * j + i;
      to[k] = 0.125 * mu * (trace_a * b[k] + trace_b * a[k]) -
              lambda * (trace_a * b[turned] + trace_b * a[turned]) - 0.75 * mu * mixed[k];
      if (i == j) to[k] += of_unit;
    }
}

#if LANES == 1
static const rf_law_parameter stable_neo_hookean_parameters[] = {{"lambda", 1}, {"mu", 1}, {0}};
static const rf_law_facts stable_neo_hookean_facts = {.lame = true,
                                                      .kernels = RF_LAW_KERNELS_GENERAL,
                                                      .parameters = stable_neo_hookean_parameters,
                                                      .check = rf_law_check_lame};
#endif
