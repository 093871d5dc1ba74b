// Local stiffness of contact between a body and a tool, from the states that a simulation passes.
//
// With the way d of the tool between two states and the change y of the force against it, the
// stiffness is the symmetric part of
//     K = P (sum y d^T) (A + s^2 I)^-1,   P = A (A + s^2 I)^-1,   A = sum d d^T.
// P is the identity for directions in which the tool moved, and zero for the others, in which
// nothing is known.  States fade out of the sums as newer ones bring ways: those of a tool at rest
// bring nothing and take nothing.  Some states without contact are left out, as chatter.
//
// All of K is used while the tool sticks, i.e. once the same nodes have touched, and none has
// slid, for some states.  Else only  n (n.K n) n^T, n the unit vector of the normal forces: across
// the normal the force depends on the path then, as friction turns with the motion and nodes come
// and go under a tool that rubs, so that changes of the past foresee nothing.  A quarter of a
// change of what is used comes in with each state: a tool that begins to move or to slide is late
// by two periods, and a stiffness that came at once would make it up in one.
//
// Eigenvalues of K are clamped to [0, 2 |F| / z], with the present force F and the depth z: the sum
// of the ways of the tool against the force, from the contact's beginning.  A contact that stiffens
// has k >= |F| / z, so K <= 2 k, with which the force is as stable as without
// (touch/explicit_display.h).  Ways across the force leave z as it is, friction makes it larger, so
// that the bound holds when the tool rubs.  At z <= s, and in a contact whose beginning was not
// seen, K is zero.
#ifndef RF_TOUCH_EXPLICIT_SECANT_H
#define RF_TOUCH_EXPLICIT_SECANT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct rf_explicit_secant {
  double noise_m;        // s: ways shorter than this tell little, > 0
  double memory;         // weight of a state after one with a long way, in [0, 1)
  int32_t most_open;     // states without contact, after which the contact has ended
  int32_t sticks_after;  // states after which a tool sticks
  int32_t states;        // in contact
  int32_t held;          // states in a row with the same nodes, without slip
  int32_t open;          // without it since
  bool placed;           // the place below is known
  double place_m[3];     // of the tool in the last state of the contact, or without any
  double force_n[3];     // on the tool there
  double towards[3];     // unit vector of the last force
  double depth_m;        // z >= 0; INFINITY: not known
  double ways[9];        // sum d d^T, m^2
  double changes[9];     // sum y d^T, N m
  double stiffness[9];   // K, N/m
  double used[9];        // that comes in: all of it, or its part along the normal
  // of all states: squares of changes, and of those that the stiffness used did not foresee
  double changed_n2, missed_n2;
} rf_explicit_secant;

// State of a contact.
typedef struct rf_explicit_touch {
  bool touching;
  bool held;           // the nodes are those of the state before, and none slides
  double place_m[3];   // of the tool
  double force_n[3];   // on it
  double normal_n[3];  // of this, the part without friction
} rf_explicit_touch;

// Takes a state.  Without contact the stiffness is zero; after most_open such states what was known
// is forgotten.
void rf_explicit_secant_take_rt(rf_explicit_secant *s, const rf_explicit_touch *now);
// Forgets all but the statistics: the tool jumps.
void rf_explicit_secant_forget_rt(rf_explicit_secant *s);
// Returns true if all of the stiffness is used.
static inline bool rf_explicit_secant_sticks_rt(const rf_explicit_secant *s) {
  return s->held >= s->sticks_after;
}
// Returns the largest eigenvalue of the stiffness.
double rf_explicit_secant_most_rt(const rf_explicit_secant *s);

#endif
