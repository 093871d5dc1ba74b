#include "base/denormals_rt.h"

#if defined(__x86_64__) || defined(_M_X64)
#include <xmmintrin.h>

enum { FLUSH_RESULTS_AND_OPERANDS = 0x8040 };
uint64_t rf_denormals_flush_rt(void) {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | FLUSH_RESULTS_AND_OPERANDS);
  return before;
}
void rf_denormals_restore_rt(uint64_t before) { _mm_setcsr((unsigned)before); }
#elif defined(__aarch64__)
uint64_t rf_denormals_flush_rt(void) {
  uint64_t before;
  __asm__ volatile("mrs %0, fpcr" : "=r"(before));
  __asm__ volatile("msr fpcr, %0" : : "r"(before | (1ULL << 24)));
  return before;
}
void rf_denormals_restore_rt(uint64_t before) { __asm__ volatile("msr fpcr, %0" : : "r"(before)); }
#else
uint64_t rf_denormals_flush_rt(void) { return 0; }
void rf_denormals_restore_rt(uint64_t before) { (void)before; }
#endif
