#include "haptic/snapshot.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "haptic/tick_state.h"

#define IN_RECORD(member, format) \
  {"record." #member, format, offsetof(rf_tick_record, member), 0, 1}
static const rf_snapshot_field RECORD[] = {
    IN_RECORD(tick, "<i8"),
    IN_RECORD(time_s, "<f8"),
    IN_RECORD(late_us, "<f8"),
    IN_RECORD(compute_us, "<f8"),
    IN_RECORD(processor_us, "<f8"),
    IN_RECORD(device_us, "<f8"),
    IN_RECORD(contact_us, "<f8"),
    IN_RECORD(coupling_us, "<f8"),
    IN_RECORD(deform_us, "<f8"),
    IN_RECORD(publish_us, "<f8"),
    IN_RECORD(device_position, "(3,)<f8"),
    IN_RECORD(device_quaternion, "(4,)<f8"),
    IN_RECORD(hand_position, "(3,)<f8"),
    IN_RECORD(hand_quaternion, "(4,)<f8"),
    IN_RECORD(object_position, "(3,)<f8"),
    IN_RECORD(object_quaternion, "(4,)<f8"),
    IN_RECORD(contact_force, "(3,)<f8"),
    IN_RECORD(contact_torque, "(3,)<f8"),
    IN_RECORD(force, "(3,)<f8"),
    IN_RECORD(torque, "(3,)<f8"),
    IN_RECORD(depth_m, "<f8"),
    IN_RECORD(share, "<f8"),
    IN_RECORD(energy_j, "<f8"),
    IN_RECORD(visited, "<i4"),
    IN_RECORD(touching, "<i4"),
    IN_RECORD(level, "<i4"),
    IN_RECORD(rank, "<i4"),
    IN_RECORD(buttons, "<u4"),
    IN_RECORD(flags, "<u4"),
};

#define IN_POINTS(member, format)                                                           \
  {"points." #member, format, offsetof(rf_contact_touch, member), sizeof(rf_contact_touch), \
   RF_SNAPSHOT_POINTS}
static const rf_snapshot_field POINTS[] = {
    IN_POINTS(pair, "<i4"),         IN_POINTS(point, "<i4"),      IN_POINTS(gap_m, "<f8"),
    IN_POINTS(position, "(3,)<f8"), IN_POINTS(normal, "(3,)<f8"), IN_POINTS(force, "(3,)<f8"),
};

enum {
  OF_RECORD = sizeof RECORD / sizeof *RECORD,
  OF_POINTS = sizeof POINTS / sizeof *POINTS,
  OF_BODY = 4,
  OF_TOUCH = 3
};

_Static_assert(RF_SNAPSHOT_POINTS / RF_CONTACT_BLOCK >= RF_TICK_MOST_CONTACTS, "a block a pair");

const rf_snapshot_field *rf_snapshot_record(int32_t *n) {
  *n = OF_RECORD;
  return RECORD;
}

// Appends a field of n doubles.
static void add(rf_snapshot_layout *out, const char *body, const char *part, int32_t n) {
  rf_snapshot_field *f = out->field + out->n++;
  (void)snprintf(f->name, sizeof f->name, "%s.%s", body, part);
  (void)snprintf(f->format, sizeof f->format, "(%d,)<f8", (int)n);
  f->offset = out->bytes;
  f->count = 1;
  out->bytes += (size_t)n * sizeof(double);
}

// In the order of rf_snapshot_take_rt.
static void add_body(rf_snapshot_layout *out, const rf_tick *tick, const rf_body *body) {
  char name[RF_SNAPSHOT_NAME / 2] = "object";
  const int32_t k = rf_tick_contact_of_rt(tick, body);
  if (body != tick->object && k < 0) return;
  if (body != tick->object) (void)snprintf(name, sizeof name, "shell %d", (int)k);
  add(out, name, "position", 3);
  add(out, name, "quaternion", 4);
  add(out, name, "wrench", 6);
  add(out, name, "q", rf_body_coordinates_rt(body));
}

rf_status rf_snapshot_layout_create(const rf_tick *tick, rf_snapshot_layout *out, rf_error *err) {
  const rf_world *world = tick->world;
  rf_status st = RF_OK;
  memset(out, 0, sizeof *out);
  RF_ALLOC(out->field, OF_RECORD + OF_BODY * (size_t)world->n_bodies + OF_TOUCH + 1 + OF_POINTS);
  memcpy(out->field, RECORD, sizeof RECORD);
  out->n = OF_RECORD;
  out->bytes = sizeof(rf_tick_record);
  for (int32_t k = 0; k < world->n_bodies; ++k) add_body(out, tick, world->body[k]);
  if (tick->touch) {
    add(out, "touch", "anchor", 3);
    add(out, "touch", "slip", 3);
    add(out, "touch", "coordinates", tick->touch->coordinates);
  }
  out->n_points_at = out->bytes;
  out->field[out->n++] = (rf_snapshot_field){"n_points", "<i8", out->bytes, 0, 1};
  out->bytes += sizeof(int64_t);
  for (int32_t k = 0; k < OF_POINTS; ++k) {
    out->field[out->n] = POINTS[k];
    out->field[out->n++].offset += out->bytes;
  }
  out->bytes += RF_SNAPSHOT_POINTS * sizeof(rf_contact_touch);
done:
  return st;
}

void rf_snapshot_layout_free(rf_snapshot_layout *layout) { rf_free(layout->field); }
