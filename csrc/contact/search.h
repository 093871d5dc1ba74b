// Search for contact points: traversal of the nested point-tree (pointshell/tree.h) against a
// distance query, level by level (B07 3.7, 3.10).
//
// A level is finished or left out, as the clock policy decides (contact/budget.h), so that the
// result is that of all points up to some level.  A node is culled where its sphere is clear of the
// field: its slack is positive.  With `recalls`, points that touched in the last cycle are searched
// on levels left out, too: one that bore a force and is lost for a cycle has moved in when it is
// found again, and closing its gap would add energy.
//
// Temporal coherence.  The slack of a culled node is also how far the shell may travel, seen from
// the field object, before the node must be visited again.  A bound on all travel so far runs along
// in the state: the exact relative motion, the deformation of the shell, and the growth of spheres.
// Jumps are covered, and skipping nodes changes no result.  Margins for rounding are thousands of
// roundings, relative to the size of the scene.  A field that deforms gives no bounds: none of its
// nodes is skipped.
//
// Direction e of a contact point: the unit vector g along grad d, in grids by differences over a
// spacing (rf_field_slopes_rt), continuous from cell to cell.  Deep in thin parts g may point
// through the surface on the other side: below g . N = 0.3, N the point's inward normal, e turns to
// N, which it is at -0.3.  With `along_normal` e = N everywhere, as B07 (3.1); with `conservative`
// e = g, so that forces are the derivatives of an energy.
#ifndef RF_CONTACT_SEARCH_H
#define RF_CONTACT_SEARCH_H

#include <stdbool.h>

#include "base/status.h"
#include "contact/budget.h"
#include "contact/distance.h"
#include "contact/frame.h"
#include "contact/points.h"
#include "linalg/pose.h"
#include "pointshell/tree.h"

enum { RF_CONTACT_RECALLED = 64 };  // points, at most

// A node of the level above that was not clear, again on this level; its force is counted there.
typedef struct rf_contact_revisit {
  int32_t place;
  double distance;
} rf_contact_revisit;

typedef struct rf_contact_search {
  // settings
  const rf_point_tree *tree;
  rf_contact_distance distance;
  bool coherence;          // skip nodes that cannot have come into contact
  bool along_normal;       // e = N
  bool conservative;       // e = g
  bool asks_clearance;     // compute `clearance_m`; changes no other result
  bool recalls;            // points that touched in the last cycle are searched on any level
  double alarm;            // m: points nearer than this count as touching
  double *weight;          // by place; NULL: 1                                          (n_points)
  rf_deformed_pose *pose;  // of a field that deforms, owned; else NULL
  double *field_rest;      // zeros                                                (r of the field)

  // this cycle
  rf_contact_frame frame;
  double *row, *bound;  // q and (1, |q|), padded                                  (row), (bound)
  double margin;        // m, above any rounding of a place or a radius

  // coherence: the last cycle, and since the first one the largest travel of any point plus growth
  // of any sphere of a level, and the travel at which a node must be visited again
  bool begun;
  double last_rotation[9], last_position[3], last_margin, last_alarm;
  double *last_row;                   //                                                     (row)
  double travel[RF_TREE_MAX_LEVELS];  // m
  double *due;                        // m                                        (node[n_levels])

  // queues: nodes of this level and of the next
  rf_contact_revisit *copies[2];
  int32_t *fresh[2];
  int32_t n_copies, n_fresh;  // of the queue that is being filled

  // points that touched in the last cycle, and their distances in this one
  int32_t n_recalled;
  int32_t recalled_place[RF_CONTACT_RECALLED];
  double recalled_distance[RF_CONTACT_RECALLED];

  // results of the last cycle
  int32_t touching;        // points nearer than `alarm`
  int32_t *touch_place;    //                                                           (n_points)
  double *touch_distance;  // m                                                         (n_points)
  int32_t visited;         // nodes
  int32_t skipped;         // nodes known to be clear, on rendered levels
  int32_t level;           // deepest one rendered
  double clearance_m;      // travel of any point before one touches; 0: unknown, not asked for
  double clearance;        // the same, of the nodes visited so far
} rf_contact_search;

// Allocates for a tree and a distance query, which are borrowed, in a search that is zero.  weights
// (n_points): in the order of the shell, scaled here to mean 1; NULL: 1.
RF_MUST_CHECK rf_status rf_contact_search_create(rf_contact_search *s, const rf_point_tree *tree,
                                                 const rf_contact_distance *distance,
                                                 const double *weights, rf_error *err);
void rf_contact_search_free(rf_contact_search *s);  // its content; zero is fine
// Forgets all earlier cycles.
void rf_contact_search_reset(rf_contact_search *s);

// Deforms the field from now on (NULL: rest).  RF_ERR_ARG if field_q gives no finite places, or is
// given to a field that does not deform.
RF_MUST_CHECK rf_status rf_contact_search_deform_rt(rf_contact_search *s, const double *field_q);

// Begins a cycle at a pose of the field object and coordinates q of the shell (NULL: rest);
// grasp_m: in the frame of the object.  Returns false for an unusable pose or q.
bool rf_contact_search_place_rt(rf_contact_search *s, const rf_pose *pose, const double grasp_m[3],
                                const double *q);
// Adds the motion since the last cycle to the travel.
void rf_contact_search_travel_rt(rf_contact_search *s);

// Finds the touching points by the tree, within a budget.
void rf_contact_search_tree_rt(rf_contact_search *s, rf_contact_budget *b);
// Finds them among all points of levels <= level, one by one, by the same arithmetic; changes
// neither the budget nor the state that coherence needs.
void rf_contact_search_all_rt(rf_contact_search *s, int32_t level);

// Positions of points at some places, in the world and in the frame of the field object (n, 3).
void rf_contact_search_locate_rt(const rf_contact_search *s, int32_t n, const int32_t *place,
                                 double *world, double *body);
// Fills a block with the touching points from number `first` on.
void rf_contact_search_points_rt(const rf_contact_search *s, int32_t first,
                                 rf_contact_points *points);
// Fills a block with n points at some places, moved as by the next function.
void rf_contact_search_some_rt(const rf_contact_search *s, int32_t n, const int32_t *place,
                               const double *way, double *gap, rf_contact_points *points);
// Moves the points of a block by displacements (n, 3), and finds gaps (n), which the block borrows,
// directions and carriers at the new places.
void rf_contact_search_shift_rt(const rf_contact_search *s, const double *way, double *gap,
                                rf_contact_points *points);
// Gaps (n) and directions (n, 3) of points with inward normals (n, 3) at other places (n, 3), n at
// most RF_CONTACT_BLOCK; without `along_normal`.
void rf_contact_search_ahead_rt(const rf_contact_search *s, int32_t n, const double *position,
                                const double *normal, double *gap, double *gradient);

#endif
