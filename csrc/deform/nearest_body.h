// Body of the variants of nearest.h.  Needs RF_WIDTH 4.
#include <math.h>

#include "deform/field.h"
#include "deform/nearest.h"
#include "linalg/simd_body.h"

enum { LANES = RF_DEFORMED_BLOCK, MAX_DEPTH = RF_DEFORMED_SEARCH_K / 4 };

RF_INLINE rf_v4 chosen(rf_m4 mask, rf_v4 v) { return (rf_v4)(mask & (rf_m4)v); }
RF_INLINE double largest(rf_v4 v) {
  const double a = v[0] > v[1] ? v[0] : v[1], b = v[2] > v[3] ? v[2] : v[3];
  return a > b ? a : b;
}
RF_INLINE double smallest(rf_v4 v) {
  const double a = v[0] < v[1] ? v[0] : v[1], b = v[2] < v[3] ? v[2] : v[3];
  return a < b ? a : b;
}

// Squares of distances below this count as zero.  Above denormal numbers, which threads may flush
// to zero with the bits that hold the number of a proxy.
#define AT_PROXY 1e-280

// Squares of distances; a large number for those that overflow or are NaN.
RF_INLINE rf_v4 square_of(rf_v4 a, rf_v4 b, rf_v4 c) {
  return rf_least4(a * a + b * b + c * c + rf_splat(0.5 * AT_PROXY), rf_splat(1e300));
}

// Inserts a number into sorted ones and drops the largest.
RF_INLINE void insert(rf_v4 one, int32_t depth, rf_v4 *sorted) {
  for (int32_t i = 0; i < depth; ++i) {
    const rf_v4 less = rf_least4(sorted[i], one);
    one = rf_most4(sorted[i], one);
    sorted[i] = less;
  }
}

// Finds the proxies that can be among the k nearest of any place of the block: with all places
// within R of some centre, and its k-th nearest proxy at D, those up to D + 2 R from the centre.
RF_INLINE int32_t find_candidates(const rf_deformed_block *b, int32_t depth, int32_t *list) {
  double square[RF_DEFORMED_SEARCH_PROXIES];
  double centre[3];
  const int32_t n = b->n <= 4 ? 4 : b->n <= 8 ? 8 : LANES;
  for (int c = 0; c < 3; ++c) {
    rf_v4 sum = rf_load4(b->x[c]);
    for (int32_t j = 4; j < n; j += 4) sum += rf_load4(b->x[c] + j);
    centre[c] = b->n == 1 ? b->x[c][0] : (sum[0] + sum[1] + sum[2] + sum[3]) / n;
  }
  const rf_v4 x = rf_splat(centre[0]), y = rf_splat(centre[1]), z = rf_splat(centre[2]);
  rf_v4 wide = rf_splat(0.0);
  for (int32_t j = 0; j < n; j += 4)
    wide = rf_most4(wide, square_of(rf_load4(b->x[0] + j) - x, rf_load4(b->x[1] + j) - y,
                                    rf_load4(b->x[2] + j) - z));

  // the smallest of each lane: the k-th of them bounds the k-th of all from above
  rf_v4 near[MAX_DEPTH];
  for (int32_t i = 0; i < depth; ++i) near[i] = rf_splat(1e301);
  const double *px = b->proxy, *py = px + b->stride, *pz = py + b->stride;
  for (int32_t i = 0; i < b->n_proxies; i += 4) {
    const rf_v4 one = square_of(rf_load4(px + i) - x, rf_load4(py + i) - y, rf_load4(pz + i) - z);
    rf_store4(square + i, one);
    insert(one, depth, near);
  }
  rf_v4 bound = rf_splat(1e301);
  for (int32_t i = 0; i < depth; ++i) {
    rf_m4 rank = {0};
    for (int32_t j = 0; j < depth; ++j)
      for (int lane = 0; lane < 4; ++lane) rank -= (rf_m4)(near[i] >= rf_splat(near[j][lane]));
    const rf_m4 enough = (rf_m4)(rank >= (int64_t)b->k);
    bound =
        rf_least4(bound, (rf_v4)((enough & (rf_m4)near[i]) | (~enough & (rf_m4)rf_splat(1e301))));
  }
  const double reach = sqrt(smallest(bound)) + 2.0 * sqrt(largest(wide));
  // exceeds rounding and the bits that keys lose
  const double limit = reach * reach * (1.0 + 1e-11);
  int32_t count = 0;
  for (int32_t i = 0; i < b->n_proxies; ++i) {
    list[count] = i;
    count += !(square[i] > limit);
  }
  return count;
}

