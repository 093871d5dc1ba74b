#include "dynamics/pull.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "linalg/vector.h"

static rf_status check_nodes(const rf_system *s, const rf_pull_point *p, rf_error *err) {
  if (!s->operations->add_blocks)
    return rf_fail(err, RF_ERR_ARG, "points of this system are rows of its basis");
  if (p->corners < 1) return rf_fail(err, RF_ERR_ARG, "the point has no nodes");
  for (int32_t i = 0; i < p->corners; ++i) {
    if (!(p->nodes[i] >= 0 && p->nodes[i] < s->n / 3))
      return rf_fail(err, RF_ERR_ARG, "nodes[%d] must be between 0 and %d, got %d", i, s->n / 3 - 1,
                     p->nodes[i]);
    if (!isfinite(p->weights[i]))
      return rf_fail(err, RF_ERR_ARG, "weights[%d] is %g; it must be finite", i, p->weights[i]);
  }
  return RF_OK;
}

// Copies the nodes that carry the point; the masters of constrained ones carry it in their place.
static rf_status take_nodes(const rf_constraints *c, const rf_pull_point *point,
                            rf_system_points *at, rf_error *err) {
  rf_status st = RF_OK;
  *at = (rf_system_points){.n = 1};
  for (int pass = 0; pass < 2; ++pass) {
    int32_t count = 0;
    for (int32_t i = 0; i < point->corners; ++i) {
      const int32_t k = c ? rf_constraints_find(c, point->nodes[i]) : -1;
      const int32_t first = k < 0 ? 0 : c->ptr[k], end = k < 0 ? 1 : c->ptr[k + 1];
      for (int32_t p = first; p < end; ++p, ++count) {
        if (pass == 0) continue;
        at->node[count] = k < 0 ? point->nodes[i] : c->masters[p];
        at->weight[count] = k < 0 ? point->weights[i] : point->weights[i] * c->weights[p];
      }
    }
    if (pass > 0) break;
    at->corners = count;
    RF_ALLOC(at->node, count);
    RF_ALLOC(at->weight, count);
  }
done:
  return st;
}

rf_status rf_pull_create(const rf_system *s, const rf_pull_point *point, double stiffness,
                         rf_pull **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_pull *pull = NULL;
  *out = NULL;
  if (!(stiffness >= 0.0 && isfinite(stiffness)))
    return rf_fail(err, RF_ERR_ARG, "stiffness must be finite and at least 0, got %g", stiffness);
  if (point->rows && !s->operations->dense)
    return rf_fail(err, RF_ERR_ARG, "points of this system are nodes with weights");
  if (!point->rows) RF_TRY(check_nodes(s, point, err));
  RF_ALLOC(pull, 1);
  pull->n = s->n;
  pull->ld = s->ld;
  pull->stiffness = stiffness;
  memcpy(pull->rest_m, point->rest_m, sizeof pull->rest_m);
  RF_ALLOC(pull->force, pull->ld);
  if (point->rows) {
    const size_t n = (size_t)s->n;
    RF_ALLOC(pull->rows, 3 * pull->ld);
    RF_ALLOC(pull->added, pull->ld * pull->ld);
    for (int a = 0; a < 3; ++a)
      memcpy(pull->rows + a * pull->ld, point->rows + (size_t)a * n, n * sizeof(double));
  } else {
    RF_TRY(take_nodes(s->constraints, point, &pull->spring.at, err));
    for (int a = 0; a < 3; ++a) pull->spring.matrix[4 * a] = stiffness;
  }
  *out = pull;
  pull = NULL;
done:
  rf_pull_free(pull);
  return st;
}

void rf_pull_free(rf_pull *pull) {
  if (!pull) return;
  rf_free(pull->rows);
  rf_free(pull->added);
  rf_free(pull->force);
  rf_free(pull->spring.at.node);
  rf_free(pull->spring.at.weight);
  rf_free(pull);
}

