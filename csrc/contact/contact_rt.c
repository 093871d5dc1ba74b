#include <math.h>
#include <string.h>

#include "base/clock_rt.h"
#include "contact/contact_state.h"

static const double CHOICE_US = 0.03;  // of a point, in the choice of the sites

enum { BLOCK = RF_CONTACT_BLOCK, LAP = RF_CONTACT_LAP };

// The world makes the forces: only the depth is known before.
static void find_depth(rf_contact *p, const rf_contact_blocks *blocks) {
  rf_contact_wrench_begin_rt(&p->wrench, blocks);
  for (int32_t k = 0; k < p->search.touching; ++k)
    p->wrench.depth_m = fmax(p->wrench.depth_m, -p->search.touch_distance[k]);
  rf_contact_wrench_end_rt(&p->wrench, 0.0, blocks);
}

// Sums the forces of the touching points.  since_us: the time at which it begins, or negative: the
// cost of a point is not updated.  keep: the law keeps its state.
static void sum_points(rf_contact *p, double since_us, bool keep, const rf_contact_blocks *blocks) {
  const rf_contact_search *s = &p->search;
  const bool timed = since_us >= 0.0;
  rf_contact_points points;
  rf_contact_rows rows;
  int32_t learned = 0;
  rf_contact_wrench_begin_rt(&p->wrench, blocks);
  for (int32_t first = 0; first < s->touching; first += BLOCK) {
    if (timed && first - learned >= LAP) {
      since_us = rf_contact_budget_contacts_rt(&p->budget, since_us, first - learned);
      learned = first;
    }
    rf_contact_search_points_rt(s, first, &points);
    p->law.kind->rt->respond(p->law.self, &points, keep, &rows);
    rf_contact_wrench_add_rt(&p->wrench, &s->frame, &points, &rows, blocks);
  }
  rf_contact_wrench_end_rt(&p->wrench, p->set.max_points, blocks);
  if (timed) (void)rf_contact_budget_contacts_rt(&p->budget, since_us, s->touching - learned);
}

static void put_result(const rf_contact *p, rf_contact_result *out) {
  const rf_contact_search *s = &p->search;
  const rf_contact_wrench *w = &p->wrench;
  memcpy(out->force_n, w->force_n, sizeof out->force_n);
  memcpy(out->torque_nm, w->torque_nm, sizeof out->torque_nm);
  for (int i = 0, at = 0; i < 6; ++i)
    for (int j = 0; j <= i; ++j, ++at)
      out->gradient[6 * i + j] = out->gradient[6 * j + i] = w->gradient[at];
  out->depth_m = w->depth_m;
  out->clearance_m = s->clearance_m;
  out->visited = s->visited;
  out->skipped = s->skipped;
  out->touching = s->touching;
  out->level = s->level;
}

rf_status rf_contact_evaluate_rt(rf_contact *p, const rf_pose *pose, const double *q,
                                 int32_t all_of, rf_contact_result *out, double *reduced,
                                 double *field_reduced, const rf_contact_blocks *blocks) {
  const rf_contact_wrench *w = &p->wrench;
  const rf_contact_sites *sites = rf_contact_law_sites_rt(&p->law);
  const bool solved = sites && sites->solved;
  rf_contact_budget_begin_rt(&p->budget);
  // a point costs its part in the choice of the sites alone if a world makes the forces
  if (solved) p->budget.contact_us = CHOICE_US;
  p->search.recalls = solved;
  if (!rf_contact_search_place_rt(&p->search, pose, p->set.grasp_m, q)) return RF_ERR_ARG;
  const bool keep = all_of < 0 && !p->set.stateless;
  if (keep) rf_contact_law_begin_rt(&p->law);
  if (all_of >= 0) {
    rf_contact_search_all_rt(&p->search, all_of);
  } else {
    rf_contact_search_travel_rt(&p->search);
    rf_contact_search_tree_rt(&p->search, &p->budget);
  }
  if (solved)
    find_depth(p, blocks);
  else
    sum_points(p, all_of < 0 ? rf_clock_us_rt() : -1.0, keep, blocks);
  const double end_us = rf_clock_us_rt();
  put_result(p, out);
  if (reduced) memcpy(reduced, w->reduced, (size_t)w->tree->r * sizeof *reduced);
  if (field_reduced && w->deformed)
    memcpy(field_reduced, w->field_reduced, (size_t)w->deformed->r * sizeof *field_reduced);
  out->microseconds = end_us - p->budget.start_us;
  return RF_OK;
}

void rf_contact_forget_rt(rf_contact *p) {
  rf_contact_law_reset_rt(&p->law);
  p->search.touching = 0;
}

void rf_contact_ask_clearance_rt(rf_contact *p, bool asked) { p->search.asks_clearance = asked; }

void rf_contact_suit_coupling_rt(rf_contact *p, double stiffness_n_per_m) {
  rf_contact_law_suit_rt(&p->law, stiffness_n_per_m);
}

void rf_contact_set_budget_rt(rf_contact *p, double budget_us) {
  p->set.budget_us = p->budget.limit_us = budget_us;
  p->budget.timed = true;
}

rf_status rf_contact_deform_field_rt(rf_contact *p, const double *field_q) {
  return rf_contact_search_deform_rt(&p->search, field_q);
}

int32_t rf_contact_touches_rt(const rf_contact *p, int32_t first, rf_contact_touch *out) {
  const rf_contact_search *s = &p->search;
  rf_contact_points points;
  rf_contact_rows rows;
  if (first >= s->touching) return 0;
  rf_contact_search_points_rt(s, first, &points);
  p->law.kind->rt->respond(p->law.self, &points, false, &rows);
  for (int32_t k = 0; k < points.n; ++k) {
    out[k] = (rf_contact_touch){.point = s->tree->point[points.place[k]], .gap_m = points.gap[k]};
    memcpy(out[k].position, points.position + 3 * k, sizeof out[k].position);
    memcpy(out[k].normal, points.normal + 3 * k, sizeof out[k].normal);
  }
  for (int32_t i = 0; i < rows.n; ++i) {
    double *force = out[rows.point[i]].force;
    const bool more = i > 0 && rows.point[i] == rows.point[i - 1];
    for (int a = 0; a < 3; ++a) {
      const double part = p->wrench.scale * (rows.force[i] * rows.axis[3 * i + a]);
      force[a] = more ? force[a] + part : part;
    }
  }
  return points.n;
}

int32_t rf_contact_bending_rt(const rf_contact *p, int32_t most, int32_t *point, float *force) {
  const rf_contact_search *s = &p->search;
  const rf_contact_sites *sites = rf_contact_law_sites_rt(&p->law);
  int32_t n = 0;
  if (!p->local || !sites) return 0;
  for (int32_t k = 0; k < s->touching && n < most; ++k) {
    const struct rf_contact_site_force *at = sites->of + s->touch_place[k];
    if (at->cycle != sites->cycle) continue;
    point[n] = s->tree->point[s->touch_place[k]];
    for (int i = 0; i < 3; ++i) force[3 * n + i] = (float)at->force[i];
    ++n;
  }
  return n;
}
