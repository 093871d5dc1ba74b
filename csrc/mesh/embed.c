#include "mesh/embed.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "linalg/vec3.h"
#include "mesh/bvh.h"
#include "mesh/local.h"
#include "mesh/nearest.h"
#include "mesh/reference.h"
#include "mesh/topology.h"

// A point is inside when its local coordinates exceed the element by at most this share of its
// size: points on a face must not fall between two elements.
static const double INSIDE = 1e-9;
// A box must contain all points that count as inside: the share is doubled in the local coordinates
// of hexes, and distorted elements extend further along an axis.
static const double BOX_MARGIN = 4.0;
enum { POINTS_A_TASK = 1024 };

void rf_embedding_free(rf_embedding *e) {
  if (!e) return;
  rf_free(e->element);
  rf_free(e->node);
  rf_free(e->weight);
  rf_free(e->distance);
  rf_free(e);
}

// ---- search -----------------------------------------------------------------

typedef struct search {
  const rf_mesh *mesh;
  const double *points;
  rf_embedding *e;
  double *boxes;  // boxes of the elements (n_elements, 6)
  rf_bvh elements, triangles;
  rf_boundary boundary;
} search;

static void element_nodes(const rf_mesh *m, int32_t element, double x[RF_MAX_NODES][3]) {
  const int32_t *el = m->elements + (size_t)m->type * (size_t)element;
  for (int a = 0; a < (int)m->type; ++a) memcpy(x[a], m->nodes + 3 * (size_t)el[a], sizeof x[a]);
}

static void boundary_triangle(const search *s, int32_t t, double x[3][3]) {
  const int count = s->boundary.face_nodes, per = count - 2;
  const int32_t *face = s->boundary.nodes + (size_t)count * (size_t)(t / per);
  const uint8_t *corner = rf_face_triangle(count, t % per);
  for (int a = 0; a < 3; ++a)
    memcpy(x[a], s->mesh->nodes + 3 * (size_t)face[corner[a]], sizeof x[a]);
}

enum { CONTROL_POINTS = 27 };

// Replaces the nodes by Bernstein control points, whose hull contains the element: corners, edge
// points that replace the mid-edge nodes and, for hexes, points of faces and centre.  Returns their
// number.
static int control_points(rf_element_type type, double x[CONTROL_POINTS][3]) {
  const rf_edges of = rf_edges_of(type);
  if (!rf_element_is_quadratic(type)) return of.corners;
  int count = (int)type;
  for (int f = 0; type == RF_HEX20 && f < 7; ++f, ++count) {
    const uint8_t *face = f < 6 ? rf_hex_face(f) : NULL;
    const int first_middle = face ? 4 : 8, nodes = face ? 8 : 20;
    for (int i = 0; i < 3; ++i) {
      double corners = 0.0, middles = 0.0;
      for (int a = 0; a < nodes; ++a)
        *(a < first_middle ? &corners : &middles) += x[face ? face[a] : a][i];
      x[count][i] = face ? middles - 0.75 * corners : 0.5 * middles - 0.625 * corners;
    }
  }
  for (int e = 0; e < of.count; ++e) {
    const double *a = x[of.end[e][0]], *b = x[of.end[e][1]];
    double *middle = x[of.corners + e];
    for (int i = 0; i < 3; ++i) middle[i] = 2.0 * middle[i] - 0.5 * (a[i] + b[i]);
  }
  return count;
}

static void box_of(const double (*x)[3], int count, double margin, double *box) {
  double size = 0.0;
  for (int c = 0; c < 3; ++c) {
    box[c] = box[3 + c] = x[0][c];
    for (int a = 1; a < count; ++a) {
      if (x[a][c] < box[c]) box[c] = x[a][c];
      if (x[a][c] > box[3 + c]) box[3 + c] = x[a][c];
    }
    size = fmax(size, box[3 + c] - box[c]);
  }
  for (int c = 0; c < 3; ++c) {
    box[c] -= margin * size;
    box[3 + c] += margin * size;
  }
}

// Computes the weights of the point in an element; false when it is outside.
static bool inside(rf_element_type type, const double x[RF_MAX_NODES][3], const double *p,
                   double *w) {
  if (type == RF_TET4) {
    rf_tet_weights(x, p, w);
    return w[0] >= -INSIDE && w[1] >= -INSIDE && w[2] >= -INSIDE && w[3] >= -INSIDE;
  }
  double xi[3];
  if (!rf_local_find(type, x, p, INSIDE, xi) || !rf_local_inside(type, xi, INSIDE)) return false;
  rf_local_weights(type, x, xi, p, w);
  return true;
}

