#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "linalg/fronts.h"
#include "linalg/fronts_internal.h"
#include "linalg/panel_rt.h"

enum {
  WIDTH = RF_PANEL_WIDTH,
  COLUMNS = RF_PANEL_COLUMNS,
  BLOCKS = 4,  // blocks of right-hand sides per pass
  WIDE = 512,  // columns of a top front that one thread solves for, and rows per task
  SOME = 4096  // rows that one task permutes
};

static const double SMALL = 3e7;  // multiplications that are not worth a second thread

typedef struct solution {
  const rf_fronts *f;
  const rf_run *run;
  const double *values;
  rf_fronts_operation operation;
  const rf_fronts_sides *sides;
  rf_simd simd;
  int32_t first, columns, blocks;  // range of right-hand sides in work, and their blocks
  double *y;                       // (blocks, n, WIDTH), in the order of elimination
  double *outside;  // (blocks, f->outside, WIDTH) sums for rows of the units' ancestors
  double **z;       // per worker: (blocks, most_rows, WIDTH) of one front
  int32_t **at;     // per worker: (n) positions of rows above a unit among those of its root
} solution;

static double *row_of(const rf_front_panel *p, int32_t row) { return p->z + (int64_t)row * WIDTH; }
static const double *entry(const rf_front_panel *p, int32_t row, int32_t column) {
  return p->l + (int64_t)column * p->rows + row;
}

void rf_front_forward(const rf_front_panel *p) {
  for (int32_t c = p->from; c < p->to; c += COLUMNS) {
    const int32_t n = rf_least(COLUMNS, p->to - c);
    RF_SIMD_CALL(p->simd, rf_panel_solve, n, entry(p, c, c), p->rows, p->blocks, p->stride,
                 row_of(p, c));
    RF_SIMD_CALL(p->simd, rf_panel_subtract, p->end - c - n, n, entry(p, c + n, c), p->rows,
                 p->blocks, p->stride, row_of(p, c), row_of(p, c + n));
  }
}

void rf_front_backward(const rf_front_panel *p) {
  for (int32_t i = rf_pieces(p->to - p->from, COLUMNS) - 1; i >= 0; --i) {
    const int32_t c = p->from + i * COLUMNS, n = rf_least(COLUMNS, p->to - c);
    RF_SIMD_CALL(p->simd, rf_panel_subtract_transposed, p->end - c - n, n, entry(p, c + n, c),
                 p->rows, p->blocks, p->stride, row_of(p, c + n), row_of(p, c));
    RF_SIMD_CALL(p->simd, rf_panel_solve_transposed, n, entry(p, c, c), p->rows, p->blocks,
                 p->stride, row_of(p, c));
  }
}

// Takes the forward step for some of the rows below a wide range of columns.
static rf_status forward_task(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const rf_front_panel *p = context;
  const int32_t r = p->to + (int32_t)task * WIDE, rows = rf_least(WIDE, p->rows - r);
  for (int32_t c = p->from; c < p->to; c += COLUMNS)
    RF_SIMD_CALL(p->simd, rf_panel_subtract, rows, rf_least(COLUMNS, p->to - c), entry(p, r, c),
                 p->rows, p->blocks, p->stride, row_of(p, c), row_of(p, r));
  return RF_OK;
}

// Takes the backward step for some of the columns, from all rows below them.
static rf_status backward_task(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const rf_front_panel *p = context;
  const int32_t c = p->from + (int32_t)task * COLUMNS;
  RF_SIMD_CALL(p->simd, rf_panel_subtract_transposed, p->rows - p->to, rf_least(COLUMNS, p->to - c),
               entry(p, p->to, c), p->rows, p->blocks, p->stride, row_of(p, p->to), row_of(p, c));
  return RF_OK;
}

