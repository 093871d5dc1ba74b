#include "mesh/lattice.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

static const double EQUAL = 1e-6;  // difference of edges of equal cubes, over the edge
// most places of the box, which need memory: in all, and per cube
static const double FEW = 1e8, SPARSE = 64.0;

const int RF_LATTICE_CORNER[8][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0},
                                     {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};

void rf_lattice_release(rf_lattice *g) {
  rf_free(g->place);
  rf_free(g->element);
  rf_free(g->node);
}

// Sets the place of the lowest corner of element e; false unless it is a cube of the lattice.
static bool find_place(const rf_lattice *g, int32_t e, int32_t at[3]) {
  const int32_t *own = g->cubes->elements + 8 * (int64_t)e;
  const double *x = g->cubes->nodes + 3 * (int64_t)own[0];
  for (int c = 0; c < 3; ++c) {
    at[c] = (int32_t)lround((x[c] - g->low[c]) / g->h);
    if (!(fabs(x[c] - g->low[c] - at[c] * g->h) <= EQUAL * g->h)) return false;
  }
  for (int a = 1; a < 8; ++a) {
    const double *y = g->cubes->nodes + 3 * (int64_t)own[a];
    for (int c = 0; c < 3; ++c)
      if (!(fabs(y[c] - x[c] - RF_LATTICE_CORNER[a][c] * g->h) <= EQUAL * g->h)) return false;
  }
  return true;
}

// Measures the box and the edge of the cubes.
static rf_status measure(rf_lattice *g, rf_error *err) {
  const rf_mesh *m = g->cubes;
  double high[3];
  if (m->type != RF_HEX8)
    return rf_fail(err, RF_ERR_MESH,
                   "grading needs a mesh of equal cubes of 8 nodes, and these elements have %d: "
                   "voxelize(surface, cut=False, order=1), or voxelize(surface, graded=Grading())",
                   (int)m->type);
  if (m->constraints) return rf_fail(err, RF_ERR_MESH, "this mesh is graded already");
  for (int c = 0; c < 3; ++c) g->low[c] = high[c] = m->nodes[c];
  for (int32_t i = 1; i < m->n_nodes; ++i)
    for (int c = 0; c < 3; ++c) {
      g->low[c] = fmin(g->low[c], m->nodes[3 * (int64_t)i + c]);
      high[c] = fmax(high[c], m->nodes[3 * (int64_t)i + c]);
    }
  const double *a = m->nodes + 3 * (int64_t)m->elements[0];
  const double *b = m->nodes + 3 * (int64_t)m->elements[1];
  g->h = b[0] - a[0];
  if (!(g->h > 0.0))
    return rf_fail(err, RF_ERR_MESH, "element 0 is no cube along the axes, which grading needs");
  double places = 1.0;
  for (int c = 0; c < 3; ++c) {
    const double cells = round((high[c] - g->low[c]) / g->h);
    places *= cells + 1.0;
    g->n[c] = (int32_t)fmin(cells, INT32_MAX - 1.0);
  }
  // the mean edge has less rounding
  const double mean = (high[0] - g->low[0]) / fmax(g->n[0], 1.0);
  if (fabs(mean - g->h) <= EQUAL * g->h) g->h = mean;
  // memory grows with the box
  const double most = fmin(fmax(FEW, SPARSE * m->n_elements), INT32_MAX);
  if (!(places <= most))
    return rf_fail(
        err, RF_ERR_MESH,
        "the box of the mesh has %.3g places for cubes, the mesh %d cubes; grading takes "
        "boxes of up to %.3g places here: use larger cubes, or grade the parts one by one "
        "and join them (join_meshes)",
        places, (int)m->n_elements, most);
  return RF_OK;
}

rf_status rf_lattice_create(const rf_mesh *cubes, rf_lattice *g, rf_error *err) {
  rf_status st = RF_OK;
  const rf_mesh *m = cubes;
  g->cubes = cubes;
  RF_TRY(measure(g, err));
  const int32_t *n = g->n, nodes[3] = {n[0] + 1, n[1] + 1, n[2] + 1};
  const int64_t cells = (int64_t)n[0] * n[1] * n[2];
  RF_ALLOC(g->place, m->n_elements);
  RF_ALLOC(g->element, cells);
  RF_ALLOC(g->node, (int64_t)nodes[0] * nodes[1] * nodes[2]);
  memset(g->element, 255, (size_t)cells * sizeof *g->element);
  memset(g->node, 255, (size_t)nodes[0] * (size_t)nodes[1] * (size_t)nodes[2] * sizeof *g->node);
  for (int32_t e = 0; e < m->n_elements; ++e) {
    int32_t at[3];
    if (!find_place(g, e, at)) {
      st = rf_fail(err, RF_ERR_MESH,
                   "element %d is not a cube of edge %g m on the lattice of element 0: grading "
                   "needs equal cubes, as voxelize(surface, cut=False, order=1) makes them; "
                   "voxelize(surface, graded=Grading()) grades cut cells",
                   (int)e, g->h);
      goto done;
    }
    const int64_t place = rf_lattice_place(n, at[0], at[1], at[2]);
    bool same = true;
    for (int a = 0; a < 8; ++a) {
      int32_t *node = &g->node[rf_lattice_place(nodes, at[0] + RF_LATTICE_CORNER[a][0],
                                                at[1] + RF_LATTICE_CORNER[a][1],
                                                at[2] + RF_LATTICE_CORNER[a][2])];
      const int32_t own = m->elements[8 * (int64_t)e + a];
      if (*node < 0) *node = own;
      same = same && *node == own;
    }
    if (g->element[place] >= 0 || !same) {
      st = rf_fail(err, RF_ERR_MESH,
                   "element %d %s: grading needs parts that share the nodes of one lattice", (int)e,
                   same ? "occurs twice" : "has nodes of its own beside those of a neighbour");
      goto done;
    }
    g->element[place] = e;
    g->place[e] = (int32_t)place;
  }
done:
  return st;
}
