#define _POSIX_C_SOURCE 200112L

#include "base/clock_rt.h"

#include <errno.h>
#include <math.h>
#include <time.h>

// CLOCK_MONOTONIC is the closest substitute (on macOS it also counts sleep).
#if defined(CLOCK_BOOTTIME)
#define RF_CLOCK CLOCK_BOOTTIME
#else
#define RF_CLOCK CLOCK_MONOTONIC
#endif

static double read_us(clockid_t which) {
  struct timespec now = {0};
  clock_gettime(which, &now);
  return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

static struct timespec split(double us) {
  struct timespec time;
  time.tv_sec = (time_t)floor(1e-6 * us);
  time.tv_nsec = (long)(1e3 * (us - 1e6 * (double)time.tv_sec));
  return time;
}

double rf_clock_us_rt(void) { return read_us(RF_CLOCK); }

double rf_processor_us_rt(void) { return read_us(CLOCK_THREAD_CPUTIME_ID); }

void rf_clock_sleep_until_rt(double us) {
  const struct timespec then = split(us);
  int error;
  do {
    error = clock_nanosleep(RF_CLOCK, TIMER_ABSTIME, &then, NULL);
  } while (error == EINTR);
  if (!error) return;
  // a sandbox may provide this clock but no sleep on it
  const struct timespec left = split(fmax(us - rf_clock_us_rt(), 0.0));
  (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &left, NULL);
}