RF_INLINE void search(rf_deformed_block *b, int32_t k, int32_t count, const int32_t *list) {
  int64_t low = 0;
  while (low + 1 < b->n_proxies) low = 2 * low + 1;
  const double *px = b->proxy, *py = px + b->stride, *pz = py + b->stride;
  for (int32_t at = 0; at < b->n; at += 4) {
    const rf_v4 x = rf_load4(b->x[0] + at), y = rf_load4(b->x[1] + at), z = rf_load4(b->x[2] + at);
    rf_v4 near[RF_DEFORMED_SEARCH_K];
    for (int32_t i = 0; i < k; ++i) near[i] = rf_splat(1.7e308);
    for (int32_t j = 0; j < count; ++j) {
      const int32_t i = list[j];
      const rf_v4 square = square_of(x - rf_splat(px[i]), y - rf_splat(py[i]), z - rf_splat(pz[i]));
      // the last bits hold the number of the proxy, so all keys differ
      insert((rf_v4)(((rf_m4)square & ~low) | (int64_t)i), k, near);
    }
    for (int32_t i = 0; i < k; ++i) {
      const rf_m4 number = (rf_m4)near[i] & low;
      rf_store4(b->square[i] + at, (rf_v4)((rf_m4)near[i] & ~low));
      memcpy(b->number[i] + at, &number, sizeof number);
    }
  }
}

// Weights where (3.16) is undefined.
static void weigh_other(rf_deformed_block *b, int32_t at) {
  const bool here = b->square[0][at] < AT_PROXY && b->square[b->k - 1][at] >= AT_PROXY;
  int32_t alone = here ? 0 : b->k;
  while (here && b->square[alone][at] < AT_PROXY) ++alone;
  for (int32_t i = 0; i < b->k; ++i) b->weight[i][at] = i < alone ? 1.0 / alone : 0.0;
  b->total[at] = 0.0;
  if (alone > b->rows) b->rows = alone;
}

RF_INLINE void weigh(rf_deformed_block *b, int32_t k) {
  const int32_t last = k - 1;
  b->rows = last > 1 ? last : 1;
  for (int32_t at = 0; at < b->n; at += 4) {
    const rf_v4 first = rf_load4(b->square[0] + at);
    const rf_v4 end = rf_root4(first / rf_load4(b->square[last] + at));
    rf_v4 total = rf_splat(0.0);
    for (int32_t i = 0; i < last; ++i) {
      const rf_v4 share = i == 0 ? rf_splat(1.0) : rf_root4(first / rf_load4(b->square[i] + at));
      rf_store4(b->share[i] + at, share);
      total += share - end;
    }
    rf_store4(b->share[last] + at, end);
    // proxies may be equally far, exactly or within rounding
    const rf_m4 good = (rf_m4)(first >= AT_PROXY) & (rf_m4)(total > 0.0);
    rf_store4(b->total + at, chosen(good, total));
    const rf_v4 scale = rf_splat(1.0) / total;
    for (int32_t i = 0; i < last; ++i)
      rf_store4(b->weight[i] + at, (rf_load4(b->share[i] + at) - end) * scale);
    rf_store4(b->weight[last] + at, rf_splat(0.0));
    if (good[0] & good[1] & good[2] & good[3]) continue;
    for (int32_t j = 0; j < 4; ++j)
      if (!good[j]) weigh_other(b, at + j);
  }
}

