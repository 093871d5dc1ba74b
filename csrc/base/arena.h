// Memory layout by one function that counts and carves: an rf_arena without a base only counts, one
// with a base hands out 64-byte aligned pieces.  A room writes one `layout(work, sizes, arena)` and
// runs it twice, so the byte count always agrees with the carving.  A red zone follows each piece
// (base/redzone.h).
#ifndef RF_BASE_ARENA_H
#define RF_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

#include "base/redzone.h"

typedef struct rf_arena {
  char *base;   // nullable: count only
  size_t used;  // bytes; SIZE_MAX after an overflow
} rf_arena;

static inline void *rf_arena_take(rf_arena *a, size_t count, size_t size) {
  const size_t step = 64, spare = step + RF_REDZONE;
  if (a->used == SIZE_MAX ||
      (size != 0 && (a->used > SIZE_MAX - spare || count > (SIZE_MAX - spare - a->used) / size))) {
    a->used = SIZE_MAX;
    return NULL;
  }
  const size_t bytes = count * size;
  const size_t taken = (bytes + step - 1) / step * step + RF_REDZONE;
  char *piece = a->base ? a->base + a->used : NULL;
  a->used += taken;
  if (piece) {
    // the same memory may have been carved differently before
    rf_redzone_open(piece, bytes);
    rf_redzone_close(piece + bytes, taken - bytes);
  }
  return piece;
}

#endif
