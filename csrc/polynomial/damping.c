#include "polynomial/damping.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "polynomial/quartic_rt.h"

static int64_t pairs_of(int32_t r) { return r + (int64_t)r * (r + 1) / 2; }

int64_t rf_damping_count(int32_t r) {
  const int64_t m = pairs_of(r);
  return m * (m + 1) / 2;
}

// Returns the index of the pair a, b (in either order) among those of G; -1 for (0, 0), which has
// no strain.
static int64_t place(int32_t r, int32_t a, int32_t b) {
  const int64_t i = a < b ? a : b, j = a < b ? b : a;
  if (i == 0) return j - 1;
  return r + (i - 1) * r - (i - 1) * (i - 2) / 2 + (j - i);
}

static double entry(const rf_damping *d, int64_t p, int64_t q) {
  if (p < 0 || q < 0) return 0.0;
  return p >= q ? d->gram[p * (p + 1) / 2 + q] : d->gram[q * (q + 1) / 2 + p];
}

// Packs B in square tiles of `width`, those on and right of the diagonal; padding stays zero.
static void pack(rf_damping *d, const int32_t *first, const int32_t *second, int32_t width) {
  const int32_t r = d->r, pairs = (r + 1) * (r + 2) / 2, m = rf_pairs_padded(r + 1, width);
  double *to = d->stream;
  for (int32_t row = 0; row < m; row += width)
    for (int32_t column = row; column < m; column += width)
      for (int32_t x = row; x < row + width; ++x)
        for (int32_t y = column; y < column + width; ++y, ++to) {
          if (x >= pairs || y >= pairs) continue;
          const int32_t i = first[x], j = second[x], a = first[y], b = second[y];
          *to = 0.5 * (entry(d, place(r, i, a), place(r, j, b)) +
                       entry(d, place(r, i, b), place(r, j, a)));
        }
}

rf_status rf_damping_create(int32_t r, const double *gram, rf_simd simd, rf_damping **out,
                            rf_error *err) {
  rf_status st = RF_OK;
  rf_damping *d = NULL;
  int32_t *first = NULL, *second = NULL;
  *out = NULL;
  if (!(r >= 1 && r <= RF_DAMPING_MAX_R))
    return rf_fail(err, RF_ERR_ARG, "r must be between 1 and %d, got %d", RF_DAMPING_MAX_R, r);
  RF_TRY(rf_simd_check(simd, err));
  const int64_t count = rf_damping_count(r);
  for (int64_t i = 0; i < count; ++i)
    if (!isfinite(gram[i]))
      return rf_fail(err, RF_ERR_ARG, "damping coefficient %lld is %g; all must be finite",
                     (long long)i, gram[i]);
  // the diagonal consists of squared strains
  for (int64_t p = 0; p < pairs_of(r); ++p)
    if (!(gram[p * (p + 3) / 2] >= 0.0))
      return rf_fail(err, RF_ERR_ARG, "damping coefficient %lld is %g; it would add energy",
                     (long long)(p * (p + 3) / 2), gram[p * (p + 3) / 2]);
  RF_ALLOC(d, 1);
  d->r = r;
  d->simd = rf_simd_resolve(simd);
  d->count = count;
  RF_ALLOC(d->gram, count);
  memcpy(d->gram, gram, (size_t)count * sizeof *gram);

  const int32_t pairs = (r + 1) * (r + 2) / 2, width = rf_simd_width(d->simd);
  const int64_t tiles = rf_pairs_padded(r + 1, width) / width;
  d->stream_count = tiles * (tiles + 1) / 2 * width * width;
  RF_ALLOC(d->stream, d->stream_count);
  RF_ALLOC(first, pairs);
  RF_ALLOC(second, pairs);
  int32_t at = 0;
  for (int32_t a = 0; a <= r; ++a)
    for (int32_t b = a; b <= r; ++b, ++at) first[at] = a, second[at] = b;
  pack(d, first, second, width);
  *out = d;
  d = NULL;
done:
  rf_free(first);
  rf_free(second);
  rf_damping_free(d);
  return st;
}

rf_status rf_damping_truncate(const rf_damping *d, int32_t r_new, rf_damping **out, rf_error *err) {
  rf_status st = RF_OK;
  double *kept = NULL;
  *out = NULL;
  if (!(r_new >= 1 && r_new <= d->r))
    return rf_fail(err, RF_ERR_ARG, "r must be between 1 and %d, got %d", d->r, r_new);
  RF_ALLOC(kept, rf_damping_count(r_new));
  // the remaining pairs keep their order
  int64_t at = 0;
  for (int32_t a = 0; a <= r_new; ++a)
    for (int32_t b = a ? a : 1; b <= r_new; ++b) {
      const int64_t p = place(d->r, a, b);
      for (int32_t i = 0; i <= a; ++i)
        for (int32_t j = i ? i : 1; j <= (i < a ? r_new : b); ++j)
          kept[at++] = entry(d, p, place(d->r, i, j));
    }
  RF_TRY(rf_damping_create(r_new, kept, d->simd, out, err));
done:
  rf_free(kept);
  return st;
}

void rf_damping_free(rf_damping *d) {
  if (!d) return;
  rf_free(d->gram);
  rf_free(d->stream);
  rf_free(d);
}
