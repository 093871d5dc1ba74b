#include "contact/wrench.h"

#include <math.h>
#include <string.h>

#include "linalg/vec3.h"

enum { BLOCK = RF_CONTACT_BLOCK };

static void add_row(rf_contact_wrench *w, const double a[3], const double arm[3], double force,
                    double stiffness, int32_t place, double rigid[6]) {
  double on_shell[3];
  memcpy(rigid, a, 3 * sizeof *rigid);
  rf_vec3_cross(arm, a, rigid + 3);
  for (int i = 0; i < 3; ++i) {
    w->force_n[i] += force * rigid[i];
    w->torque_nm[i] += force * rigid[i + 3];
    on_shell[i] = -(force * rigid[i]);
  }
  rf_point_tree_project_rt(w->tree, place, on_shell, w->reduced);
  for (int i = 0, at = 0; i < 6; ++i)
    for (int j = 0; j <= i; ++j) w->gradient[at++] -= stiffness * rigid[i] * rigid[j];
}

// Adds a force along a, in the world, to the moments of the proxies that carry it.
static void add_moments(rf_contact_wrench *w, const rf_contact_frame *frame, const double a[3],
                        double force, const rf_deformed_carriers *carriers) {
  double local[3];
  rf_contact_to_body(frame->rotation, a, local);
  for (int32_t i = 0; i < carriers->n; ++i)
    rf_deformed_moments_rt(force * carriers->share[i], local, carriers->arm[i],
                           w->moments + 12 * (size_t)carriers->proxy[i]);
}

// The reduced force on the field object, from the moments of its proxies.
static void push_proxies(rf_contact_wrench *w) {
  const rf_deformed_field *f = w->deformed;
  memset(w->field_reduced, 0, (size_t)f->r * sizeof *w->field_reduced);
  for (int32_t i = 0; i < f->n_proxies; ++i) {
    const double *moments = w->moments + 12 * (size_t)i;
    if (moments[0] == 0.0 && moments[1] == 0.0 && moments[2] == 0.0) continue;
    rf_deformed_field_push_moments_rt(f, i, moments, w->field_reduced);
  }
  for (int32_t j = 0; j < f->r; ++j) w->field_reduced[j] *= w->scale;
}

void rf_contact_wrench_begin_rt(rf_contact_wrench *w, const rf_contact_blocks *blocks) {
  memset(w->force_n, 0, sizeof w->force_n);
  memset(w->torque_nm, 0, sizeof w->torque_nm);
  memset(w->gradient, 0, sizeof w->gradient);
  w->total = w->depth_m = 0.0;
  memset(w->reduced, 0, (size_t)w->tree->row * sizeof *w->reduced);
  if (blocks) rf_contact_blocks_begin_rt(w, blocks);
  if (w->deformed) memset(w->moments, 0, 12 * (size_t)w->deformed->n_proxies * sizeof(double));
}

void rf_contact_wrench_add_rt(rf_contact_wrench *w, const rf_contact_frame *frame,
                              const rf_contact_points *points, const rf_contact_rows *rows,
                              const rf_contact_blocks *blocks) {
  for (int32_t k = 0; k < points->n; ++k) {
    w->total += points->weight[k];
    if (-points->gap[k] > w->depth_m) w->depth_m = -points->gap[k];
  }
  for (int32_t i = 0; i < rows->n; ++i) {
    const int32_t k = rows->point[i], place = points->place[k];
    double arm[3], rigid[6];
    rf_vec3_sub(points->position + 3 * k, frame->grasp, arm);
    add_row(w, rows->axis + 3 * i, arm, rows->force[i], rows->stiffness[i], place, rigid);
    if (w->deformed) add_moments(w, frame, rigid, rows->force[i], &points->carriers[k]);
    if (!blocks) continue;
    rf_contact_blocks_enter_rt(w, i % BLOCK, frame, place, &points->carriers[k], rows->stiffness[i],
                               rigid, blocks);
    if (i % BLOCK == BLOCK - 1 || i == rows->n - 1)
      rf_contact_blocks_add_rt(w, i % BLOCK + 1, blocks);
  }
}

void rf_contact_wrench_end_rt(rf_contact_wrench *w, double most, const rf_contact_blocks *blocks) {
  w->scale = most > 0.0 && w->total > most ? most / w->total : 1.0;
  for (int i = 0; i < 3; ++i) {
    w->force_n[i] *= w->scale;
    w->torque_nm[i] *= w->scale;
  }
  for (int i = 0; i < 21; ++i) w->gradient[i] *= w->scale;
  for (int32_t j = 0; j < w->tree->r; ++j) w->reduced[j] *= w->scale;
  if (blocks) rf_contact_blocks_scale_rt(w, blocks);
  if (w->deformed) push_proxies(w);
}
