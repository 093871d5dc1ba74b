#include "cubature/cubature.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "linalg/vec3.h"

static const double ASYMMETRY = 1e-12;  // tolerated in the linear part, relative to its largest

static rf_status require_finite(const double *x, int64_t count, const char *name, rf_error *err) {
  for (int64_t i = 0; i < count; ++i)
    if (!isfinite(x[i]))
      return rf_fail(err, RF_ERR_ARG, "%s of the cubature: entry %lld is %g; all must be finite",
                     name, (long long)i, x[i]);
  return RF_OK;
}

static rf_status check_linear(int32_t r, const double *linear, rf_error *err) {
  const rf_status st = require_finite(linear, (int64_t)r * r, "linear part", err);
  double largest = 0.0;
  if (st < 0) return st;
  for (int64_t i = 0; i < (int64_t)r * r; ++i) largest = fmax(largest, fabs(linear[i]));
  for (int32_t i = 0; i < r; ++i)
    for (int32_t j = 0; j < i; ++j) {
      const double a = linear[(int64_t)i * r + j], b = linear[(int64_t)j * r + i];
      if (!(fabs(a - b) <= ASYMMETRY * largest))
        return rf_fail(err, RF_ERR_ARG,
                       "linear part of the cubature is not symmetric at [%d, %d]: %g and %g", i, j,
                       a, b);
    }
  return RF_OK;
}

static rf_status check(const rf_cubature_parts *p, rf_error *err) {
  if (!(p->r >= 1 && p->r <= RF_CUBATURE_MAX_R))
    return rf_fail(err, RF_ERR_ARG, "r must be between 1 and %d, got %d", RF_CUBATURE_MAX_R, p->r);
  if (!(p->n_points >= 1 && p->n_materials >= 1))
    return rf_fail(err, RF_ERR_ARG,
                   "a cubature has at least one point and one material, got %d and %d", p->n_points,
                   p->n_materials);
  for (int32_t m = 0; m < p->n_materials; ++m) {
    const rf_status st = p->materials[m].law->facts->check(p->materials[m].parameter, m, err);
    if (st < 0) return st;
  }
  for (int32_t k = 0; k < p->n_points; ++k) {
    if (!(p->material[k] >= 0 && p->material[k] < p->n_materials))
      return rf_fail(err, RF_ERR_ARG, "point %d of the cubature has material %d; there are %d", k,
                     p->material[k], p->n_materials);
    if (!(isfinite(p->weight[k]) && p->weight[k] > 0.0))
      return rf_fail(err, RF_ERR_ARG,
                     "point %d of the cubature has the weight %g; it must be finite and positive",
                     k, p->weight[k]);
  }
  const rf_status st =
      require_finite(p->gradient, 9 * (int64_t)p->n_points * p->r, "gradients", err);
  return st < 0 || !p->linear ? st : check_linear(p->r, p->linear, err);
}

static int32_t law_of(const rf_cubature *c, int32_t point) {
  return rf_law_index(c->materials[c->material[point]].law);
}

// Writes a point to a lane of a batch.  Without a stream nothing: batches are counted.
static void put(const rf_cubature *c, double *stream, int32_t batch, int lane, int32_t point,
                double weight) {
  if (!stream) return;
  const int lanes = rf_law_lanes(c->simd);
  const double *parameter = c->materials[c->material[point]].parameter;
  const double *gradient = c->gradient + 9 * (int64_t)point * c->r;
  double *to = stream + batch * c->batch_size + lane;
  double *table = to + (int64_t)(1 + c->n_parameters) * lanes;
  c->batch_law[batch] = law_of(c, point);
  c->isotropic[batch] = c->materials[c->material[point]].law->facts->isotropic;
  to[0] = weight;
  for (int32_t k = 0; k < c->n_parameters; ++k) to[(1 + k) * lanes] = parameter[k];
  for (int32_t k = 0; k < c->r; ++k)
    for (int i = 0; i < 9; ++i) table[(9 * k + i) * lanes] = gradient[i * c->r + k];
}

// Fills the batches of one law, in the order of the points, from `batch` on; returns the next one.
static int32_t pack_law(const rf_cubature *c, int32_t law, int32_t batch, double *stream) {
  const int lanes = rf_law_lanes(c->simd);
  int32_t last = -1;
  int lane = 0;
  for (int32_t p = 0; p < c->n_points; ++p) {
    if (law_of(c, p) != law) continue;
    put(c, stream, batch, lane, p, c->weight[p]);
    last = p;
    lane = (lane + 1) % lanes;
    if (lane == 0) ++batch;
  }
  if (lane == 0) return batch;
  for (; lane < lanes; ++lane) put(c, stream, batch, lane, last, 0.0);
  return batch + 1;
}

static int32_t pack(const rf_cubature *c, double *stream) {
  int32_t at = 0;
  for (int32_t law = 0; law < RF_LAW_COUNT; ++law) at = pack_law(c, law, at, stream);
  return at;
}

