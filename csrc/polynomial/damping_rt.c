#include "base/arena.h"
#include "polynomial/damping.h"
#include "polynomial/quartic_rt.h"

typedef struct damping_work {
  double *in, *out;  // products of q^, and their product with the matrix over pairs
} damping_work;

static void layout(damping_work *w, int32_t r, rf_arena *a) {
  const size_t pairs = (size_t)rf_pairs_padded(r + 1, 8);
  w->in = rf_arena_take(a, pairs, sizeof *w->in);
  w->out = rf_arena_take(a, pairs, sizeof *w->out);
}

size_t rf_damping_work_bytes(int32_t r) {
  rf_arena count = {0};
  damping_work unused;
  layout(&unused, r, &count);
  return count.used;
}

void rf_damping_matrix_rt(const rf_damping *d, const double *q, void *work, double *matrix,
                          int32_t ld) {
  const int32_t r = d->r, n = r + 1, m = rf_pairs_padded(n, rf_simd_width(d->simd));
  rf_arena carve = {.base = work};
  damping_work w;
  layout(&w, r, &carve);

  // q^_a^2, and 2 q^_a q^_b for the pairs a < b
  int32_t at = 0;
  for (int32_t a = 0; a < n; ++a) {
    const double q_a = a ? q[a - 1] : 1.0;
    w.in[at++] = q_a * q_a;
    for (int32_t b = a + 1; b < n; ++b) w.in[at++] = 2.0 * q_a * q[b - 1];
  }
  for (; at < m; ++at) w.in[at] = 0.0;

  RF_SIMD_CALL(d->simd, rf_pairs, m, d->stream, w.in, w.out);

  // the pairs (0, b) come first and belong to no coordinate
  at = n;
  for (int32_t i = 0; i < r; ++i)
    for (int32_t j = i; j < r; ++j, ++at) matrix[i * ld + j] = matrix[j * ld + i] = w.out[at];
}
