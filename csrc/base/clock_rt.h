// The looks at clocks that real-time code may take: one that is monotonic, without a system call
// where the kernel maps its clock into the process (as Linux does), and that of the calling thread,
// which stands still while the machine does something else; this one costs a system call.
#ifndef RF_BASE_CLOCK_RT_H
#define RF_BASE_CLOCK_RT_H

double rf_clock_us_rt(void);      // microseconds since some start
double rf_processor_us_rt(void);  // of this thread

#endif
