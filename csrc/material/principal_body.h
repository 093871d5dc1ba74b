// Template: included by list_body.h before the bodies of laws for each instruction set, after
// common_body.h.  Principal axes of deformation gradients.  No include guard, on purpose.
//
// F = U diag(s) V^T with rotations U and V, s_1 >= s_2 >= |s_3|, and s_3 < 0 where det F < 0.
// Jacobi rotations from the right make the columns of F V orthogonal (Hestenes 1958).  Near rest
// their products are those of the strains of G = F - 1, which so keep all their digits.

// Stretches s, s - 1, and columns of U and V as rows.
typedef struct NAME(principal) {
  VEC stretch[3], less_one[3], U[9], V[9];
} NAME(principal);

enum { NAME(most_sweeps) = 12 };

INLINE VEC NAME(select)(MASK which, VEC yes, VEC no) {
  return (VEC)(((MASK)yes & which) | ((MASK)no & ~which));
}

INLINE VEC NAME(root_of)(VEC x) {
  VEC root = x;
  for (int l = 0; l < LANES; ++l) root[l] = sqrt(x[l]);
  return root;
}

INLINE bool NAME(some)(MASK which) {
  int64_t some = 0;
  for (int l = 0; l < LANES; ++l) some |= which[l];
  return some != 0;
}

// x -= (a.x) a, for a unit vector a.
INLINE void NAME(remove_part)(const VEC *a, VEC *x) {
  const VEC part = NAME(dot)(3, a, x);
  for (int i = 0; i < 3; ++i) x[i] -= part * a[i];
}

// Rotates a pair of vectors.
INLINE void NAME(rotate)(VEC c, VEC s, VEC *p, VEC *q) {
  for (int i = 0; i < 3; ++i) {
    const VEC x = p[i], y = q[i];
    p[i] = c * x - s * y;
    q[i] = s * x + c * y;
  }
}

// Rotates columns p and q of V (rows of v) and W = G V so that those of F V = V + W become
// orthogonal; false if they are so in all lanes.
INLINE bool NAME(orthogonalize)(VEC *vp, VEC *vq, VEC *wp, VEC *wq) {
  VEC fp[3], fq[3], ep[3], eq[3];
  for (int i = 0; i < 3; ++i) {
    fp[i] = vp[i] + wp[i];
    fq[i] = vq[i] + wq[i];
    ep[i] = vp[i] + fp[i];
    eq[i] = vq[i] + fq[i];
  }
  const VEC ww = NAME(dot)(3, wp, wp) + NAME(dot)(3, wq, wq);
  const VEC pp = NAME(dot)(3, fp, fp), qq = NAME(dot)(3, fq, fq);
  const MASK near = ww < 0.01;
  const VEC small = NAME(dot)(3, vp, wq) + NAME(dot)(3, wp, fq);
  const VEC off = NAME(select)(near, small, NAME(dot)(3, fp, fq));
  const VEC d = NAME(select)(near, NAME(dot)(3, eq, wq) - NAME(dot)(3, ep, wp), qq - pp);
  const VEC lengths = NAME(root_of)(pp) * NAME(root_of)(qq);
  const VEC size = NAME(select)(near, NAME(root_of)(ww), lengths) * 4e-16;
  // far below all that matters, where sizes underflow
  const VEC least = NAME(select)(size > 1e-290, size, (VEC){0} + 1e-290);
  const MASK which = (off > least) | (off < -least);
  if (!NAME(some)(which)) return false;
  // relative to their sum, whose square may overflow
  const VEC sum = NAME(select)(d < 0.0, -d, d) + NAME(select)(off < 0.0, -off, off);
  const VEC unit = 1.0 / NAME(select)(which, sum, (VEC){0} + 1.0);
  const VEC x = d * unit, y = 2.0 * off * unit, length = NAME(root_of)(x * x + y * y);
  const VEC t = y / NAME(select)(x < 0.0, x - length, x + length);
  const VEC c = NAME(select)(which, 1.0 / NAME(root_of)(1.0 + t * t), (VEC){0} + 1.0);
  const VEC s = NAME(select)(which, t * c, (VEC){0});
  NAME(rotate)(c, s, vp, vq);
  NAME(rotate)(c, s, wp, wq);
  return true;
}

