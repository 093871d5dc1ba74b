// Vector kernels are written once, in files *_body.h, on GCC vector types of
// RF_WIDTH doubles, and compiled once per instruction set by small *_rt.c files
// that set the target before including them.  The set is chosen at run time,
// when a model is created; nothing is compiled for the build machine alone.
// Every variant can be asked for by name, so that tests compare them all.
#ifndef RF_LINALG_SIMD_H
#define RF_LINALG_SIMD_H

#include <stdbool.h>

typedef enum rf_simd {
  RF_SIMD_BEST = 0,  // a request: the widest this processor has
  RF_SIMD_PLAIN = 1,
  RF_SIMD_AVX2 = 2,
  RF_SIMD_AVX512 = 3
} rf_simd;

#if defined(__x86_64__) && defined(__GNUC__)
#define RF_SIMD_X86 1
#else
#define RF_SIMD_X86 0
#endif

const char *rf_simd_name(rf_simd simd);   // "plain", "avx2", "avx512"
bool rf_simd_available(rf_simd simd);     // compiled in, and this processor runs it
rf_simd rf_simd_resolve(rf_simd simd);    // RF_SIMD_BEST becomes the widest available

// Doubles per vector of a variant.
static inline int rf_simd_width(rf_simd simd) { return simd == RF_SIMD_AVX512 ? 8 : 4; }

#endif
