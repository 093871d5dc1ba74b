#include "mesh/grade.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "mesh/lattice.h"
#include "mesh/topology.h"

// Cells of one level.
enum { WHOLE = 1, MERGED = 2, CUT = 4 };

// Cells of one level on the lattice of their size.
typedef struct level {
  int32_t n[3];   // cells along each axis
  uint8_t *cell;  // 0: none, or of the kinds above            (n[2], n[1], n[0])
} level;

typedef struct grading {
  const rf_mesh *cubes;
  rf_lattice lattice;
  int32_t n_levels;  // with cells
  level levels[RF_GRADE_MAX_LEVEL + 1];
  int32_t *renumber;  // node of the new mesh, -1: not used   (cubes->n_nodes)
} grading;

static rf_status set_finest(grading *g, rf_error *err) {
  rf_status st = RF_OK;
  level *finest = &g->levels[0];
  const rf_rule *rule = g->cubes->rule;
  memcpy(finest->n, g->lattice.n, sizeof finest->n);
  RF_ALLOC(finest->cell, (int64_t)finest->n[0] * finest->n[1] * finest->n[2]);
  for (int32_t e = 0; e < g->cubes->n_elements; ++e)
    finest->cell[g->lattice.place[e]] = rule && rule->ptr[e + 1] > rule->ptr[e] ? CUT : WHOLE;
  g->n_levels = 1;
done:
  return st;
}

// ---- merging --------------------------------------------------------------------------

// One axis of the test: to(i) = WHOLE if all of from(2 i - ring) .. from(2 i + 1 + ring) are, else
// 0.  `outer` lines of `inner` numbers beside each other.
static void shrink(const uint8_t *from, uint8_t *to, int64_t outer, int32_t n, int64_t inner,
                   int32_t ring) {
  for (int64_t o = 0; o < outer; ++o)
    for (int32_t i = 0; i < n / 2; ++i) {
      uint8_t *line = to + (o * (n / 2) + i) * inner;
      const bool inside = 2 * i - ring >= 0 && 2 * i + 1 + ring < n;
      memset(line, inside ? WHOLE : 0, (size_t)inner);
      for (int32_t k = 2 * i - ring; inside && k <= 2 * i + 1 + ring; ++k) {
        const uint8_t *cells = from + (o * n + k) * inner;
        for (int64_t c = 0; c < inner; ++c) line[c] &= cells[c];
      }
    }
}

// Returns the cube at the lowest corner of a cell.
static int32_t first_cube(const grading *g, int32_t l, int32_t i, int32_t j, int32_t k) {
  return g->lattice
      .element[rf_lattice_place(g->levels[0].n, (int64_t)i << l, (int64_t)j << l, (int64_t)k << l)];
}

// Removes a candidate whose cells have several regions; else marks these cells as merged.
static bool take_block(grading *g, int32_t l, int32_t i, int32_t j, int32_t k) {
  const int32_t *regions = g->cubes->regions;
  level *fine = &g->levels[l - 1];
  const int32_t region = regions[first_cube(g, l, i, j, k)];
  for (int a = 0; a < 8; ++a)
    if (regions[first_cube(g, l - 1, 2 * i + RF_LATTICE_CORNER[a][0],
                           2 * j + RF_LATTICE_CORNER[a][1], 2 * k + RF_LATTICE_CORNER[a][2])] !=
        region)
      return false;
  for (int a = 0; a < 8; ++a)
    fine->cell[rf_lattice_place(fine->n, 2 * i + RF_LATTICE_CORNER[a][0],
                                2 * j + RF_LATTICE_CORNER[a][1], 2 * k + RF_LATTICE_CORNER[a][2])] =
        MERGED;
  return true;
}

