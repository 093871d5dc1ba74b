// Template: included by list_body.h for each instruction set, after principal_body.h.  Projection
// of Hessians A = dP/dF on positive semidefinite matrices (law.h).  No include guard, on purpose.
//
// With eigenpairs A v = e v it is A+ = A + sum_{e < 0} |e| v v^T.  Isotropic laws have eigenvectors
// in the principal axes u_i, v_i of F: twists u_i v_j^T - u_j v_i^T, flips u_i v_j^T + u_j v_i^T,
// and three combinations of the stretches u_i v_i^T (Smith, De Goes, Kim 2019).  Others take Jacobi
// rotations of the whole matrix.

// Divides A by its largest entry, which is the result.
INLINE VEC NAME(normalize)(VEC *A) {
  VEC largest = {0};
  for (int k = 0; k < 81; ++k) {
    const VEC size = NAME(select)(A[k] < 0.0, -A[k], A[k]);
    largest = NAME(select)(size > largest, size, largest);
  }
  const VEC inverse = 1.0 / NAME(select)(largest == 0.0, (VEC){0} + 1.0, largest);
  for (int k = 0; k < 81; ++k) A[k] *= inverse;
  return largest;
}

// Selects lanes with a pivot that is not positive in A + 1e-13, for A (n, n) of largest entry 1: at
// rest rotations have the eigenvalue zero, up to rounding.  NaN, where a law is not defined, is not
// selected.
INLINE MASK NAME(indefinite)(const int n, const VEC *A) {
  VEC L[81];
  MASK which = {0};
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j) L[n * i + j] = A[n * i + j] + (i == j ? 1e-13 : 0.0);
  for (int k = 0; k < n; ++k) {
    which |= L[n * k + k] <= 0.0;
    const VEC inverse = 1.0 / L[n * k + k];
    for (int i = k + 1; i < n; ++i) {
      const VEC factor = L[n * i + k] * inverse;
      for (int j = k + 1; j <= i; ++j) L[n * i + j] -= factor * L[n * j + k];
    }
  }
  return which;
}

// Rotates A (n, n) and the eigenvectors (rows of X) so that A[p, q] vanishes, in the selected lanes
// in which it is not rounding; false if there are none.
INLINE bool NAME(eliminate)(const int n, MASK which, int p, int q, VEC *A, VEC *X) {
  const VEC off = A[n * p + q], d = A[(n + 1) * q] - A[(n + 1) * p];
  which &= (off > 4e-16) | (off < -4e-16);
  if (!NAME(some)(which)) return false;
  const VEC length = NAME(root_of)(d * d + 4.0 * off * off);
  const VEC turn = 2.0 * off / NAME(select)(d < 0.0, d - length, d + length);
  const VEC t = NAME(select)(which, turn, (VEC){0}), c = 1.0 / NAME(root_of)(1.0 + t * t);
  const VEC first = A[(n + 1) * p] - t * off, second = A[(n + 1) * q] + t * off;
  for (int k = 0; k < n; ++k) {
    const VEC a = A[n * p + k], b = A[n * q + k], x = X[n * p + k], y = X[n * q + k];
    A[n * p + k] = A[n * k + p] = c * (a - t * b);
    A[n * q + k] = A[n * k + q] = c * (t * a + b);
    X[n * p + k] = c * (x - t * y);
    X[n * q + k] = c * (t * x + y);
  }
  A[(n + 1) * p] = first;
  A[(n + 1) * q] = second;
  A[n * p + q] = A[n * q + p] = NAME(select)(which, (VEC){0}, off);
  return true;
}

// Adds size x x^T, with x of n numbers.
INLINE void NAME(add_square)(const int n, VEC size, const VEC *x, VEC *C) {
  for (int i = 0; i < n; ++i) {
    const VEC part = size * x[i];
    for (int j = 0; j < n; ++j) C[n * i + j] += part * x[j];
  }
}

