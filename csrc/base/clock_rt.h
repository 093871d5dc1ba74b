// The one look at the clock that real-time code may take: monotonic, without a system call where
// the kernel maps its clock into the process (as Linux does).
#ifndef RF_BASE_CLOCK_RT_H
#define RF_BASE_CLOCK_RT_H

double rf_clock_us_rt(void);  // microseconds since some start

#endif
