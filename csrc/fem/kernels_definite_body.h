// Template: included by kernels_list_body.h after kernels_general_body.h, whose functions it uses.
// No include guard, on purpose.
//
// Corrects tangents where the Hessian A = dP/dF of a quadrature point is indefinite, for any law.
// With eigenpairs A v = e v, the nearest positive semidefinite matrix in the Frobenius norm is
//
//   A+ = A + sum_{e < 0} |e| v v^T,   K+ = K + sum V g^T (A+ - A) g.
//
// Isotropic laws have these eigenpairs in closed form, as twists, flips and stretches of principal
// axes (Smith, De Goes, Kim 2019).  Jacobi rotations give them for anisotropic laws, too.  Where A
// is definite, nothing is added and the tangent keeps its bits.

enum { NAME(order) = 9, NAME(most_sweeps) = 12 };
#define ORDER NAME(order)
#define SELECT(which, x) ((VEC)((NAME(mask))(x) & (which)))

static inline TARGET bool NAME(any)(NAME(mask) which) {
  int64_t any = 0;
  for (int l = 0; l < LANES; ++l) any |= which[l];
  return any != 0;
}

// Divides A by its largest entry, which is the result.
static inline TARGET VEC NAME(normalize)(VEC *A) {
  VEC largest = {0};
  for (int k = 0; k < ORDER * ORDER; ++k) {
    const VEC size = (VEC)((NAME(mask))A[k] & INT64_MAX);
    const NAME(mask) above = size > largest;
    largest = SELECT(above, size) + SELECT(~above, largest);
  }
  const VEC inverse = 1.0 / (largest + SELECT(largest == 0.0, (VEC){0} + 1.0));
  for (int k = 0; k < ORDER * ORDER; ++k) A[k] *= inverse;
  return largest;
}

// Selects lanes with a pivot that is not positive in A + 1e-13, for A of largest entry 1: at rest
// rotations have the eigenvalue zero, up to rounding.  NaN, where a law is not defined, is not
// selected.
static TARGET NAME(mask) NAME(indefinite)(const VEC *A) {
  VEC L[ORDER * ORDER];
  NAME(mask) which = {0};
  for (int i = 0; i < ORDER; ++i)
    for (int j = 0; j <= i; ++j) L[ORDER * i + j] = A[ORDER * i + j] + (i == j ? 1e-13 : 0.0);
  for (int k = 0; k < ORDER; ++k) {
    which |= L[ORDER * k + k] <= 0.0;
    const VEC inverse = 1.0 / L[ORDER * k + k];
    for (int i = k + 1; i < ORDER; ++i) {
      const VEC factor = L[ORDER * i + k] * inverse;
      for (int j = k + 1; j <= i; ++j) L[ORDER * i + j] -= factor * L[ORDER * j + k];
    }
  }
  return which;
}

// Rotates rows p and q of a matrix of nine columns.
INLINE NAME(rotate)(VEC c, VEC s, VEC *p, VEC *q) {
  for (int k = 0; k < ORDER; ++k) {
    const VEC x = p[k], y = q[k];
    p[k] = c * x - s * y;
    q[k] = s * x + c * y;
  }
}

// Rotates A and the eigenvectors (rows of X) so that A[p, q] vanishes, in the selected lanes in
// which it is not rounding; false if there are none.
static inline TARGET bool NAME(eliminate)(NAME(mask) which, int p, int q, VEC *A, VEC *X) {
  const VEC off = A[ORDER * p + q], d = A[10 * q] - A[10 * p];
  const NAME(mask) sign = (NAME(mask))d & INT64_MIN;
  which &= (VEC)((NAME(mask))off & INT64_MAX) > 4e-16;
  if (!NAME(any)(which)) return false;
  VEC length = d * d + 4.0 * off * off, c;
  for (int l = 0; l < LANES; ++l) length[l] = sqrt(length[l]);
  const VEC down = (VEC)((NAME(mask))d & INT64_MAX) + length;
  const VEC t = SELECT(which, (VEC)((NAME(mask))(2.0 * off / down) ^ sign));
  for (int l = 0; l < LANES; ++l) c[l] = 1.0 / sqrt(1.0 + t[l] * t[l]);
  const VEC first = A[10 * p] - t * off, second = A[10 * q] + t * off;
  NAME(rotate)(c, t * c, A + ORDER * p, A + ORDER * q);
  NAME(rotate)(c, t * c, X + ORDER * p, X + ORDER * q);
  A[10 * p] = first;
  A[10 * q] = second;
  A[ORDER * p + q] = A[ORDER * q + p] = SELECT(~which, off);
  for (int k = 0; k < ORDER; ++k) {
    A[ORDER * k + p] = A[ORDER * p + k];
    A[ORDER * k + q] = A[ORDER * q + k];
  }
  return true;
}

