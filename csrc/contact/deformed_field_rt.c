#include <math.h>

#include "contact/deformed_field.h"
#include "contact/deformed_field_nearest.h"
#include "linalg/vec3.h"

// ---- once a cycle ---------------------------------------------------------------------

// Eigenvectors of a symmetric matrix a as columns of v, by Jacobi's rotations; a becomes diagonal.
static void diagonalize(double a[3][3], double v[3][3]) {
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) v[i][j] = i == j;
  // each sweep at least squares what is off the diagonal: six are enough for any matrix
  for (int step = 0; step < 18; ++step) {
    const int p = step % 3 == 2, q = step % 3 == 0 ? 1 : 2, r = 3 - p - q;
    if (a[p][q] == 0.0) continue;
    const double half = 0.5 * (a[q][q] - a[p][p]) / a[p][q];
    const double t = (half >= 0.0 ? 1.0 : -1.0) / (fabs(half) + sqrt(half * half + 1.0));
    const double c = 1.0 / sqrt(t * t + 1.0), s = t * c;
    const double apq = a[p][q];
    a[p][p] -= t * apq;
    a[q][q] += t * apq;
    a[p][q] = a[q][p] = 0.0;
    const double arp = a[r][p], arq = a[r][q];
    a[r][p] = a[p][r] = c * arp - s * arq;
    a[r][q] = a[q][r] = s * arp + c * arq;
    for (int i = 0; i < 3; ++i) {
      const double vp = v[i][p], vq = v[i][q];
      v[i][p] = c * vp - s * vq;
      v[i][q] = s * vp + c * vq;
    }
  }
}

// x less its parts along the first `count` of the unit vectors u, made a unit vector; any that is
// normal to them where nothing is left.
static void complete(int count, const double u[3][3], const double *x, double *out) {
  for (int attempt = 0; attempt < 4; ++attempt) {
    double left[3];
    for (int i = 0; i < 3; ++i) left[i] = attempt == 0 ? x[i] : attempt == i + 1;
    const double before = rf_vec3_length(left);
    for (int k = 0; k < count; ++k) {
      const double along = rf_vec3_dot(left, u[k]);
      for (int i = 0; i < 3; ++i) left[i] -= along * u[k][i];
    }
    const double length = rf_vec3_length(left);
    // of the three axes one is at 55 degrees or less to the plane
    if (!(length > (attempt == 0 ? 1e-9 * before : 0.5))) continue;
    for (int i = 0; i < 3; ++i) out[i] = left[i] / length;
    return;
  }
  for (int i = 0; i < 3; ++i) out[i] = i == 0;
}

// Inverse of F = sum_i s_i u_i v_i^T with turning U and V, after raising the s_i; true where one
// was.
static bool invert_raised(const double f[9], double out[9]) {
  double a[3][3], v[3][3], scale = 0.0;
  bool raised = false;
  for (int i = 0; i < 9; ++i) scale = fmax(scale, fabs(f[i]));
  if (!(scale > 0.0)) scale = 1.0;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      a[i][j] = 0.0;
      for (int k = 0; k < 3; ++k) a[i][j] += f[3 * k + i] / scale * (f[3 * k + j] / scale);
    }
  diagonalize(a, v);

  // the largest first; directions before and after
  int order[3] = {0, 1, 2};
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2 - i; ++j)
      if (a[order[j]][order[j]] < a[order[j + 1]][order[j + 1]]) {
        const int keep = order[j];
        order[j] = order[j + 1];
        order[j + 1] = keep;
      }
  double before[3][3], after[3][3], image[3];
  for (int k = 0; k < 2; ++k) {
    for (int i = 0; i < 3; ++i) before[k][i] = v[i][order[k]];
    for (int i = 0; i < 3; ++i) image[i] = rf_vec3_dot(f + 3 * i, before[k]);
    // an image that is nothing but rounding has no direction
    const int none = !(rf_vec3_length(image) > 1e-14 * scale);
    complete(k, (const double(*)[3])after, none ? before[k] : image, after[k]);
  }
  // the third of both completes a turn: its value carries the sign
  rf_vec3_cross(before[0], before[1], before[2]);
  rf_vec3_cross(after[0], after[1], after[2]);
  for (int i = 0; i < 9; ++i) out[i] = 0.0;
  for (int k = 0; k < 3; ++k) {
    for (int i = 0; i < 3; ++i) image[i] = rf_vec3_dot(f + 3 * i, before[k]);
    const double value = rf_vec3_dot(image, after[k]);
    const double s = fmax(value, RF_DEFORMED_FLATTEST);
    raised |= value < RF_DEFORMED_FLATTEST;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) out[3 * i + j] += before[k][i] * after[k][j] / s;
  }
  return raised;
}

