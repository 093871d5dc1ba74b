// Triangle surfaces as found in the wild: vertices not merged, open, non-manifold,
// self-intersecting, with needles and points among the triangles.
//
// A surface here is borrowed arrays and nothing more.  What is refused: no
// triangle, coordinates that are not finite, indices out of range.  All else is
// measured, not judged.
#ifndef RF_MESH_SURFACE_H
#define RF_MESH_SURFACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef struct rf_surface {
  int32_t n_vertices, n_triangles;
  const double *vertices;    // m             (n_vertices, 3)
  const int32_t *triangles;  // vertex indices (n_triangles, 3)
} rf_surface;

RF_MUST_CHECK rf_status rf_surface_check(const rf_surface *surface, rf_error *err);

// Bounding box of the vertices that triangles use, m.
void rf_surface_bounds(const rf_surface *surface, double lo[3], double hi[3]);

double rf_surface_triangle_area(const rf_surface *surface, int32_t triangle);  // m^2

typedef struct rf_surface_report {
  double area;           // m^2
  double volume;         // enclosed, positive when triangles face outwards, m^3; closed surfaces
  int32_t n_degenerate;  // triangles without area
  bool closed;           // every edge is run through equally often in both directions
  bool manifold;         // no edge belongs to more than two triangles
} rf_surface_report;

// Vertices at the same place count as one.  The surface must have passed the check.
RF_MUST_CHECK rf_status rf_surface_measure(const rf_surface *surface, rf_surface_report *out,
                                           rf_error *err);

// Unit normals of the vertices: those of the triangles around each, weighted by their angle
// there; zero where there is none.  (n_vertices, 3)
RF_MUST_CHECK rf_status rf_surface_normals(const rf_surface *surface, double *normals,
                                           rf_error *err);

// First hit of a ray.
typedef struct rf_hit {
  int32_t triangle;       // -1: nothing
  double distance;        // along the ray, in lengths of its direction
  double barycentric[3];  // of the place in the triangle
} rf_hit;

// The first triangle that origin + t direction, t >= 0, meets from either side; the vertices may
// have moved.  Of triangles equally near the lowest counts.
rf_hit rf_surface_cast(const rf_surface *surface, const double origin[3],
                       const double direction[3]);

// first[i]: the lowest vertex at the same place as vertex i.
RF_MUST_CHECK rf_status rf_surface_merge(int32_t n_vertices, const double *vertices, int32_t *first,
                                         rf_error *err);

#endif
