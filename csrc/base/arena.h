// Size and carve with one function: an rf_arena without a base only counts,
// one with a base hands out 64-byte aligned pieces.  A room writes one
// `layout(work, sizes, arena)` and runs it twice, so the byte count can never
// disagree with the carving.
#ifndef RF_BASE_ARENA_H
#define RF_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

typedef struct rf_arena {
  char *base;   // nullable: count only
  size_t used;  // bytes; SIZE_MAX after an overflow
} rf_arena;

static inline void *rf_arena_take(rf_arena *a, size_t count, size_t size) {
  const size_t step = 64;
  if (a->used == SIZE_MAX || (size != 0 && count > (SIZE_MAX - step - a->used) / size)) {
    a->used = SIZE_MAX;
    return NULL;
  }
  void *piece = a->base ? a->base + a->used : NULL;
  a->used += (count * size + step - 1) / step * step;
  return piece;
}

#endif
