// A block of contact points: what the search hands to a contact law and to the sum.
//
// Blocks of 16 points stay in the first-level cache from search to sum, and amortize an indirect
// call of the law.
#ifndef RF_CONTACT_POINTS_H
#define RF_CONTACT_POINTS_H

#include <stdint.h>

#include "deform/field.h"

enum { RF_CONTACT_BLOCK = 16 };

// e . N below which a point has passed the middle of a thin part, so that the field would push it
// out on the other side, or lies on the far side of a thin wall of its own body.
#define RF_CONTACT_PASSED (-0.3)

typedef struct rf_contact_points {
  int32_t n;                              // 1 to RF_CONTACT_BLOCK
  const int32_t *place;                   // in the tree, where laws may keep a state          (n)
  const double *gap;                      // signed distance, m; < 0 unless asked for more     (n)
  double weight[RF_CONTACT_BLOCK];        // its area over the mean area, or 1  (n)
  double position[3 * RF_CONTACT_BLOCK];  // in the world, m                  (n, 3)
  double normal[3 * RF_CONTACT_BLOCK];    // inward unit normals of the shell (n, 3)
  double gradient[3 * RF_CONTACT_BLOCK];  // unit direction e in which gaps grow, in the world; a
                                          // force f < 0 along it pushes the objects apart (n, 3)
  rf_deformed_carriers carriers[RF_CONTACT_BLOCK];  // motion of a field that deforms (n)
} rf_contact_points;

#endif
