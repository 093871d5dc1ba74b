// One step of Newton's method on the functions of Alart and Curnier, with exact elimination.
//
// With u the displacements by the forces f, and gains k, a contact is judged by
//     p_n = f_n - k_n u_n / W_nn,   p_t = f_t - k_t u_t / w,   w the mean diagonal of W_tt.
// p_n <= 0: it is open, and its new force is zero.  |p_t| <= mu p_n: it sticks, and its new
// displacement is zero.  Else it slips along e = p_t / |p_t|; with s across e and a = mu p_n /
// |p_t| the linearized law is
//     u_n = 0,   f_t = mu f_n e + phi s,   u_t . s + beta phi = 0,   beta = (1 - a) w / (a k_t),
// and the unknowns are f_n and phi.  R picks the equations, E the forces of the unknowns; from the
// forces f_b nearest to f that have this form, with u_b and phi_b, the step x solves
//     (R^T W E + diag beta + regular) x = -(R^T u_b + beta phi_b).
// R^T E is the identity, so that a shift of W is one of the diagonal.  Where W = V V^T has a low
// rank r, with P = V^T E, Q = V^T R and D the diagonal terms, x = D^-1 (b - Q^T z) of the r
// unknowns
//     (1 + P D^-1 Q^T) z = P D^-1 b.
#include <math.h>
#include <string.h>

#include "constraint/friction_work.h"

static const double LEAST = 1e-9;  // diagonal term where the rank is low

// Judges contact i, puts its force into the form above, and enters its unknowns of each kind.
static void judge(rf_friction *s, int32_t i, double gain_n, double gain_t, int32_t *second) {
  rf_friction_unknowns *n = &s->unknown;
  const int32_t ld = s->ld;
  double *f = s->force;
  const double *u = s->moved;
  const double pn = f[i] - gain_n * u[i] * s->inverse_n[i], per_t = gain_t * s->inverse_t[i];
  const double p1 = f[ld + i] - per_t * u[ld + i], p2 = f[2 * ld + i] - per_t * u[2 * ld + i];
  const double length = sqrt(p1 * p1 + p2 * p2), most = s->mu[i] * pn;
  n->normal1[i] = n->normal2[i] = n->tangent1[i] = n->tangent2[i] = 0.0;
  n->damped[i] = n->along[i] = 0.0;
  if (!(pn > 0.0)) {
    f[i] = f[ld + i] = f[2 * ld + i] = 0.0;
    return;
  }
  n->contact[n->touch++] = i;
  if (length <= most) {
    n->tangent1[i] = 1.0;
    second[n->second++] = i;
    s->index[n->first++] = i;
    return;
  }
  const double e1 = p1 / length, e2 = p2 / length, part = most / length;
  n->normal1[i] = s->mu[i] * e1;
  n->normal2[i] = s->mu[i] * e2;
  double phi = 0.0;
  if (part > 0.0) {
    phi = e1 * f[2 * ld + i] - e2 * f[ld + i];
    n->tangent1[i] = -e2;
    n->tangent2[i] = e1;
    n->damped[i] = (1.0 - part) * (s->tangent[i] + s->shift) / (part * gain_t);
    n->along[i] = phi;
    s->index[n->first++] = i;
  }
  f[ld + i] = n->normal1[i] * f[i] - phi * e2;
  f[2 * ld + i] = n->normal2[i] * f[i] + phi * e1;
}

static void count_unknowns(rf_friction *s, double gain_n, double gain_t) {
  rf_friction_unknowns *n = &s->unknown;
  int32_t *second = s->index + s->ld;
  n->touch = n->first = n->second = 0;
  for (int32_t i = 0; i < s->m; ++i) judge(s, i, gain_n, gain_t, second);
  for (int32_t i = s->m; i < s->ld; ++i)
    n->normal1[i] = n->normal2[i] = n->tangent1[i] = n->tangent2[i] = 0.0;
  memcpy(n->contact + n->touch, s->index, (size_t)n->first * sizeof *n->contact);
  memcpy(n->contact + n->touch + n->first, second, (size_t)n->second * sizeof *n->contact);
  n->n = n->touch + n->first + n->second;
}

static void right_side(const rf_friction *s, double *b) {
  const rf_friction_unknowns *n = &s->unknown;
  const int32_t ld = s->ld, *contact = n->contact;
  const double *u = s->moved;
  int32_t k = 0;
  for (; k < n->touch; ++k) b[k] = -u[contact[k]];
  for (; k < n->touch + n->first; ++k) {
    const int32_t i = contact[k];
    b[k] =
        -(n->tangent1[i] * u[ld + i] + n->tangent2[i] * u[2 * ld + i] + n->damped[i] * n->along[i]);
  }
  for (; k < n->n; ++k) b[k] = -u[2 * ld + contact[k]];
}

// f += E x.
static void add_increment(rf_friction *s, const double *x) {
  const rf_friction_unknowns *n = &s->unknown;
  const int32_t ld = s->ld, *contact = n->contact;
  double *f = s->force;
  int32_t k = 0;
  for (; k < n->touch; ++k) {
    const int32_t i = contact[k];
    f[i] += x[k];
    f[ld + i] += n->normal1[i] * x[k];
    f[2 * ld + i] += n->normal2[i] * x[k];
  }
  for (; k < n->touch + n->first; ++k) {
    const int32_t i = contact[k];
    f[ld + i] += n->tangent1[i] * x[k];
    f[2 * ld + i] += n->tangent2[i] * x[k];
  }
  for (; k < n->n; ++k) f[2 * ld + contact[k]] += x[k];
}

