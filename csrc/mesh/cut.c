#include "mesh/cut.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/disjoint.h"
#include "base/run.h"
#include "mesh/closest.h"
#include "mesh/cubature.h"
#include "mesh/cut_cell.h"
#include "mesh/quadratic.h"
#include "mesh/reference.h"
#include "mesh/topology.h"
#include "mesh/winding.h"

enum { CELLS_PER_TASK = 8, FACES = 6 };
static const double EMPTY = 1e-6;    // filled fraction below which a cell is dropped
static const double ISLAND = 0.5;    // total fraction of cells below which a component is dropped
static const double TOUCH = 1e-6;    // in edges: overlap with the bounds that counts as none
static const double UNEQUAL = 1e-5;  // in edges: largest difference between corners of equal cubes

// Filled part of a cell.
typedef struct part {
  double fraction;
  uint64_t open[FACES];  // filled sub-cells at each face, as bits
  int32_t count;         // points of the rule, 0: whole or empty
  bool dense;
  double *rule;  // points (count, 3), weights (count), products (pairs)
} part;

// Scratch of a thread.
typedef struct scratch {
  rf_cut_work *work;
  rf_cut_rule rule;
  double fraction[RF_CUT_SUBS];
} scratch;

typedef struct cutting {
  const rf_mesh *cubes;
  const rf_closest *closest;
  const rf_winding *winding;
  int order;
  rf_element_type type;    // element type of the result
  double edge;             // edge of the cubes, m
  double low[3], high[3];  // bounds of the surface, m
  part *part;              // (n_elements)
  scratch **scratch;       // (threads)
} cutting;

static size_t pairs_of(rf_element_type type) { return (size_t)type * ((size_t)type + 1) / 2; }

// ---- one cell -------------------------------------------------------------------------

// Marks the filled sub-cells at each face; faces in the order of mesh/topology.h.
static void open_faces(const double *fraction, uint64_t open[FACES]) {
  static const int AXIS[FACES] = {2, 2, 1, 0, 1, 0}, HIGH[FACES] = {0, 1, 0, 1, 1, 0};
  static const int STRIDE[3] = {1, RF_CUT_SUB, RF_CUT_SUB * RF_CUT_SUB};
  for (int f = 0; f < FACES; ++f) {
    const int a = AXIS[f] == 0 ? 1 : 0, b = AXIS[f] == 2 ? 1 : 2;
    const double *from = fraction + HIGH[f] * (RF_CUT_SUB - 1) * STRIDE[AXIS[f]];
    open[f] = 0;
    for (int j = 0; j < RF_CUT_SUB; ++j)
      for (int i = 0; i < RF_CUT_SUB; ++i)
        if (from[i * STRIDE[a] + j * STRIDE[b]] > 0.0)
          open[f] |= UINT64_C(1) << (j * RF_CUT_SUB + i);
  }
}

static void set_whole(part *p) {
  *p = (part){.fraction = 1.0};
  memset(p->open, 0xff, sizeof p->open);
}

// Integrates N_a N_b over the candidates, upper triangle.
static void integrate_products(rf_element_type type, const rf_cut_rule *rule, double *product) {
  const int nodes = (int)type;
  memset(product, 0, pairs_of(type) * sizeof *product);
  for (int n = 0; n < rule->count; ++n) {
    double shape[RF_MAX_NODES], unused[RF_MAX_NODES][3];
    rf_reference_shape(type, rule->point[n], shape, unused);
    double *to = product;
    for (int a = 0; a < nodes; ++a) {
      const double weighted = rule->weight[n] * shape[a];
      for (int b = a; b < nodes; ++b) *to++ += weighted * shape[b];
    }
  }
}

static rf_status make_rule(const cutting *c, scratch *s, part *p, rf_error *err) {
  rf_status st = RF_OK;
  double product[RF_MAX_NODES * (RF_MAX_NODES + 1) / 2];
  rf_cut_candidates(c->order, s->fraction, &s->rule);
  integrate_products(c->type, &s->rule, product);
  p->dense = !rf_cut_reduce(c->order, s->work, &s->rule);
  const size_t count = (size_t)s->rule.count, pairs = pairs_of(c->type);
  RF_ALLOC(p->rule, 4 * count + pairs);
  p->count = (int32_t)count;
  memcpy(p->rule, s->rule.point, 3 * count * sizeof *p->rule);
  memcpy(p->rule + 3 * count, s->rule.weight, count * sizeof *p->rule);
  memcpy(p->rule + 4 * count, product, pairs * sizeof *p->rule);
done:
  return st;
}

