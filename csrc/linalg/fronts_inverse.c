#include "linalg/fronts_inverse.h"

#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "linalg/fronts_internal.h"

enum { WIDTH = RF_PANEL_WIDTH, BLOCKS = RF_FRONTS_INVERSE_COLUMNS / WIDTH, NONE = INT32_MAX };

typedef struct work {
  double *y;       // (BLOCKS, n, WIDTH), in the order of elimination
  double *z;       // (BLOCKS, most_rows, WIDTH) of one front
  int32_t *first;  // (count) first column of a front that is not zero; NONE: off the paths
  int32_t blocks;  // of right-hand sides
  int32_t begin;   // first front on a path
} work;

struct rf_fronts_inverse {
  const rf_fronts *f;
  const double *values;
  rf_simd simd;
  int workers;
  int32_t *low;   // (count) first column of a front that prepared rows need
  int32_t *last;  // (count) last prepared position at or below a front; -1: none
  work *of;       // (workers)
};

// Returns the column of the parent of a front that is its first row below.
static int32_t entry_of(const rf_fronts *f, int32_t s, int32_t parent) {
  return rf_front_row(f, s)[rf_front_columns(f, s)] - f->nodes.column[parent];
}

static void mark_rows(rf_fronts_inverse *p, int32_t count, const int32_t *unknown) {
  const rf_fronts *f = p->f;
  for (int32_t s = 0; s < f->nodes.count; ++s) p->low[s] = NONE, p->last[s] = -1;
  for (int32_t k = 0; k < count; ++k) {
    const int32_t at = f->position[unknown[k]], s = f->owner[at];
    p->low[s] = rf_least(p->low[s], at - f->nodes.column[s]);
    if (at > p->last[s]) p->last[s] = at;
  }
  // children precede parents
  for (int32_t s = 0; s < f->nodes.count; ++s) {
    const int32_t parent = rf_front_parent(f, s);
    if (parent < 0 || p->last[s] < 0) continue;
    p->low[parent] = rf_least(p->low[parent], entry_of(f, s, parent));
    if (p->last[s] > p->last[parent]) p->last[parent] = p->last[s];
  }
}

rf_status rf_fronts_inverse_create(const rf_fronts *f, const double *values, int32_t count,
                                   const int32_t *unknown, int workers, rf_fronts_inverse **out,
                                   rf_error *err) {
  rf_status st = RF_OK;
  rf_fronts_inverse *p = NULL;
  *out = NULL;
  RF_ALLOC(p, 1);
  p->f = f;
  p->values = values;
  p->simd = rf_simd_resolve(RF_SIMD_BEST);
  RF_ALLOC(p->low, f->nodes.count);
  RF_ALLOC(p->last, f->nodes.count);
  RF_ALLOC(p->of, workers);
  p->workers = workers;
  for (int w = 0; w < workers; ++w) {
    RF_ALLOC(p->of[w].y, (int64_t)BLOCKS * f->nodes.n * WIDTH);
    RF_ALLOC(p->of[w].z, (int64_t)BLOCKS * f->most_rows * WIDTH);
    RF_ALLOC(p->of[w].first, f->nodes.count);
  }
  mark_rows(p, count, unknown);
  *out = p;
  p = NULL;
done:
  rf_fronts_inverse_free(p);
  return st;
}

void rf_fronts_inverse_free(rf_fronts_inverse *p) {
  if (!p) return;
  for (int w = 0; w < p->workers; ++w) {
    rf_free(p->of[w].y);
    rf_free(p->of[w].z);
    rf_free(p->of[w].first);
  }
  rf_free(p->low);
  rf_free(p->last);
  rf_free(p->of);
  rf_free(p);
}

int32_t rf_fronts_inverse_position(const rf_fronts_inverse *p, int32_t unknown) {
  return p->f->position[unknown];
}

void rf_fronts_inverse_begin(const rf_fronts_inverse *p, int worker, int32_t columns) {
  work *w = &p->of[worker];
  w->blocks = rf_pieces(columns, WIDTH);
  w->begin = p->f->nodes.count;
  for (int32_t s = 0; s < p->f->nodes.count; ++s) w->first[s] = NONE;
}

void rf_fronts_inverse_add(const rf_fronts_inverse *p, int worker, int32_t column, int32_t unknown,
                           double value) {
  const rf_fronts *f = p->f;
  work *w = &p->of[worker];
  const int32_t at = f->position[unknown];
  int32_t s = f->owner[at], low = at - f->nodes.column[s];
  w->begin = rf_least(w->begin, s);
  // marks the path, as far as it is new, and clears it
  for (bool known = false; s >= 0 && !known;) {
    known = w->first[s] != NONE;
    w->first[s] = rf_least(w->first[s], low);
    for (int32_t block = 0; !known && block < w->blocks; ++block)
      memset(w->y + ((int64_t)block * f->nodes.n + f->nodes.column[s]) * WIDTH, 0,
             (size_t)rf_front_columns(f, s) * WIDTH * sizeof *w->y);
    const int32_t parent = rf_front_parent(f, s);
    if (parent >= 0) low = entry_of(f, s, parent);
    s = parent;
  }
  w->y[((int64_t)(column / WIDTH) * f->nodes.n + at) * WIDTH + column % WIDTH] += value;
}

