// Forces of the Voxmap-PointShell method between a shell of points and a voxmap (McNeely,
// Puterbaugh, Troy 1999; B07 3.1): every point, every time.
//
// A point p with the inward unit normal N, in a surface voxel of centre c, is beyond the plane
// through c normal to N by  depth = max(0, (c - p) . N).  The force on the voxmap is -k depth N, on
// the shell the opposite.  Plane and force jump from voxel to voxel.  Points in interior voxels
// have no force: it vanishes beyond the layer of surface voxels.  Points in proximity voxels have
// none either: the paper's brake on fast points needs velocities and is left out.
#ifndef RF_CONTACT_VOXMAP_H
#define RF_CONTACT_VOXMAP_H

#include "sdf/voxmap.h"

typedef struct rf_contact_voxmap {
  const rf_voxmap *voxmap;  // borrowed
  int32_t n_points;
  double *points;    // m, in the world                  (n_points, 3)
  double *normals;   // inward unit vectors              (n_points, 3)
  double stiffness;  // k of one point, N/m
} rf_contact_voxmap;

// Copies and checks the points.
RF_MUST_CHECK rf_status rf_contact_voxmap_create(const rf_voxmap *voxmap, int32_t n_points,
                                                 const double *points, const double *normals,
                                                 double stiffness, rf_contact_voxmap **out,
                                                 rf_error *err);
void rf_contact_voxmap_free(rf_contact_voxmap *contact);  // NULL is fine

typedef struct rf_voxmap_report {
  double force[3];   // on the voxmap, in the world, N
  double torque[3];  // about `position`, N m
  int32_t touching;  // points with a force
  int32_t inside;    // points in interior voxels, without a force
} rf_voxmap_report;

// At a pose of the voxmap: places x of its own frame are at position + R x in the world, R the
// rotation of the unit quaternion (w, x, y, z).
void rf_contact_voxmap_rt(const rf_contact_voxmap *contact, const double position[3],
                          const double quaternion[4], rf_voxmap_report *report);

#endif
