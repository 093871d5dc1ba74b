// Creation of a solid: checks, adjacency, spatial order.
#include "fem/fem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "fem/adjacency.h"
#include "fem/constrained.h"
#include "fem/ghost.h"
#include "fem/shape.h"
#include "fem/tables.h"
#include "linalg/curve.h"

static rf_status check_settings(const rf_mesh *mesh, const rf_solid_settings *set, rf_error *err) {
  if (mesh->type == RF_HEX20 && set->quadrature == 2)
    return rf_fail(err, RF_ERR_ARG,
                   "quadrature must be 3 or 4 for hexahedra of 20 nodes, got 2, which leaves "
                   "motions without stiffness");
  if (!rf_shape_has_rule(mesh->type, set->quadrature))
    return rf_fail(err, RF_ERR_ARG, "quadrature must be %s for elements of %d nodes, got %d",
                   mesh->type == RF_TET10   ? "2 or 3"
                   : mesh->type == RF_HEX20 ? "3 or 4"
                                            : "2, 3 or 4",
                   (int)mesh->type, set->quadrature);
  rf_status st = rf_simd_check(set->simd, err);
  if (st < 0) return st;
  if (!(set->n_fixed >= 0 && set->n_fixed <= mesh->n_nodes))
    return rf_fail(err, RF_ERR_ARG, "fixed has %d nodes; the mesh has %d", set->n_fixed,
                   mesh->n_nodes);
  if (set->n_materials < 1) return rf_fail(err, RF_ERR_ARG, "a solid needs at least one material");
  for (int32_t m = 0; m < set->n_materials; ++m) {
    const rf_material *t = set->material + m;
    st = t->law->facts->check(t->parameter, m, err);
    if (st < 0) return st;
    if (!(isfinite(t->density) && t->density > 0.0))
      return rf_fail(err, RF_ERR_ARG, "material %d: density must be finite and positive, got %g", m,
                     t->density);
  }
  for (int32_t e = 0; e < mesh->n_elements; ++e) {
    const int32_t m = set->element_material[e];
    if (!(m >= 0 && m < set->n_materials))
      return rf_fail(err, RF_ERR_ARG, "element_material[%d] is %d; allowed are 0 to %d", e, m,
                     set->n_materials - 1);
  }
  return RF_OK;
}

// Rejects a fixed constrained node with a master that is not fixed.
static rf_status check_masters(const rf_constraints *c, const int32_t *free_of, rf_error *err) {
  for (int32_t k = 0; c && k < c->n; ++k)
    for (int32_t p = c->ptr[k]; p < c->ptr[k + 1] && free_of[c->slaves[k]] == -1; ++p)
      if (free_of[c->masters[p]] != -1)
        return rf_fail(err, RF_ERR_ARG,
                       "fixed names node %d, which is constrained to follow node %d, but not that "
                       "one: fix all %d masters of it, or leave it out",
                       c->slaves[k], c->masters[p], c->ptr[k + 1] - c->ptr[k]);
  return RF_OK;
}

// ties: constraints of nodes, NULL: none.
static rf_status take_fixed(const rf_solid_settings *set, int32_t n, const rf_constraints *ties,
                            rf_solid *s, rf_error *err) {
  rf_status st = RF_OK;
  RF_ALLOC(s->free_of, n);
  for (int32_t k = 0; k < set->n_fixed; ++k) {
    const int32_t i = set->fixed[k];
    if (!(i >= 0 && i < n)) {
      st = rf_fail(err, RF_ERR_ARG, "fixed[%d] is %d; allowed are 0 to %d", k, i, n - 1);
      goto done;
    }
    if (s->free_of[i] == -1) {
      st = rf_fail(err, RF_ERR_ARG, "fixed[%d]: node %d occurs twice", k, i);
      goto done;
    }
    s->free_of[i] = -1;
  }
  RF_TRY(check_masters(ties, s->free_of, err));
  for (int32_t k = 0; ties && k < ties->n; ++k) s->free_of[ties->slaves[k]] = -2;
  for (int32_t i = 0; i < n; ++i) {
    s->n_fixed += s->free_of[i] == -1;
    s->n_free += s->free_of[i] == 0;
  }
  RF_ALLOC(s->fixed, s->n_fixed);
  RF_ALLOC(s->free, s->n_free);
  int32_t at_fixed = 0, at_free = 0;
  for (int32_t i = 0; i < n; ++i) {
    if (s->free_of[i] == -1) {
      s->fixed[at_fixed++] = i;
    } else if (s->free_of[i] == 0) {
      s->free_of[i] = at_free;
      s->free[at_free++] = i;
    }
  }
done:
  return st;
}

