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

LAW_POINT(stable_neo_hookean) {
  const VEC *p = (const VEC *)parameters, *G = (const VEC *)gradient;
  VEC *P = (VEC *)stress, *A = (VEC *)tangent, F[9], g[9], less[9];
  const VEC mu = p[1] * (4.0 / 3.0), lambda = p[0] + p[1] * (5.0 / 6.0);
  const NAME(invariants) v = NAME(invariants_of)(G);
  const VEC t = 0.25 * (2.0 * v.trace + v.square);
  const VEC y = v.trace + v.minors + v.det, inverse = 0.25 / (1.0 + t);
  *(VEC *)energy = mu * (0.375 * v.square - 0.75 * (v.minors + v.det)) + 0.5 * lambda * y * y -
                   0.5 * mu * NAME(log1p_less)(t);
  NAME(cofactor_of)(G, &v, F, g, less);
  const VEC more = mu * t * inverse, pressure = lambda * y;
  for (int k = 0; k < 9; ++k) P[k] = 0.75 * mu * less[k] + more * F[k] + pressure * g[k];
  if (!A) return;
  const VEC of_own = 0.75 * mu + more, of_f = 2.0 * mu * inverse * inverse;
  for (int a = 0; a < 9; ++a)
    for (int b = 0; b < 9; ++b) A[9 * a + b] = of_f * F[a] * F[b] + lambda * g[a] * g[b];
  for (int a = 0; a < 9; ++a) A[10 * a] += of_own;
  NAME(add_cofactor_slope)(pressure - 0.75 * mu, F, A);
}

LAW_SECOND(stable_neo_hookean) {
  const VEC *p = (const VEC *)parameters, *a = (const VEC *)first, *b = (const VEC *)second;
  const VEC mu = p[1] * (4.0 / 3.0), lambda = p[0] + p[1] * (5.0 / 6.0);
  VEC mixed[9], *to = (VEC *)out;
  NAME(mixed_cofactor)(a, b, mixed);
  const VEC trace_a = a[0] + a[4] + a[8], trace_b = b[0] + b[4] + b[8];
  const VEC ab = NAME(dot)(9, a, b), crossed = NAME(dot_transposed)(a, b);
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
static const rf_law_facts stable_neo_hookean_facts = {
    .defined_inverted = true, .kernels = RF_LAW_KERNELS_GENERAL, RF_LAW_LAME};
#endif
