// Histogram of cycle times in little memory: counts in bins 1 % wide.
//
// One thread adds, any thread may read meanwhile; the newest entries may then be missing.
#ifndef RF_HAPTIC_HISTOGRAM_RT_H
#define RF_HAPTIC_HISTOGRAM_RT_H

#include <stdatomic.h>
#include <stdint.h>

enum { RF_HISTOGRAM_BINS = 2048, RF_HISTOGRAM_A_DOUBLING = 70 };

typedef struct rf_histogram {
  _Atomic int64_t count[RF_HISTOGRAM_BINS];  // from 0.01 us on; the last one holds all longer times
  _Atomic int64_t n;
  _Atomic double most, sum;  // us
} rf_histogram;

void rf_histogram_add_rt(rf_histogram *h, double us);
// Returns the time that the part `share` of all cycles does not exceed, to 1 %, at most the largest
// time; 0 without any.
double rf_histogram_percentile_rt(const rf_histogram *h, double share);

#endif
