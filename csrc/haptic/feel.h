// Statistics of the force on the hand in cycles with contact: chatter, and saturation.
//
// Chatter is the part of the force faster than 20 ms, by two first-order high-pass filters in
// series: neither a constant force nor one that rises evenly counts.
#ifndef RF_HAPTIC_FEEL_H
#define RF_HAPTIC_FEEL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct rf_feel {
  bool begun;
  double slow[2][3];  // low-pass state of each filter, N
  double squares;     // sum of chatter squared, N^2
  double sum;         // sum of force magnitudes, N
  int64_t touching;   // cycles with contact
  int64_t saturated;  // of them, those in which the coupling saturated
} rf_feel;

// Adds a cycle of length dt_s with its force on the hand.
void rf_feel_add_rt(rf_feel *feel, double dt_s, const double force[3], bool touching,
                    bool saturated);
// Returns the root mean square over cycles with contact, N; 0 without any.
double rf_feel_chatter_rt(const rf_feel *feel);
double rf_feel_mean_rt(const rf_feel *feel);  // force magnitude, likewise

#endif
