// One block of a composite body; names are those of composite.h.
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "green/composite_parts.h"
#include "linalg/pose.h"
#include "linalg/quat.h"
#include "linalg/vec3.h"
#include "linalg/vector.h"

enum { T = RF_COMPOSITE_TURN };

void rf_composite_state_free(rf_composite_state *s) {
  rf_free(s->d);
  rf_free(s->y);
  rf_free(s->h);
  rf_free(s->p);
  rf_free(s->B);
  rf_free(s->X);
  rf_free(s->linear);
  rf_free(s->load);
}

// Subtracts K_bi x from out (n_outer, 3).
static void subtract_coupled(const rf_composite_block *b, const double *x, double *out) {
  for (int32_t i = 0; i < b->n_outer; ++i)
    for (int32_t p = b->ptr[i]; p < b->ptr[i + 1]; ++p)
      for (int k = 0; k < 3; ++k)
        out[3 * i + k] -=
            rf_vec3_dot(b->coupling + 9 * (int64_t)p + 3 * k, x + 3 * (int64_t)b->col[p]);
}

// Condenses the loads of the inner nodes.
static rf_status condense(const rf_composite *c, const rf_composite_block *b, const rf_run *run,
                          rf_composite_state *s, rf_error *err) {
  rf_status st = RF_OK;
  const int64_t inner = 3 * (int64_t)b->n_inner, outer = 3 * (int64_t)b->n_outer;
  double *F = NULL, *response = NULL;
  RF_ALLOC(F, T * inner);
  RF_ALLOC(response, T * inner);
  RF_ALLOC(s->linear, T * outer);
  for (int32_t k = 0; k < b->n_inner; ++k) {
    double arm[3];
    rf_vec3_sub(c->rest + 3 * (int64_t)b->inner[k], b->mean, arm);
    for (int w = 0; w < 3; ++w) {
      const double f = s->load[3 * (int64_t)k + w];
      s->resultant[w] += f;
      for (int a = 0; a < 3; ++a) {
        F[(3 * w + a) * inner + 3 * (int64_t)k + a] = f;
        s->moment[3 * w + a] += f * arm[a];
      }
    }
  }
  RF_TRY(rf_cholesky_solve(b->factor, run, T, F, response, err));
  for (int i = 0; i < T; ++i) {
    subtract_coupled(b, response + i * inner, s->linear + i * outer);
    for (int j = 0; j < T; ++j)
      s->quadratic[T * i + j] = rf_dot(inner, F + i * inner, response + j * inner);
  }
done:
  rf_free(F);
  rf_free(response);
  return st;
}

rf_status rf_composite_state_create(const rf_composite *c, const rf_composite_block *b,
                                    const double *force, const rf_run *run, rf_composite_state *s,
                                    rf_error *err) {
  rf_status st = RF_OK;
  const int64_t outer = 3 * (int64_t)b->n_outer;
  bool loaded = false;
  RF_ALLOC(s->d, outer);
  RF_ALLOC(s->y, outer);
  RF_ALLOC(s->h, outer);
  RF_ALLOC(s->p, outer);
  RF_ALLOC(s->B, 3 * outer);
  RF_ALLOC(s->X, 3 * outer);
  RF_ALLOC(s->load, 3 * (int64_t)b->n_inner);
  for (int64_t k = 0; force && k < 3 * (int64_t)b->n_inner; ++k) {
    s->load[k] = force[3 * (int64_t)b->inner[k / 3] + k % 3];
    loaded = loaded || s->load[k] != 0.0;
  }
  if (loaded) RF_TRY(condense(c, b, run, s, err));
done:
  return st;
}