static rf_status forward_on_threads(rf_front_panel *p, rf_error *err) {
  const int32_t columns = p->to;
  for (p->from = 0; p->from < columns; p->from = p->to) {
    p->end = p->to = rf_least(p->from + WIDE, columns);
    rf_front_forward(p);
    const rf_status st =
        rf_run_tasks(p->run, rf_pieces(p->rows - p->to, WIDE), 0, forward_task, p, err);
    if (st < 0) return st;
  }
  return RF_OK;
}

static rf_status backward_on_threads(rf_front_panel *p, rf_error *err) {
  for (int32_t i = rf_pieces(p->to, WIDE) - 1, columns = p->to; i >= 0; --i) {
    p->from = i * WIDE;
    p->end = p->to = rf_least(p->from + WIDE, columns);
    const rf_status st =
        rf_run_tasks(p->run, rf_pieces(p->to - p->from, COLUMNS), 0, backward_task, p, err);
    if (st < 0) return st;
    rf_front_backward(p);
  }
  return RF_OK;
}

// Strides of one right-hand side.
typedef struct side {
  int64_t at, step;
} side;

static side side_of(const solution *q, int32_t column) {
  const int64_t width = q->sides->width, i = q->first + column;
  return (side){i / width * width * q->f->nodes.n + i % width, width};
}

static rf_front_panel panel_of(const solution *q, int32_t s, int worker) {
  const rf_fronts *f = q->f;
  return (rf_front_panel){.run = q->run,
                          .simd = q->simd,
                          .blocks = q->blocks,
                          .l = q->values + f->nodes.value_begin[s],
                          .z = q->z[worker],
                          .stride = (int64_t)f->most_rows * WIDTH,
                          .rows = rf_front_rows(f, s),
                          .to = rf_front_columns(f, s),
                          .end = rf_front_rows(f, s)};
}

static double *y_block(const solution *q, int32_t block) {
  return q->y + (int64_t)block * q->f->nodes.n * WIDTH;
}

static void add_row(const double *from, double *to) {
  for (int i = 0; i < WIDTH; ++i) to[i] += from[i];
}

static rf_status forward_unit(void *context, int32_t unit, int worker, rf_error *err) {
  const solution *q = context;
  const rf_fronts *f = q->f;
  const rf_front_unit *u = &f->unit[unit];
  int32_t *at = q->at[worker];
  const int32_t root = u->end - 1;
  // units of the top run alone and add directly to the rows above
  const int32_t own_end = u->top ? f->nodes.n : f->nodes.column[u->end];
  for (int32_t i = rf_front_columns(f, root); i < rf_front_rows(f, root) && !u->top; ++i)
    at[rf_front_row(f, root)[i]] = i - rf_front_columns(f, root);

  for (int32_t block = 0; block < q->blocks; ++block) {
    double *y = y_block(q, block), *all = q->outside + block * f->outside * WIDTH;
    for (int32_t c = u->child; c >= 0; c = f->unit[c].next) {
      if (f->unit[c].top) continue;
      const int32_t s = f->unit[c].end - 1, columns = rf_front_columns(f, s);
      const int32_t *row = rf_front_row(f, s) + columns;
      const double *from = all + f->unit[c].outside * WIDTH;
      for (int32_t i = 0; i < rf_front_rows(f, s) - columns; ++i)
        add_row(from + i * WIDTH, row[i] < own_end ? y + (int64_t)row[i] * WIDTH
                                                   : all + (u->outside + at[row[i]]) * WIDTH);
    }
  }
  for (int32_t s = u->begin; s < u->end; ++s) {
    rf_front_panel p = panel_of(q, s, worker);
    const int32_t columns = p.to, *row = rf_front_row(f, s);
    const size_t own = (size_t)columns * WIDTH, rest = (size_t)(p.rows - columns) * WIDTH;
    for (int32_t block = 0; block < q->blocks; ++block) {
      double *z = p.z + block * p.stride;
      memcpy(z, y_block(q, block) + (int64_t)row[0] * WIDTH, own * sizeof *z);
      memset(z + own, 0, rest * sizeof *z);
    }
    if (u->top) {
      const rf_status st = forward_on_threads(&p, err);
      if (st < 0) return st;
    } else {
      rf_front_forward(&p);
    }
    for (int32_t block = 0; block < q->blocks; ++block) {
      const double *z = p.z + block * p.stride;
      double *y = y_block(q, block), *all = q->outside + block * f->outside * WIDTH;
      memcpy(y + (int64_t)row[0] * WIDTH, z, own * sizeof *z);
      for (int32_t i = columns; i < p.rows; ++i)
        add_row(z + i * WIDTH, row[i] < own_end ? y + (int64_t)row[i] * WIDTH
                                                : all + (u->outside + at[row[i]]) * WIDTH);
    }
  }
  return RF_OK;
}

