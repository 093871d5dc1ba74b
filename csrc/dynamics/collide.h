// Contact of nodes of a solid with a rigid body that the caller moves, in explicit steps.
//
// A rule asks for accelerations a' of the nodes that the step would leave inside of the body; the
// force of node k is then q_k (a'_k - a'_free,k), with q = m (1 + h alpha / 2) as in the equation
// of a step, so that its impulse h/2 (f + f') is the change of momentum to rounding.  Friction
// obeys Coulomb's law: what a rule asks for along the surface, to stick, is cut to mu times what it
// asks for along the normal.
//
// Rules set a' as if the next step had the same length; others would gain energy.  Damping inside
// of a step would not know the change of a' until half a step later, and heavy damping grows from
// it.
//
// Rules are a table each (a source and a row below).  Only nodes touch: edges and corners of small
// bodies enter between them.
#ifndef RF_DYNAMICS_COLLIDE_H
#define RF_DYNAMICS_COLLIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "dynamics/system.h"
#include "linalg/pose.h"
#include "sdf/field.h"

typedef struct rf_solid rf_solid;

// A node at or below the surface.  Velocities are relative to the body there.
typedef struct rf_collide_point {
  double step_s;      // h
  double distance_m;  // of the place examined, 0 or less
  double depth_m;     // at the end of the step, 0 or more; of rules that examine places ahead
  double recovery;    // part of the depth by which a node without velocity may go outwards
  double normal[3];   // outwards
  double before[3];   // velocity at the beginning of the step
  double halfway[3];  // in its middle
  double started[3];  // acceleration at its beginning
  double free[3];     // a'_free
} rf_collide_point;

typedef struct rf_collide_rule {
  const char *name;
  bool ahead;   // examines the places of the end of the next step, x'' = x' + h v' + h^2/2 a'_free
  bool damped;  // bodies come to rest under damping by stiffness or strain rate, too
  // Sets the change a' - a'_free that keeps the node on the surface and from sliding; zero: none.
  void (*ask_rt)(const rf_collide_point *p, double change[3]);
} rf_collide_rule;

// The registry: one row per rule.
#define RF_COLLIDE_RULES(ROW)                                               \
  ROW(surface) /* x'' on the surface (Carpenter, Taylor and Katona 1991) */ \
  ROW(mirror)  /* v' of zero at x' inside and approaching (Z00 3.2): elastic */

#define RF_COLLIDE_DECLARE(name) extern const rf_collide_rule rf_collide_##name;
RF_COLLIDE_RULES(RF_COLLIDE_DECLARE)
#undef RF_COLLIDE_DECLARE

// The body.  It continues with its velocities from the pose of its last move; its own frame turns
// about the position.
typedef struct rf_proxy {
  const rf_field *field;  // borrowed
  const rf_collide_rule *rule;
  double friction;  // coefficient, >= 0
  rf_pose pose;     // of the last move
  double velocity_m_s[3], spin_rad_s[3];
  int64_t moves;  // number of them
} rf_proxy;

// At rest in the origin.  RF_ERR_ARG: there is no such rule, or the friction is out of its range.
RF_MUST_CHECK rf_status rf_proxy_create(const rf_field *field, const char *rule, double friction,
                                        rf_proxy **out, rf_error *err);
void rf_proxy_free(rf_proxy *proxy);  // NULL is fine
// RF_ERR_ARG, naming it, if a number is out of its range; then nothing changes.
RF_MUST_CHECK rf_status rf_proxy_move(rf_proxy *proxy, const rf_pose *pose,
                                      const double velocity_m_s[3], const double spin_rad_s[3],
                                      rf_error *err);

// The body goes from one pose to another in a time > 0.
void rf_proxy_lead_rt(rf_proxy *proxy, const rf_pose *from, const rf_pose *to, double seconds);

typedef struct rf_collide_settings {
  const rf_proxy *proxy;  // borrowed
  const rf_solid *solid;
  double alpha;     // mass damping, 1/s
  double stable_s;  // stable step, > 0: depth is recovered in a time proportional to it
  int32_t n;
  const int32_t *node;  // that touch, free ones
} rf_collide_settings;

// Contact in one step.
typedef struct rf_collide_step {
  rf_pose pose;  // of the body at its end
  int32_t n_touching;
  int32_t *touching;  // numbers of nodes that touched                      (n)
  double *force;      // on them, N                                         (n, 3)
  int32_t n_sliding;  // of them, those whose friction is at its limit
  double total[3];    // force on the solid, N
  double torque[3];   // and torque about the position of the body, N m
  double depth_m;     // of the deepest of them in the body
} rf_collide_step;

// Contact of one motion.
typedef struct rf_collide {
  const rf_proxy *proxy;
  double alpha;  // mass damping in q
  double stable_s;
  int32_t n;
  int32_t *node;         // that touch                                             (n)
  double *rest;          // their positions, m                                     (n, 3)
  double *mass;          // lumped                                                 (n)
  int64_t moves;         // of the proxy, seen
  double since_s;        // time from its last move to the state
  double *place;         // examined places in the frame of the body               (n, 3)
  double *distance;      // and values of the field there                          (n)
  rf_collide_step last;  // that led to the state
  rf_collide_step next;  // being computed: it may fail
  double carried[3];     // the force at the state
  double impulse[3];     // on the solid, N s, of the steps since the caller made it zero
} rf_collide;

// RF_ERR_ARG unless the system is that of explicit steps of the solid, with lumped mass and damping
// that the rule bears, and all nodes are free.
RF_MUST_CHECK rf_status rf_collide_create(const rf_collide_settings *set, const rf_system *system,
                                          rf_collide **out, rf_error *err);
void rf_collide_free(rf_collide *c);  // NULL is fine
// Begins with the body where it was moved last.
void rf_collide_reset(rf_collide *c);
// Numbers besides displacements on which the next step depends: since_s and carried.
enum { RF_COLLIDE_STATE = 4 };
void rf_collide_recall(rf_collide *c, const double state[RF_COLLIDE_STATE]);
void rf_collide_remember(const rf_collide *c, double state[RF_COLLIDE_STATE]);

// Changes accelerations `after` (n_nodes, 3) at the end of a step of h: v and a of its
// beginning, x of its end, w = v + h/2 a.
void rf_collide_touch_rt(rf_collide *c, double h, const double *v, const double *a, const double *x,
                         const double *w, double *after);
// The step becomes the state.
void rf_collide_keep_rt(rf_collide *c, double h);

#endif
