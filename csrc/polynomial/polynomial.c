#include "polynomial/polynomial.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "polynomial/quartic_rt.h"

// Returns the number of multisets of `size` out of n.
static int64_t multisets(int64_t n, int size) {
  int64_t c = 1;
  for (int i = 0; i < size; ++i) c = c * (n + i) / (i + 1);
  return c;
}

int64_t rf_polynomial_count(int32_t r) { return multisets((int64_t)r + 1, 4); }

int64_t rf_polynomial_index(int32_t r, int32_t i, int32_t j, int32_t k, int32_t l) {
  // multisets that come before: first index below i, then recursively for the others
  const int64_t n = (int64_t)r + 1;
  return multisets(n, 4) - multisets(n - i, 4) + multisets(n - i, 3) - multisets(n - j, 3) +
         multisets(n - j, 2) - multisets(n - k, 2) + (l - k);
}

// Both pack functions traverse their stream in order: they store the numbers if `stream` is given,
// and only count them otherwise.  Padding stays zero.
static int64_t pack_rectangles(int32_t r, const double *t, int32_t width, double *stream) {
  const int32_t n = r + 1, strip = RF_QUARTIC_STRIP * width;
  int64_t at = 0;
  for (int tall = 0; tall < 2; ++tall) {
    for (int32_t outer = tall ? n / 2 : 0; tall ? outer < n : 2 * outer < n; ++outer) {
      const int32_t first = tall ? n - outer : outer, last = tall ? outer : n - 1 - outer;
      for (int32_t inner = first; inner <= last; ++inner) {
        const int32_t j = tall ? inner : outer, k = tall ? outer : inner;
        const int32_t rows = tall ? n - k : j + 1;
        const int32_t first_column = tall ? 0 : rf_quartic_wide_begin(k, width);
        const int32_t columns = rf_quartic_padded(tall ? j + 1 : n, width);
        for (int32_t begin = first_column; begin < columns; begin += strip) {
          const int32_t end = begin + strip < columns ? begin + strip : columns;
          for (int32_t row = 0; row < rows; ++row)
            for (int32_t c = begin; c < end; ++c, ++at) {
              const int32_t i = tall ? c : row, l = tall ? k + row : c;
              if (stream && i <= j && l >= k && l < n)
                stream[at] = t[rf_polynomial_index(r, i, j, k, l)];
            }
        }
      }
    }
  }
  return at;
}

// Returns the entry of the fully symmetric tensor: t_abcd over the number of distinct permutations
// of its indices.
static double tensor_entry(int32_t r, const double *t, const int32_t pair[2][2]) {
  int32_t s[4] = {pair[0][0], pair[0][1], pair[1][0], pair[1][1]};
  for (int i = 1; i < 4; ++i)
    for (int j = i; j > 0 && s[j] < s[j - 1]; --j) {
      const int32_t keep = s[j];
      s[j] = s[j - 1];
      s[j - 1] = keep;
    }
  int orders = 24, run = 1;
  for (int i = 1; i < 4; ++i) {
    run = s[i] == s[i - 1] ? run + 1 : 1;
    orders /= run;
  }
  return t[rf_polynomial_index(r, s[0], s[1], s[2], s[3])] / orders;
}

// Finds pair number `place`, a <= b < n, row by row; 0 beyond the last.
static int pair_at(int32_t n, int32_t place, int32_t pair[2]) {
  int32_t a = 0;
  while (a < n && place >= n - a) place -= n - a++;
  pair[0] = a;
  pair[1] = a + place;
  return a < n;
}

static int64_t pack_pairs(int32_t r, const double *t, int32_t width, double *stream) {
  const int32_t m = rf_pairs_padded(r + 1, width);
  int64_t at = 0;
  for (int32_t first = 0; first < m; first += width)
    for (int32_t step = first; step < m; step += width)
      for (int32_t i = 0; i < width; ++i)
        for (int32_t c = 0; c < width; ++c, ++at) {
          int32_t pair[2][2];
          // second derivatives of the quartic form: 4 * 3 = 12
          if (stream && pair_at(r + 1, first + i, pair[0]) && pair_at(r + 1, step + c, pair[1]))
            stream[at] = 12.0 * tensor_entry(r, t, pair);
        }
  return at;
}

// Share of the second-level cache that the matrix over pairs may fill: with more, the other data of
// a step evict parts of the matrix.
static const double CACHE_SHARE = 0.8;

static bool pairs_pay(int32_t r, rf_simd simd) {
  if (r <= RF_POLYNOMIAL_PAIRS_R) return true;
  if (r > RF_POLYNOMIAL_PAIRS_MAX_R) return false;
  const int64_t width = rf_simd_width(simd), m = rf_pairs_padded(r + 1, (int32_t)width);
  const int64_t bytes = m * (m + width) / 2 * (int64_t)sizeof(double);
  return (double)bytes <= CACHE_SHARE * (double)rf_simd_cache_bytes();
}

