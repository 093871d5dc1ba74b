// Times of very many cycles in little memory: counts in bins 1 % wide.
//
// One thread adds, any may read meanwhile: what they see may lack the newest ones.
#ifndef RF_HAPTIC_HISTOGRAM_RT_H
#define RF_HAPTIC_HISTOGRAM_RT_H

#include <stdatomic.h>
#include <stdint.h>

enum { RF_HISTOGRAM_BINS = 2048, RF_HISTOGRAM_A_DOUBLING = 70 };

typedef struct rf_histogram {
  _Atomic int64_t count[RF_HISTOGRAM_BINS];  // from 0.01 us on; the last takes all that is longer
  _Atomic int64_t n;
  _Atomic double most, sum;  // us
} rf_histogram;

void rf_histogram_add_rt(rf_histogram *h, double us);
// The time that the share `share` of all do not exceed, to 1 %, never above the largest one; 0
// without any.
double rf_histogram_percentile_rt(const rf_histogram *h, double share);

#endif
