#include "fem/ghost.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "fem/adjacency.h"
#include "fem/constrained.h"
#include "fem/inertia.h"
#include "linalg/vec3.h"
#include "mesh/reference.h"
#include "mesh/topology.h"

enum { ROWS_PER_TASK = 1024, MOST_JUMP = 2 * RF_MAX_NODES };

// g, g_M / g and c, for first- and second-order elements.
static const double GAMMA[2] = {5e-4, 1.25e-4};
static const double OF_MASS[2] = {1.0, 0.4};
static const double CURVATURE[2] = {0.0, 0.05};
const double RF_GHOST_MODULUS = 2.6;  // E / mu at Poisson's ratio 0.3

// Axis and side of each face, in the order of mesh/topology.h.
static const int FACE_AXIS[RF_BOX_FACES] = {2, 2, 1, 0, 1, 0};
static const int FACE_SIDE[RF_BOX_FACES] = {-1, 1, -1, 1, 1, -1};

// Filled fraction below which a cell is coupled to its neighbours, for first- and second-order
// elements.  Fuller cells raise the highest frequency by a few per cent at most; coupling every cut
// cell of second order would more than double the cost of a factorization.
static const double SMALL[2] = {0.5, 0.37};

static bool is_small(const rf_mesh *m, int32_t e) {
  return rf_mesh_fraction(m, e) < SMALL[rf_element_is_quadratic(m->type)];
}

// True for a small cell without a fuller neighbour of its own material.
static bool is_alone(const rf_solid *s, const int64_t *mate, int32_t e) {
  const double filled = rf_mesh_fraction(s->mesh, e);
  if (!is_small(s->mesh, e)) return false;
  for (int f = 0; f < RF_BOX_FACES; ++f) {
    const int64_t across = mate[RF_BOX_FACES * (int64_t)e + f];
    if (across < 0) continue;
    const int32_t other = (int32_t)(across / RF_BOX_FACES);
    if (s->element_material[other] == s->element_material[e] &&
        rf_mesh_fraction(s->mesh, other) > filled + RF_ALIKE)
      return false;
  }
  return true;
}

static bool is_ghost(const rf_solid *s, const int64_t *mate, int32_t e, int32_t other) {
  if (s->element_material[e] == s->element_material[other])
    return is_small(s->mesh, e) || is_small(s->mesh, other);
  return is_alone(s, mate, e) || is_alone(s, mate, other);
}

rf_status rf_solid_find_ghosts(rf_solid *s, rf_error *err) {
  rf_status st = RF_OK;
  const rf_mesh *m = s->mesh;
  const int64_t faces = RF_BOX_FACES * (int64_t)m->n_elements;
  int64_t *mate = NULL;
  if (!m->rule) return RF_OK;
  RF_ALLOC(mate, faces);
  RF_TRY(rf_mesh_mates(m, mate, err));
  RF_ALLOC(s->ghost_mate, faces);
  for (int64_t f = 0; f < faces; ++f) {
    const int32_t e = (int32_t)(f / RF_BOX_FACES), other = (int32_t)(mate[f] / RF_BOX_FACES);
    s->ghost_mate[f] = mate[f] >= 0 && is_ghost(s, mate, e, other) ? other : -1;
  }
done:
  rf_free(mate);
  return st;
}

// ---- the matrix of a face -------------------------------------------------------------

// Computes the edge vectors of a cut box; those at ghost faces are equal.
static void box_edges(const rf_mesh *m, double edge[3][3]) {
  static const int ALONG[3] = {1, 3, 4};
  const int32_t *own = m->elements + (size_t)m->type * (size_t)rf_mesh_first_cut(m);
  for (int k = 0; k < 3; ++k)
    rf_vec3_sub(m->nodes + 3 * (size_t)own[ALONG[k]], m->nodes + 3 * (size_t)own[0], edge[k]);
}

// Returns the cube root of the volume of a cell, m.
static double mean_edge(const rf_solid *s) {
  double edge[3][3];
  box_edges(s->mesh, edge);
  return cbrt(rf_vec3_det(edge[0], edge[1], edge[2]));
}

double rf_solid_ghost_modulus(const rf_solid *s, int32_t material) {
  const rf_material *t = &s->material[material];
  double C[36];
  if (t->law->facts->lame) return RF_GHOST_MODULUS * t->parameter[1];
  rf_law_rest(t->law, t->parameter, C);
  return RF_GHOST_MODULUS * (C[21] + C[28] + C[35]) / 3.0;
}

