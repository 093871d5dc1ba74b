#include "green/second.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "fem/fem.h"
#include "green/columns.h"
#include "linalg/blas.h"
#include "linalg/vec3.h"
#include "modes/modes.h"

// Distance of elements from points, over the reach and over their own size.
static const double BEYOND = 1.5, AROUND = 2.0;

enum {
  POINTS = 27,  // most quadrature points of an element at a time
  PROBES = 4,   // points at which sums over near elements are compared with those over all
};

typedef struct work {
  const rf_solid *solid;
  const rf_green_points *points;
  double reach;
  bool whole;  // all elements are near
  rf_cubic *cubic;
  const rf_green_columns *columns;
  int32_t n_nodes;               // of elements near a point
  int32_t *node;                 // of the mesh                                      (n_nodes)
  int32_t *place;                // of a node of the mesh among these, -1: not one   (mesh n_nodes)
  int32_t n_elements, *element;  // near a point                         (n_elements)
  float *lacking;                // w_p = u_p - v_p at these nodes                   (n, n_nodes, 3)
  float *modelled;               // v_p likewise; NULL: no model
  double *field;                 // u_p, then w_p, of each worker                    (n_nodes, 3)
  double *coordinates;           // of v_p                                        (n, r)
  int64_t scratch;               // doubles of each worker
  double *gradient;              // of all workers: of w, v and u, and P
} work;

// A ball around an element.
typedef struct ball {
  double middle[3], radius;
} ball;

static double apart(const double *a, const double *b) {
  double d[3];
  rf_vec3_sub(a, b, d);
  return rf_vec3_length(d);
}

static ball ball_of(const rf_mesh *mesh, int32_t e) {
  const int nodes = (int)mesh->type;
  const int32_t *corner = mesh->elements + (int64_t)nodes * e;
  ball b = {{0.0}, 0.0};
  for (int a = 0; a < nodes; ++a)
    for (int i = 0; i < 3; ++i) b.middle[i] += mesh->nodes[3 * (int64_t)corner[a] + i] / nodes;
  for (int a = 0; a < nodes; ++a)
    b.radius = fmax(b.radius, apart(b.middle, mesh->nodes + 3 * (int64_t)corner[a]));
  return b;
}

static bool is_near(const work *w, int32_t p, const ball *b) {
  const double *place = w->points->place + 3 * (int64_t)p;
  return w->whole || apart(place, b->middle) <= AROUND * b->radius + BEYOND * w->reach;
}

// Lists elements near points, and their nodes; those of points are among them.
static rf_status list_elements(work *w, rf_error *err) {
  rf_status st = RF_OK;
  const rf_mesh *mesh = w->solid->mesh;
  const int nodes = (int)mesh->type;
  RF_ALLOC(w->element, mesh->n_elements);
  RF_ALLOC(w->node, mesh->n_nodes);
  RF_ALLOC(w->place, mesh->n_nodes);
  for (int32_t e = 0; e < mesh->n_elements; ++e) {
    const ball b = ball_of(mesh, e);
    bool near = false;
    for (int32_t p = 0; p < w->points->n && !near; ++p) near = is_near(w, p, &b);
    if (!near) continue;
    w->element[w->n_elements++] = e;
    for (int a = 0; a < nodes; ++a) w->place[mesh->elements[(int64_t)nodes * e + a]] = 1;
  }
  for (int64_t a = 0; a < (int64_t)w->points->n * w->points->corners; ++a)
    if (w->points->weight[a] != 0.0) w->place[w->points->node[a]] = 1;
  for (int32_t k = 0; k < mesh->n_nodes; ++k) {
    const bool used = w->place[k] && w->solid->free_of[k] >= 0;
    w->place[k] = used ? w->n_nodes : -1;
    if (used) w->node[w->n_nodes++] = k;
  }
done:
  return st;
}

