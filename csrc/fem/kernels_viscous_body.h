// Template: included by kernels_list_body.h after kernels_common_body.h, whose macros and functions
// it uses.  No include guard, on purpose.
//
// Strain-rate damping (B07 2.34 to 2.38): S_D = phi tr(E') I + 2 psi E' with E' = sym(F^T grad v).
// With f_a = F g_a
//
//   f_a = V F S_D g_a,   D_ab = V [ phi f_a f_b^T + psi f_b f_a^T + psi (g_a.g_b) F F^T ]:
//
// the tangent of the elastic force without its stress term, with other constants.  sqrt(V) is
// folded into g for D.

INLINE NAME(viscous)(const int nodes, const int points, const rf_solid *s, const double *viscosity,
                     const int32_t *places, const double *u, const double *v,
                     const rf_lane_targets *matrix, rf_lane_results *out) {
  const int n_gauss = NAME(count_points)(points, s, places);
  VEC d[3 * (RF_MAX_NODES - 1)], rate[3 * (RF_MAX_NODES - 1)], phi, psi, power = {0};
  VEC g[3 * RF_MAX_NODES], f[3 * RF_MAX_NODES], sum[RF_MAX_PAIRS][9];
  VEC *const force = (VEC *)out->force;
  NAME(gather_differences)(s, places, nodes, u, d);
  NAME(gather_differences)(s, places, nodes, v, rate);
  for (int l = 0; l < LANES; ++l) {
    const int32_t k = s->element_material[s->visit[places[l]]];
    phi[l] = viscosity[2 * (int64_t)k];
    psi[l] = viscosity[2 * (int64_t)k + 1];
  }
  for (int k = 0; k < 3 * nodes; ++k) force[k] = (VEC){0};
  for (int k = 0; matrix && k < nodes * (nodes + 1) / 2; ++k)
    for (int i = 0; i < 9; ++i) sum[k][i] = (VEC){0};

  for (int q = 0; q < n_gauss; ++q) {
    VEC volume = {0}, F[9], H[9], S[9], FS[9], FF[9];
    NAME(gather_tables)(points, s, places, nodes, q, g, &volume);
    NAME(displacement_gradient)(nodes, d, g, F);
    NAME(displacement_gradient)(nodes, rate, g, H);
    for (int i = 0; i < 3; ++i) F[4 * i] += 1.0;

    // E', then S_D in the same array
    for (int i = 0; i < 3; ++i)
      for (int j = i; j < 3; ++j) {
        VEC e = F[i] * H[j] + F[j] * H[i];
        for (int k = 1; k < 3; ++k) e += F[3 * k + i] * H[3 * k + j] + F[3 * k + j] * H[3 * k + i];
        S[3 * i + j] = S[3 * j + i] = 0.5 * e;
      }
    const VEC trace = S[0] + S[4] + S[8];
    VEC square = S[0] * S[0];
    for (int k = 1; k < 9; ++k) square += S[k] * S[k];
    power += volume * (phi * trace * trace + 2.0 * psi * square);
    for (int k = 0; k < 9; ++k) S[k] *= 2.0 * psi;
    for (int i = 0; i < 3; ++i) S[4 * i] += phi * trace;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j)
        FS[3 * i + j] =
            volume * (F[3 * i] * S[j] + F[3 * i + 1] * S[3 + j] + F[3 * i + 2] * S[6 + j]);
    for (int a = 0; a < nodes; ++a)
      for (int i = 0; i < 3; ++i)
        force[3 * a + i] +=
            FS[3 * i] * g[3 * a] + FS[3 * i + 1] * g[3 * a + 1] + FS[3 * i + 2] * g[3 * a + 2];
    if (!matrix) continue;

    VEC root;
    for (int l = 0; l < LANES; ++l) root[l] = sqrt(volume[l]);
    for (int k = 0; k < 3 * nodes; ++k) g[k] *= root;
    for (int a = 0; a < nodes; ++a)
      for (int i = 0; i < 3; ++i)
        f[3 * a + i] =
            F[3 * i] * g[3 * a] + F[3 * i + 1] * g[3 * a + 1] + F[3 * i + 2] * g[3 * a + 2];
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j)
        FF[3 * i + j] =
            psi * (F[3 * i] * F[3 * j] + F[3 * i + 1] * F[3 * j + 1] + F[3 * i + 2] * F[3 * j + 2]);
    int pair = 0;
    for (int a = 0; a < nodes; ++a)
      for (int b = a; b < nodes; ++b, ++pair) {
        const VEC *ga = g + 3 * a, *gb = g + 3 * b, *fa = f + 3 * a, *fb = f + 3 * b;
        const VEC gg = ga[0] * gb[0] + ga[1] * gb[1] + ga[2] * gb[2];
        for (int i = 0; i < 3; ++i)
          for (int j = 0; j < 3; ++j)
            sum[pair][3 * i + j] += phi * fa[i] * fb[j] + psi * fb[i] * fa[j] + gg * FF[3 * i + j];
      }
  }
  *(VEC *)out->energy = power;
  for (int pair = 0; matrix && pair < nodes * (nodes + 1) / 2; ++pair)
    NAME(add_blocks)(sum[pair], pair, matrix);
}

FOR_EACH_TYPE(VISCOUS, viscous)
