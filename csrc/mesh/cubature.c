#include "mesh/cubature.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "mesh/reference.h"

// Four partial sums shorten the dependency chain of dot products.
typedef double four __attribute__((vector_size(32), aligned(8), may_alias));

enum {
  DEGREES = 5,       // Legendre polynomials per axis
  BATCH = 12,        // most columns added at once
  STEEPEST = 48,     // columns from which a batch is chosen
  MOST_ROUNDS = 400  // limit, far above the usual number
};
static const double NEARLY = 1e-11;    // relative residual below which only rounding is left
static const double GOAL = 4e-15;      // relative residual at which the iteration stops
static const double ACCEPTED = 5e-14;  // largest accepted relative residual of a rule
static const double SIMILAR = 0.7;     // largest cosine between columns added together
static const double EAGER = 0.3;  // smallest gradient, relative to the steepest, of added columns
static const double CANCELS = 0.05;    // norm left of a unit column: orthogonalise again below
static const double DEPENDENT = 1e-9;  // norm left of a unit column: dependent below

struct rf_cut_work {
  double column[RF_CUT_CANDIDATES][RF_CUT_MOMENTS];  // moments of a unit weight, scaled to norm 1
  double norm[RF_CUT_CANDIDATES];                    // norms before scaling
  double gradient[RF_CUT_CANDIDATES];
  int order[STEEPEST];                       // candidates with the largest gradients, descending
  double q[RF_CUT_MOMENTS][RF_CUT_MOMENTS];  // orthonormal vectors, one per row
  double r[RF_CUT_MOMENTS][RF_CUT_MOMENTS];  // triangular factor, column j in row j
  double target[RF_CUT_MOMENTS], residual[RF_CUT_MOMENTS];
  double projected[RF_CUT_MOMENTS];  // q . target
  double x[RF_CUT_MOMENTS], trial[RF_CUT_MOMENTS];
  int active[RF_CUT_MOMENTS];  // candidates in the rule
  int count, moments;
  bool banned[RF_CUT_CANDIDATES];  // linearly dependent on active columns
  bool used[RF_CUT_CANDIDATES];
  rf_cut_rule result;
};

rf_status rf_cut_work_create(rf_cut_work **out, rf_error *err) {
  rf_status st = RF_OK;
  RF_ALLOC(*out, 1);
done:
  return st;
}

void rf_cut_work_free(rf_cut_work *work) { rf_free(work); }

// ---- candidates -----------------------------------------------------------------------

// Computes the roots, ascending, of the characteristic polynomial of the Jacobi matrix with
// diagonal alpha and squared off-diagonal beta, n <= 3.
static void jacobi_roots(int n, const double *alpha, const double *beta, double *root) {
  if (n == 1) {
    root[0] = alpha[0];
  } else if (n == 2) {
    const double mean = 0.5 * (alpha[0] + alpha[1]), half = 0.5 * (alpha[0] - alpha[1]);
    const double span = sqrt(half * half + beta[1]);
    root[0] = mean - span;
    root[1] = mean + span;
  } else {
    // trigonometric solution for a symmetric 3 x 3 matrix
    const double mean = (alpha[0] + alpha[1] + alpha[2]) / 3.0;
    const double a = alpha[0] - mean, b = alpha[1] - mean, c = alpha[2] - mean;
    const double p = sqrt((a * a + b * b + c * c + 2.0 * (beta[1] + beta[2])) / 6.0);
    const double det = a * b * c - a * beta[2] - c * beta[1];
    const double cosine = fmax(-1.0, fmin(1.0, 0.5 * det / (p * p * p)));
    const double angle = acos(cosine) / 3.0, third = 2.0943951023931954923;
    root[0] = mean + 2.0 * p * cos(angle + third);
    root[1] = mean + 2.0 * p * cos(angle - third);
    root[2] = mean + 2.0 * p * cos(angle);
  }
}

