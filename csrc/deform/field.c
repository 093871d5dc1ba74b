#include "deform/field.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "deform/nearest.h"

enum { POINTS_PER_TASK = 1024, LANES = 8 };

static rf_status check(int32_t n_domains, const int32_t *first, const rf_reduced *model,
                       const rf_mesh *mesh, const rf_embedding *embedding,
                       const rf_deformed_settings *set, rf_error *err) {
  const int32_t n = embedding->n_points;
  if (!(set->k >= 1 && set->k <= RF_DEFORMED_MAX_K))
    return rf_fail(err, RF_ERR_ARG, "k must be between 1 and %d, got %d", RF_DEFORMED_MAX_K,
                   (int)set->k);
  if (!(isfinite(set->safety) && set->safety >= 1.0))
    return rf_fail(err, RF_ERR_ARG, "safety must be 1 or more, and finite, got %g", set->safety);
  if (!(n >= 1 && n <= RF_DEFORMED_MAX_PROXIES))
    return rf_fail(err, RF_ERR_ARG, "there may be 1 to %d proxies, got %d", RF_DEFORMED_MAX_PROXIES,
                   (int)n);
  if (!(n_domains >= 1 && first[0] == 0 && first[n_domains] == n))
    return rf_fail(err, RF_ERR_ARG, "%d domains do not divide %d proxies", (int)n_domains, (int)n);
  for (int32_t d = 0; d < n_domains; ++d)
    if (!(first[d] < first[d + 1]))
      return rf_fail(err, RF_ERR_ARG, "domain %d has no proxies; each needs one or more", (int)d);
  if (model->n_nodes != embedding->n_nodes || mesh->n_nodes != embedding->n_nodes)
    return rf_fail(err, RF_ERR_ARG,
                   "the model has %d nodes, the mesh has %d, the embedding of the proxies is "
                   "in one of %d",
                   (int)model->n_nodes, (int)mesh->n_nodes, (int)embedding->n_nodes);
  return RF_OK;
}

// Rows of U and grad U at every proxy.
static void gather_modes(const rf_reduced *model, const rf_embedding *e, const double *gradients,
                         double *modes) {
  const size_t dofs = 3 * (size_t)model->n_nodes;
  for (int32_t p = 0; p < e->n_points; ++p)
    for (int32_t a = 0; a < e->corners; ++a) {
      const size_t entry = (size_t)p * (size_t)e->corners + (size_t)a;
      const double *u = model->basis + 3 * (size_t)e->node[entry], *g = gradients + 3 * entry;
      double *to = modes + 12 * (size_t)p * (size_t)model->r;
      for (int32_t j = 0; j < model->r; ++j, u += dofs, to += 12)
        for (int i = 0; i < 3; ++i) {
          to[i] += e->weight[entry] * u[i];
          for (int b = 0; b < 3; ++b) to[3 + 3 * i + b] += u[i] * g[b];
        }
    }
}

rf_status rf_deformed_field_create(int32_t n_domains, const rf_field *const *fields,
                                   const int32_t *first, const rf_reduced *model,
                                   const rf_mesh *mesh, const rf_embedding *embedding,
                                   const double *points, const rf_deformed_settings *set,
                                   const rf_run *run, rf_deformed_field **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_deformed_field *f = NULL;
  double *gradients = NULL;
  *out = NULL;
  RF_TRY(check(n_domains, first, model, mesh, embedding, set, err));
  RF_TRY(rf_simd_check(set->simd, err));
  const int32_t n = embedding->n_points;
  RF_ALLOC(f, 1);
  f->r = model->r;
  f->k = set->k;
  f->safety = set->safety;
  f->simd = rf_simd_resolve(set->simd);
  f->n_proxies = n;
  f->n_domains = n_domains;
  RF_ALLOC(f->field, n_domains);
  RF_ALLOC(f->first, n_domains + 1);
  RF_ALLOC(f->slot, n_domains + 1);
  for (int32_t d = 0; d < n_domains; ++d) {
    f->field[d] = fields[d];
    f->first[d + 1] = first[d + 1];
    const int32_t count = first[d + 1] - first[d];
    f->slot[d + 1] = f->slot[d] + (count + LANES - 1) / LANES * LANES;
  }
  f->n_slots = f->slot[n_domains];
  RF_ALLOC(f->rest, 3 * (size_t)n);
  memcpy(f->rest, points, 3 * (size_t)n * sizeof *points);
  RF_ALLOC(f->modes, 12 * (size_t)n * (size_t)model->r);
  RF_ALLOC(gradients, 3 * (size_t)n * (size_t)embedding->corners);
  RF_TRY(rf_embedding_gradients(embedding, mesh, points, run, gradients, err));
  gather_modes(model, embedding, gradients, f->modes);
  *out = f;
  f = NULL;
done:
  rf_free(gradients);
  rf_deformed_field_free(f);
  return st;
}

