// Contact of a pointshell with a distance field: forces, torques and their derivatives in bounded
// time (B07 3.5, 3.10).
//
// The shell is anchored in the world and may be deformed; a pose maps the frame of the field object
// to the world.  A cycle is made of parts that know nothing of each other:
//     search  (contact/search.h)  finds the points with negative distance, by the tree,
//     budget  (contact/budget.h)  decides which levels of the tree are visited,
//     law     (contact/law.h)     gives force and stiffness of each point,
//     sum     (contact/wrench.h)  makes wrench, derivatives and reduced forces of them.
//
// The field may be one that deforms (deform/field.h), with reduced coordinates of its own.  Nodes
// are then culled with its safety factor, which is an estimate, and the setting that skips nodes is
// ignored: a node that was clear may touch after the field has changed.
#ifndef RF_CONTACT_CONTACT_H
#define RF_CONTACT_CONTACT_H

#include <stdbool.h>

#include "base/status.h"
#include "contact/distance.h"
#include "contact/local.h"
#include "contact/wrench.h"
#include "linalg/pose.h"
#include "pointshell/tree.h"

typedef struct rf_contact_settings {
  int32_t warm_nodes;  // V_W: levels rendered in the last cycle begin below so many; 0: no limit
  double cold_ratio;   // V_C / V_W, for deeper levels; the same ratio of the budget
  double budget_us;    // time of a cycle, in place of nodes; 0: nodes count
  int32_t max_points;  // L; 0: no scaling
  bool coherence;      // skip nodes that cannot have come into contact
  bool along_normal;   // e = N, as B07
  bool conservative;   // e = g, the derivative of the gap: forces have a potential
  bool stateless;      // no cycle leaves a trace in the law, which answers as after a reset
  double grasp_m[3];   // in the frame of the field object
} rf_contact_settings;

typedef struct rf_contact_result {
  double force_n[3], torque_nm[3];  // on the field object, in the world, about the grasp point
  double gradient[36];              // of (force, torque) by (dx, dw), contact/wrench.h  (6, 6)
  double depth_m;                   // deepest penetration; 0: none
  double clearance_m;  // travel of any point before one touches; 0: unknown, not asked for
  double microseconds;
  int32_t visited, skipped;  // nodes visited, and nodes known to be clear on rendered levels
  int32_t touching;          // points
  int32_t level;             // deepest one rendered
} rf_contact_result;

typedef struct rf_contact rf_contact;

// Borrows the tree and the fields of the distance query.  law: name of a kind (contact/law.h), with
// its settings.  weights: of the points in the order of the shell, scaled here to mean 1; NULL: 1.
RF_MUST_CHECK rf_status rf_contact_create(const rf_point_tree *tree,
                                          const rf_contact_distance *distance, const char *law,
                                          const void *law_settings,
                                          const rf_contact_settings *settings,
                                          const double *weights, rf_contact **out, rf_error *err);
// Makes another one with the same settings, as after a reset; it borrows the same.
RF_MUST_CHECK rf_status rf_contact_copy(const rf_contact *contact, rf_contact **out, rf_error *err);
void rf_contact_free(rf_contact *contact);  // NULL is fine

// Gives the shell a local compliance, borrowed, at sites whose forces a world makes.
RF_MUST_CHECK rf_status rf_contact_set_local(rf_contact *contact, const rf_contact_local *local,
                                             rf_error *err);

// Forgets all earlier cycles.
void rf_contact_reset(rf_contact *contact);

// Rejects an unusable pose or q (nullable: rest) with a message.
RF_MUST_CHECK rf_status rf_contact_check(const rf_contact *contact, const rf_pose *pose,
                                         const double *q, rf_error *err);

// Tells the law that a coupling of this stiffness holds the object from now on: an automatic
// stiffness follows it.
void rf_contact_suit_coupling_rt(rf_contact *contact, double stiffness_n_per_m);

// Sets the time of the next cycles, > 0, which then counts in place of nodes.
void rf_contact_set_budget_rt(rf_contact *contact, double budget_us);

// Switches the search for the clearance on or off (initially off).  No other result depends on it.
void rf_contact_ask_clearance_rt(rf_contact *contact, bool asked);
// Forgets the touching points and the state of the law, as after a jump of the object.
void rf_contact_forget_rt(rf_contact *contact);

// Deforms the field of the object from now on (NULL: rest, as initially).  RF_ERR_ARG if field_q
// gives no finite places; rf_contact_evaluate_rt then finds no contact.
RF_MUST_CHECK rf_status rf_contact_deform_field_rt(rf_contact *contact, const double *field_q);
// True if both have the same field that deforms: it then deforms as that of `with`, which must live
// longer and be deformed first in each cycle.
bool rf_contact_share_field(rf_contact *contact, const rf_contact *with);

// Evaluates one cycle.  all_of < 0: by the tree; otherwise all points of repulsion levels <= all_of
// one by one, by the same arithmetic, without a trace in search, budget and law.  reduced: on the
// shell (r), nullable; field_reduced: on the field object, nullable, written only if it deforms.
// blocks: nullable.
RF_MUST_CHECK rf_status rf_contact_evaluate_rt(rf_contact *contact, const rf_pose *pose,
                                               const double *q, int32_t all_of,
                                               rf_contact_result *result, double *reduced,
                                               double *field_reduced,
                                               const rf_contact_blocks *blocks);

// A touching point of the last cycle.
typedef struct rf_contact_touch {
  int32_t pair;                   // of a world, 0 otherwise
  int32_t point;                  // index in the shell
  double gap_m;                   // signed distance
  double position[3], normal[3];  // in the frame of the shell; inward unit normal
  double force[3];                // on the field object, scaled
} rf_contact_touch;

// Copies up to RF_CONTACT_BLOCK touching points of the last cycle from number `first` on, in the
// order of their sum; returns how many.
int32_t rf_contact_touches_rt(const rf_contact *contact, int32_t first, rf_contact_touch *out);

// Copies the forces of the last cycle that bend a shell with a local compliance: points, indices in
// the shell, and forces on them in its frame (n, 3), N.  Returns how many, at most `most`.
int32_t rf_contact_bending_rt(const rf_contact *contact, int32_t most, int32_t *point,
                              float *force);

// Checks a trajectory, and names the cycle that is refused: positions (n, 3), quaternions (n, 4),
// qs (n, r) or NULL.
RF_MUST_CHECK rf_status rf_contact_check_many(const rf_contact *contact, int64_t n,
                                              const double *positions, const double *quaternions,
                                              const double *qs, rf_error *err);

// Upper bound of the stiffness of a point down to a depth, under a coupling or none, 0
// (contact/law.h), N/m.
RF_MUST_CHECK rf_status rf_contact_stiffest(const rf_contact *contact, double coupling_n_per_m,
                                            double depth_m, double *out, rf_error *err);

// True if a world makes the forces of contact (contact/law.h).
bool rf_contact_has_sites(const rf_contact *contact);
// Sites in a step, of all contacts of a world; 0: the shell has no local compliance.
int32_t rf_contact_bending_sites(const rf_contact *contact);
int32_t rf_contact_levels(const rf_contact *contact);  // of the tree
void rf_contact_grasp(const rf_contact *contact, double grasp_m[3]);
// Moves the grasp point, which wrenches are taken about.
void rf_contact_set_grasp(rf_contact *contact, const double grasp_m[3]);
int32_t rf_contact_coordinates(const rf_contact *contact);        // r of the shell
int32_t rf_contact_field_coordinates(const rf_contact *contact);  // r of the field; 0: rigid

#endif
