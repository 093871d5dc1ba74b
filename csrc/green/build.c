// Green's functions of a solid: one factorization, solves of some columns at once.
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "fem/fem.h"
#include "green/columns.h"
#include "green/green.h"
#include "green/node.h"
#include "green/packed.h"
#include "modes/modes.h"

_Static_assert((int)RF_GREEN_RIGID == (int)RF_RIGID, "rigid motions");

enum { COLUMNS = 3 * RF_CHOLESKY_BLOCK };  // of static modes per solve

void rf_green_free(rf_green *g) {
  if (!g) return;
  rf_free(g->node);
  if (!g->borrows) rf_free(g->entry);
  if (!g->borrows) rf_green_packed_free(g->packed);
  rf_free(g->added);
  rf_free(g->releasable);
  rf_free(g->static_modes);
  rf_free(g->support);
  rf_free(g->firm);
  rf_free(g->rigid);
  rf_free(g);
}

static rf_status check_list(const char *name, int32_t count, const int32_t *node, int32_t n_nodes,
                            rf_error *err) {
  for (int32_t k = 0; k < count; ++k) {
    if (!(node[k] >= 0 && node[k] < n_nodes))
      return rf_fail(err, RF_ERR_ARG, "%s[%d] is %d; nodes are numbered 0 to %d", name, (int)k,
                     (int)node[k], (int)n_nodes - 1);
    if (k > 0 && node[k] <= node[k - 1])
      return rf_fail(err, RF_ERR_ARG,
                     "%s[%d] is %d after %d; nodes must ascend, and each may occur once", name,
                     (int)k, (int)node[k], (int)node[k - 1]);
  }
  return RF_OK;
}

static rf_status check_nodes(int32_t n_nodes, const rf_green_settings *set, rf_error *err) {
  if (set->count < 1)
    return rf_fail(err, RF_ERR_ARG, "surface_nodes selects no node; at least one is needed");
  const rf_status st = check_list("surface_nodes", set->count, set->node, n_nodes, err);
  return st < 0 ? st : check_list("releasable", set->n_releasable, set->releasable, n_nodes, err);
}

rf_status rf_green_reserve(int32_t n_nodes, bool is_free, const rf_green_settings *set,
                           rf_green **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_green *g = NULL;
  *out = NULL;
  RF_ALLOC(g, 1);
  g->n_nodes = n_nodes;
  g->count = g->stored = set->count;
  g->single = set->single;
  g->n_releasable = set->n_releasable;
  g->simd = rf_simd_resolve(set->simd);
  RF_ALLOC(g->node, g->count);
  RF_ALLOC(g->releasable, g->n_releasable);
  memcpy(g->node, set->node, (size_t)g->count * sizeof *g->node);
  if (g->n_releasable)
    memcpy(g->releasable, set->releasable, (size_t)g->n_releasable * sizeof *g->releasable);
  const int64_t field = 3 * (int64_t)rf_green_rows(g), r = 3 * (int64_t)g->n_releasable;
  RF_ALLOC(g->static_modes, r * field);
  RF_ALLOC(g->support, r * r);
  if (is_free) RF_ALLOC(g->rigid, RF_GREEN_RIGID * field);
  *out = g;
  g = NULL;
done:
  rf_green_free(g);
  return st;
}

rf_status rf_green_allocate(int32_t n_nodes, bool is_free, const rf_green_settings *set,
                            rf_green **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_green *g = NULL;
  *out = NULL;
  RF_TRY(check_nodes(n_nodes, set, err));
  RF_TRY(rf_simd_check(set->simd, err));
  RF_TRY(rf_green_reserve(n_nodes, is_free, set, &g, err));
  const size_t bytes = g->single ? sizeof(float) : sizeof(double);
  if (set->tolerance == 0.0) g->entry = rf_alloc((size_t)rf_green_entries(g->count) + 9, bytes);
  if (set->tolerance == 0.0 && !g->entry) {
    st = rf_fail(err, RF_ERR_MEMORY, "out of memory: Green's functions of %d nodes need %.3g GB",
                 (int)g->count, 1e-9 * (double)rf_green_entries(g->count) * (double)bytes);
    goto done;
  }
  *out = g;
  g = NULL;
done:
  rf_green_free(g);
  return st;
}

// A solid in work: its factored stiffness, and columns of loads that become displacements.
typedef struct work {
  const rf_solid *solid;
  const rf_run *run;
  rf_modes_solid *modes;
  double *x;  // (COLUMNS, n_free, 3)
} work;

static rf_status solve(work *w, int32_t columns, rf_error *err) {
  const rf_eigen_problem *k = &rf_modes_solid_system(w->modes)->operators;
  return k->solve(k->context, w->run, columns, w->x, w->x, err);
}

static void put(rf_green *g, int64_t at, double value) {
  if (g->single)
    ((float *)g->entry)[at] = (float)value;
  else
    ((double *)g->entry)[at] = value;
}

