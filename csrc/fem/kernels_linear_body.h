// Template: included by kernels_list_body.h after kernels_stvk_body.h, whose macros and functions
// it uses. No include guard, on purpose.
//
// Kernels of the general linear law S = C E (B07 2.14), 21 constants, in Voigt's notation: order
// xx yy zz yz zx xy, strains e with shears twice, so that S = C e and W = e.S / 2.  With
// B_a = de/du_a (6 x 3)
//
//   R_a = V B_a^T S,   K_ab = V [ B_a^T C B_b + (g_a.S g_b) I ].

INLINE NAME(stress)(const VEC *C, const VEC *e, VEC *S) {
  for (int k = 0; k < 6; ++k) {
    S[k] = C[6 * k] * e[0];
    for (int l = 1; l < 6; ++l) S[k] += C[6 * k + l] * e[l];
  }
}

INLINE NAME(linear)(const int nodes, const int points, const rf_solid *s, const int32_t *places,
                    const double *u, const rf_lane_targets *tangent, rf_lane_results *out) {
  const int n_gauss = NAME(count_points)(points, s, places);
  VEC d[3 * (RF_MAX_NODES - 1)], C[36], energy = {0};
  VEC *const force = (VEC *)out->force;
  VEC g[3 * RF_MAX_NODES], B[RF_MAX_NODES][18], CB[RF_MAX_NODES][18];
  VEC sum[RF_MAX_PAIRS][9];
  NAME(gather_differences)(s, places, nodes, u, d);
  NAME(gather_parameters)(s, places, 36, C);
  for (int k = 0; k < 3 * nodes; ++k) force[k] = (VEC){0};

  for (int q = 0; q < n_gauss; ++q) {
    VEC volume = {0}, G[9], e[6], S[6];
    NAME(gather_tables)(points, s, places, nodes, q, g, &volume);
    NAME(displacement_gradient)(nodes, d, g, G);
    // e from G, not from F^T F - I: no cancellation at small displacements
    for (int i = 0; i < 3; ++i)
      e[i] = G[4 * i] + 0.5 * (G[i] * G[i] + G[3 + i] * G[3 + i] + G[6 + i] * G[6 + i]);
    e[3] = G[5] + G[7] + (G[1] * G[2] + G[4] * G[5] + G[7] * G[8]);
    e[4] = G[2] + G[6] + (G[0] * G[2] + G[3] * G[5] + G[6] * G[8]);
    e[5] = G[1] + G[3] + (G[0] * G[1] + G[3] * G[4] + G[6] * G[7]);
    NAME(stress)(C, e, S);
    VEC product = e[0] * S[0];
    for (int k = 1; k < 6; ++k) product += e[k] * S[k];
    energy += 0.5 * volume * product;

    for (int i = 0; i < 3; ++i) G[4 * i] += 1.0;  // F from here on
    for (int a = 0; a < nodes; ++a) {
      const VEC *ga = g + 3 * a;
      VEC *b = B[a], *cb = CB[a];
      for (int i = 0; i < 3; ++i) {
        const VEC *F = G + 3 * i;
        for (int k = 0; k < 3; ++k) b[3 * k + i] = F[k] * ga[k];
        b[9 + i] = F[1] * ga[2] + F[2] * ga[1];
        b[12 + i] = F[2] * ga[0] + F[0] * ga[2];
        b[15 + i] = F[0] * ga[1] + F[1] * ga[0];
        VEC part = b[i] * S[0];
        for (int k = 1; k < 6; ++k) part += b[3 * k + i] * S[k];
        force[3 * a + i] += volume * part;
      }
      if (!tangent) continue;
      for (int k = 0; k < 6; ++k)
        for (int i = 0; i < 3; ++i) {
          VEC c = C[6 * k] * b[i];
          for (int l = 1; l < 6; ++l) c += C[6 * k + l] * b[3 * l + i];
          cb[3 * k + i] = volume * c;
        }
    }
    if (!tangent) continue;

    int pair = 0;
    for (int a = 0; a < nodes; ++a)
      for (int b = a; b < nodes; ++b, ++pair) {
        VEC *K = sum[pair], sb[3];
        SYM_APPLY(S, g + 3 * b, sb);
        const VEC t = volume * (g[3 * a] * sb[0] + g[3 * a + 1] * sb[1] + g[3 * a + 2] * sb[2]);
        for (int i = 0; i < 3; ++i)
          for (int j = 0; j < 3; ++j) {
            VEC k = B[a][i] * CB[b][j];
            for (int l = 1; l < 6; ++l) k += B[a][3 * l + i] * CB[b][3 * l + j];
            if (i == j) k += t;
            K[3 * i + j] = q > 0 ? K[3 * i + j] + k : k;
          }
        if (q + 1 == n_gauss) NAME(add_blocks)(K, pair, tangent);
      }
  }
  *(VEC *)out->energy = energy;
}

FOR_EACH_TYPE(ELASTIC, linear)

// Computes C : sym(A) of a gradient A.
INLINE NAME(stress_of_gradient)(const VEC *C, const VEC *A, VEC *S) {
  const VEC e[6] = {A[0], A[4], A[8], A[5] + A[7], A[2] + A[6], A[1] + A[3]};
  NAME(stress)(C, e, S);
}

INLINE NAME(hessian_linear)(const int nodes, const int points, const rf_solid *s,
                            const int32_t *places, const double *a, const double *b, double *out) {
  const int n_gauss = NAME(count_points)(points, s, places);
  VEC da[3 * (RF_MAX_NODES - 1)], db[3 * (RF_MAX_NODES - 1)], C[36];
  VEC g[3 * RF_MAX_NODES], force[3 * RF_MAX_NODES];
  NAME(gather_differences)(s, places, nodes, a, da);
  NAME(gather_differences)(s, places, nodes, b, db);
  NAME(gather_parameters)(s, places, 36, C);
  for (int k = 0; k < 3 * nodes; ++k) force[k] = (VEC){0};
  for (int q = 0; q < n_gauss; ++q) {
    VEC volume = {0}, A[9], B[9], AB[9], Sa[6], Sb[6], Sab[6];
    NAME(gather_tables)(points, s, places, nodes, q, g, &volume);
    NAME(displacement_gradient)(nodes, da, g, A);
    NAME(displacement_gradient)(nodes, db, g, B);
    NAME(transposed_product)(A, B, AB);
    NAME(stress_of_gradient)(C, A, Sa);
    NAME(stress_of_gradient)(C, B, Sb);
    NAME(stress_of_gradient)(C, AB, Sab);
    NAME(add_hessian_force)(nodes, g, volume, A, B, Sa, Sb, Sab, force);
  }
  for (int k = 0; k < 3 * nodes; ++k) ((NAME(loose) *)out)[k] = force[k];
}

FOR_EACH_TYPE(HESSIAN, hessian_linear)
