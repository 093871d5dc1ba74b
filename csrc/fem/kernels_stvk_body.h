// Template: included by kernels_list_body.h after kernels_common_body.h, whose macros and functions
// it uses. No include guard, on purpose.
//
// With G = grad u, f_a = F g_a and S the second Piola-Kirchhoff stress, the tangent
// block of nodes a, b is (sum over quadrature points of weight V)
//
//   K_ab = V [ (g_a.S g_b) I + lambda f_a f_b^T + mu f_b f_a^T + mu (g_a.g_b) F F^T ]
//        = lambda Z + mu Z^T + t I,   Z = V [f_a f_b^T + mu/(lambda+mu) (g_a.g_b) F F^T],
//
// so that only Z (nine sums) and t = V g_a.S g_b are accumulated; translations give no force, so
// K_aa is minus the sum of all K_ab with b != a.  lambda + mu > 0 for every material that a solid
// accepts.  sqrt(V) is folded into g.

// quadrature points whose intermediate results are stored at a time, a third of those for 20 nodes:
// fits the first-level cache
enum { NAME(chunk) = 9 };
#define CHUNK NAME(chunk)

INLINE NAME(gather_material)(const rf_solid *s, const int32_t *places, VEC *lambda, VEC *mu) {
  for (int l = 0; l < LANES; ++l) {
    // a single material needs no lookup
    const int32_t k = s->n_materials == 1 ? 0 : s->element_material[s->visit[places[l]]];
    (*lambda)[l] = s->material[k].parameter[0];
    (*mu)[l] = s->material[k].parameter[1];
  }
}

