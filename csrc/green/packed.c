#include "green/packed.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "green/columns.h"
#include "linalg/blas.h"
#include "linalg/vector.h"

enum { MOST = 3 * RF_GREEN_CLUSTER };  // DOFs of a tile

static const double LOST = 1e-12;  // part of a sum of squares that updates leave too few digits

void rf_green_packed_free(rf_green_packed *p) {
  if (!p) return;
  for (int32_t J = 0; p->strip && J < p->tiles; ++J) rf_free(p->strip[J]);
  rf_free(p->begin);
  rf_free(p->place);
  rf_free(p->slot);
  rf_free(p->tile);
  rf_free(p->rank);
  rf_free(p->at);
  rf_free(p->strip);
  rf_free(p);
}

static rf_status allocate(int32_t count, int32_t tiles, double tolerance, rf_green_packed **out,
                          rf_error *err) {
  rf_status st = RF_OK;
  rf_green_packed *p = NULL;
  RF_ALLOC(p, 1);
  p->tolerance = tolerance;
  p->tiles = tiles;
  RF_ALLOC(p->begin, (int64_t)tiles + 1);
  RF_ALLOC(p->place, count);
  RF_ALLOC(p->slot, count);
  RF_ALLOC(p->tile, count);
  RF_ALLOC(p->rank, rf_green_packed_blocks(tiles));
  RF_ALLOC(p->at, rf_green_packed_blocks(tiles));
  RF_ALLOC(p->strip, tiles);
  *out = p;
  p = NULL;
done:
  rf_green_packed_free(p);
  return st;
}

// Sets the maps of places from the tiles.
static void map_places(rf_green_packed *p) {
  for (int32_t I = 0; I < p->tiles; ++I)
    for (int32_t k = p->begin[I]; k < p->begin[I + 1]; ++k) {
      p->slot[p->place[k]] = k;
      p->tile[p->place[k]] = I;
    }
}

static int64_t entries_of(const rf_green_packed *p, int32_t I, int32_t J) {
  const int64_t m = rf_green_packed_size(p, I), n = rf_green_packed_size(p, J);
  const int32_t rank = p->rank[rf_green_packed_index(I, J)];
  return rank == RF_GREEN_DENSE ? m * n : rank * (m + n);
}

// Sets the first entries of the blocks of a strip; returns the number of its entries.
static int64_t place_blocks(rf_green_packed *p, int32_t J) {
  int64_t at = 0;
  for (int32_t I = J; I < p->tiles; ++I) {
    p->at[rf_green_packed_index(I, J)] = at;
    at += entries_of(p, I, J);
  }
  return at;
}

// --- tiles ---------------------------------------------------------------------------

// A node in work: its coordinate along the axis of a cut, or its position in the elimination.
typedef struct seat {
  double key;
  int32_t place;
} seat;

static int compare(const void *a, const void *b) {
  const seat *p = a, *q = b;
  if (p->key != q->key) return p->key < q->key ? -1 : 1;
  return p->place < q->place ? -1 : p->place > q->place;
}

// Orders the seats [from, to) so that each run of RF_GREEN_CLUSTER is compact.
static void cut(const rf_green_columns *columns, seat *all, int32_t from, int32_t to) {
  const int32_t pieces = (to - from + RF_GREEN_CLUSTER - 1) / RF_GREEN_CLUSTER;
  if (pieces < 2) return;
  int axis = 0;
  double widest = -1.0;
  for (int c = 0; c < 3; ++c) {
    double low = INFINITY, high = -INFINITY;
    for (int32_t k = from; k < to; ++k) {
      const double at = rf_green_columns_point(columns, all[k].place)[c];
      low = fmin(low, at);
      high = fmax(high, at);
    }
    if (high - low > widest) widest = high - low, axis = c;
  }
  for (int32_t k = from; k < to; ++k)
    all[k].key = rf_green_columns_point(columns, all[k].place)[axis];
  qsort(all + from, (size_t)(to - from), sizeof *all, compare);
  const int32_t middle = from + pieces / 2 * RF_GREEN_CLUSTER;
  cut(columns, all, from, middle);
  cut(columns, all, middle, to);
}

