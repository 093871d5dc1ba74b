#include "render/dynamic_coupling.h"

#include <math.h>
#include <string.h>

#include "linalg/solve6_rt.h"
#include "render/step_rt.h"

// Returns the factor of the damper beside a saturated spring: the root of the remaining stiffness
// keeps the damping ratio.  An unscaled damper would let the object creep to a hand far away.
static double eased(const double force[3], const double linear[3]) {
  const double whole = rf_vec3_length(linear);
  return whole > 0.0 && isfinite(whole) ? sqrt(rf_vec3_length(force) / whole) : 1.0;
}

// Sums `share` of the springs' wrench and that of contact, extrapolated over the motion `so_far` of
// this cycle.
static void add_forces(const rf_coupling_wrench *w, double share, const rf_coupling_load *load,
                       const double so_far[6], double out[6]) {
  for (int i = 0; i < 3; ++i) {
    out[i] = share * w->force_n[i] + load->force_n[i];
    out[i + 3] = share * w->torque_nm[i] + load->torque_nm[i];
  }
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j) out[i] += load->gradient[6 * i + j] * so_far[j];
}

rf_status rf_dynamic_step_rt(const rf_dynamic_settings *set, const rf_pose *manipulandum,
                             const double manipulandum_velocity[6], const rf_coupling_load *load,
                             rf_dynamic_state *state, rf_coupling_report *report) {
  const rf_coupling_settings *spring = &set->spring;
  const double h = set->dt_s / set->substeps;
  const double share = rf_coupling_relief_rt(spring, load, state->coupling.share);
  rf_coupling_wrench *w = &report->wrench;
  rf_pose object = state->coupling.object;
  double system[36], velocity[6], *move = report->move;
  memset(move, 0, sizeof report->move);
  memcpy(velocity, state->velocity, sizeof velocity);
  report->limited = false;

  rf_coupling_wrench_rt(spring, manipulandum, &object, w);
  for (int i = 0; i < 36; ++i) system[i] = -h * h * (load->gradient[i] + share * w->gradient[i]);
  const double damping = set->damping_n_s_per_m * eased(w->force_n, w->linear_force_n);
  const double torsion = set->torsion_damping_nm_s * eased(w->torque_nm, w->linear_torque_nm);
  double mass[6], viscosity[6];
  for (int i = 0; i < 6; ++i) {
    mass[i] = i < 3 ? set->mass_kg : set->inertia_kg_m2;
    viscosity[i] = i < 3 ? damping : torsion;
    system[7 * i] += mass[i] + h * viscosity[i];
  }

  report->rank = 6;
  for (int32_t k = 0; k < set->substeps; ++k) {
    double force[6], next[6], step[6];
    if (k > 0) rf_coupling_wrench_rt(spring, manipulandum, &object, w);
    add_forces(w, share, load, move, force);
    for (int i = 0; i < 6; ++i)
      force[i] = mass[i] * velocity[i] + h * (force[i] + viscosity[i] * manipulandum_velocity[i]);
    const int32_t rank = rf_solve6_rt(system, force, 1e-12, INFINITY, velocity, next);
    if (rank < report->rank) report->rank = rank;
    report->limited |= rf_limit(next, spring->max_step_m / set->dt_s);
    report->limited |= rf_limit(next + 3, spring->max_turn_rad / set->dt_s);
    for (int i = 0; i < 6; ++i) {
      velocity[i] = next[i];
      step[i] = h * next[i];
      move[i] += step[i];
    }
    object = rf_moved(&object, step);
  }
  bool finite = report->rank >= 0 && rf_pose_usable_rt(&object);
  for (int i = 0; i < 6; ++i) finite = finite && isfinite(velocity[i]);
  if (!finite) {
    memset(move, 0, sizeof report->move);
    return RF_ERR_DIVERGED;
  }
  memcpy(state->velocity, velocity, sizeof velocity);
  state->coupling.object = object;
  state->coupling.share = share;
  rf_coupling_wrench_rt(spring, manipulandum, &object, w);
  return RF_OK;
}

