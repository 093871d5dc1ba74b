// Tables of the contact of a tip: surface, discs and their compliances; made once, then constant.
#ifndef RF_TOUCH_PROXY_TABLES_H
#define RF_TOUCH_PROXY_TABLES_H

#include "mesh/edges.h"
#include "touch/proxy.h"

// Cosine of the largest angle between triangles whose common vertex has one normal: 40 degrees.
#define RF_TIP_SMOOTH 0.766

enum { RF_TIP_SYMMETRIC = 6 };  // numbers of a symmetric block: xx, yy, zz, yz, xz, xy

// A grid of boxes that list the triangles whose own boxes they overlap.
typedef struct rf_tip_grid {
  double low[3], side_m;
  int32_t n[3];
  int64_t *first;     // (n[0] n[1] n[2] + 1)
  int32_t *triangle;  // (first[last])
} rf_tip_grid;

typedef struct rf_tip_tables {
  const rf_green *green;
  int32_t n_vertices, n_triangles;
  int32_t *place;         // of each vertex in the Green's functions, -1: held (n_vertices)
  double *vertex;         // m                                                  (n_vertices, 3)
  rf_edges edges;         // corners are merged vertices
  int32_t *fan_first;     // range of the triangles at each vertex, in `fan`    (n_vertices + 1)
  int32_t *fan;           //                                                    (3 n_triangles)
  double *face_normal;    // unit                                               (n_triangles, 3)
  double *corner_normal;  // unit; of the smooth part of the surface there      (n_triangles, 3, 3)
  double *pseudonormal;   // at vertices, weighted by angles                    (n_vertices, 3)
  rf_tip_grid grid;
  double size_m;  // longest side of the box
  // discs about vertices, then about the middles of edges
  int32_t n_discs;
  int64_t *disc_first;  // range of each disc in the next two                  (n_discs + 1)
  int32_t *disc_place;  // places in the Green's functions
  double *disc_share;   // of the force; without the held part
  double *held;         // held part of each disc                              (n_discs)
  double *own;          // its compliance; B of rf_tip_interpolate  (n_discs, RF_TIP_SYMMETRIC)
  double hardness;      // added compliance of a held disc, m/N
  double radius_m;
  bool borrows;  // all but places and discs, of tables that outlive these
} rf_tip_tables;

RF_MUST_CHECK rf_status rf_tip_tables_create(const rf_tip_settings *set, const rf_run *run,
                                             rf_tip_tables **out, rf_error *err);
// Creates those of the same surface after a release of supports, from those before it, `from`;
// borrows from the first ones.
RF_MUST_CHECK rf_status rf_tip_tables_again(const rf_tip_tables *from, const rf_green *green,
                                            const double *position, const rf_run *run,
                                            rf_tip_tables **out, rf_error *err);
void rf_tip_tables_free(rf_tip_tables *t);  // NULL is fine

// Fills discs and compliances of tables whose surface is complete; `place` of each vertex, -1:
// held.  A hardness that is there is kept.  `before`: tables with more supports, nullable.
RF_MUST_CHECK rf_status rf_tip_discs_fill(rf_tip_tables *t, const rf_tip_tables *before,
                                          const rf_run *run, rf_error *err);
// Turns compliances of discs into the coefficients of functions over the triangles, which are
// definite and nowhere less than those before (proxy_interpolation.c).
RF_MUST_CHECK rf_status rf_tip_interpolate(rf_tip_tables *t, const rf_tip_tables *before,
                                           rf_error *err);
// Integrates the linear functions of the corners of a triangle over its part within a radius of a
// point, m^2.
void rf_tip_disc_part(const double *const corner[3], const double normal[3], const double centre[3],
                      double radius_m, double integral[3]);

// A place on the surface.
typedef struct rf_tip_place {
  int32_t triangle;
  double weight[3];
  double position[3];
  double square;    // squared distance of the point from it
  int32_t feature;  // on the boundary of the triangle: 3 + k: corner k; k: side k; -1: inside
} rf_tip_place;

void rf_tip_on_triangle_rt(const rf_tip_tables *t, int32_t triangle, const double point[3],
                           rf_tip_place *out);
// Walks from place->triangle over the surface to the place next to a point, in bounded steps.
void rf_tip_walk_rt(const rf_tip_tables *t, const double point[3], rf_tip_place *place);
// Finds the place next to a point within a side of the grid; false: there is none.
bool rf_tip_near_rt(const rf_tip_tables *t, const double point[3], rf_tip_place *out);
// Improves `best` by the triangles from `begin` to `end`.
void rf_tip_scan_rt(const rf_tip_tables *t, const double point[3], int32_t begin, int32_t end,
                    rf_tip_place *best);
// Unit normal of the smooth part of the surface at a place.
void rf_tip_normal_rt(const rf_tip_tables *t, const rf_tip_place *place, double normal[3]);
// Pseudonormal at a place: not of unit length.
void rf_tip_outward_rt(const rf_tip_tables *t, const rf_tip_place *place, double normal[3]);

// Discs whose quadratic interpolation is the disc about a point of a triangle, and their weights.
void rf_tip_discs_at_rt(const rf_tip_tables *t, int32_t triangle, const double weight[3],
                        int32_t disc[6], double part[6]);
// Compliance of the disc about a point of a triangle, m/N.
void rf_tip_compliance_of_rt(const rf_tip_tables *t, int32_t triangle, const double weight[3],
                             double compliance[9]);

#endif
