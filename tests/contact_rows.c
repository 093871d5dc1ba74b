// Sums of contact forces, of rows that a test makes: three at each point, as no law here has yet.
//
// The sum is the real one; the tree is a table of motions.
#include <string.h>

#include "contact/wrench.h"

static const double *motion;  // (n_points, 3, r)

void rf_point_tree_project_rt(const rf_point_tree *t, int32_t place, const double force[3],
                              double *reduced) {
  for (int a = 0; a < 3; ++a)
    for (int32_t j = 0; j < t->r; ++j) reduced[j] += motion[(3 * place + a) * t->r + j] * force[a];
}

void rf_deformed_field_push_moments_rt(const rf_deformed_field *f, int32_t proxy,
                                       const double moments[12], double *reduced) {
  (void)f, (void)proxy, (void)moments, (void)reduced;  // no field here deforms
}

void rf_dense_add_products_rt(rf_simd simd, int32_t m, int32_t n, int32_t count, const double *a,
                              int32_t lda, const double *b, int32_t ld, double *out) {
  (void)simd;
  for (int32_t k = 0; k < count; ++k)
    for (int32_t i = 0; i < m; ++i)
      for (int32_t j = 0; j < n; ++j) out[i * ld + j] += a[k * lda + i] * b[k * ld + j];
}

// Each point has `rows` rows: axis (n, rows, 3), force and stiffness (n, rows).  out: force,
// torque, depth, and the lower triangle of the gradient.  Blocks are padded to multiples of 8.
int rows_sum(int32_t n, int32_t rows, int32_t r, const double *motions, const double *position,
             const double *gap, const double *weight, const double *grasp, const double *axis,
             const double *force, const double *stiffness, double most, double *out,
             double *reduced, double *object, double *mixed, double *shell) {
  const int32_t row = (r + 7) / 8 * 8;
  const rf_point_tree tree = {.n_points = n, .r = r, .row = row};
  const rf_contact_blocks blocks = {object, mixed, shell};
  rf_contact_frame frame = {.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
  rf_contact_wrench w = {0};
  rf_error err = {0};
  motion = motions;
  memcpy(frame.grasp, grasp, sizeof frame.grasp);
  if (rf_contact_wrench_create(&w, &tree, NULL, &err) < 0) return 0;
  rf_contact_wrench_begin_rt(&w, &blocks);
  for (int32_t first = 0; first < n; first += RF_CONTACT_BLOCK) {
    rf_contact_points points = {.n = n - first < RF_CONTACT_BLOCK ? n - first : RF_CONTACT_BLOCK};
    rf_contact_rows some = {.n = points.n * rows};
    int32_t place[RF_CONTACT_BLOCK];
    for (int32_t k = 0; k < points.n; ++k) place[k] = first + k;
    points.place = place;
    points.gap = gap + first;
    memcpy(points.weight, weight + first, (size_t)points.n * sizeof(double));
    memcpy(points.position, position + 3 * first, 3 * (size_t)points.n * sizeof(double));
    for (int32_t i = 0; i < some.n; ++i) some.point[i] = i / rows;
    memcpy(some.axis, axis + 3 * rows * first, 3 * (size_t)some.n * sizeof(double));
    memcpy(some.force, force + rows * first, (size_t)some.n * sizeof(double));
    memcpy(some.stiffness, stiffness + rows * first, (size_t)some.n * sizeof(double));
    rf_contact_wrench_add_rt(&w, &frame, &points, &some, &blocks);
  }
  rf_contact_wrench_end_rt(&w, most, &blocks);
  memcpy(out, w.force_n, sizeof w.force_n);
  memcpy(out + 3, w.torque_nm, sizeof w.torque_nm);
  out[6] = w.depth_m;
  memcpy(out + 7, w.gradient, sizeof w.gradient);
  memcpy(reduced, w.reduced, (size_t)r * sizeof *reduced);
  rf_contact_wrench_free(&w);
  return 1;
}