// Fills the tiles, in the order in which the first of their nodes are eliminated.
static rf_status cluster(rf_green_packed *p, int32_t count, const rf_green_columns *columns,
                         rf_error *err) {
  rf_status st = RF_OK;
  seat *all = NULL, *tile = NULL;
  RF_ALLOC(all, count);
  RF_ALLOC(tile, p->tiles);
  for (int32_t i = 0; i < count; ++i) all[i].place = i;
  cut(columns, all, 0, count);
  for (int32_t I = 0; I < p->tiles; ++I) {
    tile[I] = (seat){INFINITY, I};
    for (int32_t k = I * RF_GREEN_CLUSTER; k < count && k < (I + 1) * RF_GREEN_CLUSTER; ++k)
      tile[I].key = fmin(tile[I].key, rf_green_columns_position(columns, all[k].place));
  }
  qsort(tile, (size_t)p->tiles, sizeof *tile, compare);
  for (int32_t I = 0, slot = 0; I < p->tiles; ++I) {
    const int32_t from = tile[I].place * RF_GREEN_CLUSTER;
    for (int32_t k = from; k < count && k < from + RF_GREEN_CLUSTER; ++k)
      p->place[slot++] = all[k].place;
    p->begin[I + 1] = slot;
  }
  map_places(p);
done:
  rf_free(all);
  rf_free(tile);
  return st;
}

// --- blocks --------------------------------------------------------------------------

typedef struct scratch {
  double *strip;          // blocks of a strip, by columns, one after the other
  double *whole, *again;  // a block, twice                                  (MOST, MOST)
  double *rest;           // L_I^-1 E L_J^-T                                 (MOST, MOST)
  double *u, *v;          // factors of a block                           (MOST, MOST / 2)
} scratch;

typedef struct packing {
  rf_green *g;
  rf_green_packed *p;
  const rf_green_columns *columns;
  scratch *of;  // (workers)
  // L of the blocks on the diagonal, by columns; NULL until its strip is solved; by the lock
  double **half;  // (tiles)
  bool failed;
  pthread_mutex_t lock;
  pthread_cond_t changed;
} packing;

// Returns the first position of a tile in the order of elimination.
static int32_t position_of(const packing *q, int32_t tile) {
  int32_t first = INT32_MAX;
  for (int32_t k = q->p->begin[tile]; k < q->p->begin[tile + 1]; ++k) {
    const int32_t at = rf_green_columns_position(q->columns, q->p->place[k]);
    if (at < first) first = at;
  }
  return first;
}

// Computes the blocks of a strip, by columns.
static void solve_strip(const packing *q, int worker, int32_t J, double *to) {
  const rf_green_packed *p = q->p;
  const int32_t begin = p->begin[J], end = p->begin[J + 1], from = position_of(q, J);
  for (int32_t first = begin; first < end; first += RF_GREEN_GROUP) {
    const int32_t some = end - first < RF_GREEN_GROUP ? end - first : RF_GREEN_GROUP;
    rf_green_columns_solve(q->columns, worker, some, p->place + first, from);
    double *block = to;
    for (int32_t I = J; I < p->tiles; ++I) {
      const int64_t m = rf_green_packed_size(p, I);
      for (int32_t i = p->begin[I]; i < p->begin[I + 1]; ++i)
        for (int32_t k = 0; k < some; ++k) {
          double own[9];
          double *at = block + 3 * (first + k - begin) * m + 3 * (i - p->begin[I]);
          rf_green_columns_block(q->columns, worker, p->place[i], k, p->place[first + k], own);
          for (int c = 0; c < 9; ++c) at[c % 3 * m + c / 3] = own[c];
        }
      block += m * rf_green_packed_size(p, J);
    }
  }
  // the block on the diagonal is symmetric to the bit
  const int64_t m = 3 * (int64_t)(end - begin);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < i; ++j) to[i * m + j] = to[j * m + i];
}

// Sets L of a tile, or `failed` if there is none, and wakes those that wait for it.
static void publish(packing *q, int32_t J, double *half, bool failed) {
  pthread_mutex_lock(&q->lock);
  if (half) q->half[J] = half;
  q->failed = q->failed || failed;
  pthread_cond_broadcast(&q->changed);
  pthread_mutex_unlock(&q->lock);
}