// Makes the cells of level l of those below; *any: there are some.
static rf_status merge(grading *g, int32_t l, int32_t ring, bool *any, rf_error *err) {
  rf_status st = RF_OK;
  const level *fine = &g->levels[l - 1];
  level *made = &g->levels[l];
  uint8_t *x = NULL, *xy = NULL;
  const int64_t nx = fine->n[0], ny = fine->n[1], nz = fine->n[2];
  *any = false;
  for (int c = 0; c < 3; ++c) made->n[c] = fine->n[c] / 2;
  if (made->n[0] < 1 || made->n[1] < 1 || made->n[2] < 1) return RF_OK;
  RF_ALLOC(x, nx / 2 * ny * nz);
  RF_ALLOC(xy, (nx / 2) * (ny / 2) * nz);
  RF_ALLOC(made->cell, (nx / 2) * (ny / 2) * (nz / 2));
  shrink(fine->cell, x, ny * nz, fine->n[0], 1, ring);
  shrink(x, xy, nz, fine->n[1], nx / 2, ring);
  shrink(xy, made->cell, 1, fine->n[2], (nx / 2) * (ny / 2), ring);
  for (int32_t k = 0; k < made->n[2]; ++k)
    for (int32_t j = 0; j < made->n[1]; ++j)
      for (int32_t i = 0; i < made->n[0]; ++i) {
        uint8_t *cell = &made->cell[rf_lattice_place(made->n, i, j, k)];
        if (*cell) *cell = take_block(g, l, i, j, k);
        *any = *any || *cell;
      }
done:
  rf_free(x);
  rf_free(xy);
  return st;
}

// ---- the mesh -------------------------------------------------------------------------

// Returns the level of the cell whose lowest corner is a cube at this place; -1: it is inside one.
static int32_t level_at(const grading *g, const int32_t at[3]) {
  for (int32_t l = 0; l < g->n_levels; ++l) {
    const uint8_t cell =
        g->levels[l].cell[rf_lattice_place(g->levels[l].n, at[0] >> l, at[1] >> l, at[2] >> l)];
    if (cell == WHOLE || cell == CUT) return l;
    if (cell == 0 || ((at[0] | at[1] | at[2]) >> l & 1)) return -1;
  }
  return -1;
}

// Calls `visit` for each cell, by the order of the cubes at their lowest corners.
typedef rf_status visit_cell(grading *g, void *context, int32_t e, const int32_t at[3], int32_t l,
                             rf_error *err);
static rf_status each_cell(grading *g, visit_cell *visit, void *context, rf_error *err) {
  for (int32_t e = 0; e < g->cubes->n_elements; ++e) {
    const int32_t *n = g->levels[0].n, place = g->lattice.place[e];
    const int32_t at[3] = {place % n[0], place / n[0] % n[1], place / n[0] / n[1]};
    const int32_t l = level_at(g, at);
    const rf_status st = l >= 0 ? visit(g, context, e, at, l, err) : RF_OK;
    if (st < 0) return st;
  }
  return RF_OK;
}

static void corner_of(const int32_t at[3], int32_t l, int a, int32_t p[3]) {
  for (int c = 0; c < 3; ++c) p[c] = at[c] + (RF_LATTICE_CORNER[a][c] << l);
}

// Counts cells and marks their nodes.
static rf_status count_cell(grading *g, void *context, int32_t e, const int32_t at[3], int32_t l,
                            rf_error *err) {
  (void)e, (void)err;
  ++*(int32_t *)context;
  for (int a = 0; a < 8; ++a) {
    int32_t p[3];
    corner_of(at, l, a, p);
    g->renumber[rf_lattice_node(&g->lattice, p)] = 1;
  }
  return RF_OK;
}

typedef struct made_mesh {
  rf_mesh *mesh;
  int32_t next;      // element
  int32_t *cube;     // at the lowest corner of each element
  int32_t *masters;  // of each node, -1: none                (n_nodes, 4)
} made_mesh;