// A place, and its position in the order of elimination.
typedef struct seat {
  int32_t position, place;
} seat;

static int compare(const void *a, const void *b) {
  const int32_t p = ((const seat *)a)->position, q = ((const seat *)b)->position;
  return p < q ? -1 : p > q;
}

typedef struct filling {
  rf_green *g;
  const rf_green_columns *columns;
  seat *seat;  // (count) ascending
} filling;

// Stores the block of two places.
static void store(rf_green *g, int32_t i, int32_t j, const double block[9]) {
  const bool stored = i / RF_GREEN_TILE >= j / RF_GREEN_TILE;
  const bool mirrored = i / RF_GREEN_TILE == j / RF_GREEN_TILE;
  const int64_t at = stored ? rf_green_at(i, j) : rf_green_at(j, i);
  const int64_t across = mirrored ? rf_green_at(j, i) : 0;
  for (int c = 0; c < 3; ++c)
    for (int d = 0; d < 3; ++d) {
      if (i == j && d > c) continue;
      put(g, at + (stored ? 3 * c + d : 3 * d + c), block[3 * c + d]);
      if (mirrored) put(g, across + 3 * d + c, block[3 * c + d]);
    }
}

// Solves for the columns of some places at those that are eliminated later: the others are rows of
// other columns.
static rf_status fill_task(void *context, int64_t task, int worker, rf_error *err) {
  (void)err;
  const filling *f = context;
  const int32_t count = f->g->count, begin = (int32_t)task * RF_GREEN_GROUP;
  const int32_t end = begin + RF_GREEN_GROUP < count ? begin + RF_GREEN_GROUP : count;
  int32_t place[RF_GREEN_GROUP];
  for (int32_t k = begin; k < end; ++k) place[k - begin] = f->seat[k].place;
  rf_green_columns_solve(f->columns, worker, end - begin, place, f->seat[begin].position);
  for (int32_t r = begin; r < count; ++r)
    for (int32_t k = begin; k < end && k <= r; ++k) {
      double block[9];
      const int32_t i = f->seat[r].place, j = f->seat[k].place;
      rf_green_columns_block(f->columns, worker, i, k - begin, j, block);
      store(f->g, i, j, block);
    }
  return RF_OK;
}

static rf_status fill(rf_green *g, const work *w, double tolerance, int64_t total, rf_error *err) {
  rf_status st = RF_OK;
  rf_green_columns *columns = NULL;
  filling f = {.g = g};
  rf_run_part part = {w->run, 0, g->count, total};
  const rf_run run = rf_run_of_part(&part);
  RF_ALLOC(f.seat, g->count);
  RF_TRY(rf_green_columns_create(w->solid, w->modes, w->run, g->count, g->node, &columns, err));
  f.columns = columns;
  for (int k = 0; g->rigid && k < RF_GREEN_RIGID; ++k)
    for (int32_t i = 0; i < g->count; ++i)
      rf_green_columns_rigid(columns, k, i, g->rigid + 3 * ((int64_t)k * rf_green_rows(g) + i));
  if (tolerance > 0.0) {
    st = rf_green_packed_create(g, columns, tolerance, &run, err);
    goto done;
  }
  for (int32_t i = 0; i < g->count; ++i)
    f.seat[i] = (seat){rf_green_columns_position(columns, i), i};
  qsort(f.seat, (size_t)g->count, sizeof *f.seat, compare);
  RF_TRY(
      rf_run_tasks(&run, (g->count + RF_GREEN_GROUP - 1) / RF_GREEN_GROUP, 1, fill_task, &f, err));
done:
  rf_green_columns_free(columns);
  rf_free(f.seat);
  return st;
}

