// Making composite bodies: outer nodes, stiffness of each block, elimination of its inner nodes.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "fem/constrained.h"
#include "fem/fem.h"
#include "fem/ghost.h"
#include "green/composite.h"
#include "green/control_build.h"
#include "linalg/vec3.h"

enum { COLUMNS = RF_CHOLESKY_BLOCK / 3 * 3, NODES = COLUMNS / 3, STRAINS = 6 };

static const double EPS = 2.3e-16;

typedef struct build {
  const rf_solid *solid;
  const rf_solid *cells;  // the same, or its elements without constraints
  const rf_composite_settings *set;
  const rf_run *run;
  rf_composite *body;
  int32_t *first, *next;        // elements of a block, as lists    (n_blocks), (n_elements)
  int32_t *blocks_of;           // blocks of a node                 (n_nodes)
  int32_t *seen;                // block that was here last, plus 1 (n_nodes)
  int32_t *list;                // nodes of a block, and all that they follow   (n_nodes)
  int32_t *free_of;             // inner nodes of the block         (n_nodes)
  double *value;                // stiffness of a block             (graph.ptr[n], 3, 3)
  double *own;                  // that of the cells, the same without constraints
  int32_t *mate;                // ghost faces of a block           (n_elements, 6)
  double *modulus;              // of the penalty                   (n_materials)
  double *penalty;              // entries of it                    (graph.ptr[n])
  rf_solid_ghost_rows *ghosts;  // NULL: the solid has no ghost faces
} build;

static void finish(build *b) {
  rf_composite_free(b->body);
  rf_free(b->first);
  rf_free(b->next);
  rf_free(b->blocks_of);
  rf_free(b->seen);
  rf_free(b->list);
  rf_free(b->free_of);
  if (b->own != b->value) rf_free(b->own);
  rf_free(b->value);
  rf_free(b->mate);
  rf_free(b->modulus);
  rf_free(b->penalty);
  rf_solid_ghost_rows_free(b->ghosts);
}

static rf_status check(const build *b, rf_error *err) {
  const rf_composite_settings *set = b->set;
  const rf_mesh *mesh = b->solid->mesh;
  if (set->n_blocks < 2 || set->n_blocks > RF_COMPOSITE_MOST_BLOCKS)
    return rf_fail(err, RF_ERR_ARG,
                   "blocks must be 2 to %d, got %d; a body of one block turns as a whole: that is "
                   "ControlElements",
                   RF_COMPOSITE_MOST_BLOCKS, set->n_blocks);
  for (int32_t e = 0; e < mesh->n_elements; ++e)
    if (set->block[e] < 0 || set->block[e] >= set->n_blocks)
      return rf_fail(err, RF_ERR_ARG, "blocks[%d] is %d; blocks are numbered 0 to %d", e,
                     set->block[e], set->n_blocks - 1);
  for (int32_t k = 0; k < set->n_holdable; ++k)
    if (set->holdable[k] < 0 || set->holdable[k] >= mesh->n_nodes)
      return rf_fail(err, RF_ERR_ARG, "holdable has node %d; nodes are numbered 0 to %d",
                     set->holdable[k], mesh->n_nodes - 1);
  for (int32_t k = 0; k < set->n_holdable; ++k)
    if (b->solid->free_of[set->holdable[k]] == -2)
      return rf_fail(err, RF_ERR_ARG,
                     "holdable has node %d, which is constrained to follow others "
                     "(mesh.constraints): hold these",
                     set->holdable[k]);
  return rf_solid_require_held(b->solid, err);
}

// Returns the block to which a ghost face belongs, -1: there is none.
static int32_t block_of_ghost(const build *b, int32_t e, int face) {
  const int32_t *const mates = b->solid->ghost_mate, *const block = b->set->block;
  if (!mates) return -1;
  const int32_t other = mates[RF_BOX_FACES * (int64_t)e + face];
  if (other < 0) return -1;
  return block[e] < block[other] ? block[e] : block[other];
}

// True for nodes that follow others, which are neither outer nor inner nodes.
static bool follows(const build *b, int32_t node) { return b->solid->free_of[node] == -2; }

static int32_t add_node(build *b, int32_t block, int32_t node, int32_t count) {
  if (b->seen[node] == block + 1) return count;
  b->seen[node] = block + 1;
  b->list[count++] = node;
  return count;
}

