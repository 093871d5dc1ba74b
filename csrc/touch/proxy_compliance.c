// Discs about the vertices, and the compliances between neighbouring ones.
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

// Collects the shares of the disc about a vertex, over the triangles that it reaches and that face
// outward there: not those behind a thin wall.
static void collect(const rf_tip_tables *t, double radius_m, int32_t v, disc *d) {
  const double *centre = t->vertex + 3 * (int64_t)v, *outward = t->pseudonormal + 3 * (int64_t)v;
  const int32_t number = v + 1;
  int32_t queued = 0;
  d->n = 0;
  d->area = 0.0;
  for (int32_t k = t->fan_first[v]; k < t->fan_first[v + 1]; ++k) {
    d->queue[queued++] = t->fan[k];
    d->seen[t->fan[k]] = number;
  }
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
      for (int32_t s = t->edges.first[edge]; s < t->edges.first[edge + 1]; ++s) {
        const int32_t next = t->edges.side[s] / 3;
        if (d->seen[next] == number) continue;
        d->seen[next] = number;
        d->queue[queued++] = next;
      }
    }
  }
  if (!(d->area > 0.0)) {
    d->n = 0;
    add_share(d, number, v, 1.0);
    d->area = 1.0;
  }
}

// Makes the discs; counts only where the arrays are not there yet.
static rf_status make_discs(rf_tip_tables *t, double radius_m, disc *d, const rf_run *run,
                            rf_error *err) {
  rf_status st = RF_OK;
  int64_t n = 0;
  memset(d->seen, 0, (size_t)t->n_triangles * sizeof *d->seen);
  memset(d->reached, 0, (size_t)t->n_vertices * sizeof *d->reached);
  for (int32_t v = 0; v < t->n_vertices; ++v) {
    if (v % BLOCK == 0) RF_TRY(rf_run_poll(run, err));
    t->disc_first[v] = n;
    if (t->fan_first[v] == t->fan_first[v + 1]) continue;
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
  t->disc_first[t->n_vertices] = n;
done:
  return st;
}

// Memory of a thread: displacements per unit force at the places of some discs.
typedef struct scratch {
  int32_t *seen;  // number of the last vertex that needed a place        (count)
  double *moved;  // block of each place                                  (count, 9)
} scratch;

typedef struct filling {
  rf_tip_tables *t;
  scratch *of;  // (threads)
} filling;

// Displacements at a place by a unit force over the disc about v.
static const double *moved_at(const rf_tip_tables *t, int32_t v, int32_t place, scratch *s) {
  double *out = s->moved + 9 * (int64_t)place;
  if (s->seen[place] == v + 1) return out;
  s->seen[place] = v + 1;
  memset(out, 0, 9 * sizeof *out);
  for (int64_t k = t->disc_first[v]; k < t->disc_first[v + 1]; ++k) {
    double block[9];
    rf_green_block_rt(t->green, place, t->disc_place[k], block);
    for (int i = 0; i < 9; ++i) out[i] += t->disc_share[k] * block[i];
  }
  return out;
}

// Mean displacement of the disc about w, and its transpose, times `factor`.
static void between(const rf_tip_tables *t, int32_t v, int32_t w, double factor, scratch *s,
                    double out[RF_TIP_SYMMETRIC]) {
  static const int row[RF_TIP_SYMMETRIC] = {0, 1, 2, 1, 0, 0}, column[] = {0, 1, 2, 2, 2, 1};
  double sum[9] = {0};
  for (int64_t k = t->disc_first[w]; k < t->disc_first[w + 1]; ++k) {
    const double *moved = moved_at(t, v, t->disc_place[k], s);
    for (int i = 0; i < 9; ++i) sum[i] += t->disc_share[k] * moved[i];
  }
  for (int k = 0; k < RF_TIP_SYMMETRIC; ++k)
    out[k] = factor * (sum[3 * row[k] + column[k]] + sum[3 * column[k] + row[k]]);
}

static rf_status fill_some(void *context, int64_t task, int worker, rf_error *err) {
  const filling *f = context;
  const rf_tip_tables *t = f->t;
  scratch *s = f->of + worker;
  (void)err;
  for (int64_t k = 0; k < BLOCK && BLOCK * task + k < t->n_vertices; ++k) {
    const int32_t v = (int32_t)(BLOCK * task + k);
    if (t->fan_first[v] == t->fan_first[v + 1]) continue;
    between(t, v, v, 0.5, s, t->own + RF_TIP_SYMMETRIC * (int64_t)v);
    for (int32_t j = t->fan_first[v]; j < t->fan_first[v + 1]; ++j)
      for (int i = 0; i < 3; ++i) {
        const int32_t side = 3 * t->fan[j] + i, edge = t->edges.edge[side];
        const int32_t from = rf_edges_from(&t->edges, side), to = rf_edges_to(&t->edges, side);
        // once, from the lower end
        if ((from < to ? from : to) != v || t->edges.side[t->edges.first[edge]] != side) continue;
        between(t, v, from < to ? to : from, 1.0, s, t->mixed + RF_TIP_SYMMETRIC * (int64_t)edge);
      }
  }
  return RF_OK;
}

static void set_hardness(rf_tip_tables *t) {
  double sum = 0.0;
  int64_t n = 0;
  for (int32_t v = 0; v < t->n_vertices; ++v) {
    const double *own = t->own + RF_TIP_SYMMETRIC * (int64_t)v;
    if (t->fan_first[v] == t->fan_first[v + 1] || t->held[v] > 0.0) continue;
    sum += (own[0] + own[1] + own[2]) / 3.0;
    ++n;
  }
  t->hardness = n > 0 ? HARD * sum / (double)n : 0.0;
}

static rf_status fill_compliances(rf_tip_tables *t, const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  filling f = {.t = t};
  RF_ALLOC(f.of, run->threads);
  for (int k = 0; k < run->threads; ++k) {
    RF_ALLOC(f.of[k].seen, t->green->count);
    RF_ALLOC(f.of[k].moved, 9 * (int64_t)t->green->count);
  }
  RF_TRY(rf_run_tasks(run, (t->n_vertices + BLOCK - 1) / BLOCK, 1, fill_some, &f, err));
  set_hardness(t);
  if (!(t->hardness > 0.0))
    st = rf_fail(err, RF_ERR_ARG,
                 "each disc of radius has held vertices of surface, which are no nodes of green: "
                 "take a smaller radius, or the surface of the mesh, mesh.surface()");
done:
  for (int k = 0; f.of && k < run->threads; ++k) {
    rf_free(f.of[k].seen);
    rf_free(f.of[k].moved);
  }
  rf_free(f.of);
  return st;
}

rf_status rf_tip_discs_fill(rf_tip_tables *t, double radius_m, const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  disc d = {0};
  const int64_t n = t->n_vertices;
  RF_ALLOC(d.seen, t->n_triangles);
  RF_ALLOC(d.queue, t->n_triangles);
  RF_ALLOC(d.reached, n);
  RF_ALLOC(d.touched, n);
  RF_ALLOC(d.share, n);
  RF_ALLOC(t->disc_first, n + 1);
  RF_TRY(make_discs(t, radius_m, &d, run, err));
  RF_ALLOC(t->held, n);
  RF_ALLOC(t->disc_share, t->disc_first[n]);
  RF_ALLOC(t->disc_place, t->disc_first[n]);
  RF_TRY(make_discs(t, radius_m, &d, run, err));
  RF_ALLOC(t->own, RF_TIP_SYMMETRIC * n);
  RF_ALLOC(t->mixed, RF_TIP_SYMMETRIC * (int64_t)t->edges.n_edges);
  RF_TRY(fill_compliances(t, run, err));
done:
  rf_free(d.seen);
  rf_free(d.queue);
  rf_free(d.reached);
  rf_free(d.touched);
  rf_free(d.share);
  return st;
}
