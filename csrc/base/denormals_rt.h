// Denormal numbers as zero: arithmetic with them takes a hundred times as long.
#ifndef RF_BASE_DENORMALS_RT_H
#define RF_BASE_DENORMALS_RT_H

#include <stdint.h>

// Makes denormal numbers count as zero in this thread; returns the previous mode, to be restored.
uint64_t rf_denormals_flush_rt(void);
void rf_denormals_restore_rt(uint64_t before);

#endif
