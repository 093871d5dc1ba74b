// The scaled problem: forces in and out, displacements, residual, sweeps.
#include <math.h>
#include <string.h>

#include "base/clock_rt.h"
#include "constraint/friction_work.h"

// a diagonal entry of the scaled W below which a contact counts as rigid on both sides: no force
// moves it
static const double RIGID = 1e-13;

// True if all are finite.
static bool all_finite(int64_t n, const double *x) {
  double sum = 0.0;
  for (int64_t k = 0; k < n; ++k) sum += 0.0 * x[k];
  return sum == 0.0;
}

// False: W is too large for squares.
static bool set_sizes(rf_friction *s, int32_t m, double trace) {
  const double mean = m > 0 ? trace / (3 * m) : 0.0;
  if (!(mean < RF_FRICTION_MOST_SCALE)) return false;
  s->m = m;
  s->ld = rf_dense_ld(m);
  s->mean = mean > RF_FRICTION_LEAST_SCALE ? mean : 1.0;
  return true;
}

// Diagonal entries, and those of the normal with both tangents, of each contact.
static void set_diagonals(rf_friction *s) {
  const int32_t ld = s->ld;
  for (int32_t i = 0; i < ld; ++i) {
    const double *row = s->w + (int64_t)i * 3 * ld;
    double diagonal[3];
    for (int k = 0; k < 3; ++k) diagonal[k] = s->w[(int64_t)(k * ld + i) * (3 * ld + 1)];
    s->normal[i] = diagonal[0];
    s->tangent[i] = 0.5 * (diagonal[1] + diagonal[2]);
    s->across1[i] = row[ld + i];
    s->across2[i] = row[2 * ld + i];
  }
}

rf_status rf_friction_set_matrix_rt(rf_friction *s, int32_t m, const double *w) {
  double trace = 0.0;
  s->m = s->rank = 0;
  if (m < 0 || m > s->set.most) return RF_ERR_ARG;
  const int32_t n = 3 * m;
  if (!all_finite((int64_t)n * n, w)) return RF_ERR_ARG;
  for (int32_t i = 0; i < n; ++i) {
    if (!(w[(int64_t)i * n + i] >= 0.0)) return RF_ERR_ARG;
    trace += w[(int64_t)i * n + i];
  }
  if (!set_sizes(s, m, trace)) return RF_ERR_ARG;
  const int32_t ld = s->ld, length = 3 * ld;
  memset(s->w, 0, (size_t)length * (size_t)length * sizeof *s->w);
  for (int32_t i = 0; i < n; ++i) {
    const double *from = w + (int64_t)i * n;
    double *to = s->w + (int64_t)(i % 3 * ld + i / 3) * length;
    for (int32_t j = 0; j < m; ++j)
      for (int k = 0; k < 3; ++k) to[k * ld + j] = from[3 * j + k] / s->mean;
  }
  set_diagonals(s);
  return RF_OK;
}

