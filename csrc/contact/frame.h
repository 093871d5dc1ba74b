// Frame of the field object in a cycle: x = R y + p takes a place y of the object to the world.
#ifndef RF_CONTACT_FRAME_H
#define RF_CONTACT_FRAME_H

#include <stdint.h>

typedef struct rf_contact_frame {
  double rotation[9];  // R, by rows
  double position[3];  // p, m
  double grasp[3];     // grasp point of the object, in the world, m
} rf_contact_frame;

// R v
static inline void rf_contact_to_world(const double m[9], const double *v, double *out) {
  for (int i = 0; i < 3; ++i) out[i] = m[3 * i] * v[0] + m[3 * i + 1] * v[1] + m[3 * i + 2] * v[2];
}

// R^T v
static inline void rf_contact_to_body(const double m[9], const double *v, double *out) {
  for (int i = 0; i < 3; ++i) out[i] = m[i] * v[0] + m[3 + i] * v[1] + m[6 + i] * v[2];
}

// Places (n, 3) in the frame of the object.
static inline void rf_contact_places(const rf_contact_frame *f, int32_t n, const double *world,
                                     double *body) {
  const double *o = f->position;
  for (int32_t k = 0; k < n; ++k) {
    const double arm[3] = {world[3 * k] - o[0], world[3 * k + 1] - o[1], world[3 * k + 2] - o[2]};
    rf_contact_to_body(f->rotation, arm, body + 3 * k);
  }
}

#endif
