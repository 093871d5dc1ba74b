// A projected solid as a system: dense matrices, forces by way of the mesh (model/projected.h).
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "dynamics/system_dense.h"
#include "linalg/dense_rt.h"
#include "mesh/mesh.h"
#include "model/projected.h"

typedef struct projected_system {
  rf_dense_system dense;
  const rf_projected *model;
  double *viscosity;     // of each material, NULL: no strain-rate damping (n_materials, 2)
  double *displacement;  // U x                                            (n_nodes, 3)
  rf_projected_work *projection;
} projected_system;

static projected_system *self(rf_system *s) { return (projected_system *)s; }

static void release(rf_system *base) {
  rf_projected_work_free(self(base)->projection);
  rf_free(base);
}

static rf_status evaluate(rf_system *base, const double *x, bool tangent, double *energy,
                          double *force) {
  projected_system *s = self(base);
  const int32_t ld = (int32_t)base->ld;
  const bool needed = tangent || base->damping_stiff > 0.0;
  const rf_status st = rf_projected_evaluate(s->model, base->run, s->projection, x, energy, force,
                                             needed ? s->dense.stiffness : NULL, ld, base->err);
  if (st < 0 || !base->own_damping) return st;
  return rf_projected_damping(s->model, base->run, s->projection, s->viscosity, x, s->dense.damping,
                              ld, base->err);
}

static rf_status make_definite(rf_system *base, const double *x) {
  projected_system *s = self(base);
  return rf_projected_evaluate_as(s->model, base->run, s->projection, RF_TANGENT_DEFINITE, x, NULL,
                                  NULL, s->dense.stiffness, (int32_t)base->ld, base->err);
}

static double farthest(const rf_system *base, const double *x) {
  const projected_system *s = (const projected_system *)base;
  const rf_solid *solid = s->model->solid;
  // without memory the bound is not checked: the next step reports that
  if (rf_projected_displacement(s->model, base->run, x, s->displacement, NULL) < 0) return 0.0;
  return rf_system_largest_stretch(solid->mesh, s->displacement);
}

static rf_status require_defined(rf_system *base, const double *x, const char *subject,
                                 rf_error *err) {
  static const rf_run ONE = {.threads = 1};
  const projected_system *s = self(base);
  return rf_projected_require_defined(s->model, base->run ? base->run : &ONE, s->projection, x,
                                      subject, err);
}

static const rf_system_operations OPERATIONS = {.evaluate = evaluate,
                                                .make_definite = make_definite,
                                                .farthest = farthest,
                                                RF_SYSTEM_DENSE_OPERATIONS};
static const rf_system_life LIFE = {.release = release, .require_defined = require_defined};

static void layout(projected_system *s, const rf_projected *model, rf_system_steps steps,
                   bool damping, bool inside, rf_arena *a) {
  const rf_solid *solid = model->solid;
  rf_system_dense_layout(&s->dense, model->r, steps, damping || inside, a);
  s->viscosity =
      rf_arena_take(a, damping ? 2 * (size_t)solid->n_materials : 0, sizeof *s->viscosity);
  s->displacement = rf_arena_take(a, 3 * (size_t)solid->mesh->n_nodes, sizeof *s->displacement);
}

// Evaluates the damping at rest, where x = 0 is in s->dense.product.
static rf_status take_inside(projected_system *s, const rf_run *run,
                             const rf_system_damping *damping, rf_error *err) {
  const int32_t ld = (int32_t)s->dense.base.ld;
  const double *rest = s->dense.product;
  rf_status st = RF_OK;
  RF_TRY(rf_projected_evaluate(s->model, run, s->projection, rest, NULL, NULL, s->dense.stiffness,
                               ld, err));
  if (damping->viscosity)
    RF_TRY(rf_projected_damping(s->model, run, s->projection, s->viscosity, rest, s->dense.damping,
                                ld, err));
  rf_system_dense_take_inside(&s->dense, damping);
done:
  return st;
}

rf_status rf_system_projected(const void *of, const rf_run *run, const rf_system_damping *damping,
                              rf_system_steps steps, rf_system **out, rf_error *err) {
  const rf_projected *model = of;
  const rf_mesh *mesh = model->solid->mesh;
  const int32_t n_materials = model->solid->n_materials;
  const bool viscous = damping->viscosity != NULL;
  const bool inside = steps != RF_STEPS_IMPLICIT && rf_system_dense_inside(damping);
  const size_t head = (sizeof(projected_system) + 63) / 64 * 64;
  rf_status st = RF_OK;
  projected_system sizes, *s = NULL;
  rf_arena count = {0};
  *out = NULL;
  RF_TRY(rf_system_damping_check(damping, err));
  if (damping->strain_rate)
    return rf_fail(err, RF_ERR_ARG, "a projected solid takes the viscosities of its solid");
  if (viscous) RF_TRY(rf_viscosity_check(n_materials, damping->viscosity, err));
  layout(&sizes, model, steps, viscous, inside, &count);
  // the struct first, its arrays behind it
  s = rf_alloc(head + count.used, 1);
  if (!s)
    return rf_fail(err, RF_ERR_MEMORY, "out of memory: a simulation of r = %d needs %zu bytes",
                   model->r, head + count.used);
  rf_arena carve = {.base = (char *)s + head};
  layout(s, model, steps, viscous, inside, &carve);
  s->dense.base = (rf_system){.operations = &OPERATIONS,
                              .life = &LIFE,
                              .model = model,
                              .n = model->r,
                              .ld = rf_dense_ld(model->r),
                              .damping_mass = damping->mass,
                              .damping_stiff = damping->stiffness,
                              .length_m = rf_mesh_length(mesh->n_nodes, mesh->nodes),
                              .cubic_force = rf_solid_is_quadratic(model->solid),
                              .own_damping = viscous,
                              .explicit_steps = steps != RF_STEPS_IMPLICIT,
                              .simd = model->solid->simd};
  s->model = model;
  if (viscous)
    memcpy(s->viscosity, damping->viscosity, 2 * (size_t)n_materials * sizeof *s->viscosity);
  RF_TRY(rf_projected_work_create(model, &s->projection, err));
  RF_TRY(rf_system_dense_set_mass(&s->dense, model->mass, err));
  if (inside) RF_TRY(take_inside(s, run, damping, err));
  *out = &s->dense.base;
  s = NULL;
done:
  if (s) release(&s->dense.base);
  return st;
}