// True for a cell outside the bounds of the surface.  A cell that only shares a face with them
// could appear partly filled: near an edge of the surface the plane of a sub-cell is oblique.
static bool is_beyond(const cutting *c, const double low[3], const double high[3]) {
  for (int i = 0; i < 3; ++i)
    if (high[i] < c->low[i] + TOUCH * c->edge || low[i] > c->high[i] - TOUCH * c->edge) return true;
  return false;
}

static rf_status cut_cell(const cutting *c, int32_t e, scratch *s, rf_error *err) {
  const int32_t *element = c->cubes->elements + 8 * (size_t)e;
  const double *low = c->cubes->nodes + 3 * (size_t)element[0];
  const double *high = c->cubes->nodes + 3 * (size_t)element[6];
  double centre[3], filled = 0.0;
  part *p = &c->part[e];
  if (is_beyond(c, low, high)) return RF_OK;
  for (int i = 0; i < 3; ++i) centre[i] = 0.5 * low[i] + 0.5 * high[i];
  if (!rf_cut_fractions(c->closest, c->winding, centre, c->edge, s->fraction)) {
    set_whole(p);
    return RF_OK;
  }
  for (int k = 0; k < RF_CUT_SUBS; ++k) filled += s->fraction[k];
  p->fraction = filled / RF_CUT_SUBS;
  if (p->fraction <= EMPTY) {
    p->fraction = 0.0;
    return RF_OK;
  }
  if (filled >= RF_CUT_SUBS) {
    set_whole(p);
    return RF_OK;
  }
  open_faces(s->fraction, p->open);
  return make_rule(c, s, p, err);
}

static rf_status cut_task(void *context, int64_t task, int worker, rf_error *err) {
  const cutting *c = context;
  const int32_t n = c->cubes->n_elements, first = (int32_t)task * CELLS_PER_TASK;
  const int32_t end = n - first < CELLS_PER_TASK ? n : first + CELLS_PER_TASK;
  for (int32_t e = first; e < end; ++e) {
    const rf_status st = cut_cell(c, e, c->scratch[worker], err);
    if (st < 0) return st;
  }
  return RF_OK;
}

// ---- selection of cells ---------------------------------------------------------------

static void clear_part(part *p) {
  rf_free(p->rule);
  *p = (part){0};
}

// Keeps connected components that enclose nothing as sheets of whole cells.
static rf_status keep_sheets(cutting *c, rf_cut_report *report, rf_error *err) {
  rf_status st = RF_OK;
  const int32_t n = c->cubes->n_elements;
  int32_t *label = NULL, count = 0;
  bool *filled = NULL;
  RF_ALLOC(label, n);
  RF_TRY(rf_mesh_components(c->cubes, true, label, &count, err));
  RF_ALLOC(filled, count);
  for (int32_t e = 0; e < n; ++e)
    if (c->part[e].fraction > 0.0) filled[label[e]] = true;
  for (int32_t e = 0; e < n; ++e) {
    if (c->part[e].fraction > 0.0) continue;
    if (filled[label[e]]) {
      ++report->n_empty;
    } else {
      set_whole(&c->part[e]);
      ++report->n_sheets;
    }
  }
done:
  rf_free(label);
  rf_free(filled);
  return st;
}