// true where a singular value was raised
static bool invert(const double f[9], double out[9]) {
  double transposed[9], square = 0.0, size = 0.0;
  const double det = rf_mat3_inverse_transposed(f, transposed);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      out[3 * i + j] = transposed[3 * j + i];
      square += transposed[3 * j + i] * transposed[3 * j + i];
      size += f[3 * i + j] * f[3 * i + j];
    }
  // no singular value of the inverse is larger than the root of `square`; a determinant that is
  // nothing but rounding, and with it the inverse, is not believed
  const double most = 1.0 / (RF_DEFORMED_FLATTEST * RF_DEFORMED_FLATTEST);
  if (det > 0.0 && square <= most && det > 1e-10 * size * sqrt(size)) return false;
  return invert_raised(f, out);
}

bool rf_deformed_pose_update_rt(const rf_deformed_field *f, const double *q,
                                rf_deformed_pose *pose) {
  pose->usable = false;
  pose->flat = 0;
  for (int32_t d = 0; d < f->n_domains; ++d)
    for (int32_t i = f->first[d]; i < f->first[d + 1]; ++i) {
      double moved[12] = {0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0};
      const double *rest = f->rest + 3 * (size_t)i;
      const double *row = f->modes + 12 * (size_t)i * (size_t)f->r;
      for (int32_t j = 0; j < f->r; ++j, row += 12)
        for (int c = 0; c < 12; ++c) moved[c] += row[c] * q[j];
      for (int c = 0; c < 3; ++c) moved[c] += rest[c];
      for (int c = 0; c < 12; ++c)
        if (!(fabs(moved[c]) < 1e100)) return false;

      double *to = pose->inverse + 12 * (size_t)i;
      pose->flat += invert(moved + 3, to);
      const int32_t slot = f->slot[d] + i - f->first[d];
      for (int c = 0; c < 3; ++c) {
        pose->place[c * f->n_slots + slot] = moved[c];
        to[9 + c] = rest[c] - rf_vec3_dot(to + 3 * c, moved);
      }
    }
  pose->usable = true;
  return true;
}

// ---- queries ---------------------------------------------------------------------------

typedef struct neighbours {
  int32_t count;
  int32_t proxy[RF_DEFORMED_MAX_K];  // ascending by distance, of equal ones by number
  double square[RF_DEFORMED_MAX_K];  // of the distance, m^2
} neighbours;

static void find_nearest(const rf_deformed_field *f, const rf_deformed_pose *pose, int32_t domain,
                         const double x[3], neighbours *out) {
  const int32_t n = f->first[domain + 1] - f->first[domain], k = f->k < n ? f->k : n;
  const double *px = pose->place + f->slot[domain], *py = px + f->n_slots, *pz = py + f->n_slots;
  int32_t found[RF_DEFORMED_MAX_K];
  RF_SIMD_CALL(f->simd, rf_deformed_nearest, px, f->n_slots, f->slot[domain + 1] - f->slot[domain],
               x, k, found);
  out->count = k;
  for (int32_t i = 0; i < k; ++i) {
    const double a = x[0] - px[found[i]], b = x[1] - py[found[i]], c = x[2] - pz[found[i]];
    const double square = a * a + b * b + c * c;
    // in order but for what the search took for equal
    int32_t at = i;
    for (; at > 0 && out->square[at - 1] > square; --at) {
      out->square[at] = out->square[at - 1];
      out->proxy[at] = out->proxy[at - 1];
    }
    out->square[at] = square;
    out->proxy[at] = f->first[domain] + found[i];
  }
}

// weights (3.16) times d_min, where that is not 0; scaled so that they sum to 1
typedef struct weights {
  double w[RF_DEFORMED_MAX_K];      // sum to 1
  double share[RF_DEFORMED_MAX_K];  // d_min / d_i
  double total;                     // sum of share_i - share_last; 0: weights do not vary
} weights;

static void weigh(const neighbours *near, weights *out) {
  const int32_t last = near->count - 1;
  const double least = near->square[0], most = near->square[last];
  out->total = 0.0;
  if (!(least < most)) {
    for (int32_t i = 0; i <= last; ++i) out->w[i] = 1.0 / near->count;
    return;
  }
  if (least == 0.0) {
    int32_t alone = 0;
    while (near->square[alone] == 0.0) ++alone;
    for (int32_t i = 0; i <= last; ++i) out->w[i] = i < alone ? 1.0 / alone : 0.0;
    return;
  }
  for (int32_t i = 0; i <= last; ++i) out->share[i] = sqrt(least / near->square[i]);
  for (int32_t i = 0; i < last; ++i) out->total += out->share[i] - out->share[last];
  // neighbours that are equally far but for rounding
  if (!(out->total > 0.0)) {
    for (int32_t i = 0; i <= last; ++i) out->w[i] = 1.0 / near->count;
    out->total = 0.0;
    return;
  }
  const double scale = 1.0 / out->total;
  for (int32_t i = 0; i <= last; ++i) out->w[i] = (out->share[i] - out->share[last]) * scale;
}

static void pull_back(const double *map, const double x[3], double rest[3]) {
  for (int c = 0; c < 3; ++c) rest[c] = rf_vec3_dot(map + 3 * c, x) + map[9 + c];
}

