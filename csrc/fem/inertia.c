#include "fem/inertia.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

enum { MOST_NODES = 2 * RF_MAX_NODES };

// b for elements of eight and of twenty nodes.
static const double STRENGTH[2] = {1.0 / 5.0, 1.0 / 42.0};

// A cell and one of its hosts.
typedef struct pair {
  int count;                   // nodes of both
  int32_t node[MOST_NODES];    // those of the cell first
  double mean[3][MOST_NODES];  // mean gradient of the host, by component
  double at[3][MOST_NODES];    // gradient of the cell at a point minus that mean
  double sum[MOST_NODES * MOST_NODES];
} pair;

// Lists the fullest among the cell and its neighbours across ghost faces; returns their number.
static int hosts_of(const rf_solid *s, int32_t e, int32_t host[RF_BOX_FACES + 1]) {
  double filled[RF_BOX_FACES + 1] = {rf_mesh_fraction(s->mesh, e)}, fullest = filled[0];
  int count = 1, hosts = 0;
  host[0] = e;
  for (int f = 0; f < RF_BOX_FACES; ++f) {
    const int32_t mate = s->ghost_mate[RF_BOX_FACES * (int64_t)e + f];
    if (mate < 0) continue;
    host[count] = mate;
    filled[count] = rf_mesh_fraction(s->mesh, mate);
    fullest = fmax(fullest, filled[count++]);
  }
  for (int k = 0; k < count; ++k)
    if (filled[k] >= fullest - RF_ALIKE) host[hosts++] = host[k];
  return hosts;
}

// Returns the index of the node in the pair; appends the node if it is new.
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

// Adds the upper triangle of factor int (grad N_a - g_a) . (grad N_b - g_b) over the filled part of
// e.
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

// Returns the entry (i, j), which must be in the pattern.
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

static void add_pair(const rf_solid *s, const pair *p, double *entries) {
  for (int a = 0; a < p->count; ++a)
    for (int b = a; b < p->count; ++b) {
      const int32_t entry = entry_of(s, p->node[a], p->node[b]);
      entries[entry] += p->sum[MOST_NODES * a + b];
      if (a < b) entries[s->mirror[entry]] += p->sum[MOST_NODES * a + b];
    }
}

rf_status rf_solid_add_gradient_inertia(const rf_solid *s, double h, const double *density,
                                        double *entries, rf_error *err) {
  rf_status st = RF_OK;
  pair *p = NULL;
  RF_ALLOC(p, 1);
  const double strength = STRENGTH[rf_element_is_quadratic(s->mesh->type)] * h * h;
  for (int32_t e = 0; e < s->mesh->n_elements; ++e) {
    const double filled = rf_mesh_fraction(s->mesh, e);
    const double factor = strength * (1.0 - filled) * density[s->element_material[e]];
    int32_t host[RF_BOX_FACES + 1];
    if (!(factor > 0.0)) continue;
    const int hosts = hosts_of(s, e, host);
    for (int k = 0; k < hosts; ++k) {
      begin_pair(s, e, host[k], p);
      integrate(s, e, factor / hosts, p);
      add_pair(s, p, entries);
    }
  }
done:
  rf_free(p);
  return st;
}
