// Body of the vector kernels of the friction solver.  Needs RF_WIDTH and RF_NAME (linalg/simd.h).
#include <math.h>

#include "constraint/friction_work.h"
#include "linalg/simd_body.h"

// Adds factor[index] times the rows of W with these indices to sum.
void RF_NAME(rf_friction_add_rows)(int32_t count, const int32_t *index, const double *w,
                                   int32_t length, const double *factor, double *sum) {
  int32_t k = 0;
  for (; k + 4 <= count; k += 4) {
    const double *row[4];
    rf_v f[4];
    for (int j = 0; j < 4; ++j) {
      row[j] = w + (int64_t)index[k + j] * length;
      f[j] = rf_splat(factor[index[k + j]]);
    }
    for (int32_t c = 0; c < length; c += RF_WIDTH)
      rf_store(sum + c, rf_load(sum + c) +
                            (f[0] * rf_load(row[0] + c) + f[1] * rf_load(row[1] + c)) +
                            (f[2] * rf_load(row[2] + c) + f[3] * rf_load(row[3] + c)));
  }
  for (; k < count; ++k) {
    const double *row = w + (int64_t)index[k] * length;
    const rf_v f = rf_splat(factor[index[k]]);
    for (int32_t c = 0; c < length; c += RF_WIDTH)
      rf_store(sum + c, rf_load(sum + c) + f * rf_load(row + c));
  }
}

// Adds V z + c f, z = s->reduced, to sum.
void RF_NAME(rf_friction_add_by_factor)(const rf_friction *s, const double *f, double *sum) {
  const int32_t r = rf_dense_ld(s->rank);
  const double *v = s->factor;
  const rf_v4 own = {s->compliance, s->compliance, s->compliance, s->compliance};
  for (int32_t i = 0; i < 3 * s->ld; i += 4, v += 4 * r) {
    rf_v row[4] = {{0}};
    for (int32_t c = 0; c < r; c += RF_WIDTH) {
      const rf_v z = rf_load(s->reduced + c);
      for (int k = 0; k < 4; ++k) row[k] += rf_load(v + k * r + c) * z;
    }
    const rf_v4 sums =
        rf_sums4(rf_fold4(row[0]), rf_fold4(row[1]), rf_fold4(row[2]), rf_fold4(row[3]));
    rf_store4(sum + i, rf_load4(sum + i) + (sums + own * rf_load4(f + i)));
  }
}

// Changes of the forces f of contact i in a sweep (D06 algorithm 1), from its displacements u.  The
// tangential force follows the normal one of the same pass, which the algorithm as printed leaves
// out.  False: it was open and stays so.
RF_INLINE bool turn(const rf_friction *s, int32_t i, const double f[3], const double u[3],
                    double change[3]) {
  const double normal = f[0] - u[0] * s->inverse_n[i];
  for (int k = 0; k < 3; ++k) change[k] = -f[k];
  if (!(normal > 0.0)) return f[0] != 0.0 || f[1] != 0.0 || f[2] != 0.0;
  change[0] = normal - f[0];
  double t1 = f[1] - (u[1] + s->across1[i] * change[0]) * s->inverse_t[i];
  double t2 = f[2] - (u[2] + s->across2[i] * change[0]) * s->inverse_t[i];
  const double most = s->mu[i] * normal, square = t1 * t1 + t2 * t2;
  if (square > most * most) {
    const double part = most / sqrt(square);
    t1 *= part;
    t2 *= part;
  }
  change[1] = t1 - f[1];
  change[2] = t2 - f[2];
  return true;
}

RF_INLINE double changed(double f, double change) { return change == -f ? 0.0 : f + change; }

