// Iso-surface of the interpolated samples of a regular grid.
//
// Marching cubes whose topology is correct by construction, without case tables.  In each cube the
// cut edges are joined to loops by segments in its faces.  How a face joins its cuts depends only
// on its own four values (on ambiguous faces: on the value at the saddle of the bilinear
// interpolant, the asymptotic decider), so neighbours agree.  A loop of three becomes a triangle, a
// longer one a fan around an added vertex at its middle, so that no diagonal lies in a face.
// Hence, for all samples, every edge belongs to two triangles that run through it in opposite
// directions, and the triangles around every vertex form one ring.  Normals point towards larger
// values.  (Inside a cube, parts of the surface may touch or cross one another if the samples vary
// faster than distances do.)
//
// Samples equal to the value count as above it.  Cuts are kept RF_CUT_MARGIN of a spacing away from
// the samples, so that no two vertices coincide.  The box is padded with a layer of samples above
// the value: where the surface would leave the box it is closed along the side, RF_CUT_MARGIN of a
// spacing outside.
#ifndef RF_SDF_ISOSURFACE_H
#define RF_SDF_ISOSURFACE_H

#include <stdint.h>

#include "base/status.h"
#include "mesh/surface.h"

#define RF_CUT_MARGIN 1e-5

typedef struct rf_isosurface {
  int32_t n_vertices, n_triangles;
  double *vertices;    // m               (n_vertices, 3)
  int32_t *triangles;  // vertex indices   (n_triangles, 3)
  int64_t n_closing;   // vertices on the sides of the box; 0: the surface stays inside
} rf_isosurface;

// Extracts the surface.  n: samples along x, y, z, 2 or more each; values: (n0, n1, n2), z fastest,
// finite; origin: position of sample (0, 0, 0), m; spacing, m.  RF_ERR_ARG unless some samples are
// below the value and some are not.
RF_MUST_CHECK rf_status rf_isosurface_create(const int32_t n[3], const double origin[3],
                                             const double spacing[3], const float *values,
                                             double value, const rf_run *run, rf_isosurface *out,
                                             rf_error *err);
void rf_isosurface_free(rf_isosurface *s);  // a zeroed struct is allowed

static inline rf_surface rf_isosurface_view(const rf_isosurface *s) {
  return (rf_surface){s->n_vertices, s->n_triangles, s->vertices, s->triangles};
}

#endif
