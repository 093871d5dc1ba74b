// Control elements made again of their parts, as from a file.
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "green/control_build.h"
#include "linalg/dense_rt.h"

enum { P = RF_CONTROL_PARAMETERS };

static rf_status check(const rf_control_parts *parts, rf_error *err) {
  const int32_t groups = parts->n_groups, handles = parts->n_handles;
  int64_t count = 0;
  if (handles < 1 || groups > RF_CONTROL_MOST_GROUPS ||
      !(groups == handles || groups == handles + 1))
    return rf_fail(err, RF_ERR_ARG, "%d groups of nodes do not belong to %d handles", groups,
                   handles);
  if (parts->order < 1 || parts->order > 3 || (parts->order > 1 && groups < 2))
    return rf_fail(err, RF_ERR_ARG, "order %d of %d groups of nodes does not exist", parts->order,
                   groups);
  if (P * groups + rf_control_products(parts->order, 6 * (groups - 1)) > RF_CONTROL_MOST_FIELDS)
    return rf_fail(err, RF_ERR_ARG, "more than %d fields", RF_CONTROL_MOST_FIELDS);
  if (parts->rank < 0 || parts->rank > P * handles)
    return rf_fail(err, RF_ERR_ARG, "rank %d of %d parameters", parts->rank, P * handles);
  for (int32_t g = 0; g < groups; ++g) {
    count += parts->count[g];
    if (parts->count[g] < 1 || count > INT32_MAX)
      return rf_fail(err, RF_ERR_ARG, "a group of %d nodes", parts->count[g]);
  }
  return RF_OK;
}

static void copy_rows(int32_t rows, int32_t columns, const double *from, int32_t ld, double *to) {
  for (int32_t i = 0; i < rows; ++i)
    memcpy(to + (int64_t)i * ld, from + (int64_t)i * columns, (size_t)columns * sizeof *to);
}

rf_status rf_control_of_parts(const rf_control_parts *parts, rf_control **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_control *c = NULL;
  float *single = NULL;
  double *twice = NULL;
  *out = NULL;
  RF_TRY(check(parts, err));
  RF_ALLOC(c, 1);
  c->n_handles = parts->n_handles;
  c->n_groups = parts->n_groups;
  c->n_parameters = P * c->n_groups;
  c->order = parts->order;
  c->simd = rf_simd_resolve(RF_SIMD_BEST);
  c->rank = parts->rank;
  c->n_surface = parts->n_surface;
  c->single = parts->single;
  c->ld = rf_dense_ld(c->n_parameters);
  c->n_relative = c->order > 1 ? 6 * (c->n_groups - 1) : 0;
  const int32_t p = c->n_relative, products = rf_control_products(c->order, p);
  c->n_fields = c->n_parameters + products;
  const int64_t places = 3 * (int64_t)rf_control_tiles(c) * rf_control_tile(c->single);
  RF_ALLOC(c->group, c->n_groups);
  for (int32_t g = 0; g < c->n_groups; ++g) {
    c->group[g].count = parts->count[g];
    memcpy(c->group[g].mean, parts->mean + 3 * (int64_t)g, sizeof c->group[g].mean);
    memcpy(c->group[g].moment, parts->moment + 9 * (int64_t)g, sizeof c->group[g].moment);
  }
  rf_control_find_centre(c);
  RF_ALLOC(c->matrix, (int64_t)c->n_parameters * c->ld);
  copy_rows(c->n_parameters, c->n_parameters, parts->matrix, c->ld, c->matrix);
  RF_ALLOC(c->arm, places);
  memcpy(c->arm, parts->arm, (size_t)places * sizeof *c->arm);
  if (c->single)
    RF_ALLOC(single, places * c->n_fields);
  else
    RF_ALLOC(twice, places * c->n_fields);
  c->fields = c->single ? (void *)single : (void *)twice;
  memcpy(c->fields, parts->fields, (size_t)rf_control_bytes(c));
  if (c->order > 1) {
    RF_ALLOC(c->to_relative, p * p);
    RF_ALLOC(c->gauge, p * p);
    RF_ALLOC(c->product_forces, (int64_t)products * c->ld);
    memcpy(c->to_relative, parts->to_relative, (size_t)(p * p) * sizeof *c->to_relative);
    memcpy(c->gauge, parts->gauge, (size_t)(p * p) * sizeof *c->gauge);
    copy_rows(products, c->n_parameters, parts->product_forces, c->ld, c->product_forces);
    rf_control_make_inertia(c);
  }
  *out = c;
  c = NULL;
done:
  rf_control_free(c);
  return st;
}
