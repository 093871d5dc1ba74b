#include "linalg/eigen.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "linalg/blas.h"
#include "linalg/convention.h"
#include "linalg/lapack.h"
#include "linalg/tall.h"

enum {
  DENSE_LIMIT = 256,  // largest size for which the dense solver is always faster than the iteration
  DENSE_MOST = 8000,  // above this the dense solver takes gigabytes and hours
  BLOCK = 8,          // vectors that advance together
  SPARE = 18,         // vectors kept at a restart beyond the k wanted
  STEPS = 10,         // block steps between restarts
  LOOKS = 16,         // part of the space by which it grows between two sets of Ritz pairs
  GUARD = 2,          // vectors beyond the wanted ones that must have converged roughly
  VERIFY = 4,         // block steps that search for further vectors of a large repeated space
  RESTARTS = 100,     // default limit
  PATIENCE = 6,       // restarts until the space is doubled, each time
  DOUBLINGS = 3,      // limit
  OTHER_SEEDS = 1000  // offset of the seeds for new directions in an invariant space
};
static const double TOLERANCE = 1e-11;       // default, on |A x - theta x| relative to theta
static const double ROUGH_TOLERANCE = 1e-4;  // the same for the guard
static const double NEGLIGIBLE = 1e-10;      // part of a random vector that counts as rounding
static const double INVARIANT = 1e-14;  // part of A that counts as rounding: the space is invariant
static const double SAME = 1e-10;       // relative change of a repeated theta that counts as none

typedef struct search {
  const rf_eigen_problem *p;
  const rf_eigen_settings *set;
  const rf_run *run;
  rf_eigen_report *report;
  double tolerance;
  int64_t expected;         // solves, for the progress callback
  int32_t found, capacity;  // vectors in x, and room
  double *theta;            // descending               (capacity)
  double *x;                // vectors found            (capacity, n)
} search;

// Krylov space: V^T M V = 1, H = V^T M A V, A V = V H + (next block) B [last columns].
typedef struct krylov {
  int32_t n, most;   // columns allocated
  int32_t m, width;  // columns in use, and those of the last block
  double *v;         // (most, n)
  double *w, *mw;    // next block, and M times a block (BLOCK, n)
  double *h;         // (most, most)
  double *b;         // (BLOCK, BLOCK): next width x width
  int32_t next_width;
  double *ritz;      // eigenvectors of h              (most, most)
  double *theta;     // eigenvalues, descending        (most)
  double *residual;  // of the Ritz pairs              (most)
  double *c;         // coefficients                   (most, BLOCK)
  double *sums;      // scratch of rf_tall_inner
  double *slice;     // scratch of rf_tall_turn
  double *work;
  int *iwork;
  int lwork, liwork;
} krylov;

static size_t at(int32_t n, int32_t column) { return (size_t)n * (size_t)column; }

