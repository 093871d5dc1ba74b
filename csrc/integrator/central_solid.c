// Central differences for the unreduced solid: the scheme of central.h with lumped mass.
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "integrator/central.h"
#include "integrator/held.h"

rf_status rf_solid_central_create(const rf_solid *solid, const rf_run *run,
                                  const rf_central_settings *set, rf_solid_central **out,
                                  rf_error *err) {
  rf_status st = RF_OK;
  rf_solid_central *s = NULL;
  *out = NULL;
  const int64_t n = solid->mesh->n_nodes;
  if (solid->n_free < 1)
    return rf_fail(err, RF_ERR_MESH, "all %d nodes are fixed: nothing can move", solid->n_fixed);
  RF_TRY(rf_central_check(set, err));
  RF_ALLOC(s, 1);
  s->set = *set;
  s->solid = solid;
  double **const fields[] = {&s->u,    &s->v,    &s->a,        &s->x,
                             &s->half, &s->next, &s->internal, &s->product};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; ++i) RF_ALLOC(*fields[i], 3 * n);
  if (set->damping_stiff > 0.0) RF_ALLOC(s->blocks, 9 * (int64_t)solid->graph.ptr[n]);
  if (set->viscosity) {
    RF_TRY(rf_viscosity_check(solid->n_materials, set->viscosity, err));
    RF_ALLOC(s->viscosity, 2 * (int64_t)solid->n_materials);
    memcpy(s->viscosity, set->viscosity, 2 * (size_t)solid->n_materials * sizeof(double));
  }
  s->set.viscosity = s->viscosity;
  RF_TRY(rf_solid_central_reset(s, run, NULL, NULL, NULL, err));
  *out = s;
  s = NULL;
done:
  rf_solid_central_free(s);
  return st;
}

void rf_solid_central_free(rf_solid_central *s) {
  if (!s) return;
  double *const fields[] = {s->u,    s->v,        s->a,       s->x,      s->half,
                            s->next, s->internal, s->product, s->blocks, s->viscosity};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; ++i) rf_free(fields[i]);
  rf_free(s);
}

// internal := R(x) + beta K(x) w + D(x) w
static rf_status resist(rf_solid_central *s, const rf_run *run, const double *w, rf_error *err) {
  const int64_t dofs = 3 * (int64_t)s->solid->mesh->n_nodes;
  rf_status st = rf_solid_evaluate(s->solid, run, s->x, NULL, s->internal, s->blocks, err);
  if (st >= 0 && s->blocks) {
    st = rf_solid_block_multiply(s->solid, run, s->blocks, 1, w, s->product, err);
    for (int64_t d = 0; d < dofs; ++d) s->internal[d] += s->set.damping_stiff * s->product[d];
  }
  if (st >= 0 && s->viscosity) {
    st = rf_solid_damping(s->solid, run, s->viscosity, s->x, w, NULL, s->product, NULL, err);
    for (int64_t d = 0; d < dofs; ++d) s->internal[d] += s->product[d];
  }
  return st;
}

static rf_status one_step(rf_solid_central *s, const rf_run *run, const double *force,
                          rf_error *err) {
  const rf_solid *solid = s->solid;
  const int64_t dofs = 3 * (int64_t)solid->mesh->n_nodes;
  const double h = s->set.dt_s, alpha = s->set.damping_mass;
  for (int64_t d = 0; d < dofs; ++d) {
    s->half[d] = s->v[d] + 0.5 * h * s->a[d];
    s->x[d] = s->u[d] + h * s->half[d];
  }
  const rf_status st = resist(s, run, s->half, err);
  if (st < 0) return st;

  // a' replaces what is no longer needed only when all of it is finite
  double size = 0.0;
  for (int32_t k = 0; k < solid->n_free; ++k)
    for (int c = 0; c < 3; ++c) {
      const int64_t d = 3 * (int64_t)solid->free[k] + c;
      const double balance = (force ? force[d] : 0.0) - s->internal[d];
      const double a =
          (balance / solid->lumped[solid->free[k]] - alpha * s->half[d]) / (1.0 + 0.5 * h * alpha);
      s->next[d] = a;
      size += fabs(a) + fabs(s->half[d] + 0.5 * h * a) + fabs(s->x[d]);
    }
  if (!isfinite(size)) return rf_central_diverged(s->time_s, err);
  for (int64_t d = 0; d < dofs; ++d) {
    s->u[d] = s->x[d];
    s->a[d] = s->next[d];
    s->v[d] = s->half[d] + 0.5 * h * s->next[d];
  }
  ++s->steps;
  s->time_s = (double)s->steps * h;  // a sum would drift
  return RF_OK;
}

rf_status rf_solid_central_step(rf_solid_central *s, const rf_run *run, const double *force,
                                int64_t n, rf_error *err) {
  for (int64_t i = 0; i < n; ++i) {
    const rf_status st = one_step(s, run, force, err);
    if (st < 0) return st;
  }
  return RF_OK;
}

rf_status rf_solid_central_reset(rf_solid_central *s, const rf_run *run, const double *u,
                                 const double *v, const double *a, rf_error *err) {
  rf_status st = RF_OK;
  const rf_solid *solid = s->solid;
  const int64_t dofs = 3 * (int64_t)solid->mesh->n_nodes;
  const size_t bytes = (size_t)dofs * sizeof(double);
  RF_TRY(rf_require_still(solid, u, "q", err));
  RF_TRY(rf_require_still(solid, v, "qdot", err));
  RF_TRY(rf_require_still(solid, a, "qddot", err));
  // the step's own arrays serve until everything is known; `next` is zero at fixed nodes
  memset(s->x, 0, bytes);
  memset(s->half, 0, bytes);
  if (u) memcpy(s->x, u, bytes);
  if (v) memcpy(s->half, v, bytes);
  if (a) {
    memcpy(s->next, a, bytes);
  } else {
    RF_TRY(resist(s, run, s->half, err));
    for (int32_t k = 0; k < solid->n_free; ++k)
      for (int c = 0; c < 3; ++c) {
        const int64_t d = 3 * (int64_t)solid->free[k] + c;
        s->next[d] =
            -s->internal[d] / solid->lumped[solid->free[k]] - s->set.damping_mass * s->half[d];
      }
  }
  double size = 0.0;
  for (int64_t d = 0; d < dofs; ++d) size += fabs(s->x[d]) + fabs(s->half[d]) + fabs(s->next[d]);
  if (!isfinite(size)) {
    st = rf_fail(err, RF_ERR_DIVERGED,
                 "the initial state or its acceleration is not finite; q or qdot is too large");
    goto done;
  }
  memcpy(s->u, s->x, bytes);
  memcpy(s->v, s->half, bytes);
  memcpy(s->a, s->next, bytes);
  s->time_s = 0.0;
  s->steps = 0;
done:
  return st;
}
