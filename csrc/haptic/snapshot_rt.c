#include "haptic/snapshot.h"

#include <string.h>

#include "haptic/tick_state.h"

enum { BLOCK = RF_CONTACT_BLOCK, MOST_BLOCKS = RF_SNAPSHOT_POINTS / BLOCK };

static char *put(char *to, const void *from, size_t bytes) {
  memcpy(to, from, bytes);
  return to + bytes;
}

// In the order of the layout.
static char *put_body(char *to, const rf_body *body) {
  to = put(to, body->pose.position_m, sizeof body->pose.position_m);
  to = put(to, body->pose.quaternion, sizeof body->pose.quaternion);
  to = put(to, body->wrench, sizeof body->wrench);
  if (!body->motion) return to;
  return put(to, body->motion->q, (size_t)body->motion->n * sizeof *body->motion->q);
}

static char *put_touch(char *to, const rf_tick *tick) {
  const rf_touch *touch = tick->touch;
  to = put(to, tick->felt.anchor_m, sizeof tick->felt.anchor_m);
  to = put(to, tick->felt.slip_m, sizeof tick->felt.slip_m);
  if (touch->coordinates == 0) return to;
  touch->kind->publish_rt(touch->self, (double *)(void *)to);
  return to + (size_t)touch->coordinates * sizeof(double);
}

// Copies touching points of a pair, of at most `most` blocks; returns how many.
static int32_t put_points(rf_contact_touch *to, const rf_pair *pair, int32_t k, int32_t most) {
  const int32_t blocks = (pair->found.touching + BLOCK - 1) / BLOCK;
  const int32_t taken = blocks < most ? blocks : most;
  int32_t n = 0;
  for (int32_t i = 0; i < taken; ++i) {
    const int32_t block = (int32_t)((int64_t)i * blocks / taken);
    const int32_t more = rf_pair_touches_rt(pair, BLOCK * block, to + n);
    for (int32_t j = 0; j < more; ++j) to[n + j].pair = k;
    n += more;
  }
  return n;
}

size_t rf_snapshot_take_rt(const rf_snapshot_layout *layout, const rf_tick *tick,
                           const rf_tick_record *record, bool with_points, char *out) {
  const rf_world *world = tick->world;
  int64_t n = 0;
  char *to = put(out, record, sizeof *record);
  for (int32_t k = 0; k < world->n_bodies; ++k) {
    const rf_body *body = world->body[k];
    if (body == tick->object || rf_tick_contact_of_rt(tick, body) >= 0) to = put_body(to, body);
  }
  if (tick->touch) to = put_touch(to, tick);
  rf_contact_touch *points = (rf_contact_touch *)(void *)(to + sizeof n);
  for (int32_t k = 0; with_points && k < world->n_pairs; ++k)
    n += put_points(points + n, world->pair[k], k, MOST_BLOCKS / world->n_pairs);
  memcpy(out + layout->n_points_at, &n, sizeof n);
  return layout->n_points_at + sizeof n + (size_t)n * sizeof *points;
}
