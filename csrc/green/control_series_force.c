// Forces of the terms of a series, of several paths side by side.
#include <string.h>

#include "green/control_build.h"

#define RF_WIDTH 4
#include "linalg/simd_body.h"

enum { MOST = RF_CONTROL_MOST_TERMS, LANES = RF_CONTROL_LANES };

// The gradients of a term at a point, and the coefficients of E and S.
typedef struct point {
  rf_v4 H[MOST][9];  // of u_1 .. u_(n-1)
  rf_v4 S[MOST][9];  // of e^1 .. e^n
} point;

// Adds half of A^T B + B^T A to E.
RF_INLINE void add_product(const rf_v4 *A, const rf_v4 *B, rf_v4 *E) {
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      const rf_v4 one = A[i] * B[j] + A[3 + i] * B[3 + j] + A[6 + i] * B[6 + j];
      E[3 * i + j] += 0.5 * one, E[3 * j + i] += 0.5 * one;
    }
}

// S_m = C : E_m, E_m of the gradients with indices below n.
RF_INLINE void strain_stress(const double *C, int m, int n, point *p) {
  static const int at[6] = {0, 4, 8, 5, 2, 1};  // Voigt's order
  rf_v4 E[9] = {{0}}, e[6];
  if (m < n)
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j)
        E[3 * i + j] = 0.5 * (p->H[m - 1][3 * i + j] + p->H[m - 1][3 * j + i]);
  for (int k = 1; k < m - k; ++k) add_product(p->H[k - 1], p->H[m - k - 1], E);
  if (m % 2 == 0) {  // its own square, once
    rf_v4 square[9] = {{0}};
    add_product(p->H[m / 2 - 1], p->H[m / 2 - 1], square);
    for (int i = 0; i < 9; ++i) E[i] += 0.5 * square[i];
  }
  for (int k = 0; k < 6; ++k) e[k] = (k < 3 ? 1.0 : 2.0) * E[at[k]];
  for (int k = 0; k < 6; ++k) {
    rf_v4 sum = {0};
    for (int l = 0; l < 6; ++l) sum += C[6 * k + l] * e[l];
    p->S[m - 1][at[k]] = p->S[m - 1][at[k] % 3 * 3 + at[k] / 3] = sum;
  }
}

// P_n without the linear part of u_n: S_n + sum H_k S_(n-k).
RF_INLINE void piola(const double *C, int n, point *p, rf_v4 *out) {
  for (int m = 1; m <= n; ++m) strain_stress(C, m, n, p);
  memcpy(out, p->S[n - 1], sizeof p->S[n - 1]);
  for (int k = 1; k < n; ++k)
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j)
        for (int l = 0; l < 3; ++l)
          out[3 * i + j] += p->H[k - 1][3 * i + l] * p->S[n - k - 1][3 * l + j];
}

RF_INLINE void gradient_of(int nodes, const int32_t *corner, const double *gradient,
                           const double *u, rf_v4 *H) {
  for (int i = 0; i < 9; ++i) H[i] = (rf_v4){0};
  for (int a = 0; a < nodes; ++a)
    for (int i = 0; i < 3; ++i) {
      const rf_v4 own = rf_load4(u + LANES * (3 * (int64_t)corner[a] + i));
      for (int j = 0; j < 3; ++j) H[3 * i + j] += own * gradient[3 * a + j];
    }
}

RF_INLINE void add_force(const rf_v4 *stress, const double *gradient, double volume,
                         double *force) {
  const rf_v4 sum = stress[0] * gradient[0] + stress[1] * gradient[1] + stress[2] * gradient[2];
  rf_store4(force, rf_load4(force) + volume * sum);
}

RF_INLINE void force_of(const rf_solid *s, int n, const double *const *u, double *force) {
  const int nodes = (int)s->mesh->type;
  point p = {0};
  double C[36];
  int32_t material = -1;
  memset(force, 0, 3 * LANES * (size_t)s->mesh->n_nodes * sizeof *force);
  for (int32_t e = 0; e < s->mesh->n_elements; ++e) {
    const int32_t *const corner = s->mesh->elements + (int64_t)nodes * e;
    const double *gradient = rf_solid_gradient(s, e), *const volume = rf_solid_volume(s, e);
    if (s->element_material[e] != material) {
      material = s->element_material[e];
      rf_law_rest(s->material[material].law, s->material[material].parameter, C);
    }
    for (int g = 0; g < rf_solid_points(s, e); ++g, gradient += 3 * nodes) {
      rf_v4 stress[9];
      for (int k = 1; k < n; ++k) gradient_of(nodes, corner, gradient, u[k - 1], p.H[k - 1]);
      piola(C, n, &p, stress);
      for (int a = 0; a < nodes; ++a)
        for (int i = 0; i < 3; ++i)
          add_force(stress + 3 * i, gradient + 3 * a, volume[g],
                    force + LANES * (3 * (int64_t)corner[a] + i));
    }
  }
}

typedef void force_fn(const rf_solid *s, int n, const double *const *u, double *force);

static void force_plain(const rf_solid *s, int n, const double *const *u, double *force) {
  force_of(s, n, u, force);
}

#if RF_SIMD_X86
// the same bits: without fused multiplications
__attribute__((target("avx2"))) static void force_avx2(const rf_solid *s, int n,
                                                       const double *const *u, double *force) {
  force_of(s, n, u, force);
}
#else
#define force_avx2 force_plain
#endif

void rf_control_series_force(const rf_solid *s, int n, const double *const *u, double *force) {
  force_fn *const kernel = s->simd != RF_SIMD_PLAIN ? force_avx2 : force_plain;
  kernel(s, n, u, force);
}
