#include "constraint/pyramid.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

#define TWO_PI 6.283185307179586

// Of one contact: f_n, b of each side, l.  W is divided by its mean diagonal entry, displacements
// by the largest one, so that all entries are of order one.
typedef struct pyramid {
  int32_t m, sides, each;  // unknowns of a contact
  double mean, largest;
  double *unit;    // force (3) of each unknown  (each, 3); l: zero
  double *matrix;  // (m each, m each)
  double *side;    // (m each)
} pyramid;

static void set_units(pyramid *p) {
  p->unit[0] = 1.0;
  for (int32_t j = 0; j < p->sides; ++j) {
    const double angle = TWO_PI * j / p->sides;
    p->unit[3 * (j + 1) + 1] = cos(angle);
    p->unit[3 * (j + 1) + 2] = sin(angle);
  }
}

// Fills the block of the equations of contact i and the unknowns of contact k.
static void fill_block(pyramid *p, const double *w, int32_t i, int32_t k) {
  const int32_t n = p->m * p->each;
  for (int32_t a = 0; a <= p->sides; ++a)
    for (int32_t b = 0; b <= p->sides; ++b) {
      double sum = 0.0;
      for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 3; ++c)
          sum += p->unit[3 * a + r] * w[(3 * (int64_t)i + r) * 3 * p->m + 3 * k + c] *
                 p->unit[3 * b + c];
      p->matrix[((int64_t)i * p->each + a) * n + k * p->each + b] = sum / p->mean;
    }
}

static void fill_own(pyramid *p, const double *free, const double *mu, int32_t i) {
  const int32_t n = p->m * p->each, last = p->each - 1;
  double *first = p->matrix + (int64_t)i * p->each * n + i * p->each;
  for (int32_t a = 1; a <= p->sides; ++a) {
    first[(int64_t)a * n + last] = 1.0;
    first[(int64_t)last * n + a] = -1.0;
  }
  first[(int64_t)last * n] = mu[i];
  for (int32_t a = 0; a <= p->sides; ++a)
    for (int r = 0; r < 3; ++r)
      p->side[i * p->each + a] += p->unit[3 * a + r] * free[3 * i + r] / p->largest;
}

static void set_scales(pyramid *p, const double *w, const double *free) {
  double trace = 0.0, largest = 0.0;
  for (int64_t i = 0; i < 3 * (int64_t)p->m; ++i) {
    trace += w[i * (3 * p->m + 1)];
    largest = fmax(largest, fabs(free[i]));
  }
  p->mean = trace > 0.0 ? trace / (3 * p->m) : 1.0;
  p->largest = largest > 0.0 ? largest : 1.0;
}

rf_status rf_pyramid_solve(int32_t m, int32_t sides, const double *w, const double *free,
                           const double *mu, const rf_run *run, double *force,
                           rf_lemke_report *report, rf_error *err) {
  rf_status st = RF_OK;
  double *z = NULL;
  pyramid p = {.m = m, .sides = sides, .each = sides + 2};
  if (sides < 3 || sides > RF_PYRAMID_SIDES)
    return rf_fail(err, RF_ERR_ARG, "sides must be between 3 and %d, got %d", RF_PYRAMID_SIDES,
                   sides);
  if (m < 1 || (int64_t)m * p.each > RF_PYRAMID_UNKNOWNS)
    return rf_fail(err, RF_ERR_ARG, "%d contacts with %d sides make %lld unknowns; at most %d", m,
                   sides, (long long)m * p.each, RF_PYRAMID_UNKNOWNS);
  const int32_t n = m * p.each;
  RF_ALLOC(p.unit, 3 * p.each);
  RF_ALLOC(p.matrix, (int64_t)n * n);
  RF_ALLOC(p.side, n);
  RF_ALLOC(z, n);
  set_units(&p);
  set_scales(&p, w, free);
  for (int32_t i = 0; i < m; ++i) {
    for (int32_t k = 0; k < m; ++k) fill_block(&p, w, i, k);
    fill_own(&p, free, mu, i);
  }
  RF_TRY(rf_lemke(n, p.matrix, p.side, run, z, report, err));
  memset(force, 0, 3 * (size_t)m * sizeof *force);
  for (int32_t i = 0; i < m && !report->failed; ++i)
    for (int32_t a = 0; a <= sides; ++a)
      for (int r = 0; r < 3; ++r)
        force[3 * i + r] += z[i * p.each + a] * p.unit[3 * a + r] * p.largest / p.mean;
done:
  rf_free(p.unit);
  rf_free(p.matrix);
  rf_free(p.side);
  rf_free(z);
  return st;
}
