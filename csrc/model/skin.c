#include "model/skin.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"

enum { POINTS_PER_TASK = 2048 };

static int64_t tasks_for(int32_t count) {
  return ((int64_t)count + POINTS_PER_TASK - 1) / POINTS_PER_TASK;
}

typedef struct creation {
  const rf_reduced *model;
  const rf_embedding *embedding;
  const double *gradients;  // nullable                     (n_points, corners, 3)
  rf_skin *skin;
} creation;

// Computes the rows of one range of points.
static rf_status create_task(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const creation *c = context;
  const rf_embedding *e = c->embedding;
  const int32_t r = c->model->r, corners = e->corners;
  const size_t dofs = 3 * (size_t)c->model->n_nodes;
  const int64_t end = (task + 1) * POINTS_PER_TASK;
  for (int64_t p = task * POINTS_PER_TASK; p < end && p < e->n_points; ++p) {
    const size_t at = 3 * (size_t)p * (size_t)r;
    double *motion = c->skin->motion + at;
    double *tilt = c->skin->tilt ? c->skin->tilt + at : NULL;
    for (int32_t a = 0; a < corners; ++a) {
      const size_t entry = (size_t)p * (size_t)corners + (size_t)a;
      const double *u = c->model->basis + 3 * (size_t)e->node[entry];
      const double w = e->weight[entry];
      // grad U_j N = sum_a u_a,j (g_a . N)
      double along = 0.0;
      if (tilt)
        for (int i = 0; i < 3; ++i)
          along += c->gradients[3 * entry + (size_t)i] * c->skin->normal[3 * (size_t)p + (size_t)i];
      for (int32_t j = 0; j < r; ++j, u += dofs)
        for (int32_t i = 0; i < 3; ++i) {
          motion[i * r + j] += w * u[i];
          if (tilt) tilt[i * r + j] += along * u[i];
        }
    }
  }
  return RF_OK;
}

static rf_status check_normals(int32_t count, const double *normals, rf_error *err) {
  for (int32_t p = 0; p < count; ++p) {
    const double *n = normals + 3 * (size_t)p;
    const double square = n[0] * n[0] + n[1] * n[1] + n[2] * n[2];
    // zero means that there is no normal
    if (square == 0.0 || fabs(square - 1.0) < 1e-6) continue;
    return rf_fail(err, RF_ERR_ARG, "normals[%d] is (%g, %g, %g); it must be a unit vector", p,
                   n[0], n[1], n[2]);
  }
  return RF_OK;
}

rf_status rf_skin_create(const rf_reduced *model, const rf_mesh *mesh,
                         const rf_embedding *embedding, const double *points, const double *normals,
                         const rf_run *run, rf_skin **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_skin *s = NULL;
  double *gradients = NULL;
  const int32_t n = embedding->n_points;
  *out = NULL;
  if (model->n_nodes != embedding->n_nodes)
    return rf_fail(err, RF_ERR_ARG, "the model has %d nodes, the embedding is in a mesh of %d",
                   model->n_nodes, embedding->n_nodes);
  RF_ALLOC(s, 1);
  s->n_points = n;
  s->r = model->r;
  RF_ALLOC(s->rest, 3 * (int64_t)n);
  memcpy(s->rest, points, 3 * (size_t)n * sizeof *points);
  RF_ALLOC(s->motion, 3 * (int64_t)n * model->r);
  if (normals) {
    RF_TRY(check_normals(n, normals, err));
    RF_ALLOC(s->normal, 3 * (int64_t)n);
    memcpy(s->normal, normals, 3 * (size_t)n * sizeof *normals);
    RF_ALLOC(s->tilt, 3 * (int64_t)n * model->r);
    RF_ALLOC(gradients, 3 * (int64_t)n * embedding->corners);
    RF_TRY(rf_embedding_gradients(embedding, mesh, points, run, gradients, err));
  }
  creation c = {model, embedding, gradients, s};
  RF_TRY(rf_run_tasks(run, tasks_for(n), 1, create_task, &c, err));
  *out = s;
  s = NULL;
done:
  rf_free(gradients);
  rf_skin_free(s);
  return st;
}

void rf_skin_free(rf_skin *s) {
  if (!s) return;
  rf_free(s->rest);
  rf_free(s->normal);
  rf_free(s->motion);
  rf_free(s->tilt);
  rf_free(s);
}

typedef struct evaluation {
  const rf_skin *skin;
  const double *q;
  int32_t count;
  const int32_t *which;
  double *positions, *normals;
} evaluation;

static rf_status evaluate_task(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const evaluation *t = context;
  const int64_t end = (task + 1) * POINTS_PER_TASK;
  for (int64_t k = task * POINTS_PER_TASK; k < end && k < t->count; ++k) {
    const int32_t point = t->which ? t->which[k] : (int32_t)k;
    if (t->positions) rf_skin_position_rt(t->skin, point, t->q, t->positions + 3 * (size_t)k);
    if (t->normals) rf_skin_normal_rt(t->skin, point, t->q, t->normals + 3 * (size_t)k);
  }
  return RF_OK;
}

rf_status rf_skin_evaluate(const rf_skin *s, const rf_run *run, const double *q, int32_t count,
                           const int32_t *which, double *positions, double *normals,
                           rf_error *err) {
  if (normals && !s->normal) return rf_fail(err, RF_ERR_ARG, "this skin has no normals");
  if (!which && count != s->n_points)
    return rf_fail(err, RF_ERR_ARG, "all %d points are asked for, not %d", s->n_points, count);
  for (int32_t k = 0; which && k < count; ++k)
    if (!(which[k] >= 0 && which[k] < s->n_points))
      return rf_fail(err, RF_ERR_ARG, "point %d is %d; allowed are 0 to %d", k, which[k],
                     s->n_points - 1);
  evaluation t = {s, q, count, which, positions, normals};
  return rf_run_tasks(run, tasks_for(count), 0, evaluate_task, &t, err);
}
