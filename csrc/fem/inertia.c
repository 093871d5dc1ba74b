#include "fem/inertia.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "fem/ghost.h"
#include "linalg/vec3.h"

enum { MOST_NODES = 2 * RF_MAX_NODES };

// b of elements of eight and of twenty nodes
static const double STRENGTH[2] = {1.0 / 5.0, 1.0 / 42.0};

// A cell and its host.
typedef struct pair {
  int count;                   // nodes of both
  int32_t node[MOST_NODES];    // the cell's come first
  double mean[3][MOST_NODES];  // gradient of the host, by component
  double at[3][MOST_NODES];    // of the cell at a point, less that
  double sum[MOST_NODES * MOST_NODES];
} pair;

static int32_t host_of(const rf_solid *s, int32_t e) {
  int32_t host = e;
  double fullest = rf_mesh_fraction(s->mesh, e);
  for (int f = 0; f < RF_BOX_FACES; ++f) {
    const int32_t mate = s->ghost_mate[RF_BOX_FACES * (int64_t)e + f];
    if (mate < 0) continue;
    const double filled = rf_mesh_fraction(s->mesh, mate);
    if (!(filled > fullest)) continue;
    fullest = filled;
    host = mate;
  }
  return host;
}

// the node's place in the pair, a new one where it has none
static int place_of(pair *p, int32_t node) {
  int a = 0;
  while (a < p->count && p->node[a] != node) ++a;
  if (a == p->count) p->node[p->count++] = node;
  return a;
}

static void begin_pair(const rf_solid *s, int32_t e, int32_t host, pair *p) {
  const int nodes = (int)s->mesh->type;
  const double *gradient = rf_solid_gradient(s, host), *volume = rf_solid_volume(s, host);
  double whole = 0.0;
  memset(p, 0, sizeof *p);
  for (int a = 0; a < nodes; ++a) place_of(p, s->mesh->elements[(int64_t)e * nodes + a]);
  for (int32_t g = 0; g < rf_solid_points(s, host); ++g) whole += volume[g];
  for (int a = 0; a < nodes; ++a) {
    const int at = place_of(p, s->mesh->elements[(int64_t)host * nodes + a]);
    for (int32_t g = 0; g < rf_solid_points(s, host); ++g)
      for (int k = 0; k < 3; ++k)
        p->mean[k][at] += volume[g] / whole * gradient[3 * (g * nodes + a) + k];
  }
}

// upper triangle of  factor int (grad N_a - g_a) . (grad N_b - g_b)  over the filled part of e
static void integrate(const rf_solid *s, int32_t e, double factor, pair *p) {
  const int nodes = (int)s->mesh->type, n = p->count;
  const double *gradient = rf_solid_gradient(s, e), *volume = rf_solid_volume(s, e);
  for (int32_t g = 0; g < rf_solid_points(s, e); ++g)
    for (int k = 0; k < 3; ++k) {
      double *at = p->at[k];
      for (int a = 0; a < n; ++a) at[a] = -p->mean[k][a];
      for (int a = 0; a < nodes; ++a) at[a] += gradient[3 * (g * nodes + a) + k];
      for (int a = 0; a < n; ++a) {
        const double scaled = factor * volume[g] * at[a];
        for (int b = a; b < n; ++b) p->sum[MOST_NODES * a + b] += scaled * at[b];
      }
    }
}

// entry (i, j) of the pattern, which has it
static int32_t entry_of(const rf_solid *s, int32_t i, int32_t j) {
  int32_t low = s->graph.ptr[i], high = s->graph.ptr[i + 1];
  while (high - low > 1) {
    const int32_t middle = low + (high - low) / 2;
    if (s->graph.col[middle] <= j)
      low = middle;
    else
      high = middle;
  }
  return low;
}

rf_status rf_solid_add_gradient_inertia(const rf_solid *s, const double *density, double *entries,
                                        rf_error *err) {
  rf_status st = RF_OK;
  pair *p = NULL;
  RF_ALLOC(p, 1);
  const double h = rf_solid_ghost_edge(s);
  const double strength = STRENGTH[rf_element_is_quadratic(s->mesh->type)] * h * h;
  for (int32_t e = 0; e < s->mesh->n_elements; ++e) {
    const double filled = rf_mesh_fraction(s->mesh, e);
    const double factor = strength * (1.0 - filled) * density[s->element_material[e]];
    if (!(factor > 0.0)) continue;
    begin_pair(s, e, host_of(s, e), p);
    integrate(s, e, factor, p);
    for (int a = 0; a < p->count; ++a)
      for (int b = a; b < p->count; ++b) {
        const int32_t entry = entry_of(s, p->node[a], p->node[b]);
        entries[entry] += p->sum[MOST_NODES * a + b];
        if (a < b) entries[s->mirror[entry]] += p->sum[MOST_NODES * a + b];
      }
  }
done:
  rf_free(p);
  return st;
}
