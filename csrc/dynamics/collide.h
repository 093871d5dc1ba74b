// Contact of nodes of a solid with rigid bodies that the caller moves, in explicit steps.
//
// A rule requires accelerations a' of the nodes that the step would leave inside of a body; the
// force of node k is then q_k (a'_k - a'_free,k), with q = m (1 + h alpha / 2) as in the equation
// of a step, so that its impulse h/2 (f + f') is the change of momentum to rounding.  Friction
// obeys Coulomb's law: what a rule requires along the surface, to stick, is cut to mu times what it
// requires along the normal.  A node that touches several bodies obeys them in turn.
//
// With damping inside of the step, forces at some nodes accelerate all:
//     a' = a'_free + (M + h/2 D)^-1 f,
// and those of all touching nodes and bodies follow together from Signorini's and Coulomb's laws
// (collide_inside.c).
//
// Rules set a' as if the next step had the same length h.  If it has another one, h', the force at
// its beginning is f h / h', so that both halves of the impulse are equal.  Nodes then move as fast
// as the rule requires, but for the acceleration without contact.  With damping inside, the whole
// acceleration (M + h/2 D)^-1 f is scaled, of all nodes: single nodes would lack the damping of the
// other half.
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
#include "mesh/constraints.h"
#include "sdf/field.h"

typedef struct rf_solid rf_solid;

// A node at or below the surface.  Velocities are relative to the body there.
typedef struct rf_collide_point {
  double step_s;      // h
  double distance_m;  // of the place examined, 0 or less
  double depth_m;     // at the end of the step, 0 or more; of rules that examine places ahead
  double recovery;    // part of the depth by which a node without velocity goes outwards, >= 0
  double normal[3];   // outwards
  double before[3];   // velocity at the beginning of the step
  double halfway[3];  // in its middle
  double started[3];  // acceleration at its beginning
  double free[3];     // a'_free
} rf_collide_point;

typedef struct rf_collide_rule {
  const char *name;
  bool ahead;  // examines the places of the end of the next step, x'' = x' + h v' + h^2/2 a'_free
  bool sinks;  // under damping, without recovery of the depth
  // Sets the change a' - a'_free that keeps the node on the surface and from sliding.  False: the
  // step keeps it without.
  bool (*require_rt)(const rf_collide_point *p, double change[3]);
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
  int32_t n_proxies;
  const rf_proxy *const *proxy;  // different ones, borrowed              (n_proxies)
  const rf_solid *solid;
  double alpha;     // mass damping, 1/s
  double stable_s;  // stable step, > 0: depth is recovered in a time proportional to it
  int32_t n;
  const int32_t *node;  // that touch, free ones
} rf_collide_settings;

// Contact with one body in one step.
typedef struct rf_collide_step {
  rf_pose pose;  // of the body at its end
  int32_t n_touching;
  int32_t *touching;  // numbers of nodes that touched                      (n)
  double *force;      // on them, N                                         (n, 3)
  int32_t n_sliding;  // of them, those whose friction is at its limit
  double total[3];    // force on the solid, N
  double pushed[3];   // of it, that of the nodes along their normals
  double torque[3];   // and torque about the position of the body, N m
  double depth_m;     // of the deepest of them in the body
} rf_collide_step;

typedef struct rf_collide_body {
  const rf_proxy *proxy;
  int64_t moves;         // of it, seen
  double since_s;        // time from its last move to the state
  rf_pose seen;          // when nodes are at the places examined
  rf_collide_step last;  // that led to the state
  rf_collide_step next;  // being computed: it may fail
  double carried[3];     // the force at the state
  double impulse[3];     // on the solid, N s, of the steps since the caller made it zero
} rf_collide_body;

typedef struct rf_collide rf_collide;
typedef struct rf_collide_inside rf_collide_inside;

// A step: v and a of its beginning, x of its end, w = v + h/2 a; all (n_nodes, 3).
typedef struct rf_collide_motion {
  double h;
  const double *v, *a, *x, *w;
  double *after;  // accelerations at its end, which contact changes
} rf_collide_motion;

