// Nearest places: the body of the variants.
#include "contact/deformed_field_nearest.h"
#include "linalg/simd_body.h"

typedef int64_t rf_bits __attribute__((vector_size(RF_WIDTH * sizeof(int64_t))));

RF_INLINE rf_v rf_least(rf_v a, rf_v b) {
  const rf_bits first = (rf_bits)(a < b);
  return (rf_v)((first & (rf_bits)a) | (~first & (rf_bits)b));
}

void RF_NAME(rf_deformed_nearest)(const double *place, int32_t stride, int32_t n, const double x[3],
                                  int32_t k, int32_t *out) {
  // squares whose last bits are the number of the place: all differ, and the least names itself
  _Alignas(64) double key[RF_NEAREST_MOST];
  const int64_t low = (1 << RF_NEAREST_BITS) - 1;
  const rf_v most = rf_splat(1e300);
  const rf_v a = rf_splat(x[0]), b = rf_splat(x[1]), c = rf_splat(x[2]);
  rf_bits number;
  for (int lane = 0; lane < RF_WIDTH; ++lane) number[lane] = lane;
  for (int32_t i = 0; i < n; i += RF_WIDTH) {
    const rf_v u = a - rf_load(place + i), v = b - rf_load(place + stride + i);
    const rf_v w = c - rf_load(place + 2 * stride + i);
    const rf_v square = rf_least(u * u + v * v + w * w, most);
    rf_store(key + i, (rf_v)(((rf_bits)square & ~low) | number));
    number += RF_WIDTH;
  }
  double last = -1.0;
  for (int32_t j = 0; j < k; ++j) {
    const rf_v before = rf_splat(last), none = rf_splat(1.7e308);
    rf_v least = none;
    for (int32_t i = 0; i < n; i += RF_WIDTH) {
      const rf_v one = rf_load(key + i);
      const rf_bits left = (rf_bits)(one > before);
      least = rf_least((rf_v)((left & (rf_bits)one) | (~left & (rf_bits)none)), least);
    }
    last = least[0];
    for (int lane = 1; lane < RF_WIDTH; ++lane) last = least[lane] < last ? least[lane] : last;
    int64_t bits;
    memcpy(&bits, &last, sizeof bits);
    out[j] = (int32_t)(bits & low);
  }
}
