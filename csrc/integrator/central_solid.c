// Central differences for the unreduced solid: the scheme of central.h.
#include "integrator/central_solid.h"
#include "base/alloc.h"

rf_status rf_solid_central_create(const rf_solid *solid, const rf_run *run,
                                  const rf_central_settings *set, rf_solid_central **out,
                                  rf_error *err) {
  rf_status st = RF_OK;
  rf_solid_central *s = NULL;
  *out = NULL;
  RF_TRY(rf_motion_check(set->dt_s, set->damping_mass, set->damping_stiff, err));
  RF_ALLOC(s, 1);
  s->set = *set;
  RF_TRY(rf_solid_motion_init(&s->motion, solid, false, set->damping_stiff, set->viscosity,
                              set->load, err));
  s->set.viscosity = s->motion.viscosity;
  s->set.load = s->motion.load;
  RF_TRY(rf_solid_mass_init(&s->mass, solid, run, rf_solid_steps_lumped(solid), err));
  RF_TRY(rf_solid_central_reset(s, run, NULL, NULL, NULL, err));
  *out = s;
  s = NULL;
done:
  rf_solid_central_free(s);
  return st;
}

void rf_solid_central_free(rf_solid_central *s) {
  if (!s) return;
  rf_solid_motion_release(&s->motion);
  rf_solid_mass_release(&s->mass);
  rf_free(s);
}

// internal := R(x) + (beta K(x) + D(x)) xdot
static rf_status resist(rf_solid_central *s, const rf_run *run, rf_error *err) {
  const rf_status st = rf_solid_motion_evaluate(&s->motion, run, err);
  return st < 0 ? st : rf_solid_motion_damp(&s->motion, run, NULL, s->motion.internal, err);
}

// xddot := M^-1 (force - internal)
static rf_status accelerate(rf_solid_central *s, const rf_run *run, const double *force,
                            rf_error *err) {
  rf_solid_motion *m = &s->motion;
  const rf_solid *solid = m->solid;
  for (int32_t k = 0; k < solid->n_free; ++k)
    for (int c = 0; c < 3; ++c) {
      const int64_t d = 3 * (int64_t)solid->free[k] + c;
      m->xddot[d] = force[d] - m->internal[d];
    }
  return rf_solid_mass_solve(&s->mass, run, m->xddot, m->xddot, err);
}

static rf_status one_step(rf_solid_central *s, const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  rf_solid_motion *m = &s->motion;
  const rf_solid *solid = m->solid;
  const int64_t dofs = 3 * (int64_t)solid->mesh->n_nodes;
  const double h = s->set.dt_s, alpha = s->set.damping_mass;
  for (int64_t d = 0; d < dofs; ++d) {
    m->xdot[d] = m->v[d] + 0.5 * h * m->a[d];
    m->x[d] = m->u[d] + h * m->xdot[d];
  }
  RF_TRY(resist(s, run, err));
  RF_TRY(accelerate(s, run, m->applied, err));
  for (int32_t k = 0; k < solid->n_free; ++k)
    for (int c = 0; c < 3; ++c) {
      const int64_t d = 3 * (int64_t)solid->free[k] + c;
      m->xddot[d] = (m->xddot[d] - alpha * m->xdot[d]) / (1.0 + 0.5 * h * alpha);
      m->xdot[d] += 0.5 * h * m->xddot[d];
    }
  if (!rf_solid_motion_keep(m)) return rf_central_diverged(s->time_s, err);
  ++s->steps;
  s->time_s = (double)s->steps * h;  // a sum would drift
done:
  return st;
}

rf_status rf_solid_central_step(rf_solid_central *s, const rf_run *run, const double *force,
                                int64_t n, rf_error *err) {
  rf_solid_motion_apply(&s->motion, force);
  for (int64_t i = 0; i < n; ++i) {
    const rf_status st = one_step(s, run, err);
    if (st < 0) return st;
  }
  return RF_OK;
}

rf_status rf_solid_central_reset(rf_solid_central *s, const rf_run *run, const double *u,
                                 const double *v, const double *a, rf_error *err) {
  rf_status st = RF_OK;
  rf_solid_motion *m = &s->motion;
  const rf_solid *solid = m->solid;
  RF_TRY(rf_solid_motion_start(m, u, v, a, err));
  if (!a) {
    // M a = load - (alpha M + beta K + D) v - R
    RF_TRY(resist(s, run, err));
    RF_TRY(accelerate(s, run, m->load, err));
    for (int32_t k = 0; k < solid->n_free; ++k)
      for (int c = 0; c < 3; ++c) {
        const int64_t d = 3 * (int64_t)solid->free[k] + c;
        m->xddot[d] -= s->set.damping_mass * m->xdot[d];
      }
  }
  if (!rf_solid_motion_keep(m)) return rf_motion_not_finite(err);
  s->time_s = 0.0;
  s->steps = 0;
done:
  return st;
}
