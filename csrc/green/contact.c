#include "green/contact.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "constraint/friction_poll.h"
#include "linalg/vec3.h"

// Fills the rows normal, first and second tangent of a right-handed frame.
static rf_status make_frame(const double normal[3], int32_t k, double frame[9], rf_error *err) {
  const double length = rf_vec3_length(normal);
  if (!(length > 0.0 && isfinite(length)))
    return rf_fail(err, RF_ERR_ARG, "normals[%d] is (%g, %g, %g), which has no direction", (int)k,
                   normal[0], normal[1], normal[2]);
  for (int c = 0; c < 3; ++c) frame[c] = normal[c] / length;
  rf_vec3_tangents(frame, frame + 3, frame + 6);
  return RF_OK;
}

// Adds forces (m, 3) at points to u.
static void add_forces(const rf_green *g, int32_t m, const rf_green_point *point,
                       const double *force, double *u) {
  for (int32_t k = 0; k < m; ++k)
    for (int a = 0; a < 3; ++a) {
      const double w = point[k].weight[a], *f = force + 3 * (int64_t)k;
      const double part[3] = {w * f[0], w * f[1], w * f[2]};
      if (w != 0.0) rf_green_add_rt(g, 1, &point[k].place[a], part, u);
    }
}

static void displacement_of(const rf_green_point *p, const double *u, double out[3]) {
  for (int c = 0; c < 3; ++c) {
    out[c] = 0.0;
    for (int a = 0; a < 3; ++a) out[c] += p->weight[a] * u[3 * (int64_t)p->place[a] + c];
  }
}

static void fill_operator(const rf_green *g, const rf_green_contact *contact, const double *frame,
                          double *w) {
  const int32_t m = contact->m;
  for (int32_t p = 0; p < m; ++p)
    for (int32_t q = 0; q <= p; ++q) {
      double block[9], turned[9], own[9];
      rf_green_between_rt(g, &contact->point[p], &contact->point[q], block);
      // F_p B F_q^T = F_p (F_q B^T)^T
      rf_mat3_abt(frame + 9 * (int64_t)q, block, turned);
      rf_mat3_abt(frame + 9 * (int64_t)p, turned, own);
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
          const int64_t row = 3 * (int64_t)p + i, column = 3 * (int64_t)q + j;
          if (column > row) continue;
          w[row * 3 * m + column] = w[column * 3 * m + row] = own[3 * i + j];
        }
    }
}

// Turns vectors (m, 3) into the frames, or back.
static void turn(int32_t m, const double *frame, bool back, const double *from, double *to) {
  for (int32_t k = 0; k < m; ++k)
    for (int i = 0; i < 3; ++i) {
      double sum = 0.0;
      for (int j = 0; j < 3; ++j)
        sum += frame[9 * (int64_t)k + (back ? 3 * j + i : 3 * i + j)] * from[3 * (int64_t)k + j];
      to[3 * (int64_t)k + i] = sum;
    }
}

rf_status rf_green_contact_solve(const rf_green *g, const rf_run *run,
                                 const rf_green_contact *contact, double tolerance, double *force,
                                 double *gap, rf_contact_state *state, double *u,
                                 rf_friction_report *report, rf_error *err) {
  rf_status st = RF_OK;
  rf_friction_poll asked = {.run = run, .err = err};
  const rf_friction_limits limits = {.tolerance = tolerance,
                                     .budget_us = INFINITY,
                                     .stop = rf_friction_poll_stop,
                                     .context = &asked};
  const int32_t m = contact->m;
  const rf_friction_settings set = {.most = m, .simd = g->simd};
  rf_friction *solver = NULL;
  double *frame = NULL, *w = NULL, *free = NULL, *in_frame = NULL, *moved = NULL;
  RF_TRY(rf_friction_create(&set, &solver, err));
  RF_ALLOC(frame, 9 * (int64_t)m);
  RF_ALLOC(w, 9 * (int64_t)m * m);
  RF_ALLOC(free, 3 * (int64_t)m);
  RF_ALLOC(in_frame, 3 * (int64_t)m);
  RF_ALLOC(moved, 3 * (int64_t)m);
  for (int32_t k = 0; k < m; ++k)
    RF_TRY(make_frame(contact->normal + 3 * (int64_t)k, k, frame + 9 * (int64_t)k, err));
  fill_operator(g, contact, frame, w);
  rf_green_load_rt(g, contact->load, u);
  for (int32_t k = 0; k < m; ++k) {
    double *place = moved + 3 * (int64_t)k;
    displacement_of(&contact->point[k], u, place);
    for (int c = 0; c < 3; ++c) place[c] += contact->gap[3 * (int64_t)k + c];
  }
  turn(m, frame, false, moved, free);
  st = rf_friction_set_matrix_rt(solver, m, w);
  if (st >= 0)
    st = rf_friction_solve_rt(solver, free, contact->mu, NULL, &limits, in_frame, moved, state,
                              report);
  if (st < 0) {
    rf_fail(err, st, "gaps, forces or compliances are out of range: values must be below %g",
            RF_FRICTION_MOST_SCALE);
    goto done;
  }
  RF_TRY(asked.st);
  turn(m, frame, true, in_frame, force);
  turn(m, frame, true, moved, gap);
  add_forces(g, m, contact->point, force, u);
done:
  rf_friction_free(solver);
  rf_free(frame);
  rf_free(w);
  rf_free(free);
  rf_free(in_frame);
  rf_free(moved);
  return st;
}
