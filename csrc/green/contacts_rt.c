#include <math.h>
#include <string.h>

#include "green/contacts_state.h"
#include "green/packed.h"
#include "linalg/dense_rt.h"
#include "linalg/vec3.h"

enum {
  WIDE = 4,  // vectors side by side
  REFINE = 4
};

static const double SMALL = 1e-12;     // a pivot below this part of its compliance counts as zero
static const double ACCURACY = 1e-13;  // of a residual, relative to the displacements
static const double ENOUGH = 1e-6;     // the largest residual that is accepted

// Inverts a symmetric positive definite block of n rows, n <= 3.  False where a pivot is lost
// relative to `own`.
static bool invert(int32_t n, const double own[3], const double a[9], double out[9]) {
  double l[9] = {0};  // factor L, then its inverse
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j) {
      double sum = a[3 * i + j];
      for (int k = 0; k < j; ++k) sum -= l[3 * i + k] * l[3 * j + k];
      if (i != j) {
        l[3 * i + j] = sum / l[3 * j + j];
      } else {
        if (!(sum > SMALL * own[i])) return false;
        l[3 * i + i] = sqrt(sum);
      }
    }
  double m[9] = {0};
  for (int j = 0; j < n; ++j)
    for (int i = j; i < n; ++i) {
      double sum = i == j ? 1.0 : 0.0;
      for (int k = j; k < i; ++k) sum -= l[3 * i + k] * m[3 * k + j];
      m[3 * i + j] = sum / l[3 * i + i];
    }
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      out[3 * i + j] = 0.0;
      for (int k = i > j ? i : j; k < n; ++k) out[3 * i + j] += m[3 * k + i] * m[3 * k + j];
    }
  return true;
}

// Returns the displacement along row p of contact a by a force along row q of contact b.
static double along(const rf_green_held *a, int p, const rf_green_held *b, int q,
                    const double block[9]) {
  if (a->rows == 3 && b->rows == 3) return block[3 * p + q];
  double moved[3];
  for (int c = 0; c < 3; ++c)
    moved[c] = b->rows == 3 ? block[3 * c + q] : rf_vec3_dot(block + 3 * c, b->normal);
  return a->rows == 3 ? moved[p] : rf_vec3_dot(a->normal, moved);
}

// Copies the block of two places, of lifted Green's functions with supports released.
static void block_of(const rf_green_contacts *c, int32_t i, int32_t j, double block[9]) {
  rf_green_lifted_block_rt(c->g, c->lift, i, j, block);
  const int32_t n = c->released;
  for (int q = 0; q < 9 && n > 0; ++q) {
    const double *a = c->release + (3 * (int64_t)i + q / 3) * n;
    const double *b = c->release + (3 * (int64_t)j + q % 3) * n;
    for (int32_t k = 0; k < n; ++k) block[q] += a[k] * b[k];
  }
}

// Fills the couplings of a new contact with the rows before.
static void couple(rf_green_contacts *c, const rf_green_held *with) {
  memset(c->coupling, 0, WIDE * (size_t)c->ld * sizeof *c->coupling);
  for (int32_t k = 0; k < c->count; ++k) {
    const rf_green_held *h = &c->held[k];
    double block[9];
    block_of(c, h->place, with->place, block);
    for (int p = 0; p < h->rows; ++p)
      for (int q = 0; q < with->rows; ++q)
        c->coupling[WIDE * h->row[p] + q] = along(h, p, with, q, block);
  }
}

// scaled = M x for three vectors of c->n numbers.
static void scale(rf_green_contacts *c, int32_t rows, const double m[9]) {
  for (int p = 0; p < rows; ++p)
    for (int32_t i = 0; i < c->ld; ++i) {
      double sum = 0.0;
      for (int q = 0; q < rows; ++q) sum += m[3 * p + q] * c->x[q * c->ld + i];
      c->scaled[p * c->ld + i] = sum;
    }
}

// Inverts the compliance from scratch (Gauss-Jordan; it is positive definite).  False where a pivot
// is lost.
static bool renew(rf_green_contacts *c) {
  const int32_t n = c->n;
  const int64_t ld = c->ld;
  double *s = c->inverse;
  memcpy(s, c->compliance, (size_t)(ld * ld) * sizeof *s);
  for (int32_t k = 0; k < n; ++k) {
    if (!(s[k * ld + k] > SMALL * c->compliance[k * ld + k])) return false;
    const double pivot = 1.0 / s[k * ld + k];
    s[k * ld + k] = 1.0;
    for (int32_t j = 0; j < n; ++j) s[k * ld + j] *= pivot;
    for (int32_t i = 0; i < n; ++i) {
      const double factor = s[i * ld + k];
      if (i == k) continue;
      s[i * ld + k] = 0.0;
      for (int32_t j = 0; j < n; ++j) s[i * ld + j] -= factor * s[k * ld + j];
    }
  }
  return true;
}

