#include "world/multibody_limits.h"

#include <math.h>

enum { PAST = RF_FRICTION_PAST };
static const double LEAST_PIVOT = 1e-12;  // relative to the largest one
// Growth of the residual that forgets earlier choices.
static const double WORSE = 2.0;
// Most choices without half of the least residual: with mixing, with damping.
enum { PATIENCE = 6, LONG_PATIENCE = 60 };
// Parts of the way that damped limits move: the first, the least, and their change.
static const double HALF = 0.5, LEAST = 0.01, LARGER = 1.1, SMALLER = 0.5;

// Normal equations for the parts of the earlier choices.
typedef struct mixture {
  int32_t n;
  double matrix[PAST][PAST], right[PAST], part[PAST];
} mixture;

static bool slips(const rf_pair_friction *f, int32_t i) {
  const double *trial = f->trial + 2 * (size_t)i, least = fmin(f->limit[i], f->before[i]);
  return trial[0] * trial[0] + trial[1] * trial[1] > least * least;
}

// Earlier choices of a point: residual and force, each.
static double *past_of(const rf_pair_friction *f, int32_t i) {
  return f->past + 2 * PAST * (size_t)i;
}

static void add_pair(const rf_pair_rows *t, mixture *m) {
  const rf_pair_friction *f = &t->friction;
  for (int32_t i = 0; i < t->n_rows; ++i) {
    const double residual = f->limit[i] - f->before[i], *past = past_of(f, i);
    if (!slips(f, i)) continue;
    for (int32_t a = 0; a < m->n; ++a) {
      const double change = residual - past[2 * a];
      m->right[a] += change * residual;
      for (int32_t b = 0; b <= a; ++b) m->matrix[a][b] += change * (residual - past[2 * b]);
    }
  }
}

// Solves by elimination without the directions that nearly depend on others.
static void solve(mixture *m) {
  double largest = 0.0;
  for (int32_t a = 0; a < m->n; ++a) largest = fmax(largest, m->matrix[a][a]);
  for (int32_t a = 0; a < m->n; ++a)
    for (int32_t b = 0; b < a; ++b) m->matrix[b][a] = m->matrix[a][b];
  for (int32_t a = 0; a < m->n; ++a) {
    if (!(m->matrix[a][a] > LEAST_PIVOT * largest)) {
      m->matrix[a][a] = INFINITY;  // its part is zero
      continue;
    }
    for (int32_t b = a + 1; b < m->n; ++b) {
      const double factor = m->matrix[b][a] / m->matrix[a][a];
      for (int32_t c = a; c < m->n; ++c) m->matrix[b][c] -= factor * m->matrix[a][c];
      m->right[b] -= factor * m->right[a];
    }
  }
  for (int32_t a = m->n - 1; a >= 0; --a) {
    double sum = m->right[a];
    for (int32_t b = a + 1; b < m->n; ++b) sum -= m->matrix[a][b] * m->part[b];
    m->part[a] = sum / m->matrix[a][a];
  }
}

// Moves a limit a part of its way.
static double move(const rf_multibody_limits *l, rf_pair_friction *f, int32_t i) {
  const double way = f->limit[i] - f->before[i];
  const double before = past_of(f, i)[2 * ((l->next + PAST - 1) % PAST)];
  double *part = f->part + i;
  if (l->begins)
    *part = HALF;
  else if (l->count)
    *part = way * before < 0.0 ? fmax(LEAST, SMALLER * *part) : fmin(1.0, LARGER * *part);
  return f->before[i] + *part * way;
}

static void mix_pair(const rf_multibody_limits *l, const mixture *m, rf_pair_rows *t) {
  rf_pair_friction *f = &t->friction;
  for (int32_t i = 0; i < t->n_rows; ++i) {
    const double force = f->limit[i];
    double *past = past_of(f, i), mixed = force;
    if (l->damped) mixed = move(l, f, i);
    for (int32_t a = 0; a < m->n && slips(f, i); ++a)
      mixed -= m->part[a] * (force - past[2 * a + 1]);
    past[2 * l->next] = force - f->before[i];
    past[2 * l->next + 1] = force;
    f->limit[i] = fmax(0.0, mixed);
  }
}

// Forgets choices that have made the residual worse, and changes the way where it stays.
static void judge(rf_multibody_limits *l, double left) {
  if (left > WORSE * l->last) l->count = l->next = 0;
  l->last = left;
  l->begins = false;
  if (l->least == 0.0 || left < 0.5 * l->least) {
    l->least = left;
    l->waited = 0;
    l->damped = false;
  } else if (++l->waited > (l->damped ? LONG_PATIENCE : PATIENCE)) {
    l->waited = 0;
    l->damped = l->begins = !l->damped;
    if (!l->damped) l->count = l->next = 0;
  }
}

void rf_multibody_limits_mix(rf_multibody_limits *l, double left, bool far, int32_t n_pairs,
                             rf_pair_rows *const *pairs) {
  judge(l, left);
  mixture m = {.n = l->damped || far ? 0 : l->count};
  for (int32_t k = 0; k < n_pairs; ++k)
    if (pairs[k]->friction.mu > 0.0) add_pair(pairs[k], &m);
  solve(&m);
  for (int32_t k = 0; k < n_pairs; ++k)
    if (pairs[k]->friction.mu > 0.0) mix_pair(l, &m, pairs[k]);
  l->next = (l->next + 1) % PAST;
  if (l->count < PAST) ++l->count;
}
