// Penalty contact of a pointshell with a distance field: forces, torques and their gradients in
// bounded time (B07 3.5, 3.10).
//
// The shell is anchored in the world and may be deformed; a pose maps the frame of the field
// object to the world.  A point at x with inward normal N and distance d < 0 puts on the field
// object the force and torque about its grasp point x_g
//     F = w k d N,   T = (x - x_g) x F,                                                    (3.1)
// and -F on the shell; all of them are scaled by L / l where the weights w of the touching points
// sum to l > L.  With w = 1 (or areas over their mean) refinement then converges (3.2).
//
// Gradient of (F, T) by the motion (dx, dw) of the field object, as seen from it: the shell moves
// by -dx - dw x r and its normals turn by -dw (the mirrored motion).  With g = grad d in the world
// and m = r x N, h = g x r it is
//     sum w k (N; m) (-g; h)^T + [0 F~; F~ T~].
//
// The tree is traversed level by level; a level is finished or not begun (3.10.3), so that what
// comes out is what all points up to that level give.  Nodes are culled by the field's slack; the
// slack of a culled node is also how far the shell may travel until it must be looked at again:
// a bound on all travel, from the exact relative motion, the deformation and the growth of
// spheres, runs along in the state.  Jumps are covered, and skipping nodes changes no result.
//
// The field may be one that deforms (contact/deformed_field.h), with reduced coordinates of its
// own. A force on it then acts on its proxy nearest to the point.  Nodes are culled with its safety
// factor, which is no proof, and none is skipped, whatever the settings say: what was clear need
// not be after the field has changed.
#ifndef RF_CONTACT_PENALTY_H
#define RF_CONTACT_PENALTY_H

#include <stdbool.h>

#include "base/status.h"
#include "contact/oracle_rt.h"
#include "contact/pose.h"
#include "pointshell/tree.h"

typedef struct rf_penalty_settings {
  double stiffness_n_per_m;
  int32_t warm_nodes;  // V_W: levels rendered in the last cycle begin below so many nodes
  double cold_ratio;   // V_C / V_W: of deeper levels; of the budget likewise
  double budget_us;    // time in place of nodes; 0: nodes count
  int32_t max_points;  // L; 0: no scaling
  bool coherence;      // skip nodes that cannot have come into contact
  bool along_normal;   // g = N, as B07, in place of the gradient of the field
  double grasp_m[3];   // in the frame of the field object
} rf_penalty_settings;

typedef struct rf_penalty_result {
  double force_n[3], torque_nm[3];  // on the field object, in the world
  double gradient[36];              // of (force, torque) by (dx, dw)                  (6, 6)
  double depth_m;                   // deepest penetration; 0: none
  double microseconds;
  int32_t visited, skipped;  // nodes looked at, and those known to be clear
  int32_t touching;          // points
  int32_t level;             // deepest one rendered
} rf_penalty_result;

typedef struct rf_penalty rf_penalty;

// Borrows the tree and what the oracle refers to.  weights: of the points in the order of the
// shell, scaled here to mean 1; NULL: 1.
RF_MUST_CHECK rf_status rf_penalty_create(const rf_point_tree *tree, const rf_oracle *oracle,
                                          const rf_penalty_settings *settings,
                                          const double *weights, rf_penalty **out, rf_error *err);
void rf_penalty_free(rf_penalty *penalty);  // NULL is fine

// Forgets all earlier cycles.
void rf_penalty_reset(rf_penalty *penalty);

// Says what is wrong with a pose or with q (nullable: rest).
RF_MUST_CHECK rf_status rf_penalty_check(const rf_penalty *penalty, const rf_pose *pose,
                                         const double *q, rf_error *err);

// Where a field that deforms is from now on (rest at first, and for NULL); RF_ERR_ARG where q
// puts it nowhere, and rf_penalty_evaluate_rt then finds no contact.
RF_MUST_CHECK rf_status rf_penalty_deform_field_rt(rf_penalty *penalty, const double *field_q);

// One cycle.  `all_of` < 0: by the tree; else all points of repulsion levels <= all_of one by one,
// by the same arithmetic, which leaves no trace in the state.  reduced: on the shell (r), nullable;
// field_reduced: on the field object, nullable, and not written for one that does not deform.
RF_MUST_CHECK rf_status rf_penalty_evaluate_rt(rf_penalty *penalty, const rf_pose *pose,
                                               const double *q, int32_t all_of,
                                               rf_penalty_result *result, double *reduced,
                                               double *field_reduced);

// The touching points of the last cycle: indices in the shell, positions, distances, normals and
// scaled forces on the field object, in the order of their sum.
void rf_penalty_contacts(const rf_penalty *penalty, int32_t *point, double *positions,
                         double *distances, double *normals, double *forces);

// A trajectory: positions (n, 3), quaternions (n, 4), qs (n, r) or NULL.  The first says which of
// the cycles is refused; the second needs them to be good; results (n), reduced (n, r) or NULL;
// of a field that deforms also field_qs and field_reduced, (n, its r) or NULL.
RF_MUST_CHECK rf_status rf_penalty_check_many(const rf_penalty *penalty, int64_t n,
                                              const double *positions, const double *quaternions,
                                              const double *qs, rf_error *err);
RF_MUST_CHECK rf_status rf_penalty_evaluate_many_rt(rf_penalty *penalty, int64_t n,
                                                    const double *positions,
                                                    const double *quaternions, const double *qs,
                                                    const double *field_qs,
                                                    rf_penalty_result *results, double *reduced,
                                                    double *field_reduced);

int32_t rf_penalty_coordinates(const rf_penalty *penalty);        // r of the shell
int32_t rf_penalty_field_coordinates(const rf_penalty *penalty);  // r of the field; 0: rigid

#endif