bool rf_green_contacts_refill(rf_green_contacts *c, double lift) {
  c->lift = lift;
  for (int32_t k = 0; k < c->count; ++k)
    for (int32_t l = 0; l <= k; ++l) {
      const rf_green_held *a = &c->held[k], *b = &c->held[l];
      double block[9];
      block_of(c, a->place, b->place, block);
      for (int p = 0; p < a->rows; ++p)
        for (int q = 0; q < b->rows; ++q) {
          const int32_t i = a->row[p], j = b->row[q];
          c->compliance[(int64_t)i * c->ld + j] = c->compliance[(int64_t)j * c->ld + i] =
              along(a, p, b, q, block);
        }
    }
  return renew(c);
}

// Inverts what the contacts before leave of the own block of a new one; fills its couplings B and
// X = S B.
static bool couple_definite(rf_green_contacts *c, const rf_green_held *own, double block[9],
                            double inverse[9]) {
  const int32_t n = c->n, ld = c->ld;
  double rest[9] = {0}, size[3] = {0};
  couple(c, own);
  memset(c->x, 0, WIDE * (size_t)ld * sizeof *c->x);
  rf_dense_add_products_rt(c->g->simd, WIDE, n, n, c->coupling, WIDE, c->inverse, ld, c->x);
  block_of(c, own->place, own->place, block);
  for (int p = 0; p < own->rows; ++p)
    for (int q = 0; q <= p; ++q) {
      double sum = along(own, p, own, q, block);
      if (p == q) size[p] = sum;
      for (int32_t i = 0; i < n; ++i) sum -= c->coupling[WIDE * i + p] * c->x[q * ld + i];
      rest[3 * p + q] = rest[3 * q + p] = sum;
    }
  return invert(own->rows, size, rest, inverse);
}

rf_status rf_green_contacts_add_rt(rf_green_contacts *c, int32_t place, const double *normal) {
  if (c->count == c->most) return RF_ERR_ARG;
  if (c->stale) return RF_ERR_SINGULAR;
  const rf_simd simd = c->g->simd;
  const int32_t n = c->n, ld = c->ld;
  rf_green_held own = {.place = place, .rows = normal ? 1 : 3};
  if (normal) memcpy(own.normal, normal, sizeof own.normal);
  double block[9], inverse[9] = {0};
  if (!couple_definite(c, &own, block, inverse)) return RF_ERR_SINGULAR;
  scale(c, own.rows, inverse);
  rf_dense_add_products_rt(simd, rf_dense_ld(n), n, own.rows, c->scaled, ld, c->x, ld, c->inverse);
  for (int p = 0; p < own.rows; ++p) {
    const int32_t row = n + p;
    own.row[p] = row;
    c->owner[row] = c->count;
    for (int32_t i = 0; i < n; ++i) {
      c->compliance[row * ld + i] = c->compliance[i * ld + row] = c->coupling[WIDE * i + p];
      c->inverse[row * ld + i] = c->inverse[i * ld + row] = -c->scaled[p * ld + i];
    }
    for (int q = 0; q < own.rows; ++q) {
      c->compliance[row * ld + n + q] = along(&own, p, &own, q, block);
      c->inverse[row * ld + n + q] = inverse[3 * p + q];
    }
  }
  c->n += own.rows;
  c->held[c->count++] = own;
  return RF_OK;
}

// Removes a row and column of a symmetric matrix: the last takes its place.
static void replace_by_last(double *a, int32_t ld, int32_t row, int32_t last) {
  if (row != last) {
    memcpy(a + (int64_t)row * ld, a + (int64_t)last * ld, (size_t)ld * sizeof *a);
    for (int32_t i = 0; i < last; ++i) a[i * ld + row] = a[row * ld + i];
    a[row * ld + row] = a[last * ld + last];
  }
  memset(a + (int64_t)last * ld, 0, (size_t)ld * sizeof *a);
  for (int32_t i = 0; i <= last; ++i) a[i * ld + last] = 0.0;
}

