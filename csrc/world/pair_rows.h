// Contact of two free bodies, or of one with the ground, in a step of many (multibody.h).
//
// Side 0 carries the point tree, side 1 the field; the ground is a field without coordinates.  The
// contact is evaluated with the tree at rest (contact/contact.h), at the pose of the field seen
// from the tree.  In these axes a row of force f and axis a at x (contact/law.h) puts the wrench
// f w on the field's body about its centre g, w = (a; (x - g) x a), and on the tree's body, about
// its centre s,
//     -f T w,   T = (1, 0; [g - s]x, 1).
// Forces are equal and opposite, and so are torques about a common point.  Turned to the world by
// R, the coordinates of both bodies (motion of the centre, rotation, reduced coordinates) get f W,
//     W = (-R T w; -U^T a;  R w; U_f^T a),
// and a motion u of them changes the gap by -W . u.  The force follows it with the stiffness c of
// the row as long as it pushes,
//     f = min(0, f_0 - factor c W . u):
// springs that pulled would flatten corners, which costs elastic energy that no impact has.  Pairs
// with friction have two tangents a row as well (pair_friction.h), with the same signs.  Points of
// a tree with a dimple (pair_dimple.h) are searched without it, and its rows are those of the
// places with the dimple of the last step.  A field with a dimple v at x has the gap of the rest
// field at x - v(x - v): rows are those of that place, but for the arms.
// The derivative of that gap also has -grad v, which rows leave out: forces have no part along the
// surface, and no potential.
//
// Vectors of a side are slots: six numbers of the rigid motion, two zeros, and the reduced
// coordinates padded to rf_dense_ld.
#ifndef RF_WORLD_PAIR_ROWS_H
#define RF_WORLD_PAIR_ROWS_H

#include <stdint.h>

#include "base/status.h"
#include "contact/contact.h"
#include "linalg/vec3.h"
#include "linalg/vector.h"
#include "world/pair_dimple.h"
#include "world/pair_friction.h"

enum { RF_SLOT_RIGID = 8 };  // numbers of a slot before the reduced coordinates

typedef struct rf_pair_rows_side {
  int32_t body;  // negative: the ground or another one that never moves
  int32_t r;     // reduced coordinates that contact moves; 0: rigid
  int32_t size;  // of its slot; 0: it never moves
} rf_pair_rows_side;

typedef struct rf_pair_rows {
  rf_pair_rows_side side[2];  // the tree's, the field's
  rf_pair_friction friction;  // its `mu` is set before an evaluation
  // set before an evaluation: `yields`, `node` and `corners` of the dimples
  rf_pair_dimple dimple[2];  // of tree and field
  double dimple_damping;     // c if one of them yields, else 1
  // results of an evaluation
  int32_t n_rows;       // of the points with a force, one each
  int32_t n_passed;     // points without a force, see multibody.h
  int32_t n_lost;       // those of them that bore a force in the last step
  double sunk_m;        // the deepest dimple at a point, of tree or field; -inf: none
  double sunk_at[3];    // the place of this point in the world
  bool beyond;          // a point with a force is where the dimple of the field has faded
  double beyond_at[3];  // the place of the first such point in the world
  double depth_m;       // of the deepest with a force
  int32_t size;         // of both slots
  int32_t *place;       // of the point in the tree                                (n_rows)
  double *rows;         // W                                                       (n_rows, size)
  double *begin;        // f_0                                                     (n_rows)
  double *stiff;        // c                                                       (n_rows)
  double *force;        // f by the last choice                                    (n_rows)
  double *slope;        // of f along a step                                       (n_rows)
  double *applied;      // generalised forces                                      (size)
  int64_t row_room;
  int32_t n_room, room;
} rf_pair_rows;

// Frame of rest coordinates in the world, and the centre of mass in these coordinates.
typedef struct rf_pair_rows_frame {
  rf_pose pose;
  double centre[3];
} rf_pair_rows_frame;

// Makes room for n rows, and their tangents.
RF_MUST_CHECK rf_status rf_pair_rows_reserve(rf_pair_rows *t, int32_t n, rf_error *err);
void rf_pair_rows_free(rf_pair_rows *t);  // its content; zero is fine

// Dimples of tree and field at the beginning of a step.
typedef struct rf_pair_rows_dimples {
  rf_pair_dimple_forces last[2];      // zero: no dimple
  rf_shell_blend_points field_shell;  // in the frame of the field; used if it yields
  // places of the points of a tree without dimple that bore a force in this field
  int32_t n_held;
  const int32_t *held;  // (n_held)
} rf_pair_rows_dimples;

// Fills the rows from the last evaluation of the contact of the two frames, whose law has at most
// one row a point; there must be room for them, for the points of the last forces on the tree and
// for those held.
void rf_pair_rows_fill_rt(rf_pair_rows *t, const rf_pair_rows_frame *tree,
                          const rf_pair_rows_dimples *dimples, rf_contact *contact);

