// Interface of contact laws: force and stiffness of touching points, given gap, normal and
// direction.
//
// A law answers a block of points with rows.  A row is a force f along a unit axis a, on the field
// object at a point, and its stiffness c: the force follows a displacement u of the object there by
// -c a a^T u.  One row a point makes a frictionless law; up to three make any symmetric tangent.
// Tangents that are not symmetric, as of sliding friction, enter by their symmetric part.
//
// To add a law: a source with its settings and its two tables, and a row in contact/law.c.  A law
// may keep a state for each point, indexed by the point's place in the tree; a second query in the
// same cycle returns the same rows.
#ifndef RF_CONTACT_LAW_H
#define RF_CONTACT_LAW_H

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

// Real-time functions of a law: every member is set to a function whose name ends in _rt.
typedef struct rf_contact_law_rt {
  // A cycle begins: a law with a state keeps that of the last one.
  void (*begin)(void *self);
  // Answers a block of points, one indirect call each.
  void (*respond)(void *self, const rf_contact_points *points, rf_contact_rows *rows);
  // The field object is held by a coupling of this stiffness, N/m, from now on: a law with an
  // automatic stiffness follows it, others do nothing.
  void (*suit)(void *self, double coupling_n_per_m);
  // Forgets all earlier cycles.
  void (*reset)(void *self);
} rf_contact_law_rt;

// A kind of law: its life cycle, and its real-time functions.
typedef struct rf_contact_law_kind {
  const char *name;
  const rf_contact_law_rt *rt;
  const rf_setting *settings;  // by name, of the kind's own struct; arrays have n_points entries
  size_t settings_bytes;       // of that struct
  // Copies the settings; borrows the tree.
  rf_status (*create)(const void *settings, const rf_point_tree *tree, void **self, rf_error *err);
  rf_status (*copy)(const void *from, void **self, rf_error *err);
  void (*release)(void *self);  // NULL is fine
} rf_contact_law_kind;

typedef struct rf_contact_law {
  const rf_contact_law_kind *kind;
  void *self;  // owned: kind->release
} rf_contact_law;

// The kind of a name; NULL: there is none.
const rf_contact_law_kind *rf_contact_law_find(const char *name);

#endif