static void carry(rf_embedding *e, const rf_mesh *m, int32_t point, int32_t element,
                  const double *w) {
  e->element[point] = element;
  memcpy(e->weight + (size_t)e->corners * (size_t)point, w, (size_t)e->corners * sizeof *w);
  memcpy(e->node + (size_t)e->corners * (size_t)point,
         m->elements + (size_t)e->corners * (size_t)element, (size_t)e->corners * sizeof(int32_t));
}

// Finds the lowest element that contains the point; -1: none.
static void find_inside(const search *s, int32_t point) {
  const double *p = s->points + 3 * (size_t)point;
  const rf_bvh *b = &s->elements;
  int32_t stack[RF_BVH_STACK], found = -1;
  double best[RF_MAX_NODES];
  int depth = 0;
  stack[depth++] = 0;
  while (depth > 0) {
    const int32_t node = stack[--depth];
    if (rf_box_distance2(b->box + 6 * (size_t)node, p) > 0.0) continue;
    if (b->count[node] == 0) {
      stack[depth++] = b->first[node];
      stack[depth++] = b->first[node] + 1;
      continue;
    }
    for (int32_t i = b->first[node]; i < b->first[node] + b->count[node]; ++i) {
      if (found >= 0 && b->item[i] > found) continue;
      if (rf_box_distance2(s->boxes + 6 * (size_t)b->item[i], p) > 0.0) continue;
      double x[RF_MAX_NODES][3], w[RF_MAX_NODES];
      element_nodes(s->mesh, b->item[i], x);
      if (!inside(s->mesh->type, (const double(*)[3])x, p, w)) continue;
      found = b->item[i];
      memcpy(best, w, sizeof best);
    }
  }
  if (found >= 0)
    carry(s->e, s->mesh, point, found, best);
  else
    s->e->element[point] = -1;
}

// Finds the element of the nearest boundary triangle, the lowest among equally near ones.
static void find_nearest(const search *s, int32_t point) {
  const double *p = s->points + 3 * (size_t)point;
  const rf_bvh *b = &s->triangles;
  int32_t stack[RF_BVH_STACK], found = INT32_MAX;
  double place[3] = {0}, best = INFINITY;
  int depth = 0;
  stack[depth++] = 0;
  while (depth > 0) {
    const int32_t node = stack[--depth];
    if (rf_box_distance2(b->box + 6 * (size_t)node, p) > best) continue;
    if (b->count[node] == 0) {
      // visit the nearer child first
      const int32_t child = b->first[node];
      const bool swap = rf_box_distance2(b->box + 6 * (size_t)child, p) <
                        rf_box_distance2(b->box + 6 * (size_t)child + 6, p);
      stack[depth++] = swap ? child + 1 : child;
      stack[depth++] = swap ? child : child + 1;
      continue;
    }
    for (int32_t i = b->first[node]; i < b->first[node] + b->count[node]; ++i) {
      double t[3][3], q[3];
      boundary_triangle(s, b->item[i], t);
      rf_triangle_nearest((const double(*)[3])t, p, q);
      double d[3];
      rf_vec3_sub(p, q, d);
      const double distance = rf_vec3_dot(d, d);
      if (distance > best || (distance == best && b->item[i] > found)) continue;
      best = distance;
      found = b->item[i];
      memcpy(place, q, sizeof q);
    }
  }

  double x[RF_MAX_NODES][3], w[RF_MAX_NODES];
  const int32_t element = s->boundary.element[found / (s->boundary.face_nodes - 2)];
  element_nodes(s->mesh, element, x);
  s->e->distance[point] = sqrt(best);
  const rf_element_type type = s->mesh->type;
  if (type == RF_TET4) {
    rf_tet_weights((const double(*)[3])x, p, w);
  } else {
    // from the triangle to the curved face; if Newton fails, its last iterate is good enough
    double xi[3];
    (void)rf_local_find(type, (const double(*)[3])x, place, INSIDE, xi);
    s->e->distance[point] = rf_element_nearest(type, (const double(*)[3])x, p, xi);
    rf_local_weights(type, (const double(*)[3])x, xi, p, w);
  }
  carry(s->e, s->mesh, point, element, w);
}

static rf_status inside_task(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const search *s = context;
  const int64_t end = (task + 1) * POINTS_A_TASK;
  for (int64_t i = task * POINTS_A_TASK; i < end && i < s->e->n_points; ++i)
    find_inside(s, (int32_t)i);
  return RF_OK;
}

