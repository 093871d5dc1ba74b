// A pair of bodies that may touch: one carries the point tree of a contact, the other its field.
//
// Both sides are alike.  Each gets a wrench about its reference point, opposite to the other's, and
// a reduced force if contact moves its coordinates.  A body may carry the tree in one pair and the
// field in another; two bodies with trees and fields make two pairs.
//
// A contact is evaluated with its tree at rest in the world (contact/contact.h).  A pair evaluates
// it at the pose of the field's body seen from the tree's, and turns the results to the world;
// where the tree's frame is the world, nothing is multiplied and the bits are those of the contact.
#ifndef RF_WORLD_PAIR_H
#define RF_WORLD_PAIR_H

#include <stdbool.h>

#include "base/status.h"
#include "body/body.h"
#include "contact/contact.h"

typedef enum rf_pair_role { RF_PAIR_TREE, RF_PAIR_FIELD } rf_pair_role;

// Blocks of stiffness that an evaluation fills.
typedef enum rf_pair_blocks {
  RF_PAIR_NONE,
  RF_PAIR_OWN,   // of each implicit body alone
  RF_PAIR_JOINT  // of all coordinates together, for a solver of the whole pair
} rf_pair_blocks;

typedef struct rf_pair_side {
  rf_body *body;     // borrowed
  double wrench[6];  // N, N m: on the body about its reference point, in the world
  double *reduced;   // reduced force; NULL: contact has no coordinates there   (r)
} rf_pair_side;

typedef struct rf_pair {
  rf_contact *contact;       // borrowed
  rf_pair_side side[2];      // by role
  bool deforms;              // deforms its field before each search
  bool has_blocks;           // any block is filled
  bool dimpled;              // the last step has bent the shell by its local compliance
  double dimpled_m;          // deepest penetration with that
  rf_contact_blocks blocks;  // -c W W^T (contact/wrench.h), in the axes of the world; owned
  rf_contact_result found;   // of the last evaluation; force, torque and gradient are those of the
                             // field's body, in the world
} rf_pair;

// Pairs two bodies by a contact, all borrowed.  The contact's grasp point must be the reference
// point of the field's body, and its coordinates those of the bodies' motions.
RF_MUST_CHECK rf_status rf_pair_create(rf_contact *contact, rf_body *tree, rf_body *field,
                                       rf_pair **out, rf_error *err);
void rf_pair_free(rf_pair *pair);  // NULL is fine
// Makes room for blocks, before the first evaluation.
RF_MUST_CHECK rf_status rf_pair_ask(rf_pair *pair, rf_pair_blocks blocks, rf_error *err);

// Evaluates contact at the present state of both bodies.  RF_ERR_ARG: a pose or coordinates are not
// usable; the results are then those before.
RF_MUST_CHECK rf_status rf_pair_search_rt(rf_pair *pair);
// Adds the results to the loads of both bodies.
void rf_pair_load_rt(const rf_pair *pair);
// Derivative of a side's wrench by the motion of its own body: of the reference point and the
// rotation, in the world; negative semidefinite.
void rf_pair_gradient_rt(const rf_pair *pair, rf_pair_role role, double out[36]);

// True if the pair has a free body and not the held one: its contact does not act on the held
// object.
bool rf_pair_without_held_rt(const rf_pair *pair);

// Copies touching points as rf_contact_touches_rt, in the world.
int32_t rf_pair_touches_rt(const rf_pair *pair, int32_t first, rf_contact_touch *out);

#endif