// Sets the rotation, and its difference from 1 by the vector part of the quaternion: R - 1 would
// lose the digits of small rotations, and with them the forces of small loads in stiff bodies.
static void set_turn(const double turn[9], rf_composite_state *s) {
  double q[4];
  rf_quat_of_matrix(turn, q);
  for (int j = 0; j < 3; ++j) {
    const double unit[3] = {j == 0, j == 1, j == 2};
    double t[3], more[3];
    rf_vec3_cross(q + 1, unit, t);
    for (int i = 0; i < 3; ++i) t[i] *= 2.0;
    rf_vec3_cross(q + 1, t, more);
    for (int i = 0; i < 3; ++i) {
      s->change[3 * i + j] = q[0] * t[i] + more[i];
      s->turn[3 * i + j] = (i == j) + s->change[3 * i + j];
    }
  }
}

// Computes out = M^T x.
static void multiply_transposed(const double M[9], const double x[3], double out[3]) {
  for (int k = 0; k < 3; ++k) out[k] = M[k] * x[0] + M[3 + k] * x[1] + M[6 + k] * x[2];
}

// y and d in the frame s->turn, and the shift.
static void enter_frame(const rf_composite_block *b, const double *v, rf_composite_state *s) {
  double farthest = 0.0;
  memset(s->shift, 0, sizeof s->shift);
  for (int32_t i = 0; i < b->n_outer; ++i)
    for (int k = 0; k < 3; ++k) s->shift[k] += v[3 * (int64_t)b->outer[i] + k] / b->n_outer;
  for (int32_t i = 0; i < b->n_outer; ++i) {
    const double *const own = v + 3 * (int64_t)b->outer[i], *const arm = b->arm + 3 * (int64_t)i;
    double way[3], moved[3], turned[3];
    rf_vec3_sub(own, s->shift, way);
    multiply_transposed(s->turn, way, moved);
    multiply_transposed(s->change, arm, turned);
    farthest = fmax(farthest, fmax(rf_vec3_length(moved), rf_vec3_length(turned)));
    for (int k = 0; k < 3; ++k) {
      s->d[3 * i + k] = moved[k] + turned[k];
      s->y[3 * i + k] = arm[k] + s->d[3 * i + k];
    }
  }
  s->rounding = b->rounding * farthest;
}

// Finds the rotation that fits the moved nodes best.
static bool find_frame(const rf_composite_block *b, const double *v, rf_composite_state *s) {
  double fit[9] = {0};
  // the shift has no effect: the sum of A is zero
  for (int32_t i = 0; i < b->n_outer; ++i) {
    const double *const own = v + 3 * (int64_t)b->outer[i], *const arm = b->arm + 3 * (int64_t)i;
    for (int k = 0; k < 3; ++k)
      for (int j = 0; j < 3; ++j) fit[3 * k + j] += (arm[k] + own[k]) * arm[j];
  }
  double turn[9];
  if (!rf_pose_fit_rt(fit, turn)) return false;
  set_turn(turn, s);
  enter_frame(b, v, s);
  return true;
}

void rf_composite_turn_of(const rf_composite_block *b, const rf_composite_state *s,
                          const double *step, double w[3]) {
  const double *const R = s->turn;
  w[0] = w[1] = w[2] = 0.0;
  for (int32_t i = 0; i < b->n_outer; ++i) {
    const double *const own = step + 3 * (int64_t)b->outer[i];
    for (int j = 0; j < 3; ++j) {
      const double inside = R[j] * own[0] + R[3 + j] * own[1] + R[6 + j] * own[2];
      for (int k = 0; k < 3; ++k) w[k] += s->B[9 * (int64_t)i + 3 * j + k] * inside;
    }
  }
}

void rf_composite_fix_frame(const rf_composite_block *b, const double *v, const double turn[9],
                            rf_composite_state *s) {
  const int64_t n = 3 * (int64_t)b->n_outer;
  set_turn(turn, s);
  enter_frame(b, v, s);
  for (int64_t i = 0; i < n; ++i) s->p[i] = rf_dot(n, b->stiffness + i * n, s->d);
  for (int i = 0; s->linear && i < T; ++i)
    for (int64_t k = 0; k < n; ++k) s->p[k] -= s->turn[i] * s->linear[i * n + k];
  memset(s->B, 0, 3 * (size_t)n * sizeof *s->B);
  memset(s->X, 0, 3 * (size_t)n * sizeof *s->X);
  memset(s->M, 0, sizeof s->M);
}

