// Strain and stress of elements.
#include <math.h>
#include <string.h>

#include "base/run.h"
#include "fem/fem.h"
#include "linalg/vec3.h"

enum { ELEMENTS_PER_TASK = 256 };

typedef struct measures {
  const rf_solid *solid;
  const double *u;
  double *strain, *stress, *mises;
} measures;

// Computes G = grad u at a point, from differences of displacements: translations have no rounding.
static void gradient_of(const rf_solid *s, const int32_t *corner, const double *u,
                        const double *gradient, double *G) {
  memset(G, 0, 9 * sizeof *G);
  for (int a = 1; a < (int)s->mesh->type; ++a)
    for (int i = 0; i < 3; ++i) {
      const double d = u[3 * (int64_t)corner[a] + i] - u[3 * (int64_t)corner[0] + i];
      for (int j = 0; j < 3; ++j) G[3 * i + j] += d * gradient[3 * a + j];
    }
}

// Adds weight E, E = (G + G^T + G^T G) / 2.
static void add_strain(double weight, const double *G, double *sum) {
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      const double square = G[i] * G[j] + G[3 + i] * G[3 + j] + G[6 + i] * G[6 + j];
      sum[3 * i + j] += 0.5 * weight * (G[3 * i + j] + G[3 * j + i] + square);
    }
}

// Adds weight P F^T = weight J sigma; returns J, NaN unless it is positive.
static double add_stress(const rf_material *m, double weight, const double *G, double *sum) {
  double W, P[9], F[9];
  memcpy(F, G, sizeof F);
  for (int i = 0; i < 3; ++i) F[4 * i] += 1.0;
  m->law->point[RF_SIMD_BEST](m->parameter, G, &W, P, NULL);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) sum[3 * i + j] += weight * rf_vec3_dot(P + 3 * i, F + 3 * j);
  const double J = rf_vec3_det(F, F + 3, F + 6);
  return J > 0.0 ? J : NAN;
}

static double von_mises(const double *s) {
  const double x = s[0] - s[4], y = s[4] - s[8], z = s[8] - s[0];
  const double shear = s[1] * s[1] + s[2] * s[2] + s[5] * s[5];
  return sqrt(0.5 * (x * x + y * y + z * z) + 3.0 * shear);
}

static void measure(const measures *job, int32_t e) {
  const rf_solid *s = job->solid;
  const int nodes = (int)s->mesh->type;
  const double *gradient = rf_solid_gradient(s, e), *volume = rf_solid_volume(s, e);
  double rest = 0.0, now = 0.0, strain[9] = {0}, stress[9] = {0};
  for (int32_t q = 0; q < rf_solid_points(s, e); ++q, gradient += 3 * nodes) {
    double G[9];
    gradient_of(s, s->mesh->elements + (int64_t)nodes * e, job->u, gradient, G);
    rest += volume[q];
    add_strain(volume[q], G, strain);
    if (!job->stress && !job->mises) continue;
    now += volume[q] * add_stress(&s->material[s->element_material[e]], volume[q], G, stress);
  }
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < i; ++j)  // symmetric up to rounding
      stress[3 * i + j] = stress[3 * j + i] = 0.5 * (stress[3 * i + j] + stress[3 * j + i]);
  for (int k = 0; k < 9; ++k) {
    stress[k] /= now;
    if (job->strain) job->strain[9 * (int64_t)e + k] = strain[k] / rest;
    if (job->stress) job->stress[9 * (int64_t)e + k] = stress[k];
  }
  if (job->mises) job->mises[e] = von_mises(stress);
}

static rf_status measure_some(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const measures *job = context;
  const int64_t n = job->solid->mesh->n_elements, end = (task + 1) * ELEMENTS_PER_TASK;
  for (int64_t e = task * ELEMENTS_PER_TASK; e < (end < n ? end : n); ++e) measure(job, (int32_t)e);
  return RF_OK;
}

rf_status rf_solid_measures(const rf_solid *s, const rf_run *run, const double *u, double *strain,
                            double *stress, double *mises, rf_error *err) {
  measures job = {.solid = s, .u = u, .strain = strain, .stress = stress, .mises = mises};
  const int64_t n = s->mesh->n_elements;
  const rf_status st = rf_run_tasks(run, (n + ELEMENTS_PER_TASK - 1) / ELEMENTS_PER_TASK, 0,
                                    measure_some, &job, err);
  if (st < 0 || !(stress || mises)) return st;
  for (int64_t e = 0; e < n; ++e)
    if (!isfinite(stress ? stress[9 * e] : mises[e])) return rf_solid_require_upright(s, u, err);
  return RF_OK;
}