void RF_NAME(rf_deformed_nearest)(rf_deformed_block *b) {
  int32_t list[RF_DEFORMED_SEARCH_PROXIES + 1];
  // the usual k as a constant, for unrolled loops
  if (b->k == 5) {
    search(b, 5, find_candidates(b, 2, list), list);
    weigh(b, 5);
    return;
  }
  search(b, b->k, find_candidates(b, (b->k + 3) / 4, list), list);
  weigh(b, b->k);
}

void RF_NAME(rf_deformed_pull)(const rf_deformed_block *b, int32_t rows, const double *maps,
                               double *rest) {
  // a store of four numbers reaches into the next place, which is written after it
  for (int32_t i = 0; i < rows; ++i)
    for (int32_t j = 0; j < b->n; ++j, rest += 3) {
      const double *map = maps + 16 * b->number[i][j];
      rf_store4(rest, rf_load4(map) * rf_splat(b->x[0][j]) +
                          rf_load4(map + 4) * rf_splat(b->x[1][j]) +
                          rf_load4(map + 8) * rf_splat(b->x[2][j]) + rf_load4(map + 12));
    }
}

RF_INLINE rf_v4 three(const double *p, int32_t stride) {
  return (rf_v4){p[0], p[stride], p[2 * stride], 0.0};
}

// x, y and z of one place are one vector
void RF_NAME(rf_deformed_slopes)(const rf_deformed_block *b, const double *maps,
                                 const double *at_rest, const double *slope, const double *distance,
                                 double *gradient) {
  const int32_t last = b->k - 1;
  for (int32_t j = 0; j < b->n; ++j) {
    const rf_v4 x = three(b->x[0] + j, LANES);
    const double first = at_rest[j], middle = distance[j] - first;
    // only the nearest counts if squares overflow
    const int32_t rows = first < INFINITY ? b->rows : 1;
    const bool varied = b->total[j] > 0.0 && first < INFINITY;
    rf_v4 base = rf_splat(0.0), change = rf_splat(0.0), turn = rf_splat(0.0);
    double more = 0.0;
    for (int32_t i = 0; i < rows; ++i) {
      const double w = b->weight[i][j];
      // the last row has in general neither a weight nor a gradient of one
      if (i > 0 && i == last && w == 0.0) break;
      const int64_t number = b->number[i][j];
      const double *map = maps + 16 * number;
      const rf_v4 s = three(slope + 3 * (i * b->n + j), 1);
      const rf_v4 g =
          rf_sums4(rf_load4(map) * s, rf_load4(map + 4) * s, rf_load4(map + 8) * s, rf_splat(0.0));
      if (i == 0)
        base = g;
      else
        change += rf_splat(w) * (g - base);
      if (!varied) continue;
      const double above = (at_rest[i * b->n + j] - first) - middle;
      more += above;
      const double factor = above * b->share[i][j] / b->square[i][j];
      turn -= rf_splat(factor) * (x - three(b->proxy + number, b->stride));
    }
    rf_v4 all = base + change;
    if (varied) {
      const double factor = more * b->share[last][j] / b->square[last][j];
      turn += rf_splat(factor) * (x - three(b->proxy + b->number[last][j], b->stride));
      all += rf_splat(1.0 / b->total[j]) * turn;
    }
    memcpy(gradient + 3 * j, &all, 3 * sizeof *gradient);
  }
}

// p and F of n proxies, the last one repeated.
RF_INLINE void move_four(int32_t n, int32_t r, const double *modes, const double *rest,
                         const double *q, rf_v4 moved[12]) {
  for (int32_t p = 0; p < 4; ++p) {
    const int32_t from = p < n ? p : n - 1;
    const double *row = modes + 12 * (int64_t)from * r;
    rf_v4 a = {0.0, 0.0, 0.0, 1.0}, b = a, c = a;
    for (int32_t j = 0; j < r; ++j, row += 12) {
      const rf_v4 by = rf_splat(q[j]);
      a += rf_load4(row) * by;
      b += rf_load4(row + 4) * by;
      c += rf_load4(row + 8) * by;
    }
    for (int i = 0; i < 3; ++i) a[i] += rest[3 * from + i];
    moved[p] = a;
    moved[4 + p] = b;
    moved[8 + p] = c;
  }
  for (int part = 0; part < 12; part += 4) rf_transpose4(moved + part);
}