static rf_status backward_unit(void *context, int32_t unit, int worker, rf_error *err) {
  const solution *q = context;
  const rf_fronts *f = q->f;
  const rf_front_unit *u = &f->unit[unit];
  for (int32_t s = u->end - 1; s >= u->begin; --s) {
    rf_front_panel p = panel_of(q, s, worker);
    const int32_t columns = p.to, *row = rf_front_row(f, s);
    for (int32_t block = 0; block < q->blocks; ++block) {
      const double *y = y_block(q, block);
      double *z = p.z + block * p.stride;
      for (int32_t i = 0; i < p.rows; ++i)
        memcpy(z + i * WIDTH, y + (int64_t)row[i] * WIDTH, WIDTH * sizeof *z);
    }
    if (u->top) {
      const rf_status st = backward_on_threads(&p, err);
      if (st < 0) return st;
    } else {
      rf_front_backward(&p);
    }
    for (int32_t block = 0; block < q->blocks; ++block)
      memcpy(y_block(q, block) + (int64_t)row[0] * WIDTH, p.z + block * p.stride,
             (size_t)columns * WIDTH * sizeof *p.z);
  }
  return RF_OK;
}

// Multiplies by L^T for some columns.
static rf_status multiply_task(void *context, int64_t task, int worker, rf_error *err) {
  (void)err;
  const solution *q = context;
  const rf_fronts *f = q->f;
  const int32_t end = rf_least((int32_t)(task + 1) * COLUMNS, f->nodes.n);
  for (int32_t c = (int32_t)task * COLUMNS, next; c < end; c = next) {
    const int32_t s = f->owner[c];
    const rf_front_panel p = panel_of(q, s, worker);
    next = rf_least(end, f->nodes.column[s + 1]);
    const int32_t from = c - f->nodes.column[s], n = next - c, *row = rf_front_row(f, s);
    double *product = p.z + (int64_t)q->blocks * p.stride;  // as many rows as columns
    for (int32_t block = 0; block < q->blocks; ++block) {
      const double *y = y_block(q, block);
      for (int32_t i = from; i < p.rows; ++i)
        memcpy(row_of(&p, i) + block * p.stride, y + (int64_t)row[i] * WIDTH, WIDTH * sizeof *y);
      memset(product + block * p.stride, 0, (size_t)n * WIDTH * sizeof *product);
    }
    // L is zero above its diagonal
    RF_SIMD_CALL(q->simd, rf_panel_subtract_transposed, p.rows - from, n, entry(&p, from, from),
                 p.rows, q->blocks, p.stride, row_of(&p, from), product);
    for (int32_t i = 0; i < q->columns; ++i) {
      const side to = side_of(q, i);
      const double *minus = product + i / WIDTH * p.stride + i % WIDTH;
      for (int32_t k = 0; k < n; ++k) q->sides->x[to.at + (c + k) * to.step] = -minus[k * WIDTH];
    }
  }
  return RF_OK;
}