// Adds A+ - A of the selected lanes by Jacobi rotations, for A (n, n), which becomes diagonal.
INLINE void NAME(correct)(const int n, MASK which, VEC *A, VEC *C) {
  VEC X[81];
  for (int k = 0; k < n * n; ++k) X[k] = (VEC){0} + (k % (n + 1) == 0 ? 1.0 : 0.0);
  bool more = true;
  for (int sweep = 0; sweep < NAME(most_sweeps) && more; ++sweep) {
    more = false;
    for (int p = 0; p < n; ++p)
      for (int q = p + 1; q < n; ++q) more |= NAME(eliminate)(n, which, p, q, A, X);
  }
  for (int m = 0; m < n; ++m) {
    const VEC value = A[(n + 1) * m];
    const MASK negative = which & (value < 0.0);
    if (NAME(some)(negative))
      NAME(add_square)(n, NAME(select)(negative, -value, (VEC){0}), X + n * m, C);
  }
}

// Computes A x.
INLINE void NAME(times)(const VEC *A, const VEC *x, VEC *out) {
  for (int i = 0; i < 9; ++i) out[i] = NAME(dot)(9, A + 9 * i, x);
}

// Adds the correction of one eigenvector in the selected lanes.
INLINE void NAME(correct_vector)(MASK which, const VEC *A, const VEC *x, VEC *C) {
  VEC Ax[9];
  NAME(times)(A, x, Ax);
  const VEC value = NAME(dot)(9, x, Ax);
  const MASK negative = which & (value < 0.0);
  if (NAME(some)(negative)) NAME(add_square)(9, NAME(select)(negative, -value, (VEC){0}), x, C);
}

// Computes the outer product of rows i of U and j of V.
INLINE void NAME(outer)(const NAME(principal) * axes, int i, int j, VEC *out) {
  for (int k = 0; k < 9; ++k) out[k] = axes->U[3 * i + k / 3] * axes->V[3 * j + k % 3];
}

// Adds A+ - A in the plane of the stretches.
INLINE void NAME(correct_stretches)(MASK which, const NAME(principal) * axes, const VEC *A,
                                    VEC *C) {
  VEC x[27], Ax[27], block[9], more[9] = {{0}};
  for (int i = 0; i < 3; ++i) {
    NAME(outer)(axes, i, i, x + 9 * i);
    NAME(times)(A, x + 9 * i, Ax + 9 * i);
    for (int j = 0; j <= i; ++j)
      block[3 * i + j] = block[3 * j + i] = NAME(dot)(9, x + 9 * j, Ax + 9 * i);
  }
  which &= NAME(indefinite)(3, block);
  if (!NAME(some)(which)) return;
  NAME(correct)(3, which, block, more);
  for (int i = 0; i < 3; ++i) {
    VEC sum[9];
    for (int k = 0; k < 9; ++k)
      sum[k] = more[3 * i] * x[k] + more[3 * i + 1] * x[9 + k] + more[3 * i + 2] * x[18 + k];
    for (int k = 0; k < 9; ++k)
      for (int m = 0; m < 9; ++m) C[9 * k + m] += x[9 * i + k] * sum[m];
  }
}

INLINE void NAME(correct_isotropic)(MASK which, const VEC *G, const VEC *A, VEC *C) {
  const double half_root = 0.707106781186547524401;
  NAME(principal) axes;
  NAME(principal_of)(G, &axes);
  NAME(correct_stretches)(which, &axes, A, C);
  for (int i = 0; i < 3; ++i) {
    VEC up[9], down[9], twist[9], flip[9];
    NAME(outer)(&axes, i, (i + 1) % 3, up);
    NAME(outer)(&axes, (i + 1) % 3, i, down);
    for (int k = 0; k < 9; ++k) {
      twist[k] = half_root * (up[k] - down[k]);
      flip[k] = half_root * (up[k] + down[k]);
    }
    NAME(correct_vector)(which, A, twist, C);
    NAME(correct_vector)(which, A, flip, C);
  }
}

static TARGET bool NAME(definite)(bool isotropic, const double *gradient, double *tangent,
                                  double *correction, int64_t *selected) {
  VEC *A = (VEC *)tangent, *C = (VEC *)correction;
  const VEC largest = NAME(normalize)(A);
  const MASK which = NAME(indefinite)(9, A);
  *(MASK *)selected = which;
  if (!NAME(some)(which)) return false;
  for (int k = 0; k < 81; ++k) C[k] = (VEC){0};
  if (isotropic)
    NAME(correct_isotropic)(which, (const VEC *)gradient, A, C);
  else
    NAME(correct)(9, which, A, C);
  for (int k = 0; k < 81; ++k) C[k] *= largest;
  return true;
}