// the value in one domain
static double domain_distance(const rf_deformed_field *f, const rf_deformed_pose *pose,
                              int32_t domain, const double x[3], int32_t *nearest) {
  neighbours near;
  weights by;
  find_nearest(f, pose, domain, x, &near);
  *nearest = near.proxy[0];
  weigh(&near, &by);
  // differences to the first: of equal values the sum is that value to the bit
  double first = 0.0, sum = 0.0;
  for (int32_t i = 0; i < near.count; ++i) {
    if (i > 0 && by.w[i] == 0.0) continue;
    double rest[3];
    pull_back(pose->inverse + 12 * (size_t)near.proxy[i], x, rest);
    const double d = rf_field_distance_rt(f->field[domain], rest);
    if (i == 0) first = d;
    // so far away that squares overflow
    if (!(first < INFINITY)) return first;
    sum += by.w[i] * (d - first);
  }
  return first + sum;
}

double rf_deformed_field_distance_rt(const rf_deformed_field *f, const rf_deformed_pose *pose,
                                     const double x[3], int32_t *nearest) {
  double least = INFINITY;
  *nearest = 0;
  if (!pose->usable) return least;
  for (int32_t domain = 0; domain < f->n_domains; ++domain) {
    int32_t proxy;
    const double d = domain_distance(f, pose, domain, x, &proxy);
    if (domain > 0 && !(d < least)) continue;
    least = d;
    *nearest = proxy;
  }
  return least;
}

static double domain_gradient(const rf_deformed_field *f, const rf_deformed_pose *pose,
                              int32_t domain, const double x[3], double gradient[3],
                              int32_t *nearest) {
  neighbours near;
  weights by;
  find_nearest(f, pose, domain, x, &near);
  weigh(&near, &by);
  *nearest = near.proxy[0];
  const int32_t last = near.count - 1;

  // gradients of the shares, less that of the last, and their sum
  double turn[RF_DEFORMED_MAX_K][3] = {{0.0}}, all[3] = {0.0};
  if (by.total > 0.0) {
    for (int32_t i = last; i >= 0; --i) {
      const int32_t slot = f->slot[domain] + near.proxy[i] - f->first[domain];
      for (int c = 0; c < 3; ++c)
        turn[i][c] = -by.share[i] * (x[c] - pose->place[c * f->n_slots + slot]) / near.square[i] -
                     (i < last ? turn[last][c] : 0.0);
    }
    for (int32_t i = 0; i < last; ++i)
      for (int c = 0; c < 3; ++c) all[c] += turn[i][c];
    for (int c = 0; c < 3; ++c) turn[last][c] = 0.0;
  }

  double first = 0.0, sum = 0.0, base[3] = {0.0}, change[3] = {0.0};
  for (int32_t i = 0; i < near.count; ++i) {
    const double *map = pose->inverse + 12 * (size_t)near.proxy[i];
    double rest[3], at_rest[3], g[3];
    pull_back(map, x, rest);
    const double d = rf_field_gradient_rt(f->field[domain], rest, at_rest);
    for (int c = 0; c < 3; ++c)
      g[c] = map[c] * at_rest[0] + map[3 + c] * at_rest[1] + map[6 + c] * at_rest[2];
    if (i == 0) {
      first = d;
      for (int c = 0; c < 3; ++c) base[c] = g[c];
      if (!(first < INFINITY)) break;
    }
    sum += by.w[i] * (d - first);
    for (int c = 0; c < 3; ++c) {
      change[c] += by.w[i] * (g[c] - base[c]);
      if (by.total > 0.0) change[c] += (turn[i][c] - by.w[i] * all[c]) / by.total * (d - first);
    }
  }
  for (int c = 0; c < 3; ++c) gradient[c] = base[c] + change[c];
  return first + sum;
}

double rf_deformed_field_gradient_rt(const rf_deformed_field *f, const rf_deformed_pose *pose,
                                     const double x[3], double gradient[3], int32_t *nearest) {
  double least = INFINITY;
  *nearest = 0;
  for (int c = 0; c < 3; ++c) gradient[c] = 0.0;
  if (!pose->usable) return least;
  for (int32_t domain = 0; domain < f->n_domains; ++domain) {
    int32_t proxy;
    double g[3];
    const double d = domain_gradient(f, pose, domain, x, g, &proxy);
    if (domain > 0 && !(d < least)) continue;
    least = d;
    *nearest = proxy;
    for (int c = 0; c < 3; ++c) gradient[c] = g[c];
  }
  return least;
}

void rf_deformed_field_push_rt(const rf_deformed_field *f, int32_t proxy, const double force[3],
                               double *reduced) {
  const double *row = f->modes + 12 * (size_t)proxy * (size_t)f->r;
  for (int32_t j = 0; j < f->r; ++j, row += 12) reduced[j] += rf_vec3_dot(row, force);
}

double rf_deformed_field_slack_rt(const rf_deformed_field *f, double d, double R) {
  return (d - f->safety * R) / (2.0 * f->safety);
}
