// Triangle surfaces of any quality: unmerged vertices, open, non-manifold, self-intersecting, with
// degenerate triangles.
//
// A surface is a set of borrowed arrays.  Only empty surfaces, non-finite coordinates and indices
// out of range are rejected; all other defects are measured.
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

// Computes the bounding box of the vertices used by triangles, m.
void rf_surface_bounds(const rf_surface *surface, double lo[3], double hi[3]);

double rf_surface_triangle_area(const rf_surface *surface, int32_t triangle);  // m^2

typedef struct rf_surface_report {
  double area;    // m^2
  double volume;  // enclosed, positive when triangles face outwards, m^3; for closed surfaces
  int32_t n_degenerate;  // triangles without area
  bool closed;           // every edge is used equally often in both directions
  bool manifold;         // no edge belongs to more than two triangles
} rf_surface_report;

// Measures a surface that has passed the check.  Coincident vertices count as one.
RF_MUST_CHECK rf_status rf_surface_measure(const rf_surface *surface, rf_surface_report *out,
                                           rf_error *err);

// Computes unit normals of the vertices (n_vertices, 3): the angle-weighted mean of the adjacent
// triangles; zero if there is none.
RF_MUST_CHECK rf_status rf_surface_normals(const rf_surface *surface, double *normals,
                                           rf_error *err);

// First intersection of a ray.
typedef struct rf_hit {
  int32_t triangle;       // -1: none
  double distance;        // along the ray, in units of its direction's length
  double barycentric[3];  // position in the triangle
} rf_hit;

// Finds the first triangle, from either side, hit by origin + t direction, t >= 0; vertices may
// have moved since the check.  Among triangles equally near the lowest counts.
rf_hit rf_surface_cast(const rf_surface *surface, const double origin[3],
                       const double direction[3]);

// Sets first[i] to the lowest vertex coincident with vertex i.
RF_MUST_CHECK rf_status rf_surface_merge(int32_t n_vertices, const double *vertices, int32_t *first,
                                         rf_error *err);

#endif