static rf_status nearest_task(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const search *s = context;
  const int64_t end = (task + 1) * POINTS_A_TASK;
  for (int64_t i = task * POINTS_A_TASK; i < end && i < s->e->n_points; ++i)
    if (s->e->element[i] < 0) find_nearest(s, (int32_t)i);
  return RF_OK;
}

static rf_status plant_elements(search *s, const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  RF_ALLOC(s->boxes, 6 * (size_t)s->mesh->n_elements);
  for (int32_t e = 0; e < s->mesh->n_elements; ++e) {
    double x[CONTROL_POINTS][3] = {{0}};
    element_nodes(s->mesh, e, x);
    const int count = control_points(s->mesh->type, x);
    box_of((const double(*)[3])x, count, BOX_MARGIN * INSIDE, s->boxes + 6 * (size_t)e);
  }
  RF_TRY(rf_bvh_create(s->mesh->n_elements, s->boxes, run, &s->elements, err));
done:
  return st;
}

static rf_status plant_triangles(search *s, const rf_run *run, rf_error *err) {
  rf_status st = RF_OK;
  double *boxes = NULL;
  RF_TRY(rf_mesh_boundary(s->mesh, &s->boundary, err));
  const int64_t count = (int64_t)s->boundary.n_faces * (s->boundary.face_nodes - 2);
  if (!(count >= 1 && count <= INT32_MAX)) {
    st = rf_fail(err, RF_ERR_MESH,
                 "some points are outside the mesh, whose boundary has %lld triangles (1 to %d are "
                 "allowed): does it contain elements twice?",
                 (long long)count, (int)INT32_MAX);
    goto done;
  }
  RF_ALLOC(boxes, 6 * (size_t)count);
  for (int32_t t = 0; t < (int32_t)count; ++t) {
    double x[3][3];
    boundary_triangle(s, t, x);
    box_of((const double(*)[3])x, 3, 0.0, boxes + 6 * (size_t)t);
  }
  RF_TRY(rf_bvh_create((int32_t)count, boxes, run, &s->triangles, err));
done:
  rf_free(boxes);
  return st;
}

// Rejects points so far outside that squared distances and weights overflow.
static rf_status require_finite_weights(const rf_embedding *e, const double *points,
                                        rf_error *err) {
  for (int32_t i = 0; i < e->n_points; ++i) {
    bool finite = isfinite(e->distance[i]);
    for (int32_t a = 0; a < e->corners; ++a)
      finite = finite && isfinite(e->weight[(size_t)e->corners * (size_t)i + (size_t)a]);
    if (finite) continue;
    const double *p = points + 3 * (size_t)i;
    return rf_fail(err, RF_ERR_ARG, "point %d is at (%g, %g, %g), too far from the mesh", (int)i,
                   p[0], p[1], p[2]);
  }
  return RF_OK;
}

rf_status rf_embedding_create(const rf_mesh *mesh, int32_t n_points, const double *points,
                              const rf_run *run, rf_embedding **out, rf_error *err) {
  rf_status st = RF_OK;
  search s = {.mesh = mesh, .points = points};
  rf_embedding *e = NULL;
  *out = NULL;
  if (!(n_points >= 1)) return rf_fail(err, RF_ERR_ARG, "there are no points to embed");
  for (int32_t i = 0; i < n_points; ++i) {
    const double *p = points + 3 * (size_t)i;
    if (!(isfinite(p[0]) && isfinite(p[1]) && isfinite(p[2])))
      return rf_fail(err, RF_ERR_ARG, "point %d is at (%g, %g, %g): coordinates must be finite",
                     (int)i, p[0], p[1], p[2]);
  }

  RF_ALLOC(e, 1);
  s.e = e;
  e->n_points = n_points;
  e->n_nodes = mesh->n_nodes;
  e->corners = (int32_t)mesh->type;
  RF_ALLOC(e->element, n_points);
  RF_ALLOC(e->node, (size_t)n_points * (size_t)e->corners);
  RF_ALLOC(e->weight, (size_t)n_points * (size_t)e->corners);
  RF_ALLOC(e->distance, n_points);

  const int64_t tasks = ((int64_t)n_points + POINTS_A_TASK - 1) / POINTS_A_TASK;
  RF_TRY(plant_elements(&s, run, err));
  RF_TRY(rf_run_tasks(run, tasks, 1, inside_task, &s, err));
  int32_t outside = 0;
  for (int32_t i = 0; i < n_points; ++i) outside += e->element[i] < 0;
  if (outside > 0) {
    RF_TRY(plant_triangles(&s, run, err));
    RF_TRY(rf_run_tasks(run, tasks, 0, nearest_task, &s, err));
    RF_TRY(require_finite_weights(e, points, err));
  }
  *out = e;
  e = NULL;
done:
  rf_embedding_free(e);
  rf_free(s.boxes);
  rf_bvh_free(&s.elements);
  rf_bvh_free(&s.triangles);
  rf_boundary_free(&s.boundary);
  return st;
}