// Contact of one motion.
struct rf_collide {
  double alpha;  // mass damping in q
  double stable_s;
  int32_t n;
  int32_t *node;            // that touch                                             (n)
  double *rest;             // their positions, m                                     (n, 3)
  double *mass;             // lumped                                                 (n)
  double *place;            // examined places in the frame of a body                 (n, 3)
  double *distance;         // and values of its field there                          (n)
  double last_s;            // length of the step that led to the state; 0: there was none
  double ratio;             // last_s over that of the step being computed, 1 at first
  double *by_contact;       // accelerations of the nodes by all forces at the state  (n, 3)
  double *next_by_contact;  // of the step being computed                             (n, 3)
  double *spread;           // with damping inside: accelerations of all nodes by these   (n_all, 3)
  double *next_spread;      // forces, and those of the step being computed; else NULL    (n_all, 3)
  double *adjusted;         // a of a step of another length                          (n_all, 3)
  int64_t n_all;            // nodes of the solid
  const rf_constraints *constraints;  // borrowed; NULL: none
  int32_t n_bodies;
  rf_collide_body *body;      // (n_bodies)
  bool damped;                // in any way
  rf_collide_inside *inside;  // owned; NULL: no damping inside
  int32_t n_joint;            // contacts whose forces were solved for together in the last step
  bool unsolved;              // forces of the step being computed do not obey the laws
  int64_t n_unsolved;         // such steps since the last reset
  // Changes the accelerations of a step with damping inside, which allocates memory; else NULL.
  rf_status (*settle)(rf_collide *c, rf_system *s, const rf_collide_motion *m);
};

// usual_s: length of most steps.  RF_ERR_ARG unless the system is that of explicit steps of the
// solid, with lumped mass, and all nodes are free.
RF_MUST_CHECK rf_status rf_collide_create(const rf_collide_settings *set, const rf_system *system,
                                          double usual_s, rf_collide **out, rf_error *err);
void rf_collide_free(rf_collide *c);  // NULL is fine
// Begins with the bodies where they were moved last.
void rf_collide_reset(rf_collide *c);
// Numbers besides displacements on which the next step depends: last_s, since_s and carried of each
// body, by_contact, and spread.
static inline int64_t rf_collide_numbers(const rf_collide *c) {
  return 1 + 4 * (int64_t)c->n_bodies + 3 * ((int64_t)c->n + (c->inside ? c->n_all : 0));
}
void rf_collide_recall(rf_collide *c, const double *state);
void rf_collide_remember(const rf_collide *c, double *state);

// Returns the acceleration at the beginning of a step of h: that of the state, or another one
// where the step before was of another length.
const double *rf_collide_begin_rt(rf_collide *c, double h, const double *state);
// Changes the accelerations at the end of a step.
RF_MUST_CHECK rf_status rf_collide_touch_rt(rf_collide *c, rf_system *s,
                                            const rf_collide_motion *m);
// The step becomes the state.
void rf_collide_keep_rt(rf_collide *c, double h);

// Parts of a step.
// Finds the distances of all nodes from a body where its rule examines them.
void rf_collide_measure_rt(const rf_collide *c, rf_collide_body *b, const rf_collide_motion *m);
// Computes the point of node i, and its arm from the position of the body; false: no normal.
bool rf_collide_examine_rt(const rf_collide *c, const rf_collide_body *b, int64_t i,
                           const rf_collide_motion *m, rf_collide_point *p, double arm[3]);
// Adds a force on node i.
void rf_collide_push_rt(rf_collide *c, rf_collide_body *b, int64_t i, const rf_collide_point *p,
                        const double arm[3], const double force[3], bool slides);

// For steps with damping inside.
RF_MUST_CHECK rf_status rf_collide_inside_create(rf_collide *c, const rf_system *system,
                                                 double usual_s, rf_error *err);
// Solves for the responses of all nodes that may touch in steps of h, for which no step has to wait
// then.  RF_ERR_ARG: they need too much memory.
RF_MUST_CHECK rf_status rf_collide_prepare(rf_collide *c, rf_system *s, double h);
void rf_collide_inside_free(rf_collide_inside *inside);  // NULL is fine

#endif
