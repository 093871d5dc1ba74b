// Compliances inside triangles, by quadratic functions in the form of Bernstein and Bezier:
//
//     C(w) = sum over corners of w_k^2 B_k + sum over sides of 2 w_k w_l B_kl,
//     B_k = C_k,  B_kl = 2 C_m - (C_k + C_l) / 2,   m: the middle of the side
//
// The weights are not negative, so C is definite if all B are.  Where it is not, as compliances
// differ much beside held nodes, the sides of the triangle get the positive part of B_kl: C is
// continuous then, too.  After a release the same is done to B - B_before, so that C falls nowhere.
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "touch/proxy_tables.h"

enum { HALVINGS = 3, SWEEPS = 16 };  // of a triangle that is examined; over the entries of a block

static const double DEFINITE = 1e-3;   // least pivot over the trace
static const double ROUNDING = 1e-12;  // of a difference of compliances, relative

static double trace(const double *block) { return block[0] + block[1] + block[2]; }

// Returns true if all pivots of a block are larger than `least`.
static bool has_pivots(const double *b, double least) {
  if (!(b[0] > least)) return false;
  const double second = b[1] - b[5] * b[5] / b[0];
  if (!(second > least)) return false;
  const double cross = b[3] - b[5] * b[4] / b[0];
  return b[2] - b[4] * b[4] / b[0] - cross * cross / second > least;
}

