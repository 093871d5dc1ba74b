// Vector kernels are written once, in files *_body.h, on GCC vector types of RF_WIDTH doubles, and
// compiled once per instruction set by small *_rt.c files that set the target, RF_WIDTH and
// RF_NAME(f) (for example f_avx2_rt) before including them.  The set is chosen at run time, when a
// model is created; nothing is tuned for the build machine.  Tests request every variant by name
// and compare them.
#ifndef RF_LINALG_SIMD_H
#define RF_LINALG_SIMD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef enum rf_simd {
  RF_SIMD_BEST = 0,  // request for the widest set of this processor
  RF_SIMD_PLAIN = 1,
  RF_SIMD_AVX2 = 2,
  RF_SIMD_AVX512 = 3
} rf_simd;

#if defined(__x86_64__) && defined(__GNUC__)
#define RF_SIMD_X86 1
#else
#define RF_SIMD_X86 0
#endif

const char *rf_simd_name(rf_simd simd);  // "plain", "avx2", "avx512"
bool rf_simd_available(rf_simd simd);    // compiled in and supported by this processor
RF_MUST_CHECK rf_status rf_simd_check(rf_simd simd, rf_error *err);  // RF_ERR_ARG: not available
rf_simd rf_simd_resolve(rf_simd simd);  // replaces RF_SIMD_BEST by the widest available

// Returns the second-level cache of a core, bytes; 0: not known.  Constant within a process.
int64_t rf_simd_cache_bytes(void);

// Calls the variant of kernel f: f_plain_rt, f_avx2_rt or f_avx512_rt.
#if RF_SIMD_X86
#define RF_SIMD_CALL(simd, f, ...)                       \
  ((simd) == RF_SIMD_AVX512 ? f##_avx512_rt(__VA_ARGS__) \
   : (simd) == RF_SIMD_AVX2 ? f##_avx2_rt(__VA_ARGS__)   \
                            : f##_plain_rt(__VA_ARGS__))
#else
#define RF_SIMD_CALL(simd, f, ...) f##_plain_rt(__VA_ARGS__)
#endif
// Declares the variants of a kernel of function type `type`.
#define RF_SIMD_DECLARE(type, f) type f##_plain_rt, f##_avx2_rt, f##_avx512_rt

// Returns the number of doubles per vector of a variant.
static inline int rf_simd_width(rf_simd simd) { return simd == RF_SIMD_AVX512 ? 8 : 4; }

#endif
