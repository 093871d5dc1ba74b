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

enum { POINTS = 27 };  // most quadrature points of an element at a time

typedef struct work {
  const rf_solid *solid;
  const rf_green_points *points;
  double reach;
  rf_cubic *cubic;
  const rf_green_columns *columns;
  int32_t n_nodes;               // of elements near a point
  int32_t *node;                 // of the mesh                                      (n_nodes)
  int32_t *place;                // of a node of the mesh among these, -1: not one   (mesh n_nodes)
  int32_t n_elements, *element;  // near a point                         (n_elements)
  float *field;                  // u_p at these nodes                               (n, n_nodes, 3)
  float *modelled;               // v_p likewise; NULL: no model
  double *coordinates;           // of v_p                                        (n, r)
  int64_t scratch;               // doubles of each worker
  double *gradient;              // of all workers: of u, and P
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
  return apart(place, b->middle) <= AROUND * b->radius + BEYOND * w->reach;
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

// Field of a point: columns of its nodes.
static rf_status field_task(void *context, int64_t p, int worker, rf_error *err) {
  (void)err;
  const work *w = context;
  const rf_green_points *points = w->points;
  const double *direction = points->direction + 3 * p;
  float *field = w->field + 3 * p * w->n_nodes;
  for (int64_t a = p * points->corners; a < (p + 1) * points->corners; ++a) {
    if (points->weight[a] == 0.0) continue;
    const int32_t at = w->place[points->node[a]];
    rf_green_columns_solve(w->columns, worker, 1, &at, 0);
    for (int32_t i = 0; i < w->n_nodes; ++i) {
      double block[9];
      rf_green_columns_block(w->columns, worker, i, 0, at, block);
      for (int k = 0; k < 3; ++k)
        field[3 * (int64_t)i + k] +=
            (float)(points->weight[a] * rf_vec3_dot(block + 3 * k, direction));
    }
  }
  return RF_OK;
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

static rf_status model_task(void *context, int64_t p, int worker, rf_error *err) {
  (void)worker, (void)err;
  const work *w = context;
  const int32_t r = w->points->r;
  float *field = w->modelled + 3 * p * w->n_nodes;
  for (int32_t k = 0; k < r; ++k) {
    const double *shape = w->points->basis + 3 * (int64_t)k * w->solid->mesh->n_nodes;
    for (int32_t i = 0; i < w->n_nodes; ++i)
      for (int c = 0; c < 3; ++c)
        field[3 * (int64_t)i + c] +=
            (float)(w->coordinates[p * r + k] * shape[3 * (int64_t)w->node[i] + c]);
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

// Maps gradients B to factor P(A, B): P along each entry of B, (9, 9).
static void put_map(const rf_material *material, double factor, const double A[9], double map[81]) {
  for (int i = 0; i < 9; ++i) {
    double B[9] = {0.0};
    B[i] = factor;
    material->law->second[0](material->parameter, A, B, map + 9 * i);
  }
}

static void multiply(const double map[81], const double B[9], double P[9]) {
  for (int j = 0; j < 9; ++j) P[j] = 0.0;
  for (int i = 0; i < 9; ++i)
    for (int j = 0; j < 9; ++j) P[j] += B[i] * map[9 * i + j];
}

// Adds an element to the entries of point p, sum (m, m), with a factor for some fields.
static void add_element(const work *w, const float *fields, double factor, int32_t p, int32_t e,
                        double *gradient, double *stress, double *sum) {
  const rf_solid *s = w->solid;
  const int32_t *near = w->cubic->near + w->cubic->first[p];
  const int m = (int)(w->cubic->first[p + 1] - w->cubic->first[p]), nodes = (int)s->mesh->type;
  const int32_t *corner = s->mesh->elements + (int64_t)nodes * e;
  const rf_material *material = s->material + s->element_material[e];
  const double *shape = rf_solid_gradient(s, e), *volume = rf_solid_volume(s, e);
  const int count = rf_solid_points(s, e);
  const double one = 1.0;
  for (int first = 0; first < count; first += POINTS) {
    const int some = count - first < POINTS ? count - first : POINTS, k = 9 * some;
    for (int a = 0; a < m; ++a)
      for (int g = 0; g < some; ++g)
        gradient_of(w, fields, near[a], corner, shape + 3 * (int64_t)nodes * (first + g),
                    gradient + (int64_t)k * a + 9 * g);
    const double *own = gradient + (int64_t)k * (m - 1);
    for (int g = 0; g < some; ++g) {
      double along[81];
      put_map(material, -factor * volume[first + g], own + 9 * g, along);
      for (int a = 0; a < m; ++a) {
        const int64_t at = (int64_t)k * a + 9 * g;
        multiply(along, gradient + at, stress + at);
      }
    }
    dgemm_("T", "N", &m, &m, &k, &one, stress, &k, gradient, &k, &one, sum, &m);
  }
}

static rf_status entry_task(void *context, int64_t task, int worker, rf_error *err) {
  (void)err;
  const work *w = context;
  const rf_cubic *c = w->cubic;
  const int32_t p = (int32_t)task, *near = c->near + c->first[p];
  const int64_t m = c->first[p + 1] - c->first[p];
  const int64_t half = 9 * (int64_t)POINTS * c->widest;
  double *gradient = w->gradient + worker * w->scratch, *stress = gradient + half;
  double *sum = stress + half;
  memset(sum, 0, (size_t)(m * m) * sizeof *sum);
  for (int32_t k = 0; k < w->n_elements; ++k) {
    const ball b = ball_of(w->solid->mesh, w->element[k]);
    if (!is_near(w, p, &b)) continue;
    add_element(w, w->field, 1.0, p, w->element[k], gradient, stress, sum);
    if (w->modelled) add_element(w, w->modelled, -1.0, p, w->element[k], gradient, stress, sum);
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

rf_status rf_green_second(const rf_solid *solid, const rf_run *run, const rf_green_points *points,
                          double reach, int64_t most, rf_cubic **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_modes_solid *modes = NULL;
  rf_green_columns *columns = NULL;
  work w = {.solid = solid, .points = points, .reach = reach};
  rf_run_part half = {run, 0, points->n, 2 * (int64_t)points->n};
  rf_run first = rf_run_of_part(&half);
  rf_run_part rest = {run, points->n, 2 * (int64_t)points->n, 2 * (int64_t)points->n};
  rf_run second = rf_run_of_part(&rest);
  *out = NULL;
  RF_TRY(check(&w, err));
  RF_TRY(rf_cubic_create(points->n, points->place, reach, most, &w.cubic, err));
  RF_TRY(list_elements(&w, err));
  RF_ALLOC(w.field, 3 * (int64_t)points->n * w.n_nodes);
  RF_TRY(rf_modes_solid_create(solid, run, &modes, err));
  RF_TRY(rf_green_columns_create(solid, modes, run, w.n_nodes, w.node, &columns, err));
  w.columns = columns;
  RF_TRY(rf_run_tasks(&first, points->n, 1, field_task, &w, err));
  if (points->r > 0) {
    RF_TRY(solve_model(&w, err));
    RF_TRY(rf_run_tasks(run, points->n, 0, model_task, &w, err));
  }
  const int64_t widest = w.cubic->widest;
  w.scratch = 18 * POINTS * widest + widest * widest;
  RF_ALLOC(w.gradient, run->threads * w.scratch);
  rf_blas_serial_begin();
  st = rf_run_tasks(&second, points->n, 1, entry_task, &w, err);
  rf_blas_serial_end();
  if (st < 0) goto done;
  *out = w.cubic;
  w.cubic = NULL;
done:
  rf_green_columns_free(columns);
  rf_modes_solid_free(modes);
  rf_free(w.element);
  rf_free(w.node);
  rf_free(w.place);
  rf_free(w.field);
  rf_free(w.modelled);
  rf_free(w.coordinates);
  rf_free(w.gradient);
  rf_cubic_free(w.cubic);
  return st;
}
