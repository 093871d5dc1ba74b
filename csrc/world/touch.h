// Contact of two free bodies, or of one with the ground, in a step of a crowd.
//
// Side 0 carries the point tree, side 1 the field; the ground is a field without coordinates.  The
// contact is evaluated with the tree at rest (contact/contact.h), at the pose of the field seen
// from the tree.  In these axes a row of force f and axis a at x puts the wrench f w on the field's
// body about its centre g, w = (a; (x - g) x a), and on the tree's body, about its centre s,
//     -f T w,   T = (1, 0; [g - s]x, 1).
// Forces are equal and opposite, and so are torques about a common point.  Turned to the world by
// R, the coordinates of a side (motion of its centre, rotation, reduced coordinates) get the
// generalised forces and the stiffness of
//     W = (-R T w; -U^T a;  R w; U_f^T a),   K = sum c W W^T,
// positive semidefinite, from the blocks of the contact (contact/wrench.h).
//
// Vectors of a side are slots: six numbers of the rigid motion, two zeros, and the reduced
// coordinates padded to rf_dense_ld.
#ifndef RF_WORLD_TOUCH_H
#define RF_WORLD_TOUCH_H

#include <stdint.h>

#include "base/status.h"
#include "contact/contact.h"

enum { RF_SLOT_RIGID = 8 };  // numbers of a slot before the reduced coordinates

typedef struct rf_touch_side {
  int32_t body;  // -1: the ground
  int32_t r;     // reduced coordinates that contact moves; 0: rigid
  int32_t size;  // of its slot; 0: the ground
} rf_touch_side;

typedef struct rf_touch {
  rf_touch_side side[2];  // the tree's, the field's
  // results of an evaluation
  int32_t points;     // that touch
  double depth_m;     // of the deepest
  int32_t size;       // of both slots
  double *force;      // generalised forces at the beginning of the step          (size)
  double *stiffness;  // K                                                        (size, size)
  double *applied;    // generalised forces of the step                           (size)
  int32_t room;       // of the memory
} rf_touch;

// Frame of rest coordinates in the world, and the centre of mass in these coordinates.
typedef struct rf_touch_frame {
  rf_pose pose;
  double centre[3];
} rf_touch_frame;

// Memory of a worker for blocks.
typedef struct rf_touch_blocks {
  double *object, *mixed, *shell;
  int32_t object_room, mixed_room, shell_room;
} rf_touch_blocks;

RF_MUST_CHECK rf_status rf_touch_reserve(rf_touch *t, rf_error *err);
void rf_touch_free(rf_touch *t);  // its content; zero is fine
// Makes room for the blocks of two sides.
RF_MUST_CHECK rf_status rf_touch_blocks_reserve(rf_touch_blocks *b, const rf_touch *t,
                                                rf_error *err);
void rf_touch_blocks_free(rf_touch_blocks *b);  // its content; zero is fine

// Pose of the field's frame seen from the tree's.
void rf_touch_relative_rt(const rf_touch_frame *tree, const rf_touch_frame *field, rf_pose *out);
// Fills force and stiffness from a result of the contact of the two frames: reduced forces on the
// tree and the field, and blocks with a leading size of rf_dense_ld.
void rf_touch_fill_rt(rf_touch *t, const rf_touch_frame *tree, const rf_touch_frame *field,
                      const rf_contact_result *found, const double *reduced,
                      const double *field_reduced, const rf_contact_blocks *blocks);
// applied = force - factor K (ways of both sides); a way is nullable: zero.
void rf_touch_apply_rt(rf_touch *t, double factor, const double *tree_way, const double *field_way);
// applied = factor K (ways of both sides), without the part of each side's own way.
void rf_touch_couple_rt(rf_touch *t, double factor, const double *tree_way,
                        const double *field_way);

#endif
