#include <string.h>

#include "linalg/cubic.h"

// Finds positions of numbers in the near ones of number[i]; -1: not near.  Both ascend.
static void find(const rf_cubic *c, int32_t i, const int32_t *number, int32_t *local) {
  const int32_t *near = c->near + c->first[number[i]];
  int32_t k = 0;
  for (int32_t j = 0; j <= i; ++j) {
    while (near[k] < number[j]) ++k;
    local[j] = near[k] == number[j] ? k : -1;
  }
}

void rf_cubic_second_rt(const rf_cubic *c, int32_t count, const int32_t *number, const double *g,
                        bool all, int32_t *local, double *matrix) {
  memset(matrix, 0, (size_t)count * (size_t)count * sizeof *matrix);
  for (int32_t i = 0; i < count; ++i) {
    double *row = matrix + (int64_t)i * count;
    find(c, i, number, local);
    for (int32_t j = 0; j <= i; ++j) {
      const float *entry = c->entry + c->at[number[i]] + (int64_t)local[j] * (local[j] + 1) / 2;
      double *lower = matrix + (int64_t)j * count;
      const int given = (g[i] != 0.0) + (g[j] != 0.0);
      if (local[j] < 0 || (!all && given == 0)) continue;
      // below the diagonal: an entry of three numbers is in three places, of two of them in two
      for (int32_t k = 0; k <= j; ++k) {
        if (local[k] < 0 || (!all && given < 2 && g[k] == 0.0)) continue;
        const double t = (double)entry[local[k]];
        row[j] += t * g[k];
        if (k != j) row[k] += t * g[j];
        if (j != i) lower[k] += t * g[i];
      }
    }
  }
  for (int32_t i = 0; i < count; ++i)
    for (int32_t j = 0; j < i; ++j) matrix[(int64_t)j * count + i] = matrix[(int64_t)i * count + j];
}

bool rf_cubic_wide_rt(const rf_cubic *c, int32_t count, const int32_t *number, int32_t *local) {
  uint64_t near[64] = {0};
  if (count > 64) return true;
  for (int32_t i = 0; i < count; ++i) {
    find(c, i, number, local);
    for (int32_t j = 0; j <= i; ++j) {
      if (local[j] < 0) continue;
      near[i] |= UINT64_C(1) << j;
      near[j] |= UINT64_C(1) << i;
    }
  }
  for (int32_t i = 0; i < count; ++i)
    for (int32_t j = 0; j < i; ++j)
      if (near[i] >> j & 1 && near[i] != near[j]) return true;
  return false;
}
