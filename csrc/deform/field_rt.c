#include <math.h>

#include "deform/field.h"
#include "deform/nearest.h"
#include "linalg/vec3.h"

// ---- once a cycle ---------------------------------------------------------------------

// Eigenvectors of a symmetric matrix a as columns of v, by Jacobi's rotations; a becomes diagonal.
static void diagonalize(double a[3][3], double v[3][3]) {
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) v[i][j] = i == j;
  // each sweep at least squares the off-diagonal entries: six sweeps suffice for any matrix
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

// Normalizes the part of x normal to the first `count` unit vectors u; any unit vector normal to
// them where that part vanishes.
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
    // at least one of the three axes is within 55 degrees of the plane
    if (!(length > (attempt == 0 ? 1e-9 * before : 0.5))) continue;
    for (int i = 0; i < 3; ++i) out[i] = left[i] / length;
    return;
  }
  for (int i = 0; i < 3; ++i) out[i] = i == 0;
}

// Inverts F = sum_i s_i u_i v_i^T, U and V rotations, after raising the s_i; returns true where one
// was raised.
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

  // right and left singular vectors, the largest value first
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
    // an image within rounding of zero has no direction
    const int none = !(rf_vec3_length(image) > 1e-14 * scale);
    complete(k, (const double(*)[3])after, none ? before[k] : image, after[k]);
  }
  // the third vectors complete rotations: their singular value carries the sign
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

// Returns true where a singular value was raised.
static bool invert(const double f[9], double out[9]) {
  double transposed[9], square = 0.0, size = 0.0;
  const double det = rf_mat3_inverse_transposed(f, transposed);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      out[3 * i + j] = transposed[3 * j + i];
      square += transposed[3 * j + i] * transposed[3 * j + i];
      size += f[3 * i + j] * f[3 * i + j];
    }
  // The root of `square` bounds the singular values of the inverse.  A determinant within rounding
  // of zero makes the inverse worthless.
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

      double inverse[9], *to = pose->map + 16 * (size_t)i;
      pose->flat += invert(moved + 3, inverse);
      const int32_t slot = f->slot[d] + i - f->first[d];
      for (int c = 0; c < 3; ++c) {
        pose->place[c * f->n_slots + slot] = moved[c];
        for (int b = 0; b < 3; ++b) to[4 * b + c] = inverse[3 * c + b];
        to[12 + c] = rest[c] - rf_vec3_dot(inverse + 3 * c, moved);
      }
    }
  pose->usable = true;
  return true;
}

// ---- queries ---------------------------------------------------------------------------

