#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "linalg/blas.h"
#include "linalg/fronts.h"
#include "linalg/fronts_internal.h"

enum {
  TILE = 384,       // rows and columns of a tile
  CHUNK = 1 << 16,  // values zeroed per task
  SIZES = 48,       // number of block sizes
  NEAR = 3          // number of sizes searched for a free block
};

// Memory of an update.  Blocks are reused: the first touch of new memory takes longer than most
// fronts.
typedef struct block {
  double *numbers;
  int size;
} block;

// Free block.
typedef struct kept_block {
  struct kept_block *next;
} kept_block;

typedef struct pool {
  pthread_mutex_t lock;
  kept_block *kept[SIZES];
} pool;

// Returns the number of values in a block of size 0, 1, ...: 1024, 1536, 2048, 3072, ...
static size_t block_numbers(int size) { return (size_t)(size % 2 ? 3 : 2) << (size / 2 + 9); }

static int block_size(size_t numbers) {
  int size = 0;
  while (block_numbers(size) < numbers) ++size;
  return size;
}

static rf_status take_block(pool *p, int64_t numbers, block *out, rf_error *err) {
  rf_status st = RF_OK;
  const int smallest = block_size((size_t)numbers);
  kept_block *kept = NULL;
  pthread_mutex_lock(&p->lock);
  for (int size = smallest; size < smallest + NEAR && !kept; ++size) {
    kept = p->kept[size];
    if (kept) p->kept[size] = kept->next;
    out->size = size;
  }
  pthread_mutex_unlock(&p->lock);
  out->numbers = (void *)kept;
  if (kept) {
    memset(out->numbers, 0, (size_t)numbers * sizeof *out->numbers);
  } else {
    out->size = smallest;
    RF_ALLOC(out->numbers, block_numbers(smallest));
  }
done:
  return st;
}

static void give_block(pool *p, block *b) {
  if (!b->numbers) return;
  kept_block *kept = (void *)b->numbers;
  pthread_mutex_lock(&p->lock);
  kept->next = p->kept[b->size];
  p->kept[b->size] = kept;
  pthread_mutex_unlock(&p->lock);
  b->numbers = NULL;
}

static void free_blocks(pool *p) {
  for (int size = 0; size < SIZES; ++size)
    for (kept_block *b = p->kept[size], *next; b; b = next) {
      next = b->next;
      rf_free(b);
    }
}

typedef struct factorization {
  const rf_fronts *f;
  const rf_run *run;
  const rf_csc *lower;
  double *values;
  block *update;  // (count) update of each front, until its parent has added it
  pool blocks;
  int32_t **places;  // per worker: (most_rows) positions of a child's rows in its parent
  int32_t **at;      // per worker: (n) positions of columns in the rows of a front
  int32_t *bad;      // (n_units) column with a non-positive pivot
} factorization;

// A front during elimination: `columns` of L with all its rows, and the lower triangular update in
// strips of TILE columns that begin on the diagonal.
typedef struct front {
  int32_t rows, columns, rest;
  double *l;
  double *update;
} front;

static front front_of(const factorization *q, int32_t s) {
  const rf_fronts *f = q->f;
  front t = {.rows = rf_front_rows(f, s), .columns = rf_front_columns(f, s)};
  t.rest = t.rows - t.columns;
  t.l = q->values + f->nodes.value_begin[s];
  t.update = q->update[s].numbers;
  return t;
}

static int32_t tiles(int32_t length) { return rf_pieces(length, TILE); }

static int64_t strip_begin(int32_t rest, int32_t strip) {
  const int64_t before = (int64_t)TILE * strip;
  return before * rest - before * (before - TILE) / 2;
}
static int64_t update_size(int32_t rest) {
  const int32_t last = rest / TILE;
  const int64_t left = rest - last * TILE;
  return strip_begin(rest, last) + left * left;
}

// Returns a column of the update, to be indexed by rows from the diagonal on.
static double *update_column(const front *t, int32_t column) {
  const int32_t strip = column / TILE, first = strip * TILE;
  return t->update + strip_begin(t->rest, strip) + (int64_t)(column - first) * (t->rest - first) -
         first;
}

// Adds columns [from, to) of a child's update to its parent.
static void add_columns(const front *child, const int32_t *place, const front *parent, int32_t from,
                        int32_t to) {
  for (int32_t c = from; c < to; ++c) {
    const double *source = update_column(child, c);
    const int32_t column = place[c];
    double *target = column < parent->columns
                         ? parent->l + (int64_t)column * parent->rows
                         : update_column(parent, column - parent->columns) - parent->columns;
    for (int32_t r = c; r < child->rest; ++r) target[place[r]] += source[r];
  }
}

// Finds the positions of a child's update rows among the rows of its parent.
static void find_places(const rf_fronts *f, int32_t child, int32_t parent, int32_t *place) {
  const int32_t *mine = rf_front_row(f, child) + rf_front_columns(f, child);
  const int32_t *theirs = rf_front_row(f, parent);
  const int32_t count = rf_front_rows(f, child) - rf_front_columns(f, child);
  const int32_t columns = rf_front_columns(f, parent), first = theirs[0];
  for (int32_t i = 0, at = columns; i < count; ++i) {
    if (mine[i] < first + columns) {
      place[i] = mine[i] - first;
      continue;
    }
    while (theirs[at] < mine[i]) ++at;
    place[i] = at;
  }
}

