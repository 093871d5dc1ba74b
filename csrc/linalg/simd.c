#include "linalg/simd.h"

#include <unistd.h>
#if RF_SIMD_X86
#include <cpuid.h>
#endif

const char *rf_simd_name(rf_simd simd) {
  switch (simd) {
    case RF_SIMD_BEST: return "best";
    case RF_SIMD_PLAIN: return "plain";
    case RF_SIMD_AVX2: return "avx2";
    case RF_SIMD_AVX512: return "avx512";
    default: return "unknown";
  }
}

#if RF_SIMD_X86
// Asks the processor, not __builtin_cpu_supports: the answers of that come from the compiler's own
// library, and where it is empty, as Zig's, every processor seems to have plain kernels only.
static rf_simd widest(void) {
  enum { AVX_STATE = 6, AVX512_STATE = 0xe6 };  // registers that the system saves
  const unsigned avx512 = bit_AVX512F | bit_AVX512DQ | bit_AVX512BW | bit_AVX512VL;
  unsigned a, b, c, d, saved;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || !(c & bit_FMA)) return RF_SIMD_PLAIN;
  __asm__("xgetbv" : "=a"(saved), "=d"(d) : "c"(0));
  if ((saved & AVX_STATE) != AVX_STATE || !__get_cpuid_count(7, 0, &a, &b, &c, &d) ||
      !(b & bit_AVX2))
    return RF_SIMD_PLAIN;
  return (saved & AVX512_STATE) == AVX512_STATE && (b & avx512) == avx512 ? RF_SIMD_AVX512
                                                                          : RF_SIMD_AVX2;
}
#else
static rf_simd widest(void) { return RF_SIMD_PLAIN; }
#endif

bool rf_simd_available(rf_simd simd) {
  // found once, as virtual machines take microseconds to answer; every thread finds the same
  static _Atomic(rf_simd) found = RF_SIMD_BEST;
  if (found == RF_SIMD_BEST) found = widest();
  return simd >= RF_SIMD_BEST && simd <= found;
}

rf_status rf_simd_check(rf_simd simd, rf_error *err) {
  if (rf_simd_available(simd)) return RF_OK;
  if (!(simd >= RF_SIMD_BEST && simd <= RF_SIMD_AVX512))
    return rf_fail(err, RF_ERR_ARG, "simd must be between 0 and %d, got %d", (int)RF_SIMD_AVX512,
                   (int)simd);
  // a caller on another machine names a variant that its own processor has
  return rf_fail(
      err, RF_ERR_ARG,
      "kernel variant '%s' does not run on this processor: use an executor whose workers "
      "have the caller's kind of processor, or none",
      rf_simd_name(simd));
}

rf_simd rf_simd_resolve(rf_simd simd) {
  if (simd != RF_SIMD_BEST) return simd;
  if (rf_simd_available(RF_SIMD_AVX512)) return RF_SIMD_AVX512;
  return rf_simd_available(RF_SIMD_AVX2) ? RF_SIMD_AVX2 : RF_SIMD_PLAIN;
}

int64_t rf_simd_cache_bytes(void) {
#ifdef _SC_LEVEL2_CACHE_SIZE
  const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes > 0 ? bytes : 0;
#else
  return 0;
#endif
}