static int32_t add_nodes(build *b, int32_t block, int32_t e, int32_t count) {
  const int nodes = (int)b->solid->mesh->type;
  for (int a = 0; a < nodes; ++a)
    count = add_node(b, block, b->solid->mesh->elements[(int64_t)e * nodes + a], count);
  return count;
}

// Adds the masters of the constrained nodes in the list.
static int32_t add_masters(build *b, int32_t block, int32_t count) {
  const rf_constraints *c = b->solid->mesh->constraints;
  for (int32_t k = 0; c && k < c->n; ++k)
    for (int32_t p = c->ptr[k]; b->seen[c->slaves[k]] == block + 1 && p < c->ptr[k + 1]; ++p)
      count = add_node(b, block, c->masters[p], count);
  return count;
}

static int compare_i32(const void *a, const void *b) {
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

// Lists the nodes of a block, ascending; returns their number.
static int32_t list_nodes(build *b, int32_t block) {
  int32_t count = 0;
  for (int32_t e = b->first[block]; e >= 0; e = b->next[e]) {
    count = add_nodes(b, block, e, count);
    for (int f = 0; f < RF_BOX_FACES; ++f)
      if (block_of_ghost(b, e, f) == block)
        count = add_nodes(b, block, b->solid->ghost_mate[RF_BOX_FACES * (int64_t)e + f], count);
  }
  count = add_masters(b, block, count);
  qsort(b->list, (size_t)count, sizeof *b->list, compare_i32);
  return count;
}

// Finds the outer nodes.
static rf_status find_outer(build *b, rf_error *err) {
  rf_status st = RF_OK;
  const rf_solid *s = b->solid;
  const int32_t n = s->mesh->n_nodes;
  rf_composite *c = b->body;
  c->n_nodes = n;
  c->n_blocks = b->set->n_blocks;
  RF_ALLOC(c->block, c->n_blocks);
  RF_ALLOC(c->rest, 3 * (int64_t)n);
  RF_ALLOC(c->outer_of, n);
  memcpy(c->rest, s->mesh->nodes, 3 * (size_t)n * sizeof *c->rest);
  for (int32_t k = 0; k < c->n_blocks; ++k) b->first[k] = -1;
  for (int32_t e = s->mesh->n_elements - 1; e >= 0; --e) {
    b->next[e] = b->first[b->set->block[e]];
    b->first[b->set->block[e]] = e;
  }
  for (int32_t k = 0; k < c->n_blocks; ++k) {
    if (b->first[k] < 0) {
      st = rf_fail(err, RF_ERR_ARG,
                   "block %d of %d has no element; number the blocks from 0 on without gaps", k,
                   c->n_blocks);
      goto done;
    }
    const int32_t count = list_nodes(b, k);
    for (int32_t i = 0; i < count; ++i) b->blocks_of[b->list[i]] += !follows(b, b->list[i]);
  }
  for (int32_t k = 0; k < b->set->n_holdable; ++k) c->outer_of[b->set->holdable[k]] = 1;
  for (int32_t i = 0; i < n; ++i) {
    const bool outer = c->outer_of[i] || b->blocks_of[i] > 1 || s->free_of[i] == -1;
    c->outer_of[i] = outer ? c->n_outer : -1;
    c->n_outer += outer;
  }
  RF_ALLOC(c->outer, c->n_outer);
  RF_ALLOC(c->fixed, c->n_outer);
  for (int32_t i = 0; i < n; ++i) {
    if (c->outer_of[i] < 0) continue;
    c->outer[c->outer_of[i]] = i;
    c->fixed[c->outer_of[i]] = s->free_of[i] == -1;
  }
done:
  memset(b->seen, 0, (size_t)n * sizeof *b->seen);
  return st;
}

// ---- stiffness ------------------------------------------------------------------------

static int32_t entry_of(const rf_graph *g, int32_t row, int32_t column) {
  int32_t low = g->ptr[row], high = g->ptr[row + 1] - 1;
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    if (g->col[middle] < column)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// The strains, in the order of material/law.h, of a displacement e_k with gradient g.
static void strains_of(const double g[3], double B[3][STRAINS]) {
  const double rows[3][STRAINS] = {{g[0], 0.0, 0.0, 0.0, g[2], g[1]},
                                   {0.0, g[1], 0.0, g[2], 0.0, g[0]},
                                   {0.0, 0.0, g[2], g[1], g[0], 0.0}};
  memcpy(B, rows, sizeof rows);
}

// Adds the stiffness of an element at rest.
static void add_element(build *b, int32_t e) {
  const rf_solid *s = b->cells;
  const int nodes = (int)s->mesh->type;
  const int32_t *const node = s->mesh->elements + (int64_t)e * nodes;
  const rf_material *m = s->material + s->element_material[e];
  const double *const gradient = rf_solid_gradient(s, e), *const volume = rf_solid_volume(s, e);
  double C[STRAINS * STRAINS], sum[RF_MAX_NODES][9];
  rf_law_rest(m->law, m->parameter, C);
  for (int a = 0; a < nodes; ++a) {
    memset(sum, 0, sizeof sum);
    for (int32_t q = 0; q < rf_solid_points(s, e); ++q) {
      double B[3][STRAINS], stress[3][STRAINS] = {{0}};
      strains_of(gradient + 3 * ((int64_t)q * nodes + a), B);
      for (int k = 0; k < 3; ++k)
        for (int i = 0; i < STRAINS; ++i)
          for (int j = 0; j < STRAINS; ++j)
            stress[k][i] += volume[q] * C[STRAINS * i + j] * B[k][j];
      for (int o = 0; o < nodes; ++o) {
        strains_of(gradient + 3 * ((int64_t)q * nodes + o), B);
        for (int k = 0; k < 9; ++k)
          for (int i = 0; i < STRAINS; ++i) sum[o][k] += stress[k / 3][i] * B[k % 3][i];
      }
    }
    for (int o = 0; o < nodes; ++o) {
      double *const to = b->own + 9 * (int64_t)entry_of(&s->graph, node[a], node[o]);
      for (int k = 0; k < 9; ++k) to[k] += sum[o][k];
    }
  }
}

// Sets or clears the ghost faces that belong to a block, on both sides; returns true if there are
// any.
static bool put_ghosts(build *b, int32_t block, bool set) {
  const int32_t *const mates = b->solid->ghost_mate;
  bool some = false;
  for (int32_t e = b->first[block]; e >= 0; e = b->next[e])
    for (int f = 0; f < RF_BOX_FACES; ++f) {
      if (block_of_ghost(b, e, f) != block) continue;
      const int64_t own = RF_BOX_FACES * (int64_t)e, other = RF_BOX_FACES * (int64_t)mates[own + f];
      b->mate[own + f] = set ? mates[own + f] : -1;
      for (int g = 0; g < RF_BOX_FACES; ++g)
        if (mates[other + g] == e) b->mate[other + g] = set ? e : -1;
      some = true;
    }
  return some;
}

// Adds the penalty of the ghost faces that belong to a block, at the rows of its nodes.
static void add_ghosts(build *b, int32_t block, int32_t count) {
  rf_solid part = *b->cells;
  if (!b->ghosts || !put_ghosts(b, block, true)) return;
  part.ghost_mate = b->mate;
  rf_solid_ghost_rows_fill(b->ghosts, &part, b->modulus, count, b->list, b->penalty);
  for (int32_t i = 0; i < count; ++i)
    for (int32_t p = part.graph.ptr[b->list[i]]; p < part.graph.ptr[b->list[i] + 1]; ++p)
      for (int k = 0; k < 3; ++k) b->own[9 * (int64_t)p + 4 * k] += b->penalty[p];
  put_ghosts(b, block, false);
}

// Clears the rows of the cells of a block.
static void clear(build *b, int32_t count) {
  const rf_graph *g = &b->cells->graph;
  for (int32_t i = 0; i < count; ++i)
    memset(b->own + 9 * (int64_t)g->ptr[b->list[i]], 0,
           9 * (size_t)(g->ptr[b->list[i] + 1] - g->ptr[b->list[i]]) * sizeof *b->own);
}

// Sets the stiffness of a block in the rows of its nodes.
static rf_status assemble(build *b, int32_t index, int32_t count, rf_error *err) {
  rf_status st = RF_OK;
  clear(b, count);
  for (int32_t e = b->first[index]; e >= 0; e = b->next[e]) add_element(b, e);
  add_ghosts(b, index, count);
  if (b->cells == b->solid) return st;
  RF_TRY(
      rf_constrained_fold_blocks(b->solid, b->run, b->own, false, count, b->list, b->value, err));
  clear(b, count);  // folding reads rows of other blocks
done:
  return st;
}

// ---- one block ------------------------------------------------------------------------

static rf_status find_nodes(build *b, int32_t index, int32_t *count, rf_error *err) {
  rf_status st = RF_OK;
  const rf_composite *c = b->body;
  rf_composite_block *block = b->body->block + index;
  int32_t *own = NULL, shared = 0;
  *count = list_nodes(b, index);
  for (int32_t i = 0; i < *count; ++i) {
    if (follows(b, b->list[i])) continue;
    ++block->n_inner;
    block->n_outer += c->outer_of[b->list[i]] >= 0;
    shared += b->blocks_of[b->list[i]] > 1;
  }
  block->n_inner -= block->n_outer;
  if (shared == 0) {
    st = rf_fail(err, RF_ERR_ARG,
                 "block %d shares no node with another one: make a body of its own of it", index);
    goto done;
  }
  if (block->n_outer > RF_COMPOSITE_MOST_OUTER) {
    st = rf_fail(err, RF_ERR_ARG,
                 "block %d has %d nodes that others share, that are fixed, or that may be held, "
                 "more than %d; cut along smaller sections, or hold fewer nodes",
                 index, block->n_outer, RF_COMPOSITE_MOST_OUTER);
    goto done;
  }
  RF_ALLOC(block->outer, block->n_outer);
  RF_ALLOC(block->inner, block->n_inner);
  RF_ALLOC(own, block->n_outer);
  block->n_outer = block->n_inner = 0;
  for (int32_t i = 0; i < *count; ++i) {
    const int32_t node = b->list[i];
    if (follows(b, node)) continue;
    if (c->outer_of[node] < 0) {
      block->inner[block->n_inner++] = node;
    } else {
      own[block->n_outer] = node;
      block->outer[block->n_outer++] = c->outer_of[node];
    }
  }
  if (!rf_control_spans_plane(b->solid->mesh, block->n_outer, own))
    st = rf_fail(err, RF_ERR_ARG,
                 "block %d has no rotation: its %d nodes that others share or that are fixed lie "
                 "on one line; join it to another block",
                 index, block->n_outer);
done:
  rf_free(own);
  return st;
}

// Copies K_bi.
static rf_status copy_coupling(const build *b, rf_composite_block *block, rf_error *err) {
  rf_status st = RF_OK;
  const rf_graph *g = &b->solid->graph;
  RF_ALLOC(block->ptr, (int64_t)block->n_outer + 1);
  for (int round = 0; round < 2; ++round) {
    int32_t entries = 0;
    for (int32_t i = 0; i < block->n_outer; ++i) {
      const int32_t node = b->body->outer[block->outer[i]];
      for (int32_t p = g->ptr[node]; p < g->ptr[node + 1]; ++p) {
        const int32_t inner = b->free_of[g->col[p]];
        if (inner < 0) continue;
        if (round) {
          block->col[entries] = inner;
          memcpy(block->coupling + 9 * (int64_t)entries, b->value + 9 * (int64_t)p,
                 9 * sizeof *b->value);
        }
        ++entries;
      }
      block->ptr[i + 1] = entries;
    }
    if (round) break;
    RF_ALLOC(block->col, entries);
    RF_ALLOC(block->coupling, 9 * (int64_t)entries);
  }
done:
  return st;
}

static rf_status factorize(build *b, rf_composite_block *block, rf_error *err) {
  rf_status st = RF_OK;
  rf_csc lower = {0};
  rf_solid held = *b->solid;
  held.fixed = NULL;
  held.free = block->inner;
  held.free_of = b->free_of;
  held.n_free = block->n_inner;
  held.n_fixed = held.mesh->n_nodes - held.n_free;
  RF_TRY(rf_solid_free_pattern(&held, &lower, err));
  rf_solid_free_fill(&held, 0.0, b->value, &lower);
  RF_TRY(rf_solid_factor_create(&held, &lower, &block->factor, err));
  RF_TRY(rf_cholesky_factorize(block->factor, b->run, &lower, NULL, err));
done:
  rf_csc_free(&lower);
  return st;
}

// Subtracts K_bi K_ii^-1 K_ib from D.
static rf_status eliminate(const build *b, rf_composite_block *block, rf_error *err) {
  rf_status st = RF_OK;
  const int64_t n = 3 * (int64_t)block->n_outer, inner = 3 * (int64_t)block->n_inner;
  double *x = NULL;
  RF_ALLOC(x, COLUMNS * inner);
  for (int32_t from = 0; from < block->n_outer; from += NODES) {
    const int32_t to = from + NODES < block->n_outer ? from + NODES : block->n_outer;
    memset(x, 0, (size_t)(3 * (to - from) * inner) * sizeof *x);
    for (int32_t i = from; i < to; ++i)
      for (int32_t p = block->ptr[i]; p < block->ptr[i + 1]; ++p)
        for (int k = 0; k < 9; ++k)
          x[(3 * (i - from) + k / 3) * inner + 3 * (int64_t)block->col[p] + k % 3] =
              block->coupling[9 * (int64_t)p + k];
    RF_TRY(rf_cholesky_solve(block->factor, b->run, 3 * (to - from), x, x, err));
    for (int32_t i = 0; i < block->n_outer; ++i)
      for (int32_t column = 0; column < 3 * (to - from); ++column) {
        const double *const own = x + column * inner;
        for (int k = 0; k < 3; ++k) {
          double sum = 0.0;
          for (int32_t p = block->ptr[i]; p < block->ptr[i + 1]; ++p)
            sum += rf_vec3_dot(block->coupling + 9 * (int64_t)p + 3 * k,
                               own + 3 * (int64_t)block->col[p]);
          block->stiffness[(3 * (int64_t)i + k) * n + 3 * (int64_t)from + column] -= sum;
        }
      }
    RF_TRY(rf_run_poll(b->run, err));
  }
done:
  rf_free(x);
  return st;
}

static void measure(rf_composite_block *block) {
  const int64_t n = 3 * (int64_t)block->n_outer;
  double *const D = block->stiffness, sum = 0.0;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < i; ++j)
      D[i * n + j] = D[j * n + i] = 0.5 * (D[i * n + j] + D[j * n + i]);
  for (int64_t i = 0; i < n; ++i) {
    double row = 0.0;
    for (int64_t j = 0; j < n; ++j) row += D[i * n + j] * D[i * n + j];
    sum += row;
  }
  block->rounding = 4.0 * EPS * sqrt(sum);
}

static rf_status make_block(build *b, int32_t index, rf_error *err) {
  rf_status st = RF_OK;
  const rf_graph *g = &b->solid->graph;
  const rf_composite *c = b->body;
  rf_composite_block *block = b->body->block + index;
  int32_t count;
  RF_TRY(find_nodes(b, index, &count, err));
  RF_TRY(assemble(b, index, count, err));
  for (int32_t i = 0; i < block->n_inner; ++i) b->free_of[block->inner[i]] = i;

  const int64_t n = 3 * (int64_t)block->n_outer;
  RF_ALLOC(block->arm, n);
  RF_ALLOC(block->stiffness, n * n);
  for (int32_t i = 0; i < block->n_outer; ++i)
    for (int k = 0; k < 3; ++k)
      block->mean[k] += c->rest[3 * (int64_t)c->outer[block->outer[i]] + k] / block->n_outer;
  for (int32_t i = 0; i < block->n_outer; ++i) {
    const int32_t node = c->outer[block->outer[i]];
    rf_vec3_sub(c->rest + 3 * (int64_t)node, block->mean, block->arm + 3 * (int64_t)i);
    for (int32_t j = 0; j < block->n_outer; ++j) {
      const int32_t other = c->outer[block->outer[j]], p = entry_of(g, node, other);
      if (g->col[p] != other) continue;
      for (int k = 0; k < 9; ++k)
        block->stiffness[(3 * (int64_t)i + k / 3) * n + 3 * (int64_t)j + k % 3] =
            b->value[9 * (int64_t)p + k];
    }
  }
  RF_TRY(copy_coupling(b, block, err));
  if (block->n_inner > 0) {
    RF_TRY(factorize(b, block, err));
    RF_TRY(eliminate(b, block, err));
  }
  measure(block);
  for (int32_t i = 0; i < block->n_inner; ++i) b->free_of[block->inner[i]] = -1;
done:
  return st;
}

// Lists the blocks of each outer node.
static rf_status list_members(rf_composite *c, rf_error *err) {
  rf_status st = RF_OK;
  int32_t *at = NULL;
  RF_ALLOC(at, c->n_outer);
  RF_ALLOC(c->ptr, (int64_t)c->n_outer + 1);
  for (int32_t b = 0; b < c->n_blocks; ++b)
    for (int32_t i = 0; i < c->block[b].n_outer; ++i) ++c->ptr[c->block[b].outer[i] + 1];
  for (int32_t i = 0; i < c->n_outer; ++i) c->ptr[i + 1] += at[i] = c->ptr[i];
  RF_ALLOC(c->member, 2 * (int64_t)c->ptr[c->n_outer]);
  for (int32_t b = 0; b < c->n_blocks; ++b)
    for (int32_t i = 0; i < c->block[b].n_outer; ++i) {
      const int32_t to = at[c->block[b].outer[i]]++;
      c->member[2 * (int64_t)to] = b;
      c->member[2 * (int64_t)to + 1] = i;
    }
done:
  rf_free(at);
  return st;
}

rf_status rf_composite_create(const rf_solid *solid, const rf_composite_settings *set,
                              const rf_run *run, rf_composite **out, rf_error *err) {
  rf_status st = RF_OK;
  build b = {.solid = solid, .cells = solid, .set = set, .run = run};
  const int32_t n = solid->mesh->n_nodes, elements = solid->mesh->n_elements;
  *out = NULL;
  RF_TRY(check(&b, err));
  RF_ALLOC(b.body, 1);
  RF_ALLOC(b.first, set->n_blocks);
  RF_ALLOC(b.next, elements);
  RF_ALLOC(b.blocks_of, n);
  RF_ALLOC(b.seen, n);
  RF_ALLOC(b.list, n);
  RF_ALLOC(b.free_of, n);
  RF_ALLOC(b.value, 9 * (int64_t)solid->graph.ptr[n]);
  b.own = b.value;
  if (solid->constrained) {
    b.cells = solid->constrained->elements;
    b.own = NULL;
    RF_ALLOC(b.own, 9 * (int64_t)b.cells->graph.ptr[n]);
  }
  if (solid->ghost_mate) {
    RF_ALLOC(b.mate, RF_BOX_FACES * (int64_t)elements);
    RF_ALLOC(b.modulus, solid->n_materials);
    RF_ALLOC(b.penalty, b.cells->graph.ptr[n]);
    for (int32_t m = 0; m < solid->n_materials; ++m)
      b.modulus[m] = rf_solid_ghost_modulus(solid, m);
    for (int64_t f = 0; f < RF_BOX_FACES * (int64_t)elements; ++f) b.mate[f] = -1;
    RF_TRY(rf_solid_ghost_rows_create(b.cells, &b.ghosts, err));
  }
  for (int32_t i = 0; i < n; ++i) b.free_of[i] = -1;
  RF_TRY(find_outer(&b, err));
  for (int32_t k = 0; k < set->n_blocks; ++k) {
    RF_TRY(make_block(&b, k, err));
    RF_TRY(rf_run_progress(run, k + 1, set->n_blocks, err));
  }
  RF_TRY(list_members(b.body, err));
  *out = b.body;
  b.body = NULL;
done:
  finish(&b);
  return st;
}

void rf_composite_free(rf_composite *c) {
  if (!c) return;
  for (int32_t k = 0; c->block && k < c->n_blocks; ++k) {
    rf_composite_block *block = c->block + k;
    rf_free(block->outer);
    rf_free(block->inner);
    rf_free(block->arm);
    rf_free(block->stiffness);
    rf_free(block->ptr);
    rf_free(block->col);
    rf_free(block->coupling);
    rf_cholesky_free(block->factor);
  }
  rf_free(c->block);
  rf_free(c->rest);
  rf_free(c->outer);
  rf_free(c->outer_of);
  rf_free(c->fixed);
  rf_free(c->ptr);
  rf_free(c->member);
  rf_free(c);
}

int64_t rf_composite_bytes(const rf_composite *c) {
  int64_t bytes = 0;
  for (int32_t k = 0; k < c->n_blocks; ++k) {
    const int64_t n = 3 * (int64_t)c->block[k].n_outer;
    bytes += n * n * (int64_t)sizeof(double);
  }
  return bytes;
}