// Steps of an elimination.  Tasks within a step are independent.
typedef struct step {
  const factorization *q;
  front t, child;
  int32_t s;
  const int32_t *place;
  int32_t block;  // strip of columns to eliminate
  int32_t bad;    // column in the front with a non-positive pivot; -1: none
} step;

static rf_status add_task(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const step *p = context;
  const int32_t from = (int32_t)task * TILE;
  add_columns(&p->child, p->place, &p->t, from, rf_least(from + TILE, p->child.rest));
  return RF_OK;
}

// Subtracts the contributions of earlier strips from a tile.  Task 0 is the tile on the diagonal
// and factorizes it.
static rf_status gather_task(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  step *p = context;
  const front *t = &p->t;
  const int before = p->block * TILE, columns = rf_least(TILE, t->columns - before), ld = t->rows;
  const int from = task == 0 ? before : before + columns + ((int)task - 1) * TILE;
  const int rows = task == 0 ? columns : rf_least(TILE, t->rows - from);
  double *tile = t->l + (int64_t)before * ld + from;
  const double minus = -1.0, one = 1.0;
  if (task > 0) {
    dgemm_("N", "T", &rows, &columns, &before, &minus, t->l + from, &ld, t->l + before, &ld, &one,
           tile, &ld);
    return RF_OK;
  }
  int info = 0;
  if (before > 0) dsyrk_("L", "N", &columns, &before, &minus, t->l + from, &ld, &one, tile, &ld);
  dpotrf_("L", &columns, tile, &ld, &info);
  if (info > 0) p->bad = before + info - 1;
  return RF_OK;
}

static rf_status divide_task(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const step *p = context;
  const front *t = &p->t;
  const int before = p->block * TILE, columns = rf_least(TILE, t->columns - before), ld = t->rows;
  const int from = before + columns + (int)task * TILE, rows = rf_least(TILE, t->rows - from);
  double *strip = t->l + (int64_t)before * ld;
  const double one = 1.0;
  dtrsm_("R", "L", "T", "N", &rows, &columns, &one, strip + before, &ld, strip + from, &ld);
  return RF_OK;
}

// Subtracts from a tile of the update; tiles are counted strip by strip.
static rf_status update_task(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const step *p = context;
  const front *t = &p->t;
  int strip = 0, tile = (int)task;
  for (int length = tiles(t->rest); tile >= length; --length, ++strip) tile -= length;
  const int first = strip * TILE, from = first + tile * TILE, ld = t->rows, to_ld = t->rest - first;
  const int columns = rf_least(TILE, to_ld), rows = rf_least(TILE, t->rest - from);
  const double *below = t->l + t->columns, minus = -1.0, one = 1.0;
  double *target = t->update + strip_begin(t->rest, strip) + (from - first);
  if (tile == 0)
    dsyrk_("L", "N", &rows, &t->columns, &minus, below + from, &ld, &one, target, &to_ld);
  else
    dgemm_("N", "T", &rows, &columns, &t->columns, &minus, below + from, &ld, below + first, &ld,
           &one, target, &to_ld);
  return RF_OK;
}

// Runs the tasks of a step, in parallel only for fronts of the top.
static rf_status take(step *p, bool top, int64_t tasks, rf_task_fn task, rf_error *err) {
  if (top && tasks > 1) return rf_run_tasks(p->q->run, tasks, 0, task, p, err);
  for (int64_t i = 0; i < tasks; ++i) {
    const rf_status st = task(p, i, 0, err);
    if (st < 0) return st;
  }
  return RF_OK;
}

static rf_status eliminate(factorization *q, int32_t s, int32_t unit, int worker, rf_error *err) {
  rf_status st = RF_OK;
  const rf_fronts *f = q->f;
  const bool top = f->unit[unit].top;
  step p = {.q = q, .bad = -1, .place = q->places[worker]};
  const int32_t rest = rf_front_rows(f, s) - rf_front_columns(f, s);
  if (rest > 0) RF_TRY(take_block(&q->blocks, update_size(rest), &q->update[s], err));
  p.t = front_of(q, s);

  for (int32_t c = f->child[s]; c >= 0; c = f->next[c]) {
    p.child = front_of(q, c);
    find_places(f, c, s, q->places[worker]);
    RF_TRY(take(&p, top, tiles(p.child.rest), add_task, err));
    give_block(&q->blocks, &q->update[c]);
  }
  for (p.block = 0; p.block < tiles(p.t.columns); ++p.block) {
    const int64_t below = tiles(p.t.rows - rf_least(p.t.columns, (p.block + 1) * TILE));
    RF_TRY(take(&p, top, (p.block > 0 ? below : 0) + 1, gather_task, err));
    if (p.bad >= 0) {
      q->bad[unit] = f->nodes.column[s] + p.bad + 1;
      return rf_fail(err, RF_ERR_SINGULAR, "matrix is not positive definite");
    }
    RF_TRY(take(&p, top, below, divide_task, err));
  }
  const int64_t strips = tiles(rest);
  RF_TRY(take(&p, top, strips * (strips + 1) / 2, update_task, err));
done:
  return st;
}

