// Discs about the vertices and the middles of the edges, and their compliances.
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "linalg/vec3.h"
#include "touch/proxy_tables.h"

enum { MOST_NODES = 2048, BLOCK = 16 };  // in a disc; vertices of a task

// Added compliance of a disc that is held, over the mean compliance of those that are not.
static const double HARD = 0.01;
static const double LEAST = 1e-9;  // part of a disc that is more than rounding

// A disc that is being made.
typedef struct disc {
  int32_t *seen, *reached;  // number of the last disc with a triangle, a vertex
  int32_t *queue;           // triangles
  int32_t *touched;         // vertices with a share
  double *share;            // of each vertex, m^2
  int32_t n;
  double area;
} disc;

static void add_share(disc *d, int32_t number, int32_t vertex, double share) {
  if (d->reached[vertex] != number) {
    d->reached[vertex] = number;
    d->share[vertex] = 0.0;
    d->touched[d->n++] = vertex;
  }
  d->share[vertex] += share;
  d->area += share;
}

static void enqueue(disc *d, int32_t number, int32_t triangle, int32_t *queued) {
  if (d->seen[triangle] == number) return;
  d->seen[triangle] = number;
  d->queue[(*queued)++] = triangle;
}

// Finds centre and pseudonormal of disc k, and its first triangles; returns their number.
static int32_t begin(const rf_tip_tables *t, int32_t k, disc *d, double centre[3],
                     double outward[3]) {
  int32_t queued = 0;
  if (k < t->n_vertices) {
    memcpy(centre, t->vertex + 3 * (int64_t)k, 3 * sizeof *centre);
    memcpy(outward, t->pseudonormal + 3 * (int64_t)k, 3 * sizeof *outward);
    for (int32_t j = t->fan_first[k]; j < t->fan_first[k + 1]; ++j)
      enqueue(d, k + 1, t->fan[j], &queued);
    return queued;
  }
  const int32_t edge = k - t->n_vertices, side = t->edges.side[t->edges.first[edge]];
  const double *from = t->vertex + 3 * (int64_t)rf_edges_from(&t->edges, side);
  const double *to = t->vertex + 3 * (int64_t)rf_edges_to(&t->edges, side);
  for (int i = 0; i < 3; ++i) centre[i] = 0.5 * (from[i] + to[i]);
  memset(outward, 0, 3 * sizeof *outward);
  for (int32_t j = t->edges.first[edge]; j < t->edges.first[edge + 1]; ++j) {
    const int32_t triangle = t->edges.side[j] / 3;
    for (int i = 0; i < 3; ++i) outward[i] += t->face_normal[3 * (int64_t)triangle + i];
    enqueue(d, k + 1, triangle, &queued);
  }
  return queued;
}

// A disc without an area: a point, at a vertex or half way between two.
static void collect_point(const rf_tip_tables *t, int32_t k, disc *d) {
  d->n = 0;
  d->area = 0.0;
  if (k < t->n_vertices) {
    add_share(d, k + 1, k, 1.0);
    return;
  }
  const int32_t side = t->edges.side[t->edges.first[k - t->n_vertices]];
  add_share(d, k + 1, rf_edges_from(&t->edges, side), 0.5);
  add_share(d, k + 1, rf_edges_to(&t->edges, side), 0.5);
}

// Collects the shares of disc k, over the triangles that it reaches and that face outward there:
// not those behind a thin wall.
static void collect(const rf_tip_tables *t, double radius_m, int32_t number_of, disc *d) {
  const int32_t number = number_of + 1;
  double centre[3], outward[3];
  d->n = 0;
  d->area = 0.0;
  int32_t queued = begin(t, number_of, d, centre, outward);
  for (int32_t k = 0; radius_m > 0.0 && k < queued; ++k) {
    const int64_t f = d->queue[k];
    const int32_t *corner = t->edges.corner + 3 * f;
    const double *const at[3] = {t->vertex + 3 * (int64_t)corner[0],
                                 t->vertex + 3 * (int64_t)corner[1],
                                 t->vertex + 3 * (int64_t)corner[2]};
    double part[3];
    if (!(rf_vec3_dot(outward, t->face_normal + 3 * f) > 0.0)) continue;
    rf_tip_disc_part(at, t->face_normal + 3 * f, centre, radius_m, part);
    if (!(part[0] + part[1] + part[2] > LEAST * radius_m * radius_m)) continue;
    for (int i = 0; i < 3; ++i) {
      add_share(d, number, corner[i], part[i]);
      const int32_t edge = t->edges.edge[3 * f + i];
      for (int32_t s = t->edges.first[edge]; s < t->edges.first[edge + 1]; ++s)
        enqueue(d, number, t->edges.side[s] / 3, &queued);
    }
  }
  if (!(d->area > 0.0)) collect_point(t, number_of, d);
}

// True for a vertex without triangles.
static bool is_unused(const rf_tip_tables *t, int32_t k) {
  return k < t->n_vertices && t->fan_first[k] == t->fan_first[k + 1];
}