static rf_status drop_islands(cutting *c, rf_cut_report *report, rf_error *err) {
  rf_status st = RF_OK;
  const int32_t n = c->cubes->n_elements;
  int32_t *parent = NULL;
  int64_t *mate = NULL;
  double *volume = NULL;
  RF_ALLOC(parent, n);
  RF_ALLOC(volume, n);
  RF_ALLOC(mate, FACES * (size_t)n);
  RF_TRY(rf_mesh_mates(c->cubes, mate, err));
  for (int32_t e = 0; e < n; ++e) parent[e] = e;
  for (int64_t f = 0; f < FACES * (int64_t)n; ++f) {
    if (mate[f] < 0) continue;
    const part *p = &c->part[f / FACES], *q = &c->part[mate[f] / FACES];
    if (p->open[f % FACES] & q->open[mate[f] % FACES])
      rf_disjoint_join(parent, (int32_t)(f / FACES), (int32_t)(mate[f] / FACES));
  }
  int32_t largest = 0;
  for (int32_t e = 0; e < n; ++e) {
    const int32_t root = rf_disjoint_root(parent, e);
    volume[root] += c->part[e].fraction;
    if (volume[root] > volume[largest]) largest = root;
  }
  for (int32_t e = 0; e < n; ++e) {
    const int32_t root = rf_disjoint_root(parent, e);
    if (root == largest || volume[root] >= ISLAND || !(c->part[e].fraction > 0.0)) continue;
    clear_part(&c->part[e]);
    ++report->n_islands;
  }
done:
  rf_free(parent);
  rf_free(volume);
  rf_free(mate);
  return st;
}

// Copies the cubes with a filled part to a mesh of their own.
static rf_status compact(const cutting *c, rf_mesh **out, rf_error *err) {
  rf_status st = RF_OK;
  const rf_mesh *m = c->cubes;
  int32_t *place = NULL, n_nodes = 0, n_elements = 0;
  RF_ALLOC(place, m->n_nodes);
  for (int32_t e = 0; e < m->n_elements; ++e) {
    if (!(c->part[e].fraction > 0.0)) continue;
    ++n_elements;
    for (int a = 0; a < 8; ++a) place[m->elements[8 * (size_t)e + (size_t)a]] = 1;
  }
  for (int32_t i = 0; i < m->n_nodes; ++i) place[i] = place[i] ? n_nodes++ : -1;
  RF_TRY(rf_mesh_allocate(RF_HEX8, n_nodes, n_elements, out, err));
  for (int32_t i = 0; i < m->n_nodes; ++i)
    if (place[i] >= 0)
      memcpy((*out)->nodes + 3 * (size_t)place[i], m->nodes + 3 * (size_t)i, 3 * sizeof *m->nodes);
  int32_t *to = (*out)->elements, *region = (*out)->regions;
  for (int32_t e = 0; e < m->n_elements; ++e) {
    if (!(c->part[e].fraction > 0.0)) continue;
    for (int a = 0; a < 8; ++a) *to++ = place[m->elements[8 * (size_t)e + (size_t)a]];
    *region++ = m->regions[e];
  }
done:
  rf_free(place);
  return st;
}

// Attaches the rules of the remaining cells to the mesh.
static rf_status attach_rule(const cutting *c, rf_mesh *mesh, rf_cut_report *report,
                             rf_error *err) {
  rf_status st = RF_OK;
  size_t points = 0;
  const size_t pairs = pairs_of(c->type);
  for (int32_t e = 0; e < c->cubes->n_elements; ++e) {
    points += (size_t)c->part[e].count;
    report->n_cut += c->part[e].count > 0;
    report->n_dense += c->part[e].dense;
  }
  if (report->n_cut == 0) return RF_OK;
  RF_ALLOC(mesh->rule, 1);
  rf_rule *r = mesh->rule;
  RF_ALLOC(r->ptr, (int64_t)mesh->n_elements + 1);
  RF_ALLOC(r->point, 3 * points);
  RF_ALLOC(r->weight, points);
  RF_ALLOC(r->product, (size_t)report->n_cut * pairs);
  int64_t at = 0;
  int32_t kept = 0;
  double *product = r->product;
  for (int32_t e = 0; e < c->cubes->n_elements; ++e) {
    const part *p = &c->part[e];
    const size_t count = (size_t)p->count;
    if (!(p->fraction > 0.0)) continue;
    if (count > 0) {
      memcpy(r->point + 3 * at, p->rule, 3 * count * sizeof *p->rule);
      memcpy(r->weight + at, p->rule + 3 * count, count * sizeof *p->rule);
      memcpy(product, p->rule + 4 * count, pairs * sizeof *p->rule);
      product += pairs;
      at += p->count;
    }
    r->ptr[++kept] = at;
  }
done:
  return st;
}