static rf_front_panel panel_of(const rf_fronts_inverse *p, const work *w, int32_t s,
                               int32_t blocks) {
  const rf_fronts *f = p->f;
  return (rf_front_panel){.simd = p->simd,
                          .blocks = blocks,
                          .l = p->values + f->nodes.value_begin[s],
                          .z = w->z,
                          .stride = (int64_t)f->most_rows * WIDTH,
                          .rows = rf_front_rows(f, s),
                          .to = rf_front_columns(f, s),
                          .end = rf_front_rows(f, s)};
}

static void forward(const rf_fronts_inverse *p, const work *w, int32_t s, int32_t blocks) {
  const rf_fronts *f = p->f;
  rf_front_panel t = panel_of(p, w, s, blocks);
  const int32_t columns = t.to, *row = rf_front_row(f, s);
  t.from = w->first[s];
  const int64_t own = (int64_t)(columns - t.from) * WIDTH, rest = (t.rows - columns) * WIDTH;
  for (int32_t block = 0; block < blocks; ++block) {
    double *z = t.z + block * t.stride + (int64_t)t.from * WIDTH;
    memcpy(z, w->y + ((int64_t)block * f->nodes.n + row[t.from]) * WIDTH, (size_t)own * sizeof *z);
    memset(z + own, 0, (size_t)rest * sizeof *z);
  }
  rf_front_forward(&t);
  for (int32_t block = 0; block < blocks; ++block) {
    double *y = w->y + (int64_t)block * f->nodes.n * WIDTH;
    const double *z = t.z + block * t.stride;
    memcpy(y + (int64_t)row[t.from] * WIDTH, z + (int64_t)t.from * WIDTH, (size_t)own * sizeof *z);
    for (int32_t i = columns; i < t.rows; ++i)
      for (int c = 0; c < WIDTH; ++c) y[(int64_t)row[i] * WIDTH + c] += z[i * WIDTH + c];
  }
}

static void backward(const rf_fronts_inverse *p, const work *w, int32_t s, int32_t from,
                     int32_t blocks) {
  const rf_fronts *f = p->f;
  rf_front_panel t = panel_of(p, w, s, blocks);
  const int32_t columns = t.to, *row = rf_front_row(f, s);
  t.from = from - f->nodes.column[s] > p->low[s] ? from - f->nodes.column[s] : p->low[s];
  const int64_t own = (int64_t)(columns - t.from) * WIDTH;
  for (int32_t block = 0; block < blocks; ++block) {
    const double *y = w->y + (int64_t)block * f->nodes.n * WIDTH;
    double *z = t.z + block * t.stride;
    if (w->first[s] == NONE)
      memset(z + (int64_t)t.from * WIDTH, 0, (size_t)own * sizeof *z);
    else
      memcpy(z + (int64_t)t.from * WIDTH, y + (int64_t)row[t.from] * WIDTH,
             (size_t)own * sizeof *z);
    for (int32_t i = columns; i < t.rows; ++i)
      memcpy(z + i * WIDTH, y + (int64_t)row[i] * WIDTH, WIDTH * sizeof *z);
  }
  rf_front_backward(&t);
  for (int32_t block = 0; block < blocks; ++block)
    memcpy(w->y + ((int64_t)block * f->nodes.n + row[t.from]) * WIDTH,
           t.z + block * t.stride + (int64_t)t.from * WIDTH, (size_t)own * sizeof *t.z);
}

void rf_fronts_inverse_solve(const rf_fronts_inverse *p, int worker, int32_t from) {
  const rf_fronts *f = p->f;
  const work *w = &p->of[worker];
  for (int32_t s = w->begin; s < f->nodes.count; ++s)
    if (w->first[s] != NONE) forward(p, w, s, w->blocks);
  for (int32_t s = f->nodes.count - 1; s >= f->owner[from]; --s)
    if (p->last[s] >= from) backward(p, w, s, from, w->blocks);
}

const double *rf_fronts_inverse_row(const rf_fronts_inverse *p, int worker, int32_t unknown,
                                    int64_t *stride) {
  *stride = (int64_t)p->f->nodes.n * WIDTH;
  return p->of[worker].y + (int64_t)p->f->position[unknown] * WIDTH;
}