static rf_status take_in(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const solution *q = context;
  const int32_t n = q->f->nodes.n, end = rf_least((int32_t)(task + 1) * SOME, n);
  const int32_t *unknown = q->f->nodes.permutation;
  const bool ordered = q->operation == RF_FRONTS_HALF_SOLVE;
  for (int32_t i = 0; i < q->blocks * WIDTH; ++i) {
    double *y = y_block(q, i / WIDTH) + i % WIDTH;
    const side from = side_of(q, i);
    for (int32_t c = (int32_t)task * SOME; c < end; ++c)
      y[(int64_t)c * WIDTH] =
          i >= q->columns ? 0.0 : q->sides->b[from.at + (ordered ? c : unknown[c]) * from.step];
  }
  return RF_OK;
}

static rf_status give_out(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const solution *q = context;
  const int32_t n = q->f->nodes.n, end = rf_least((int32_t)(task + 1) * SOME, n);
  const int32_t *unknown = q->f->nodes.permutation;
  for (int32_t i = 0; i < q->columns; ++i) {
    const double *y = y_block(q, i / WIDTH) + i % WIDTH;
    const side to = side_of(q, i);
    for (int32_t c = (int32_t)task * SOME; c < end; ++c)
      q->sides->x[to.at + unknown[c] * to.step] = y[(int64_t)c * WIDTH];
  }
  return RF_OK;
}

static rf_status apply_some(solution *q, rf_error *err) {
  const rf_fronts *f = q->f;
  const int64_t some = rf_pieces(f->nodes.n, SOME);
  q->blocks = rf_pieces(q->columns, WIDTH);
  rf_status st = rf_run_tasks(q->run, some, 0, take_in, q, err);
  if (st >= 0 && q->operation == RF_FRONTS_HALF_MULTIPLY)
    return rf_run_tasks(q->run, rf_pieces(f->nodes.n, COLUMNS), 0, multiply_task, q, err);
  if (st >= 0 && q->operation == RF_FRONTS_SOLVE) {
    memset(q->outside, 0, (size_t)(q->blocks * f->outside * WIDTH) * sizeof *q->outside);
    st = rf_fronts_visit(f, q->run, true, forward_unit, q, err);
  }
  if (st >= 0) st = rf_fronts_visit(f, q->run, false, backward_unit, q, err);
  if (st >= 0) st = rf_run_tasks(q->run, some, 0, give_out, q, err);
  return st;
}

rf_status rf_fronts_apply(const rf_fronts *f, const rf_run *run, const double *values,
                          rf_fronts_operation operation, const rf_fronts_sides *sides,
                          rf_error *err) {
  rf_status st = RF_OK;
  const int64_t n = f->nodes.n;
  const int32_t columns = sides->vectors * sides->width;
  const int64_t blocks = columns < BLOCKS * WIDTH ? rf_pieces(columns, WIDTH) : BLOCKS;
  solution q = {.f = f,
                .run = run,
                .values = values,
                .operation = operation,
                .sides = sides,
                .simd = rf_simd_resolve(RF_SIMD_BEST)};
  // for small work, waking threads takes longer than it saves
  const rf_run alone = {1, run->progress, run->progress_context};
  if ((double)rf_fronts_values(f) * columns < SMALL) q.run = run = &alone;
  const int64_t own_rows = operation == RF_FRONTS_HALF_MULTIPLY ? 2 : 1;
  RF_ALLOC(q.y, blocks * n * WIDTH);
  RF_ALLOC(q.outside, blocks * f->outside * WIDTH);
  RF_ALLOC(q.z, run->threads);
  RF_ALLOC(q.at, run->threads);
  for (int w = 0; w < run->threads; ++w) {
    RF_ALLOC(q.z[w], own_rows * blocks * f->most_rows * WIDTH);
    RF_ALLOC(q.at[w], n);
  }
  for (; q.first < columns; q.first += q.columns) {
    q.columns = rf_least(BLOCKS * WIDTH, columns - q.first);
    RF_TRY(apply_some(&q, err));
  }
done:
  for (int w = 0; w < run->threads; ++w) {
    if (q.z) rf_free(q.z[w]);
    if (q.at) rf_free(q.at[w]);
  }
  rf_free(q.y);
  rf_free(q.outside);
  rf_free(q.z);
  rf_free(q.at);
  return st;
}
