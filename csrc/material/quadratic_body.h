// Template: included by the bodies of laws W = E : C : E / 2 with LAW defined, after
// NAME(LAW_elasticity), which computes C from the parameters.  No include guard, on purpose.
//
//   P = F S,  S = C : E,  dP = dF S + F C : sym(F^T dF)
//   d2P = A (C : B) + B (C : A) + C : sym(A^T B)  at rest
#define OF(x) NAME(JOIN(LAW, x))

// Computes C e for strains e with shears twice.
INLINE void OF(stress)(const VEC *C, const VEC *e, VEC *S) {
  for (int k = 0; k < 6; ++k) S[k] = NAME(dot)(6, C + 6 * k, e);
}

static TARGET void OF(point)(const double *parameters, const double *gradient, double *energy,
                             double *stress, double *tangent) {
  const VEC *G = (const VEC *)gradient;
  VEC *P = (VEC *)stress, *A = (VEC *)tangent;
  VEC C[36], e[6], S[6], F[9], FC[9][6];
  OF(elasticity)((const VEC *)parameters, C);
  for (int v = 0; v < 6; ++v) {
    const int i = ROW_OF[v], j = COLUMN_OF[v];
    const VEC square = G[i] * G[j] + G[3 + i] * G[3 + j] + G[6 + i] * G[6 + j];
    e[v] = (i == j ? 0.5 : 1.0) * (G[3 * i + j] + G[3 * j + i] + square);
  }
  OF(stress)(C, e, S);
  *(VEC *)energy = 0.5 * NAME(dot)(6, e, S);
  for (int i = 0; i < 9; ++i) F[i] = G[i];
  for (int i = 0; i < 3; ++i) F[4 * i] += 1.0;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      P[3 * i + j] =
          F[3 * i] * S[VOIGT[0][j]] + F[3 * i + 1] * S[VOIGT[1][j]] + F[3 * i + 2] * S[VOIGT[2][j]];
  if (!A) return;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      for (int w = 0; w < 6; ++w)
        FC[3 * i + j][w] = F[3 * i] * C[6 * VOIGT[0][j] + w] +
                           F[3 * i + 1] * C[6 * VOIGT[1][j] + w] +
                           F[3 * i + 2] * C[6 * VOIGT[2][j] + w];
  for (int ij = 0; ij < 9; ++ij)
    for (int k = 0; k < 3; ++k)
      for (int l = 0; l < 3; ++l) {
        VEC a = FC[ij][VOIGT[0][l]] * F[3 * k] + FC[ij][VOIGT[1][l]] * F[3 * k + 1] +
                FC[ij][VOIGT[2][l]] * F[3 * k + 2];
        if (ij / 3 == k) a += S[VOIGT[ij % 3][l]];
        A[9 * ij + 3 * k + l] = a;
      }
}

// out += factor a S
INLINE void OF(add_product)(const VEC *a, const VEC *S, VEC *out) {
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      out[3 * i + j] +=
          a[3 * i] * S[VOIGT[0][j]] + a[3 * i + 1] * S[VOIGT[1][j]] + a[3 * i + 2] * S[VOIGT[2][j]];
}

INLINE void OF(stress_of)(const VEC *C, const VEC *a, VEC *S) {
  const VEC e[6] = {a[0], a[4], a[8], a[5] + a[7], a[2] + a[6], a[1] + a[3]};
  OF(stress)(C, e, S);
}

static TARGET void OF(second)(const double *parameters, const double *first, const double *second,
                              double *out) {
  const VEC *a = (const VEC *)first, *b = (const VEC *)second;
  VEC C[36], Sa[6], Sb[6], Sab[6], ab[9], *to = (VEC *)out;
  OF(elasticity)((const VEC *)parameters, C);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      ab[3 * i + j] = a[i] * b[j] + a[3 + i] * b[3 + j] + a[6 + i] * b[6 + j];
  OF(stress_of)(C, a, Sa);
  OF(stress_of)(C, b, Sb);
  OF(stress_of)(C, ab, Sab);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) to[3 * i + j] = Sab[VOIGT[i][j]];
  OF(add_product)(a, Sb, to);
  OF(add_product)(b, Sa, to);
}

#undef OF
#undef LAW