// Computes first and second local derivatives of the shape functions along `axis`, on that side of
// the box.  Shape functions are at most quadratic in each coordinate, so differences give the
// second exactly.
static void normal_derivatives(rf_element_type type, int axis, int side, const double *tangential,
                               double *first, double *second) {
  double xi[3], unused[RF_MAX_NODES], low[RF_MAX_NODES][3], high[RF_MAX_NODES][3];
  xi[(axis + 1) % 3] = tangential[0];
  xi[(axis + 2) % 3] = tangential[1];
  xi[axis] = -1.0;
  rf_reference_shape(type, xi, unused, low);
  xi[axis] = 1.0;
  rf_reference_shape(type, xi, unused, high);
  for (int a = 0; a < (int)type; ++a) {
    first[a] = side > 0 ? high[a][axis] : low[a][axis];
    second[a] = 0.5 * (high[a][axis] - low[a][axis]);
  }
}

// Computes G (2 nodes, 2 nodes) of a face across `axis`; the nodes of the box below it come first.
static void face_matrix(const rf_mesh *m, int axis, double *G) {
  static const double point[3] = {-RF_GAUSS_3, 0.0, RF_GAUSS_3};
  static const double weight[3] = {5.0 / 9.0, 8.0 / 9.0, 5.0 / 9.0};
  const int nodes = (int)m->type, count = 2 * nodes;
  double edge[3][3], cross[3];
  box_edges(m, edge);
  rf_vec3_cross(edge[(axis + 1) % 3], edge[(axis + 2) % 3], cross);
  const double volume = rf_vec3_det(edge[0], edge[1], edge[2]), h = cbrt(volume);
  const double area = rf_vec3_length(cross), scale = 2.0 * area / volume;
  const bool quadratic = rf_element_is_quadratic(m->type);
  memset(G, 0, (size_t)(count * count) * sizeof *G);
  for (int q = 0; q < 9; ++q) {
    const double at[2] = {point[q % 3], point[q / 3]};
    double first[MOST_JUMP], second[MOST_JUMP];
    normal_derivatives(m->type, axis, 1, at, first, second);
    normal_derivatives(m->type, axis, -1, at, first + nodes, second + nodes);
    for (int a = 0; a < count; ++a) {
      first[a] *= a < nodes ? scale : -scale;
      second[a] *= h * scale * (a < nodes ? scale : -scale);
    }
    const double w = GAMMA[quadratic] * h * area * 0.25 * weight[q % 3] * weight[q / 3];
    for (int a = 0; a < count; ++a)
      for (int b = 0; b < count; ++b)
        G[count * a + b] +=
            w * (first[a] * first[b] + CURVATURE[quadratic] * second[a] * second[b]);
  }
}

// ---- assembly -------------------------------------------------------------------------

// Returns the material of a face between two cells: the softer, so that stiff slivers cannot lock
// it.
static int32_t material_of(const rf_solid *s, int32_t e, int32_t other) {
  const int32_t a = s->element_material[e], b = s->element_material[other];
  const double of_a = rf_solid_ghost_modulus(s, a), of_b = rf_solid_ghost_modulus(s, b);
  if (of_a == of_b) return a < b ? a : b;
  return of_a < of_b ? a : b;
}

// Adds the ghost faces of element e to row i; place[j]: entry of node j in the row.
static void add_row(const rf_solid *s, int32_t i, int32_t e, const double *const G[3],
                    const double *factor, const int32_t *place, double *entries) {
  const int nodes = (int)s->mesh->type;
  for (int f = 0; f < RF_BOX_FACES; ++f) {
    const int32_t mate = s->ghost_mate[RF_BOX_FACES * (int64_t)e + f];
    if (mate < 0) continue;
    const double scale = factor[material_of(s, e, mate)];
    const bool below = FACE_SIDE[f] > 0;
    const int32_t *own = s->mesh->elements + (int64_t)e * nodes;
    const int32_t *other = s->mesh->elements + (int64_t)mate * nodes;
    for (int a = 0; a < nodes; ++a) {
      if (own[a] != i) continue;
      const double *row = G[FACE_AXIS[f]] + 2 * nodes * (below ? a : nodes + a);
      for (int b = 0; b < nodes; ++b) {
        entries[place[own[b]]] += scale * row[below ? b : nodes + b];
        entries[place[other[b]]] += scale * row[below ? nodes + b : b];
      }
    }
  }
}