// Waits for L of a tile; NULL: its strip failed.
static const double *wait_for(packing *q, int32_t I) {
  pthread_mutex_lock(&q->lock);
  while (!q->half[I] && !q->failed) pthread_cond_wait(&q->changed, &q->lock);
  const double *half = q->half[I];
  pthread_mutex_unlock(&q->lock);
  return half;
}

// Factors the block of a tile on the diagonal, as L with zeros above.
static rf_status factorize_tile(packing *q, int32_t J, const double *whole, rf_error *err) {
  rf_status st = RF_OK;
  const int n = rf_green_packed_size(q->p, J);
  double *l = NULL, most = 0.0;
  RF_ALLOC(l, (int64_t)n * n);
  for (int i = 0; i < n; ++i) most = fmax(most, whole[(int64_t)i * n + i]);
  // G of a free solid is singular if one tile holds all of its surface
  int info = 1;
  for (double lift = 0.0; info != 0 && lift < 1.0; lift = lift > 0.0 ? 10.0 * lift : 1e-12) {
    memcpy(l, whole, (size_t)n * (size_t)n * sizeof *l);
    for (int i = 0; i < n; ++i) l[(int64_t)i * n + i] += lift * most;
    dpotrf_("L", &n, l, &n, &info);
  }
  if (info != 0) {
    st = rf_fail(err, RF_ERR_SINGULAR, "the compliance of the surface is not positive definite");
    goto done;
  }
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < j; ++i) l[j * n + i] = 0.0;
  publish(q, J, l, false);
  l = NULL;
done:
  rf_free(l);
  return st;
}

// Computes the squares of the lengths of columns; returns their sum.
static double measure(int m, int n, const double *w, double *square) {
  double sum = 0.0;
  for (int j = 0; j < n; ++j) {
    square[j] = rf_dot(m, w + (int64_t)j * m, w + (int64_t)j * m);
    sum += square[j];
  }
  return sum;
}

// Factors a block E (m, n) as far as it pays; returns its rank, or RF_GREEN_DENSE.  E is destroyed.
//
// Columns of the scaled remainder are eliminated, the largest first.
static int32_t fold(const scratch *s, double tolerance, int m, int n, const double *li,
                    const double *lj, double *e) {
  const double one = 1.0, zero = 0.0;
  const int64_t size = (int64_t)m * n;
  const int single = 1;
  const double allowed = tolerance * rf_norm(size, e);
  double *w = s->rest, vector[MOST], along[MOST];
  memcpy(w, e, (size_t)size * sizeof *w);
  dtrsm_("L", "L", "N", "N", &m, &n, &one, li, &m, w, &m);
  dtrsm_("R", "L", "T", "N", &m, &n, &one, lj, &n, w, &m);
  double square[MOST], sum = measure(m, n, w, square), measured = sum;
  for (int32_t k = 0; (k + 1) * (m + n) < m * n; ++k) {
    // squares that were updated have rounding errors: they are computed anew before they count
    if (sqrt(fmax(sum, 0.0)) <= tolerance || sum < LOST * measured) {
      measured = sum = measure(m, n, w, square);
      if (sqrt(sum) <= tolerance && rf_norm(size, e) <= allowed) return k;
    }
    int best = 0;
    for (int j = 1; j < n; ++j)
      if (square[j] > square[best]) best = j;
    const double most = rf_dot(m, w + (int64_t)best * m, w + (int64_t)best * m);
    if (!(most > 0.0)) return RF_GREEN_DENSE;
    const double scale = 1.0 / sqrt(most);
    for (int i = 0; i < m; ++i) vector[i] = scale * w[(int64_t)best * m + i];
    dgemm_("T", "N", &n, &single, &m, &one, w, &m, vector, &m, &zero, along, &n);
    double *u = s->u + (int64_t)k * m, *v = s->v + (int64_t)k * n;
    dgemm_("N", "N", &m, &single, &m, &one, li, &m, vector, &m, &zero, u, &m);
    dgemm_("N", "N", &n, &single, &n, &one, lj, &n, along, &n, &zero, v, &n);
    for (int j = 0; j < n; ++j) {
      double *to = w + (int64_t)j * m, *of = e + (int64_t)j * m;
      for (int i = 0; i < m; ++i) to[i] -= along[j] * vector[i];
      for (int i = 0; i < m; ++i) of[i] -= v[j] * u[i];
      square[j] -= along[j] * along[j];
      sum -= along[j] * along[j];
    }
  }
  return RF_GREEN_DENSE;
}

