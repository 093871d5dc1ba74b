// Capabilities of the machine, measured in the same run as the project's timings:
// OpenBLAS dsymv and dsyrk, bandwidth of reading a working set, peak of fused
// multiply-adds, clock, plain trilinear interpolation; CHOLMOD's numeric factorization.  Built and
// called by yardsticks.py; part of no package.
#define _GNU_SOURCE
#include <cholmod.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

void dsymv_(const char *, const int *, const double *, const double *, const int *, const double *,
            const int *, const double *, double *, const int *);
void dsyrk_(const char *, const char *, const int *, const int *, const double *, const double *,
            const int *, const double *, double *, const int *);

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double *filled(size_t count) {
  double *x = aligned_alloc(64, (count * sizeof *x + 63) / 64 * 64);
  for (size_t i = 0; i < count; ++i) x[i] = 1e-3 * (double)(i % 7);
  return x;
}

// seconds per call of each of `runs` batches
void yardstick_dsymv(int m, int runs, int inner, double *seconds) {
  const double one = 1.0, zero = 0.0;
  const int step = 1;
  double *a = filled((size_t)m * (size_t)m), *x = filled((size_t)m), *y = filled((size_t)m);
  for (int r = 0; r < runs; ++r) {
    const double start = now();
    for (int i = 0; i < inner; ++i) dsymv_("L", &m, &one, a, &m, x, &step, &zero, y, &step);
    seconds[r] = (now() - start) / inner;
  }
  free(a);
  free(x);
  free(y);
}

// seconds of C += A A^T with A of m rows and k columns
void yardstick_dsyrk(int m, int k, int runs, double *seconds) {
  const double one = 1.0;
  double *a = filled((size_t)m * (size_t)k), *c = filled((size_t)m * (size_t)m);
  for (int r = 0; r < runs; ++r) {
    const double start = now();
    dsyrk_("L", "N", &m, &k, &one, a, &m, &one, c, &m);
    seconds[r] = now() - start;
  }
  free(a);
  free(c);
}

typedef double v4 __attribute__((vector_size(32)));

// bytes per second of summing `bytes` of memory again and again
void yardstick_read(int64_t bytes, int runs, double *rate) {
  const int64_t n = bytes / 256 * 8;
  v4 *x = (v4 *)filled((size_t)n * 4);
  volatile double sink;
  for (int r = 0; r < runs; ++r) {
    int repeat = (int)(20000000 / (n * 32)) + 1;
    const double start = now();
    v4 s[8] = {{0}};
    for (int k = 0; k < repeat; ++k) {
      for (int64_t i = 0; i < n; i += 8)
        for (int j = 0; j < 8; ++j) s[j] += x[i + j];
      __asm__ volatile("" ::: "memory");
    }
    rate[r] = (double)repeat * (double)n * 32.0 / (now() - start);
    sink = s[0][0] + s[1][1] + s[2][2] + s[3][3] + s[4][0] + s[5][0] + s[6][0] + s[7][0];
  }
  (void)sink;
  free(x);
}

typedef double vn __attribute__((vector_size(RF_YARDSTICK_WIDTH * 8)));

// floating-point operations per second of independent fused multiply-adds in registers
void yardstick_peak(int runs, double *rate) {
  volatile double sink;
  for (int r = 0; r < runs; ++r) {
    vn s[10], a = {0}, b = {0};
    for (int j = 0; j < 10; ++j) s[j] = a + (double)j;
    a += 0.999999;
    b += 1e-6;
    const int64_t n = 200000;
    const double start = now();
    for (int64_t i = 0; i < n; ++i) {
      for (int j = 0; j < 10; ++j) s[j] = s[j] * a + b;
      __asm__ volatile("" : "+x"(a));
    }
    rate[r] = (double)n * 10.0 * RF_YARDSTICK_WIDTH * 2.0 / (now() - start);
    double sum = 0.0;
    for (int j = 0; j < 10; ++j) sum += s[j][0];
    sink = sum;
  }
  (void)sink;
}

