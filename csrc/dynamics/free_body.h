// A free body: the reduced deformation of a solid without fixed nodes, carried by the motion
// of a rigid body (B07 2.8.7, 2.15).
//
// A point X of the solid is at  p + R (X - c + U q):  p is the centre of mass, R the rotation,
// c the centre at rest.  U is mass-orthogonal to the rigid motions, so that to first order the
// centre and the frame do not move with q (mean axes), and uniform gravity deforms nothing.
//
// Both parts take the external loads and are integrated side by side: q by a scheme of
// choice, the pose by a midpoint rule on the rotations that keeps momentum and angular momentum to
// rounding.  What couples them at high speed (centrifugal, Coriolis and Euler forces on q, the
// inertia of the deformed shape) is left out, as in B07.  It would enter at two places of
// free_body_rt.c and nowhere else: as a reduced force in `deform`, and as the inertia in
// `angular_velocity`.
#ifndef RF_DYNAMICS_FREE_BODY_H
#define RF_DYNAMICS_FREE_BODY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "dynamics/motion.h"
#include "model/reduced_model.h"

typedef struct rf_free_body_settings {
  rf_motion_settings deformation;  // dt_s serves both parts; no constant load
  rf_system_damping damping;       // of the deformation
  double mass;                     // kg
  double centre[3];                // of mass at rest, m
  double inertia[9];               // about it, symmetric positive definite, kg m^2
  double gravity[3];               // acceleration in the world, m/s^2
} rf_free_body_settings;

// Pose and momenta in the world.
typedef struct rf_rigid_state {
  double position[3];          // of the centre of mass, m
  double quaternion[4];        // w, x, y, z, body to world
  double momentum[3];          // kg m/s
  double angular_momentum[3];  // about the centre, kg m^2/s
} rf_rigid_state;

// A force on one node, in the axes of the world.
typedef struct rf_load {
  int32_t node;
  double force[3];  // N
} rf_load;

typedef struct rf_free_body {
  rf_free_body_settings set;
  double inverse_inertia[9];
  const rf_reduced *model;  // borrowed
  const double *nodes;      // of the solid at rest, borrowed           (n_nodes, 3)
  rf_rigid_state rigid;
  rf_motion *deformation;  // owned; its report and time are those of the body
  double *force;           // reduced force of the loads               (r)
} rf_free_body;

// The model must be that of a free solid: its basis mass-orthogonal to rigid motions.  Model and
// nodes must outlive the body.  At rest at its place.
RF_MUST_CHECK rf_status rf_free_body_create(const rf_reduced *model, const double *nodes,
                                            const rf_free_body_settings *set, rf_free_body **out,
                                            rf_error *err);
void rf_free_body_free(rf_free_body *body);  // NULL is fine
// Copies a body with its state; gravity: another one, NULL: its own.
RF_MUST_CHECK rf_status rf_free_body_copy(const rf_free_body *from, const double *gravity,
                                          rf_free_body **out, rf_error *err);

// Sets pose and velocities (momenta follow from them); the quaternion is normalised.
RF_MUST_CHECK rf_status rf_free_body_set_pose(rf_free_body *body, const double position[3],
                                              const double quaternion[4], const double velocity[3],
                                              const double angular_velocity[3], rf_error *err);

// Sets a whole state as another body of the model had it, momenta included.
RF_MUST_CHECK rf_status rf_free_body_restore(rf_free_body *body, const rf_rigid_state *rigid,
                                             const double *q, const double *qdot,
                                             const double *qddot, int64_t steps, rf_error *err);

// Angular velocity at the present pose, rad/s, in the world.
void rf_free_body_angular_velocity_rt(const rf_free_body *body, double omega[3]);

// Angular velocity by an angular momentum at the present pose, in the world.
void rf_free_body_turned_rt(const rf_free_body *body, const double angular_momentum[3],
                            double omega[3]);

// n steps under loads that are constant in the world.  RF_ERR_DIVERGED: the state is that
// before the failing step.
RF_MUST_CHECK rf_status rf_free_body_step_rt(rf_free_body *body, int32_t n_loads,
                                             const rf_load *loads, int64_t n);

// Moves pose and momenta by a step under gravity and a wrench: force, N, and torque about the
// centre, N m, in the world.  The pose follows the velocities of the end of the step (backward
// Euler), which suits forces that follow them.  Opposite forces at one point keep the angular
// momentum of two bodies to rounding: centres move along the momenta of the end.  False, and the
// state is as it was, where a number is not finite.
bool rf_free_body_move_rt(rf_free_body *body, const double wrench[6]);
// Kinetic energy of the rigid motion and of the deformation, and elastic energy, J.
RF_MUST_CHECK rf_status rf_free_body_energy(rf_free_body *body, double *energy, rf_error *err);

// Many bodies, n steps each, on all threads.  loads[b] (nullable: none) has n_loads[b] entries.
// Bodies are distinct.  The first failure is returned; the other bodies may have moved or not.
RF_MUST_CHECK rf_status rf_free_bodies_step(const rf_run *run, int32_t count,
                                            rf_free_body *const *bodies, const int32_t *n_loads,
                                            const rf_load *const *loads, int64_t n, rf_error *err);

// Positions of all nodes in the world (n_nodes, 3).
void rf_free_body_nodes(const rf_free_body *body, double *positions);

#endif