// Solves a strip and packs its blocks.
static rf_status pack_strip(packing *q, int worker, int32_t J, rf_error *err) {
  rf_status st = RF_OK;
  rf_green_packed *p = q->p;
  const scratch *s = &q->of[worker];
  const int32_t n = rf_green_packed_size(p, J);
  solve_strip(q, worker, J, s->strip);
  RF_TRY(factorize_tile(q, J, s->strip, err));
  // packed entries take the place of blocks that have been read
  const double *block = s->strip;
  double *to = s->strip;
  for (int32_t I = J; I < p->tiles; ++I) {
    const int32_t m = rf_green_packed_size(p, I);
    const int64_t size = (int64_t)m * n;
    int32_t rank = RF_GREEN_DENSE;
    memcpy(s->whole, block, (size_t)size * sizeof *block);
    memcpy(s->again, block, (size_t)size * sizeof *block);
    const double *half = wait_for(q, I);
    if (!half) return rf_fail(err, RF_ERR_INTERNAL, "an earlier part failed");
    if (I > J) rank = fold(s, p->tolerance, m, n, half, q->half[J], s->whole);
    p->rank[rf_green_packed_index(I, J)] = rank;
    block += size;
    if (rank == RF_GREEN_DENSE) {
      memcpy(to, s->again, (size_t)size * sizeof *to);
    } else {
      memcpy(to, s->u, (size_t)rank * (size_t)m * sizeof *to);
      memcpy(to + (int64_t)rank * m, s->v, (size_t)rank * (size_t)n * sizeof *to);
    }
    to += entries_of(p, I, J);
  }
  const int64_t total = place_blocks(p, J);
  p->strip[J] = rf_alloc((size_t)total, q->g->single ? sizeof(float) : sizeof(double));
  if (!p->strip[J])
    return rf_fail(err, RF_ERR_MEMORY, "out of memory: a strip of Green's functions needs %.3g MB",
                   1e-6 * (double)total * (q->g->single ? 4.0 : 8.0));
  for (int64_t k = 0; q->g->single && k < total; ++k)
    ((float *)p->strip[J])[k] = (float)s->strip[k];
  if (!q->g->single) memcpy(p->strip[J], s->strip, (size_t)total * sizeof(double));
done:
  return st;
}

// Tasks are claimed in order, the last strip first: strips that this one needs are in work.
static rf_status strip_task(void *context, int64_t task, int worker, rf_error *err) {
  packing *q = context;
  const int32_t J = q->p->tiles - 1 - (int32_t)task;
  const rf_status st = pack_strip(q, worker, J, err);
  if (st < 0) publish(q, J, NULL, true);
  return st;
}

rf_status rf_green_packed_create(rf_green *g, const rf_green_columns *columns, double tolerance,
                                 const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  const int32_t tiles = (g->count + RF_GREEN_CLUSTER - 1) / RF_GREEN_CLUSTER;
  packing q = {.g = g, .columns = columns};
  pthread_mutex_init(&q.lock, NULL);
  pthread_cond_init(&q.changed, NULL);
  RF_TRY(allocate(g->count, tiles, tolerance, &q.p, err));
  RF_TRY(cluster(q.p, g->count, columns, err));
  RF_ALLOC(q.half, tiles);
  RF_ALLOC(q.of, run->threads);
  for (int w = 0; w < run->threads; ++w) {
    RF_ALLOC(q.of[w].strip, 3 * (int64_t)g->count * MOST);
    RF_ALLOC(q.of[w].whole, MOST * MOST);
    RF_ALLOC(q.of[w].again, MOST * MOST);
    RF_ALLOC(q.of[w].rest, MOST * MOST);
    RF_ALLOC(q.of[w].u, MOST * MOST / 2);
    RF_ALLOC(q.of[w].v, MOST * MOST / 2);
  }
  rf_blas_serial_begin();
  st = rf_run_tasks(run, tiles, 1, strip_task, &q, err);
  rf_blas_serial_end();
  if (st < 0) goto done;
  g->packed = q.p;
  q.p = NULL;
done:
  for (int w = 0; q.of && w < run->threads; ++w) {
    rf_free(q.of[w].strip);
    rf_free(q.of[w].whole);
    rf_free(q.of[w].again);
    rf_free(q.of[w].rest);
    rf_free(q.of[w].u);
    rf_free(q.of[w].v);
  }
  for (int32_t J = 0; q.half && J < tiles; ++J) rf_free(q.half[J]);
  rf_free(q.half);
  rf_free(q.of);
  rf_green_packed_free(q.p);
  pthread_cond_destroy(&q.changed);
  pthread_mutex_destroy(&q.lock);
  return st;
}

