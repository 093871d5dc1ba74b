#include "contact/search.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

static rf_status scale_weights(rf_contact_search *s, const double *weights, rf_error *err) {
  rf_status st = RF_OK;
  const int32_t n = s->tree->n_points;
  double sum = 0.0;
  for (int32_t k = 0; k < n; ++k) {
    if (!(isfinite(weights[k]) && weights[k] >= 0.0))
      return rf_fail(err, RF_ERR_ARG, "weights[%d] is %g; weights are finite and not negative", k,
                     weights[k]);
    sum += weights[k] / n;
  }
  if (!(sum > 0.0 && isfinite(sum)))
    return rf_fail(err, RF_ERR_ARG, "the mean of the weights is %g; it must be positive", sum);
  RF_ALLOC(s->weight, n);
  for (int32_t k = 0; k < n; ++k) s->weight[k] = weights[s->tree->point[k]] / sum;
done:
  return st;
}

static rf_status create_queues(rf_contact_search *s, rf_error *err) {
  rf_status st = RF_OK;
  const rf_point_tree *t = s->tree;
  // no level has more new points, or more nodes to expand, than these
  int32_t most_fresh = t->count[0];
  for (int32_t j = 1; j < t->n_levels; ++j) {
    const int32_t fresh = t->count[j] - t->count[j - 1];
    if (fresh > most_fresh) most_fresh = fresh;
  }
  const int32_t most_copies = t->n_levels > 2 ? t->count[t->n_levels - 3] : 0;
  for (int i = 0; i < 2; ++i) {
    RF_ALLOC(s->copies[i], most_copies);
    RF_ALLOC(s->fresh[i], most_fresh);
  }
done:
  return st;
}

static rf_status create_pose(rf_contact_search *s, rf_error *err) {
  rf_status st = RF_OK;
  const rf_deformed_field *f = s->distance.deformed;
  RF_TRY(rf_deformed_pose_create(f, &s->pose, err));
  RF_ALLOC(s->field_rest, f->r);
  s->distance.pose = s->pose;
  // Skipping needs a bound on changes of the value, which the slack is not.  There is one: the mean
  // is not below the least value of its proxies, and each of these changes at most by the slope of
  // its rest field times the motion of the place pulled back, which is |F^-1| times the travel of
  // place and proxy, plus the change of F^-1 times their distance.  But it holds only until another
  // proxy may be among the nearest, after half of the gap between their distances: it could skip at
  // most a quarter of the nodes (benchmarks/bench_deformed.py), and one more proxy to search makes
  // each distance a third dearer.
  s->coherence = false;
  RF_TRY(rf_contact_search_deform_rt(s, NULL));
done:
  return st;
}

rf_status rf_contact_search_create(rf_contact_search *s, const rf_point_tree *tree,
                                   const rf_contact_distance *distance, const double *weights,
                                   rf_error *err) {
  rf_status st = RF_OK;
  s->tree = tree;
  s->distance = *distance;
  RF_ALLOC(s->row, tree->row);
  RF_ALLOC(s->bound, tree->bound);
  RF_ALLOC(s->last_row, tree->row);
  RF_ALLOC(s->due, tree->node[tree->n_levels]);
  RF_TRY(create_queues(s, err));
  RF_ALLOC(s->touch_place, tree->n_points);
  RF_ALLOC(s->touch_distance, tree->n_points);
  if (weights) RF_TRY(scale_weights(s, weights, err));
  if (distance->deformed) RF_TRY(create_pose(s, err));
  rf_contact_search_reset(s);
done:
  return st;
}

void rf_contact_search_free(rf_contact_search *s) {
  rf_free(s->weight);
  rf_deformed_pose_free(s->pose);
  rf_free(s->field_rest);
  rf_free(s->row);
  rf_free(s->bound);
  rf_free(s->last_row);
  rf_free(s->due);
  for (int i = 0; i < 2; ++i) {
    rf_free(s->copies[i]);
    rf_free(s->fresh[i]);
  }
  rf_free(s->touch_place);
  rf_free(s->touch_distance);
}

void rf_contact_search_reset(rf_contact_search *s) {
  const rf_point_tree *t = s->tree;
  memset(s->due, 0, (size_t)t->node[t->n_levels] * sizeof *s->due);
  memset(s->travel, 0, sizeof s->travel);
  s->begun = false;
  s->touching = 0;
}