// Seconds of 8 * eights dependent additions: cycles, on every processor with one-cycle adds.  Of a
// register, because some processors add several constants in one cycle.
void yardstick_adds(int eights, int runs, double *seconds) {
  for (int r = 0; r < runs; ++r) {
    uint64_t x = 1, step = 3;
    const double start = now();
    // eight at a time: a loop of one instruction takes two cycles on some processors
    for (int i = 0; i < eights; ++i)
      __asm__ volatile(
          "add %1, %0\n add %1, %0\n add %1, %0\n add %1, %0\n"
          "add %1, %0\n add %1, %0\n add %1, %0\n add %1, %0\n"
          : "+r"(x)
          : "r"(step));
    seconds[r] = now() - start;
  }
}

// a sample of a cube of side^3 at a place of the unit cube, as one writes it down
static __attribute__((noinline)) double trilinear(int side, const float *values, const double *p) {
  const double last = side - 1;
  int cell[3];
  double into[3], sum = 0.0;
  for (int c = 0; c < 3; ++c) {
    const double t = p[c] * last;
    if (!(t >= 0.0 && t <= last)) return 1e30;
    cell[c] = (int)t < side - 2 ? (int)t : side - 2;
    into[c] = t - cell[c];
  }
  const float *v = values + ((int64_t)cell[0] * side + cell[1]) * side + cell[2];
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j)
      for (int k = 0; k < 2; ++k)
        sum += (i ? into[0] : 1.0 - into[0]) * (j ? into[1] : 1.0 - into[1]) *
               (k ? into[2] : 1.0 - into[2]) * (double)v[((int64_t)i * side + j) * side + k];
  return sum;
}

// seconds of `count` of them, (count, 3) places, again and again
void yardstick_trilinear(int side, const float *values, int count, const double *places, int runs,
                         double *seconds) {
  volatile double sink;
  for (int r = 0; r < runs; ++r) {
    const double start = now();
    double sum = 0.0;
    for (int i = 0; i < count; ++i) sum += trilinear(side, values, places + 3 * (int64_t)i);
    seconds[r] = now() - start;
    sink = sum;
  }
  (void)sink;
}

// seconds of adding `count` 3x3 blocks, one by one, to those that they belong to
void yardstick_blocks(int count, const int *entry, int entries, int runs, double *seconds) {
  double *block = filled(9 * (size_t)count), *sum = filled(9 * (size_t)entries);
  for (int r = 0; r < runs; ++r) {
    const double start = now();
    for (int k = 0; k < count; ++k)
      for (int i = 0; i < 9; ++i) sum[9 * (size_t)entry[k] + i] += block[9 * (size_t)k + i];
    seconds[r] = now() - start;
  }
  free(block);
  free(sum);
}

// Seconds of a supernodal factorization by CHOLMOD, and of a solve for so many columns, after the
// analysis, which orders by METIS.  0: CHOLMOD failed.
int yardstick_cholmod(int n, int *colptr, int *rowind, double *values, int columns,
                      double *seconds) {
  cholmod_common c;
  cholmod_start(&c);
  c.supernodal = CHOLMOD_SUPERNODAL;
  c.nmethods = 1;
  c.method[0].ordering = CHOLMOD_METIS;
  cholmod_sparse a = {.nrow = (size_t)n, .ncol = (size_t)n, .nzmax = (size_t)colptr[n]};
  a.p = colptr;
  a.i = rowind;
  a.x = values;
  a.stype = -1;
  a.itype = CHOLMOD_INT;
  a.xtype = CHOLMOD_REAL;
  a.dtype = CHOLMOD_DOUBLE;
  a.sorted = a.packed = 1;
  cholmod_factor *factor = cholmod_analyze(&a, &c);
  const double start = now();
  int good = factor && cholmod_factorize(&a, factor, &c);
  seconds[0] = now() - start;
  cholmod_dense *b = cholmod_ones((size_t)n, (size_t)columns, CHOLMOD_REAL, &c);
  const double middle = now();
  cholmod_dense *x = good && b ? cholmod_solve(CHOLMOD_A, factor, b, &c) : NULL;
  seconds[1] = now() - middle;
  good = x != NULL;
  cholmod_free_dense(&x, &c);
  cholmod_free_dense(&b, &c);
  cholmod_free_factor(&factor, &c);
  cholmod_finish(&c);
  return good;
}