// Computes a Gauss-Radau rule of n points for the density `fraction` on equal sub-cells of [-1, 1]:
// exact for polynomials of degree 2 n - 2, with a point at the lower or upper end of the filled
// part.  Returns the number of points, 0 for an empty row.
static int row_rule(int n, const double *fraction, bool upper, double *point, double *weight) {
  static const double gauss[3] = {-RF_GAUSS_3, 0.0, RF_GAUSS_3};
  static const double gauss_weight[3] = {5.0 / 18.0, 8.0 / 18.0, 5.0 / 18.0};
  double x[3 * RF_CUT_SUB], w[3 * RF_CUT_SUB], total = 0.0;
  int count = 0;
  for (int i = 0; i < RF_CUT_SUB; ++i)
    for (int g = 0; g < 3 && fraction[i] > 0.0; ++g, ++count) {
      x[count] = (2.0 * i + 1.0 + gauss[g]) / RF_CUT_SUB - 1.0;
      w[count] = fraction[i] * gauss_weight[g] * 2.0 / RF_CUT_SUB;
      total += w[count];
    }
  if (count == 0) return 0;
  // values of two successive monic orthogonal polynomials at the points
  double alpha[3] = {0}, beta[3] = {0}, now[3 * RF_CUT_SUB], last[3 * RF_CUT_SUB], norm_last = 1.0;
  for (int i = 0; i < count; ++i) now[i] = 1.0, last[i] = 0.0;
  for (int k = 0; k < n; ++k) {
    double norm = 0.0, first = 0.0;
    for (int i = 0; i < count; ++i) {
      norm += w[i] * now[i] * now[i];
      first += w[i] * x[i] * now[i] * now[i];
    }
    alpha[k] = first / norm;
    beta[k] = k == 0 ? 0.0 : norm / norm_last;
    norm_last = norm;
    for (int i = 0; i < count; ++i) {
      const double next = (x[i] - alpha[k]) * now[i] - beta[k] * last[i];
      last[i] = now[i];
      now[i] = next;
    }
  }
  // last coefficient, chosen so that the end is a root
  const double half = (1.0 - RF_GAUSS_3) / RF_CUT_SUB;
  const double end = upper ? x[count - 1] + half : x[0] - half;
  double at_end = 1.0, before_end = 0.0;
  for (int k = 0; k + 1 < n; ++k) {
    const double next = (end - alpha[k]) * at_end - beta[k] * before_end;
    before_end = at_end;
    at_end = next;
  }
  alpha[n - 1] = end - beta[n - 1] * before_end / at_end;
  jacobi_roots(n, alpha, beta, point);
  for (int i = 0; i < n; ++i) {
    // polish the root, then compute the Christoffel number
    double sum = 0.0;
    for (int pass = 0; pass < 3; ++pass) {
      double p = 1.0, before = 0.0, d = 0.0, d_before = 0.0, norm = total;
      sum = 0.0;
      for (int k = 0; k < n; ++k) {
        if (k > 0) norm *= beta[k];
        sum += p * p / norm;
        const double next = (point[i] - alpha[k]) * p - beta[k] * before;
        const double d_next = p + (point[i] - alpha[k]) * d - beta[k] * d_before;
        before = p, d_before = d;
        p = next, d = d_next;
      }
      if (pass < 2) point[i] -= p / d;
    }
    weight[i] = 1.0 / sum;
  }
  return n;
}

// Returns the index of sub-cell (i, j, k), where i counts along `axis`, j and k along the next two.
static int place(int axis, int i, int j, int k) {
  static const int stride[3] = {1, RF_CUT_SUB, RF_CUT_SUB * RF_CUT_SUB};
  return i * stride[axis] + j * stride[(axis + 1) % 3] + k * stride[(axis + 2) % 3];
}

// Returns the axis with the fewest filled rows.
static int fewest_rows(const double *fraction) {
  int best = 0, least = RF_CUT_SUBS;
  for (int axis = 0; axis < 3; ++axis) {
    int rows = 0;
    for (int k = 0; k < RF_CUT_SUB; ++k)
      for (int j = 0; j < RF_CUT_SUB; ++j) {
        double sum = 0.0;
        for (int i = 0; i < RF_CUT_SUB; ++i) sum += fraction[place(axis, i, j, k)];
        rows += sum > 0.0;
      }
    if (rows >= least) continue;
    least = rows;
    best = axis;
  }
  return best;
}

