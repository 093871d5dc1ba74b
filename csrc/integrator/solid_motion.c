#include "integrator/solid_motion.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

static int64_t dofs_of(const rf_solid_motion *m) { return 3 * (int64_t)m->solid->mesh->n_nodes; }

rf_status rf_solid_motion_init(rf_solid_motion *m, const rf_solid *solid, bool tangent,
                               double damping_stiff, const double *viscosity, const double *load,
                               rf_error *err) {
  rf_status st = RF_OK;
  const int64_t n = solid->mesh->n_nodes;
  *m = (rf_solid_motion){.solid = solid, .damping_stiff = damping_stiff};
  if (solid->n_free < 1)
    return rf_fail(err, RF_ERR_MESH, "all %d nodes are fixed: nothing can move", solid->n_fixed);
  double **const fields[] = {&m->u,     &m->v,        &m->a,       &m->x,    &m->xdot,
                             &m->xddot, &m->internal, &m->product, &m->load, &m->applied};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; ++i) RF_ALLOC(*fields[i], 3 * n);
  if (load) memcpy(m->load, load, 3 * (size_t)n * sizeof(double));
  rf_solid_motion_apply(m, NULL);
  if (tangent || damping_stiff > 0.0) RF_ALLOC(m->stiffness, 9 * (int64_t)solid->graph.ptr[n]);
  if (viscosity) {
    RF_TRY(rf_viscosity_check(solid->n_materials, viscosity, err));
    RF_ALLOC(m->viscosity, 2 * (int64_t)solid->n_materials);
    memcpy(m->viscosity, viscosity, 2 * (size_t)solid->n_materials * sizeof(double));
  }
done:
  return st;
}

void rf_solid_motion_release(rf_solid_motion *m) {
  double *const blocks[] = {m->u,         m->v,         m->a,        m->x,
                            m->xdot,      m->xddot,     m->internal, m->product,
                            m->stiffness, m->viscosity, m->load,     m->applied};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; ++i) rf_free(blocks[i]);
}

static rf_status require_still(const rf_solid *solid, const double *x, const char *name,
                               rf_error *err) {
  for (int32_t i = 0; x && i < solid->n_fixed; ++i)
    for (int32_t c = 0; c < 3; ++c) {
      const double value = x[3 * (int64_t)solid->fixed[i] + c];
      if (!(value == 0.0))
        return rf_fail(err, RF_ERR_ARG, "%s[%d, %d] is %g, but node %d is fixed: it must be 0",
                       name, solid->fixed[i], c, value, solid->fixed[i]);
    }
  return RF_OK;
}

rf_status rf_solid_motion_start(rf_solid_motion *m, const double *u, const double *v,
                                const double *a, rf_error *err) {
  const size_t bytes = (size_t)dofs_of(m) * sizeof(double);
  const double *const given[] = {u, v, a};
  double *const to[] = {m->x, m->xdot, m->xddot};
  static const char *const names[] = {"q", "qdot", "qddot"};
  for (int i = 0; i < 3; ++i) {
    const rf_status st = require_still(m->solid, given[i], names[i], err);
    if (st < 0) return st;
  }
  for (int i = 0; i < 3; ++i)
    if (given[i])
      memcpy(to[i], given[i], bytes);
    else
      memset(to[i], 0, bytes);
  return RF_OK;
}

void rf_solid_motion_apply(rf_solid_motion *m, const double *force) {
  const int64_t dofs = dofs_of(m);
  for (int64_t d = 0; d < dofs; ++d) m->applied[d] = force ? m->load[d] + force[d] : m->load[d];
}

rf_status rf_solid_motion_evaluate(rf_solid_motion *m, const rf_run *run, rf_error *err) {
  // damping multiplies by the stiffness, or adds to it; factorizations read the upper triangle
  const bool whole = m->damping_stiff > 0.0 || m->viscosity;
  return whole ? rf_solid_evaluate(m->solid, run, m->x, NULL, m->internal, m->stiffness, err)
               : rf_solid_evaluate_upper(m->solid, run, m->x, NULL, m->internal, m->stiffness, err);
}

rf_status rf_solid_motion_damp(rf_solid_motion *m, const rf_run *run, double *matrix, double *sum,
                               rf_error *err) {
  rf_status st = RF_OK;
  const int64_t dofs = dofs_of(m);
  if (m->damping_stiff > 0.0) {
    RF_TRY(rf_solid_block_multiply(m->solid, run, m->stiffness, 1, m->xdot, m->product, err));
    for (int64_t d = 0; d < dofs; ++d) sum[d] += m->damping_stiff * m->product[d];
  }
  if (m->viscosity) {
    RF_TRY(rf_solid_damping(m->solid, run, m->viscosity, m->x, m->xdot, NULL, m->product, matrix,
                            err));
    for (int64_t d = 0; d < dofs; ++d) sum[d] += m->product[d];
  }
done:
  return st;
}

bool rf_solid_motion_keep(rf_solid_motion *m) {
  const int64_t dofs = dofs_of(m);
  const size_t bytes = (size_t)dofs * sizeof(double);
  double *const step[] = {m->x, m->xdot, m->xddot}, *const state[] = {m->u, m->v, m->a};
  for (int i = 0; i < 3; ++i) {
    double sum = 0.0;
    for (int64_t d = 0; d < dofs; ++d) sum += fabs(step[i][d]);
    if (!isfinite(sum)) return false;
  }
  for (int i = 0; i < 3; ++i) memcpy(state[i], step[i], bytes);
  return true;
}
