// The place of a triangle surface that is nearest to a point, and the way out there.
//
// Triangles are kept in a tree of boxes.  Vertices at the same place count as one.  At a place
// inside a triangle, on an edge or at a vertex the pseudonormal is the normal of the triangle, the
// sum of those at the edge, or the sum of those at the vertex weighted by their angles: for the
// boundary of a solid, a point is outside when its way from the nearest place and the pseudonormal
// there have a positive product (Baerentzen & Aanaes 2005).
//
// Thin triangles have the normals of their planes too, however thin, so that distances are exact to
// roundings of their sides.  Triangles without area, less than 1e-14 times as high as they are
// long, count as their sides, and have no normal of their own: they take one over from their
// neighbours.
#ifndef RF_MESH_CLOSEST_H
#define RF_MESH_CLOSEST_H

#include <stdint.h>

#include "base/status.h"
#include "mesh/bvh.h"
#include "mesh/surface.h"
#include "mesh/wide.h"

// A triangle as distances need it.
typedef struct rf_closest_triangle {
  // most triangles are found to be too far away by these alone, in one line of the cache
  _Alignas(64) double a[3];  // first corner
  double normal[3];          // unit; of triangles without area of the neighbours, or 0
  double one;                // largest u + v of feet inside: 1; -1 of triangles without area
  double ab[3], ac[3];       // ways to the other corners
  double u[3], v[3];         // barycentric coordinates of a foot: products with the way from a
  double iab, iac, ibc;      // 1 / squared lengths of the sides; 0 where there is none
} rf_closest_triangle;

typedef struct rf_closest {
  rf_bvh bvh;                     // its items are the triangles
  rf_wide wide;                   // the same tree, for searches
  rf_closest_triangle *triangle;  // in the order of the tree's items
  int32_t *edge;                  // of the sides ab, bc, ca, likewise           (n_triangles, 3)
  int32_t *vertex;                // merged, of the corners, likewise            (n_triangles, 3)
  double *edge_normal;            // not of unit length                          (n_edges, 3)
  double *vertex_normal;          //                                             (n_vertices, 3)
  int32_t n_triangles, n_edges;
} rf_closest;

// The surface must have passed rf_surface_check; it is not needed afterwards.  run: asked for
// stops.
RF_MUST_CHECK rf_status rf_closest_create(const rf_surface *surface, const rf_run *run,
                                          rf_closest **out, rf_error *err);
void rf_closest_free(rf_closest *c);  // NULL is fine

typedef enum rf_feature { RF_FEATURE_FACE, RF_FEATURE_EDGE, RF_FEATURE_VERTEX } rf_feature;

typedef struct rf_closest_place {
  double distance;     // m
  double place[3];     // m
  double normal[3];    // pseudonormal, not of unit length
  int32_t triangle;    // of the surface
  rf_feature feature;  // on which the place lies
} rf_closest_place;

// False when nothing is nearer than `bound` (INFINITY: none), or p is no place.  Of triangles at
// equal distances the lowest counts.
bool rf_closest_find(const rf_closest *c, const double p[3], double bound, rf_closest_place *out);

// The same of many points (n, 3), in whatever order is fast; of one without a place `triangle` is
// -1 and `distance` the bound.
RF_MUST_CHECK rf_status rf_closest_find_all(const rf_closest *c, int64_t n, const double *points,
                                            double bound, const rf_run *run, rf_closest_place *out,
                                            rf_error *err);

// That of one point among the triangles whose normals have a product with `facing` above `least`;
// *at: the triangle's place in the tree's order.
bool rf_closest_find_facing(const rf_closest *c, const double p[3], double bound,
                            const double facing[3], double least, int32_t *at,
                            rf_closest_place *out);

// The same of one triangle, given by its place in the tree's order.
void rf_closest_of_triangle(const rf_closest *c, int32_t at, const double p[3],
                            rf_closest_place *out);

#endif
