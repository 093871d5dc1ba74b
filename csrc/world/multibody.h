// Many free bodies that touch each other and the ground, offline.
//
// A step: spheres and pairs of them (world/broad.h), contact of the pairs on all threads
// (world/pair_rows.h), the forces of all contacts together (world/multibody_solve.c), steps of the
// bodies on all threads.  Bodies without contact make the steps of dynamics/free_body.h, bit for
// bit.  Results have the same bits for any number of threads.
//
// Contact is implicit, and only pushes.  With g the gap of a point as the search found it, k its
// stiffness, e its direction, W the derivative of -g by the coordinates of both bodies and v the
// velocities at the end of the step, the force along e is
//     f = min(0, k (g - c h W . v)),
// c the factor `contact_damping`: for c = 1 the force of the end of the step, a larger one adds a
// damper of (c - 1) h k at each point.  No equilibrium depends on c.  Steps of bodies in contact
// are those of backward Euler, whose poses and coordinates follow v: average acceleration would
// carry the force of an impact into the next step and give it energy.  With H = M / h^2 for the
// rigid motion and Newton's matrix for the deformation, linearized at the beginning of the step, u
// the value of h v without contact of the rigid motion, zero for the deformation, and e the change
// of both, the step is the minimum of
//     1/2 e . H e - e . r + sum min(0, k (g - c W . (u + e)))^2 / (2 c k),
// r zero for the rigid motion, minus the residual of Newton's step for the deformation: strictly
// convex, so that a step is unique and the energy that springs can give is that of their depths.
// Newton's method with a line search finds it; each of its systems is solved by conjugate gradients
// over all bodies, with their own blocks as the preconditioner, or a joint one where surfaces yield
// (world/multibody_joint.h).  Solving each body by its own block
// alone would not do: the forces of a pair would not be opposite.  Here they are equal and opposite
// for any tolerance.
//
// With friction each point has a spring across its axis as well, which slips where its force would
// exceed mu times that along the axis (world/pair_friction.h); mu is the geometric mean of the
// coefficients of both bodies.  For constant limits the step is the minimum of a strictly convex
// function again.  The limits are found by iteration, world/multibody_limits.h: Coulomb's law has
// no potential, and its solutions need not be unique.  At the end of the solve no friction exceeds
// mu times its normal force, also where the iteration has not converged.  Then parts of the forces
// are applied that bound the energy, world/multibody_bound.h.
//
// A shape may have a local compliance S (contact/local.h), the linear statics of its surface beside
// its coordinates: points then move by S f, f the forces of the step on all points of the shell,
// and the step minimizes their elastic energy 1/2 f . S f as well (world/multibody_dimple.h).  The
// search finds points of the shell without its dimple that are inside of a field, and those that
// bore a force in the last step and are inside with their dimple; gaps and directions are those
// with the dimple of the last step.  Dampers do not act on it.  Shells with nothing but S may be
// fixed.  The field of a shape with S yields as its points do: at a place between them it has the
// dimple by the weights of pointshell/blend.h, and spreads the force to them by the same.
//
// Directions are the derivatives of the gaps (contact/contact.h, `conservative`).  Points that have
// passed the middle of a thin part have no force: it would push them out on the other side.  Points
// on the far side of a thin wall of their own, sunk in as a whole, look the same and have none.
#ifndef RF_WORLD_MULTIBODY_H
#define RF_WORLD_MULTIBODY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/run.h"
#include "contact/contact.h"
#include "contact/local.h"
#include "dynamics/free_body.h"

#define RF_MULTIBODY_MOST_FRICTION 10.0
#define RF_MULTIBODY_LEAST_TOLERANCE 1e-13  // met by worlds of all kinds in spite of rounding

typedef struct rf_multibody_settings {
  double dt_s;              // step, > 0
  double gravity[3];        // m/s^2, of all bodies
  const rf_field *ground;   // in the world, borrowed; NULL: none
  double ground_friction;   // coefficient of friction, 0 to RF_MULTIBODY_MOST_FRICTION
  double contact_damping;   // c, >= 1
  double tolerance;         // of the solve, relative, RF_MULTIBODY_LEAST_TOLERANCE up to 1
  int32_t most_iterations;  // of conjugate gradients in a step, >= 1
  double least_work;        // multiplications of a stage of it for which threads are of use
} rf_multibody_settings;

// Contact of all bodies of one shape; everything is borrowed, `each` is copied.
typedef struct rf_multibody_shape {
  const rf_point_tree *tree;          // NULL: none
  const rf_field *field;              // at rest
  const rf_deformed_field *deformed;  // or one that deforms; both NULL: none
  const rf_contact_local *local;      // of the tree; NULL: none
  double stiffness;                   // of a point of the tree, N/m, > 0; unless
  const double *each;                 // each has its own, in the order of the shell; nullable
} rf_multibody_shape;