// Sets f at the displacements u, and `applied` to the sum of f W and the friction; held: its limits
// stay those of the last call.
void rf_pair_rows_push_rt(rf_pair_rows *t, double factor, bool held, const rf_pair_slots *u);
// applied = -factor sum c W (W . u) of the rows that push, and the derivative of their friction for
// constant limits times u, or its secant (pair_friction.h).
void rf_pair_rows_multiply_rt(rf_pair_rows *t, double factor, bool secant, const rf_pair_slots *u);
// Sets the slopes of f, and of the trial forces of friction, along u, of all rows as if they
// pushed.
void rf_pair_rows_aim_rt(rf_pair_rows *t, double factor, const rf_pair_slots *u);
// Returns the work of the forces along the u last passed to rf_pair_rows_aim_rt, with the forces at
// `part` of it and constant limits.
double rf_pair_rows_work_rt(const rf_pair_rows *t, double factor, double part);
// Adds factor sum c W W^T of all rows, of one side, to own (rows of ld).  With friction: of the
// rows that push, and the secants of their friction.
void rf_pair_rows_add_own_rt(const rf_pair_rows *t, int side, double factor, double *own,
                             int32_t ld);

// Adds the terms of the springs to A and b of multibody_bound.h, for the forces of the last choice,
// and the energy of the springs of friction before the step to `stored`.
void rf_pair_rows_springs_rt(const rf_pair_rows *t, double factor, double matrix[4],
                             double linear[2], double *stored);
// applied = a part of the normal forces of the last choice, and one of the friction
void rf_pair_rows_reduce_rt(rf_pair_rows *t, double normal, double friction);
// Exchanges forces, and limits and trial forces of friction, with others that a second call puts
// back; slopes, and the parts of multibody_limits.h, are lost.
void rf_pair_rows_exchange_rt(rf_pair_rows *t);
// Reduces normal forces to a part, and limits of friction to a part of its forces.
void rf_pair_rows_limit_rt(rf_pair_rows *t, double normal, double friction);

// Row number e of a point: 0: W; 1 and 2: T.
static inline const double *rf_pair_rows_row_rt(const rf_pair_rows *t, int32_t i, int e) {
  const int64_t size = t->size;
  return e == 0 ? t->rows + i * size : t->friction.rows + (2 * (int64_t)i + e - 1) * size;
}

// W . u, or T . u, of all slots.
static inline double rf_pair_rows_closing_rt(const rf_pair_rows *t, int32_t i, int e,
                                             const rf_pair_slots *u) {
  const double *row = rf_pair_rows_row_rt(t, i, e);
  const int32_t n = t->side[0].size;
  double closing = u->side[0] ? rf_dot_padded(n, row, u->side[0]) : 0.0;
  if (u->side[1]) closing += rf_dot_padded(t->side[1].size, row + n, u->side[1]);
  for (int s = 0; s < 2; ++s)
    if (u->dimple[s]) closing += rf_pair_dimple_along_rt(&t->dimple[s], i, e, u->dimple[s]);
  return closing;
}

// Adds a force along a row to those on the dimples.
static inline void rf_pair_rows_pull_rt(rf_pair_rows *t, int32_t i, int e, double force) {
  for (int s = 0; s < 2; ++s)
    if (t->dimple[s].yields) t->dimple[s].pull[3 * (size_t)i + (size_t)e] += force;
}

// applied = 0, and no force on the dimples.
void rf_pair_rows_clear_rt(rf_pair_rows *t);
// Adds a force along row e of a point.
void rf_pair_rows_apply_rt(rf_pair_rows *t, int32_t i, int e, double force);

// ---- pair_friction_rt.c, for pair_rows_rt.c: the parts of friction in the above

void rf_pair_friction_push_rt(rf_pair_rows *t, bool held, const rf_pair_slots *u);
void rf_pair_friction_multiply_rt(rf_pair_rows *t, bool secant, const rf_pair_slots *u);
void rf_pair_friction_aim_rt(rf_pair_rows *t, const rf_pair_slots *u);
// Stiffness of the secant of a point's friction by the last choice, N/m; 0: it bears none.
double rf_pair_friction_stiffness_rt(const rf_pair_rows *t, int32_t i);
double rf_pair_friction_work_rt(const rf_pair_rows *t, double part);
double rf_pair_friction_springs_rt(const rf_pair_rows *t, double *stored);
void rf_pair_friction_limit_rt(rf_pair_rows *t, double part);
void rf_pair_friction_reduce_rt(rf_pair_rows *t, double part);
void rf_pair_friction_add_own_rt(const rf_pair_rows *t, int side, double *own, int32_t ld);

#endif
