// Template: included by kernels_list_body.h after kernels_general_body.h, whose functions it uses.
// No include guard, on purpose.
//
// Corrects tangents where the Hessian A = dP/dF of a quadrature point is indefinite, for any law:
//
//   K+ = K + sum V g^T (A+ - A) g,   A+ by rf_law_definite (material/law.h).
//
// Nothing is added to points with a definite A, so that their tangent keeps its bits.

static inline TARGET bool NAME(any)(NAME(mask) which) {
  int64_t any = 0;
  for (int l = 0; l < LANES; ++l) any |= which[l];
  return any != 0;
}

// Directs the blocks of lanes that are not selected to `unused`.
INLINE NAME(keep_selected)(NAME(mask) which, int pairs, rf_lane_targets *t) {
  const int64_t unused = (int64_t)(intptr_t)t->unused;
  for (int l = 0; l < LANES; ++l)
    for (int k = 0; k < pairs && !which[l]; ++k) t->to[k * LANES + l] = unused;
}

INLINE NAME(definite)(const int nodes, const int points, const rf_solid *s, const int32_t *places,
                      const double *u, rf_lane_targets *tangent) {
  const int n_gauss = NAME(count_points)(points, s, places), pairs = nodes * (nodes + 1) / 2;
  const rf_law *law = NAME(law_of)(s, places);
  VEC d[3 * (RF_MAX_NODES - 1)], parameters[RF_LAW_PARAMETERS], sum[RF_MAX_PAIRS][9];
  NAME(mask) all = {0};
  NAME(gather_differences)(s, places, nodes, u, d);
  NAME(gather_parameters)(s, places, rf_law_parameter_count(law), parameters);
  for (int q = 0; q < n_gauss; ++q) {
    VEC volume = {0}, g[3 * RF_MAX_NODES], W, G[9], P[9], A[81], C[81];
    NAME(mask) which;
    NAME(gather_tables)(points, s, places, nodes, q, g, &volume);
    NAME(displacement_gradient)(nodes, d, g, G);
    law->point[VARIANT]((const double *)parameters, (const double *)G, (double *)&W, (double *)P,
                        (double *)A);
    if (!rf_law_definite[VARIANT](law->facts->isotropic, (const double *)G, (double *)A,
                                  (double *)C, (int64_t *)&which))
      continue;
    if (!NAME(any)(all))
      for (int k = 0; k < pairs; ++k)
        for (int i = 0; i < 9; ++i) sum[k][i] = (VEC){0};
    all |= which;
    NAME(add_tangent)(nodes, volume, g, C, sum);
  }
  if (!NAME(any)(all)) return;
  NAME(keep_selected)(all, pairs, tangent);
  for (int k = 0; k < pairs; ++k) NAME(add_blocks)(sum[k], k, tangent);
}

FOR_EACH_TYPE(DEFINITE, definite)
