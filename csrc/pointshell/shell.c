#include "pointshell/shell.h"

#include <math.h>

#include "base/alloc.h"
#include "base/run.h"
#include "linalg/vec3.h"
#include "pointshell/alternatives.h"
#include "pointshell/level_set.h"
#include "pointshell/measure.h"

enum { CHUNK = 4096 };

// Fixed seed, so that results are comparable.
static const uint64_t THINNESS_SEED = 5;

rf_status rf_shell_create(const rf_field *field, const rf_surface *surface,
                          const rf_shell_settings *set, const rf_run *run, double *points,
                          double *normals, double *areas, rf_repulsion_report *report,
                          rf_error *err) {
  rf_status st = RF_OK;
  rf_isosurface level_set = {0};
  rf_sampler sampler = {0};
  const rf_repulsion_settings *r = &set->repulsion;
  // approximate shares of the time
  rf_run_part parts[4] = {
      {run, 0, 5, 100}, {run, 5, 85, 100}, {run, 85, 90, 100}, {run, 90, 100, 100}};
  rf_run runs[4];
  for (int k = 0; k < 4; ++k) runs[k] = rf_run_of_part(&parts[k]);
  if (!field && !surface)
    return rf_fail(err, RF_ERR_ARG, "a pointshell needs a field or a surface");
  if (!(set->area_samples >= 0))
    return rf_fail(err, RF_ERR_ARG, "area samples must be 0 or more, got %d",
                   (int)set->area_samples);
  RF_TRY(rf_run_progress(run, 0, 100, err));
  if (field)
    RF_TRY(
        rf_level_set_triangulate(field, r->level_set, set->resolution, &runs[0], &level_set, err));
  const rf_surface view = field ? rf_isosurface_view(&level_set) : *surface;
  RF_TRY(rf_sampler_create(&view, run, &sampler, err));
  RF_TRY(rf_repulsion(field, &sampler, r, &runs[1], points, normals, report, err));
  if (field && surface)
    RF_TRY(rf_shell_normals(surface, r->points, points, &runs[2], normals, err));
  if (set->area_samples > 0)
    RF_TRY(rf_shell_areas(&sampler, r->points, points, normals, set->area_samples, r->seed,
                          &runs[3], areas, err));
  RF_TRY(rf_run_progress(run, 100, 100, err));

done:
  rf_sampler_free(&sampler);
  rf_isosurface_free(&level_set);
  return st;
}

// ---- thinness ------------------------------------------------------------------------

typedef struct probing {
  const rf_field *field;
  const rf_sampler *sampler;
  double level_set, depth;
  int32_t samples;
  int32_t *out;  // per chunk
} probing;

static rf_status probe_chunk(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const probing *p = context;
  const rf_surface *s = p->sampler->surface;
  int32_t out = 0;
  for (int64_t k = task * CHUNK; k < p->samples && k < (task + 1) * CHUNK; ++k) {
    double x[3], y[3], u[3], v[3], n[3];
    const int32_t t = rf_sampler_draw_even(p->sampler, THINNESS_SEED, k, p->samples, x);
    const int32_t *corner = s->triangles + 3 * (size_t)t;
    const double *a = s->vertices + 3 * (size_t)corner[0];
    rf_vec3_sub(s->vertices + 3 * (size_t)corner[1], a, u);
    rf_vec3_sub(s->vertices + 3 * (size_t)corner[2], a, v);
    rf_vec3_cross(u, v, n);
    const double length = rf_vec3_length(n);
    const double far = length > 0.0 ? p->depth / length : 0.0;
    for (int c = 0; c < 3; ++c) y[c] = x[c] + far * n[c], x[c] -= far * n[c];
    out += !(rf_field_distance_rt(p->field, x) < p->level_set ||
             rf_field_distance_rt(p->field, y) < p->level_set);
  }
  p->out[task] = out;
  return RF_OK;
}

rf_status rf_shell_thinness(const rf_field *field, const rf_surface *surface, double level_set,
                            double depth, int32_t samples, const rf_run *run, double *share,
                            rf_error *err) {
  rf_status st = RF_OK;
  rf_sampler sampler = {0};
  int32_t *out = NULL;
  if (!(isfinite(level_set) && isfinite(depth) && samples >= 1))
    return rf_fail(
        err, RF_ERR_ARG,
        "level_set is %g, depth %g, samples %d; they must be finite, and 1 or more samples",
        level_set, depth, (int)samples);
  const int64_t chunks = (samples - 1) / CHUNK + 1;
  RF_ALLOC(out, chunks);
  RF_TRY(rf_sampler_create(surface, run, &sampler, err));
  probing p = {field, &sampler, level_set, depth, samples, out};
  RF_TRY(rf_run_tasks(run, chunks, 1, probe_chunk, &p, err));
  int64_t sum = 0;
  for (int64_t k = 0; k < chunks; ++k) sum += out[k];
  *share = (double)sum / samples;

done:
  rf_free(out);
  rf_sampler_free(&sampler);
  return st;
}
