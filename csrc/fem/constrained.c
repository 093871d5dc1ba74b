#include "fem/constrained.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"

enum { ROWS_PER_TASK = 256 };

void rf_constrained_free(rf_constrained *c) {
  if (!c) return;
  rf_solid_free(c->elements);
  rf_free(c->ptr);
  rf_free(c->term);
  rf_free(c->weight);
  rf_free(c);
}

// ---- the pattern ----------------------------------------------------------------------

// A node and its weight in T: itself, or one of its masters.
typedef struct part {
  int32_t node;
  double weight;
} part;

// The rows of T and of its transpose.
typedef struct transposed {
  const rf_constraints *c;
  int32_t *constraint;  // of each node, -1: independent                (n)
  int32_t *ptr;         // nodes that follow each node, in `follower`   (n + 1)
  part *follower;       // (c->ptr[c->n])
} transposed;

static rf_status transpose(const rf_mesh *m, transposed *t, rf_error *err) {
  rf_status st = RF_OK;
  const rf_constraints *c = m->constraints;
  t->c = c;
  RF_ALLOC(t->constraint, m->n_nodes);
  RF_ALLOC(t->ptr, (int64_t)m->n_nodes + 2);
  RF_ALLOC(t->follower, c->ptr[c->n]);
  for (int32_t i = 0; i < m->n_nodes; ++i) t->constraint[i] = -1;
  for (int32_t k = 0; k < c->n; ++k) t->constraint[c->slaves[k]] = k;
  // counts two entries to the right, so that filling turns them into starts
  for (int32_t p = 0; p < c->ptr[c->n]; ++p) ++t->ptr[c->masters[p] + 2];
  for (int32_t i = 0; i < m->n_nodes; ++i) t->ptr[i + 2] += t->ptr[i + 1];
  for (int32_t k = 0; k < c->n; ++k)
    for (int32_t p = c->ptr[k]; p < c->ptr[k + 1]; ++p)
      t->follower[t->ptr[c->masters[p] + 1]++] = (part){c->slaves[k], c->weights[p]};
done:
  return st;
}

static void transposed_release(transposed *t) {
  rf_free(t->constraint);
  rf_free(t->ptr);
  rf_free(t->follower);
}

// A term of an entry in a row.
typedef struct term {
  int32_t column, entry;
  double weight;
} term;

static int compare_terms(const void *a, const void *b) {
  const term *x = a, *y = b;
  if (x->column != y->column) return x->column < y->column ? -1 : 1;
  return (x->entry > y->entry) - (x->entry < y->entry);
}

// Adds the entries of row i of the elements, times a weight.
static int64_t add_row(const rf_graph *graph, const transposed *t, int32_t i, double weight,
                       int64_t count, term *row) {
  for (int32_t p = graph->ptr[i]; p < graph->ptr[i + 1]; ++p) {
    const int32_t j = graph->col[p], k = t->constraint[j];
    if (k < 0) {
      if (row) row[count] = (term){j, p, weight};
      ++count;
      continue;
    }
    for (int32_t q = t->c->ptr[k]; q < t->c->ptr[k + 1]; ++q, ++count)
      if (row) row[count] = (term){t->c->masters[q], p, weight * t->c->weights[q]};
  }
  return count;
}

// Lists the terms of row i of the solid, by column; NULL: counts them only.
static int64_t list_row(const rf_graph *graph, const transposed *t, int32_t i, term *row) {
  if (t->constraint[i] >= 0) {
    if (row) row[0] = (term){i, -1, 0.0};
    return 1;
  }
  int64_t count = add_row(graph, t, i, 1.0, 0, row);
  for (int32_t p = t->ptr[i]; p < t->ptr[i + 1]; ++p)
    count = add_row(graph, t, t->follower[p].node, t->follower[p].weight, count, row);
  if (!row) return count;
  bool sorted = true;
  for (int64_t k = 1; sorted && k < count; ++k) sorted = compare_terms(row + k - 1, row + k) < 0;
  if (!sorted) qsort(row, (size_t)count, sizeof *row, compare_terms);
  return count;
}