// Static modes and stiffness of the releasable nodes (green.h).
static rf_status release(rf_green *g, work *w, int64_t total, rf_error *err) {
  rf_status st = RF_OK;
  const rf_solid *s = w->solid;
  const int64_t all = 3 * (int64_t)s->mesh->n_nodes, n = 3 * (int64_t)s->n_free;
  const int64_t r = 3 * (int64_t)g->n_releasable, field = 3 * (int64_t)rf_green_rows(g);
  double *blocks = NULL, *motion = NULL, *force = NULL;
  RF_ALLOC(w->x, COLUMNS * n);
  RF_ALLOC(blocks, 9 * (int64_t)s->graph.ptr[s->graph.n]);
  RF_ALLOC(motion, all * COLUMNS);
  RF_ALLOC(force, all * COLUMNS);
  RF_TRY(rf_solid_evaluate(s, w->run, NULL, NULL, NULL, blocks, err));
  for (int64_t from = 0; from < r; from += COLUMNS) {
    const int32_t columns = (int32_t)(from + COLUMNS < r ? COLUMNS : r - from);
    memset(motion, 0, (size_t)(all * columns) * sizeof *motion);
    for (int32_t k = 0; k < columns; ++k)
      motion[k * all + 3 * (int64_t)g->releasable[(from + k) / 3] + (from + k) % 3] = 1.0;
    RF_TRY(rf_solid_block_multiply(s, w->run, blocks, columns, motion, force, err));
    for (int32_t k = 0; k < columns; ++k) rf_solid_gather(s, force + k * all, w->x + k * n);
    for (int64_t i = 0; i < columns * n; ++i) w->x[i] = -w->x[i];
    RF_TRY(solve(w, columns, err));
    for (int32_t k = 0; k < columns; ++k) {
      double *mode = g->static_modes + (from + k) * field;
      rf_solid_scatter(s, w->x + k * n, motion + k * all);
      motion[k * all + 3 * (int64_t)g->releasable[(from + k) / 3] + (from + k) % 3] = 1.0;
      rf_constraints_fill_rt(s->mesh->constraints, motion + k * all);
      for (int32_t i = 0; i < g->count; ++i)
        memcpy(mode + 3 * i, motion + k * all + 3 * (int64_t)g->node[i], 3 * sizeof *mode);
    }
    RF_TRY(rf_solid_block_multiply(s, w->run, blocks, columns, motion, force, err));
    for (int32_t k = 0; k < columns; ++k)
      for (int64_t i = 0; i < r; ++i)
        g->support[(from + k) * r + i] = force[k * all + 3 * (int64_t)g->releasable[i / 3] + i % 3];
    RF_TRY(rf_run_progress(w->run, g->count + (from + columns) / 3, total, err));
  }
  for (int64_t i = 0; i < r; ++i)
    for (int64_t j = 0; j < i; ++j)
      g->support[j * r + i] = g->support[i * r + j] =
          0.5 * (g->support[j * r + i] + g->support[i * r + j]);
done:
  rf_free(blocks);
  rf_free(motion);
  rf_free(force);
  return st;
}

static rf_status check(const rf_solid *s, const rf_green_settings *set, rf_error *err) {
  const rf_status st = check_nodes(s->mesh->n_nodes, set, err);
  if (st < 0) return st;
  for (int32_t k = 0; k < set->count; ++k)
    if (rf_green_shares(s, set->node[k], NULL) == 0)
      return rf_fail(err, RF_ERR_ARG,
                     "surface_nodes[%d] is %d, a fixed node, which does not move; leave it out, or "
                     "name it in releasable if it is to be released",
                     (int)k, (int)set->node[k]);
  for (int32_t k = 0; k < set->n_releasable; ++k)
    if (s->free_of[set->releasable[k]] != -1)
      return rf_fail(err, RF_ERR_ARG,
                     "releasable[%d] is %d, which is not a fixed node of the solid; only these can "
                     "be released",
                     (int)k, (int)set->releasable[k]);
  return RF_OK;
}

rf_status rf_green_create(const rf_solid *solid, const rf_run *run, const rf_green_settings *set,
                          rf_green **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_green *g = NULL;
  work w = {.solid = solid, .run = run};
  *out = NULL;
  const int64_t total = set->count + (int64_t)set->n_releasable;
  RF_TRY(check(solid, set, err));
  RF_TRY(rf_green_allocate(solid->mesh->n_nodes, solid->n_fixed == 0, set, &g, err));
  RF_TRY(rf_modes_solid_create(solid, run, &w.modes, err));
  RF_TRY(fill(g, &w, set->tolerance, total, err));
  if (g->n_releasable > 0) RF_TRY(release(g, &w, total, err));
  *out = g;
  g = NULL;
done:
  rf_modes_solid_free(w.modes);
  rf_free(w.x);
  rf_green_free(g);
  return st;
}

int64_t rf_green_bytes(const rf_green *g) {
  const int64_t field = 3 * (int64_t)rf_green_rows(g), r = 3 * (int64_t)g->n_releasable;
  const int64_t size = g->single ? (int64_t)sizeof(float) : (int64_t)sizeof(double);
  const int64_t more = r * (field + r) + (g->rigid ? RF_GREEN_RIGID * field : 0) +
                       3 * (int64_t)g->count * g->n_added + (g->firm ? r : 0);
  const int64_t entries =
      g->packed ? rf_green_packed_entries(g->packed) : rf_green_entries(g->stored);
  const int64_t blocks = g->packed ? rf_green_packed_blocks(g->packed->tiles) : 0;
  return entries * size + more * (int64_t)sizeof(double) +
         blocks * (int64_t)(sizeof(int32_t) + sizeof(int64_t));
}

void rf_green_dense(const rf_green *g, void *out) {
  const int64_t n = 3 * (int64_t)g->count;
  for (int32_t i = 0; i < g->count; ++i)
    for (int32_t j = 0; j < g->count; ++j) {
      double block[9];
      rf_green_block_rt(g, i, j, block);
      for (int c = 0; c < 9; ++c) {
        const int64_t at = (3 * (int64_t)i + c / 3) * n + 3 * (int64_t)j + c % 3;
        if (g->single)
          ((float *)out)[at] = (float)block[c];
        else
          ((double *)out)[at] = block[c];
      }
    }
}