// Constrains the node between corners of a cell, the first of `count` corners opposite the last.
static void constrain(const grading *g, made_mesh *m, const int32_t at[3], int32_t l,
                      const uint8_t *corner, int count) {
  int32_t p[3], q[3], middle[3];
  corner_of(at, l, corner[0], p);
  corner_of(at, l, corner[count / 2], q);
  for (int c = 0; c < 3; ++c) middle[c] = (p[c] + q[c]) / 2;
  const int32_t old = rf_lattice_node(&g->lattice, middle), node = old < 0 ? -1 : g->renumber[old];
  if (node < 0) return;
  int32_t *masters = m->masters + 4 * (int64_t)node;
  // an edge decides before a face
  if (masters[0] >= 0 && masters[2] < 0) return;
  for (int k = 0; k < 4; ++k) {
    if (k < count) corner_of(at, l, corner[k], p);
    masters[k] = k < count ? g->renumber[rf_lattice_node(&g->lattice, p)] : -1;
  }
}

static rf_status place_cell(grading *g, void *context, int32_t e, const int32_t at[3], int32_t l,
                            rf_error *err) {
  (void)err;
  made_mesh *m = context;
  for (int a = 0; a < 8; ++a) {
    int32_t p[3];
    corner_of(at, l, a, p);
    m->mesh->elements[8 * (int64_t)m->next + a] = g->renumber[rf_lattice_node(&g->lattice, p)];
  }
  m->cube[m->next] = e;
  m->mesh->regions[m->next++] = g->cubes->regions[e];
  for (int f = 0; f < 6 && l > 0; ++f) {
    const uint8_t *face = rf_hex_face(f);
    constrain(g, m, at, l, face, 4);
    for (int k = 0; k < 4; ++k)
      constrain(g, m, at, l, (const uint8_t[2]){face[k], face[(k + 1) % 4]}, 2);
  }
  return RF_OK;
}

// Collects the constraints in the table of the mesh.
static rf_status set_constraints(made_mesh *m, rf_error *err) {
  rf_status st = RF_OK;
  const int32_t n = m->mesh->n_nodes;
  rf_constraints c = {0};
  int32_t at = 0;
  for (int32_t i = 0; i < n; ++i) c.n += m->masters[4 * (int64_t)i] >= 0;
  if (c.n == 0) return RF_OK;
  RF_ALLOC(c.slaves, c.n);
  RF_ALLOC(c.ptr, (int64_t)c.n + 1);
  RF_ALLOC(c.masters, 4 * (int64_t)c.n);
  RF_ALLOC(c.weights, 4 * (int64_t)c.n);
  for (int32_t i = 0, k = 0; i < n; ++i) {
    const int32_t *masters = m->masters + 4 * (int64_t)i;
    if (masters[0] < 0) continue;
    const int count = masters[2] < 0 ? 2 : 4;
    c.slaves[k] = i;
    for (int j = 0; j < count; ++j) {
      c.masters[at] = masters[j];
      c.weights[at++] = 1.0 / count;
    }
    c.ptr[++k] = at;
  }
  st = rf_mesh_set_constraints(m->mesh, &c, err);
done:
  rf_free(c.slaves);
  rf_free(c.ptr);
  rf_free(c.masters);
  rf_free(c.weights);
  return st;
}

// Copies the quadrature of the cut cells, which all remain in their order.
static rf_status set_rule(grading *g, made_mesh *m, rf_error *err) {
  rf_status st = RF_OK;
  const rf_mesh *cubes = g->cubes;
  const rf_rule *from = cubes->rule;
  if (!from) return RF_OK;
  const size_t points = (size_t)from->ptr[cubes->n_elements];
  const size_t products = (size_t)rf_mesh_cut_count(cubes) * (RF_HEX8 * (RF_HEX8 + 1) / 2);
  RF_ALLOC(m->mesh->rule, 1);
  rf_rule *r = m->mesh->rule;
  RF_ALLOC(r->ptr, (int64_t)m->mesh->n_elements + 1);
  RF_ALLOC(r->point, 3 * points);
  RF_ALLOC(r->weight, points);
  RF_ALLOC(r->product, products);
  for (int32_t k = 0; k < m->mesh->n_elements; ++k) {
    const int32_t e = m->cube[k];
    r->ptr[k + 1] = r->ptr[k] + from->ptr[e + 1] - from->ptr[e];
  }
  memcpy(r->point, from->point, 3 * points * sizeof *r->point);
  memcpy(r->weight, from->weight, points * sizeof *r->weight);
  memcpy(r->product, from->product, products * sizeof *r->product);
done:
  return st;
}