INLINE NAME(stvk)(const int nodes, const int points, const rf_solid *s, const int32_t *places,
                  const double *u, const rf_lane_targets *tangent, rf_lane_results *out) {
  const int n_gauss = NAME(count_points)(points, s, places);
  VEC d[3 * (RF_MAX_NODES - 1)], lambda, mu, energy = {0};
  VEC *const force = (VEC *)out->force;
  // per point: sqrt(V) g_a, sqrt(V) S g_a, sqrt(V) f_a, and mu/(lambda+mu) F F^T
  VEC g[CHUNK][3 * RF_MAX_NODES], sg[CHUNK][3 * RF_MAX_NODES], f[CHUNK][3 * RF_MAX_NODES];
  VEC B[CHUNK][6];
  // tangent blocks accumulated over chunks of points
  VEC sum[RF_MAX_PAIRS][9], own[RF_MAX_NODES][6];
  for (int a = 0; a < nodes && tangent; ++a)
    for (int k = 0; k < 6; ++k) own[a][k] = (VEC){0};
  NAME(gather_differences)(s, places, nodes, u, d);
  NAME(gather_material)(s, places, &lambda, &mu);

  const int chunk = nodes > 10 ? CHUNK / 3 : CHUNK;
  for (int first = 0; first < n_gauss; first += chunk) {
    const int count = n_gauss - first < chunk ? n_gauss - first : chunk;
    for (int q = 0; q < count; ++q) {
      VEC volume = {0}, G[9], E[6], S[6];
      NAME(gather_tables)(points, s, places, nodes, first + q, g[q], &volume);
      NAME(displacement_gradient)(nodes, d, g[q], G);

      // E from G, not from F^T F - I: no cancellation at small displacements
      for (int i = 0; i < 3; ++i)
        E[i] = G[4 * i] + 0.5 * (G[i] * G[i] + G[3 + i] * G[3 + i] + G[6 + i] * G[6 + i]);
      E[3] = 0.5 * (G[5] + G[7] + (G[1] * G[2] + G[4] * G[5] + G[7] * G[8]));
      E[4] = 0.5 * (G[2] + G[6] + (G[0] * G[2] + G[3] * G[5] + G[6] * G[8]));
      E[5] = 0.5 * (G[1] + G[3] + (G[0] * G[1] + G[3] * G[4] + G[6] * G[7]));
      const VEC trace = E[0] + E[1] + E[2];
      const VEC square =
          E[0] * E[0] + E[1] * E[1] + E[2] * E[2] + 2.0 * (E[3] * E[3] + E[4] * E[4] + E[5] * E[5]);
      energy += volume * (0.5 * lambda * trace * trace + mu * square);
      for (int k = 0; k < 6; ++k) S[k] = 2.0 * mu * E[k];
      for (int i = 0; i < 3; ++i) S[i] += lambda * trace;

      for (int i = 0; i < 3; ++i) G[4 * i] += 1.0;  // F from here on
      VEC root;
      for (int l = 0; l < LANES; ++l) root[l] = sqrt(volume[l]);
      for (int a = 0; a < nodes; ++a) {
        VEC *ga = g[q] + 3 * a, *sa = sg[q] + 3 * a, *fa = f[q] + 3 * a;
        for (int i = 0; i < 3; ++i) ga[i] *= root;
        SYM_APPLY(S, ga, sa);
        // R_a = V F S g_a
        for (int i = 0; i < 3; ++i) {
          const VEC part = root * (G[3 * i] * sa[0] + G[3 * i + 1] * sa[1] + G[3 * i + 2] * sa[2]);
          force[3 * a + i] = first + q > 0 ? force[3 * a + i] + part : part;
          fa[i] = G[3 * i] * ga[0] + G[3 * i + 1] * ga[1] + G[3 * i + 2] * ga[2];
        }
      }
      const VEC ratio = mu / (lambda + mu);
      for (int k = 0; k < 6; ++k)
        B[q][k] = ratio * (G[3 * ROW_OF[k]] * G[3 * COLUMN_OF[k]] +
                           G[3 * ROW_OF[k] + 1] * G[3 * COLUMN_OF[k] + 1] +
                           G[3 * ROW_OF[k] + 2] * G[3 * COLUMN_OF[k] + 2]);
    }
    if (!tangent) continue;

    const bool last = first + count == n_gauss;
    int pair = 0;
    for (int a = 0; a < nodes; ++a) {
      ++pair;
      for (int b = a + 1; b < nodes; ++b, ++pair) {
        VEC Z[9], t = {0};
        for (int k = 0; k < 9; ++k) Z[k] = (VEC){0};
        for (int q = 0; q < count; ++q) {
          const VEC *ga = g[q] + 3 * a, *gb = g[q] + 3 * b, *sb = sg[q] + 3 * b;
          const VEC *fa = f[q] + 3 * a, *fb = f[q] + 3 * b, *Bq = B[q];
          const VEC gg = ga[0] * gb[0] + ga[1] * gb[1] + ga[2] * gb[2];
          t += ga[0] * sb[0] + ga[1] * sb[1] + ga[2] * sb[2];
          Z[0] += fa[0] * fb[0] + gg * Bq[0];
          Z[1] += fa[0] * fb[1] + gg * Bq[5];
          Z[2] += fa[0] * fb[2] + gg * Bq[4];
          Z[3] += fa[1] * fb[0] + gg * Bq[5];
          Z[4] += fa[1] * fb[1] + gg * Bq[1];
          Z[5] += fa[1] * fb[2] + gg * Bq[3];
          Z[6] += fa[2] * fb[0] + gg * Bq[4];
          Z[7] += fa[2] * fb[1] + gg * Bq[3];
          Z[8] += fa[2] * fb[2] + gg * Bq[2];
        }
        VEC *K = sum[pair];
        for (int i = 0; i < 3; ++i)
          for (int j = 0; j < 3; ++j) {
            VEC k = lambda * Z[3 * i + j] + mu * Z[3 * j + i];
            if (i == j) k += t;
            K[3 * i + j] = first ? K[3 * i + j] + k : k;
          }
        if (!last) continue;
        for (int k = 0; k < 6; ++k) {
          own[a][k] -= K[3 * ROW_OF[k] + COLUMN_OF[k]];
          own[b][k] -= K[3 * COLUMN_OF[k] + ROW_OF[k]];
        }
        NAME(add_blocks)(K, pair, tangent);
      }
    }
    pair = 0;
    for (int a = 0; a < nodes && last; pair += nodes - a, ++a) {
      VEC K[9];
      for (int k = 0; k < 6; ++k)
        K[3 * ROW_OF[k] + COLUMN_OF[k]] = K[3 * COLUMN_OF[k] + ROW_OF[k]] = own[a][k];
      NAME(add_blocks)(K, pair, tangent);
    }
  }
  *(VEC *)out->energy = energy;
}

