// Inside of a penalty contact; for penalty.c and penalty_rt.c only.
#ifndef RF_CONTACT_PENALTY_STATE_H
#define RF_CONTACT_PENALTY_STATE_H

#include "contact/penalty.h"

// nodes of a step, points of a sum, and what is between two looks at the clock, which costs as much
// as one of them
enum { BLOCK = 16, LAP = 4 * BLOCK };

// A node of the level above that was not clear, again on this level; its force is counted there.
typedef struct rf_node_copy {
  int32_t place;
  double distance;
} rf_node_copy;

struct rf_penalty {
  const rf_point_tree *tree;
  rf_contact_distance distance;
  rf_penalty_settings set;
  double *weight;     // by place; NULL: 1                                           (n_points)
  double *stiffness;  // by place, where each has its own                            (n_points)
  bool each;          // each point has its own stiffness

  // this cycle; x = R y + p takes y of the field object to the world
  double rotation[9], position[3], grasp[3];
  double *row, *bound;  // q and (1, |q|), padded                                    (row), (bound)
  double margin;        // m, more than any rounding of a place or a radius

  // the cycle before
  bool begun;
  int32_t last_level;
  double last_rotation[9], last_position[3], last_margin;
  double *last_row;            //                                                              (row)
  double node_us, contact_us;  // running estimates of costs

  // the time of this cycle
  bool timed;                // whether that counts
  double start_us, look_us;  // when it began, and the last look at the clock
  double effort;             // what has been done since then, in nodes
  double grace_us;           // of a pause of the machine that has made it late

  // Travel so far of any point, and growth of any sphere of a level, in sum; and the travel at
  // which a node must be looked at again.
  double travel[RF_TREE_MAX_LEVELS];
  double *due;  //                                                          (node[n_levels])

  // nodes of this level and of the next
  rf_node_copy *copies[2];
  int32_t *fresh[2];
  int32_t n_copies, n_fresh;  // of the list that is being filled

  bool asks_clearance;
  double clearance;  // what any point may travel until it touches, of the nodes looked at; 0: none
  int32_t touching;
  int32_t *touch_place;    //                                                        (n_points)
  double *touch_distance;  // m                                                      (n_points)
  double scale;            // L / l of the last cycle
  double *reduced;         // sum over the touching points                           (row)
  // W and w k W of some points, for the blocks: of the object, of the shell
  //                                                      (BLOCK, object_row), (BLOCK, row)
  double *object, *object_pushed, *shell, *shell_pushed;
  int32_t object_row;  // rf_dense_ld(6 + r of the field)

  // of a field that deforms
  rf_deformed_pose *pose;  // owned; NULL: it does not
  double *field_rest;  // zeros                                                  (r of the field)
  // forces on it and their moments, sums over the touching points, seen from it   (n_proxies, 12)
  double *moments;
  double *field_reduced;  // sum over the touching points                           (r of the field)
};

static inline double rf_penalty_stiffness_rt(const rf_penalty *p, int32_t place) {
  const double k = p->each ? p->stiffness[place] : p->set.stiffness_n_per_m;
  return p->weight ? p->weight[place] * k : k;
}

// Directions of the forces at up to BLOCK points, in the world; carriers: of each, of a field that
// deforms.
void rf_penalty_directions_rt(const rf_penalty *p, int32_t n, const double *body,
                              const double *normal, double *direction,
                              rf_deformed_carriers *carriers);
// Positions of points at some places, in the world and seen from the field object.
void rf_penalty_locate_rt(const rf_penalty *p, int32_t n, const int32_t *place, double *world,
                          double *body);

#endif
