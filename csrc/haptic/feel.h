// Statistics of the force on the hand in cycles with contact: chatter, and saturation.
//
// Chatter is the part of the force that is faster than 20 ms, by two high-pass filters of first
// order one after the other: neither a constant force nor one that rises evenly counts.
#ifndef RF_HAPTIC_FEEL_H
#define RF_HAPTIC_FEEL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct rf_feel {
  bool begun;
  double slow[2][3];  // of each filter
  double squares;     // sum of chatter squared, N^2
  double sum;         // of the size of forces, N
  int64_t touching;   // cycles with contact
  int64_t saturated;  // of them, those in which the coupling was cut
} rf_feel;

// A cycle of length dt_s, which made a force on the hand.
void rf_feel_add_rt(rf_feel *feel, double dt_s, const double force[3], bool touching,
                    bool saturated);
// Root mean square over cycles with contact, N; 0: there were none.
double rf_feel_chatter_rt(const rf_feel *feel);
double rf_feel_mean_rt(const rf_feel *feel);  // of the size of forces, likewise

#endif