// Replaces a block by its positive part: negative eigenvalues become zero (Jacobi's method).
static void keep_positive(double block[RF_TIP_SYMMETRIC]) {
  double a[3][3] = {{block[0], block[5], block[4]},
                    {block[5], block[1], block[3]},
                    {block[4], block[3], block[2]}};
  double v[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  for (int k = 0; k < 3 * SWEEPS; ++k) {
    const int p = k % 3, q = (k + 1) % 3;
    if (a[p][q] == 0.0) continue;
    const double theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
    const double t = copysign(1.0, theta) / (fabs(theta) + sqrt(theta * theta + 1.0));
    const double c = 1.0 / sqrt(t * t + 1.0), s = t * c;
    for (int i = 0; i < 3; ++i) {
      const double x = a[i][p], y = a[i][q];
      a[i][p] = c * x - s * y;
      a[i][q] = s * x + c * y;
    }
    for (int i = 0; i < 3; ++i) {
      const double x = a[p][i], y = a[q][i], left = v[i][p], right = v[i][q];
      a[p][i] = c * x - s * y;
      a[q][i] = s * x + c * y;
      v[i][p] = c * left - s * right;
      v[i][q] = s * left + c * right;
    }
  }
  static const int row[RF_TIP_SYMMETRIC] = {0, 1, 2, 1, 0, 0}, column[] = {0, 1, 2, 2, 2, 1};
  for (int n = 0; n < RF_TIP_SYMMETRIC; ++n) {
    block[n] = 0.0;
    for (int k = 0; k < 3; ++k) block[n] += fmax(a[k][k], 0.0) * v[row[n]][k] * v[column[n]][k];
  }
}

// A triangle that is examined: B at corners and sides, less those before.
typedef struct patch {
  double b[6][RF_TIP_SYMMETRIC];
  double added;  // to the diagonal, for rounding
  bool first;    // there are none before: C is definite by far
} patch;

static bool is_good(const patch *p, double block[RF_TIP_SYMMETRIC]) {
  if (p->first) return has_pivots(block, DEFINITE * trace(block));
  for (int i = 0; i < 3; ++i) block[i] += p->added;
  return has_pivots(block, 0.0);
}

// Computes the polar form of C at two points, C for equal ones.
static void polar(const patch *p, const double one[3], const double other[3],
                  double block[RF_TIP_SYMMETRIC]) {
  memset(block, 0, RF_TIP_SYMMETRIC * sizeof *block);
  for (int k = 0; k < 3; ++k) {
    const int next = (k + 1) % 3;
    const double corner = one[k] * other[k], side = one[k] * other[next] + one[next] * other[k];
    for (int n = 0; n < RF_TIP_SYMMETRIC; ++n)
      block[n] += corner * p->b[k][n] + side * p->b[3 + k][n];
  }
}

// Returns true if all of a part of the triangle is good for sure: B of the part are, or those of
// its quarters.
static bool is_good_within(const patch *p, const double corner[3][3], int halvings) {
  bool sides = true;
  double block[RF_TIP_SYMMETRIC], middle[3][3];
  for (int k = 0; k < 3; ++k) {
    polar(p, corner[k], corner[k], block);
    if (!is_good(p, block)) return false;
    polar(p, corner[k], corner[(k + 1) % 3], block);
    sides = sides && is_good(p, block);
    for (int i = 0; i < 3; ++i) middle[k][i] = 0.5 * (corner[k][i] + corner[(k + 1) % 3][i]);
  }
  if (sides) return true;
  if (halvings == 0) return false;
  for (int k = 0; k < 3; ++k) {
    double part[3][3];
    memcpy(part[0], corner[k], sizeof part[0]);
    memcpy(part[1], middle[k], sizeof part[1]);
    memcpy(part[2], middle[(k + 2) % 3], sizeof part[2]);
    if (!is_good_within(p, part, halvings - 1)) return false;
  }
  return is_good_within(p, middle, halvings - 1);
}

// Changes a block so that it is the one before and a positive part.
static void raise(double *own, const double *before) {
  double rise[RF_TIP_SYMMETRIC];
  for (int n = 0; n < RF_TIP_SYMMETRIC; ++n) rise[n] = own[n] - (before ? before[n] : 0.0);
  if (has_pivots(rise, 0.0)) return;
  keep_positive(rise);
  for (int n = 0; n < RF_TIP_SYMMETRIC; ++n) own[n] = (before ? before[n] : 0.0) + rise[n];
}

static bool is_good_triangle(const rf_tip_tables *t, const rf_tip_tables *before, int64_t f) {
  static const double whole[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  patch p = {.first = !before};
  for (int k = 0; k < 6; ++k) {
    const int64_t side = 3 * f + k % 3;
    const int64_t disc = k < 3 ? t->edges.corner[side] : t->n_vertices + t->edges.edge[side];
    const double *own = t->own + RF_TIP_SYMMETRIC * disc;
    const double *old = before ? before->own + RF_TIP_SYMMETRIC * disc : NULL;
    for (int n = 0; n < RF_TIP_SYMMETRIC; ++n) p.b[k][n] = own[n] - (old ? old[n] : 0.0);
    if (k < 3) p.added = fmax(p.added, ROUNDING * trace(own));
  }
  return is_good_within(&p, whole, HALVINGS);
}

rf_status rf_tip_interpolate(rf_tip_tables *t, const rf_tip_tables *before, rf_error *err) {
  rf_status st = RF_OK;
  bool *bad = NULL;  // sides
  const int64_t nv = t->n_vertices, ne = t->edges.n_edges;
  RF_ALLOC(bad, ne);
  for (int64_t k = 0; k < nv + ne; ++k)
    for (int i = 0; i < 3; ++i)
      t->own[RF_TIP_SYMMETRIC * k + i] += t->held[k] * t->held[k] * t->hardness;
  for (int64_t e = 0; e < ne; ++e) {
    const int32_t side = t->edges.side[t->edges.first[e]];
    const double *from = t->own + RF_TIP_SYMMETRIC * (int64_t)rf_edges_from(&t->edges, side);
    const double *to = t->own + RF_TIP_SYMMETRIC * (int64_t)rf_edges_to(&t->edges, side);
    double *own = t->own + RF_TIP_SYMMETRIC * (nv + e);
    for (int n = 0; n < RF_TIP_SYMMETRIC; ++n) own[n] = 2.0 * own[n] - 0.5 * (from[n] + to[n]);
  }
  // released nodes take hardness with them, which is a choice
  for (int64_t v = 0; before && v < nv; ++v)
    raise(t->own + RF_TIP_SYMMETRIC * v, before->own + RF_TIP_SYMMETRIC * v);
  for (int64_t f = 0; f < t->n_triangles; ++f) {
    if (is_good_triangle(t, before, f)) continue;
    for (int k = 0; k < 3; ++k) bad[t->edges.edge[3 * f + k]] = true;
  }
  for (int64_t e = 0; e < ne; ++e) {
    const int64_t at = RF_TIP_SYMMETRIC * (nv + e);
    if (bad[e]) raise(t->own + at, before ? before->own + at : NULL);
  }
done:
  rf_free(bad);
  return st;
}