// G of y, and its inverse.
static void find_inertia(const rf_composite_block *b, const double *y, double inverse[9],
                         double G[9]) {
  double S[9] = {0}, transposed[9];
  for (int32_t i = 0; i < b->n_outer; ++i)
    for (int k = 0; k < 9; ++k) S[k] += y[3 * i + k / 3] * b->arm[3 * (int64_t)i + k % 3];
  const double trace = S[0] + S[4] + S[8];
  for (int k = 0; k < 9; ++k)
    inverse[k] = (k % 4 ? 0.0 : trace) - 0.5 * (S[k] + S[3 * (k % 3) + k / 3]);
  (void)rf_mat3_inverse_transposed(inverse, transposed);
  for (int k = 0; k < 9; ++k) G[k] = 0.5 * (transposed[k] + transposed[3 * (k % 3) + k / 3]);
}

static void multiply(const double M[9], const double x[3], double out[3]) {
  for (int k = 0; k < 3; ++k) out[k] = rf_vec3_dot(M + 3 * k, x);
}

// T = L^T d + Q r + N, and Z = R^T T.
static void find_tension(const rf_composite_block *b, const rf_composite_state *s,
                         double tension[9], double Z[9]) {
  memset(tension, 0, T * sizeof *tension);
  if (s->linear)
    for (int i = 0; i < T; ++i)
      tension[i] = rf_dot(3 * (int64_t)b->n_outer, s->linear + i * 3 * (int64_t)b->n_outer, s->d) +
                   rf_dot(T, s->quadratic + T * i, s->turn) + s->moment[i];
  rf_mat3_atb(s->turn, tension, Z);
}

// The vector l.
static void find_couple(const rf_composite_block *b, const rf_composite_state *s, const double G[9],
                        const double Z[9], double l[3]) {
  double m[3] = {Z[7] - Z[5], Z[2] - Z[6], Z[3] - Z[1]};
  for (int32_t i = 0; i < b->n_outer; ++i) {
    double own[3];
    rf_vec3_cross(s->y + 3 * i, s->h + 3 * i, own);
    for (int k = 0; k < 3; ++k) m[k] += own[k];
  }
  multiply(G, m, l);
}

bool rf_composite_place(const rf_composite_block *b, const double *v, rf_composite_state *s) {
  const int64_t n = 3 * (int64_t)b->n_outer;
  double inverse[9], G[9], tension[9], Z[9], l[3];
  if (!find_frame(b, v, s)) return false;
  for (int64_t i = 0; i < n; ++i) s->h[i] = rf_dot(n, b->stiffness + i * n, s->d);
  s->strain = 0.5 * rf_dot(n, s->d, s->h);
  s->potential = s->strain;
  if (s->linear) {
    const double *const R = s->turn;
    for (int i = 0; i < T; ++i) {
      const double bent = 0.5 * R[i] * rf_dot(T, s->quadratic + T * i, R);
      s->strain += bent;
      s->potential -= bent + s->moment[i] * s->change[i];
      s->potential -= R[i] * rf_dot(n, s->linear + i * n, s->d);
      for (int64_t k = 0; k < n; ++k) s->h[k] -= R[i] * s->linear[i * n + k];
    }
    s->potential -= rf_vec3_dot(s->resultant, s->shift);
  }
  find_inertia(b, s->y, inverse, G);
  find_tension(b, s, tension, Z);
  find_couple(b, s, G, Z, l);
  for (int32_t i = 0; i < b->n_outer; ++i) {
    double turned[3];
    rf_vec3_cross(l, b->arm + 3 * (int64_t)i, turned);
    rf_vec3_sub(s->h + 3 * i, turned, s->p + 3 * i);
  }
  return true;
}

