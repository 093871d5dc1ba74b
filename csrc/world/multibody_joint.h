// Preconditioner of the solve for the forces of all contacts (multibody_solve.h) that couples
// bodies and dimples that touch.
//
// Blocks of single nodes leave out that the forces between two soft surfaces are the same, and
// conjugate gradients then take hundreds of iterations where one slides on the other.  With H of
// the nodes without contact, block by block, and B the rows of pair_springs.h,
//     P^-1 = (H + B^T B)^-1 = H^-1 - H^-1 B^T (1 + B H^-1 B^T)^-1 B H^-1,
// which is the inverse of Newton's matrix itself as long as the same points push and slip.  Its
// dense factor grows with all points, so that it serves steps with few rows only,
// more than half of them on dimples.
#ifndef RF_WORLD_MULTIBODY_JOINT_H
#define RF_WORLD_MULTIBODY_JOINT_H

#include "world/multibody_node.h"
#include "world/pair_springs.h"

enum { RF_MULTIBODY_JOINT_MOST = 512 };  // rows

typedef struct rf_multibody_joint {
  bool on;                 // in this step; if not, nodes have blocks of their own
  int32_t n;               // rows
  int32_t *first;          // of each pair                                        (n_pairs + 1)
  rf_pair_spring *spring;  //                                                     (n)
  double *factor;          // of 1 + B H^-1 B^T                                   (ld, ld) of n
  double *weight;          //                                                     (ld of n)
  int32_t room, pair_room;
} rf_multibody_joint;

// Bodies and pairs in contact in a step, borrowed.
typedef struct rf_multibody_touching {
  int32_t n_nodes, n_pairs;
  rf_multibody_node **nodes;   // (n_nodes)
  rf_pair_rows **pairs;        // (n_pairs)
  rf_multibody_node *all;      // by body
  rf_multibody_node *dimples;  // of all bodies with one, and of fixed shells
} rf_multibody_touching;

// Chooses if it serves a step, and makes room.
RF_MUST_CHECK rf_status rf_multibody_joint_reserve(rf_multibody_joint *j,
                                                   const rf_multibody_touching *of, rf_error *err);
void rf_multibody_joint_free(rf_multibody_joint *j);  // its content; zero is fine

// Factors the matrix of the forces of the last choice; nodes have begun without pairs.  Overwrites
// `moved` and `product` of nodes.  False: it is not positive.
bool rf_multibody_joint_renew_rt(rf_multibody_joint *j, const rf_multibody_touching *of,
                                 double contact_damping, bool secant);
// `corrected` of all nodes, H^-1 r, becomes P^-1 r, and `product` H P^-1 r.
void rf_multibody_joint_correct_rt(rf_multibody_joint *j, const rf_multibody_touching *of);

#endif
