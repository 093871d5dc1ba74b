#include "contact/contact.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "contact/contact_state.h"

void rf_contact_free(rf_contact *p) {
  if (!p) return;
  rf_contact_search_free(&p->search);
  rf_contact_wrench_free(&p->wrench);
  rf_contact_law_free(&p->law);
  rf_free(p);
}

bool rf_contact_share_field(rf_contact *p, const rf_contact *with) {
  const rf_contact_distance *of = &with->search.distance;
  if (!of->deformed || p->search.distance.deformed != of->deformed) return false;
  p->search.distance.pose = of->pose;
  return true;
}

void rf_contact_reset(rf_contact *p) {
  rf_contact_search_reset(&p->search);
  rf_contact_budget_reset_rt(&p->budget, p->search.tree->r);
  if (p->law.kind) rf_contact_law_reset_rt(&p->law);
}

static rf_status check_settings(const rf_contact_settings *s, rf_error *err) {
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
      return rf_fail(err, RF_ERR_ARG, "grasp[%d] is %g, too far from the origin", i, s->grasp_m[i]);
  return RF_OK;
}

// Makes a contact without a law.
static rf_status make(const rf_point_tree *tree, const rf_contact_distance *distance,
                      const rf_contact_settings *set, const double *weights, rf_contact **out,
                      rf_error *err) {
  rf_status st = RF_OK;
  rf_contact *p = NULL;
  *out = NULL;
  if ((st = check_settings(set, err)) < 0) return st;
  RF_ALLOC(p, 1);
  p->set = *set;
  p->search.coherence = set->coherence;
  p->search.along_normal = set->along_normal;
  p->search.conservative = set->conservative;
  RF_TRY(rf_contact_search_create(&p->search, tree, distance, weights, err));
  RF_TRY(rf_contact_wrench_create(&p->wrench, tree, distance->deformed, err));
  p->budget = (rf_contact_budget){.timed = set->budget_us > 0.0,
                                  .limit_us = set->budget_us,
                                  .warm_nodes = set->warm_nodes,
                                  .cold_ratio = set->cold_ratio,
                                  .coherence = p->search.coherence};
  rf_contact_reset(p);
  *out = p;
  p = NULL;
done:
  rf_contact_free(p);
  return st;
}

rf_status rf_contact_create(const rf_point_tree *tree, const rf_contact_distance *distance,
                            const char *law, const void *law_settings,
                            const rf_contact_settings *settings, const double *weights,
                            rf_contact **out, rf_error *err) {
  const rf_contact_law_kind *kind = rf_contact_law_find(law);
  *out = NULL;
  if (!kind) return rf_fail(err, RF_ERR_ARG, "there is no contact law named %s", law);
  rf_contact *p = NULL;
  rf_status st = make(tree, distance, settings, weights, &p, err);
  if (st < 0) return st;
  RF_TRY(rf_contact_law_create(kind, law_settings, tree, &p->law, err));
  *out = p;
  p = NULL;
done:
  rf_contact_free(p);
  return st;
}

static rf_status copy_weights(const rf_contact_search *from, rf_contact_search *to, rf_error *err) {
  rf_status st = RF_OK;
  if (!from->weight) return st;
  RF_ALLOC(to->weight, from->tree->n_points);
  memcpy(to->weight, from->weight, (size_t)from->tree->n_points * sizeof *to->weight);
done:
  return st;
}

rf_status rf_contact_copy(const rf_contact *from, rf_contact **out, rf_error *err) {
  rf_contact *p = NULL;
  rf_contact_distance distance = from->search.distance;
  *out = NULL;
  distance.pose = NULL;
  rf_status st = make(from->search.tree, &distance, &from->set, NULL, &p, err);
  if (st < 0) return st;
  RF_TRY(copy_weights(&from->search, &p->search, err));
  RF_TRY(rf_contact_law_copy(&from->law, &p->law, err));
  rf_contact_law_reset_rt(&p->law);
  p->local = from->local;
  *out = p;
  p = NULL;
done:
  rf_contact_free(p);
  return st;
}

rf_status rf_contact_check(const rf_contact *p, const rf_pose *pose, const double *q,
                           rf_error *err) {
  const rf_status st = rf_pose_check(pose, err);
  return st < 0 ? st : rf_point_tree_check(p->search.tree, q, err);
}

rf_status rf_contact_check_many(const rf_contact *p, int64_t n, const double *positions,
                                const double *quaternions, const double *qs, rf_error *err) {
  rf_error why = {0};
  for (int64_t k = 0; k < n; ++k) {
    rf_pose pose;
    memcpy(pose.position_m, positions + 3 * k, sizeof pose.position_m);
    memcpy(pose.quaternion, quaternions + 4 * k, sizeof pose.quaternion);
    const rf_status st = rf_contact_check(p, &pose, qs ? qs + p->search.tree->r * k : NULL, &why);
    if (st < 0) return rf_fail(err, st, "cycle %lld: %.400s", (long long)k, why.text);
  }
  return RF_OK;
}

rf_status rf_contact_stiffest(const rf_contact *p, double coupling_n_per_m, double depth_m,
                              double *out, rf_error *err) {
  if (!(isfinite(coupling_n_per_m) && coupling_n_per_m >= 0.0))
    return rf_fail(err, RF_ERR_ARG, "coupling must be finite and 0 or more, got %g",
                   coupling_n_per_m);
  if (!(isfinite(depth_m) && depth_m >= 0.0))
    return rf_fail(err, RF_ERR_ARG, "depth must be finite and 0 or more, got %g", depth_m);
  *out = p->law.kind->rt->stiffest(p->law.self, coupling_n_per_m, depth_m);
  return RF_OK;
}

rf_status rf_contact_set_local(rf_contact *p, const rf_contact_local *local, rf_error *err) {
  if (local->n_points != p->search.tree->n_points)
    return rf_fail(err, RF_ERR_ARG, "the local compliance has %d points, the shell %d",
                   (int)local->n_points, (int)p->search.tree->n_points);
  p->local = local;
  return RF_OK;
}

bool rf_contact_has_sites(const rf_contact *p) { return rf_contact_law_sites_rt(&p->law) != NULL; }

int32_t rf_contact_bending_sites(const rf_contact *p) {
  const rf_contact_sites *sites = rf_contact_law_sites_rt(&p->law);
  return p->local && sites ? sites->most : 0;
}

int32_t rf_contact_levels(const rf_contact *p) { return p->search.tree->n_levels; }

void rf_contact_grasp(const rf_contact *p, double grasp_m[3]) {
  memcpy(grasp_m, p->set.grasp_m, sizeof p->set.grasp_m);
}

void rf_contact_set_grasp(rf_contact *p, const double grasp_m[3]) {
  memcpy(p->set.grasp_m, grasp_m, sizeof p->set.grasp_m);
}

int32_t rf_contact_coordinates(const rf_contact *p) { return p->search.tree->r; }

int32_t rf_contact_field_coordinates(const rf_contact *p) {
  return p->search.distance.deformed ? p->search.distance.deformed->r : 0;
}
