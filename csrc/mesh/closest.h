// Nearest point of a triangle surface, and the outward direction there.
//
// Triangles are kept in a tree of boxes.  Coincident vertices count as one.  The pseudonormal is
// the normal of the triangle inside it, the sum of the normals at an edge, and their angle-weighted
// sum at a vertex: a point is outside the solid bounded by the surface if the vector from the
// nearest point to it has a positive product with the pseudonormal there (Baerentzen & Aanaes
// 2005).
//
// Thin triangles have the normals of their planes too, so that distances are exact to rounding of
// their sides.  Triangles without area, less than 1e-14 times as high as long, count as their sides
// and take their normal from their neighbours.
#ifndef RF_MESH_CLOSEST_H
#define RF_MESH_CLOSEST_H

#include <stdint.h>

#include "base/status.h"
#include "mesh/bvh.h"
#include "mesh/surface.h"
#include "mesh/wide.h"

// Data of a triangle for distance queries.
typedef struct rf_closest_triangle {
  // the first cache line suffices to reject most triangles as too far away
  _Alignas(64) double a[3];  // first corner
  double normal[3];          // unit; of triangles without area: from neighbours, or 0
  double one;                // largest u + v of feet inside: 1; -1 for triangles without area
  double ab[3], ac[3];       // vectors to the other corners
  double u[3], v[3];     // dual vectors: products with a vector from a give barycentric coordinates
  double iab, iac, ibc;  // 1 / squared lengths of the sides; 0 for sides without length
} rf_closest_triangle;

typedef struct rf_closest {
  rf_bvh bvh;                     // over the triangles
  rf_wide wide;                   // the same tree, for searches
  rf_closest_triangle *triangle;  // in the order of the tree's items
  int32_t *edge;          // edges of the sides ab, bc, ca, same order            (n_triangles, 3)
  int32_t *vertex;        // merged vertices of the corners, same order           (n_triangles, 3)
  double *edge_normal;    // not of unit length                          (n_edges, 3)
  double *vertex_normal;  //                                             (n_vertices, 3)
  int32_t n_triangles, n_edges;
} rf_closest;

// Prepares queries on a surface that has passed rf_surface_check; the surface is not needed
// afterwards.  run: polled for a stop.
RF_MUST_CHECK rf_status rf_closest_create(const rf_surface *surface, const rf_run *run,
                                          rf_closest **out, rf_error *err);
void rf_closest_free(rf_closest *c);  // NULL is allowed

typedef enum rf_feature { RF_FEATURE_FACE, RF_FEATURE_EDGE, RF_FEATURE_VERTEX } rf_feature;

typedef struct rf_closest_place {
  double distance;     // m
  double place[3];     // nearest point, m
  double normal[3];    // pseudonormal, not of unit length
  int32_t triangle;    // index in the surface
  rf_feature feature;  // part of the triangle on which the point lies
} rf_closest_place;

// Finds the nearest point; false when nothing is nearer than `bound` (INFINITY: no bound) or p is
// not finite.  Among triangles at equal distance the lowest counts.
bool rf_closest_find(const rf_closest *c, const double p[3], double bound, rf_closest_place *out);

// Finds the nearest points of many points (n, 3), in an order chosen for speed.  Without a result,
// `triangle` is -1 and `distance` the bound.
RF_MUST_CHECK rf_status rf_closest_find_all(const rf_closest *c, int64_t n, const double *points,
                                            double bound, const rf_run *run, rf_closest_place *out,
                                            rf_error *err);

// Like rf_closest_find, restricted to triangles whose normals have a product with `facing` above
// `least`; *at: position of the triangle in the order of the tree.
bool rf_closest_find_facing(const rf_closest *c, const double p[3], double bound,
                            const double facing[3], double least, int32_t *at,
                            rf_closest_place *out);

// Finds the nearest point of one triangle, given by its position in the order of the tree.
void rf_closest_of_triangle(const rf_closest *c, int32_t at, const double p[3],
                            rf_closest_place *out);

#endif