static rf_status make_mesh(grading *g, rf_mesh **out, int32_t **original, rf_error *err) {
  rf_status st = RF_OK;
  const rf_mesh *cubes = g->cubes;
  int32_t cells = 0, nodes = 0, *kept = NULL;
  made_mesh m = {0};
  RF_ALLOC(g->renumber, cubes->n_nodes);
  RF_TRY(each_cell(g, count_cell, &cells, err));
  for (int32_t i = 0; i < cubes->n_nodes; ++i) g->renumber[i] = g->renumber[i] ? nodes++ : -1;
  RF_TRY(rf_mesh_allocate(RF_HEX8, nodes, cells, &m.mesh, err));
  RF_ALLOC(kept, nodes);
  RF_ALLOC(m.cube, cells);
  RF_ALLOC(m.masters, 4 * (int64_t)nodes);
  memset(m.masters, 255, 4 * (size_t)nodes * sizeof *m.masters);
  for (int32_t i = 0; i < cubes->n_nodes; ++i) {
    const int32_t node = g->renumber[i];
    if (node < 0) continue;
    kept[node] = i;
    memcpy(m.mesh->nodes + 3 * (int64_t)node, cubes->nodes + 3 * (int64_t)i,
           3 * sizeof *cubes->nodes);
  }
  RF_TRY(each_cell(g, place_cell, &m, err));
  RF_TRY(set_rule(g, &m, err));
  RF_TRY(set_constraints(&m, err));
  *out = m.mesh;
  m.mesh = NULL;
  if (original) {
    *original = kept;
    kept = NULL;
  }
done:
  rf_free(kept);
  rf_free(m.cube);
  rf_free(m.masters);
  rf_mesh_free(m.mesh);
  return st;
}

rf_status rf_mesh_grade(const rf_mesh *cubes, const rf_grade_settings *set, const rf_run *run,
                        rf_mesh **out, int32_t **original, rf_error *err) {
  rf_status st = RF_OK;
  grading g = {.cubes = cubes};
  *out = NULL;
  if (!(set->layers >= 1))
    return rf_fail(err, RF_ERR_ARG, "layers must be at least 1, got %d", set->layers);
  if (!(set->max_level >= 0 && set->max_level <= RF_GRADE_MAX_LEVEL))
    return rf_fail(err, RF_ERR_ARG, "max_level must be 0 to %d, got %d", RF_GRADE_MAX_LEVEL,
                   set->max_level);
  RF_TRY(rf_lattice_create(cubes, &g.lattice, err));
  RF_TRY(set_finest(&g, err));
  RF_TRY(rf_run_progress(run, -1, -1, err));
  for (bool more = true; more && g.n_levels <= set->max_level; g.n_levels += more)
    RF_TRY(merge(&g, g.n_levels, g.n_levels == 1 ? set->layers : 1, &more, err));
  RF_TRY(rf_run_progress(run, -1, -1, err));
  RF_TRY(make_mesh(&g, out, original, err));
done:
  rf_lattice_release(&g.lattice);
  rf_free(g.renumber);
  for (int32_t l = 0; l <= RF_GRADE_MAX_LEVEL; ++l) rf_free(g.levels[l].cell);
  return st;
}

void rf_mesh_levels(const rf_mesh *m, int32_t *levels) {
  const int nodes = (int)m->type;
  double least = INFINITY;
  for (int pass = 0; pass < 2; ++pass)
    for (int32_t e = 0; e < m->n_elements; ++e) {
      double square = 0.0;
      const int32_t *own = m->elements + (int64_t)e * nodes;
      for (int c = 0; c < 3; ++c) {
        const double d =
            m->nodes[3 * (int64_t)own[nodes == 8 ? 6 : 3] + c] - m->nodes[3 * (int64_t)own[0] + c];
        square += d * d;
      }
      if (pass == 0)
        least = fmin(least, square);
      else
        levels[e] = m->constraints ? (int32_t)lround(0.5 * log2(square / least)) : 0;
    }
}
