#include <math.h>

#include "deform/field.h"
#include "deform/nearest.h"
#include "linalg/vec3.h"

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
  RF_DEFORMED_CALL(rf_deformed_nearest, f->simd, b);
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
  RF_DEFORMED_CALL(rf_deformed_pull, f->simd, b, b->rows, pose->map + 16 * (size_t)f->first[domain],
                   rest);
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
  RF_DEFORMED_CALL(rf_deformed_pull, f->simd, b, b->rows, maps, to->rest);
  if (central)
    rf_field_slopes_rt(f->field[domain], b->rows * b->n, to->rest, at_rest, slope);
  else
    rf_field_gradients_rt(f->field[domain], b->rows * b->n, to->rest, at_rest, slope);
  for (int32_t j = 0; j < b->n; ++j) to->distance[j] = mean(b, j, b->n, at_rest + j);
  RF_DEFORMED_CALL(rf_deformed_slopes, f->simd, b, maps, at_rest, slope, to->distance,
                   to->gradient);
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
  const double *rows = f->modes + 12 * (size_t)proxy * (size_t)f->r;
  RF_DEFORMED_CALL(rf_deformed_push, f->simd, f->r, rows, moments, reduced);
}

double rf_deformed_field_slack_rt(const rf_deformed_field *f, double d, double R) {
  return d - f->safety * R;
}
