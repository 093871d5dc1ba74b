// Frame of the field object in a cycle: x = R y + p takes a place y of the object to the world.
#ifndef RF_CONTACT_FRAME_H
#define RF_CONTACT_FRAME_H

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

#endif
