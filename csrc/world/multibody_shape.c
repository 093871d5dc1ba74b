#include "world/multibody_shape.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "linalg/vec3.h"

double rf_multibody_shape_thickness(const rf_field *field) {
  double least = INFINITY;
  for (int32_t i = 0; field && i < field->n_parts; ++i)
    least = fmin(least, 2.0 * rf_field_part_depth(&field->parts[i]));
  return least;
}

int32_t rf_multibody_shape_tree_r(const rf_multibody_bounded *s) {
  return s->given.tree ? s->given.tree->r : 0;
}

int32_t rf_multibody_shape_field_r(const rf_multibody_bounded *s) {
  return s->given.deformed ? s->given.deformed->r : 0;
}

// Sphere around some fields at rest.
static rf_status bound_fields(int32_t n, const rf_field *const *fields, rf_broad_sphere *sphere,
                              rf_error *err) {
  double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
  double half[3];
  for (int32_t k = 0; k < n; ++k) {
    double from[3], to[3];
    rf_field_bounds(fields[k], 0.0, from, to);
    if (!(from[0] <= to[0])) continue;  // encloses nothing
    for (int i = 0; i < 3; ++i) {
      low[i] = fmin(low[i], from[i]);
      high[i] = fmax(high[i], to[i]);
    }
  }
  if (!(low[0] <= high[0])) return RF_OK;
  for (int i = 0; i < 3; ++i) {
    if (!(isfinite(low[i]) && isfinite(high[i])))
      return rf_fail(
          err, RF_ERR_ARG,
          "field is unbounded along axis %d, as planes and complements are, which can be "
          "the ground of a World; pass a BoxField or DistanceField of the solid",
          i);
    sphere->centre[i] = 0.5 * (low[i] + high[i]);
    half[i] = 0.5 * (high[i] - low[i]);
  }
  sphere->radius = rf_vec3_length(half);
  return RF_OK;
}

static rf_status check(const rf_multibody_shape *s, rf_error *err) {
  if (s->field && s->deformed)
    return rf_fail(err, RF_ERR_ARG, "a body has one field: at rest, or one that deforms");
  if (s->local && !(s->tree && s->tree->n_points == s->local->n_points))
    return rf_fail(err, RF_ERR_ARG, "local has %d points, tree %d; make it with the same tree",
                   (int)s->local->n_points, s->tree ? (int)s->tree->n_points : 0);
  if (s->local && s->tree->r && s->field)
    return rf_fail(
        err, RF_ERR_ARG,
        "the field is one at rest, but the tree of local has a model: the field would not "
        "yield by its coordinates");
  if (!s->tree) return RF_OK;
  if (!(isfinite(s->stiffness) && s->stiffness > 0.0))
    return rf_fail(err, RF_ERR_ARG, "stiffness must be finite and positive, got %g", s->stiffness);
  for (int32_t k = 0; s->each && k < s->tree->n_points; ++k)
    if (!(isfinite(s->each[k]) && s->each[k] > 0.0))
      return rf_fail(err, RF_ERR_ARG, "stiffness[%d] must be finite and positive, got %g", k,
                     s->each[k]);
  return RF_OK;
}

rf_status rf_multibody_shape_create(const rf_multibody_shape *given, rf_multibody_bounded *out,
                                    rf_error *err) {
  rf_status st = RF_OK;
  const rf_field *const *fields =
      given->deformed ? (const rf_field *const *)given->deformed->field : &given->field;
  const int32_t n = given->deformed ? given->deformed->n_domains : given->field != NULL;
  *out = (rf_multibody_bounded){.given = *given, .field = {.radius = -1.0}, .thickness = INFINITY};
  out->given.each = NULL;
  RF_TRY(check(given, err));
  RF_TRY(bound_fields(n, fields, &out->field, err));
  for (int32_t k = 0; k < n; ++k)
    out->thickness = fmin(out->thickness, rf_multibody_shape_thickness(fields[k]));
  if (given->tree && given->each) {
    RF_ALLOC(out->each, given->tree->n_points);
    memcpy(out->each, given->each, (size_t)given->tree->n_points * sizeof *out->each);
    out->given.each = out->each;
  }
done:
  return st;
}

void rf_multibody_shape_free(rf_multibody_bounded *s) {
  rf_free(s->each);
  s->each = NULL;
}
