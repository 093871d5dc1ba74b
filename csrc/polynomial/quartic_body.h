// Body of the quartic kernels; see quartic_rt.h for the streams and polynomial.h
// for the method.  Needs RF_WIDTH and RF_NAME (linalg/simd.h).
#include "linalg/simd_body.h"
#include "polynomial/quartic_rt.h"

RF_INLINE void clear(double *x, int32_t count) {
  for (int32_t c = 0; c < count; c += RF_WIDTH) rf_store(x + c, (rf_v){0});
}

// Destination of the sums of a rectangle.  For a wide one `row` stands for i and `vec` for l, for a
// tall one the reverse; the sums along the vectors, and the row sums, are scaled and added to two
// rows of h (or to r).
typedef struct rectangle {
  int32_t rows;
  double q_j, q_k;
  const double *q_vec, *q_row;  // coordinates along the vectors and along the rows
  double *h;                    // entry of h for the first row and vector
  double *h_j_vec, *h_k_vec;    // rows j and k of h (or r, twice) at the first vector
  double *h_j_row, *h_k_row;    // the same at the first row
  double *h_jk;                 // h_jk; unused without hessian
} rectangle;

// Processes one strip of nv vectors (a constant after inlining) over all rows.
RF_INLINE const double *strip(const int nv, const int hessian, const int first, const double *t,
                              const rectangle *a, int32_t at, int32_t ldh, double *dots) {
  const rf_v p = rf_splat(a->q_j * a->q_k);
  const double *q_vec = a->q_vec + at;
  double *h = a->h + at;
  rf_v z[RF_QUARTIC_STRIP];
  for (int v = 0; v < nv; ++v) z[v] = (rf_v){0};
  for (int32_t row = 0; row < a->rows; ++row) {
    const rf_v q_row = rf_splat(a->q_row[row]);
    rf_v dot = first ? (rf_v){0} : rf_load(dots + row * RF_WIDTH);
    for (int v = 0; v < nv; ++v) {
      const rf_v tv = rf_load_once(t + v * RF_WIDTH);
      dot += tv * rf_load(q_vec + v * RF_WIDTH);
      z[v] += tv * q_row;
      if (hessian) rf_store(h + v * RF_WIDTH, rf_load(h + v * RF_WIDTH) + tv * p);
    }
    rf_store(dots + row * RF_WIDTH, dot);
    t += nv * RF_WIDTH;
    h += ldh;
  }
  const rf_v to_j = hessian ? rf_splat(a->q_k) : p, to_k = rf_splat(a->q_j);
  for (int v = 0; v < nv; ++v) {
    double *h_j = a->h_j_vec + at + v * RF_WIDTH, *h_k = a->h_k_vec + at + v * RF_WIDTH;
    rf_store(h_j, rf_load(h_j) + to_j * z[v]);
    if (hessian) rf_store(h_k, rf_load(h_k) + to_k * z[v]);
  }
  return t;
}

// Adds the row sums of the rectangle to their destination.
RF_INLINE void spread(const int hessian, const rectangle *a, double *dots, double *r_j,
                      double *r_k) {
  const rf_v4 to_j = (hessian ? a->q_k : a->q_j * a->q_k) - (rf_v4){0};
  const rf_v4 to_k = a->q_j - (rf_v4){0};
  rf_v4 total = {0};
  for (int32_t row = 0; row < a->rows; row += 4) {
    const double *d = dots + row * RF_WIDTH;
    const rf_v4 sums =
        rf_sums4(rf_fold4(rf_load(d)), rf_fold4(rf_load(d + RF_WIDTH)),
                 rf_fold4(rf_load(d + 2 * RF_WIDTH)), rf_fold4(rf_load(d + 3 * RF_WIDTH)));
    rf_store4(a->h_j_row + row, rf_load4(a->h_j_row + row) + to_j * sums);
    if (hessian) rf_store4(a->h_k_row + row, rf_load4(a->h_k_row + row) + to_k * sums);
    total += sums * rf_load4(a->q_row + row);
  }
  const double sum = (total[0] + total[1]) + (total[2] + total[3]);
  if (hessian) {
    *a->h_jk += sum;
  } else {
    *r_j += a->q_k * sum;
    *r_k += a->q_j * sum;
  }
}

