// Local stiffness of contact between a body and a tool, from the states that a simulation passes.
//
// With the way d of the tool between two states and the change y of the force against it, the
// stiffness is the symmetric part of
//     K = P (sum y d^T) (A + s^2 I)^-1,   P = A (A + s^2 I)^-1,   A = sum d d^T,
// its eigenvalues clamped to [0, limit].  P is the identity for directions in which the tool moved,
// and zero for the others, in which nothing is known.  States fade out of the sums as newer ones
// bring ways: those of a tool at rest bring nothing and take nothing.
//
// The limit is 4 m / h^2, with m the mass of the nodes that touch and h the step of the simulation:
// it never cuts the stiffness k of the body.  For displacements of the nodes that touch, K is at
// most that of these nodes alone, the others held, and h omega <= 2 of a stable step makes that at
// most 4 M / h^2.
#ifndef RF_TOUCH_EXPLICIT_SECANT_H
#define RF_TOUCH_EXPLICIT_SECANT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct rf_explicit_secant {
  double noise_m;       // s: ways shorter than this tell little, > 0
  double memory;        // weight of a state after one with a long way, in [0, 1)
  int32_t states;       // in contact, in a row
  double place_m[3];    // of the tool in the last state
  double force_n[3];    // on the tool there
  double ways[9];       // sum d d^T, m^2
  double changes[9];    // sum y d^T, N m
  double stiffness[9];  // N/m
  // of all states: squares of changes, and of those that the stiffness before did not foresee
  double changed_n2, missed_n2;
} rf_explicit_secant;

// Takes a state.  Without contact the stiffness is zero, and what was known is forgotten.
void rf_explicit_secant_take_rt(rf_explicit_secant *s, bool touching, const double place_m[3],
                                const double force_n[3], double limit_n_per_m);
void rf_explicit_secant_forget_rt(rf_explicit_secant *s);
// Returns the largest eigenvalue of the stiffness.
double rf_explicit_secant_most_rt(const rf_explicit_secant *s);

#endif