// Coordinates of the model under unit forces.
static rf_status solve_model(work *w, rf_error *err) {
  rf_status st = RF_OK;
  const rf_green_points *points = w->points;
  const int r = points->r, n = points->n;
  const int64_t nodes = w->solid->mesh->n_nodes;
  const double one = 1.0;
  double *root = NULL;
  int info = 0;
  RF_ALLOC(w->modelled, 3 * (int64_t)n * w->n_nodes);
  RF_ALLOC(w->coordinates, (int64_t)n * r);
  RF_ALLOC(root, (int64_t)r * r);
  memcpy(root, points->stiffness, (size_t)r * (size_t)r * sizeof *root);
  for (int64_t a = 0; a < (int64_t)n * points->corners; ++a)
    for (int32_t k = 0; points->weight[a] != 0.0 && k < r; ++k)
      w->coordinates[a / points->corners * r + k] +=
          points->weight[a] * rf_vec3_dot(points->basis + 3 * (k * nodes + points->node[a]),
                                          points->direction + 3 * (a / points->corners));
  rf_blas_serial_begin();
  dpotrf_("L", &r, root, &r, &info);
  if (info == 0) dtrsm_("L", "L", "N", "N", &r, &n, &one, root, &r, w->coordinates, &r);
  if (info == 0) dtrsm_("L", "L", "T", "N", &r, &n, &one, root, &r, w->coordinates, &r);
  rf_blas_serial_end();
  if (info != 0)
    st = rf_fail(err, RF_ERR_SINGULAR,
                 "the stiffness of the solid in the basis is not positive definite");
done:
  rf_free(root);
  return st;
}

// Fields of a point: columns of its nodes, less those of the model in double precision.
static rf_status field_task(void *context, int64_t p, int worker, rf_error *err) {
  (void)err;
  const work *w = context;
  const rf_green_points *points = w->points;
  const double *direction = points->direction + 3 * p;
  const int64_t rows = 3 * (int64_t)w->n_nodes;
  double *field = w->field + worker * rows;
  memset(field, 0, (size_t)rows * sizeof *field);
  for (int64_t a = p * points->corners; a < (p + 1) * points->corners; ++a) {
    if (points->weight[a] == 0.0) continue;
    const int32_t at = w->place[points->node[a]];
    rf_green_columns_solve(w->columns, worker, 1, &at, 0);
    for (int32_t i = 0; i < w->n_nodes; ++i) {
      double block[9];
      rf_green_columns_block(w->columns, worker, i, 0, at, block);
      for (int k = 0; k < 3; ++k)
        field[3 * (int64_t)i + k] += points->weight[a] * rf_vec3_dot(block + 3 * k, direction);
    }
  }
  for (int64_t i = 0; i < rows; ++i) {
    double v = 0.0;
    for (int64_t k = 0; k < points->r; ++k)
      v += w->coordinates[p * points->r + k] *
           points->basis[3 * (k * w->solid->mesh->n_nodes + w->node[i / 3]) + i % 3];
    w->lacking[p * rows + i] = (float)(field[i] - v);
    if (w->modelled) w->modelled[p * rows + i] = (float)v;
  }
  return RF_OK;
}

// Gradient of the field of a point at a quadrature point.
static void gradient_of(const work *w, const float *fields, int32_t p, const int32_t *corner,
                        const double *shape, double G[9]) {
  const int nodes = (int)w->solid->mesh->type;
  const float *field = fields + 3 * (int64_t)p * w->n_nodes;
  memset(G, 0, 9 * sizeof *G);
  for (int a = 0; a < nodes; ++a) {
    const int32_t at = w->place[corner[a]];
    if (at < 0) continue;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j)
        G[3 * i + j] += (double)field[3 * (int64_t)at + i] * shape[3 * a + j];
  }
}

// Adds factor P(A, B) along the gradients A of one field, for B of many, to their stresses.
static void add_stress(const rf_material *material, double factor, const double A[9], int m, int k,
                       const double *B, double *stress) {
  double map[81];
  for (int i = 0; i < 9; ++i) {
    double one[9] = {0.0};
    one[i] = factor;
    material->law->second[0](material->parameter, A, one, map + 9 * i);
  }
  for (int a = 0; a < m; ++a)
    for (int i = 0; i < 9; ++i)
      for (int j = 0; j < 9; ++j)
        stress[(int64_t)k * a + j] += B[(int64_t)k * a + i] * map[9 * i + j];
}

