// Elements that are inside out, and laws that are not defined there.
#include "fem/fem.h"
#include "linalg/vec3.h"

// True if det F <= 0 at a quadrature point, F = 1 + sum u_a (x) grad(phi_a).
static bool inside_out(const rf_solid *s, int32_t element, const double *u) {
  const int nodes = (int)s->mesh->type;
  const int32_t *corner = s->mesh->elements + (int64_t)nodes * element;
  const double *gradient = rf_solid_gradient(s, element);
  for (int g = 0; g < rf_solid_points(s, element); ++g) {
    double f[9] = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0};
    for (int a = 0; a < nodes; ++a, gradient += 3)
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) f[3 * i + j] += u[3 * (int64_t)corner[a] + i] * gradient[j];
    if (!(rf_vec3_det(f, f + 3, f + 6) > 0.0)) return true;
  }
  return false;
}

int32_t rf_solid_inverted(const rf_solid *solid, const double *u) {
  int32_t count = 0;
  for (int32_t e = 0; e < solid->mesh->n_elements; ++e) count += inside_out(solid, e, u);
  return count;
}

rf_status rf_solid_require_defined(const rf_solid *s, const double *u, const char *subject,
                                   rf_error *err) {
  for (int32_t e = 0; e < s->mesh->n_elements; ++e) {
    const rf_law *law = s->material[s->element_material[e]].law;
    if (!law->facts->defined_inverted && inside_out(s, e, u))
      return rf_fail(err, RF_ERR_ARG,
                     "%s turns element %d inside out, where %s is not defined: make it smaller, or "
                     "choose another law (see help(%s))",
                     subject, e, law->name, law->name);
  }
  return RF_OK;
}

rf_status rf_solid_require_upright(const rf_solid *s, const double *u, rf_error *err) {
  for (int32_t e = 0; e < s->mesh->n_elements; ++e)
    if (inside_out(s, e, u))
      return rf_fail(err, RF_ERR_MESH,
                     "u turns element %d inside out, where the Cauchy stress is not defined: make "
                     "it smaller",
                     e);
  return RF_OK;
}