// Computes C = A+ - A of the selected lanes, zero in others.  A becomes diagonal.
static TARGET void NAME(correction)(NAME(mask) which, VEC *A, VEC *C) {
  VEC X[ORDER * ORDER];
  for (int k = 0; k < ORDER * ORDER; ++k) X[k] = (VEC){0} + (k % 10 == 0 ? 1.0 : 0.0);
  bool more = true;
  for (int sweep = 0; sweep < NAME(most_sweeps) && more; ++sweep) {
    more = false;
    for (int p = 0; p < ORDER; ++p)
      for (int q = p + 1; q < ORDER; ++q) more |= NAME(eliminate)(which, p, q, A, X);
  }
  for (int k = 0; k < ORDER * ORDER; ++k) C[k] = (VEC){0};
  for (int m = 0; m < ORDER; ++m) {
    const NAME(mask) negative = which & (A[10 * m] < 0.0);
    if (!NAME(any)(negative)) continue;
    const VEC size = SELECT(negative, -A[10 * m]), *x = X + ORDER * m;
    for (int i = 0; i < ORDER; ++i) {
      const VEC part = size * x[i];
      for (int j = 0; j < ORDER; ++j) C[ORDER * i + j] += part * x[j];
    }
  }
}

// Directs the blocks of lanes that are not selected to `unused`.
INLINE NAME(keep_selected)(NAME(mask) which, int pairs, rf_lane_targets *t) {
  const int64_t unused = (int64_t)(intptr_t)t->unused;
  for (int l = 0; l < LANES; ++l)
    for (int k = 0; k < pairs && !which[l]; ++k) t->to[k * LANES + l] = unused;
}

INLINE NAME(definite)(const int nodes, const int points, const rf_solid *s, const int32_t *places,
                      const double *u, rf_lane_targets *tangent) {
  const int n_gauss = NAME(count_points)(points, s, places), pairs = nodes * (nodes + 1) / 2;
  const rf_law *law = NAME(law_of)(s, places);
  VEC d[3 * (RF_MAX_NODES - 1)], parameters[RF_LAW_PARAMETERS], sum[RF_MAX_PAIRS][9];
  NAME(mask) all = {0};
  NAME(gather_differences)(s, places, nodes, u, d);
  NAME(gather_parameters)(s, places, rf_law_parameter_count(law), parameters);
  for (int q = 0; q < n_gauss; ++q) {
    VEC volume = {0}, g[3 * RF_MAX_NODES], W, G[9], P[9], A[ORDER * ORDER], C[ORDER * ORDER];
    NAME(gather_tables)(points, s, places, nodes, q, g, &volume);
    NAME(displacement_gradient)(nodes, d, g, G);
    law->point[VARIANT]((const double *)parameters, (const double *)G, (double *)&W, (double *)P,
                        (double *)A);
    const VEC largest = NAME(normalize)(A);
    const NAME(mask) which = NAME(indefinite)(A);
    if (!NAME(any)(which)) continue;
    if (!NAME(any)(all))
      for (int k = 0; k < pairs; ++k)
        for (int i = 0; i < 9; ++i) sum[k][i] = (VEC){0};
    all |= which;
    NAME(correction)(which, A, C);
    NAME(add_tangent)(nodes, volume * largest, g, C, sum);
  }
  if (!NAME(any)(all)) return;
  NAME(keep_selected)(all, pairs, tangent);
  for (int k = 0; k < pairs; ++k) NAME(add_blocks)(sum[k], k, tangent);
}

FOR_EACH_TYPE(DEFINITE, definite)
#undef SELECT
#undef ORDER
