#define _POSIX_C_SOURCE 199309L

#include "base/clock_rt.h"

#include <time.h>

double rf_clock_us_rt(void) {
  struct timespec now = {0};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}