static rf_status of_elements(const rf_solid *elements, const void *context, double *entries,
                             rf_error *err) {
  return rf_solid_ghost_matrix(elements, context, entries, err);
}

void rf_solid_ghost_rows_free(rf_solid_ghost_rows *g) {
  if (!g) return;
  rf_free(g->first);
  rf_free(g->element);
  rf_free(g->place);
  rf_free(g->face);
  rf_free(g);
}

rf_status rf_solid_ghost_rows_create(const rf_solid *s, rf_solid_ghost_rows **out, rf_error *err) {
  rf_status st = RF_OK;
  const size_t values = 4 * (size_t)s->mesh->type * (size_t)s->mesh->type;
  rf_solid_ghost_rows *g = NULL;
  *out = NULL;
  RF_ALLOC(g, 1);
  RF_TRY(rf_node_elements(s->mesh, &g->first, &g->element, err));
  RF_ALLOC(g->place, s->mesh->n_nodes);
  RF_ALLOC(g->face, 3 * values);
  for (int axis = 0; axis < 3; ++axis) face_matrix(s->mesh, axis, g->face + (size_t)axis * values);
  *out = g;
  g = NULL;
done:
  rf_solid_ghost_rows_free(g);
  return st;
}

void rf_solid_ghost_rows_fill(rf_solid_ghost_rows *g, const rf_solid *s, const double *factor,
                              int32_t n, const int32_t *rows, double *entries) {
  const int32_t *ptr = s->graph.ptr, *col = s->graph.col;
  const size_t values = 4 * (size_t)s->mesh->type * (size_t)s->mesh->type;
  const double *const of_axis[3] = {g->face, g->face + values, g->face + 2 * values};
  for (int32_t k = 0; k < n; ++k) {
    const int32_t i = rows ? rows[k] : k;
    memset(entries + ptr[i], 0, (size_t)(ptr[i + 1] - ptr[i]) * sizeof *entries);
    for (int32_t p = ptr[i]; p < ptr[i + 1]; ++p) g->place[col[p]] = p;
    for (int32_t e = g->first[i]; e < g->first[i + 1]; ++e)
      add_row(s, i, g->element[e], of_axis, factor, g->place, entries);
  }
  // make it symmetric bit by bit: both triangles were summed in different orders; rows that are not
  // filled have no entry beside a zero
  for (int32_t k = 0; k < n; ++k) {
    const int32_t i = rows ? rows[k] : k;
    for (int32_t p = ptr[i]; p < ptr[i + 1] && col[p] < i; ++p)
      if (!rows || entries[p] != 0.0) entries[p] = entries[s->mirror[p]];
  }
}

rf_status rf_solid_ghost_matrix(const rf_solid *s, const double *factor, double *entries,
                                rf_error *err) {
  rf_status st = RF_OK;
  rf_solid_ghost_rows *rows = NULL;
  if (s->constrained) return rf_constrained_numbers(s, of_elements, factor, entries, err);
  memset(entries, 0, (size_t)s->graph.ptr[s->mesh->n_nodes] * sizeof *entries);
  if (!s->ghost_mate) return RF_OK;
  RF_TRY(rf_solid_ghost_rows_create(s, &rows, err));
  rf_solid_ghost_rows_fill(rows, s, factor, s->mesh->n_nodes, NULL, entries);
done:
  rf_solid_ghost_rows_free(rows);
  return st;
}

rf_status rf_solid_ghost_mass(const rf_solid *s, const double *density, double *entries,
                              rf_error *err) {
  rf_status st = RF_OK;
  double *factor = NULL;
  RF_ALLOC(factor, s->n_materials);
  const double h = mean_edge(s);
  for (int32_t m = 0; m < s->n_materials; ++m)
    factor[m] = OF_MASS[rf_element_is_quadratic(s->mesh->type)] * h * h * density[m];
  RF_TRY(rf_solid_ghost_matrix(s, factor, entries, err));
  RF_TRY(rf_solid_add_gradient_inertia(s, h, density, entries, err));
done:
  rf_free(factor);
  return st;
}

