#include "haptic/record.h"

#include <string.h>

#include "haptic/tick_state.h"

_Static_assert(sizeof(rf_tick_record) % sizeof(double) == 0, "doubles follow it");

void rf_record_layout_place(rf_record_layout *layout) {
  const size_t n = (size_t)layout->n_free;
  layout->positions_at = sizeof(rf_tick_record);
  layout->quaternions_at = layout->positions_at + n * 3 * sizeof(double);
  layout->touched_at = layout->quaternions_at + n * 4 * sizeof(double);
  layout->coordinates_at = layout->touched_at + (size_t)layout->n_touched * 6 * sizeof(double);
  layout->contacts_at = layout->coordinates_at + (size_t)layout->n_coordinates * sizeof(float);
  layout->points_at = layout->contacts_at + (size_t)layout->n_sites * sizeof(int32_t);
  layout->forces_at = layout->points_at + (size_t)layout->n_sites * sizeof(int32_t);
  layout->bytes = layout->forces_at + 3 * (size_t)layout->n_sites * sizeof(float);
}

rf_record_layout rf_record_layout_of(const rf_tick *tick) {
  const rf_world *world = tick->world;
  rf_record_layout layout;
  memset(&layout, 0, sizeof layout);
  layout.felt = rf_tick_felt_rt(tick);
  layout.n_touched = layout.felt ? 1 : 0;
  layout.world = world;
  for (int32_t k = 0; k < world->n_bodies; ++k) {
    const rf_body *body = world->body[k];
    if (body != tick->object && rf_tick_contact_of_rt(tick, body) < 0) continue;
    if (rf_body_free_body(body)) layout.free[layout.n_free++] = body;
    if (rf_body_coordinates_rt(body) == 0) continue;
    layout.deforming[layout.n_deforming++] = body;
    layout.n_coordinates += rf_body_coordinates_rt(body);
  }
  for (int32_t k = 0; k < world->n_pairs; ++k) {
    const int32_t n = rf_contact_bending_sites(world->pair[k]->contact);
    if (n > layout.n_sites) layout.n_sites = n;
  }
  rf_record_layout_place(&layout);
  return layout;
}