void rf_deformed_field_free(rf_deformed_field *f) {
  if (!f) return;
  rf_free(f->field);
  rf_free(f->first);
  rf_free(f->slot);
  rf_free(f->rest);
  rf_free(f->modes);
  rf_free(f);
}

rf_status rf_deformed_pose_create(const rf_deformed_field *f, rf_deformed_pose **out,
                                  rf_error *err) {
  rf_status st = RF_OK;
  rf_deformed_pose *pose = NULL;
  *out = NULL;
  RF_ALLOC(pose, 1);
  RF_ALLOC(pose->place, 3 * (size_t)f->n_slots);
  RF_ALLOC(pose->map, 16 * (size_t)f->n_proxies);
  // the padding is farther than any proxy, from every place
  for (size_t i = 0; i < 3 * (size_t)f->n_slots; ++i) pose->place[i] = INFINITY;
  *out = pose;
  pose = NULL;
done:
  rf_deformed_pose_free(pose);
  return st;
}

void rf_deformed_pose_free(rf_deformed_pose *pose) {
  if (!pose) return;
  rf_free(pose->place);
  rf_free(pose->map);
  rf_free(pose);
}

typedef struct evaluation {
  const rf_deformed_field *f;
  const rf_deformed_pose *pose;
  int32_t n;
  const double *points;
  double *distance, *gradient;
  int32_t *nearest;
} evaluation;

static rf_status evaluate_task(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const evaluation *e = context;
  const int64_t from = task * POINTS_PER_TASK, left = e->n - from;
  const int32_t n = (int32_t)(left < POINTS_PER_TASK ? left : POINTS_PER_TASK);
  const double *points = e->points + 3 * from;
  if (e->gradient)
    rf_deformed_field_gradients_rt(e->f, e->pose, n, points, e->distance + from,
                                   e->gradient + 3 * from, e->nearest + from);
  else
    rf_deformed_field_distances_rt(e->f, e->pose, n, points, e->distance + from, e->nearest + from);
  return RF_OK;
}

rf_status rf_deformed_field_evaluate(const rf_deformed_field *f, const rf_run *run, const double *q,
                                     int32_t n, const double *points, double *distance,
                                     double *gradient, int32_t *nearest, rf_error *err) {
  rf_status st = RF_OK;
  rf_deformed_pose *pose = NULL;
  RF_TRY(rf_deformed_pose_create(f, &pose, err));
  if (!rf_deformed_pose_update_rt(f, q, pose)) {
    st = rf_fail(err, RF_ERR_ARG, "q is so large that positions of proxies overflow");
    goto done;
  }
  evaluation e = {f, pose, n, points, distance, gradient, nearest};
  const int64_t tasks = ((int64_t)n + POINTS_PER_TASK - 1) / POINTS_PER_TASK;
  RF_TRY(rf_run_tasks(run, tasks, 0, evaluate_task, &e, err));
done:
  rf_deformed_pose_free(pose);
  return st;
}
