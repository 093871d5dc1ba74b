// Points on a face of an element, a triangle of 3 or 6 nodes or a quadrilateral of 4 or 8.
#ifndef RF_MESH_FACE_POINT_H
#define RF_MESH_FACE_POINT_H

#include <stdbool.h>
#include <stdint.h>

enum { RF_MOST_FACE_NODES = 8 };

// Largest distance of a point on a face, over that of its middle to a corner; also of local
// coordinates, from 0 to 1, from fractions.
#define RF_FACE_NEAR 1e-3

// Computes the weights of the nodes of a face at a point on it, with near fractions; false: p is
// not on the face, or at a corner.  reach: distance from its middle to a corner.
bool rf_face_weights(int32_t nodes, const double x[][3], const double *p, double reach,
                     double w[RF_MOST_FACE_NODES]);

typedef struct rf_face_frame {
  double middle[3], normal[3];
  double reach;  // largest distance from the middle to a corner
} rf_face_frame;

void rf_face_middle(int32_t nodes, const double x[][3], rf_face_frame *out);

// Returns true if p is at most `near` from a point of the face.
bool rf_face_holds(int32_t nodes, const double x[][3], const double *p, double near);

#endif
