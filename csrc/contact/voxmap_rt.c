#include "contact/voxmap.h"
#include "linalg/quat.h"

void rf_contact_voxmap_rt(const rf_contact_voxmap *c, const double position[3],
                          const double quaternion[4], rf_voxmap_report *report) {
  rf_voxmap_report sum = {.touching = 0};
  for (int32_t i = 0; i < c->n_points; ++i) {
    const double *world = c->points + 3 * (size_t)i, *normal = c->normals + 3 * (size_t)i;
    double arm[3], p[3], centre[3];
    rf_vec3_sub(world, position, arm);
    rf_quat_rotate_back(quaternion, arm, p);
    const rf_voxel voxel = rf_voxmap_at_rt(c->voxmap, p, centre);
    sum.inside += voxel == RF_VOXEL_INTERIOR;
    if (voxel != RF_VOXEL_SURFACE) continue;

    double out[3];
    rf_vec3_sub(centre, p, out);
    rf_quat_rotate(quaternion, out, out);
    const double depth = rf_vec3_dot(out, normal);
    if (!(depth > 0.0)) continue;
    double force[3], torque[3];
    for (int a = 0; a < 3; ++a) force[a] = -c->stiffness * depth * normal[a];
    rf_vec3_cross(arm, force, torque);
    for (int a = 0; a < 3; ++a) {
      sum.force[a] += force[a];
      sum.torque[a] += torque[a];
    }
    sum.touching += 1;
  }
  *report = sum;
}
