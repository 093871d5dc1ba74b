// Compressible neo-Hookean (Bonet, Wood 2008, 6.4.3).  With lambda and mu of small strains,
// I = |F|^2, J = det F, L = ln J and g = cof F,
//
//   W = mu/2 (I - 3) - mu L + lambda/2 L^2
//   P = mu (F - g) + (mu (J - 1) + lambda L) g/J
//   dP = mu dF + (lambda (1 - L) + mu) (g:dF) g/J^2 + (lambda L - mu) dg/J
//
// The terms that cancel at rest are left out: I - 3 - 2 (J - 1) = |G|^2 - 2 (tr cof G + det G).
// NaN for J <= 0, as L is.  Body of a law, see law.h; no include guard, on purpose.

LAW_POINT(neo_hookean) {
  const VEC *p = (const VEC *)parameters, *G = (const VEC *)gradient;
  VEC *P = (VEC *)stress, *A = (VEC *)tangent, F[9], g[9], less[9];
  const VEC lambda = p[0], mu = p[1];
  const NAME(invariants) v = NAME(invariants_of)(G);
  const VEC y = v.trace + v.minors + v.det, inverse = 1.0 / (1.0 + y);
  const VEC log_less = NAME(log1p_less)(y), log = log_less + y;
  *(VEC *)energy = mu * (0.5 * v.square - v.minors - v.det - log_less) + 0.5 * lambda * log * log;
  const VEC pressure = (mu * y + lambda * log) * inverse;
  NAME(cofactor_of)(G, &v, F, g, less);
  for (int k = 0; k < 9; ++k) P[k] = mu * less[k] + pressure * g[k];
  if (!A) return;
  const VEC of_gg = (lambda * (1.0 - log) + mu) * inverse * inverse;
  for (int a = 0; a < 9; ++a)
    for (int b = 0; b < 9; ++b) A[9 * a + b] = of_gg * g[a] * g[b];
  for (int a = 0; a < 9; ++a) A[10 * a] += mu;
  NAME(add_cofactor_slope)((lambda * log - mu) * inverse, F, A);
}

LAW_SECOND(neo_hookean) {
  const VEC *p = (const VEC *)parameters, *a = (const VEC *)first, *b = (const VEC *)second;
  const VEC lambda = p[0], mu = p[1];
  VEC mixed[9], *to = (VEC *)out;
  NAME(mixed_cofactor)(a, b, mixed);
  const VEC trace_a = a[0] + a[4] + a[8], trace_b = b[0] + b[4] + b[8];
  const VEC of_unit = mu * trace_a * trace_b - (lambda + mu) * NAME(dot_transposed)(a, b);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      const int k = 3 * i + j, turned = 3 * j + i;
      to[k] = -(lambda + mu) * (trace_a * b[turned] + trace_b * a[turned]) - mu * mixed[k];
      if (i == j) to[k] += of_unit;
    }
}

#if LANES == 1
static const rf_law_facts neo_hookean_facts = {.kernels = RF_LAW_KERNELS_GENERAL, RF_LAW_LAME};
#endif