// Sets the graph of the solid and the terms of its entries.
static rf_status build_pattern(rf_solid *s, rf_constrained *c, const transposed *t, rf_error *err) {
  rf_status st = RF_OK;
  const rf_graph *from = &c->elements->graph;
  const int32_t n = from->n;
  term *row = NULL;
  int64_t longest = 0, entries = 0, terms = 0;
  for (int32_t i = 0; i < n; ++i) {
    const int64_t count = list_row(from, t, i, NULL);
    longest = count > longest ? count : longest;
  }
  RF_ALLOC(row, longest);
  s->graph.n = n;
  RF_ALLOC(s->graph.ptr, (int64_t)n + 1);
  for (int32_t i = 0; i < n; ++i) {
    const int64_t count = list_row(from, t, i, row);
    for (int64_t k = 0; k < count; ++k) {
      entries += k == 0 || row[k].column != row[k - 1].column;
      terms += row[k].column >= i && row[k].entry >= 0;
    }
    if (entries > INT32_MAX / 9) {
      st = rf_fail(err, RF_ERR_MEMORY,
                   "the stiffness of %d nodes is beyond the 32-bit index range; use a coarser mesh",
                   n);
      goto done;
    }
    s->graph.ptr[i + 1] = (int32_t)entries;
  }
  RF_ALLOC(s->graph.col, entries);
  RF_ALLOC(s->diagonal, n);
  RF_ALLOC(s->mirror, entries);
  RF_ALLOC(c->ptr, entries + 1);
  RF_ALLOC(c->term, terms);
  RF_ALLOC(c->weight, terms);
  terms = 0;
  for (int32_t i = 0; i < n; ++i) {
    const int64_t count = list_row(from, t, i, row);
    int32_t p = s->graph.ptr[i] - 1;
    for (int64_t k = 0; k < count; ++k) {
      if (k == 0 || row[k].column != row[k - 1].column) {
        s->graph.col[++p] = row[k].column;
        if (row[k].column == i) s->diagonal[i] = p;
      }
      if (row[k].column >= i && row[k].entry >= 0) {
        const int32_t mirror = c->elements->mirror[row[k].entry];
        // entries are numbered by rows, so the one above the diagonal comes first
        c->term[terms] = mirror < row[k].entry ? ~mirror : row[k].entry;
        c->weight[terms++] = row[k].weight;
      }
      c->ptr[p + 1] = terms;
    }
  }
done:
  rf_free(row);
  return st;
}

// Sets the mirror entries: traversal in order meets those of a row in order.
static rf_status build_mirror(rf_solid *s, rf_error *err) {
  rf_status st = RF_OK;
  int32_t *next = NULL;
  RF_ALLOC(next, s->graph.n);
  memcpy(next, s->graph.ptr, (size_t)s->graph.n * sizeof *next);
  for (int32_t i = 0; i < s->graph.n; ++i)
    for (int32_t p = s->graph.ptr[i]; p < s->graph.ptr[i + 1]; ++p)
      s->mirror[p] = next[s->graph.col[p]]++;
done:
  rf_free(next);
  return st;
}

static rf_status build_masses(rf_solid *s, const rf_solid *elements, rf_error *err) {
  rf_status st = RF_OK;
  const rf_constraints *c = s->mesh->constraints;
  RF_ALLOC(s->mass, s->graph.ptr[s->graph.n]);
  RF_ALLOC(s->lumped, s->graph.n);
  rf_constrained_fold_numbers(s, elements->mass, s->mass);
  memcpy(s->lumped, elements->lumped, (size_t)s->graph.n * sizeof *s->lumped);
  for (int32_t k = 0; k < c->n; ++k) {
    for (int32_t p = c->ptr[k]; p < c->ptr[k + 1]; ++p)
      s->lumped[c->masters[p]] += c->weights[p] * s->lumped[c->slaves[k]];
    s->lumped[c->slaves[k]] = 0.0;
  }
  for (int32_t i = 0; i < s->n_free; ++i)
    if (!(s->lumped[s->free[i]] > 0.0))
      st = rf_fail(err, RF_ERR_MESH,
                   "the lumped mass of node %d is %g: the weights of the nodes that follow it are "
                   "too negative",
                   s->free[i], s->lumped[s->free[i]]);
done:
  return st;
}

rf_status rf_constrained_create(rf_solid *elements, rf_solid *s, rf_error *err) {
  rf_status st = RF_OK;
  transposed t = {0};
  const rf_solid own = *s;
  rf_constrained *c = own.constrained;
  *s = *elements;
  s->constrained = c;
  s->graph = (rf_graph){0};
  s->diagonal = s->mirror = s->upper = NULL;  // assembly belongs to the elements
  s->mass = s->lumped = NULL;
  s->n_fixed = own.n_fixed, s->n_free = own.n_free;
  s->fixed = own.fixed, s->free = own.free, s->free_of = own.free_of;
  c->elements = elements;
  RF_TRY(transpose(s->mesh, &t, err));
  RF_TRY(build_pattern(s, c, &t, err));
  RF_TRY(build_mirror(s, err));
  RF_TRY(build_masses(s, elements, err));
done:
  transposed_release(&t);
  return st;
}

