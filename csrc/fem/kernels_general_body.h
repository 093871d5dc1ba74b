// Template: included by kernels_list_body.h after kernels_common_body.h, whose macros and
// functions it uses, with VARIANT (an rf_simd) defined.  No include guard, on purpose.
//
// Kernels of any law, by its body (material/law.h), which gives W, P and A = dP/dF of the elements
// at a quadrature point:
//
//   R_a = V P g_a,   K_ab(i, k) = V sum_jl A_(ij)(kl) g_a,j g_b,l.

static inline const rf_law *NAME(law_of)(const rf_solid *s, const int32_t *places) {
  return s->material[s->element_material[s->visit[places[0]]]].law;
}

// Adds the blocks of all pairs of nodes at a point, V A contracted with g on both sides.
INLINE NAME(add_tangent)(const int nodes, VEC volume, const VEC *g, const VEC *A, VEC sum[][9]) {
  for (int b = 0; b < nodes; ++b) {
    VEC Ab[27];  // (ij, k)
    const VEC x = volume * g[3 * b], y = volume * g[3 * b + 1], z = volume * g[3 * b + 2];
    for (int k = 0; k < 27; ++k) Ab[k] = A[3 * k] * x + A[3 * k + 1] * y + A[3 * k + 2] * z;
    for (int a = 0; a <= b; ++a) {
      const VEC *ga = g + 3 * a;
      VEC *K = sum[a * nodes - a * (a - 1) / 2 + b - a];
      for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 3; ++k)
          K[3 * i + k] +=
              Ab[9 * i + k] * ga[0] + Ab[9 * i + 3 + k] * ga[1] + Ab[9 * i + 6 + k] * ga[2];
    }
  }
}

INLINE NAME(general)(const int nodes, const int points, const rf_solid *s, const int32_t *places,
                     const double *u, const rf_lane_targets *tangent, rf_lane_results *out) {
  const int n_gauss = NAME(count_points)(points, s, places), pairs = nodes * (nodes + 1) / 2;
  const rf_law *law = NAME(law_of)(s, places);
  VEC d[3 * (RF_MAX_NODES - 1)], parameters[RF_LAW_PARAMETERS], energy = {0};
  VEC g[3 * RF_MAX_NODES], A[81], sum[RF_MAX_PAIRS][9];
  VEC *const force = (VEC *)out->force;
  NAME(gather_differences)(s, places, nodes, u, d);
  NAME(gather_parameters)(s, places, rf_law_parameter_count(law), parameters);
  for (int k = 0; k < 3 * nodes; ++k) force[k] = (VEC){0};
  for (int k = 0; k < pairs && tangent; ++k)
    for (int i = 0; i < 9; ++i) sum[k][i] = (VEC){0};
  for (int q = 0; q < n_gauss; ++q) {
    VEC volume = {0}, W, G[9], P[9];
    NAME(gather_tables)(points, s, places, nodes, q, g, &volume);
    NAME(displacement_gradient)(nodes, d, g, G);
    law->point[VARIANT]((const double *)parameters, (const double *)G, (double *)&W, (double *)P,
                        tangent ? (double *)A : NULL);
    energy += volume * W;
    for (int k = 0; k < 9; ++k) P[k] *= volume;
    for (int a = 0; a < nodes; ++a)
      for (int i = 0; i < 3; ++i)
        force[3 * a + i] +=
            P[3 * i] * g[3 * a] + P[3 * i + 1] * g[3 * a + 1] + P[3 * i + 2] * g[3 * a + 2];
    if (tangent) NAME(add_tangent)(nodes, volume, g, A, sum);
  }
  for (int k = 0; k < pairs && tangent; ++k) NAME(add_blocks)(sum[k], k, tangent);
  *(VEC *)out->energy = energy;
}

INLINE NAME(hessian_general)(const int nodes, const int points, const rf_solid *s,
                             const int32_t *places, const double *a, const double *b, double *out) {
  const int n_gauss = NAME(count_points)(points, s, places);
  const rf_law *law = NAME(law_of)(s, places);
  VEC da[3 * (RF_MAX_NODES - 1)], db[3 * (RF_MAX_NODES - 1)], parameters[RF_LAW_PARAMETERS];
  VEC g[3 * RF_MAX_NODES], force[3 * RF_MAX_NODES];
  NAME(gather_differences)(s, places, nodes, a, da);
  NAME(gather_differences)(s, places, nodes, b, db);
  NAME(gather_parameters)(s, places, rf_law_parameter_count(law), parameters);
  for (int k = 0; k < 3 * nodes; ++k) force[k] = (VEC){0};
  for (int q = 0; q < n_gauss; ++q) {
    VEC volume = {0}, of_a[9], of_b[9], P[9];
    NAME(gather_tables)(points, s, places, nodes, q, g, &volume);
    NAME(displacement_gradient)(nodes, da, g, of_a);
    NAME(displacement_gradient)(nodes, db, g, of_b);
    law->second[VARIANT]((const double *)parameters, (const double *)of_a, (const double *)of_b,
                         (double *)P);
    for (int n = 0; n < nodes; ++n)
      for (int i = 0; i < 3; ++i)
        force[3 * n + i] += volume * (P[3 * i] * g[3 * n] + P[3 * i + 1] * g[3 * n + 1] +
                                      P[3 * i + 2] * g[3 * n + 2]);
  }
  for (int k = 0; k < 3 * nodes; ++k) ((NAME(loose) *)out)[k] = force[k];
}

FOR_EACH_TYPE(ELASTIC, general)

FOR_EACH_TYPE(HESSIAN, hessian_general)