// ---- the whole ------------------------------------------------------------------------

static void free_cutting(cutting *c, int threads) {
  for (int32_t e = 0; c->part && e < c->cubes->n_elements; ++e) rf_free(c->part[e].rule);
  rf_free(c->part);
  for (int t = 0; c->scratch && t < threads; ++t) {
    if (c->scratch[t]) rf_cut_work_free(c->scratch[t]->work);
    rf_free(c->scratch[t]);
  }
  rf_free(c->scratch);
}

static rf_status cut_cells(cutting *c, const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  const int32_t n = c->cubes->n_elements;
  RF_ALLOC(c->part, n);
  RF_ALLOC(c->scratch, run->threads);
  for (int t = 0; t < run->threads; ++t) {
    RF_ALLOC(c->scratch[t], 1);
    RF_TRY(rf_cut_work_create(&c->scratch[t]->work, err));
  }
  RF_TRY(
      rf_run_tasks(run, ((int64_t)n + CELLS_PER_TASK - 1) / CELLS_PER_TASK, 1, cut_task, c, err));
done:
  return st;
}

static rf_status check_cubes(const rf_mesh *m, rf_error *err) {
  if (m->type != RF_HEX8)
    return rf_fail(err, RF_ERR_MESH, "only cubes of eight nodes can be cut, not elements of %d",
                   (int)m->type);
  double edge = 0.0;
  for (int32_t e = 0; e < m->n_elements; ++e) {
    const int32_t *element = m->elements + 8 * (size_t)e;
    const double *low = m->nodes + 3 * (size_t)element[0];
    if (e == 0) edge = m->nodes[3 * (size_t)element[1]] - low[0];
    for (int a = 0; a < 8; ++a)
      for (int i = 0; i < 3; ++i) {
        const double way = m->nodes[3 * (size_t)element[a] + (size_t)i] - low[i];
        const double expected = 0.5 * (1.0 + RF_HEX_CORNER[a][i]) * edge;
        if (!(edge > 0.0 && fabs(way - expected) <= UNEQUAL * edge))
          return rf_fail(
              err, RF_ERR_MESH,
              "element %d is not one of equal cubes along the axes: only those can be cut", (int)e);
      }
  }
  return RF_OK;
}

rf_status rf_mesh_cut(const rf_mesh *cubes, const rf_surface *surface, int order, const rf_run *run,
                      rf_mesh **out, rf_cut_report *report, rf_error *err) {
  rf_status st = RF_OK;
  rf_closest *closest = NULL;
  rf_winding *winding = NULL;
  rf_mesh *linear = NULL, *mesh = NULL;
  cutting c = {.cubes = cubes, .order = order, .type = order == 1 ? RF_HEX8 : RF_HEX20};
  rf_surface_bounds(surface, c.low, c.high);
  *out = NULL;
  *report = (rf_cut_report){0};
  if (!(order == 1 || order == 2))
    return rf_fail(err, RF_ERR_ARG, "order must be 1 or 2, got %d", order);
  RF_TRY(check_cubes(cubes, err));
  RF_TRY(rf_closest_create(surface, run, &closest, err));
  RF_TRY(rf_winding_create(surface, run, &winding, err));
  c.closest = closest;
  c.winding = winding;
  c.edge =
      cubes->nodes[3 * (size_t)cubes->elements[1]] - cubes->nodes[3 * (size_t)cubes->elements[0]];
  RF_TRY(cut_cells(&c, run, err));
  RF_TRY(keep_sheets(&c, report, err));
  RF_TRY(drop_islands(&c, report, err));
  RF_TRY(compact(&c, &linear, err));
  if (order == 2) {
    RF_TRY(rf_mesh_quadratic(linear, &mesh, err));
  } else {
    mesh = linear;
    linear = NULL;
  }
  RF_TRY(attach_rule(&c, mesh, report, err));
  *out = mesh;
  mesh = NULL;
done:
  rf_closest_free(closest);
  rf_winding_free(winding);
  rf_mesh_free(linear);
  rf_mesh_free(mesh);
  free_cutting(&c, run->threads);
  return st;
}