static int compare_i32(const void *a, const void *b) {
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

static int32_t add_nodes(const rf_mesh *mesh, int32_t e, int32_t mark, int32_t *place, int32_t *row,
                         int32_t count) {
  const int nodes = (int)mesh->type;
  const int32_t *element = mesh->elements + (int64_t)e * nodes;
  for (int b = 0; b < nodes; ++b)
    if (place[element[b]] != mark) {
      place[element[b]] = mark;
      row[count++] = element[b];
    }
  return count;
}

// Collects the nodes adjacent to one with the given elements around it: those of the elements and,
// across ghost faces, of their mates.  place[j] = mark: j is in the row.  Returns their number.
static int32_t collect_row(const rf_solid *s, int32_t n_around, const int32_t *around, int32_t mark,
                           int32_t *place, int32_t *row) {
  int32_t count = 0;
  for (int32_t k = 0; k < n_around; ++k) {
    count = add_nodes(s->mesh, around[k], mark, place, row, count);
    if (!s->ghost_mate) continue;
    for (int f = 0; f < RF_BOX_FACES; ++f) {
      const int32_t mate = s->ghost_mate[RF_BOX_FACES * (int64_t)around[k] + f];
      if (mate >= 0) count = add_nodes(s->mesh, mate, mark, place, row, count);
    }
  }
  return count;
}

static rf_status build_graph(rf_solid *s, rf_error *err) {
  rf_status st = RF_OK;
  const rf_mesh *mesh = s->mesh;
  const int32_t n = mesh->n_nodes;
  const int nodes = (int)mesh->type;
  int32_t *ptr = NULL, *list = NULL, *place = NULL, *row = NULL;
  RF_TRY(rf_node_elements(mesh, &ptr, &list, err));
  RF_ALLOC(place, n);
  RF_ALLOC(row, n);
  s->graph.n = n;
  RF_ALLOC(s->graph.ptr, (int64_t)n + 1);
  RF_ALLOC(s->upper, s->n_places * (int64_t)(nodes * (nodes + 1) / 2));

  // lengths of the rows; place[j] = i + 1 marks j as adjacent to i
  int64_t entries = 0;
  for (int32_t i = 0; i < n; ++i) {
    entries += collect_row(s, ptr[i + 1] - ptr[i], list + ptr[i], i + 1, place, row);
    // nine values per entry must be countable as well
    if (entries > INT32_MAX / 9) {
      st = rf_fail(err, RF_ERR_MEMORY,
                   "the stiffness of %d nodes is beyond the 32-bit index range; use a coarser mesh",
                   n);
      goto done;
    }
    s->graph.ptr[i + 1] = (int32_t)entries;
  }
  RF_ALLOC(s->graph.col, entries);
  RF_ALLOC(s->mirror, entries);
  RF_ALLOC(s->diagonal, n);

  memset(place, 0, (size_t)n * sizeof *place);
  for (int32_t i = 0; i < n; ++i) {
    const int32_t count = collect_row(s, ptr[i + 1] - ptr[i], list + ptr[i], i + 1, place, row);
    qsort(row, (size_t)count, sizeof *row, compare_i32);
    memcpy(s->graph.col + s->graph.ptr[i], row, (size_t)count * sizeof *row);
  }

  // rows are sorted, so traversal in order meets the mirror entries of a row in order
  for (int32_t i = 0; i < n; ++i) place[i] = s->graph.ptr[i];
  for (int32_t i = 0; i < n; ++i) {
    s->diagonal[i] = place[i];
    for (int32_t p = s->graph.ptr[i]; p < s->graph.ptr[i + 1]; ++p)
      s->mirror[p] = place[s->graph.col[p]]++;
  }

  // place[j] = entry of j in row i, for the elements around i
  for (int32_t i = 0; i < n; ++i) {
    for (int32_t p = s->graph.ptr[i]; p < s->graph.ptr[i + 1]; ++p) place[s->graph.col[p]] = p;
    for (int32_t k = ptr[i]; k < ptr[i + 1]; ++k) {
      const int32_t *element = mesh->elements + (int64_t)list[k] * nodes;
      const int32_t at = s->place[list[k]];
      for (int a = 0; a < nodes; ++a)
        for (int b = 0; b < nodes && element[a] == i; ++b) {
          if (element[b] < i) continue;
          const int32_t entry = place[element[b]];
          if (a <= b)
            s->upper[rf_solid_upper_at(s, at, a, b)] = entry;
          else
            s->upper[rf_solid_upper_at(s, at, b, a)] = ~entry;
        }
    }
  }
  for (int64_t at = 0; at < s->n_places; ++at)
    for (int a = 0; a < nodes && s->visit[at] < 0; ++a)
      for (int b = a; b < nodes; ++b)
        s->upper[rf_solid_upper_at(s, at, a, b)] = s->upper[rf_solid_upper_at(s, at - 1, a, b)];
done:
  rf_free(ptr);
  rf_free(list);
  rf_free(place);
  rf_free(row);
  return st;
}

typedef struct keyed {
  int32_t key;
  int32_t index;
} keyed;

static int compare_keyed(const void *a, const void *b) {
  const keyed *x = a, *y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return (x->index > y->index) - (x->index < y->index);
}

static int law_of(const rf_solid *s, int32_t e) {
  return rf_law_index(s->material[s->element_material[e]].law);
}

static void count_places(rf_solid *s) {
  int64_t count[RF_LAW_COUNT] = {0}, places = 0;
  const int lanes = rf_solid_lanes(s);
  for (int32_t e = 0; e < s->mesh->n_elements; ++e) ++count[law_of(s, e)];
  for (int k = 0; k < RF_LAW_COUNT; ++k) places += (count[k] + lanes - 1) / lanes * lanes;
  s->n_places = (int32_t)places;
}

// Gives each element the next place in the open batch of its law.
static void find_places(rf_solid *s, const keyed *sorted) {
  int32_t next[RF_LAW_COUNT] = {0}, fresh = 0;
  const int lanes = rf_solid_lanes(s);
  for (int32_t k = 0; k < s->n_places; ++k) s->visit[k] = -1;
  for (int32_t k = 0; k < s->mesh->n_elements; ++k) {
    int32_t *at = &next[law_of(s, sorted[k].index)];
    if (*at % lanes == 0) {
      *at = fresh;
      fresh += lanes;
    }
    s->visit[*at] = sorted[k].index;
    s->place[sorted[k].index] = (*at)++;
  }
}

// Sorts the nodes along the curve, and the elements by the ranks of their nodes.
static rf_status build_ranks(rf_solid *s, rf_error *err) {
  rf_status st = RF_OK;
  const rf_mesh *mesh = s->mesh;
  const int nodes = (int)mesh->type;
  keyed *sorted = NULL;
  int64_t *order = NULL;
  RF_ALLOC(sorted, mesh->n_elements);
  RF_ALLOC(order, mesh->n_nodes);
  RF_ALLOC(s->rank, mesh->n_nodes);
  RF_ALLOC(s->by_rank, mesh->n_nodes);
  count_places(s);
  RF_ALLOC(s->visit, s->n_places);
  RF_ALLOC(s->place, mesh->n_elements);
  RF_ALLOC(s->corners, (int64_t)s->n_places * nodes);
  RF_ALLOC(s->rank_lo, s->n_places);
  RF_ALLOC(s->rank_hi, s->n_places);

  RF_TRY(rf_curve_order(mesh->n_nodes, mesh->nodes, order, err));
  for (int32_t k = 0; k < mesh->n_nodes; ++k) {
    s->by_rank[k] = (int32_t)order[k];
    s->rank[order[k]] = k;
  }

  for (int32_t e = 0; e < mesh->n_elements; ++e) {
    int32_t low = INT32_MAX;
    for (int a = 0; a < nodes; ++a) {
      const int32_t rank = s->rank[mesh->elements[(int64_t)e * nodes + a]];
      low = rank < low ? rank : low;
    }
    sorted[e] = (keyed){low, e};
  }
  qsort(sorted, (size_t)mesh->n_elements, sizeof *sorted, compare_keyed);
  find_places(s, sorted);
  for (int32_t k = 0; k < s->n_places; ++k) {
    const int32_t e = s->visit[k];
    if (e < 0) continue;
    s->rank_lo[k] = INT32_MAX;
    s->rank_hi[k] = -1;
    for (int a = 0; a < nodes; ++a) {
      const int32_t node = mesh->elements[(int64_t)e * nodes + a], rank = s->rank[node];
      s->corners[(int64_t)k * nodes + a] = node;
      s->rank_lo[k] = rank < s->rank_lo[k] ? rank : s->rank_lo[k];
      s->rank_hi[k] = rank > s->rank_hi[k] ? rank : s->rank_hi[k];
    }
  }
done:
  rf_free(sorted);
  rf_free(order);
  return st;
}

// Creates a solid whose nodes are all independent.
static rf_status create_elements(const rf_mesh *mesh, const rf_solid_settings *set,
                                 const rf_run *run, rf_solid **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_solid *s = NULL;
  *out = NULL;
  RF_ALLOC(s, 1);
  s->mesh = mesh;
  s->quadrature = set->quadrature;
  s->simd = rf_simd_resolve(set->simd);
  s->n_materials = set->n_materials;
  RF_ALLOC(s->material, set->n_materials);
  memcpy(s->material, set->material, (size_t)set->n_materials * sizeof *s->material);
  RF_ALLOC(s->element_material, mesh->n_elements);
  memcpy(s->element_material, set->element_material,
         (size_t)mesh->n_elements * sizeof *s->element_material);
  RF_TRY(take_fixed(set, mesh->n_nodes, NULL, s, err));
  RF_TRY(rf_run_progress(run, -1, -1, err));
  RF_TRY(build_ranks(s, err));
  RF_TRY(rf_run_progress(run, -1, -1, err));
  RF_TRY(rf_solid_find_ghosts(s, err));
  RF_TRY(build_graph(s, err));
  RF_TRY(rf_run_progress(run, -1, -1, err));
  RF_TRY(rf_solid_build_tables(s, err));
  RF_TRY(rf_solid_build_ghosts(s, err));
  *out = s;
  s = NULL;
done:
  rf_solid_free(s);
  return st;
}

rf_status rf_solid_create(const rf_mesh *mesh, const rf_solid_settings *set, const rf_run *run,
                          rf_solid **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_solid *s = NULL, *elements = NULL;
  rf_solid_settings unheld = *set;
  *out = NULL;
  RF_TRY(check_settings(mesh, set, err));
  if (!mesh->constraints) return create_elements(mesh, set, run, out, err);
  RF_ALLOC(s, 1);
  RF_TRY(take_fixed(set, mesh->n_nodes, mesh->constraints, s, err));
  unheld.n_fixed = 0;
  RF_TRY(create_elements(mesh, &unheld, run, &elements, err));
  s->constrained = rf_alloc(1, sizeof *s->constrained);
  if (!s->constrained) {
    rf_solid_free(elements);
    st = rf_fail(err, RF_ERR_MEMORY, "out of memory");
    goto done;
  }
  RF_TRY(rf_constrained_create(elements, s, err));
  RF_TRY(rf_run_progress(run, -1, -1, err));
  *out = s;
  s = NULL;
done:
  rf_solid_free(s);
  return st;
}

// Returns the region of a material; an element of it may not exist.
static int32_t region_of(const rf_solid *s, int32_t material) {
  int32_t e = 0;
  while (e + 1 < s->mesh->n_elements && s->element_material[e] != material) ++e;
  return s->mesh->regions[e];
}

bool rf_solid_is_quadratic(const rf_solid *s) {
  for (int32_t m = 0; m < s->n_materials; ++m)
    if (!s->material[m].law->facts->quadratic_in_e) return false;
  return true;
}

rf_status rf_solid_require_quadratic(const rf_solid *s, const char *needs, rf_error *err) {
  for (int32_t m = 0; m < s->n_materials; ++m)
    if (!s->material[m].law->facts->quadratic_in_e)
      return rf_fail(
          err, RF_ERR_ARG,
          "%s needs materials whose energy is quadratic in Green's strain, but region "
          "%d is a %s: use reduce(solid, basis, cubature=200), ProjectedSolid with the same "
          "basis, or the Solid itself",
          needs, region_of(s, m), s->material[m].law->name);
  return RF_OK;
}

void rf_solid_free(rf_solid *s) {
  if (!s) return;
  rf_free(s->graph.ptr);
  rf_free(s->graph.col);
  rf_free(s->diagonal);
  rf_free(s->mirror);
  rf_free(s->mass);
  rf_free(s->lumped);
  rf_free(s->fixed);
  rf_free(s->free);
  rf_free(s->free_of);
  if (s->constrained) {
    // all else belongs to the elements
    rf_constrained_free(s->constrained);
    rf_free(s);
    return;
  }
  rf_free(s->first_point);
  rf_free(s->n_points);
  rf_free(s->ghost_mate);
  rf_free(s->ghost_ptr);
  rf_free(s->ghost_entry);
  rf_free(s->ghost_value);
  rf_free(s->gradient);
  rf_free(s->volume);
  rf_free(s->material);
  rf_free(s->element_material);
  rf_free(s->upper);
  rf_free(s->rank);
  rf_free(s->by_rank);
  rf_free(s->visit);
  rf_free(s->place);
  rf_free(s->corners);
  rf_free(s->rank_lo);
  rf_free(s->rank_hi);
  rf_free(s);
}