static int32_t most_parameters(const rf_cubature *c) {
  int32_t most = 0;
  for (int32_t m = 0; m < c->n_materials; ++m) {
    const int32_t count = rf_law_parameter_count(c->materials[m].law);
    most = count > most ? count : most;
  }
  return most;
}

rf_status rf_cubature_create(const rf_cubature_parts *p, rf_simd simd, rf_cubature **out,
                             rf_error *err) {
  rf_status st = RF_OK;
  rf_cubature *c = NULL;
  *out = NULL;
  RF_TRY(rf_simd_check(simd, err));
  RF_TRY(check(p, err));
  const int64_t entries = 9 * (int64_t)p->n_points * p->r;
  RF_ALLOC(c, 1);
  c->r = p->r;
  c->n_points = p->n_points;
  c->n_materials = p->n_materials;
  c->simd = rf_simd_resolve(simd);
  c->padded = (p->r + RF_CUBATURE_PAD - 1) / RF_CUBATURE_PAD * RF_CUBATURE_PAD;
  RF_ALLOC(c->gradient, entries);
  RF_ALLOC(c->weight, p->n_points);
  RF_ALLOC(c->material, p->n_points);
  RF_ALLOC(c->materials, p->n_materials);
  memcpy(c->gradient, p->gradient, (size_t)entries * sizeof *c->gradient);
  memcpy(c->weight, p->weight, (size_t)p->n_points * sizeof *c->weight);
  memcpy(c->material, p->material, (size_t)p->n_points * sizeof *c->material);
  memcpy(c->materials, p->materials, (size_t)p->n_materials * sizeof *c->materials);
  if (p->linear) {
    RF_ALLOC(c->linear, (int64_t)p->r * p->r);
    memcpy(c->linear, p->linear, (size_t)p->r * (size_t)p->r * sizeof *c->linear);
  }
  c->n_parameters = most_parameters(c);
  c->batch_size = (1 + c->n_parameters + 9 * (int64_t)c->padded) * rf_law_lanes(c->simd);
  c->n_batches = pack(c, NULL);
  RF_ALLOC(c->batch_law, c->n_batches);
  RF_ALLOC(c->isotropic, c->n_batches);
  RF_ALLOC(c->stream, c->n_batches * c->batch_size);
  pack(c, c->stream);
  *out = c;
  c = NULL;
done:
  rf_cubature_free(c);
  return st;
}

rf_status rf_cubature_truncate(const rf_cubature *c, int32_t r_new, rf_cubature **out,
                               rf_error *err) {
  rf_status st = RF_OK;
  double *gradient = NULL, *linear = NULL;
  *out = NULL;
  if (!(r_new >= 1 && r_new <= c->r))
    return rf_fail(err, RF_ERR_ARG, "r must be between 1 and %d, got %d", c->r, r_new);
  const size_t bytes = (size_t)r_new * sizeof(double);
  RF_ALLOC(gradient, 9 * (int64_t)c->n_points * r_new);
  for (int64_t k = 0; k < 9 * (int64_t)c->n_points; ++k)
    memcpy(gradient + k * r_new, c->gradient + k * c->r, bytes);
  if (c->linear) {
    RF_ALLOC(linear, (int64_t)r_new * r_new);
    for (int64_t k = 0; k < r_new; ++k) memcpy(linear + k * r_new, c->linear + k * c->r, bytes);
  }
  const rf_cubature_parts parts = {.r = r_new,
                                   .n_points = c->n_points,
                                   .n_materials = c->n_materials,
                                   .gradient = gradient,
                                   .weight = c->weight,
                                   .material = c->material,
                                   .materials = c->materials,
                                   .linear = linear};
  RF_TRY(rf_cubature_create(&parts, c->simd, out, err));
done:
  rf_free(gradient);
  rf_free(linear);
  return st;
}

void rf_cubature_free(rf_cubature *c) {
  if (!c) return;
  rf_free(c->gradient);
  rf_free(c->weight);
  rf_free(c->material);
  rf_free(c->materials);
  rf_free(c->linear);
  rf_free(c->batch_law);
  rf_free(c->isotropic);
  rf_free(c->stream);
  rf_free(c);
}

rf_status rf_cubature_require_defined(const rf_cubature *c, const double *q, const char *subject,
                                      rf_error *err) {
  for (int32_t p = 0; p < c->n_points; ++p) {
    const rf_law *law = c->materials[c->material[p]].law;
    double f[9];
    if (law->facts->defined_inverted) continue;
    rf_cubature_deform_rt(c, p, q, f);
    if (!(rf_vec3_det(f, f + 3, f + 6) > 0.0))
      return rf_fail(err, RF_ERR_ARG,
                     "%s turns point %d of the cubature inside out, where %s is not defined: make "
                     "it smaller, or choose another law (see help(%s))",
                     subject, p, law->name, law->name);
  }
  return RF_OK;
}