// Processes one rectangle of `vectors` vectors per row.
RF_INLINE const double *visit(const int hessian, int32_t vectors, const double *t,
                              const rectangle *a, rf_quartic_work *work, int32_t j, int32_t k) {
  double *dots = work->dots;
  // padding to a multiple of four rows is zero
  const int32_t end = a->rows * RF_WIDTH;
  for (int i = 0; i < 3; ++i) rf_store(dots + end + i * RF_WIDTH, (rf_v){0});
  int32_t at = 0;
  int first = 1;
  for (; vectors > RF_QUARTIC_STRIP; vectors -= RF_QUARTIC_STRIP) {
    t = strip(RF_QUARTIC_STRIP, hessian, first, t, a, at, work->ldh, dots);
    at += RF_QUARTIC_STRIP * RF_WIDTH;
    first = 0;
  }
#define STRIP(nv)                                           \
  case nv:                                                  \
    if (first)                                              \
      t = strip(nv, hessian, 1, t, a, at, work->ldh, dots); \
    else                                                    \
      t = strip(nv, hessian, 0, t, a, at, work->ldh, dots); \
    break
  switch (vectors) {
    STRIP(1);
    STRIP(2);
    STRIP(3);
    STRIP(4);
    STRIP(5);
    STRIP(6);
    STRIP(7);
    default: STRIP(8);
  }
#undef STRIP
  spread(hessian, a, dots, work->r + j, work->r + k);
  return t;
}

RF_INLINE void accumulate(const int hessian, int32_t n, const double *t, rf_quartic_work *work) {
  const double *q = work->q;
  double *h = work->h;
  const int32_t ldh = work->ldh;

  // Wide rectangles: rows i = 0 .. j, vectors along l from the whole vector that contains k.  In
  // the inner loop the number of rows is constant, and for whole vectors of k the number of vectors
  // too: repeated branches are predicted.
  for (int32_t j = 0; 2 * j < n; ++j) {
    double *h_j = hessian ? h + j * ldh : work->r;
    for (int32_t k = j; k < n - j; ++k) {
      const int32_t begin = rf_quartic_wide_begin(k, RF_WIDTH);
      const int32_t vectors = (rf_quartic_padded(n, RF_WIDTH) - begin) / RF_WIDTH;
      double *h_k = hessian ? h + k * ldh : work->r;
      const rectangle a = {j + 1,       q[j],        q[k], q + begin, q,      h + begin,
                           h_j + begin, h_k + begin, h_j,  h_k,       h_j + k};
      t = visit(hessian, vectors, t, &a, work, j, k);
    }
  }
  // tall rectangles: rows l = k .. n-1, vectors along i from 0
  for (int32_t k = n / 2; k < n; ++k) {
    double *h_k = hessian ? h + k * ldh : work->r;
    for (int32_t j = n - k; j <= k; ++j) {
      const int32_t vectors = rf_quartic_padded(j + 1, RF_WIDTH) / RF_WIDTH;
      double *h_j = hessian ? h + j * ldh : work->r;
      const rectangle a = {n - k, q[j], q[k],    q,       q + k,  h + k * ldh,
                           h_j,   h_k,  h_j + k, h_k + k, h_j + k};
      t = visit(hessian, vectors, t, &a, work, j, k);
    }
  }
}

void RF_NAME(rf_quartic)(int32_t n, const double *stream, rf_quartic_work *work, int hessian) {
  if (hessian) {
    clear(work->h, rf_quartic_padded(n, 4) * work->ldh);
    accumulate(1, n, stream, work);
  } else {
    clear(work->r, work->ldh);
    accumulate(0, n, stream, work);
  }
}