// Exchanges p and q, one of which changes sign, in the lanes in which |f_p| < |f_q|.
INLINE void NAME(order)(VEC *vp, VEC *vq, VEC *wp, VEC *wq) {
  VEC fp[3], fq[3];
  for (int i = 0; i < 3; ++i) {
    fp[i] = vp[i] + wp[i];
    fq[i] = vq[i] + wq[i];
  }
  const MASK which = NAME(dot)(3, fp, fp) < NAME(dot)(3, fq, fq);
  const VEC c = NAME(select)(which, (VEC){0}, (VEC){0} + 1.0), s = 1.0 - c;
  NAME(rotate)(c, s, vp, vq);
  NAME(rotate)(c, s, wp, wq);
}

// Normalizes x, or takes y in lanes in which x vanishes; the result is the length of x.
INLINE VEC NAME(direction)(VEC *x, const VEC *y) {
  const VEC length = NAME(root_of)(NAME(dot)(3, x, x));
  const MASK lost = length <= 1e-150;
  const VEC inverse = 1.0 / NAME(select)(lost, (VEC){0} + 1.0, length);
  for (int i = 0; i < 3; ++i) x[i] = NAME(select)(lost, y[i], x[i] * inverse);
  return length;
}

// Computes a direction across u of the plane of two orthonormal vectors: the part of the one that
// is more across.
INLINE void NAME(direction_across)(const VEC *u, const VEC *a, const VEC *b, VEC *out) {
  VEC x[3], y[3];
  for (int i = 0; i < 3; ++i) {
    x[i] = a[i];
    y[i] = b[i];
  }
  NAME(remove_part)(u, x);
  NAME(remove_part)(u, y);
  const MASK first = NAME(dot)(3, x, x) >= NAME(dot)(3, y, y);
  for (int i = 0; i < 3; ++i) out[i] = NAME(select)(first, x[i], y[i]);
  NAME(direction)(out, a);
}

// Completes U and the stretches from the ordered columns V and W = G V.
INLINE void NAME(complete)(const VEC *w, NAME(principal) * x) {
  VEC *u = x->U, *v = x->V, f[9], across[3];
  for (int k = 0; k < 9; ++k) u[k] = f[k] = v[k] + w[k];
  x->stretch[0] = NAME(direction)(u, v);
  NAME(direction_across)(u, v + 3, v + 6, across);
  NAME(remove_part)(u, u + 3);
  x->stretch[1] = NAME(direction)(u + 3, across);
  NAME(remove_part)(u, u + 3);
  NAME(direction)(u + 3, across);
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    u[6 + i] = u[j] * u[3 + k] - u[k] * u[3 + j];
  }
  x->stretch[2] = NAME(dot)(3, u + 6, f + 6);
  for (int p = 0; p < 3; ++p) {
    VEC twice[3];
    for (int i = 0; i < 3; ++i) twice[i] = v[3 * p + i] + f[3 * p + i];
    const VEC s = x->stretch[p], square_less = NAME(dot)(3, twice, w + 3 * p);
    x->less_one[p] = NAME(select)(s > 0.5, square_less / (1.0 + s), s - 1.0);
  }
}

INLINE void NAME(principal_of)(const VEC *G, NAME(principal) * x) {
  VEC *v = x->V, w[9];
  for (int k = 0; k < 9; ++k) v[k] = (VEC){0} + (k % 4 == 0 ? 1.0 : 0.0);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) w[3 * i + j] = G[3 * j + i];
  bool more = true;
  for (int sweep = 0; sweep < NAME(most_sweeps) && more; ++sweep) {
    more = NAME(orthogonalize)(v, v + 3, w, w + 3);
    more |= NAME(orthogonalize)(v, v + 6, w, w + 6);
    more |= NAME(orthogonalize)(v + 3, v + 6, w + 3, w + 6);
  }
  NAME(order)(v, v + 3, w, w + 3);
  NAME(order)(v, v + 6, w, w + 6);
  NAME(order)(v + 3, v + 6, w + 3, w + 6);
  NAME(complete)(w, x);
}