typedef struct rf_multibody_report {
  int64_t steps;
  // of the last step; zero after one that failed
  int32_t candidates;  // pairs whose spheres overlap
  int32_t pairs;       // with points that touch
  int64_t points;
  int64_t passed;      // points without force, see above
  double depth_m;      // of the deepest with a force
  int32_t iterations;  // of conjugate gradients
  double residual;     // left, relative
  // of all steps
  int64_t unconverged;  // steps whose solve ended above the tolerance
  double fastest;       // largest relative displacement, in a step, of a body and what it may meet,
                        // divided by the thickness of the latter; points may pass above 0.5
  int32_t fastest_body;  // with these points, or past those of a fixed shell
  // deepest overlap found in the first step of a body
  double overlap;  // divided by the thickness of the field, or by the diameter of the sphere around
                   // the points, the smaller one
  double overlap_m;
  int32_t overlap_body;   // with these points, or with the field if a fixed shell has the points
  int32_t overlap_other;  // the other one; -1: the ground; -2, -3, ...: a fixed shell
  // pairs whose dimple is deeper than half of the field, which points may leave, or have left
  int64_t sunk;  // such pairs, of all steps
  // and the deepest of these dimples
  int32_t sunk_shell;         // the body, or fixed shell, with it
  int32_t sunk_other;         // the one that it gives way to
  double sunk_m, sunk_at[3];  // its depth and place in the world
  double sunk_thickness_m;    // of the field
  // first pair with a force beyond the points of a field that yields, where it is rigid: the body,
  // or fixed shell, with the field, 0 and the same as the other: none, the other one, and the place
  int32_t beyond_shell, beyond_other;
  double beyond_at[3];
  // first fixed shell that a body came near that it cannot touch: -2, -3, ...; 0: none
  int32_t missed_shell;
  int32_t missed_body;
} rf_multibody_report;

// A pair in contact in the last step.
typedef struct rf_multibody_pair {
  int32_t tree, field;  // bodies, by their points and their field; -1: the ground; -2, -3, ...: the
                        // fixed shells
  int32_t points;
  double depth_m;
  double wrench[6];  // of the step, on the tree's body: force and torque about its centre, or the
                     // origin of a fixed shell, world
} rf_multibody_pair;

typedef struct rf_multibody rf_multibody;

RF_MUST_CHECK rf_status rf_multibody_create(const rf_multibody_settings *set, rf_multibody **out,
                                            rf_error *err);
void rf_multibody_free(rf_multibody *bodies);  // NULL is fine

// Adds a shape; its number is the count of those before.
RF_MUST_CHECK rf_status rf_multibody_add_shape(rf_multibody *bodies,
                                               const rf_multibody_shape *shape, rf_error *err);
// Adds a copy of a body; its step must be that of all, and its model that of the shape's tree
// and field where these deform (a contract: they do not know theirs).  shape: -1: it touches
// nothing.  friction: its coefficient, 0 to RF_MULTIBODY_MOST_FRICTION.
RF_MUST_CHECK rf_status rf_multibody_add(rf_multibody *bodies, const rf_free_body *body,
                                         int32_t shape, double friction, rf_error *err);

// Adds a fixed shell at a pose in the world, of a shape whose tree is rigid and yields by its local
// compliance alone; its field, if it has one, is at rest.
RF_MUST_CHECK rf_status rf_multibody_add_fixed(rf_multibody *bodies, const rf_pose *pose,
                                               int32_t shape, double friction, rf_error *err);

// Makes one step.  RF_ERR_DIVERGED: some bodies have made it, others have not.
RF_MUST_CHECK rf_status rf_multibody_step(rf_multibody *bodies, const rf_run *run, rf_error *err);

int32_t rf_multibody_count(const rf_multibody *bodies);
int32_t rf_multibody_fixed_count(const rf_multibody *bodies);
// Local compliance of a body, or of a fixed shell (-2, -3, ...) ; NULL: none.
const rf_contact_local *rf_multibody_local(const rf_multibody *bodies, int32_t number);
// Displacements of all points of its shell by the forces of the last step, in its frame
// (n_points, 3).
void rf_multibody_dimple_displacements(const rf_multibody *bodies, int32_t number,
                                       double *displacement);
// Elastic energy of its local compliance by these forces, J; 0: it has none.
double rf_multibody_dimple_energy(const rf_multibody *bodies, int32_t number);
rf_free_body *rf_multibody_body(const rf_multibody *bodies, int32_t index);
const rf_multibody_report *rf_multibody_reported(const rf_multibody *bodies);
// Pairs in contact in the last step: their number, and one of them.
int32_t rf_multibody_pairs(const rf_multibody *bodies);
rf_multibody_pair rf_multibody_pair_at(const rf_multibody *bodies, int32_t index);

#endif
