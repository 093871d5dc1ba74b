// Blocks of the derivative of all generalised forces, as products of many rows at once.
#include <string.h>

#include "contact/wrench.h"
#include "linalg/dense_rt.h"

static int32_t object_rows(const rf_contact_wrench *w, const rf_contact_blocks *b) {
  return b->object ? w->object_row : RF_DENSE_PAD;
}

void rf_contact_blocks_begin_rt(const rf_contact_wrench *w, const rf_contact_blocks *b) {
  const size_t row = (size_t)w->tree->row, rows = (size_t)object_rows(w, b);
  if (b->object) memset(b->object, 0, rows * rows * sizeof(double));
  if (b->mixed) memset(b->mixed, 0, rows * row * sizeof(double));
  if (b->shell) memset(b->shell, 0, row * row * sizeof(double));
}

void rf_contact_carry_rt(const rf_contact_wrench *w, const rf_contact_frame *frame,
                         const rf_deformed_carriers *carriers, const double a[3], double *to) {
  double local[3];
  rf_contact_to_body(frame->rotation, a, local);
  for (int32_t i = 0; i < carriers->n; ++i) {
    double moments[12] = {0};
    rf_deformed_moments_rt(carriers->share[i], local, carriers->arm[i], moments);
    rf_deformed_field_push_moments_rt(w->deformed, carriers->proxy[i], moments, to);
  }
}

void rf_contact_blocks_enter_rt(rf_contact_wrench *w, int32_t i, const rf_contact_frame *frame,
                                int32_t place, const rf_deformed_carriers *carriers,
                                double stiffness, const double rigid[6],
                                const rf_contact_blocks *b) {
  const int32_t row = w->tree->row, rows = object_rows(w, b);
  double *object = w->object + i * rows, *object_pushed = w->object_pushed + i * rows;
  double *shell = w->shell + i * row, *shell_pushed = w->shell_pushed + i * row;
  const double back[3] = {-rigid[0], -rigid[1], -rigid[2]};
  memset(object, 0, (size_t)rows * sizeof *object);
  memset(shell, 0, (size_t)row * sizeof *shell);
  memcpy(object, rigid, 6 * sizeof *object);
  if (b->object && w->deformed) rf_contact_carry_rt(w, frame, carriers, rigid, object + 6);
  rf_point_tree_project_rt(w->tree, place, back, shell);
  for (int32_t j = 0; j < rows; ++j) object_pushed[j] = -stiffness * object[j];
  for (int32_t j = 0; j < row; ++j) shell_pushed[j] = -stiffness * shell[j];
}

void rf_contact_blocks_add_rt(const rf_contact_wrench *w, int32_t n, const rf_contact_blocks *b) {
  const int32_t r = w->tree->r, row = w->tree->row, rows = object_rows(w, b);
  const int32_t n_o = b->object && w->deformed ? 6 + w->deformed->r : 6;
  const rf_simd simd = w->tree->simd;
  if (b->object)
    rf_dense_add_products_rt(simd, n_o, n_o, n, w->object_pushed, rows, w->object, rows, b->object);
  if (b->mixed && r)
    rf_dense_add_products_rt(simd, n_o, r, n, w->object_pushed, rows, w->shell, row, b->mixed);
  if (b->shell && r)
    rf_dense_add_products_rt(simd, r, r, n, w->shell_pushed, row, w->shell, row, b->shell);
}

static void scale_block(double scale, int32_t n, double *block) {
  for (int32_t i = 0; block && i < n; ++i) block[i] *= scale;
}

void rf_contact_blocks_scale_rt(const rf_contact_wrench *w, const rf_contact_blocks *b) {
  const int32_t row = w->tree->row, rows = object_rows(w, b);
  if (w->scale == 1.0) return;
  scale_block(w->scale, rows * rows, b->object);
  scale_block(w->scale, rows * row, b->mixed);
  scale_block(w->scale, row * row, b->shell);
}