// Computes y = B x for the symmetric matrix over index pairs, B in square tiles as wide as a
// vector; only the tiles on and right of the diagonal are stored; each serves its rows and its
// columns.
void RF_NAME(rf_pairs)(int32_t m, const double *stream, const double *x, double *y) {
  clear(y, m);
  const double *t = stream;
  for (int32_t first = 0; first < m; first += RF_WIDTH) {
    rf_v sum[RF_WIDTH], factor[RF_WIDTH];
    // the diagonal tile is complete and serves its rows only
    const rf_v x_first = rf_load_once(x + first);
    for (int i = 0; i < RF_WIDTH; ++i) {
      factor[i] = rf_splat(x[first + i]);
      sum[i] = rf_load(t + i * RF_WIDTH) * x_first;
    }
    t += RF_WIDTH * RF_WIDTH;
    for (int32_t c = first + RF_WIDTH; c < m; c += RF_WIDTH, t += RF_WIDTH * RF_WIDTH) {
      const rf_v xv = rf_load_once(x + c);
      rf_v even = rf_load(y + c), odd = {0};
      for (int i = 0; i < RF_WIDTH; i += 2) {
        const rf_v t0 = rf_load_once(t + i * RF_WIDTH), t1 = rf_load_once(t + (i + 1) * RF_WIDTH);
        sum[i] += t0 * xv;
        sum[i + 1] += t1 * xv;
        even += t0 * factor[i];
        odd += t1 * factor[i + 1];
      }
      rf_store(y + c, even + odd);
    }
    for (int i = 0; i < RF_WIDTH; i += 4) {
      const rf_v4 sums = rf_sums4(rf_fold4(sum[i]), rf_fold4(sum[i + 1]), rf_fold4(sum[i + 2]),
                                  rf_fold4(sum[i + 3]));
      rf_store4(y + first + i, rf_load4(y + first + i) + sums);
    }
  }
}

// Replaces h by h + h^T, 4 x 4 blocks at a time.
RF_INLINE void symmetrise(int32_t n, double *h, int32_t ldh) {
  for (int32_t a = 0; a < n; a += 4) {
    for (int32_t b = a; b < n; b += 4) {
      rf_v4 x[4], y[4];
      for (int i = 0; i < 4; ++i) x[i] = rf_load4(h + (a + i) * ldh + b);
      for (int i = 0; i < 4; ++i) y[i] = rf_load4(h + (b + i) * ldh + a);
      rf_transpose4(y);
      for (int i = 0; i < 4; ++i) x[i] += y[i];
      for (int i = 0; i < 4; ++i) rf_store4(h + (a + i) * ldh + b, x[i]);
      rf_transpose4(x);
      for (int i = 0; i < 4; ++i) rf_store4(h + (b + i) * ldh + a, x[i]);
    }
  }
}

void RF_NAME(rf_quartic_finish)(int32_t n, rf_quartic_work *work, int symmetric, double *out,
                                int32_t ld) {
  const double *h = work->h;
  const int32_t ldh = work->ldh;
  if (!symmetric) symmetrise(n, work->h, ldh);
  // rows beyond n, up to a multiple of four, give unused numbers
  for (int32_t a = 0; a < n; a += 4) {
    rf_v sum[4] = {{0}, {0}, {0}, {0}};
    for (int32_t c = 0; c < n; c += RF_WIDTH)
      for (int i = 0; i < 4; ++i) sum[i] += rf_load(h + (a + i) * ldh + c) * rf_load(work->q + c);
    rf_store4(work->r + a,
              rf_sums4(rf_fold4(sum[0]), rf_fold4(sum[1]), rf_fold4(sum[2]), rf_fold4(sum[3])) *
                  (1.0 / 3.0));
  }
  if (!out) return;
  // whole vectors: the excess beyond a row's end is overwritten by the next row
  for (int32_t a = 1; a < n - 1; ++a)
    for (int32_t c = 0; c < n - 1; c += 4)
      rf_store4(out + (a - 1) * ld + c, rf_load4(h + a * ldh + 1 + c));
  for (int32_t c = 0; c < n - 1; ++c) out[(n - 2) * ld + c] = h[(n - 1) * ldh + 1 + c];
}