static void symmetrize(const double a[36], double out[36]) {
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j) out[6 * i + j] = 0.5 * (a[6 * i + j] + a[6 * j + i]);
}

// Substeps of the response to a unit wrench, by columns:
//     (M + h B - h^2 G) v_next = M v + h (1 + G x),   x_next = x + h v_next.
static bool respond(const rf_dynamic_settings *set, const double gradient[36],
                    const double system[36], rf_coupling_free *out) {
  const double h = set->dt_s / set->substeps;
  for (int c = 0; c < 6; ++c) {
    double way[6] = {0}, velocity[6] = {0};
    for (int32_t k = 0; k < set->substeps; ++k) {
      double force[6], next[6];
      for (int i = 0; i < 6; ++i) {
        force[i] = i == c ? 1.0 : 0.0;
        for (int j = 0; j < 6; ++j) force[i] += gradient[6 * i + j] * way[j];
        force[i] = (i < 3 ? set->mass_kg : set->inertia_kg_m2) * velocity[i] + h * force[i];
      }
      if (rf_solve6_rt(system, force, 1e-12, INFINITY, velocity, next) < 0) return false;
      for (int i = 0; i < 6; ++i) {
        velocity[i] = next[i];
        way[i] += h * next[i];
      }
    }
    for (int i = 0; i < 6; ++i) {
      out->compliance[6 * i + c] = way[i];
      out->gain[6 * i + c] = velocity[i];
    }
  }
  return true;
}

rf_status rf_dynamic_free_rt(const rf_dynamic_settings *set, const rf_pose *manipulandum,
                             const double manipulandum_velocity[6], const rf_coupling_load *load,
                             const rf_dynamic_state *state, rf_coupling_free *out) {
  const rf_coupling_settings *spring = &set->spring;
  const double h = set->dt_s / set->substeps;
  const rf_coupling_load none = {.depth_m = load->depth_m, .clearance_m = load->clearance_m};
  rf_dynamic_state moved = *state;
  rf_coupling_report report;
  rf_coupling_wrench w;
  double gradient[36], system[36];
  const rf_status st =
      rf_dynamic_step_rt(set, manipulandum, manipulandum_velocity, &none, &moved, &report);
  if (st < 0) return st;
  memcpy(out->way, report.move, sizeof out->way);
  memcpy(out->velocity, moved.velocity, sizeof out->velocity);
  out->limited = report.limited;
  out->share = moved.coupling.share;
  rf_coupling_wrench_rt(spring, manipulandum, &state->coupling.object, &w);
  for (int i = 0; i < 36; ++i) w.gradient[i] *= out->share;
  symmetrize(w.gradient, gradient);
  for (int i = 0; i < 36; ++i) system[i] = -h * h * gradient[i];
  const double linear = eased(w.force_n, w.linear_force_n);
  const double turn = eased(w.torque_nm, w.linear_torque_nm);
  for (int i = 0; i < 6; ++i)
    system[7 * i] += i < 3 ? set->mass_kg + h * linear * set->damping_n_s_per_m
                           : set->inertia_kg_m2 + h * turn * set->torsion_damping_nm_s;
  if (!respond(set, gradient, system, out)) return RF_ERR_DIVERGED;
  symmetrize(out->compliance, gradient);
  memcpy(out->compliance, gradient, sizeof out->compliance);
  return RF_OK;
}

rf_status rf_dynamic_finish_rt(const rf_dynamic_settings *set, const rf_pose *manipulandum,
                               const rf_coupling_free *free, const double wrench[6],
                               rf_dynamic_state *state, rf_coupling_report *report) {
  double velocity[6];
  rf_coupling_add_rt(free->gain, wrench, free->velocity, velocity);
  for (int i = 0; i < 6; ++i)
    if (!isfinite(velocity[i])) return RF_ERR_DIVERGED;
  const rf_status st =
      rf_coupling_finish_rt(&set->spring, manipulandum, free, wrench, &state->coupling, report);
  if (st >= 0) memcpy(state->velocity, velocity, sizeof velocity);
  return st;
}
