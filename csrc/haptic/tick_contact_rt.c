// Stage that evaluates contact.
#include <math.h>
#include <string.h>

#include "haptic/tick_state.h"
#include "linalg/quat.h"

// Returns the pose of the field object from that of its grasp frame.
static rf_pose frame_of(const double grasp[3], const rf_pose *held) {
  rf_pose pose = *held;
  double arm[3];
  rf_quat_rotate(held->quaternion, grasp, arm);
  for (int i = 0; i < 3; ++i) pose.position_m[i] -= arm[i];
  return pose;
}

// Evaluates the forces of all contacts on the held object; `processor_us`: processor time of the
// thread at the beginning of the cycle.
static rf_status touch(rf_tick *t, double processor_us, rf_coupling_load *load,
                       rf_tick_record *out) {
  const rf_pose pose = frame_of(t->grasp_m, &t->coupling.coupling.object);
  memset(load, 0, sizeof *load);
  load->clearance_m = INFINITY;
  const bool bounded = isfinite(rf_tick_most_depth(t));
  out->level = INT32_MAX;
  if (t->field) memset(t->field_sum, 0, (size_t)t->field->n * sizeof *t->field_sum);
  for (int32_t k = 0; k < t->n_parts; ++k) {
    rf_tick_part *part = &t->part[k];
    rf_contact_result found;
    rf_contact_ask_clearance_rt(part->contact, bounded);
    if (t->set.budget_us > 0.0) {
      // Equal parts of the remaining budget, in processor time: a pause of the machine in the first
      // contact must not starve the others, whose forces would jump for one cycle.
      const double spent_us = k > 0 ? rf_processor_us_rt() - processor_us : 0.0;
      const double left = t->set.budget_us - t->rest_us - spent_us;
      rf_contact_set_budget_rt(part->contact, fmax(left / (t->n_parts - k), 1.0));
    }
    if (t->field) {
      const rf_status st = rf_contact_deform_field_rt(part->contact, t->field->q);
      if (st < 0) return st;
    }
    const rf_status st =
        rf_contact_evaluate_rt(part->contact, &pose, part->shell ? part->shell->q : NULL, -1,
                               &found, part->reduced, t->field ? t->field_reduced : NULL,
                               t->coupled ? rf_coupled_blocks_rt(t->coupled, k) : NULL);
    if (st < 0) return st;
    for (int i = 0; i < 3; ++i) {
      load->force_n[i] += found.force_n[i];
      load->torque_nm[i] += found.torque_nm[i];
    }
    for (int i = 0; i < 36; ++i) load->gradient[i] += found.gradient[i];
    for (int32_t j = 0; t->field && j < t->field->n; ++j) t->field_sum[j] += t->field_reduced[j];
    load->depth_m = fmax(load->depth_m, found.depth_m);
    load->clearance_m = fmin(load->clearance_m, found.clearance_m);
    out->visited += found.visited;
    out->touching += found.touching;
    if (found.level < out->level) out->level = found.level;
  }
  for (int i = 0; i < 3; ++i) {
    out->contact_force[i] = load->force_n[i];
    out->contact_torque[i] = load->torque_nm[i];
  }
  out->depth_m = load->depth_m;
  return RF_OK;
}

rf_status rf_stage_contact_rt(rf_cycle *c) {
  const rf_status st = touch(c->t, c->processor_us, &c->load, c->out);
  c->out->contact_us = rf_cycle_lap_rt(c);
  if (st >= 0 && c->load.depth_m > rf_tick_most_depth(c->t)) c->out->flags |= RF_TICK_TOO_DEEP;
  return st;
}
