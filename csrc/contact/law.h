// Interface of contact laws: force and stiffness of touching points, given gap, normal and
// direction.
//
// A law answers a block of points with rows.  A row is a force f along a unit axis a, on the field
// object at a point, and its stiffness c: the force follows a displacement u of the object there by
// -c a a^T u.  One row per point makes a frictionless law; up to three make any symmetric tangent.
// Tangents that are not symmetric, as of sliding friction, enter by their symmetric part.
//
// To add a law NAME: NAME_law_rt.c with its settings, its real-time functions and its kind, as in
// penalty_law_rt.c; a row below; and a class in python/reducedfem/contact.  Worlds of free bodies
// (world/multibody.h) have springs of their own and take no law.
//
// `self` is the law's own copy of its settings, which it may change.  Arrays among them have the
// order of places in the tree there.  The law may also keep a state for each point, indexed by
// place.  It computes rows from the state of the last cycle, so that queries in the same cycle
// return the same rows.
#ifndef RF_CONTACT_LAW_H
#define RF_CONTACT_LAW_H

#include <stdbool.h>
#include <stddef.h>

#include "base/settings.h"
#include "base/status.h"
#include "contact/points.h"
#include "pointshell/tree.h"

enum { RF_CONTACT_MOST_ROWS = 3 * RF_CONTACT_BLOCK };

// Rows of a block of points; those of one point are neighbours.
typedef struct rf_contact_rows {
  int32_t n;
  int32_t point[RF_CONTACT_MOST_ROWS];     // number in the block                         (n)
  double axis[3 * RF_CONTACT_MOST_ROWS];   // a, in the world                             (n, 3)
  double force[RF_CONTACT_MOST_ROWS];      // f, N                                        (n)
  double stiffness[RF_CONTACT_MOST_ROWS];  // c >= 0, N/m                                 (n)
} rf_contact_rows;

// Sites of friction (constraint/friction.h), of a law whose forces a world makes, by a solve for
// the motion of all bodies together (world/frictional.h).
typedef struct rf_contact_sites {
  double mu;                  // coefficient of friction, >= 0
  double compliance_m_per_n;  // of a site, >= 0; 0: automatic
  int32_t most;               // sites in a step, of all contacts of a world, >= 1
  double budget_us;           // time of a solve, > 0
  bool solved;                // a world makes the forces
  int64_t cycle;              // number of this one
  // of each point, by place: the last cycle in which it was a site that bore a force, that force on
  // the shell, N, and its slip by forces that were not solved though it sticks, m; both in the
  // frame of the shell (n_points)
  struct rf_contact_site_force {
    int64_t cycle;
    double force[3], missed[3];
  } *of;
} rf_contact_sites;

// Real-time functions of a law: every member is set to a function whose name ends in _rt, or to
// NULL where that is allowed.
typedef struct rf_contact_law_rt {
  // Derives what follows from the settings, once.  NULL: nothing.
  void (*prepare)(void *self, int32_t n_points);
  // Begins a cycle, at a valid pose: the state that the last cycle has kept becomes the state that
  // `respond` reads.  Not called for queries.  NULL: the law has no state.
  void (*begin)(void *self);
  // Writes the rows of a block of points.  keep: the law keeps the state of these points in the
  // cycle; false: a query, which changes nothing.
  void (*respond)(void *self, const rf_contact_points *points, bool keep, rf_contact_rows *rows);
  // Upper bound of the stiffness of a point of weight 1, and of its force over its depth, N/m, at
  // any depth up to this one.  coupling: stiffness that holds the field object; 0: the law follows
  // none.  Positive, except at depth 0.
  double (*stiffest)(const void *self, double coupling_n_per_m, double depth_m);
  // The field object is held by a coupling of this stiffness from now on: an automatic stiffness
  // follows it.  NULL: the law has none.
  void (*suit)(void *self, double coupling_n_per_m);
  // Forgets all earlier cycles.  NULL: the law has no state.
  void (*reset)(void *self);
  // Returns the sites; a world that sets `solved` writes their forces from then on.  NULL: the law
  // makes its own forces.
  rf_contact_sites *(*sites)(void *self);
} rf_contact_law_rt;

// A kind of law.
typedef struct rf_contact_law_kind {
  const char *name;
  const rf_contact_law_rt *rt;
  const rf_setting *settings;  // by name, of the kind's own struct; arrays have n_points entries
  size_t settings_bytes;       // of that struct
  size_t state_bytes;          // of each point, zero at first; 0: no state
  size_t state_offset;         // of the pointer to the states, in that struct
} rf_contact_law_kind;

typedef struct rf_contact_law {
  const rf_contact_law_kind *kind;
  void *self;    // owned, with its arrays behind it
  size_t bytes;  // of both
} rf_contact_law;

// The registry: one row per law, whose kind is rf_NAME_law_kind.
#define RF_CONTACT_LAWS(ROW)                                       \
  ROW(penalty) /* a linear spring at each point (penalty_law.h) */ \
  ROW(coulomb) /* sites of Signorini and Coulomb (above) */

#define RF_CONTACT_LAW_DECLARE(name) extern const rf_contact_law_kind rf_##name##_law_kind;
RF_CONTACT_LAWS(RF_CONTACT_LAW_DECLARE)
#undef RF_CONTACT_LAW_DECLARE

// Stiffness of a point that suits a coupling of stiffness k_VC: 20 k_VC.  Springs in series then
// feel softer than coupling and body alone by 1/21 at most, and stiffer contact only disturbs the
// solve.
static inline double rf_contact_suited_rt(double coupling_n_per_m) {
  return 20.0 * coupling_n_per_m;
}

// The functions that may be NULL.
static inline void rf_contact_law_begin_rt(const rf_contact_law *law) {
  if (law->kind->rt->begin) law->kind->rt->begin(law->self);
}
static inline void rf_contact_law_suit_rt(const rf_contact_law *law, double coupling_n_per_m) {
  if (law->kind->rt->suit) law->kind->rt->suit(law->self, coupling_n_per_m);
}
static inline rf_contact_sites *rf_contact_law_sites_rt(const rf_contact_law *law) {
  return law->kind->rt->sites ? law->kind->rt->sites(law->self) : NULL;
}
static inline void rf_contact_law_reset_rt(const rf_contact_law *law) {
  if (law->kind->rt->reset) law->kind->rt->reset(law->self);
}

// The kind of a name; NULL: there is none.
const rf_contact_law_kind *rf_contact_law_find(const char *name);

// settings: of the kind's struct, with arrays in the order of the shell, copied.  RF_ERR_ARG: one
// is out of its range.
RF_MUST_CHECK rf_status rf_contact_law_create(const rf_contact_law_kind *kind, const void *settings,
                                              const rf_point_tree *tree, rf_contact_law *out,
                                              rf_error *err);
RF_MUST_CHECK rf_status rf_contact_law_copy(const rf_contact_law *from, rf_contact_law *out,
                                            rf_error *err);
void rf_contact_law_free(rf_contact_law *law);  // zero is fine

#endif