// X = -D Y and M = Y^T D Y.
static void linearize_stiffness(const rf_composite_block *b, rf_composite_state *s) {
  const int64_t n = 3 * (int64_t)b->n_outer;
  for (int64_t i = 0; i < n; ++i) {
    const double *const row = b->stiffness + i * n;
    double sum[3] = {0};
    for (int32_t j = 0; j < b->n_outer; ++j) {
      double own[3];  // row (w x y) = w . (y x row)
      rf_vec3_cross(s->y + 3 * j, row + 3 * (int64_t)j, own);
      for (int k = 0; k < 3; ++k) sum[k] += own[k];
    }
    for (int k = 0; k < 3; ++k) s->X[3 * i + k] = -sum[k];
  }
  memset(s->M, 0, sizeof s->M);
  for (int32_t i = 0; i < b->n_outer; ++i)
    for (int k = 0; k < 3; ++k) {
      const double *const X = s->X + 9 * (int64_t)i;
      const double column[3] = {X[k], X[3 + k], X[6 + k]};
      double own[3];
      rf_vec3_cross(s->y + 3 * i, column, own);
      for (int j = 0; j < 3; ++j) s->M[3 * j + k] -= own[j];
    }
}

// Adds C - U to X and what comes with it to M.
static void linearize_rotation(const rf_composite_block *b, const double inverse[9],
                               const double G[9], rf_composite_state *s) {
  const int64_t n = 3 * (int64_t)b->n_outer;
  double tension[9], Z[9], l[3], J[3][9], skew[9] = {0}, part[9];
  find_tension(b, s, tension, Z);
  find_couple(b, s, G, Z, l);
  for (int k = 0; k < 3; ++k) {
    const double axis[3] = {k == 0, k == 1, k == 2};
    double turn[9] = {0};
    rf_vec3_add_skew(1.0, axis, turn, 3);
    for (int i = 0; i < 9; ++i) {
      J[k][i] = 0.0;
      for (int j = 0; j < 3; ++j) J[k][i] += s->turn[3 * (i / 3) + j] * turn[3 * j + i % 3];
    }
  }
  for (int32_t i = 0; i < b->n_outer; ++i)
    for (int k = 0; k < 3; ++k) {
      const double axis[3] = {k == 0, k == 1, k == 2};
      const double *const y = s->y + 3 * i;
      double C[3], U[3] = {0}, across[3], more[3], of_C[3], of_U[3];
      rf_vec3_cross(axis, s->h + 3 * i, C);
      rf_vec3_cross(b->arm + 3 * (int64_t)i, axis, across);
      rf_vec3_cross(l, across, more);
      for (int j = 0; j < 3; ++j) {
        C[j] += more[j];
        for (int e = 0; s->linear && e < T; ++e) U[j] += s->linear[e * n + 3 * i + j] * J[k][e];
        s->X[9 * (int64_t)i + 3 * j + k] += C[j] - U[j];
      }
      // Y^T of a column
      rf_vec3_cross(y, C, of_C);
      rf_vec3_cross(y, U, of_U);
      for (int j = 0; j < 3; ++j) {
        s->M[3 * k + j] += of_U[j] - of_C[j];
        s->M[3 * j + k] += of_U[j];
      }
    }
  rf_vec3_add_skew(1.0, l, skew, 3);
  const double trace = Z[0] + Z[4] + Z[8];
  for (int i = 0; i < 9; ++i) {
    part[i] = (i % 4 ? 0.0 : trace) - Z[i];
    for (int j = 0; j < 3; ++j) part[i] += inverse[3 * (i / 3) + j] * skew[3 * j + i % 3];
    for (int e = 0; s->linear && e < T; ++e)
      part[i] -= J[i / 3][e] * rf_dot(T, s->quadratic + T * e, J[i % 3]);
    s->M[i] += part[i];
  }
}

