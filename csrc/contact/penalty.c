#include "contact/penalty.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "contact/penalty_state.h"
#include "linalg/dense_rt.h"

void rf_penalty_free(rf_penalty *p) {
  if (!p) return;
  rf_free(p->weight);
  rf_free(p->stiffness);
  rf_free(p->row);
  rf_free(p->bound);
  rf_free(p->last_row);
  rf_free(p->due);
  for (int i = 0; i < 2; ++i) {
    rf_free(p->copies[i]);
    rf_free(p->fresh[i]);
  }
  rf_free(p->touch_place);
  rf_free(p->touch_distance);
  rf_free(p->reduced);
  rf_free(p->object);
  rf_free(p->object_pushed);
  rf_free(p->shell);
  rf_free(p->shell_pushed);
  rf_deformed_pose_free(p->pose);
  rf_free(p->field_rest);
  rf_free(p->moments);
  rf_free(p->field_reduced);
  rf_free(p);
}

void rf_penalty_reset(rf_penalty *p) {
  const rf_point_tree *t = p->tree;
  memset(p->due, 0, (size_t)t->node[t->n_levels] * sizeof *p->due);
  memset(p->travel, 0, sizeof p->travel);
  p->begun = false;
  p->last_level = -1;
  // too much rather than too little: many points may touch before any has been timed
  p->node_us = 0.1;
  p->contact_us = 0.1 + 0.01 * t->r;
  p->touching = 0;
}

static rf_status check_settings(const rf_penalty_settings *s, rf_error *err) {
  if (!(isfinite(s->stiffness_n_per_m) && s->stiffness_n_per_m > 0.0))
    return rf_fail(err, RF_ERR_ARG, "stiffness must be finite and positive, got %g",
                   s->stiffness_n_per_m);
  if (!(s->warm_nodes >= 0))
    return rf_fail(err, RF_ERR_ARG, "warm_nodes must be 0 or more, got %d", s->warm_nodes);
  if (!(s->cold_ratio > 0.0 && s->cold_ratio <= 1.0))
    return rf_fail(err, RF_ERR_ARG, "cold_ratio must be above 0 and at most 1, got %g",
                   s->cold_ratio);
  if (!(isfinite(s->budget_us) && s->budget_us >= 0.0))
    return rf_fail(err, RF_ERR_ARG, "budget_us must be finite and 0 or more, got %g", s->budget_us);
  if (!(s->max_points >= 0))
    return rf_fail(err, RF_ERR_ARG, "max_points must be 0 or more, got %d", s->max_points);
  for (int i = 0; i < 3; ++i)
    if (!(fabs(s->grasp_m[i]) < RF_POSE_FARTHEST))
      return rf_fail(err, RF_ERR_ARG, "grasp[%d] is %g, too far out", i, s->grasp_m[i]);
  return RF_OK;
}

static rf_status scale_weights(rf_penalty *p, const double *weights, rf_error *err) {
  rf_status st = RF_OK;
  const int32_t n = p->tree->n_points;
  double sum = 0.0;
  for (int32_t k = 0; k < n; ++k) {
    if (!(isfinite(weights[k]) && weights[k] >= 0.0))
      return rf_fail(err, RF_ERR_ARG, "weights[%d] is %g; weights are finite and not negative", k,
                     weights[k]);
    sum += weights[k] / n;
  }
  if (!(sum > 0.0 && isfinite(sum)))
    return rf_fail(err, RF_ERR_ARG, "the mean of the weights is %g; it must be positive", sum);
  RF_ALLOC(p->weight, n);
  for (int32_t k = 0; k < n; ++k) p->weight[k] = weights[p->tree->point[k]] / sum;
done:
  return st;
}

static rf_status copy_stiffness(rf_penalty *p, const double *stiffness, rf_error *err) {
  rf_status st = RF_OK;
  const int32_t n = p->tree->n_points;
  for (int32_t k = 0; k < n; ++k)
    if (!(isfinite(stiffness[k]) && stiffness[k] > 0.0))
      return rf_fail(err, RF_ERR_ARG, "stiffness[%d] must be finite and positive, got %g", k,
                     stiffness[k]);
  RF_ALLOC(p->stiffness, n);
  for (int32_t k = 0; k < n; ++k) p->stiffness[k] = stiffness[p->tree->point[k]];
  p->each = true;
done:
  return st;
}