void RF_NAME(rf_friction_sweep)(rf_friction *s) {
  const int32_t ld = s->ld, length = 3 * ld;
  double *f = s->force, *u = s->moved;
  for (int32_t i = 0; i < s->m; ++i) {
    const double old[3] = {f[i], f[ld + i], f[2 * ld + i]};
    const double moved[3] = {u[i], u[ld + i], u[2 * ld + i]};
    double change[3];
    if (!turn(s, i, old, moved, change)) continue;
    const double *row = s->w + (int64_t)i * length;
    const double *row1 = row + (int64_t)ld * length, *row2 = row1 + (int64_t)ld * length;
    const rf_v c0 = rf_splat(change[0]), c1 = rf_splat(change[1]), c2 = rf_splat(change[2]);
    for (int32_t c = 0; c < length; c += RF_WIDTH)
      rf_store(u + c, rf_load(u + c) + c0 * rf_load(row + c) +
                          (c1 * rf_load(row1 + c) + c2 * rf_load(row2 + c)));
    for (int k = 0; k < 3; ++k) {
      u[k * ld + i] += s->shift * change[k];
      f[k * ld + i] = changed(old[k], change[k]);
    }
  }
}

// The same with s->reduced in place of s->moved.
void RF_NAME(rf_friction_sweep_by_factor)(rf_friction *s) {
  const int32_t ld = s->ld, r = rf_dense_ld(s->rank);
  double *f = s->force, *z = s->reduced;
  for (int32_t i = 0; i < s->m; ++i) {
    const double *v0 = s->factor + (int64_t)i * r, *v1 = v0 + (int64_t)ld * r;
    const double *v2 = v1 + (int64_t)ld * r;
    rf_v sum[3] = {{0}};
    for (int32_t c = 0; c < r; c += RF_WIDTH) {
      const rf_v at = rf_load(z + c);
      sum[0] += rf_load(v0 + c) * at;
      sum[1] += rf_load(v1 + c) * at;
      sum[2] += rf_load(v2 + c) * at;
    }
    const rf_v4 sums = rf_sums4(rf_fold4(sum[0]), rf_fold4(sum[1]), rf_fold4(sum[2]), (rf_v4){0});
    double old[3], moved[3], change[3];
    for (int k = 0; k < 3; ++k) {
      const int32_t at = k * ld + i;
      old[k] = f[at];
      moved[k] = sums[k] + s->free[at] + s->compliance * f[at] + s->shift * (f[at] - s->centre[at]);
    }
    if (!turn(s, i, old, moved, change)) continue;
    const rf_v c0 = rf_splat(change[0]), c1 = rf_splat(change[1]), c2 = rf_splat(change[2]);
    for (int32_t c = 0; c < r; c += RF_WIDTH)
      rf_store(z + c, rf_load(z + c) + c0 * rf_load(v0 + c) +
                          (c1 * rf_load(v1 + c) + c2 * rf_load(v2 + c)));
    for (int k = 0; k < 3; ++k) f[k * ld + i] = changed(old[k], change[k]);
  }
}

// Writes a row of the matrix from v = W R of its equation, in blocks: v . E of all unknowns.
RF_INLINE void put_row(const rf_friction_unknowns *n, int32_t ld, const double *v, double *work,
                       double *row) {
  const double *v1 = v + ld, *v2 = v1 + ld;
  double *normal = work, *along = work + ld;
  for (int32_t c = 0; c < ld; c += RF_WIDTH) {
    const rf_v x1 = rf_load(v1 + c), x2 = rf_load(v2 + c);
    rf_store(normal + c,
             rf_load(v + c) + (rf_load(n->normal1 + c) * x1 + rf_load(n->normal2 + c) * x2));
    rf_store(along + c, rf_load(n->tangent1 + c) * x1 + rf_load(n->tangent2 + c) * x2);
  }
  const int32_t *contact = n->contact;
  for (int32_t k = 0; k < n->touch; ++k) row[k] = normal[contact[k]];
  contact += n->touch;
  row += n->touch;
  for (int32_t k = 0; k < n->first; ++k) row[k] = along[contact[k]];
  contact += n->first;
  row += n->first;
  for (int32_t k = 0; k < n->second; ++k) row[k] = v2[contact[k]];
}

