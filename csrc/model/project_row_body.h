// Body of the kernel of project_row.h.  Needs RF_WIDTH and RF_NAME.
#include "linalg/simd_body.h"
#include "model/project_row.h"

// Processes `vectors` vectors of columns from column j on; the sums stay in registers.
RF_INLINE void columns(int vectors, int32_t ld, int32_t count, const int32_t *col,
                       const double *blocks, const double *rows, double *y) {
  rf_v sum[3][2] = {{{0}}};
  for (int32_t p = 0; p < count; ++p) {
    const double *b = blocks + 9 * (int64_t)p, *from = rows + 3 * (int64_t)col[p] * ld;
    for (int c = 0; c < 3; ++c)
      for (int v = 0; v < vectors; ++v) {
        const rf_v u = rf_load(from + (int64_t)c * ld + v * RF_WIDTH);
        for (int i = 0; i < 3; ++i) sum[i][v] += rf_splat(b[3 * i + c]) * u;
      }
  }
  for (int i = 0; i < 3; ++i)
    for (int v = 0; v < vectors; ++v) rf_store(y + (int64_t)i * ld + v * RF_WIDTH, sum[i][v]);
}

void RF_NAME(rf_project_row)(int32_t ld, int32_t count, const int32_t *col, const double *blocks,
                             const double *rows, double *y) {
  int32_t j = 0;
  for (; j + 2 * RF_WIDTH <= ld; j += 2 * RF_WIDTH)
    columns(2, ld, count, col, blocks, rows + j, y + j);
  for (; j < ld; j += RF_WIDTH) columns(1, ld, count, col, blocks, rows + j, y + j);
}
