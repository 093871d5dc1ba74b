// Clocks for real-time code: a monotonic one, read without a system call where the kernel maps it
// into the process (as Linux does), and that of the calling thread, which stands still while the
// machine does something else; reading this one costs a system call.
//
// The first one goes on while the machine is suspended (CLOCK_BOOTTIME on Linux), so that cycles
// which the machine slept through count as missed like all others.
#ifndef RF_BASE_CLOCK_RT_H
#define RF_BASE_CLOCK_RT_H

double rf_clock_us_rt(void);      // microseconds since some start
double rf_processor_us_rt(void);  // of this thread

// Sleeps until the first clock shows `us`; signals do not end it.
void rf_clock_sleep_until_rt(double us);

#endif