// Fills R^T W E by rows of `stride`; W is symmetric, so that its rows are columns.
void RF_NAME(rf_friction_rows)(const rf_friction *s, int32_t stride) {
  const rf_friction_unknowns *n = &s->unknown;
  const int32_t ld = s->ld, length = 3 * ld;
  double *v = s->scratch;
  for (int32_t k = 0; k < n->n; ++k) {
    const int32_t i = n->contact[k];
    const double *w = s->w + (int64_t)i * length;
    if (k >= n->touch) w += (int64_t)ld * length;
    if (k >= n->touch + n->first) {
      w += (int64_t)ld * length;
    } else if (k >= n->touch && (n->tangent1[i] != 1.0 || n->tangent2[i] != 0.0)) {
      const rf_v t1 = rf_splat(n->tangent1[i]), t2 = rf_splat(n->tangent2[i]);
      const double *w2 = w + (int64_t)ld * length;
      for (int32_t c = 0; c < length; c += RF_WIDTH)
        rf_store(v + c, t1 * rf_load(w + c) + t2 * rf_load(w2 + c));
      w = v;
    }
    put_row(n, ld, w, s->increment, s->matrix + (int64_t)k * stride);
  }
}

RF_INLINE rf_v root(rf_v x) {
  for (int l = 0; l < RF_WIDTH; ++l) x[l] = sqrt(x[l]);
  return x;
}

RF_INLINE rf_v smaller(rf_v a, rf_v b) { return -rf_larger(-a, -b); }

// The residual of friction.h; NaN passes into the sum.
double RF_NAME(rf_friction_residual)(const rf_friction *s, const double *f, const double *moved) {
  const int32_t ld = s->ld;
  const rf_v zero = {0};
  rf_v worst = zero, square = zero, sum = zero;
  for (int32_t c = 0; c < ld; c += RF_WIDTH) {
    const rf_v d0 = rf_load(moved + c), d1 = rf_load(moved + ld + c);
    const rf_v d2 = rf_load(moved + 2 * ld + c), f0 = rf_load(f + c), f1 = rf_load(f + ld + c);
    const rf_v f2 = rf_load(f + 2 * ld + c), mu = rf_load(s->mu + c);
    const rf_v dt = root(d1 * d1 + d2 * d2), ft = root(f1 * f1 + f2 * f2), limit = mu * f0;
    const rf_v gap = smaller(d0, f0), less = limit - ft;
    worst = rf_larger(worst, rf_abs(gap));
    worst = rf_larger(worst, ft - mu * rf_larger(f0, zero));
    worst = rf_larger(worst, smaller(dt, rf_abs(less)));
    const rf_v o1 = limit * d1 + dt * f1, o2 = limit * d2 + dt * f2;
    square = rf_larger(square, o1 * o1 + o2 * o2);
    sum += (d0 + dt) + (f0 + ft);
  }
  worst = rf_larger(worst, root(square));
  double most = 0.0;
  for (int l = 0; l < RF_WIDTH; ++l) most = worst[l] > most ? worst[l] : most;
  return isfinite(rf_sum(sum)) ? most : INFINITY;
}

// w (n, n) = V V^T of n rows of ld; n is a multiple of 8.  Tiles of 4 x 4 rows, mirrored.
void RF_NAME(rf_friction_square)(int32_t n, int32_t ld, const double *v, double *w) {
  for (int32_t i = 0; i < n; i += 4)
    for (int32_t j = 0; j <= i; j += 4) {
      rf_v sum[4][4] = {{{0}}};
      for (int32_t c = 0; c < ld; c += RF_WIDTH) {
        rf_v b[4];
        for (int q = 0; q < 4; ++q) b[q] = rf_load_once(v + (int64_t)(j + q) * ld + c);
        for (int p = 0; p < 4; ++p) {
          const rf_v a = rf_load_once(v + (int64_t)(i + p) * ld + c);
          for (int q = 0; q < 4; ++q) sum[p][q] += a * b[q];
        }
      }
      rf_v4 tile[4];
      for (int p = 0; p < 4; ++p) {
        tile[p] = rf_sums4(rf_fold4(sum[p][0]), rf_fold4(sum[p][1]), rf_fold4(sum[p][2]),
                           rf_fold4(sum[p][3]));
        rf_store4(w + (int64_t)(i + p) * n + j, tile[p]);
      }
      if (i == j) continue;
      rf_transpose4(tile);
      for (int q = 0; q < 4; ++q) rf_store4(w + (int64_t)(j + q) * n + i, tile[q]);
    }
}
