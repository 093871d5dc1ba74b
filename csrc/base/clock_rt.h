// Clocks for real-time code: a monotonic clock, read without a system call where the kernel maps it
// into the process (as Linux does), and the processor time of the calling thread, which costs a
// system call and does not advance while the thread is not running.
//
// The monotonic clock keeps running while the machine is suspended (CLOCK_BOOTTIME on Linux), so
// that cycles lost to suspension count as missed.
#ifndef RF_BASE_CLOCK_RT_H
#define RF_BASE_CLOCK_RT_H

double rf_clock_us_rt(void);      // monotonic clock, microseconds since an arbitrary start
double rf_processor_us_rt(void);  // processor time of this thread, microseconds

// Sleeps until the monotonic clock shows `us`; continues after signals.
void rf_clock_sleep_until_rt(double us);

#endif