// Sets the diagonal terms D.
static void set_diagonal(const rf_friction *s, double regular, double *d) {
  const rf_friction_unknowns *n = &s->unknown;
  for (int32_t k = 0; k < n->n; ++k) d[k] = regular + s->shift;
  for (int32_t k = n->touch; k < n->touch + n->first; ++k) d[k] += n->damped[n->contact[k]];
}

static bool solve_dense(rf_friction *s, const double *d, double *x) {
  const int32_t n = s->unknown.n, ld = rf_dense_ld(n + 1);
  RF_SIMD_CALL(s->set.simd, rf_friction_rows, s, ld);
  right_side(s, s->scratch);
  for (int32_t k = 0; k < n; ++k) {
    double *row = s->matrix + (int64_t)k * ld;
    row[k] += d[k];
    row[n] = s->scratch[k];
    for (int32_t i = n + 1; i < ld; ++i) row[i] = 0.0;
  }
  return rf_dense_eliminate_rt(s->set.simd, n, s->matrix, ld, s->panel, x);
}

// Writes the rows of P^T D^-1 and Q^T of unknown k.
static void fill_rows(const rf_friction *s, int32_t k, double d, double *p, double *q) {
  const rf_friction_unknowns *n = &s->unknown;
  const int32_t i = n->contact[k], ld = rf_dense_ld(s->rank);
  const double *v = s->factor + (int64_t)i * ld, *v1 = v + (int64_t)s->ld * ld;
  const double *v2 = v1 + (int64_t)s->ld * ld;
  if (k < n->touch) {
    const double e1 = n->normal1[i], e2 = n->normal2[i];
    for (int32_t j = 0; j < ld; ++j) p[j] = (v[j] + (e1 * v1[j] + e2 * v2[j])) / d;
    memcpy(q, v, (size_t)ld * sizeof *q);
    return;
  }
  const bool second = k >= n->touch + n->first;
  const double t1 = second ? 0.0 : n->tangent1[i], t2 = second ? 1.0 : n->tangent2[i];
  for (int32_t j = 0; j < ld; ++j) q[j] = t1 * v1[j] + t2 * v2[j];
  for (int32_t j = 0; j < ld; ++j) p[j] = q[j] / d;
}

static bool solve_low_rank(rf_friction *s, const double *d, double *x) {
  const int32_t n = s->unknown.n, r = s->rank, ld = rf_dense_ld(r);
  const int32_t wide = rf_dense_ld(r + 1);
  double *p = s->rows, *q = s->rows + (int64_t)n * ld, *b = s->scratch, *z = s->panel + 8 * wide;
  double *a = s->matrix, *products = a + (int64_t)r * wide;
  right_side(s, b);
  memset(products, 0, (size_t)ld * (size_t)ld * sizeof *products);
  memset(z, 0, (size_t)wide * sizeof *z);
  for (int32_t k = 0; k < n; ++k) {
    fill_rows(s, k, d[k], p + (int64_t)k * ld, q + (int64_t)k * ld);
    for (int32_t j = 0; j < ld; ++j) z[j] += b[k] * p[(int64_t)k * ld + j];
  }
  rf_dense_add_products_rt(s->set.simd, r, r, n, p, ld, q, ld, products);
  for (int32_t j = 0; j < r; ++j) {
    double *row = a + (int64_t)j * wide;
    memset(row, 0, (size_t)wide * sizeof *row);
    memcpy(row, products + (int64_t)j * ld, (size_t)r * sizeof *row);
    row[j] += 1.0;
    row[r] = z[j];
  }
  if (!rf_dense_eliminate_rt(s->set.simd, r, a, wide, s->panel, z)) return false;
  for (int32_t k = 0; k < n; ++k) {
    const double *row = q + (int64_t)k * ld;
    double sum = 0.0;
    for (int32_t j = 0; j < r; ++j) sum += row[j] * z[j];
    x[k] = (b[k] - sum) / d[k];
  }
  return true;
}

static bool is_low_rank(const rf_friction *s) {
  return s->rank > 0 && (rf_friction_is_by_factor(s) || s->unknown.n > 1.25 * s->rank);
}

// Fits measured times of 2 to 180 unknowns within a third.
double rf_friction_step_work_rt(const rf_friction *s) {
  const bool low = is_low_rank(s);
  const double k = s->unknown.n, n = low ? s->rank : k;
  const double products = low ? k * n * (3.0 * n + 100.0) : 0.0;
  return 6e4 + n * n * (130.0 + 0.1 * n) + products;
}

void rf_friction_judge_rt(rf_friction *s, double gain_n, double gain_t) {
  double *before = s->increment;
  memcpy(before, s->force, 3 * (size_t)s->ld * sizeof *before);
  count_unknowns(s, gain_n, gain_t);
  rf_friction_move_on_rt(s, before, s->moved, s->force, s->moved);
}

bool rf_friction_step_rt(rf_friction *s, double regular) {
  double *x = s->increment, *d = s->diagonal, sum = 0.0;
  ++s->report.steps;
  if (s->unknown.n == 0) {
    rf_friction_move_rt(s, s->force, s->moved);
    return true;
  }
  const bool low = is_low_rank(s);
  set_diagonal(s, low ? s->compliance + fmax(regular, LEAST) : regular, d);
  if (!(low ? solve_low_rank(s, d, x) : solve_dense(s, d, x))) return false;
  for (int32_t k = 0; k < s->unknown.n; ++k) sum += 0.0 * x[k];
  if (sum != 0.0) return false;
  add_increment(s, x);
  rf_friction_move_rt(s, s->force, s->moved);
  return true;
}
