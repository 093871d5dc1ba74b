// Penalty contact of a pointshell with a distance field: forces, torques and their gradients in
// bounded time (B07 3.5, 3.10).
//
// The shell is anchored in the world and may be deformed; a pose maps the frame of the field
// object to the world.  A point at x with distance d < 0 puts on the field object the force and
// torque about its grasp point x_g
//     F = w k d e,   T = (x - x_g) x F,
// and -F on the shell; all of them are scaled by L / l where the weights w of the touching points
// sum to l > L.  With w = 1 (or areas over their mean) refinement then converges (3.2).
//
// The direction e is the field's: the unit vector g along grad d, in grids by differences over a
// spacing (rf_field_slopes_rt), so that it does not jump from cell to cell.  The force has then,
// but for the resolution of grids, the potential w k d^2 / 2.  Deep in thin parts g may point
// through the surface on the other side: below g . N = 0.3, N the point's inward normal, e turns to
// N, which it is at -0.3.  With `along_normal` e = N everywhere, as B07 (3.1): that has no
// potential.
//
// Derivatives are those of forces whose directions and lines of action stay.  The distance changes
// with the motion (dx, dw) of the field object about x_g, the coordinates q_f of one that deforms,
// and q of a shell that does, x = P + U q, by -W . (dx, dw, dq_f, dq),
//     W = (e; (x - x_g) x e; U_f^T e; -U^T e),
// U_f the motion that the proxies near x say the object has there (rf_deformed_carriers); along
// normals that of the nearest proxy alone, as B07.  All generalised forces together are sum w k d
// W, and their derivative is -sum w k W W^T: symmetric, and it resists in every direction.  Left
// out are terms in d: the curvature of the field and of the motion.  In fixed axes.
//
// The tree is traversed level by level; a level is finished or left out (3.10.3), so that what
// comes out is what all points up to that level give.  Nodes are culled by the field's slack; the
// slack of a culled node is also how far the shell may travel until it must be looked at again:
// a bound on all travel, from the exact relative motion, the deformation and the growth of
// spheres, runs along in the state.  Jumps are covered, and skipping nodes changes no result.
//
// A limit of nodes decides before a level is begun.  A budget of time drops a level when it runs
// out; the time spent is an investment: nodes found to be clear are skipped in the next cycles,
// until the level ends in time.  Otherwise deep levels, all of whose nodes are due after a while
// without being rendered, would appear to cost more than they do.
//
// The field may be one that deforms (deform/field.h), with reduced coordinates of its
// own.  Forces on it are added up for each proxy, with their moments, before they are multiplied by
// its modes.  Nodes are culled with its safety factor, which is no proof, and none is skipped,
// whatever the settings say: what was clear need not be after the field has changed.
#ifndef RF_CONTACT_PENALTY_H
#define RF_CONTACT_PENALTY_H

#include <stdbool.h>

#include "base/status.h"
#include "contact/distance.h"
#include "linalg/pose.h"
#include "pointshell/tree.h"

typedef struct rf_penalty_settings {
  double stiffness_n_per_m;  // of a point, unless each has its own
  int32_t warm_nodes;  // V_W: levels rendered in the last cycle begin below so many; 0: no limit
  double cold_ratio;   // V_C / V_W: of deeper levels; of the budget likewise
  double budget_us;    // time in place of nodes; 0: nodes count
  int32_t max_points;  // L; 0: no scaling
  bool coherence;      // skip nodes that cannot have come into contact
  bool along_normal;   // e = N, as B07
  bool automatic;      // the stiffness follows the coupling that holds the object
  double grasp_m[3];   // in the frame of the field object
} rf_penalty_settings;

typedef struct rf_penalty_result {
  double force_n[3], torque_nm[3];  // on the field object, in the world
  double gradient[36];              // of (force, torque) by (dx, dw), as above        (6, 6)
  double depth_m;                   // deepest penetration; 0: none
  double clearance_m;  // how far any point can travel before one touches; 0: unknown, not asked for
  double microseconds;
  int32_t visited, skipped;  // nodes looked at, and those known to be clear on rendered levels
  int32_t touching;          // points
  int32_t level;             // deepest one rendered
} rf_penalty_result;

// -sum w k W W^T by its blocks, in memory of the caller, each nullable; padded with zeros, written
// anew in each cycle.  W_o, of the field object, is (e; (x - x_g) x e) and, if it deforms and
// `object` is asked for, U_f^T e behind that: n_o = 6 + r_f numbers, else 6; W_s is -U^T e.
typedef struct rf_penalty_blocks {
  double *object;  // W_o W_o                          (rows and columns rf_dense_ld(n_o))
  double *mixed;   // W_o W_s                          (rf_dense_ld(n_o) rows of rf_dense_ld(r))
  double *shell;   // W_s W_s                          (rows and columns rf_dense_ld(r))
} rf_penalty_blocks;

typedef struct rf_penalty rf_penalty;

// Borrows the tree and what the distance query refers to.  In the order of the shell, weights of
// the points, scaled here to mean 1 (NULL: 1), and their stiffness (NULL: that of the settings).
RF_MUST_CHECK rf_status rf_penalty_create(const rf_point_tree *tree,
                                          const rf_contact_distance *distance,
                                          const rf_penalty_settings *settings,
                                          const double *weights, const double *stiffness,
                                          rf_penalty **out, rf_error *err);
// Another one of its kind, as after a reset; it borrows what that borrows.
RF_MUST_CHECK rf_status rf_penalty_copy(const rf_penalty *penalty, rf_penalty **out, rf_error *err);
void rf_penalty_free(rf_penalty *penalty);  // NULL is fine

// Forgets all earlier cycles.
void rf_penalty_reset(rf_penalty *penalty);

// Says what is wrong with a pose or with q (nullable: rest).
RF_MUST_CHECK rf_status rf_penalty_check(const rf_penalty *penalty, const rf_pose *pose,
                                         const double *q, rf_error *err);

// The object is held by a coupling of stiffness k_VC from now on: an automatic stiffness becomes
// 20 k_VC for every point.  Springs in series feel softer than coupling and body alone by 1/21 at
// most then, and stiffer contact only disturbs the solve.
void rf_penalty_suit_coupling_rt(rf_penalty *penalty, double stiffness_n_per_m);
double rf_penalty_suited_rt(double stiffness_n_per_m);  // that of a point

// Time of the next cycles, > 0, in place of nodes.
void rf_penalty_set_budget_rt(rf_penalty *penalty, double budget_us);

// Switches the search for the clearance on or off (initially off).  Nothing else depends on it.
void rf_penalty_ask_clearance_rt(rf_penalty *penalty, bool asked);

// Deforms the field of the object from now on (NULL: rest, as initially).  RF_ERR_ARG if q gives no
// finite places; rf_penalty_evaluate_rt then finds no contact.
RF_MUST_CHECK rf_status rf_penalty_deform_field_rt(rf_penalty *penalty, const double *field_q);

// One cycle.  `all_of` < 0: by the tree; else all points of repulsion levels <= all_of one by one,
// by the same arithmetic, which leaves no trace in the state.  reduced: on the shell (r), nullable;
// field_reduced: on the field object, nullable, and not written for one that does not deform.
// blocks: nullable; `mixed` and `shell` are not for a rigid shell.
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