static void remove_row(rf_green_contacts *c, int32_t row) {
  const int32_t last = --c->n;
  replace_by_last(c->compliance, c->ld, row, last);
  replace_by_last(c->inverse, c->ld, row, last);
  rf_green_held *moved = &c->held[c->owner[last]];
  for (int p = 0; p < moved->rows; ++p)
    if (moved->row[p] == last) moved->row[p] = row;
  c->owner[row] = c->owner[last];
}

void rf_green_contacts_remove_rt(rf_green_contacts *c, int32_t k) {
  const rf_green_held *h = &c->held[k];
  const int32_t ld = c->ld;
  const double none[3] = {0};
  double own[9] = {0}, m[9] = {0};
  for (int p = 0; p < h->rows; ++p) {
    memcpy(c->x + p * ld, c->inverse + (int64_t)h->row[p] * ld, (size_t)ld * sizeof *c->x);
    for (int q = 0; q < h->rows; ++q) own[3 * p + q] = c->x[p * ld + h->row[q]];
  }
  // rounding may make a diagonal block of S indefinite where contacts are nearly dependent
  const bool sound = !c->stale && invert(h->rows, none, own, m);
  if (sound) {
    for (int q = 0; q < 9; ++q) m[q] = -m[q];
    scale(c, h->rows, m);
    rf_dense_add_products_rt(c->g->simd, rf_dense_ld(c->n), c->n, h->rows, c->scaled, ld, c->x, ld,
                             c->inverse);
  }
  for (int p = 0; p < h->rows; ++p) remove_row(c, c->held[k].row[p]);
  --c->count;
  if (c->count == 0) c->lift = 0.0;
  memmove(c->held + k, c->held + k + 1, (size_t)(c->count - k) * sizeof *c->held);
  for (int32_t i = 0; i < c->n; ++i)
    if (c->owner[i] > k) --c->owner[i];
  if (!sound) c->stale = !renew(c);
}

// Returns the largest magnitude; NaN if there is one.
static double largest(const double *x, int32_t n) {
  double most = 0.0;
  for (int32_t i = 0; i < n && !isnan(most); ++i)
    if (!(fabs(x[i]) <= most)) most = fabs(x[i]);
  return most;
}

// Solves by S for the target, and refines the forces; returns the largest residual.
static double refine(rf_green_contacts *c, double size) {
  const int32_t n = c->n, ld = c->ld;
  double error = INFINITY;
  memset(c->force, 0, (size_t)ld * sizeof *c->force);
  memcpy(c->residual, c->target, (size_t)ld * sizeof *c->residual);
  for (int step = 0; step < REFINE && error > ACCURACY * size; ++step) {
    rf_dense_multiply_rt(c->g->simd, n, c->inverse, ld, c->residual, c->x);
    for (int32_t i = 0; i < n; ++i) c->force[i] += c->x[i];
    rf_dense_multiply_rt(c->g->simd, n, c->compliance, ld, c->force, c->residual);
    for (int32_t i = 0; i < n; ++i) c->residual[i] = c->target[i] - c->residual[i];
    error = largest(c->residual, n);
  }
  return error;
}

rf_status rf_green_contacts_solve_rt(rf_green_contacts *c, const double *displacement,
                                     double *force) {
  const int32_t n = c->n, ld = c->ld;
  memset(force, 0, 3 * (size_t)c->count * sizeof *force);
  if (c->stale) return RF_ERR_SINGULAR;
  for (int32_t k = 0; k < c->count; ++k) {
    const rf_green_held *h = &c->held[k];
    const double *d = displacement + 3 * (int64_t)k;
    for (int p = 0; p < h->rows; ++p)
      c->target[h->row[p]] = h->rows == 3 ? d[p] : rf_vec3_dot(h->normal, d);
  }
  for (int32_t i = n; i < ld; ++i) c->target[i] = 0.0;
  const double size = largest(c->target, n);
  double error = refine(c, size);
  if (isfinite(error) && error > ENOUGH * size && renew(c)) error = refine(c, size);
  if (!isfinite(error)) return RF_ERR_ARG;
  if (!(error <= ENOUGH * size)) return RF_ERR_SINGULAR;
  for (int32_t k = 0; k < c->count; ++k) {
    const rf_green_held *h = &c->held[k];
    for (int p = 0; p < 3; ++p)
      force[3 * (int64_t)k + p] =
          h->rows == 3 ? c->force[h->row[p]] : c->force[h->row[0]] * h->normal[p];
  }
  return RF_OK;
}
