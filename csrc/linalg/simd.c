#include "linalg/simd.h"

#include <unistd.h>

const char *rf_simd_name(rf_simd simd) {
  switch (simd) {
    case RF_SIMD_BEST: return "best";
    case RF_SIMD_PLAIN: return "plain";
    case RF_SIMD_AVX2: return "avx2";
    case RF_SIMD_AVX512: return "avx512";
    default: return "unknown";
  }
}

bool rf_simd_available(rf_simd simd) {
  switch (simd) {
    case RF_SIMD_BEST:
    case RF_SIMD_PLAIN: return true;
#if RF_SIMD_X86
    case RF_SIMD_AVX2: return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case RF_SIMD_AVX512:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma");
#endif
    default: return false;
  }
}

rf_status rf_simd_check(rf_simd simd, rf_error *err) {
  if (rf_simd_available(simd)) return RF_OK;
  if (!(simd >= RF_SIMD_BEST && simd <= RF_SIMD_AVX512))
    return rf_fail(err, RF_ERR_ARG, "simd must be between 0 and %d, got %d", (int)RF_SIMD_AVX512,
                   (int)simd);
  return rf_fail(err, RF_ERR_ARG, "kernel variant '%s' does not run on this processor",
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