void rf_cut_candidates(int order, const double fraction[RF_CUT_SUBS], rf_cut_rule *out) {
  const int axis = fewest_rows(fraction);
  out->count = 0;
  for (int k = 0; k < RF_CUT_SUB; ++k)
    for (int j = 0; j < RF_CUT_SUB; ++j) {
      double row[RF_CUT_SUB], x[3] = {0}, w[3] = {0};
      for (int i = 0; i < RF_CUT_SUB; ++i) row[i] = fraction[place(axis, i, j, k)];
      int n = 0;
      for (int g = 0; g < 4; ++g) {
        // alternate the ends: otherwise few distinct points along the rows make moments dependent
        if (g % 2 == 0) n = row_rule(order + 1, row, (j + k + g / 2) % 2 > 0, x, w);
        const double y = (2.0 * j + 1.0 + (g % 2 ? RF_GAUSS_2 : -RF_GAUSS_2)) / RF_CUT_SUB - 1.0;
        const double z = (2.0 * k + 1.0 + (g / 2 ? RF_GAUSS_2 : -RF_GAUSS_2)) / RF_CUT_SUB - 1.0;
        for (int i = 0; i < n; ++i, ++out->count) {
          double *to = out->point[out->count];
          to[axis] = x[i];
          to[(axis + 1) % 3] = y;
          to[(axis + 2) % 3] = z;
          out->weight[out->count] = w[i] / (RF_CUT_SUB * RF_CUT_SUB);
        }
      }
    }
}

// ---- reduction ------------------------------------------------------------------------

static double dot(int n, const double *x, const double *y) {
  four sum = {0};
  int i = 0;
  for (; i + 4 <= n; i += 4) sum += *(const four *)(x + i) * *(const four *)(y + i);
  double rest = 0.0;
  for (; i < n; ++i) rest += x[i] * y[i];
  return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + rest;
}

static void add(int n, double factor, const double *x, double *y) {
  for (int i = 0; i < n; ++i) y[i] += factor * x[i];
}

// Values of the Legendre polynomials, normalised to unit mean square over [-1, 1].
static void legendre(double t, double p[DEGREES]) {
  double a = 1.0, b = t;
  p[0] = 1.0;
  p[1] = sqrt(3.0) * t;
  for (int k = 2; k < DEGREES; ++k) {
    const double c = ((2 * k - 1) * t * b - (k - 1) * a) / k;
    a = b;
    b = c;
    p[k] = sqrt(2.0 * k + 1.0) * c;
  }
}

// Fills the columns of all candidates, in coordinates of their bounding box.
static void fill_columns(int order, const rf_cut_rule *rule, rf_cut_work *w) {
  double low[3], high[3];
  memcpy(low, rule->point[0], sizeof low);
  memcpy(high, rule->point[0], sizeof high);
  for (int n = 1; n < rule->count; ++n)
    for (int c = 0; c < 3; ++c) {
      low[c] = fmin(low[c], rule->point[n][c]);
      high[c] = fmax(high[c], rule->point[n][c]);
    }
  const int degree = 2 * order, total = order == 1 ? 6 : 6;
  w->moments = rf_cut_moments(order);
  memset(w->target, 0, sizeof w->target);
  for (int n = 0; n < rule->count; ++n) {
    double p[3][DEGREES];
    for (int c = 0; c < 3; ++c)
      legendre((2.0 * rule->point[n][c] - low[c] - high[c]) / (high[c] - low[c]), p[c]);
    double *to = w->column[n];
    for (int k = 0; k <= degree; ++k)
      for (int j = 0; j <= degree && j + k <= total; ++j)
        for (int i = 0; i <= degree && i + j + k <= total; ++i)
          *to++ = p[0][i] * (p[1][j] * p[2][k]);
    add(w->moments, rule->weight[n], w->column[n], w->target);
    w->norm[n] = sqrt(dot(w->moments, w->column[n], w->column[n]));
    for (int m = 0; m < w->moments; ++m) w->column[n][m] /= w->norm[n];
  }
}