rf_status rf_penalty_create(const rf_point_tree *tree, const rf_contact_distance *distance,
                            const rf_penalty_settings *settings, const double *weights,
                            const double *stiffness, rf_penalty **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_penalty *p = NULL;
  *out = NULL;
  if ((st = check_settings(settings, err)) < 0) return st;
  RF_ALLOC(p, 1);
  p->tree = tree;
  p->distance = *distance;
  p->set = *settings;
  p->timed = p->set.budget_us > 0.0;
  RF_ALLOC(p->row, tree->row);
  RF_ALLOC(p->bound, tree->bound);
  RF_ALLOC(p->last_row, tree->row);
  RF_ALLOC(p->reduced, tree->row);
  p->object_row = rf_dense_ld(6 + (distance->deformed ? distance->deformed->r : 0));
  RF_ALLOC(p->object, BLOCK * p->object_row);
  RF_ALLOC(p->object_pushed, BLOCK * p->object_row);
  RF_ALLOC(p->shell, BLOCK * tree->row);
  RF_ALLOC(p->shell_pushed, BLOCK * tree->row);
  RF_ALLOC(p->due, tree->node[tree->n_levels]);
  // no level has more new points, or more nodes that go on, than these
  int32_t most_fresh = tree->count[0];
  for (int32_t j = 1; j < tree->n_levels; ++j) {
    const int32_t fresh = tree->count[j] - tree->count[j - 1];
    if (fresh > most_fresh) most_fresh = fresh;
  }
  const int32_t most_copies = tree->n_levels > 2 ? tree->count[tree->n_levels - 3] : 0;
  for (int i = 0; i < 2; ++i) {
    RF_ALLOC(p->copies[i], most_copies);
    RF_ALLOC(p->fresh[i], most_fresh);
  }
  RF_ALLOC(p->touch_place, tree->n_points);
  RF_ALLOC(p->touch_distance, tree->n_points);
  if (weights) RF_TRY(scale_weights(p, weights, err));
  if (stiffness) RF_TRY(copy_stiffness(p, stiffness, err));
  if (distance->deformed) {
    RF_TRY(rf_deformed_pose_create(distance->deformed, &p->pose, err));
    RF_ALLOC(p->field_rest, distance->deformed->r);
    RF_ALLOC(p->moments, 12 * (size_t)distance->deformed->n_proxies);
    RF_ALLOC(p->field_reduced, distance->deformed->r);
    p->distance.pose = p->pose;
    // Skipping needs a bound on how values change; the slack is none.  There is one that hardly
    // pays: the mean is not below the least value of its proxies, and each of these changes by no
    // more than the slope of its rest field times the way of the place pulled back, which is
    // |F^-1| times the travel of place and proxy and the change of F^-1 times their distance; but
    // only until another proxy may be among the nearest, after half of the gap between distances.
    // In benchmarks/bench_deformed.py it would save at best a quarter of the nodes, and one more
    // proxy to search and to ask makes each distance a third dearer.
    p->set.coherence = false;
    RF_TRY(rf_penalty_deform_field_rt(p, NULL));
  }
  rf_penalty_reset(p);
  *out = p;
  p = NULL;
done:
  rf_penalty_free(p);
  return st;
}

static rf_status copy_numbers(const double *from, int32_t n, double **out, rf_error *err) {
  rf_status st = RF_OK;
  if (!from) return st;
  RF_ALLOC(*out, n);
  memcpy(*out, from, (size_t)n * sizeof **out);
done:
  return st;
}

rf_status rf_penalty_copy(const rf_penalty *from, rf_penalty **out, rf_error *err) {
  rf_penalty *p = NULL;
  rf_contact_distance distance = from->distance;
  const int32_t n = from->tree->n_points;
  distance.pose = NULL;
  rf_status st = rf_penalty_create(from->tree, &distance, &from->set, NULL, NULL, &p, err);
  if (st < 0) return st;
  RF_TRY(copy_numbers(from->weight, n, &p->weight, err));
  RF_TRY(copy_numbers(from->stiffness, n, &p->stiffness, err));
  p->each = from->each;
  *out = p;
  p = NULL;
done:
  rf_penalty_free(p);
  return st;
}

rf_status rf_penalty_check(const rf_penalty *p, const rf_pose *pose, const double *q,
                           rf_error *err) {
  const rf_status st = rf_pose_check(pose, err);
  return st < 0 ? st : rf_point_tree_check(p->tree, q, err);
}

void rf_penalty_contacts(const rf_penalty *p, int32_t *point, double *positions, double *distances,
                         double *normals, double *forces) {
  double body[3 * BLOCK], direction[3 * BLOCK];
  rf_deformed_carriers carriers[BLOCK];
  for (int32_t first = 0; first < p->touching; first += BLOCK) {
    const int32_t n = p->touching - first < BLOCK ? p->touching - first : BLOCK;
    const int32_t *place = p->touch_place + first;
    const size_t from = 3 * (size_t)first;
    rf_penalty_locate_rt(p, n, place, positions + from, body);
    rf_point_tree_normals_rt(p->tree, n, place, p->row, normals + from);
    rf_penalty_directions_rt(p, n, body, normals + from, direction, carriers);
    for (int32_t k = 0; k < n; ++k) {
      const double d = p->touch_distance[first + k];
      const double size = rf_penalty_stiffness_rt(p, place[k]) * d;
      point[first + k] = p->tree->point[place[k]];
      distances[first + k] = d;
      for (int i = 0; i < 3; ++i)
        forces[from + (size_t)(3 * k + i)] = p->scale * (size * direction[3 * k + i]);
    }
  }
}

rf_status rf_penalty_check_many(const rf_penalty *p, int64_t n, const double *positions,
                                const double *quaternions, const double *qs, rf_error *err) {
  rf_error why = {0};
  for (int64_t k = 0; k < n; ++k) {
    rf_pose pose;
    memcpy(pose.position_m, positions + 3 * k, sizeof pose.position_m);
    memcpy(pose.quaternion, quaternions + 4 * k, sizeof pose.quaternion);
    const rf_status st = rf_penalty_check(p, &pose, qs ? qs + p->tree->r * k : NULL, &why);
    if (st < 0) return rf_fail(err, st, "cycle %lld: %.400s", (long long)k, why.text);
  }
  return RF_OK;
}

int32_t rf_penalty_levels(const rf_penalty *p) { return p->tree->n_levels; }

void rf_penalty_grasp(const rf_penalty *p, double grasp_m[3]) {
  memcpy(grasp_m, p->set.grasp_m, sizeof p->set.grasp_m);
}

int32_t rf_penalty_coordinates(const rf_penalty *p) { return p->tree->r; }

int32_t rf_penalty_field_coordinates(const rf_penalty *p) {
  return p->distance.deformed ? p->distance.deformed->r : 0;
}