// Fills x with a fixed sequence in [-1, 1): splitmix64.
static void fill_start(uint64_t seed, size_t n, double *x) {
  uint64_t state = seed * 0x9E3779B97F4A7C15u + 0x632BE59BD9B4E019u;
  for (size_t i = 0; i < n; ++i) {
    uint64_t z = (state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    x[i] = (double)(int64_t)z * 0x1p-63;
  }
}

static rf_status report_progress(const search *s, rf_error *err) {
  const int64_t done = s->report->solves < s->expected ? s->report->solves : s->expected - 1;
  return rf_run_progress(s->run, done, s->expected, err);
}

// Applies an operator without its own progress count; only a stop passes through.
static rf_status apply(const search *s, rf_apply_fn f, int32_t count, const double *x, double *y,
                       rf_error *err) {
  rf_run_part part = {s->run, s->report->solves, s->report->solves, s->expected};
  if (part.from >= s->expected) part.from = part.to = s->expected - 1;
  const rf_run inner = rf_run_of_part(&part);
  return f(s->p->context, &inner, count, x, y, err);
}

static rf_status create_krylov(krylov *q, int32_t n, int32_t most, int threads, rf_error *err) {
  rf_status st = RF_OK;
  q->n = n;
  q->most = most;
  RF_ALLOC(q->v, at(n, most));
  RF_ALLOC(q->w, at(n, BLOCK));
  RF_ALLOC(q->mw, at(n, BLOCK));
  RF_ALLOC(q->h, at(most, most));
  RF_ALLOC(q->b, BLOCK * BLOCK);
  RF_ALLOC(q->ritz, at(most, most));
  RF_ALLOC(q->theta, most);
  RF_ALLOC(q->residual, most);
  RF_ALLOC(q->c, at(most, BLOCK));
  RF_ALLOC(q->sums, rf_tall_inner_scratch(n, most, BLOCK));
  RF_ALLOC(q->slice, rf_tall_turn_scratch(most, threads));
  const int query = -1;
  int info = 0;
  double best = 0.0;
  dsyevd_("V", "L", &most, q->ritz, &most, q->theta, &best, &query, &q->liwork, &query, &info);
  RF_TRY(rf_lapack_size("dsyevd", "vectors in the Krylov space", rf_lapack_least_dsyevd(most), info,
                        best, &q->lwork, err));
  RF_ALLOC(q->work, q->lwork);
  RF_ALLOC(q->iwork, q->liwork);
done:
  return st;
}

static void free_krylov(krylov *q) {
  rf_free(q->v);
  rf_free(q->w);
  rf_free(q->mw);
  rf_free(q->h);
  rf_free(q->b);
  rf_free(q->ritz);
  rf_free(q->theta);
  rf_free(q->residual);
  rf_free(q->c);
  rf_free(q->sums);
  rf_free(q->slice);
  rf_free(q->work);
  rf_free(q->iwork);
}

// Computes the eigenpairs of a small symmetric matrix in place, ascending.
static rf_status small_eigen(krylov *q, int m, double *a, double *value, rf_error *err) {
  int info = 0;
  dsyevd_("V", "L", &m, a, &m, value, q->work, &q->lwork, q->iwork, &q->liwork, &info);
  return info == 0 ? RF_OK
                   : rf_fail(err, RF_ERR_INTERNAL, "LAPACK dsyevd failed with code %d", info);
}

// Computes c = V^T M w (m x count) and w -= V c; mw becomes M times the old w.
static rf_status project(const search *s, krylov *q, int32_t count, rf_error *err) {
  rf_status st = apply(s, s->p->mass, count, q->w, q->mw, err);
  if (st < 0 || q->m == 0) return st;
  st = rf_tall_inner(s->run, q->n, q->m, q->v, count, q->mw, q->sums, q->c, err);
  if (st < 0) return st;
  return rf_tall_add(s->run, q->n, q->m, q->v, count, q->c, -1.0, 1.0, q->w, err);
}

// M-orthonormalises the `count` columns of w against V and each other, twice: a projection leaves
// the rounding of the part it removes.  Directions shorter than `negligible` are dropped.  The
// first pass satisfies w = (new w) B.
static rf_status orthonormalize(const search *s, krylov *q, int32_t count, double negligible,
                                rf_error *err) {
  rf_status st = RF_OK;
  double gram[BLOCK * BLOCK], length[BLOCK], turn[BLOCK * BLOCK];
  q->next_width = count;
  for (int pass = 0; pass < 2 && q->next_width > 0; ++pass) {
    const int p = q->next_width;
    st = project(s, q, p, err);
    if (st < 0) return st;
    // Gram matrix of the projected block: M times the old w serves, as the removed part is
    // M-orthogonal to w
    st = rf_tall_inner(s->run, q->n, p, q->w, p, q->mw, q->sums, gram, err);
    if (st < 0) return st;
    st = small_eigen(q, p, gram, length, err);
    if (st < 0) return st;
    const double least = pass == 0 ? negligible * negligible : 0.0;
    int dropped = 0;
    while (dropped < p && !(length[dropped] > least)) ++dropped;
    const int kept = p - dropped;
    for (int j = 0; j < kept; ++j) {
      const double root = sqrt(length[dropped + j]);
      for (int i = 0; i < p; ++i) {
        const double e = gram[(dropped + j) * p + i];
        turn[j * p + i] = e / root;
        if (pass == 0) q->b[i * kept + j] = e * root;
      }
    }
    q->next_width = kept;
    if (kept == 0) break;
    st = rf_tall_add(s->run, q->n, p, q->w, kept, turn, 1.0, 0.0, q->mw, err);
    if (st < 0) return st;
    if (pass > 0) {
      // the second transformation is nearly a rotation: B follows it, B := turn^-1 B
      const double plus = 1.0, zero = 0.0;
      double turned[BLOCK * BLOCK];
      for (int j = 0; j < kept; ++j)
        for (int i = 0; i < p; ++i) gram[j * p + i] = turn[j * p + i] * length[dropped + j];
      dgemm_("T", "N", &kept, &count, &p, &plus, gram, &p, q->b, &p, &zero, turned, &kept);
      memcpy(q->b, turned, (size_t)kept * (size_t)count * sizeof *turned);
    }
    double *swap = q->w;
    q->w = q->mw;
    q->mw = swap;
  }
  return RF_OK;
}

// Replaces the next block by random directions outside of V. They exist, as V has fewer than n
// columns; if none is found, the metric of M is not positive definite.
static rf_status fresh_block(const search *s, krylov *q, uint64_t seed, rf_error *err) {
  fill_start(seed, at(q->n, BLOCK), q->w);
  rf_status st = apply(s, s->p->mass, BLOCK, q->w, q->mw, err);
  if (st < 0) return st;
  double longest = 0.0;  // squared
  for (int32_t j = 0; j < BLOCK; ++j) {
    double square = 0.0;
    for (size_t i = at(q->n, j); i < at(q->n, j + 1); ++i) square += q->w[i] * q->mw[i];
    longest = fmax(longest, square);
  }
  st = orthonormalize(s, q, BLOCK, NEGLIGIBLE * sqrt(longest), err);
  if (st < 0 || q->next_width > 0) return st;
  return rf_fail(err, RF_ERR_SINGULAR,
                 "no direction outside of %d vectors has a length: the mass matrix is not positive "
                 "definite, or its entries are too large or too small for the arithmetic",
                 (int)q->m);
}

static rf_status give_up(const search *s, const krylov *q, rf_error *err) {
  const int32_t k = s->set->k;
  int32_t converged = 0;
  while (converged < k && q->residual[converged] <= s->tolerance * q->theta[converged]) ++converged;
  return rf_fail(err, RF_ERR_NO_CONVERGENCE,
                 "%d of %d eigenvalues converged in %d restarts and %d solves: too many lie close "
                 "to %g, as those of many like parts do; ask for fewer modes, that stop below "
                 "them, or leave some of the parts out",
                 (int)converged, (int)k, (int)s->report->restarts, (int)s->report->solves,
                 s->p->shift + 1.0 / q->theta[k - 1]);
}

// Takes one block step: applies A to the last block, fills the new rows and columns of H and stores
// the next block in w.
static rf_status advance(search *s, krylov *q, rf_error *err) {
  const int32_t first = q->m - q->width;
  double *block = q->v + at(q->n, first);
  rf_status st = apply(s, s->p->mass, q->width, block, q->mw, err);
  if (st >= 0) st = apply(s, s->p->solve, q->width, q->mw, q->w, err);
  if (st < 0) return st;
  s->report->solves += q->width;
  for (size_t i = 0; i < at(q->n, q->width); ++i)
    if (!isfinite(q->w[i]))
      return rf_fail(err, RF_ERR_SINGULAR,
                     "the solve of the eigenproblem gave a number that is not finite");
  st = project(s, q, q->width, err);
  if (st < 0) return st;
  for (int32_t j = 0; j < q->width; ++j) {
    for (int32_t i = 0; i < q->m; ++i) {
      const double c = q->c[at(q->m, j) + (size_t)i];
      q->h[at(q->most, first + j) + (size_t)i] = c;
      q->h[at(q->most, i) + (size_t)(first + j)] = c;
    }
  }
  double largest = 0.0;
  for (int32_t i = 0; i < q->m; ++i)
    largest = fmax(largest, fabs(q->h[at(q->most, i) + (size_t)i]));
  return orthonormalize(s, q, q->width, INVARIANT * largest, err);
}

// Computes Ritz values, vectors and residuals of H.
static rf_status ritz_pairs(krylov *q, rf_error *err) {
  const int32_t m = q->m, first = m - q->width;
  for (int32_t j = 0; j < m; ++j)
    memcpy(q->ritz + at(m, j), q->h + at(q->most, j), (size_t)m * sizeof *q->h);
  const rf_status st = small_eigen(q, m, q->ritz, q->theta, err);
  if (st < 0) return st;
  // reverse the order: descending
  for (int32_t i = 0, j = m - 1; i < j; ++i, --j) {
    const double t = q->theta[i];
    q->theta[i] = q->theta[j];
    q->theta[j] = t;
    for (int32_t e = 0; e < m; ++e) {
      const double v = q->ritz[at(m, i) + (size_t)e];
      q->ritz[at(m, i) + (size_t)e] = q->ritz[at(m, j) + (size_t)e];
      q->ritz[at(m, j) + (size_t)e] = v;
    }
  }
  for (int32_t j = 0; j < m; ++j) {
    double square = 0.0;
    for (int32_t a = 0; a < q->next_width; ++a) {
      double sum = 0.0;
      for (int32_t i = 0; i < q->width; ++i)
        sum += q->b[i * q->next_width + a] * q->ritz[at(m, j) + (size_t)(first + i)];
      square += sum * sum;
    }
    q->residual[j] = sqrt(square);
  }
  return RF_OK;
}

// Replaces V by its first `keep` Ritz vectors.
static rf_status compress(const search *s, krylov *q, int32_t keep, rf_error *err) {
  const rf_status st = rf_tall_turn(s->run, q->n, q->m, q->v, keep, q->ritz, q->slice, err);
  if (st < 0) return st;
  for (int32_t j = 0; j < keep; ++j) {
    memset(q->h + at(q->most, j), 0, (size_t)q->most * sizeof *q->h);
    q->h[at(q->most, j) + (size_t)j] = q->theta[j];
  }
  q->m = keep;
  return RF_OK;
}

// Enlarges the space; keeps the content of V, H and w after a restart.
static rf_status widen(const search *s, krylov *q, int32_t most, rf_error *err) {
  krylov wide = {0};
  const rf_status st = create_krylov(&wide, q->n, most, s->run->threads, err);
  if (st >= 0) {
    memcpy(wide.v, q->v, at(q->n, q->m) * sizeof *q->v);
    memcpy(wide.w, q->w, at(q->n, q->next_width) * sizeof *q->w);
    for (int32_t j = 0; j < q->m; ++j) wide.h[at(most, j) + (size_t)j] = q->theta[j];
    wide.m = q->m;
    wide.next_width = q->next_width;
    const krylov narrow = *q;
    *q = wide;
    wide = narrow;
  }
  free_krylov(&wide);
  return st;
}

// Appends the next block to V.
static void append(krylov *q) {
  memcpy(q->v + at(q->n, q->m), q->w, at(q->n, q->next_width) * sizeof *q->v);
  q->m += q->next_width;
  q->width = q->next_width;
}

// Returns the number of leading Ritz pairs in the answer: the k wanted and those of the same
// eigenvalue as the k-th.  0 until all of them, and the guard vectors after them, have converged.
static int32_t answer(const krylov *q, int32_t k, double tolerance) {
  int32_t count = 0;
  while (count < q->m && q->residual[count] <= tolerance * q->theta[count]) ++count;
  if (count < k) return 0;
  const int32_t end = rf_cluster_end(q->m, q->theta, k - 1, RF_CLUSTER_CUT);
  if (end > count) return 0;
  for (int32_t j = end; j < q->m && j < end + GUARD; ++j)
    if (!(q->residual[j] <= ROUGH_TOLERANCE * q->theta[j])) return 0;
  return end;
}

// Returns the size of the largest repeated eigenvalue among the first `count`.
static int32_t largest_cluster(const krylov *q, int32_t count) {
  int32_t largest = 1;
  for (int32_t i = 0, j; i < count; i = j) {
    j = rf_cluster_end(count, q->theta, i, count);
    if (j - i > largest) largest = j - i;
  }
  return largest;
}

static rf_status search_all(search *s, rf_error *err) {
  rf_status st = RF_OK;
  const int32_t n = s->p->n, k = s->set->k;
  krylov q = {0};
  int32_t keep = k + SPARE;
  int32_t most = s->set->subspace > 0 ? s->set->subspace : keep + STEPS * BLOCK;
  int32_t doublings = s->set->subspace > 0 ? 0 : DOUBLINGS, patience = PATIENCE;
  const int32_t max_restarts = s->set->max_restarts > 0 ? s->set->max_restarts : RESTARTS;
  RF_TRY(create_krylov(&q, n, most + BLOCK, s->run->threads, err));

  RF_TRY(fresh_block(s, &q, s->set->seed, err));
  append(&q);
  int verify = 0;
  double verified = 0.0;
  for (int32_t look = 0;;) {
    RF_TRY(advance(s, &q, err));
    RF_TRY(report_progress(s, err));
    const bool full = q.m + q.next_width > most;
    const bool skip = q.m < look && !full && verify == 0 && q.next_width > 0;
    if (!skip) RF_TRY(ritz_pairs(&q, err));
    if (!skip) look = q.m + q.m / LOOKS;
    const int32_t count = skip || (verify > 0 && --verify > 0) ? 0 : answer(&q, k, s->tolerance);
    if (count > 0) {
      // a random block reaches at most BLOCK vectors of one repeated eigenvalue: if there may be
      // more, further random blocks are tried until the values no longer change
      const bool suspect = largest_cluster(&q, count) >= BLOCK;
      if (!suspect || fabs(q.theta[k - 1] - verified) <= SAME * verified) {
        RF_TRY(compress(s, &q, count, err));
        memcpy(s->theta, q.theta, (size_t)count * sizeof *s->theta);
        memcpy(s->x, q.v, at(n, count) * sizeof *s->x);
        s->found = count;
        break;
      }
      if (s->report->restarts >= max_restarts) {
        st = give_up(s, &q, err);
        goto done;
      }
      verified = q.theta[k - 1];
      verify = VERIFY;
      RF_TRY(compress(s, &q, count, err));
      s->report->restarts += 1;
      RF_TRY(fresh_block(s, &q, s->set->seed + (uint64_t)s->report->restarts, err));
    } else if (full) {
      if (s->report->restarts >= max_restarts) {
        st = give_up(s, &q, err);
        goto done;
      }
      s->report->restarts += 1;
      RF_TRY(compress(s, &q, keep, err));
      // clustered eigenvalues near the wanted ones separate only in a space that holds them all
      if (doublings > 0 && --patience == 0 && 2 * most + BLOCK <= (n - s->p->null_space) / 2) {
        keep += most / 2;
        most *= 2;
        RF_TRY(widen(s, &q, most + BLOCK, err));
        --doublings;
        patience = PATIENCE;
      }
    }
    // the space is invariant: continue in another direction
    if (q.next_width == 0)
      RF_TRY(fresh_block(s, &q, s->set->seed + OTHER_SEEDS + (uint64_t)s->report->solves, err));
    append(&q);
  }
done:
  free_krylov(&q);
  return st;
}

// Solves the whole problem by LAPACK: A = M (K - shift M)^-1 M and M as dense matrices, A x = theta
// M x.
static rf_status solve_dense(search *s, rf_error *err) {
  rf_status st = RF_OK;
  const int32_t n = s->p->n;
  const size_t square = (size_t)n * (size_t)n;
  double *a = NULL, *b = NULL, *c = NULL, *theta = NULL, *work = NULL;
  int *iwork = NULL;
  RF_ALLOC(a, square);
  RF_ALLOC(b, square);
  RF_ALLOC(c, square);
  RF_ALLOC(theta, n);
  for (int32_t i = 0; i < n; ++i) a[at(n, i) + (size_t)i] = 1.0;
  RF_TRY(apply(s, s->p->mass, n, a, b, err));
  RF_TRY(apply(s, s->p->solve, n, b, c, err));
  s->report->solves += n;
  RF_TRY(apply(s, s->p->mass, n, c, a, err));
  for (size_t i = 0; i < square; ++i) {
    if (isfinite(a[i])) continue;
    st = rf_fail(err, RF_ERR_SINGULAR,
                 "the solve of the eigenproblem gave a number that is not finite");
    goto done;
  }

  const int one = 1, query = -1;
  int lwork = 0, liwork = 0, info = 0;
  double best = 0.0;
  dsygvd_(&one, "V", "L", &n, a, &n, b, &n, theta, &best, &query, &liwork, &query, &info);
  RF_TRY(rf_lapack_size("dsygvd", "unknowns for so many modes", rf_lapack_least_dsyevd(n), info,
                        best, &lwork, err));
  RF_ALLOC(work, lwork);
  RF_ALLOC(iwork, liwork);
  dsygvd_(&one, "V", "L", &n, a, &n, b, &n, theta, work, &lwork, iwork, &liwork, &info);
  if (info > n) {
    st = rf_fail(err, RF_ERR_SINGULAR, "the mass matrix is not positive definite");
    goto done;
  }
  if (info != 0) {
    st = rf_fail(err, RF_ERR_INTERNAL, "LAPACK dsygvd failed with code %d", info);
    goto done;
  }
  const int32_t all = n - s->p->null_space, most = s->set->k + RF_CLUSTER_CUT;
  s->found = all < most ? all : most;
  for (int32_t j = 0; j < s->found; ++j) {
    s->theta[j] = theta[n - 1 - j];
    memcpy(s->x + at(n, j), a + at(n, n - 1 - j), (size_t)n * sizeof *a);
  }
done:
  rf_free(a);
  rf_free(b);
  rf_free(c);
  rf_free(theta);
  rf_free(work);
  rf_free(iwork);
  return st;
}

// Takes one step of subspace iteration on m vectors with Rayleigh-Ritz: Y = (K - shift M)^-1 M X;
// (Y^T M X) s = mu (Y^T M Y) s needs no K and gives mu = lambda - shift, ascending.
static rf_status polish(search *s, int32_t m, double *mu, rf_error *err) {
  rf_status st = RF_OK;
  const int n = s->p->n;
  const size_t square = (size_t)m * (size_t)m;
  double *a = NULL, *b = NULL, *scale = NULL, *work = NULL;
  int *iwork = NULL;
  double *y = NULL, *mx = NULL, *sums = NULL;
  RF_ALLOC(sums, rf_tall_inner_scratch(n, m, m));
  RF_ALLOC(y, at(n, m));
  RF_ALLOC(mx, at(n, m));
  RF_ALLOC(a, square);
  RF_ALLOC(b, square);
  RF_ALLOC(scale, m);
  RF_TRY(apply(s, s->p->mass, m, s->x, mx, err));
  RF_TRY(apply(s, s->p->solve, m, mx, y, err));
  s->report->solves += m;

  RF_TRY(rf_tall_inner(s->run, n, m, y, m, mx, sums, a, err));
  RF_TRY(apply(s, s->p->mass, m, y, mx, err));
  RF_TRY(rf_tall_inner(s->run, n, m, y, m, mx, sums, b, err));

  // columns of unit length make Y^T M Y the identity up to rounding
  for (int32_t j = 0; j < m; ++j) {
    const double square_length = b[at(m, j) + (size_t)j];
    if (!(isfinite(square_length) && square_length > 0.0)) {
      st = rf_fail(err, RF_ERR_SINGULAR, "the mass matrix is not positive definite");
      goto done;
    }
    scale[j] = 1.0 / sqrt(square_length);
  }
  for (int32_t j = 0; j < m; ++j) {
    for (int32_t i = 0; i < m; ++i) {
      a[at(m, j) + (size_t)i] *= scale[i] * scale[j];
      b[at(m, j) + (size_t)i] *= scale[i] * scale[j];
    }
  }
  const int one = 1, query = -1;
  int lwork = 0, liwork = 0, info = 0;
  double best = 0.0;
  dsygvd_(&one, "V", "L", &m, a, &m, b, &m, mu, &best, &query, &liwork, &query, &info);
  RF_TRY(rf_lapack_size("dsygvd", "modes", rf_lapack_least_dsyevd(m), info, best, &lwork, err));
  RF_ALLOC(work, lwork);
  RF_ALLOC(iwork, liwork);
  dsygvd_(&one, "V", "L", &m, a, &m, b, &m, mu, work, &lwork, iwork, &liwork, &info);
  if (info != 0) {
    st = rf_fail(err, RF_ERR_INTERNAL, "LAPACK dsygvd failed with code %d", info);
    goto done;
  }
  for (int32_t j = 0; j < m; ++j)
    for (int32_t i = 0; i < m; ++i) a[at(m, j) + (size_t)i] *= scale[i];
  RF_TRY(rf_tall_add(s->run, n, m, y, m, a, 1.0, 0.0, s->x, err));
done:
  rf_free(sums);
  rf_free(y);
  rf_free(mx);
  rf_free(a);
  rf_free(b);
  rf_free(scale);
  rf_free(work);
  rf_free(iwork);
  return st;
}

rf_status rf_eigen_smallest(const rf_eigen_problem *problem, const rf_eigen_settings *set,
                            const rf_run *run, double *values, double *vectors,
                            rf_eigen_report *report, rf_error *err) {
  rf_status st = RF_OK;
  const int32_t n = problem->n, k = set->k, all = n - problem->null_space;
  rf_eigen_report unused = {0};
  search s = {.p = problem, .set = set, .run = run, .report = report ? report : &unused};
  s.tolerance = set->tolerance > 0.0 ? set->tolerance : TOLERANCE;
  double *mu = NULL;
  memset(s.report, 0, sizeof *s.report);
  if (!(k >= 1 && k < all))
    return rf_fail(err, RF_ERR_ARG, "k must be between 1 and %d (unknowns less one), got %d",
                   (int)all - 1, (int)k);
  const int64_t least = (int64_t)k + SPARE + BLOCK;
  if (!(set->subspace == 0 || (set->subspace >= least && set->subspace <= n - BLOCK)))
    return rf_fail(err, RF_ERR_ARG, "the Krylov space must have %d to %d vectors, got %d",
                   (int)least, (int)n - BLOCK, (int)set->subspace);

  const int64_t vectors_held = (int64_t)k + SPARE + STEPS * BLOCK;
  const bool dense = set->subspace == 0 && (n <= DENSE_LIMIT || 2 * vectors_held >= n);
  if (dense && n > DENSE_MOST) {
    // three matrices and a workspace of two
    const double gigabytes = 5.0 * sizeof(double) * (double)n * (double)n / 1e9;
    return rf_fail(err, RF_ERR_ARG,
                   "k is %d of %d unknowns: so large a part of the spectrum needs a dense solution "
                   "with %.0f GB of memory; of more than %d unknowns take less than half (here k "
                   "up to %d), or use a coarser mesh",
                   (int)k, (int)n, gigabytes, DENSE_MOST,
                   (int)((n - 1) / 2 - (SPARE + STEPS * BLOCK)));
  }
  s.capacity = all - k < RF_CLUSTER_CUT ? all : k + RF_CLUSTER_CUT;
  s.expected = 2 * vectors_held;
  RF_ALLOC(s.theta, s.capacity);
  RF_ALLOC(mu, s.capacity);
  RF_ALLOC(s.x, (int64_t)s.capacity * n);

  // one BLAS thread: the result must not depend on the thread count of the process
  rf_blas_serial_begin();
  st = dense ? solve_dense(&s, err) : search_all(&s, err);
  if (st == RF_ERR_NO_CONVERGENCE && set->subspace == 0 && n <= DENSE_MOST)
    st = solve_dense(&s, err);
  const int32_t m = st < 0 ? 0 : rf_cluster_end(s.found, s.theta, k - 1, RF_CLUSTER_CUT);
  for (int32_t j = 0; j < m; ++j) mu[j] = 1.0 / s.theta[j];
  if (st >= 0 && set->tolerance == 0.0) st = polish(&s, m, mu, err);
  rf_blas_serial_end();
  if (st < 0) goto done;
  RF_TRY(rf_canonical_vectors(n, m, mu, problem->n_weights, problem->weights, s.x, err));
  for (int32_t j = 0; j < k; ++j) values[j] = mu[j] + problem->shift;
  memcpy(vectors, s.x, (size_t)k * (size_t)n * sizeof *vectors);
  RF_TRY(rf_run_progress(run, s.expected, s.expected, err));
done:
  rf_free(s.theta);
  rf_free(mu);
  rf_free(s.x);
  return st;
}
