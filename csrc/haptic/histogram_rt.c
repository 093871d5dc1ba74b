#include "haptic/histogram_rt.h"

#include <math.h>

static const double SHORTEST = 0.01;  // us

// only one thread writes: a load and a store suffice
#define LOAD(a) atomic_load_explicit(&(a), memory_order_relaxed)
#define STORE(a, value) atomic_store_explicit(&(a), (value), memory_order_relaxed)

void rf_histogram_add_rt(rf_histogram *h, double us) {
  double bin = us > SHORTEST ? RF_HISTOGRAM_A_DOUBLING * log2(us / SHORTEST) : 0.0;
  if (!(bin < RF_HISTOGRAM_BINS - 1)) bin = RF_HISTOGRAM_BINS - 1;
  const int32_t k = (int32_t)bin;
  STORE(h->count[k], LOAD(h->count[k]) + 1);
  STORE(h->sum, LOAD(h->sum) + us);
  if (us > LOAD(h->most)) STORE(h->most, us);
  STORE(h->n, LOAD(h->n) + 1);
}

double rf_histogram_percentile_rt(const rf_histogram *h, double share) {
  const double wanted = share * (double)LOAD(h->n), most = LOAD(h->most);
  int64_t seen = 0;
  for (int32_t k = 0; k < RF_HISTOGRAM_BINS - 1; ++k) {
    seen += LOAD(h->count[k]);
    if (seen > 0 && (double)seen >= wanted)
      return fmin(SHORTEST * exp2((k + 1.0) / RF_HISTOGRAM_A_DOUBLING), most);
  }
  return most;
}