void rf_composite_linearize(const rf_composite_block *b, bool definite, rf_composite_state *s) {
  double inverse[9], G[9];
  find_inertia(b, s->y, inverse, G);
  for (int32_t i = 0; i < b->n_outer; ++i) {
    double skew[9] = {0}, *const B = s->B + 9 * (int64_t)i;
    rf_vec3_add_skew(-1.0, b->arm + 3 * (int64_t)i, skew, 3);
    rf_mat3_abt(skew, G, B);  // G is symmetric
  }
  linearize_stiffness(b, s);
  if (!definite) linearize_rotation(b, inverse, G, s);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < i; ++j)
      s->M[3 * i + j] = s->M[3 * j + i] = 0.5 * (s->M[3 * i + j] + s->M[3 * j + i]);
}

void rf_composite_entry(const rf_composite_block *b, const rf_composite_state *s, int32_t i,
                        int32_t j, double out[9]) {
  const int64_t n = 3 * (int64_t)b->n_outer;
  const double *const Bi = s->B + 9 * (int64_t)i, *const Bj = s->B + 9 * (int64_t)j;
  const double *const Xi = s->X + 9 * (int64_t)i, *const Xj = s->X + 9 * (int64_t)j;
  double inside[9], left[9], half[9];
  rf_mat3_abt(Bi, s->M, left);  // M is symmetric
  for (int k = 0; k < 9; ++k) left[k] += Xi[k];
  for (int k = 0; k < 9; ++k)
    inside[k] = b->stiffness[(3 * (int64_t)i + k / 3) * n + 3 * (int64_t)j + k % 3] +
                rf_vec3_dot(left + 3 * (k / 3), Bj + 3 * (k % 3)) +
                rf_vec3_dot(Bi + 3 * (k / 3), Xj + 3 * (k % 3));
  rf_mat3_abt(inside, s->turn, half);
  for (int k = 0; k < 9; ++k) {
    out[k] = 0.0;
    for (int m = 0; m < 3; ++m) out[k] += s->turn[3 * (k / 3) + m] * half[3 * m + k % 3];
  }
}

rf_status rf_composite_recover(const rf_composite *c, const rf_composite_block *b,
                               const rf_composite_state *s, const rf_run *run, double *u,
                               rf_error *err) {
  rf_status st = RF_OK;
  const double *const R = s->turn;
  double *x = NULL;
  if (b->n_inner == 0) return RF_OK;
  RF_ALLOC(x, 3 * (int64_t)b->n_inner);
  for (int32_t k = 0; k < b->n_inner; ++k) {
    const double *const f = s->load + 3 * (int64_t)k;
    for (int a = 0; a < 3; ++a)
      x[3 * (int64_t)k + a] = R[a] * f[0] + R[3 + a] * f[1] + R[6 + a] * f[2];
  }
  for (int32_t i = 0; i < b->n_outer; ++i)
    for (int32_t p = b->ptr[i]; p < b->ptr[i + 1]; ++p)
      for (int k = 0; k < 9; ++k)
        x[3 * (int64_t)b->col[p] + k % 3] -= b->coupling[9 * (int64_t)p + k] * s->d[3 * i + k / 3];
  RF_TRY(rf_cholesky_solve(b->factor, run, 1, x, x, err));
  for (int32_t k = 0; k < b->n_inner; ++k) {
    const double *const rest = c->rest + 3 * (int64_t)b->inner[k];
    double *const to = u + 3 * (int64_t)b->inner[k], arm[3];
    rf_vec3_sub(rest, b->mean, arm);
    // R (A + d) - A + shift, without the loss of digits of small ones
    for (int a = 0; a < 3; ++a) {
      to[a] = s->shift[a] + rf_vec3_dot(R + 3 * a, x + 3 * (int64_t)k) +
              rf_vec3_dot(s->change + 3 * a, arm);
    }
  }
done:
  rf_free(x);
  return st;
}
