// Corotated linear elasticity (Chao, Pinkall, Sanan, Schroeder 2010; as-rigid-as-possible with
// lambda).  With lambda and mu of small strains, F = U diag(s) V^T (principal_body.h), R = U V^T,
// e_i = s_i - 1 and e = e_1 + e_2 + e_3,
//
//   W = mu |F - R|^2 + lambda/2 tr(R^T F - 1)^2 = mu (e_1^2 + e_2^2 + e_3^2) + lambda/2 e^2
//   P = U diag(2 mu e_i + lambda e) V^T
//   dP = 2 mu dF + lambda (R:dF) R + (lambda e - 2 mu) dR
//   dR = sum_{i < j} (K_ij:dF) K_ij / (s_i + s_j),  K_ij = u_i v_j^T - u_j v_i^T
//
// Finite for inverted elements.  Where s_2 + s_3 = 0, which needs det F < 0 or a crushed element, R
// is not unique, W has a kink, and s_2 + s_3 is taken for 1e-8.  Body of a law, see law.h; no
// include guard, on purpose.

LAW_POINT(corotated) {
  const VEC *p = (const VEC *)parameters, *G = (const VEC *)gradient;
  VEC *P = (VEC *)stress, *A = (VEC *)tangent, R[9] = {{0}};
  const VEC lambda = p[0], mu = p[1];
  NAME(principal) x;
  NAME(principal_of)(G, &x);
  const VEC *e = x.less_one, sum = e[0] + e[1] + e[2];
  *(VEC *)energy = mu * NAME(dot)(3, e, e) + 0.5 * lambda * sum * sum;
  for (int k = 0; k < 9; ++k) P[k] = (VEC){0};
  for (int m = 0; m < 3; ++m) {
    const VEC force = 2.0 * mu * e[m] + lambda * sum;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        const VEC uv = x.U[3 * m + i] * x.V[3 * m + j];
        P[3 * i + j] += force * uv;
        R[3 * i + j] += uv;
      }
  }
  if (!A) return;
  for (int a = 0; a < 9; ++a)
    for (int b = 0; b < 9; ++b) A[9 * a + b] = lambda * R[a] * R[b];
  for (int a = 0; a < 9; ++a) A[10 * a] += 2.0 * mu;
  const VEC turn = lambda * sum - 2.0 * mu;
  for (int m = 0; m < 3; ++m) {
    const int n = (m + 1) % 3;
    const VEC both = x.stretch[m] + x.stretch[n];
    const VEC factor = turn / NAME(select)(both < 1e-8, (VEC){0} + 1e-8, both);
    VEC K[9];
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j)
        K[3 * i + j] = x.U[3 * m + i] * x.V[3 * n + j] - x.U[3 * n + i] * x.V[3 * m + j];
    for (int a = 0; a < 9; ++a)
      for (int b = 0; b < 9; ++b) A[9 * a + b] += factor * K[a] * K[b];
  }
}

// Computes 2 mu sym(a) + lambda tr(a) 1.
INLINE void NAME(corotated_stress)(VEC lambda, VEC mu, const VEC *a, VEC *out) {
  const VEC pressure = lambda * (a[0] + a[4] + a[8]);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      out[3 * i + j] = mu * (a[3 * i + j] + a[3 * j + i]);
      if (i == j) out[3 * i + j] += pressure;
    }
}

// out += factor a b
INLINE void NAME(add_product)(double factor, const VEC *a, const VEC *b, VEC *out) {
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      out[3 * i + j] +=
          factor * (a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j]);
}

// With S(a) as above and Y = (a^T b + b^T a - sym a sym b - sym b sym a)/2, the second derivative
// of R^T F along a and b:  S(Y) + a S(b) + b S(a) - sym(S(a) sym b) - sym(S(b) sym a)
LAW_SECOND(corotated) {
  const VEC *p = (const VEC *)parameters, *a = (const VEC *)first, *b = (const VEC *)second;
  const VEC lambda = p[0], mu = p[1];
  VEC half_a[9], half_b[9], turned[9], of_a[9], of_b[9], stretch[9] = {{0}}, product[9] = {{0}};
  VEC *to = (VEC *)out;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      half_a[3 * i + j] = 0.5 * (a[3 * i + j] + a[3 * j + i]);
      half_b[3 * i + j] = 0.5 * (b[3 * i + j] + b[3 * j + i]);
      turned[3 * i + j] = a[3 * j + i];
    }
  // symmetric parts are taken by the stress, and at the end
  NAME(add_product)(1.0, turned, b, stretch);
  NAME(add_product)(-1.0, half_a, half_b, stretch);
  NAME(corotated_stress)(lambda, mu, stretch, to);
  NAME(corotated_stress)(lambda, mu, a, of_a);
  NAME(corotated_stress)(lambda, mu, b, of_b);
  NAME(add_product)(1.0, a, of_b, to);
  NAME(add_product)(1.0, b, of_a, to);
  NAME(add_product)(-1.0, of_a, half_b, product);
  NAME(add_product)(-1.0, of_b, half_a, product);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) to[3 * i + j] += 0.5 * (product[3 * i + j] + product[3 * j + i]);
}

#if LANES == 1
static const rf_law_facts corotated_facts = {
    .defined_inverted = true, .kernels = RF_LAW_KERNELS_GENERAL, RF_LAW_LAME};
#endif