// ---- interpolation ----------------------------------------------------------

enum { POINTS_A_BLOCK = 16384 };

typedef struct gradient_work {
  const rf_embedding *e;
  const rf_mesh *mesh;
  const double *points;
  double *gradients;
} gradient_work;

static rf_status gradient_task(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const gradient_work *t = context;
  const size_t size = 3 * (size_t)t->e->corners;
  const int64_t end = (task + 1) * POINTS_A_TASK;
  for (int64_t i = task * POINTS_A_TASK; i < end && i < t->e->n_points; ++i) {
    const double *p = t->points + 3 * (size_t)i;
    double x[RF_MAX_NODES][3], xi[3], gradient[RF_MAX_NODES][3];
    element_nodes(t->mesh, t->e->element[i], x);
    const rf_element_type type = t->mesh->type;
    if (type == RF_TET4) {
      rf_tet_gradients((const double(*)[3])x, gradient);
    } else {
      // outside, or if Newton fails: the element's point nearest to p, starting from the last
      // iterate
      const bool found = rf_local_find(type, (const double(*)[3])x, p, INSIDE, xi);
      if (!found || t->e->distance[i] > 0.0) rf_element_nearest(type, (const double(*)[3])x, p, xi);
      rf_local_gradients(type, (const double(*)[3])x, xi, gradient);
    }
    memcpy(t->gradients + size * (size_t)i, gradient, size * sizeof **gradient);
  }
  return RF_OK;
}

rf_status rf_embedding_gradients(const rf_embedding *e, const rf_mesh *mesh, const double *points,
                                 const rf_run *run, double *gradients, rf_error *err) {
  gradient_work t = {e, mesh, points, gradients};
  if (mesh->n_nodes != e->n_nodes || (int32_t)mesh->type != e->corners)
    return rf_fail(err, RF_ERR_ARG, "the embedding is of another mesh (%d nodes, this has %d)",
                   e->n_nodes, mesh->n_nodes);
  const int64_t tasks = ((int64_t)e->n_points + POINTS_A_TASK - 1) / POINTS_A_TASK;
  return rf_run_tasks(run, tasks, 0, gradient_task, &t, err);
}

typedef struct interpolation {
  const rf_embedding *e;
  const double *nodes;
  double *points;
  int64_t blocks;  // blocks of points per field
} interpolation;

static rf_status interpolate_task(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const interpolation *t = context;
  const rf_embedding *e = t->e;
  const size_t k = (size_t)e->corners, field = (size_t)(task / t->blocks);
  const double *u = t->nodes + 3 * (size_t)e->n_nodes * field;
  double *out = t->points + 3 * (size_t)e->n_points * field;
  const int64_t begin = task % t->blocks * POINTS_A_BLOCK, end = begin + POINTS_A_BLOCK;
  for (int64_t i = begin; i < end && i < e->n_points; ++i) {
    const int32_t *node = e->node + k * (size_t)i;
    const double *w = e->weight + k * (size_t)i;
    double sum[3] = {0};
    for (size_t a = 0; a < k; ++a)
      for (int c = 0; c < 3; ++c) sum[c] += w[a] * u[3 * (size_t)node[a] + (size_t)c];
    memcpy(out + 3 * (size_t)i, sum, sizeof sum);
  }
  return RF_OK;
}

rf_status rf_embedding_interpolate(const rf_embedding *e, const rf_run *run, int32_t n_fields,
                                   const double *nodes, double *points, rf_error *err) {
  interpolation t = {.e = e, .nodes = nodes, .points = points};
  t.blocks = ((int64_t)e->n_points + POINTS_A_BLOCK - 1) / POINTS_A_BLOCK;
  return rf_run_tasks(run, t.blocks * n_fields, 0, interpolate_task, &t, err);
}

void rf_embedding_distribute(const rf_embedding *e, const double *points, double *nodes) {
  const size_t k = (size_t)e->corners;
  memset(nodes, 0, 3 * (size_t)e->n_nodes * sizeof *nodes);
  for (int32_t i = 0; i < e->n_points; ++i)
    for (size_t a = 0; a < k; ++a)
      for (size_t c = 0; c < 3; ++c)
        nodes[3 * (size_t)e->node[k * (size_t)i + a] + c] +=
            e->weight[k * (size_t)i + a] * points[3 * (size_t)i + c];
}