// Appends a candidate; false when it depends on the active ones.
static bool enter(rf_cut_work *w, int candidate) {
  const int k = w->count, m = w->moments;
  if (k >= m) return false;
  double *v = w->q[k], *r = w->r[k];
  memcpy(v, w->column[candidate], (size_t)m * sizeof *v);
  memset(r, 0, (size_t)(k + 1) * sizeof *r);
  double norm = 0.0;
  // orthogonalise again after cancellation: twice is enough (Giraud & Langou 2002)
  for (int pass = 0; pass < 2 && norm < CANCELS; ++pass) {
    for (int j = 0; j < k; ++j) {
      const double h = dot(m, w->q[j], v);
      add(m, -h, w->q[j], v);
      r[j] += h;
    }
    norm = sqrt(dot(m, v, v));
  }
  if (!(norm > DEPENDENT)) return false;
  for (int i = 0; i < m; ++i) v[i] /= norm;
  r[k] = norm;
  w->projected[k] = dot(m, v, w->target);
  w->active[k] = candidate;
  w->x[k] = 0.0;
  w->used[candidate] = true;
  ++w->count;
  return true;
}

// Removes column `at`; rotations restore the triangular factor.
static void leave(rf_cut_work *w, int at) {
  const int m = w->moments, last = w->count - 1;
  w->used[w->active[at]] = false;
  for (int j = at; j < last; ++j) {
    memcpy(w->r[j], w->r[j + 1], sizeof w->r[j]);
    w->active[j] = w->active[j + 1];
    w->x[j] = w->x[j + 1];
  }
  w->count = last;
  for (int i = at; i < last; ++i) {
    const double a = w->r[i][i], b = w->r[i][i + 1], length = hypot(a, b);
    const double c = a / length, s = b / length;
    for (int j = i; j < last; ++j) {
      const double u = w->r[j][i], v = w->r[j][i + 1];
      w->r[j][i] = c * u + s * v;
      w->r[j][i + 1] = c * v - s * u;
    }
    double *p = w->q[i], *q = w->q[i + 1];
    for (int k = 0; k < m; ++k) {
      const double u = p[k], v = q[k];
      p[k] = c * u + s * v;
      q[k] = c * v - s * u;
    }
    const double u = w->projected[i], v = w->projected[i + 1];
    w->projected[i] = c * u + s * v;
    w->projected[i + 1] = c * v - s * u;
  }
}

static void substitute(rf_cut_work *w) {
  for (int j = w->count - 1; j >= 0; --j) {
    w->trial[j] /= w->r[j][j];
    for (int i = 0; i < j; ++i) w->trial[i] -= w->r[j][i] * w->trial[j];
  }
}

// Solves the least squares problem of the active columns into `trial`.
static void solve(rf_cut_work *w) {
  memcpy(w->trial, w->projected, sizeof w->trial);
  substitute(w);
}

// Moves x towards the least squares solution; removes columns whose weight reaches zero.
static void descend(rf_cut_work *w) {
  while (w->count > 0) {
    solve(w);
    double step = 1.0;
    for (int j = 0; j < w->count; ++j)
      if (!(w->trial[j] > 0.0)) step = fmin(step, w->x[j] / (w->x[j] - w->trial[j]));
    if (step >= 1.0) {
      bool positive = true;
      for (int j = 0; j < w->count; ++j) positive = positive && w->trial[j] > 0.0;
      memcpy(w->x, w->trial, sizeof w->x);
      if (positive) return;
    } else {
      for (int j = 0; j < w->count; ++j) w->x[j] += step * (w->trial[j] - w->x[j]);
    }
    double largest = 0.0;
    for (int j = 0; j < w->count; ++j) largest = fmax(largest, w->x[j]);
    bool any = false;
    for (int j = w->count - 1; j >= 0; --j)
      if (!(w->x[j] > 1e-16 * largest) && !(w->trial[j] > 0.0)) {
        leave(w, j);
        any = true;
      }
    if (!any) {
      // rounding kept the blocking column above zero: remove it explicitly
      int least = 0;
      for (int j = 1; j < w->count; ++j)
        if (w->trial[j] < w->trial[least]) least = j;
      leave(w, least);
    }
  }
}

