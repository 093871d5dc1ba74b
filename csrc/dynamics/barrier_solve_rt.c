// Solves (A + N) x = r, A symmetric and factored, N the unsymmetric part of coupled friction: GMRES
// for (I + A^-1 N) x = A^-1 r.
#include <math.h>
#include <string.h>

#include "dynamics/barrier.h"
#include "linalg/vector.h"

static const double TOLERANCE = 1e-8;  // of the preconditioned residual, relative

typedef struct subspace {
  double *basis;  // (RF_BARRIER_KRYLOV + 1, ld)
  int64_t ld;
  double h[RF_BARRIER_KRYLOV + 1][RF_BARRIER_KRYLOV];  // Hessenberg matrix, made triangular
  double cosine[RF_BARRIER_KRYLOV], sine[RF_BARRIER_KRYLOV];
  double right[RF_BARRIER_KRYLOV + 1];
} subspace;

static double *vector_of(const subspace *k, int i) { return k->basis + i * k->ld; }

// out = x + A^-1 N x
static rf_status apply(rf_barrier_work *w, rf_system *s, const double *x, double *out) {
  memset(out, 0, (size_t)s->ld * sizeof *out);
  rf_barrier_turn_rt(w, x, out);
  const rf_status st = s->operations->solve(s, out, out);
  for (int64_t i = 0; i < s->n; ++i) out[i] += x[i];
  return st;
}

// Makes vector i + 1 orthogonal to those before and of unit length.
static void orthogonalize(subspace *k, int i) {
  double *next = vector_of(k, i + 1);
  for (int j = 0; j <= i; ++j) {
    const double *basis = vector_of(k, j);
    k->h[j][i] = rf_dot_padded(k->ld, basis, next);
    for (int64_t d = 0; d < k->ld; ++d) next[d] -= k->h[j][i] * basis[d];
  }
  k->h[i + 1][i] = rf_norm_padded(k->ld, next);
  const double inverse = k->h[i + 1][i] > 0.0 ? 1.0 / k->h[i + 1][i] : 0.0;
  for (int64_t d = 0; d < k->ld; ++d) next[d] *= inverse;
}

// Eliminates the entry below the diagonal of column i by Givens rotations.
static void rotate(subspace *k, int i) {
  for (int j = 0; j < i; ++j) {
    const double upper = k->h[j][i], lower = k->h[j + 1][i];
    k->h[j][i] = k->cosine[j] * upper + k->sine[j] * lower;
    k->h[j + 1][i] = k->cosine[j] * lower - k->sine[j] * upper;
  }
  const double length = hypot(k->h[i][i], k->h[i + 1][i]);
  k->cosine[i] = length > 0.0 ? k->h[i][i] / length : 1.0;
  k->sine[i] = length > 0.0 ? k->h[i + 1][i] / length : 0.0;
  k->h[i][i] = length;
  k->right[i + 1] = -k->sine[i] * k->right[i];
  k->right[i] *= k->cosine[i];
}

// x = the combination of `count` vectors with the least residual.
static void combine(const subspace *k, int count, double *x) {
  double y[RF_BARRIER_KRYLOV] = {0};
  for (int i = count - 1; i >= 0; --i) {
    double sum = k->right[i];
    for (int j = i + 1; j < count; ++j) sum -= k->h[i][j] * y[j];
    y[i] = k->h[i][i] > 0.0 ? sum / k->h[i][i] : 0.0;
  }
  memset(x, 0, (size_t)k->ld * sizeof *x);
  for (int i = 0; i < count; ++i)
    for (int64_t d = 0; d < k->ld; ++d) x[d] += y[i] * vector_of(k, i)[d];
}

rf_status rf_barrier_solve_rt(rf_barrier_work *w, rf_system *s, double *increment) {
  subspace k = {.basis = w->krylov, .ld = s->ld};
  const double size = k.right[0] = rf_norm_padded(s->ld, increment);
  int count = 0;
  if (!(size > 0.0)) return RF_OK;
  for (int64_t d = 0; d < s->ld; ++d) k.basis[d] = increment[d] / size;
  while (count < RF_BARRIER_KRYLOV && fabs(k.right[count]) > TOLERANCE * size) {
    const rf_status st = apply(w, s, vector_of(&k, count), vector_of(&k, count + 1));
    if (st < 0) return st;
    orthogonalize(&k, count);
    rotate(&k, count++);
  }
  combine(&k, count, increment);
  return RF_OK;
}