// Makes the discs; counts only where the arrays are not there yet.
static rf_status make_discs(rf_tip_tables *t, double radius_m, disc *d, const rf_run *run,
                            rf_error *err) {
  rf_status st = RF_OK;
  int64_t n = 0;
  memset(d->seen, 0, (size_t)t->n_triangles * sizeof *d->seen);
  memset(d->reached, 0, (size_t)t->n_vertices * sizeof *d->reached);
  for (int32_t v = 0; v < t->n_discs; ++v) {
    if (v % BLOCK == 0) RF_TRY(rf_run_poll(run, err));
    t->disc_first[v] = n;
    if (is_unused(t, v)) continue;
    collect(t, radius_m, v, d);
    if (d->n > MOST_NODES) {
      st = rf_fail(err, RF_ERR_ARG,
                   "radius is %g m, so a disc has %d nodes: at most %d are allowed; take a smaller "
                   "radius or a coarser mesh",
                   radius_m, (int)d->n, (int)MOST_NODES);
      goto done;
    }
    if (t->disc_place) t->held[v] = 0.0;
    for (int32_t k = 0; k < d->n; ++k) {
      const int32_t vertex = d->touched[k];
      const double share = d->share[vertex] / d->area;
      if (t->place[vertex] < 0) {
        if (t->disc_place) t->held[v] += share;
        continue;
      }
      if (t->disc_place) {
        t->disc_place[n] = t->place[vertex];
        t->disc_share[n] = share;
      }
      ++n;
    }
  }
  t->disc_first[t->n_discs] = n;
done:
  return st;
}

// Mean displacement of disc k by a unit force over it.
static void fill_own(const rf_tip_tables *t, int32_t k, double out[RF_TIP_SYMMETRIC]) {
  static const int row[RF_TIP_SYMMETRIC] = {0, 1, 2, 1, 0, 0}, column[] = {0, 1, 2, 2, 2, 1};
  const int64_t first = t->disc_first[k], n = t->disc_first[k + 1] - first;
  double c[9];
  rf_green_spread_compliance_rt(t->green, n, t->disc_place + first, t->disc_share + first, c);
  for (int q = 0; q < RF_TIP_SYMMETRIC; ++q) out[q] = c[3 * row[q] + column[q]];
}

static rf_status fill_some(void *context, int64_t task, int worker, rf_error *err) {
  const rf_tip_tables *t = context;
  (void)worker, (void)err;
  for (int64_t k = BLOCK * task; k < BLOCK * (task + 1) && k < t->n_discs; ++k)
    fill_own(t, (int32_t)k, t->own + RF_TIP_SYMMETRIC * k);
  return RF_OK;
}

static void set_hardness(rf_tip_tables *t) {
  double sum = 0.0;
  int64_t n = 0;
  for (int32_t v = 0; v < t->n_discs; ++v) {
    const double *own = t->own + RF_TIP_SYMMETRIC * (int64_t)v;
    if (is_unused(t, v) || t->held[v] > 0.0) continue;
    sum += (own[0] + own[1] + own[2]) / 3.0;
    ++n;
  }
  t->hardness = n > 0 ? HARD * sum / (double)n : 0.0;
}

static rf_status fill_compliances(rf_tip_tables *t, const rf_run *run, rf_error *err) {
  rf_status st = rf_run_tasks(run, (t->n_discs + BLOCK - 1) / BLOCK, 1, fill_some, t, err);
  if (st < 0) return st;
  if (!(t->hardness > 0.0)) set_hardness(t);
  if (!(t->hardness > 0.0))
    st = rf_fail(err, RF_ERR_ARG,
                 "each disc of radius has held vertices of surface, which are no nodes of green: "
                 "take a smaller radius, or the surface of the mesh, mesh.surface()");
  return st;
}

rf_status rf_tip_discs_fill(rf_tip_tables *t, const rf_tip_tables *before, const rf_run *run,
                            rf_error *err) {
  rf_status st = RF_OK;
  disc d = {0};
  t->n_discs = t->n_vertices + t->edges.n_edges;
  const int64_t n = t->n_discs;
  RF_ALLOC(d.seen, t->n_triangles);
  RF_ALLOC(d.queue, t->n_triangles);
  RF_ALLOC(d.reached, n);
  RF_ALLOC(d.touched, n);
  RF_ALLOC(d.share, n);
  RF_ALLOC(t->disc_first, n + 1);
  RF_TRY(make_discs(t, t->radius_m, &d, run, err));
  RF_ALLOC(t->held, n);
  RF_ALLOC(t->disc_share, t->disc_first[n]);
  RF_ALLOC(t->disc_place, t->disc_first[n]);
  RF_TRY(make_discs(t, t->radius_m, &d, run, err));
  RF_ALLOC(t->own, RF_TIP_SYMMETRIC * n);
  RF_TRY(fill_compliances(t, run, err));
  RF_TRY(rf_tip_interpolate(t, before, err));
done:
  rf_free(d.seen);
  rf_free(d.queue);
  rf_free(d.reached);
  rf_free(d.touched);
  rf_free(d.share);
  return st;
}
