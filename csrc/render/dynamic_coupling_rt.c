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

// M + h B - h^2 G of the springs, and the diagonals M and B.
static void put_system(const rf_dynamic_settings *set, double h, double share,
                       const rf_coupling_wrench *w, double mass[6], double viscosity[6],
                       double system[36]) {
  const double damping = set->damping_n_s_per_m * eased(w->force_n, w->linear_force_n);
  const double torsion = set->torsion_damping_nm_s * eased(w->torque_nm, w->linear_torque_nm);
  for (int i = 0; i < 36; ++i) system[i] = -h * h * share * w->gradient[i];
  for (int i = 0; i < 6; ++i) {
    mass[i] = i < 3 ? set->mass_kg : set->inertia_kg_m2;
    viscosity[i] = i < 3 ? damping : torsion;
    system[7 * i] += mass[i] + h * viscosity[i];
  }
}

rf_status rf_dynamic_step_rt(const rf_dynamic_settings *set, const rf_pose *manipulandum,
                             const double manipulandum_velocity[6], const rf_coupling_load *load,
                             rf_dynamic_state *state, rf_coupling_report *report) {
  const rf_coupling_settings *spring = &set->spring;
  const double h = set->dt_s / set->substeps;
  const double share = rf_coupling_relief_rt(spring, load, state->coupling.share);
  rf_coupling_wrench *w = &report->wrench;
  rf_pose object = state->coupling.object;
  double system[36], mass[6], viscosity[6], velocity[6], *move = report->move;
  memset(move, 0, sizeof report->move);
  memcpy(velocity, state->velocity, sizeof velocity);
  report->limited = false;

  rf_coupling_wrench_rt(spring, manipulandum, &object, w);
  put_system(set, h, share, w, mass, viscosity, system);
  for (int i = 0; i < 36; ++i) system[i] -= h * h * load->gradient[i];

  report->rank = 6;
  for (int32_t k = 0; k < set->substeps; ++k) {
    double force[6], next[6], step[6];
    if (k > 0) rf_coupling_wrench_rt(spring, manipulandum, &object, w);
    add_forces(w, share, load, move, force);
    for (int i = 0; i < 6; ++i)
      force[i] = mass[i] * velocity[i] + h * (force[i] + viscosity[i] * manipulandum_velocity[i]);
    const int32_t rank = rf_solve6_rt(system, force, 1e-12, INFINITY, velocity, next);
    if (rank < report->rank) report->rank = rank;
    report->limited |= rf_vec3_limit(next, spring->max_step_m / set->dt_s);
    report->limited |= rf_vec3_limit(next + 3, spring->max_turn_rad / set->dt_s);
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

// C of one implicit step, dt^2 (M + dt B - dt^2 G)^-1; false: not finite.
static bool put_compliance(const rf_dynamic_settings *set, const rf_coupling_wrench *w,
                           double share, double out[36]) {
  const double dt = set->dt_s, none[6] = {0};
  double mass[6], viscosity[6], raw[36], system[36], column[6], unit[6];
  put_system(set, dt, share, w, mass, viscosity, raw);
  symmetrize(raw, system);
  for (int j = 0; j < 6; ++j) {
    for (int i = 0; i < 6; ++i) unit[i] = i == j ? dt * dt : 0.0;
    if (rf_solve6_rt(system, unit, 1e-12, INFINITY, none, column) < 0) return false;
    for (int i = 0; i < 6; ++i) raw[6 * i + j] = column[i];
  }
  symmetrize(raw, out);
  return true;
}

// Cuts a motion to the largest speed, and what contact adds alike.
static void slow(double most, double way[3], double *compliance, bool *limited) {
  const double length = rf_vec3_length(way);
  if (!rf_vec3_limit(way, most)) return;
  *limited = true;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) compliance[6 * i + j] *= most / length;
}

rf_status rf_dynamic_free_rt(const rf_dynamic_settings *set, const rf_pose *manipulandum,
                             const double manipulandum_velocity[6], const rf_coupling_load *load,
                             const rf_dynamic_state *state, rf_coupling_free *out) {
  const rf_coupling_load none = {.depth_m = load->depth_m, .clearance_m = load->clearance_m};
  rf_dynamic_settings one = *set;
  rf_dynamic_state moved = *state;
  rf_coupling_report report;
  rf_coupling_wrench w;
  rf_status st =
      rf_dynamic_step_rt(set, manipulandum, manipulandum_velocity, &none, &moved, &report);
  memcpy(out->apart, report.move, sizeof out->apart);
  memcpy(out->velocity, moved.velocity, sizeof out->velocity);
  one.substeps = 1;
  one.spring.max_step_m = one.spring.max_turn_rad = INFINITY;
  moved = *state;
  if (st >= 0)
    st = rf_dynamic_step_rt(&one, manipulandum, manipulandum_velocity, &none, &moved, &report);
  if (st < 0) return st;
  memcpy(out->way, report.move, sizeof out->way);
  out->share = moved.coupling.share;
  out->limited = false;
  rf_coupling_wrench_rt(&set->spring, manipulandum, &state->coupling.object, &w);
  if (!put_compliance(set, &w, out->share, out->compliance)) return RF_ERR_DIVERGED;
  // displacement and rotation do not act on each other
  slow(set->spring.max_step_m, out->way, out->compliance, &out->limited);
  slow(set->spring.max_turn_rad, out->way + 3, out->compliance + 21, &out->limited);
  return RF_OK;
}

static bool touches(const double wrench[6]) {
  for (int i = 0; i < 6; ++i)
    if (wrench[i] != 0.0) return true;
  return false;
}

rf_status rf_dynamic_finish_rt(const rf_dynamic_settings *set, const rf_pose *manipulandum,
                               const rf_coupling_free *free, const double wrench[6],
                               rf_dynamic_state *state, rf_coupling_report *report) {
  const bool touched = touches(wrench);
  rf_coupling_free used = *free;
  if (!touched) memcpy(used.way, free->apart, sizeof used.way);
  const rf_status st =
      rf_coupling_finish_rt(&set->spring, manipulandum, &used, wrench, &state->coupling, report);
  for (int i = 0; st >= 0 && i < 6; ++i)
    state->velocity[i] = touched ? report->move[i] / set->dt_s : free->velocity[i];
  return st;
}