FOR_EACH_TYPE(ELASTIC, stvk)

// lambda tr(e) I + 2 mu e of e = sym(A), in the order xx yy zz yz zx xy
#define LINEAR_STRESS(A, S)                                                      \
  do {                                                                           \
    const VEC pressure_ = lambda * ((A)[0] + (A)[4] + (A)[8]);                   \
    for (int i_ = 0; i_ < 3; ++i_) (S)[i_] = pressure_ + 2.0 * mu * (A)[4 * i_]; \
    (S)[3] = mu * ((A)[5] + (A)[7]);                                             \
    (S)[4] = mu * ((A)[2] + (A)[6]);                                             \
    (S)[5] = mu * ((A)[1] + (A)[3]);                                             \
  } while (0)

// Computes A^T B.
INLINE NAME(transposed_product)(const VEC *A, const VEC *B, VEC *AB) {
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      AB[3 * i + j] = A[i] * B[j] + A[3 + i] * B[3 + j] + A[6 + i] * B[6 + j];
}

// Adds V P grad(phi), P = S(sym A^T B) + A S(sym B) + B S(sym A), to the forces of the nodes.
INLINE NAME(add_hessian_force)(const int nodes, const VEC *g, VEC volume, const VEC *A,
                               const VEC *B, const VEC *Sa, const VEC *Sb, const VEC *Sab,
                               VEC *force) {
  const int place[9] = {0, 5, 4, 5, 1, 3, 4, 3, 2};
  VEC P[9];
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      VEC sum = Sab[place[3 * i + j]];
      for (int k = 0; k < 3; ++k)
        sum += A[3 * i + k] * Sb[place[3 * k + j]] + B[3 * i + k] * Sa[place[3 * k + j]];
      P[3 * i + j] = volume * sum;
    }
  for (int n = 0; n < nodes; ++n)
    for (int i = 0; i < 3; ++i)
      force[3 * n + i] +=
          P[3 * i] * g[3 * n] + P[3 * i + 1] * g[3 * n + 1] + P[3 * i + 2] * g[3 * n + 2];
}

INLINE NAME(hessian)(const int nodes, const int points, const rf_solid *s, const int32_t *places,
                     const double *a, const double *b, double *out) {
  const int n_gauss = NAME(count_points)(points, s, places);
  VEC da[3 * (RF_MAX_NODES - 1)], db[3 * (RF_MAX_NODES - 1)], lambda, mu;
  VEC g[3 * RF_MAX_NODES], force[3 * RF_MAX_NODES];
  NAME(gather_differences)(s, places, nodes, a, da);
  NAME(gather_differences)(s, places, nodes, b, db);
  NAME(gather_material)(s, places, &lambda, &mu);
  for (int k = 0; k < 3 * nodes; ++k) force[k] = (VEC){0};
  for (int q = 0; q < n_gauss; ++q) {
    VEC volume = {0}, A[9], B[9], AB[9], Sa[6], Sb[6], Sab[6];
    NAME(gather_tables)(points, s, places, nodes, q, g, &volume);
    NAME(displacement_gradient)(nodes, da, g, A);
    NAME(displacement_gradient)(nodes, db, g, B);
    NAME(transposed_product)(A, B, AB);
    LINEAR_STRESS(A, Sa);
    LINEAR_STRESS(B, Sb);
    LINEAR_STRESS(AB, Sab);
    NAME(add_hessian_force)(nodes, g, volume, A, B, Sa, Sb, Sab, force);
  }
  for (int k = 0; k < 3 * nodes; ++k) ((NAME(loose) *)out)[k] = force[k];
}

FOR_EACH_TYPE(HESSIAN, hessian)
