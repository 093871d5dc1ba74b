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
// A shell that deforms, x = P + U q, has on request the blocks that a solve for the motion of the
// field object and the change of q together takes (B07 4.2, end).  A point moves by U dq, so that
//     d(F, T) / dq = sum w k (N; m) (U^T g)^T + (0; [U .] x F),
// and the reduced force f = sum -U^T F on the shell, in axes that do not turn, has
//     df / d(dx, dw) = sum -w k U^T N (-g; h)^T,    df / dq = sum -w k U^T N (U^T g)^T.
// Left out is what turns normals: their change with q, and nothing else: they are exact for
// shells whose normals stay, while the same points touch.  Not symmetric unless g = N.
//
// The tree is traversed level by level; a level is finished or left out (3.10.3), so that what
// comes out is what all points up to that level give.  Nodes are culled by the field's slack; the
// slack of a culled node is also how far the shell may travel until it must be looked at again:
// a bound on all travel, from the exact relative motion, the deformation and the growth of
// spheres, runs along in the state.  Jumps are covered, and skipping nodes changes no result.
//
// Where nodes are counted a level is begun below a threshold.  In a budget of time it is left out
// when that runs out on the way; time that is left over so looks ahead: nodes that are found to be
// clear need no look in the next cycles, until the level ends in time.  Otherwise deep levels, all
// of whose nodes are due after a while of not being rendered, would look dearer than they are.
//
// The field may be one that deforms (contact/deformed_field.h), with reduced coordinates of its
// own. A force on it then acts on its proxy nearest to the point; forces are added up for each
// proxy before they are multiplied by its modes.  Nodes are culled with its safety
// factor, which is no proof, and none is skipped, whatever the settings say: what was clear need
// not be after the field has changed.
#ifndef RF_CONTACT_PENALTY_H
#define RF_CONTACT_PENALTY_H

#include <stdbool.h>

#include "base/status.h"
#include "contact/oracle_rt.h"
#include "linalg/pose.h"
#include "pointshell/tree.h"

typedef struct rf_penalty_settings {
  double stiffness_n_per_m;
  int32_t warm_nodes;  // V_W: levels rendered in the last cycle begin below so many; 0: no limit
  double cold_ratio;   // V_C / V_W: of deeper levels; of the budget likewise
  double budget_us;    // time in place of nodes; 0: nodes count
  int32_t max_points;  // L; 0: no scaling
  bool coherence;      // skip nodes that cannot have come into contact
  bool along_normal;   // g = N, as B07, in place of the gradient of the field
  bool free_normal;    // nobody asked for one of the two: see rf_penalty_suit_coupling
  double grasp_m[3];   // in the frame of the field object
} rf_penalty_settings;

typedef struct rf_penalty_result {
  double force_n[3], torque_nm[3];  // on the field object, in the world
  double gradient[36];              // of (force, torque) by (dx, dw)                  (6, 6)
  double depth_m;                   // deepest penetration; 0: none
  double clearance_m;  // how far any point can travel before one touches; 0: unknown, not asked for
  double microseconds;
  int32_t visited, skipped;  // nodes looked at, and those known to be clear on rendered levels
  int32_t touching;          // points
  int32_t level;             // deepest one rendered
} rf_penalty_result;

// Derivatives with respect to reduced coordinates of the shell, in memory of the caller with rows
// of rf_dense_ld(r), padded with zeros; all are written.
typedef struct rf_penalty_blocks {
  double *wrench_by_q;   // of (force, torque), two rows of zeros behind              (8 rows)
  double *reduced_by_x;  // of the reduced force by (dx, dw), transposed, likewise    (8 rows)
  double *reduced_by_q;  // row i: of coordinate i of that force               (rf_dense_ld(r) rows)
} rf_penalty_blocks;

typedef struct rf_penalty rf_penalty;

// Borrows the tree and what the oracle refers to.  weights: of the points in the order of the
// shell, scaled here to mean 1; NULL: 1.
RF_MUST_CHECK rf_status rf_penalty_create(const rf_point_tree *tree, const rf_oracle *oracle,
                                          const rf_penalty_settings *settings,
                                          const double *weights, rf_penalty **out, rf_error *err);
// Another one of its kind, as after a reset; it borrows what that borrows.
RF_MUST_CHECK rf_status rf_penalty_copy(const rf_penalty *penalty, rf_penalty **out, rf_error *err);
void rf_penalty_free(rf_penalty *penalty);  // NULL is fine
// For a solve for the motion of the field object: g = N unless the other was asked for.
void rf_penalty_suit_coupling(rf_penalty *penalty);

// Forgets all earlier cycles.
void rf_penalty_reset(rf_penalty *penalty);

// Says what is wrong with a pose or with q (nullable: rest).
RF_MUST_CHECK rf_status rf_penalty_check(const rf_penalty *penalty, const rf_pose *pose,
                                         const double *q, rf_error *err);

// Time of the next cycles, > 0, in place of nodes.
void rf_penalty_set_budget_rt(rf_penalty *penalty, double budget_us);

// Whether the next cycles find the clearance; at first they do not.  Nothing else depends on it.
void rf_penalty_ask_clearance_rt(rf_penalty *penalty, bool asked);

// Where a field that deforms is from now on (rest at first, and for NULL); RF_ERR_ARG where q
// puts it nowhere, and rf_penalty_evaluate_rt then finds no contact.
RF_MUST_CHECK rf_status rf_penalty_deform_field_rt(rf_penalty *penalty, const double *field_q);

// One cycle.  `all_of` < 0: by the tree; else all points of repulsion levels <= all_of one by one,
// by the same arithmetic, which leaves no trace in the state.  reduced: on the shell (r), nullable;
// field_reduced: on the field object, nullable, and not written for one that does not deform.
// blocks: nullable; of a rigid shell none are written.
RF_MUST_CHECK rf_status rf_penalty_evaluate_rt(rf_penalty *penalty, const rf_pose *pose,
                                               const double *q, int32_t all_of,
                                               rf_penalty_result *result, double *reduced,
                                               double *field_reduced,
                                               const rf_penalty_blocks *blocks);

// The touching points of the last cycle: indices in the shell, positions, distances, normals and
// scaled forces on the field object, in the order of their sum.
void rf_penalty_contacts(const rf_penalty *penalty, int32_t *point, double *positions,
                         double *distances, double *normals, double *forces);

// Says which cycle of a trajectory is refused: positions (n, 3), quaternions (n, 4), qs (n, r) or
// NULL.
RF_MUST_CHECK rf_status rf_penalty_check_many(const rf_penalty *penalty, int64_t n,
                                              const double *positions, const double *quaternions,
                                              const double *qs, rf_error *err);

int32_t rf_penalty_levels(const rf_penalty *penalty);  // of the tree
void rf_penalty_grasp(const rf_penalty *penalty, double grasp_m[3]);
int32_t rf_penalty_coordinates(const rf_penalty *penalty);        // r of the shell
int32_t rf_penalty_field_coordinates(const rf_penalty *penalty);  // r of the field; 0: rigid

#endif