static rf_status eliminate_unit(void *context, int32_t unit, int worker, rf_error *err) {
  factorization *q = context;
  for (int32_t s = q->f->unit[unit].begin; s < q->f->unit[unit].end; ++s) {
    const rf_status st = eliminate(q, s, unit, worker, err);
    if (st < 0) return st;
  }
  return RF_OK;
}

static rf_status zero_task(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const factorization *q = context;
  const int64_t from = task * CHUNK, left = rf_fronts_values(q->f) - from;
  memset(q->values + from, 0, (size_t)(left < CHUNK ? left : CHUNK) * sizeof *q->values);
  return RF_OK;
}

// Returns the index of a row in a front; -1: absent.
static int32_t find_row(const rf_fronts *f, int32_t s, int32_t wanted) {
  const int32_t *row = rf_front_row(f, s);
  int32_t low = 0, high = rf_front_rows(f, s);
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    if (row[middle] < wanted)
      low = middle + 1;
    else
      high = middle;
  }
  return low < rf_front_rows(f, s) && row[low] == wanted ? low : -1;
}

static rf_status refuse_entry(int32_t row, int32_t column, rf_error *err) {
  return rf_fail(err, RF_ERR_ARG, "entry (%d, %d) is not in the analysed pattern", (int)row,
                 (int)column);
}

// Scatters some columns of A into the fronts.  An entry above the diagonal in the order of
// elimination belongs to the column of another front.
static rf_status enter_task(void *context, int64_t task, int worker, rf_error *err) {
  const factorization *q = context;
  const rf_fronts *f = q->f;
  const rf_csc *a = q->lower;
  int32_t *at = q->at[worker];
  const int32_t end = rf_least((int32_t)(task + 1) * TILE, f->nodes.n);
  int32_t known = -1;
  for (int32_t c = (int32_t)task * TILE; c < end; ++c) {
    const int32_t s = f->owner[c], rows = rf_front_rows(f, s), *row = rf_front_row(f, s);
    if (s != known)
      for (int32_t r = 0; r < rows; ++r) at[row[r]] = r;
    known = s;
    double *column = q->values + f->nodes.value_begin[s] + (int64_t)(c - row[0]) * rows;
    const int32_t unknown = f->nodes.permutation[c];
    int32_t across = -1, there = -1;  // another front, and the row of this column in it
    for (int32_t p = a->colptr[unknown]; p < a->colptr[unknown + 1]; ++p) {
      const int32_t r = f->position[a->rowind[p]];
      if (r >= c) {
        const int32_t i = at[r];
        if (i >= rows || row[i] != r) return refuse_entry(a->rowind[p], unknown, err);
        column[i] = a->val[p];
        continue;
      }
      if (f->owner[r] != across) {
        across = f->owner[r];
        there = find_row(f, across, c);
        if (there < 0) return refuse_entry(a->rowind[p], unknown, err);
      }
      q->values[f->nodes.value_begin[across] +
                (int64_t)(r - f->nodes.column[across]) * rf_front_rows(f, across) + there] =
          a->val[p];
    }
  }
  return RF_OK;
}

rf_status rf_fronts_factorize(const rf_fronts *f, const rf_run *run, const rf_csc *lower,
                              double *values, int32_t *bad_column, rf_error *err) {
  rf_status st = RF_OK;
  factorization q = {.f = f, .run = run, .lower = lower, .values = values};
  pthread_mutex_init(&q.blocks.lock, NULL);
  RF_ALLOC(q.update, f->nodes.count);
  RF_ALLOC(q.bad, f->n_units);
  RF_ALLOC(q.places, run->threads);
  RF_ALLOC(q.at, run->threads);
  for (int w = 0; w < run->threads; ++w) {
    RF_ALLOC(q.places[w], f->most_rows);
    RF_ALLOC(q.at[w], f->nodes.n);
  }
  RF_TRY(rf_run_tasks(run, (rf_fronts_values(f) + CHUNK - 1) / CHUNK, 0, zero_task, &q, err));
  RF_TRY(rf_run_tasks(run, tiles(f->nodes.n), 0, enter_task, &q, err));
  RF_TRY(rf_fronts_visit(f, run, true, eliminate_unit, &q, err));
done:
  for (int32_t u = f->n_units - 1; q.bad && u >= 0; --u)
    if (q.bad[u] > 0) *bad_column = q.bad[u] - 1;
  for (int w = 0; w < run->threads; ++w) {
    if (q.places) rf_free(q.places[w]);
    if (q.at) rf_free(q.at[w]);
  }
  for (int32_t s = 0; q.update && s < f->nodes.count; ++s) rf_free(q.update[s].numbers);
  free_blocks(&q.blocks);
  pthread_mutex_destroy(&q.blocks.lock);
  rf_free(q.update);
  rf_free(q.bad);
  rf_free(q.places);
  rf_free(q.at);
  return st;
}