// Unit force at the point along an axis, of the system.
static void unit_force(const rf_pull *pull, int axis, double *force) {
  const rf_system_points *at = &pull->spring.at;
  memset(force, 0, (size_t)pull->ld * sizeof *force);
  if (pull->rows) memcpy(force, pull->rows + axis * pull->ld, (size_t)pull->ld * sizeof *force);
  for (int32_t i = 0; i < at->corners; ++i) force[3 * (int64_t)at->node[i] + axis] += at->weight[i];
}

rf_status rf_pull_factorize_rest(rf_system *s, const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  double *rest = NULL, *force = NULL;
  s->run = run;
  s->err = err;
  RF_ALLOC(rest, s->ld);
  RF_ALLOC(force, s->ld);
  RF_TRY(s->operations->evaluate(s, rest, true, NULL, force));
  if (rf_system_moves(s)) st = s->operations->factorize(s, 0.0, 1.0, 0.0, NULL);
  if (st == RF_ERR_SINGULAR)
    st = rf_fail(err, st, "the stiffness at rest is not positive definite");
done:
  s->run = NULL;
  s->err = NULL;
  rf_free(rest);
  rf_free(force);
  return st;
}

rf_status rf_pull_unit_forces(const rf_pull *pull, rf_system *s, const rf_run *run, double *moved,
                              rf_error *err) {
  rf_status st = RF_OK;
  double *force = NULL, yields = 0.0;
  s->run = run;
  s->err = err;
  RF_ALLOC(force, s->ld);
  for (int a = 0; a < 3 && rf_system_moves(s); ++a) {
    unit_force(pull, a, force);
    rf_system_keep_free_rt(s, force);
    RF_TRY(s->operations->solve(s, force, moved + a * s->ld));
    yields += rf_dot_padded(s->ld, force, moved + a * s->ld);
  }
  if (!(yields > 0.0 && isfinite(1.0 / yields)))
    st = rf_fail(err, RF_ERR_ARG, "the point cannot move: it is fixed");
done:
  s->run = NULL;
  s->err = NULL;
  rf_free(force);
  return st;
}

rf_status rf_pull_body_stiffness(const rf_pull *pull, rf_system *s, const rf_run *run,
                                 double *stiffness, rf_error *err) {
  rf_status st = RF_OK;
  double *moved = NULL, *force = NULL, yields = 0.0;
  RF_ALLOC(moved, 3 * s->ld);
  RF_ALLOC(force, s->ld);
  RF_TRY(rf_pull_factorize_rest(s, run, err));
  RF_TRY(rf_pull_unit_forces(pull, s, run, moved, err));
  for (int a = 0; a < 3; ++a) {
    unit_force(pull, a, force);
    yields += rf_dot_padded(s->ld, force, moved + a * s->ld);
  }
  *stiffness = 1.0 / yields;
done:
  rf_free(moved);
  rf_free(force);
  return st;
}

void rf_pull_drag(int32_t n, const rf_system_points *at, const double *moved, const double way[3],
                  double force[3], double *displacement) {
  double length = 0.0, yields = 0.0;
  for (int a = 0; a < 3; ++a) length += way[a] * way[a];
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b)
      for (int32_t i = 0; i < at->corners; ++i)
        yields +=
            way[a] * way[b] * at->weight[i] * moved[a * (int64_t)n + 3 * (int64_t)at->node[i] + b];
  for (int a = 0; a < 3; ++a) force[a] = yields > 0.0 ? length / yields * way[a] : 0.0;
  for (int32_t i = 0; i < n; ++i) {
    displacement[i] = 0.0;
    for (int a = 0; a < 3; ++a) displacement[i] += force[a] * moved[a * (int64_t)n + i];
  }
}

rf_status rf_pull_step(rf_pull *pull, rf_motion *m, const rf_run *run, const double place_m[3],
                       const double *force, int64_t n, double force_n[3], rf_error *err) {
  m->system->run = run;
  m->system->err = err;
  rf_status st = rf_pull_step_rt(pull, m, place_m, force, n, force_n);
  if (st == RF_ERR_DIVERGED) st = rf_motion_explain(m, "the simulation", "a softer pull", err);
  m->system->run = NULL;
  m->system->err = NULL;
  return st;
}