// --- files ---------------------------------------------------------------------------

int64_t rf_green_packed_entries(const rf_green_packed *p) {
  int64_t sum = 0;
  for (int32_t I = 0; I < p->tiles; ++I)
    for (int32_t J = 0; J <= I; ++J) sum += entries_of(p, I, J);
  return sum;
}

// Copies all entries between an array and the strips.
static void copy(const rf_green *g, char *array, bool into_array) {
  const rf_green_packed *p = g->packed;
  const size_t bytes = g->single ? sizeof(float) : sizeof(double);
  for (int32_t J = 0; J < p->tiles; ++J) {
    const int64_t last = rf_green_packed_index(p->tiles - 1, J);
    const size_t size = (size_t)(p->at[last] + entries_of(p, p->tiles - 1, J)) * bytes;
    memcpy(into_array ? array : p->strip[J], into_array ? p->strip[J] : array, size);
    array += size;
  }
}

void rf_green_packed_copy(const rf_green *g, void *to) { copy(g, to, true); }

// Sets tiles and ranks of a file.
static rf_status check_tiles(rf_green_packed *p, int32_t count, const rf_green_packed_file *file,
                             rf_error *err) {
  bool good = file->begin[0] == 0 && file->begin[p->tiles] == count;
  for (int32_t I = 0; good && I < p->tiles; ++I) {
    const int32_t size = file->begin[I + 1] - file->begin[I];
    good = size >= 1 && size <= RF_GREEN_CLUSTER;
  }
  for (int32_t i = 0; i < count; ++i) p->slot[i] = -1;
  for (int32_t k = 0; good && k < count; ++k) {
    const int32_t i = file->place[k];
    good = i >= 0 && i < count && p->slot[i] < 0;
    if (good) p->slot[i] = k;
  }
  if (!good) return rf_fail(err, RF_ERR_ARG, "the tiles are not a partition of the nodes");
  memcpy(p->begin, file->begin, ((size_t)p->tiles + 1) * sizeof *p->begin);
  memcpy(p->place, file->place, (size_t)count * sizeof *p->place);
  map_places(p);
  for (int64_t b = 0; b < rf_green_packed_blocks(p->tiles); ++b) {
    p->rank[b] = file->rank[b];
    good = good && p->rank[b] >= RF_GREEN_DENSE && p->rank[b] <= MOST;
  }
  for (int32_t I = 0; I < p->tiles; ++I)
    good = good && p->rank[rf_green_packed_index(I, I)] == RF_GREEN_DENSE;
  if (!good || rf_green_packed_entries(p) != file->n_entries)
    return rf_fail(err, RF_ERR_ARG, "the ranks of the blocks do not fit their entries");
  return RF_OK;
}

rf_status rf_green_packed_restore(rf_green *g, const rf_green_packed_file *file, rf_error *err) {
  rf_status st = RF_OK;
  rf_green_packed *p = NULL;
  if (!(file->tolerance > 0.0 && file->tolerance < 1.0))
    return rf_fail(err, RF_ERR_ARG, "tolerance must be above 0 and below 1, got %g",
                   file->tolerance);
  RF_TRY(allocate(g->count, file->tiles, file->tolerance, &p, err));
  RF_TRY(check_tiles(p, g->count, file, err));
  for (int32_t J = 0; J < p->tiles; ++J) {
    char *strip = NULL;
    RF_ALLOC(strip, place_blocks(p, J) * (int64_t)(g->single ? sizeof(float) : sizeof(double)));
    p->strip[J] = strip;
  }
  g->packed = p;
  p = NULL;
  copy(g, (char *)file->entry, false);
done:
  rf_green_packed_free(p);
  return st;
}
