#define _POSIX_C_SOURCE 199309L

#include "base/clock_rt.h"

#include <time.h>

static double read_us(clockid_t which) {
  struct timespec now = {0};
  clock_gettime(which, &now);
  return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

double rf_clock_us_rt(void) { return read_us(CLOCK_MONOTONIC); }

double rf_processor_us_rt(void) { return read_us(CLOCK_THREAD_CPUTIME_ID); }
