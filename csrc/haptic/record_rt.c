#include <string.h>

#include "haptic/record.h"

// Writes the forces that bend shells.
static void put_sites(const rf_record_layout *layout, char *out) {
  const rf_world *world = layout->world;
  int32_t *contact = (int32_t *)(void *)(out + layout->contacts_at);
  int32_t *point = (int32_t *)(void *)(out + layout->points_at), n = 0;
  float *force = (float *)(void *)(out + layout->forces_at);
  for (int32_t k = 0; k < world->n_pairs; ++k) {
    const int32_t more = rf_contact_bending_rt(world->pair[k]->contact, layout->n_sites - n,
                                               point + n, force + 3 * (size_t)n);
    for (int32_t i = n; i < n + more; ++i) contact[i] = k;
    n += more;
  }
  memset(force + 3 * (size_t)n, 0, 3 * (size_t)(layout->n_sites - n) * sizeof *force);
  for (; n < layout->n_sites; ++n) contact[n] = point[n] = -1;
}

void rf_record_take_rt(const rf_record_layout *layout, const rf_tick_record *record, char *out) {
  char *position = out + layout->positions_at, *quaternion = out + layout->quaternions_at;
  float *q = (float *)(void *)(out + layout->coordinates_at);
  memcpy(out, record, sizeof *record);
  if (layout->felt) {
    char *anchor = out + layout->touched_at;
    memcpy(anchor, layout->felt->anchor_m, sizeof layout->felt->anchor_m);
    memcpy(anchor + sizeof layout->felt->anchor_m, layout->felt->slip_m,
           sizeof layout->felt->slip_m);
  }
  for (int32_t k = 0; k < layout->n_free; ++k) {
    const rf_pose *pose = &layout->free[k]->pose;
    memcpy(position + (size_t)k * sizeof pose->position_m, pose->position_m,
           sizeof pose->position_m);
    memcpy(quaternion + (size_t)k * sizeof pose->quaternion, pose->quaternion,
           sizeof pose->quaternion);
  }
  for (int32_t k = 0; k < layout->n_deforming; ++k) {
    const rf_motion *motion = layout->deforming[k]->motion;
    for (int32_t i = 0; i < motion->n; ++i) q[i] = (float)motion->q[i];
    q += motion->n;
  }
  if (layout->n_sites > 0) put_sites(layout, out);
}