// Adds an element to the entries of point p, sum (m, m):
//   t(u_p, u, u) - t(v_p, v, v) = t(w_p, u, u) + t(v_p, w, u) + t(v_p, v, w),
// as the first two are nearly equal where the model bends.
static void add_element(const work *w, int32_t p, int32_t e, double *gradient, double *sum) {
  const rf_solid *s = w->solid;
  const int32_t *near = w->cubic->near + w->cubic->first[p];
  const int m = (int)(w->cubic->first[p + 1] - w->cubic->first[p]), nodes = (int)s->mesh->type;
  const int32_t *corner = s->mesh->elements + (int64_t)nodes * e;
  const rf_material *material = s->material + s->element_material[e];
  const double *shape = rf_solid_gradient(s, e), *volume = rf_solid_volume(s, e);
  const int count = rf_solid_points(s, e);
  const int64_t part = 9 * (int64_t)POINTS * w->cubic->widest;
  double *W = gradient, *V = W + part, *U = V + part, *stress = U + part;
  const double one = 1.0;
  for (int first = 0; first < count; first += POINTS) {
    const int some = count - first < POINTS ? count - first : POINTS, k = 9 * some;
    const int64_t own = (int64_t)k * (m - 1);
    for (int a = 0; a < m; ++a)
      for (int g = 0; g < some; ++g) {
        const double *at = shape + 3 * (int64_t)nodes * (first + g);
        const int64_t to = (int64_t)k * a + 9 * g;
        gradient_of(w, w->lacking, near[a], corner, at, W + to);
        memcpy(U + to, W + to, 9 * sizeof *U);
        if (!w->modelled) continue;
        gradient_of(w, w->modelled, near[a], corner, at, V + to);
        for (int i = 0; i < 9; ++i) U[to + i] += V[to + i];
      }
    memset(stress, 0, (size_t)k * (size_t)m * sizeof *stress);
    for (int g = 0; g < some; ++g) {
      const double factor = -volume[first + g];
      const int64_t at = 9 * (int64_t)g;
      add_stress(material, factor, W + own + at, m, k, U + at, stress + at);
      if (w->modelled) add_stress(material, factor, V + own + at, m, k, W + at, stress + at);
    }
    dgemm_("T", "N", &m, &m, &k, &one, stress, &k, U, &k, &one, sum, &m);
    if (!w->modelled) continue;
    memset(stress, 0, (size_t)k * (size_t)m * sizeof *stress);
    for (int g = 0; g < some; ++g)
      add_stress(material, -volume[first + g], V + own + 9 * g, m, k, V + 9 * (int64_t)g,
                 stress + 9 * (int64_t)g);
    dgemm_("T", "N", &m, &m, &k, &one, stress, &k, W, &k, &one, sum, &m);
  }
}

static rf_status entry_task(void *context, int64_t task, int worker, rf_error *err) {
  (void)err;
  const work *w = context;
  const rf_cubic *c = w->cubic;
  const int32_t p = (int32_t)task, *near = c->near + c->first[p];
  const int64_t m = c->first[p + 1] - c->first[p];
  double *gradient = w->gradient + worker * w->scratch;
  double *sum = gradient + 36 * (int64_t)POINTS * c->widest;
  memset(sum, 0, (size_t)(m * m) * sizeof *sum);
  for (int32_t k = 0; k < w->n_elements; ++k) {
    const ball b = ball_of(w->solid->mesh, w->element[k]);
    if (!is_near(w, p, &b)) continue;
    add_element(w, p, w->element[k], gradient, sum);
  }
  float *entry = c->entry + c->at[p];
  for (int64_t a = 0; a < m; ++a)
    for (int64_t b = 0; b <= a; ++b, ++entry) {
      const double *place = w->points->place;
      if (apart(place + 3 * (int64_t)near[a], place + 3 * (int64_t)near[b]) <= w->reach)
        *entry = (float)(0.5 * (sum[a * m + b] + sum[b * m + a]));
    }
  return RF_OK;
}

static rf_status check(const work *w, rf_error *err) {
  const rf_green_points *points = w->points;
  if (!(isfinite(w->reach) && w->reach > 0.0))
    return rf_fail(err, RF_ERR_ARG, "reach must be finite and positive, got %g", w->reach);
  if (w->solid->constrained)
    return rf_fail(err, RF_ERR_ARG, "the mesh has constrained nodes, which have no second order");
  for (int64_t a = 0; a < (int64_t)points->n * points->corners; ++a)
    if (points->weight[a] != 0.0 && !(w->solid->free_of[points->node[a]] >= 0))
      return rf_fail(err, RF_ERR_ARG, "node %d of point %lld is fixed, but has the weight %g",
                     (int)points->node[a], (long long)(a / points->corners), points->weight[a]);
  return RF_OK;
}