// ---- folding --------------------------------------------------------------------------

void rf_constrained_fold_numbers(const rf_solid *s, const double *from, double *to) {
  const rf_constrained *c = s->constrained;
  for (int32_t i = 0; i < s->graph.n; ++i)
    for (int32_t p = s->diagonal[i]; p < s->graph.ptr[i + 1]; ++p) {
      double sum = 0.0;
      for (int64_t k = c->ptr[p]; k < c->ptr[p + 1]; ++k)
        sum += c->weight[k] * from[c->term[k] < 0 ? ~c->term[k] : c->term[k]];
      to[p] = to[s->mirror[p]] = sum;
    }
}

rf_status rf_constrained_numbers(const rf_solid *s, rf_numbers_of_elements *compute,
                                 const void *context, double *entries, rf_error *err) {
  rf_status st = RF_OK;
  const rf_solid *elements = s->constrained->elements;
  double *all = NULL;
  RF_ALLOC(all, elements->graph.ptr[elements->graph.n]);
  RF_TRY(compute(elements, context, all, err));
  rf_constrained_fold_numbers(s, all, entries);
done:
  rf_free(all);
  return st;
}

typedef struct folding {
  const rf_solid *solid;
  const double *from;
  double *to;
  bool upper;
  int32_t n_rows;
  const int32_t *row;  // NULL: all of them
} folding;

static void fold_row(const folding *j, int32_t i) {
  const rf_solid *s = j->solid;
  const rf_constrained *c = s->constrained;
  for (int32_t p = s->diagonal[i]; p < s->graph.ptr[i + 1]; ++p) {
    double sum[9] = {0};
    for (int64_t k = c->ptr[p]; k < c->ptr[p + 1]; ++k) {
      const int32_t at = c->term[k];
      const double *block = j->from + 9 * (int64_t)(at < 0 ? ~at : at), w = c->weight[k];
      if (at >= 0)
        for (int d = 0; d < 9; ++d) sum[d] += w * block[d];
      else
        for (int d = 0; d < 9; ++d) sum[d] += w * block[3 * (d % 3) + d / 3];
    }
    // a diagonal block is symmetric up to rounding
    for (int r = 1; r < 3 && p == s->diagonal[i]; ++r)
      for (int d = 0; d < r; ++d) sum[3 * r + d] = sum[3 * d + r];
    memcpy(j->to + 9 * (int64_t)p, sum, sizeof sum);
    if (j->upper || p == s->diagonal[i]) continue;
    double *mirror = j->to + 9 * (int64_t)s->mirror[p];
    for (int d = 0; d < 9; ++d) mirror[d] = sum[3 * (d % 3) + d / 3];
  }
}

static rf_status fold_some(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const folding *j = context;
  const int32_t first = (int32_t)task * ROWS_PER_TASK;
  for (int32_t i = first; i < j->n_rows && i < first + ROWS_PER_TASK; ++i)
    fold_row(j, j->row ? j->row[i] : i);
  return RF_OK;
}

rf_status rf_constrained_fold_blocks(const rf_solid *s, const rf_run *run, const double *from,
                                     bool upper, int32_t n_rows, const int32_t *row, double *to,
                                     rf_error *err) {
  folding job = {.solid = s, .from = from, .to = to, .upper = upper, .n_rows = n_rows, .row = row};
  if (!row) job.n_rows = s->graph.n;
  return rf_run_tasks(run, (job.n_rows + ROWS_PER_TASK - 1) / ROWS_PER_TASK, 0, fold_some, &job,
                      err);
}

rf_status rf_constrained_copy(const rf_solid *s, const double *u, double **out, rf_error *err) {
  const rf_constraints *c = s->mesh->constraints;
  rf_status st = RF_OK;
  const size_t n = 3 * (size_t)s->mesh->n_nodes;
  *out = NULL;
  if (!u || rf_constraints_filled_rt(c, u)) return RF_OK;
  RF_ALLOC(*out, n);
  memcpy(*out, u, n * sizeof *u);
  rf_constraints_fill_rt(c, *out);
done:
  return st;
}