static double residual(rf_cut_work *w) {
  memcpy(w->residual, w->target, sizeof w->residual);
  for (int j = 0; j < w->count; ++j)
    add(w->moments, -w->x[j], w->column[w->active[j]], w->residual);
  return sqrt(dot(w->moments, w->residual, w->residual));
}

// Finds the steepest columns in descending order; returns their number.
static int steepest(const rf_cut_rule *rule, rf_cut_work *w) {
  double best = 0.0;
  for (int n = 0; n < rule->count; ++n) {
    w->gradient[n] = w->used[n] || w->banned[n] ? 0.0 : dot(w->moments, w->column[n], w->residual);
    best = fmax(best, w->gradient[n]);
  }
  int count = 0;
  for (int n = 0; n < rule->count && best > 0.0; ++n) {
    if (!(w->gradient[n] >= EAGER * best)) continue;
    int at = count < STEEPEST ? count++ : STEEPEST;
    for (; at > 0 && w->gradient[n] > w->gradient[w->order[at - 1]]; --at)
      if (at < STEEPEST) w->order[at] = w->order[at - 1];
    if (at < STEEPEST) w->order[at] = n;
  }
  return count;
}

// Adds steep columns that are not too similar to each other; returns their number.
static int enter_batch(const rf_cut_rule *rule, rf_cut_work *w) {
  int batch[BATCH], entered = 0;
  const int room = (w->moments - w->count) / 3;
  const int most = room < 1 ? 1 : room < BATCH ? room : BATCH;
  for (int count; entered == 0 && (count = steepest(rule, w)) > 0;)
    for (int n = 0; n < count && entered < most; ++n) {
      const int at = w->order[n];
      bool similar = false;
      for (int k = 0; k < entered && !similar; ++k)
        similar = fabs(dot(w->moments, w->column[batch[k]], w->column[at])) > SIMILAR;
      if (similar) continue;
      if (enter(w, at))
        batch[entered++] = at;
      else
        w->banned[at] = true;
    }
  return entered;
}

// Takes one step of iterative refinement.
static void refine(rf_cut_work *w) {
  for (int j = 0; j < w->count; ++j) w->trial[j] = dot(w->moments, w->q[j], w->residual);
  substitute(w);
  for (int j = 0; j < w->count; ++j) w->x[j] = fmax(w->x[j] + w->trial[j], 0.0);
}

bool rf_cut_reduce(int order, rf_cut_work *w, rf_cut_rule *rule) {
  if (rule->count <= rf_cut_moments(order)) return true;
  fill_columns(order, rule, w);
  memset(w->used, 0, sizeof w->used);
  memset(w->banned, 0, sizeof w->banned);
  w->count = 0;
  const double scale = sqrt(dot(w->moments, w->target, w->target));
  double left = residual(w);
  for (int round = 0; round < MOST_ROUNDS && left > GOAL * scale; ++round) {
    if (w->count >= w->moments || enter_batch(rule, w) == 0) break;
    const int before = w->count;
    const double last = left;
    descend(w);
    if (w->count < before) memset(w->banned, 0, sizeof w->banned);
    left = residual(w);
    if (left > NEARLY * scale) continue;
    refine(w);
    left = residual(w);
    if (left <= ACCEPTED * scale && !(left < 0.5 * last)) break;
  }
  if (!(left <= ACCEPTED * scale)) return false;
  int count = 0;
  for (int j = 0; j < w->count; ++j) {
    if (!(w->x[j] > 0.0)) continue;
    memcpy(w->result.point[count], rule->point[w->active[j]], sizeof w->result.point[count]);
    w->result.weight[count++] = w->x[j] / w->norm[w->active[j]];
  }
  rule->count = count;
  memcpy(rule->point, w->result.point, (size_t)count * sizeof *rule->point);
  memcpy(rule->weight, w->result.weight, (size_t)count * sizeof *rule->weight);
  return true;
}