// Makes the entries of the points of some work.
static rf_status make(work *w, const rf_run *run, const rf_modes_solid *modes, int64_t most,
                      rf_error *err) {
  rf_status st = RF_OK;
  const rf_green_points *points = w->points;
  rf_run_part half = {run, 0, points->n, 2 * (int64_t)points->n};
  rf_run_part rest = {run, points->n, 2 * (int64_t)points->n, 2 * (int64_t)points->n};
  const rf_run first = rf_run_of_part(&half), second = rf_run_of_part(&rest);
  const int counts = !w->whole;
  rf_green_columns *columns = NULL;
  RF_TRY(rf_cubic_create(points->n, points->place, w->reach, most, &w->cubic, err));
  RF_TRY(list_elements(w, err));
  RF_ALLOC(w->lacking, 3 * (int64_t)points->n * w->n_nodes);
  RF_ALLOC(w->field, 3 * (int64_t)run->threads * w->n_nodes);
  RF_TRY(rf_green_columns_create(w->solid, modes, run, w->n_nodes, w->node, &columns, err));
  w->columns = columns;
  if (points->r > 0) RF_TRY(solve_model(w, err));
  RF_TRY(rf_run_tasks(&first, points->n, counts, field_task, w, err));
  const int64_t widest = w->cubic->widest;
  w->scratch = 36 * POINTS * widest + widest * widest;
  RF_ALLOC(w->gradient, run->threads * w->scratch);
  rf_blas_serial_begin();
  st = rf_run_tasks(&second, points->n, counts, entry_task, w, err);
  rf_blas_serial_end();
done:
  rf_green_columns_free(columns);
  return st;
}

static void clear(work *w) {
  rf_free(w->element);
  rf_free(w->node);
  rf_free(w->place);
  rf_free(w->lacking);
  rf_free(w->modelled);
  rf_free(w->field);
  rf_free(w->coordinates);
  rf_free(w->gradient);
  rf_cubic_free(w->cubic);
}

// Entry of a point with itself.
static double own_entry(const rf_cubic *c, int32_t p) { return (double)c->entry[c->at[p + 1] - 1]; }

// Compares entries of a few points with sums over all elements; returns the largest difference
// over the largest of these sums.
static rf_status compare(const work *w, const rf_run *run, const rf_modes_solid *modes, double *off,
                         rf_error *err) {
  rf_status st = RF_OK;
  const rf_green_points *all = w->points;
  const int64_t corners = all->corners;
  int32_t *node = NULL, probes = all->n < PROBES ? all->n : PROBES;
  double *weight = NULL, direction[3 * PROBES], place[3 * PROBES], most = 0.0, worst = 0.0;
  rf_green_points few = *all;
  work exact = {.solid = w->solid, .points = &few, .reach = 0.0, .whole = true};
  RF_ALLOC(node, probes * corners);
  RF_ALLOC(weight, probes * corners);
  for (int32_t k = 0; k < probes; ++k) {
    const int64_t p = (int64_t)k * all->n / probes;
    memcpy(node + k * corners, all->node + p * corners, (size_t)corners * sizeof *node);
    memcpy(weight + k * corners, all->weight + p * corners, (size_t)corners * sizeof *weight);
    memcpy(direction + 3 * k, all->direction + 3 * p, 3 * sizeof *direction);
    memcpy(place + 3 * k, all->place + 3 * p, 3 * sizeof *place);
  }
  few.n = probes;
  few.node = node, few.weight = weight, few.direction = direction, few.place = place;
  RF_TRY(make(&exact, run, modes, INT64_MAX, err));
  for (int32_t k = 0; k < probes; ++k) {
    const double sum = own_entry(exact.cubic, k);
    most = fmax(most, fabs(sum));
    worst = fmax(worst, fabs(own_entry(w->cubic, (int32_t)((int64_t)k * all->n / probes)) - sum));
  }
  *off = most > 0.0 ? worst / most : 0.0;
done:
  clear(&exact);
  rf_free(node);
  rf_free(weight);
  return st;
}

rf_status rf_green_second(const rf_solid *solid, const rf_run *run, const rf_green_points *points,
                          double reach, int64_t most, rf_cubic **out, double *off, rf_error *err) {
  rf_status st = RF_OK;
  rf_modes_solid *modes = NULL;
  work w = {.solid = solid, .points = points, .reach = reach};
  *out = NULL;
  *off = 0.0;
  RF_TRY(check(&w, err));
  RF_TRY(rf_modes_solid_create(solid, run, &modes, err));
  RF_TRY(make(&w, run, modes, most, err));
  RF_TRY(compare(&w, run, modes, off, err));
  *out = w.cubic;
  w.cubic = NULL;
done:
  clear(&w);
  rf_modes_solid_free(modes);
  return st;
}