// Calls a kernel by instruction set; the widest vectors have four numbers.
#if RF_SIMD_X86
#define CALL(f, simd, ...) \
  ((simd) >= RF_SIMD_AVX2 ? f##_avx2_rt(__VA_ARGS__) : f##_plain_rt(__VA_ARGS__))
#else
#define CALL(f, simd, ...) f##_plain_rt(__VA_ARGS__)
#endif

enum { BLOCK = RF_DEFORMED_BLOCK };

static void enter(const double *points, int32_t n, rf_deformed_block *b) {
  b->n = n;
  for (int32_t j = 0; j < BLOCK; ++j)
    for (int c = 0; c < 3; ++c) b->x[c][j] = points[3 * (j < n ? j : 0) + c];
}

static void find_nearest(const rf_deformed_field *f, const rf_deformed_pose *pose, int32_t domain,
                         rf_deformed_block *b) {
  const int32_t n = f->first[domain + 1] - f->first[domain];
  b->k = f->k < n ? f->k : n;
  b->proxy = pose->place + f->slot[domain];
  b->stride = f->n_slots;
  b->n_proxies = f->slot[domain + 1] - f->slot[domain];
  CALL(rf_deformed_nearest, f->simd, b);
}

// Distance of place j: weighted mean of the rest field's values at the places pulled back, `stride`
// apart.  Sums differences to the first, so that equal values give that value to the bit.
static double mean(const rf_deformed_block *b, int32_t j, int32_t stride, const double *at_rest) {
  const double first = at_rest[0];
  double sum = 0.0;
  for (int32_t i = 1; i < b->rows; ++i) {
    const double term = b->weight[i][j] * (at_rest[i * stride] - first);
    sum += b->weight[i][j] == 0.0 ? 0.0 : term;
  }
  // infinite where squares overflow
  return first < INFINITY ? first + sum : first;
}

// Values of a block in one domain.
static void domain_distances(const rf_deformed_field *f, const rf_deformed_pose *pose,
                             int32_t domain, rf_deformed_block *b, double *distance) {
  double rest[3 * BLOCK * RF_DEFORMED_SEARCH_K + 1], at_rest[BLOCK * RF_DEFORMED_SEARCH_K];
  find_nearest(f, pose, domain, b);
  CALL(rf_deformed_pull, f->simd, b, b->rows, pose->map + 16 * (size_t)f->first[domain], rest);
  rf_field_distances_rt(f->field[domain], b->rows * b->n, rest, at_rest);
  for (int32_t j = 0; j < b->n; ++j) distance[j] = mean(b, j, b->n, at_rest + j);
}

void rf_deformed_field_distances_rt(const rf_deformed_field *f, const rf_deformed_pose *pose,
                                    int32_t n, const double *points, double *distance,
                                    int32_t *nearest) {
  rf_deformed_block b;
  double found[BLOCK];
  for (int32_t from = 0; from < n; from += BLOCK) {
    const int32_t count = n - from < BLOCK ? n - from : BLOCK;
    double *to = distance + from;
    for (int32_t j = 0; j < count; ++j) to[j] = INFINITY;
    for (int32_t j = 0; j < count && nearest; ++j) nearest[from + j] = 0;
    if (!pose->usable) continue;
    enter(points + 3 * (size_t)from, count, &b);
    for (int32_t domain = 0; domain < f->n_domains; ++domain) {
      domain_distances(f, pose, domain, &b, found);
      for (int32_t j = 0; j < count; ++j) {
        if (domain > 0 && !(found[j] < to[j])) continue;
        to[j] = found[j];
        if (nearest) nearest[from + j] = f->first[domain] + (int32_t)b.number[0][j];
      }
    }
  }
}

double rf_deformed_field_distance_rt(const rf_deformed_field *f, const rf_deformed_pose *pose,
                                     const double x[3], int32_t *nearest) {
  double distance;
  rf_deformed_field_distances_rt(f, pose, 1, x, &distance, nearest);
  return distance;
}

// Results of a block in one domain.
typedef struct found {
  double distance[BLOCK], gradient[3 * BLOCK];
  double rest[3 * BLOCK * RF_DEFORMED_SEARCH_K + 1];  // places pulled back, by rows
} found;

// Values and gradients of a block in one domain; `central`: from slopes of the rest field.
static void domain_gradients(const rf_deformed_field *f, const rf_deformed_pose *pose,
                             int32_t domain, bool central, rf_deformed_block *b, found *to) {
  double slope[3 * BLOCK * RF_DEFORMED_SEARCH_K], at_rest[BLOCK * RF_DEFORMED_SEARCH_K];
  const double *maps = pose->map + 16 * (size_t)f->first[domain];
  find_nearest(f, pose, domain, b);
  CALL(rf_deformed_pull, f->simd, b, b->rows, maps, to->rest);
  if (central)
    rf_field_slopes_rt(f->field[domain], b->rows * b->n, to->rest, at_rest, slope);
  else
    rf_field_gradients_rt(f->field[domain], b->rows * b->n, to->rest, at_rest, slope);
  for (int32_t j = 0; j < b->n; ++j) to->distance[j] = mean(b, j, b->n, at_rest + j);
  CALL(rf_deformed_slopes, f->simd, b, maps, at_rest, slope, to->distance, to->gradient);
}

// Collects the proxies with a weight at place j.
static void carry(const rf_deformed_field *f, int32_t domain, const rf_deformed_block *b, int32_t j,
                  const double *rest, rf_deformed_carriers *to) {
  to->n = 0;
  for (int32_t i = 0; i < b->rows; ++i) {
    if (b->weight[i][j] == 0.0 && i > 0) continue;
    const int32_t k = to->n++, proxy = f->first[domain] + (int32_t)b->number[i][j];
    to->proxy[k] = proxy;
    to->share[k] = b->weight[i][j];
    rf_vec3_sub(rest + 3 * (i * b->n + j), f->rest + 3 * (size_t)proxy, to->arm[k]);
  }
}

// Exactly one of `nearest` and `carriers` is NULL.
static void all_gradients(const rf_deformed_field *f, const rf_deformed_pose *pose, int32_t n,
                          const double *points, double *distance, double *gradient,
                          int32_t *nearest, rf_deformed_carriers *carriers) {
  rf_deformed_block b;
  found here;
  for (int32_t from = 0; from < n; from += BLOCK) {
    const int32_t count = n - from < BLOCK ? n - from : BLOCK;
    double *to = distance + from, *slope = gradient + 3 * (size_t)from;
    for (int32_t j = 0; j < count; ++j) {
      to[j] = INFINITY;
      if (nearest) nearest[from + j] = 0;
      if (carriers) carriers[from + j].n = 0;
      for (int c = 0; c < 3; ++c) slope[3 * j + c] = 0.0;
    }
    if (!pose->usable) continue;
    enter(points + 3 * (size_t)from, count, &b);
    for (int32_t domain = 0; domain < f->n_domains; ++domain) {
      domain_gradients(f, pose, domain, carriers != NULL, &b, &here);
      for (int32_t j = 0; j < count; ++j) {
        if (domain > 0 && !(here.distance[j] < to[j])) continue;
        to[j] = here.distance[j];
        if (nearest) nearest[from + j] = f->first[domain] + (int32_t)b.number[0][j];
        if (carriers) carry(f, domain, &b, j, here.rest, carriers + from + j);
        for (int c = 0; c < 3; ++c) slope[3 * j + c] = here.gradient[3 * j + c];
      }
    }
  }
}

void rf_deformed_field_gradients_rt(const rf_deformed_field *f, const rf_deformed_pose *pose,
                                    int32_t n, const double *points, double *distance,
                                    double *gradient, int32_t *nearest) {
  all_gradients(f, pose, n, points, distance, gradient, nearest, NULL);
}

void rf_deformed_field_slopes_rt(const rf_deformed_field *f, const rf_deformed_pose *pose,
                                 int32_t n, const double *points, double *distance, double *slope,
                                 rf_deformed_carriers *carriers) {
  all_gradients(f, pose, n, points, distance, slope, NULL, carriers);
}

double rf_deformed_field_gradient_rt(const rf_deformed_field *f, const rf_deformed_pose *pose,
                                     const double x[3], double gradient[3], int32_t *nearest) {
  double distance;
  rf_deformed_field_gradients_rt(f, pose, 1, x, &distance, gradient, nearest);
  return distance;
}

void rf_deformed_field_push_rt(const rf_deformed_field *f, int32_t proxy, const double force[3],
                               double *reduced) {
  const double *row = f->modes + 12 * (size_t)proxy * (size_t)f->r;
  for (int32_t j = 0; j < f->r; ++j, row += 12) reduced[j] += rf_vec3_dot(row, force);
}

void rf_deformed_field_push_moments_rt(const rf_deformed_field *f, int32_t proxy,
                                       const double moments[12], double *reduced) {
  const double *row = f->modes + 12 * (size_t)proxy * (size_t)f->r;
  for (int32_t j = 0; j < f->r; ++j, row += 12) {
    double sum = 0.0;
    for (int c = 0; c < 12; ++c) sum += row[c] * moments[c];
    reduced[j] += sum;
  }
}

double rf_deformed_field_slack_rt(const rf_deformed_field *f, double d, double R) {
  return d - f->safety * R;
}