RF_INLINE rf_v4 dot_four(const rf_v4 *a, const rf_v4 *b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

// Rows of the inverse transposed, times the determinant, which is returned.
RF_INLINE rf_v4 cofactors(const rf_v4 f[9], rf_v4 out[9]) {
  for (int i = 0; i < 3; ++i) {
    const rf_v4 *a = f + 3 * ((i + 1) % 3), *b = f + 3 * ((i + 2) % 3);
    for (int j = 0; j < 3; ++j) {
      const int k = (j + 1) % 3, l = (j + 2) % 3;
      out[3 * i + j] = a[k] * b[l] - a[l] * b[k];
    }
  }
  return dot_four(f, out);
}

void RF_NAME(rf_deformed_move)(int32_t n, int32_t r, const double *modes, const double *rest,
                               const double *q, rf_deformed_four *out) {
  const rf_v4 least = rf_splat(1e-10);
  rf_v4 moved[12], inverse[9], square = {0}, size = {0}, offset[4] = {{0}};
  rf_m4 finite = {-1, -1, -1, -1};
  move_four(n, r, modes, rest, q, moved);
  for (int c = 0; c < 12; ++c) {
    finite &= (rf_m4)(rf_abs(moved[c]) < rf_splat(1e100));
    rf_store4(out->moved[c], moved[c]);
  }
  out->finite = rf_all4(finite);
  const rf_v4 *f = moved + 3, det = cofactors(f, inverse);
  const rf_v4 scale = chosen((rf_m4)(det != rf_splat(0.0)), rf_splat(1.0) / det);
  for (int k = 0; k < 9; ++k) {
    inverse[k] *= scale;
    square += inverse[k] * inverse[k];
    size += f[k] * f[k];
  }
  // The root of `square` bounds the singular values of the inverse.  A determinant within rounding
  // of zero makes the inverse worthless.
  const rf_v4 most = rf_splat(1.0 / (RF_DEFORMED_FLATTEST * RF_DEFORMED_FLATTEST));
  const rf_m4 good = (rf_m4)(det > rf_splat(0.0)) & (rf_m4)(square <= most) &
                     (rf_m4)(det > least * size * rf_root4(size));
  for (int p = 0; p < 4; ++p) out->flat[p] = !good[p];
  for (int c = 0; c < 3; ++c) {
    const rf_v4 row[3] = {inverse[c], inverse[3 + c], inverse[6 + c]};
    rf_v4 at_rest = {0};
    for (int p = 0; p < 4; ++p) at_rest[p] = rest[3 * (p < n ? p : n - 1) + c];
    offset[c] = at_rest - dot_four(row, moved);
  }
  for (int b = 0; b < 4; ++b) {
    rf_v4 column[4] = {{0}};
    for (int c = 0; c < 3; ++c) column[c] = b < 3 ? inverse[3 * b + c] : offset[c];
    rf_transpose4(column);
    for (int p = 0; p < 4; ++p) rf_store4(out->map[p] + 4 * b, column[p]);
  }
}

void RF_NAME(rf_deformed_push)(int32_t r, const double *rows, const double moments[12],
                               double *out) {
  const rf_v4 a = rf_load4(moments), b = rf_load4(moments + 4), c = rf_load4(moments + 8);
  for (int32_t j = 0; j < r; j += 4) {
    const int32_t count = r - j < 4 ? r - j : 4;
    rf_v4 sum[4] = {{0}};
    for (int32_t k = 0; k < count; ++k, rows += 12)
      sum[k] = rf_load4(rows) * a + rf_load4(rows + 4) * b + rf_load4(rows + 8) * c;
    const rf_v4 all = rf_sums4(sum[0], sum[1], sum[2], sum[3]);
    for (int32_t k = 0; k < count; ++k) out[j + k] += all[k];
  }
}