// Stores the non-zero entries.
static rf_status keep_stiffness(rf_solid *s, const double *entries, rf_error *err) {
  rf_status st = RF_OK;
  const int32_t n = s->mesh->n_nodes;
  int32_t count = 0;
  RF_ALLOC(s->ghost_ptr, (int64_t)n + 1);
  for (int32_t i = 0; i < n; ++i) {
    for (int32_t p = s->graph.ptr[i]; p < s->graph.ptr[i + 1]; ++p) count += entries[p] != 0.0;
    s->ghost_ptr[i + 1] = count;
  }
  RF_ALLOC(s->ghost_entry, count);
  RF_ALLOC(s->ghost_value, count);
  count = 0;
  for (int32_t p = 0; p < s->graph.ptr[n]; ++p) {
    if (entries[p] == 0.0) continue;
    s->ghost_entry[count] = p;
    s->ghost_value[count++] = entries[p];
  }
done:
  return st;
}

rf_status rf_solid_build_ghosts(rf_solid *s, rf_error *err) {
  rf_status st = RF_OK;
  double *factor = NULL, *entries = NULL;
  if (!s->ghost_mate) return RF_OK;
  RF_ALLOC(factor, s->n_materials);
  RF_ALLOC(entries, s->graph.ptr[s->mesh->n_nodes]);
  for (int32_t m = 0; m < s->n_materials; ++m) factor[m] = rf_solid_ghost_modulus(s, m);
  RF_TRY(rf_solid_ghost_matrix(s, factor, entries, err));
  RF_TRY(keep_stiffness(s, entries, err));
  for (int32_t m = 0; m < s->n_materials; ++m) factor[m] = s->material[m].density;
  RF_TRY(rf_solid_ghost_mass(s, factor, entries, err));
  for (int32_t p = 0; p < s->graph.ptr[s->mesh->n_nodes]; ++p) s->mass[p] += entries[p];
done:
  rf_free(factor);
  rf_free(entries);
  return st;
}

// ---- forces ---------------------------------------------------------------------------

typedef struct adding {
  const rf_solid *solid;
  const double *u;
  double *energy;  // energy of each task
  double *force, *tangent;
  bool upper;
} adding;

static rf_status add_rows(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const adding *j = context;
  const rf_solid *s = j->solid;
  const int32_t n = s->mesh->n_nodes, first = (int32_t)task * ROWS_PER_TASK;
  const int32_t end = n - first < ROWS_PER_TASK ? n : first + ROWS_PER_TASK;
  for (int32_t i = first; i < end; ++i) {
    double sum[3] = {0};
    for (int32_t k = s->ghost_ptr[i]; k < s->ghost_ptr[i + 1]; ++k) {
      const int32_t p = s->ghost_entry[k];
      const double value = s->ghost_value[k];
      for (int c = 0; c < 3 && j->u; ++c) sum[c] += value * j->u[3 * (int64_t)s->graph.col[p] + c];
      if (!j->tangent || (j->upper && s->graph.col[p] < i)) continue;
      for (int c = 0; c < 3; ++c) j->tangent[9 * (int64_t)p + 4 * c] += value;
    }
    for (int c = 0; c < 3 && j->force; ++c) j->force[3 * (int64_t)i + c] += sum[c];
    if (j->energy && j->u) j->energy[task] += 0.5 * rf_vec3_dot(sum, j->u + 3 * (int64_t)i);
  }
  return RF_OK;
}

rf_status rf_solid_add_ghosts(const rf_solid *s, const rf_run *run, const double *u, double *energy,
                              double *force, double *tangent, bool upper, rf_error *err) {
  rf_status st = RF_OK;
  adding job = {.solid = s, .u = u, .force = force, .tangent = tangent, .upper = upper};
  const int64_t tasks = (s->mesh->n_nodes + ROWS_PER_TASK - 1) / ROWS_PER_TASK;
  if (!s->ghost_ptr) return RF_OK;
  if (energy) RF_ALLOC(job.energy, tasks);
  RF_TRY(rf_run_tasks(run, tasks, 0, add_rows, &job, err));
  for (int64_t k = 0; energy && k < tasks; ++k) *energy += job.energy[k];
done:
  rf_free(job.energy);
  return st;
}
