// Body of the kernels of points_rt.h, which is included before.  Needs LANES and VARIANT, for
// example avx2_rt.
#include <math.h>
#include <string.h>

#include "material/voigt.h"

#define TARGET __attribute__((unused))
#include "material/list_body.h"

#define LAW_AT(law, text) AT_##law,
enum { RF_LAWS(LAW_AT) };
#define LAW_CASE(law, text) \
  case AT_##law: NAME(law##_point)(parameters, G, W, P, A); break;

static void evaluate_law(int32_t law, const double *parameters, const double *G, double *W,
                         double *P, double *A) {
  switch (law) {
    RF_LAWS(LAW_CASE)
    default: break;
  }
}

// Keeps a value in a register: compilers like to repeat a load as memory operand of every
// instruction that uses the value, and these kernels are limited by loads.
INLINE VEC kept(VEC v) {
#if RF_SIMD_X86 && defined(__AVX512F__)
  __asm__("" : "+v"(v));
#elif RF_SIMD_X86
  __asm__("" : "+x"(v));
#endif
  return v;
}

// G = sum_k q_k grad U_k
INLINE void gradient_at(int32_t padded, const VEC *table, const double *q, VEC *G) {
  VEC sum[9] = {{0}};
  for (int32_t k = 0; k < padded; ++k, table += 9)
    for (int c = 0; c < 9; ++c) sum[c] += q[k] * table[c];
  for (int c = 0; c < 9; ++c) G[c] = sum[c];
}

INLINE void add_force(int32_t padded, const VEC *table, const VEC *P, VEC *force) {
  for (int32_t k = 0; k < padded; k += 4, table += 36) {
    VEC sum[4];
    for (int j = 0; j < 4; ++j) sum[j] = force[k + j];
    for (int c = 0; c < 9; ++c)
      for (int j = 0; j < 4; ++j) sum[j] += P[c] * table[9 * j + c];
    for (int j = 0; j < 4; ++j) force[k + j] = sum[j];
  }
}

// rows_k = A : grad U_k, in tiles of three entries of four coordinates that stay in registers
INLINE void multiply_rows(int32_t padded, const VEC *table, const VEC *A, VEC *rows) {
  for (int32_t k = 0; k < padded; k += 4, table += 36, rows += 36)
    for (int c = 0; c < 9; c += 3) {
      VEC sum[4][3] = {{{0}}};
      for (int d = 0; d < 9; ++d) {
        VEC a[3];
        for (int i = 0; i < 3; ++i) a[i] = kept(A[9 * (c + i) + d]);
        for (int j = 0; j < 4; ++j) {
          const VEC b = kept(table[9 * j + d]);
          for (int i = 0; i < 3; ++i) sum[j][i] += a[i] * b;
        }
      }
      for (int j = 0; j < 4; ++j)
        for (int i = 0; i < 3; ++i) rows[9 * j + c + i] = sum[j][i];
    }
}

enum { TILE = LANES == 8 ? 4 : 2 };  // columns of a tile of four rows: 16 or 32 registers

// matrix_kl += rows_k : grad U_l
INLINE void add_matrix(int32_t padded, const VEC *table, const VEC *rows, VEC *matrix) {
  for (int32_t k = 0; k < padded; k += 4)
    for (int32_t l = k; l < padded; l += TILE) {
      const VEC *a = rows + 9 * k, *b = table + 9 * l;
      VEC sum[4][TILE], *to = matrix + (int64_t)k * padded + l;
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < TILE; ++j) sum[i][j] = to[i * padded + j];
      for (int c = 0; c < 9; ++c) {
        VEC of_b[TILE];
        for (int j = 0; j < TILE; ++j) of_b[j] = kept(b[9 * j + c]);
        for (int i = 0; i < 4; ++i) {
          const VEC of_a = kept(a[9 * i + c]);
          for (int j = 0; j < TILE; ++j) sum[i][j] += of_a * of_b[j];
        }
      }
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < TILE; ++j) to[i * padded + j] = sum[i][j];
    }
}

// Replaces A by the nearest positive semidefinite matrix; one that is semidefinite keeps its bits.
static void make_definite(bool isotropic, const VEC *G, VEC *A) {
  VEC copy[81], correction[81], selected;
  memcpy(copy, A, sizeof copy);
  if (!NAME(definite)(isotropic, (const double *)G, (double *)copy, (double *)correction,
                      (int64_t *)&selected))
    return;
  for (int k = 0; k < 81; ++k) A[k] += correction[k];
}

static void add_batch(const rf_cubature *c, int32_t batch, const rf_cubature_work *work,
                      rf_cubature_tangent tangent) {
  const double *from = c->stream + batch * c->batch_size, *parameters = from + LANES;
  const VEC weight = *(const VEC *)from;
  const VEC *table = (const VEC *)(parameters + c->n_parameters * LANES);
  VEC W = {0}, G[9], P[9] = {{0}}, A[81];
  gradient_at(c->padded, table, work->q, G);
  evaluate_law(c->batch_law[batch], parameters, (const double *)G, (double *)&W, (double *)P,
               tangent != RF_CUBATURE_NO_TANGENT ? (double *)A : NULL);
  *(VEC *)work->energy += weight * W;
  for (int k = 0; k < 9; ++k) P[k] *= weight;
  add_force(c->padded, table, P, (VEC *)work->force);
  if (tangent == RF_CUBATURE_NO_TANGENT) return;
  if (tangent == RF_CUBATURE_DEFINITE) make_definite(c->isotropic[batch], G, A);
  for (int k = 0; k < 81; ++k) A[k] *= weight;
  multiply_rows(c->padded, table, A, (VEC *)work->rows);
  add_matrix(c->padded, table, (const VEC *)work->rows, (VEC *)work->matrix);
}

void NAME(rf_cubature_add)(const rf_cubature *c, const rf_cubature_work *work,
                           rf_cubature_tangent tangent) {
  const size_t padded = (size_t)c->padded;
  memset(work->energy, 0, LANES * sizeof(double));
  memset(work->force, 0, padded * LANES * sizeof(double));
  if (tangent != RF_CUBATURE_NO_TANGENT)
    memset(work->matrix, 0, padded * padded * LANES * sizeof(double));
  for (int32_t b = 0; b < c->n_batches; ++b) add_batch(c, b, work, tangent);
}