static double dot(int32_t n, const double *a, const double *b) {
  enum { LANES = 4 };
  double lane[LANES] = {0};
  for (int32_t j = 0; j < n; j += LANES)
    for (int32_t l = 0; l < LANES; ++l) lane[l] += a[j + l] * b[j + l];
  return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

// The same from the factor; returns the trace of V V^T.
static double set_diagonals_of_factor(rf_friction *s) {
  const int32_t ld = s->ld, r = rf_dense_ld(s->rank);
  double trace = 0.0;
  for (int32_t i = 0; i < ld; ++i) {
    const double *v = s->factor + (int64_t)i * r, *v1 = v + (int64_t)ld * r;
    const double *v2 = v1 + (int64_t)ld * r;
    s->normal[i] = dot(r, v, v);
    s->tangent[i] = 0.5 * (dot(r, v1, v1) + dot(r, v2, v2));
    s->across1[i] = dot(r, v, v1);
    s->across2[i] = dot(r, v, v2);
    trace += s->normal[i] + 2.0 * s->tangent[i];
  }
  return trace;
}

// Divides the factor and the diagonals by the mean, and adds the compliance.
static void scale_factor(rf_friction *s, double compliance) {
  const int64_t entries = 3 * (int64_t)s->ld * rf_dense_ld(s->rank);
  const double by = 1.0 / sqrt(s->mean), share = 1.0 / s->mean;
  s->compliance = compliance / s->mean;
  for (int64_t k = 0; k < entries; ++k) s->factor[k] *= by;
  for (int32_t i = 0; i < s->ld; ++i) {
    const double own = i < s->m ? s->compliance : 0.0;
    s->normal[i] = share * s->normal[i] + own;
    s->tangent[i] = share * s->tangent[i] + own;
    s->across1[i] *= share;
    s->across2[i] *= share;
  }
}

// W = V V^T + compliance, of the scaled factor.
static void square_factor(rf_friction *s) {
  const int32_t length = 3 * s->ld;
  RF_SIMD_CALL(s->set.simd, rf_friction_square, length, rf_dense_ld(s->rank), s->factor, s->w);
  for (int k = 0; k < 3; ++k)
    for (int32_t i = 0; i < s->m; ++i)
      s->w[(int64_t)(k * s->ld + i) * (length + 1)] += s->compliance;
}

// Takes a factor, with the trace of what is added to V V^T.
static rf_status take_factor(rf_friction *s, int32_t m, int32_t rank, const double *v,
                             double compliance, double trace) {
  s->m = s->rank = 0;
  if (m < 0 || m > s->set.most || rank < 1 || rank > s->set.most_rank ||
      !(compliance >= 0.0 && compliance * 0.0 == 0.0))
    return RF_ERR_ARG;
  const int32_t ld = rf_dense_ld(m), length = 3 * ld, r = rf_dense_ld(rank), n = 3 * m;
  memset(s->factor, 0, (size_t)length * (size_t)r * sizeof *s->factor);
  for (int32_t i = 0; i < n; ++i)
    memcpy(s->factor + (int64_t)(i % 3 * ld + i / 3) * r, v + (int64_t)i * rank,
           (size_t)rank * sizeof *v);
  s->ld = ld;
  s->rank = rank;
  // NaN and infinity pass into the trace
  if (!set_sizes(s, m, set_diagonals_of_factor(s) + n * compliance + trace)) {
    s->rank = 0;
    return RF_ERR_ARG;
  }
  scale_factor(s, compliance);
  return RF_OK;
}

rf_status rf_friction_set_factor_rt(rf_friction *s, int32_t m, int32_t rank, const double *v,
                                    double compliance) {
  const rf_status st = take_factor(s, m, rank, v, compliance, 0.0);
  if (st >= 0 && !rf_friction_is_by_factor(s)) square_factor(s);
  return st;
}

rf_status rf_friction_set_sum_rt(rf_friction *s, int32_t m, int32_t rank, const double *v,
                                 const double *e, double compliance) {
  const int32_t n = 3 * m;
  double trace = 0.0;
  s->m = s->rank = 0;
  if (m < 0 || m > s->set.most || !all_finite((int64_t)n * n, e)) return RF_ERR_ARG;
  for (int32_t i = 0; i < n; ++i) {
    if (!(e[(int64_t)i * n + i] >= 0.0)) return RF_ERR_ARG;
    trace += e[(int64_t)i * n + i];
  }
  const rf_status st = take_factor(s, m, rank, v, compliance, trace);
  if (st < 0) return st;
  square_factor(s);
  const double share = 1.0 / s->mean;
  for (int32_t i = 0; i < n; ++i) {
    double *to = s->w + (int64_t)(i % 3 * s->ld + i / 3) * 3 * s->ld;
    for (int32_t j = 0; j < m; ++j)
      for (int k = 0; k < 3; ++k) to[k * s->ld + j] += share * e[(int64_t)i * n + 3 * j + k];
  }
  s->rank = 0;  // of W as a matrix
  set_diagonals(s);
  return RF_OK;
}

// Reorders (m, 3) to three blocks, over `scale`.
static void to_blocks(const rf_friction *s, const double *from, double scale, double *to) {
  for (int k = 0; k < 3; ++k) {
    for (int32_t i = 0; i < s->m; ++i) to[k * s->ld + i] = from[3 * i + k] / scale;
    for (int32_t i = s->m; i < s->ld; ++i) to[k * s->ld + i] = 0.0;
  }
}

static void from_blocks(const rf_friction *s, const double *from, double factor, double *to) {
  for (int32_t i = 0; i < s->m; ++i)
    for (int k = 0; k < 3; ++k) to[3 * i + k] = factor * from[k * s->ld + i];
}

rf_status rf_friction_begin_rt(rf_friction *s, const double *free, const double *mu,
                               const double *start) {
  const int32_t n = 3 * s->m;
  double largest = 0.0;
  if (!all_finite(n, free) || (start && !all_finite(n, start))) return RF_ERR_ARG;
  for (int32_t i = 0; i < n; ++i) largest = fabs(free[i]) > largest ? fabs(free[i]) : largest;
  if (!(largest < RF_FRICTION_MOST_SCALE)) return RF_ERR_ARG;
  for (int32_t i = 0; i < s->m; ++i)
    if (!(mu[i] >= 0.0 && mu[i] <= RF_FRICTION_MOST_MU)) return RF_ERR_ARG;
  s->largest = largest > RF_FRICTION_LEAST_SCALE ? largest : 1.0;
  for (int32_t i = 0; i < s->ld; ++i) s->given_mu[i] = s->mu[i] = i < s->m ? mu[i] : 0.0;
  to_blocks(s, free, s->largest, s->free);
  if (start)
    to_blocks(s, start, s->largest / s->mean, s->force);
  else
    memset(s->force, 0, 3 * (size_t)s->ld * sizeof *s->force);
  rf_friction_project_rt(s, s->force, s->force);
  rf_friction_shift_rt(s, 0.0);
  return RF_OK;
}

void rf_friction_end_rt(const rf_friction *s, const double *f, double *force, double *gap) {
  from_blocks(s, f, s->largest / s->mean, force);
  if (gap) from_blocks(s, s->moved_in, s->largest, gap);
}

// Lists the entries of f that are not zero in s->index; returns their number.
static int32_t gather_entries(rf_friction *s, const double *f) {
  int32_t count = 0;
  for (int32_t k = 0; k < 3 * s->ld; ++k)
    if (f[k] != 0.0) s->index[count++] = k;
  return count;
}

// s->reduced = V^T f, for the entries that s->index lists.
static void set_reduced(rf_friction *s, int32_t count, const double *f) {
  const int32_t r = rf_dense_ld(s->rank);
  memset(s->reduced, 0, (size_t)r * sizeof *s->reduced);
  RF_SIMD_CALL(s->set.simd, rf_friction_add_rows, count, s->index, s->factor, r, f, s->reduced);
}

// Adds W f.
static void add_moved(rf_friction *s, const double *f, double *moved) {
  const int32_t count = gather_entries(s, f);
  if (count == 0) return;
  if (rf_friction_is_by_factor(s)) {
    set_reduced(s, count, f);
    RF_SIMD_CALL(s->set.simd, rf_friction_add_by_factor, s, f, moved);
  } else {
    RF_SIMD_CALL(s->set.simd, rf_friction_add_rows, count, s->index, s->w, 3 * s->ld, f, moved);
  }
}

void rf_friction_move_rt(rf_friction *s, const double *f, double *moved) {
  const int32_t length = 3 * s->ld;
  memcpy(moved, s->free, (size_t)length * sizeof *moved);
  add_moved(s, f, moved);
  for (int32_t k = 0; s->shift != 0.0 && k < length; ++k)
    moved[k] += s->shift * (f[k] - s->centre[k]);
}

void rf_friction_move_on_rt(rf_friction *s, const double *from, const double *moved,
                            const double *to, double *moved_to) {
  const int32_t length = 3 * s->ld;
  double *change = s->scratch;
  memmove(moved_to, moved, (size_t)length * sizeof *moved);
  for (int32_t k = 0; k < length; ++k) change[k] = to[k] - from[k];
  add_moved(s, change, moved_to);
  for (int32_t k = 0; s->shift != 0.0 && k < length; ++k) moved_to[k] += s->shift * change[k];
}

double rf_friction_residual_rt(const rf_friction *s, const double *f, const double *moved) {
  return RF_SIMD_CALL(s->set.simd, rf_friction_residual, s, f, moved);
}

void rf_friction_project_rt(const rf_friction *s, const double *f, double *out) {
  const int32_t ld = s->ld;
  for (int32_t i = 0; i < ld; ++i) {
    const double normal = f[i] > 0.0 ? f[i] : 0.0, t1 = f[ld + i], t2 = f[2 * ld + i];
    const double most = s->mu[i] * normal, square = t1 * t1 + t2 * t2;
    const double part = square > most * most ? most / sqrt(square) : 1.0;
    out[i] = normal;
    out[ld + i] = part * t1;
    out[2 * ld + i] = part * t2;
  }
}

void rf_friction_shift_rt(rf_friction *s, double shift) {
  s->shift = shift;
  for (int32_t i = 0; i < s->ld; ++i) {
    const double normal = s->normal[i] + shift, tangent = s->tangent[i] + shift;
    s->inverse_n[i] = normal > RIGID ? 1.0 / normal : 0.0;
    s->inverse_t[i] = tangent > RIGID ? 1.0 / tangent : 0.0;
  }
}

double rf_friction_left_us_rt(const rf_friction *s) {
  if (s->stopped) return 0.0;
  return s->limits.budget_us - s->reserve_us - (rf_clock_us_rt() - s->begun_us);
}

// The end of a solve takes about as long as this number of sweeps.
static const double END = 3.0;

static void reserve(rf_friction *s, double took_us) {
  const double end_us = END * took_us;
  if (!isfinite(s->limits.budget_us)) return;
  // a sweep that took longer was interrupted
  if (s->reserve_us == 0.0 || end_us < s->reserve_us) s->reserve_us = end_us;
}

void rf_friction_sweep_rt(rf_friction *s, int32_t n) {
  const bool by_factor = rf_friction_is_by_factor(s);
  if (by_factor) set_reduced(s, gather_entries(s, s->force), s->force);
  for (int32_t k = 0; k < n && rf_friction_left_us_rt(s) > 0.0; ++k) {
    const double begun_us = rf_clock_us_rt();
    if (by_factor)
      RF_SIMD_CALL(s->set.simd, rf_friction_sweep_by_factor, s);
    else
      RF_SIMD_CALL(s->set.simd, rf_friction_sweep, s);
    ++s->report.sweeps;
    reserve(s, rf_clock_us_rt() - begun_us);
  }
  if (by_factor) rf_friction_move_rt(s, s->force, s->moved);
}