static int64_t pack(const rf_polynomial *p, double *stream) {
  const int32_t width = rf_simd_width(p->simd);
  return p->pairs ? pack_pairs(p->r, p->coefficient, width, stream)
                  : pack_rectangles(p->r, p->coefficient, width, stream);
}

rf_status rf_polynomial_create(int32_t r, const double *coefficient, rf_simd simd,
                               rf_polynomial **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_polynomial *p = NULL;
  *out = NULL;
  if (!(r >= 1 && r <= RF_POLYNOMIAL_MAX_R))
    return rf_fail(err, RF_ERR_ARG, "r must be between 1 and %d, got %d", RF_POLYNOMIAL_MAX_R, r);
  RF_TRY(rf_simd_check(simd, err));
  const int64_t count = rf_polynomial_count(r);
  for (int64_t i = 0; i < count; ++i)
    if (!isfinite(coefficient[i]))
      return rf_fail(err, RF_ERR_ARG, "polynomial coefficient %lld is %g; all must be finite",
                     (long long)i, coefficient[i]);

  simd = rf_simd_resolve(simd);
  RF_ALLOC(p, 1);
  p->r = r;
  p->simd = simd;
  p->pairs = pairs_pay(r, simd);
  p->count = count;
  RF_ALLOC(p->coefficient, count);
  memcpy(p->coefficient, coefficient, (size_t)count * sizeof *coefficient);
  p->stream_count = pack(p, NULL);
  RF_ALLOC(p->stream, p->stream_count);
  pack(p, p->stream);
  *out = p;
  p = NULL;
done:
  rf_polynomial_free(p);
  return st;
}

rf_status rf_polynomial_truncate(const rf_polynomial *p, int32_t r_new, rf_polynomial **out,
                                 rf_error *err) {
  rf_status st = RF_OK;
  double *kept = NULL;
  *out = NULL;
  if (!(r_new >= 1 && r_new <= p->r))
    return rf_fail(err, RF_ERR_ARG, "r must be between 1 and %d, got %d", p->r, r_new);
  RF_ALLOC(kept, rf_polynomial_count(r_new));
  int64_t at = 0;
  for (int32_t i = 0; i <= r_new; ++i)
    for (int32_t j = i; j <= r_new; ++j)
      for (int32_t k = j; k <= r_new; ++k)
        for (int32_t l = k; l <= r_new; ++l, ++at)
          kept[at] = p->coefficient[rf_polynomial_index(p->r, i, j, k, l)];
  RF_TRY(rf_polynomial_create(r_new, kept, p->simd, out, err));
done:
  rf_free(kept);
  return st;
}

// Packing is linear, so streams are summed like coefficients.
static void add_weighted(int64_t count, double weight, const double *x, double *sum) {
  for (int64_t i = 0; i < count; ++i) sum[i] += weight * x[i];
}

rf_status rf_polynomial_combine(int32_t count, rf_polynomial *const *parts, const double *weights,
                                rf_polynomial **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_polynomial *p = NULL;
  const rf_polynomial *like = NULL;
  *out = NULL;
  for (int32_t k = 0; k < count; ++k) {
    if (!isfinite(weights[k]))
      return rf_fail(err, RF_ERR_ARG, "weight %d is %g; it must be finite", k, weights[k]);
    if (!parts[k]) continue;
    if (like && (parts[k]->r != like->r || parts[k]->simd != like->simd))
      return rf_fail(err, RF_ERR_ARG, "polynomials of %d and %d coordinates do not add", like->r,
                     parts[k]->r);
    like = parts[k];
  }
  if (!like) return rf_fail(err, RF_ERR_ARG, "there is no polynomial to combine");
  RF_ALLOC(p, 1);
  p->r = like->r;
  p->simd = like->simd;
  p->pairs = like->pairs;
  p->count = like->count;
  p->stream_count = like->stream_count;
  RF_ALLOC(p->coefficient, p->count);
  RF_ALLOC(p->stream, p->stream_count);
  for (int32_t k = 0; k < count; ++k) {
    if (!parts[k] || weights[k] == 0.0) continue;
    add_weighted(p->count, weights[k], parts[k]->coefficient, p->coefficient);
    add_weighted(p->stream_count, weights[k], parts[k]->stream, p->stream);
  }
  // a sum is finite only if every term is
  double sum = 0.0;
  for (int64_t i = 0; i < p->count; ++i) sum += fabs(p->coefficient[i]);
  if (!isfinite(sum)) {
    st = rf_fail(err, RF_ERR_ARG, "the constants are so large that the coefficients overflow");
    goto done;
  }
  *out = p;
  p = NULL;
done:
  rf_polynomial_free(p);
  return st;
}

void rf_polynomial_free(rf_polynomial *p) {
  if (!p) return;
  rf_free(p->coefficient);
  rf_free(p->stream);
  rf_free(p);
}
