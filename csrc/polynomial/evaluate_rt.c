#include "base/arena.h"
#include "polynomial/polynomial.h"
#include "polynomial/quartic_rt.h"

static void layout(rf_quartic_work *w, int32_t r, rf_arena *a) {
  const int32_t n = r + 1;
  w->ldh = rf_quartic_padded(n, 8) + 8;  // an unaligned vector may end past the last column
  const size_t row = (size_t)w->ldh;
  w->q = rf_arena_take(a, row, sizeof *w->q);
  w->h = rf_arena_take(a, row * (size_t)rf_quartic_padded(n, 4), sizeof *w->h);
  w->dots = rf_arena_take(a, ((size_t)n + 3) * 8, sizeof *w->dots);
  w->r = rf_arena_take(a, row, sizeof *w->r);
  const size_t pairs = r <= RF_POLYNOMIAL_PAIRS_MAX_R ? (size_t)rf_pairs_padded(n, 8) : 0;
  w->pair_in = rf_arena_take(a, pairs, sizeof *w->pair_in);
  w->pair_out = rf_arena_take(a, pairs, sizeof *w->pair_out);
}

size_t rf_polynomial_work_bytes(int32_t r) {
  rf_arena count = {0};
  rf_quartic_work unused;
  layout(&unused, r, &count);
  return count.used;
}

// Multiplies the products of q^ by the pair matrix, which gives the symmetric Hessian in h.
static void accumulate_pairs(rf_simd simd, int32_t n, const double *stream, rf_quartic_work *w) {
  const int32_t m = rf_pairs_padded(n, rf_simd_width(simd)), ldh = w->ldh;
  int32_t at = 0;
  for (int32_t a = 0; a < n; ++a) {
    const double twice = 2.0 * w->q[a];
    w->pair_in[at++] = w->q[a] * w->q[a];
    for (int32_t b = a + 1; b < n; ++b) w->pair_in[at++] = twice * w->q[b];
  }
  for (; at < m; ++at) w->pair_in[at] = 0.0;

  RF_SIMD_CALL(simd, rf_pairs, m, stream, w->pair_in, w->pair_out);

  at = 0;
  for (int32_t a = 0; a < n; ++a) {
    for (int32_t b = a; b < n; ++b, ++at) {
      w->h[a * ldh + b] = w->pair_out[at];
      w->h[b * ldh + a] = w->pair_out[at];
    }
    for (int32_t b = n; b < ldh; ++b) w->h[a * ldh + b] = 0.0;
  }
  // the final step reads padding rows up to a multiple of four and ignores them
  for (int32_t b = n * ldh; b < rf_quartic_padded(n, 4) * ldh; ++b) w->h[b] = 0.0;
}

void rf_polynomial_evaluate_rt(const rf_polynomial *p, const double *q, void *work, double *energy,
                               double *force, double *stiffness, int32_t ld) {
  const int32_t r = p->r, n = r + 1;
  rf_arena carve = {.base = work};
  rf_quartic_work w;
  layout(&w, r, &carve);

  w.q[0] = 1.0;
  for (int32_t i = 0; i < r; ++i) w.q[i + 1] = q[i];
  for (int32_t i = n; i < w.ldh; ++i) w.q[i] = 0.0;

  if (p->pairs) {
    accumulate_pairs(p->simd, n, p->stream, &w);
    RF_SIMD_CALL(p->simd, rf_quartic_finish, n, &w, 1, stiffness, ld);
  } else {
    RF_SIMD_CALL(p->simd, rf_quartic, n, p->stream, &w, stiffness != NULL);
    if (stiffness) RF_SIMD_CALL(p->simd, rf_quartic_finish, n, &w, 0, stiffness, ld);
  }

  // Euler: a homogeneous quartic form is a quarter of q . gradient
  if (force)
    for (int32_t i = 0; i < r; ++i) force[i] = w.r[i + 1];
  if (energy) {
    double sum = 0.0;
    for (int32_t i = 0; i < n; ++i) sum += w.q[i] * w.r[i];
    *energy = 0.25 * sum;
  }
}
