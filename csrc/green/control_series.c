// The series of control elements: its terms, the fields of products, its radius.
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "green/control_build.h"
#include "linalg/blas.h"
#include "linalg/vec3.h"
#include "linalg/vector.h"

enum { P = RF_CONTROL_PARAMETERS, LANES = RF_CONTROL_LANES };

// Terms below this fraction of the first are rounding.
static const double ROUNDING = 1e-13;
// Squares of gradients below this count as zero.
static const double SINGULAR = 1e-14;

static void gradient_of(int nodes, const int32_t *corner, const double *gradient, const double *u,
                        double *H) {
  memset(H, 0, 9 * sizeof *H);
  for (int a = 0; a < nodes; ++a)
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j)
        H[3 * i + j] += u[3 * (int64_t)corner[a] + i] * gradient[3 * a + j];
}

// Paths s of the series: sums of one to three coordinates.
typedef struct path {
  int32_t index[3];
  double factor[3];
  int count;
} path;

typedef struct series {
  rf_control_build *build;
  double *basis;  // poses of all groups along the coordinates (6 n_groups, p)
  int32_t n_paths;
  path *paths;       // (n_paths)
  double *reach;     // multiple of a path up to which its series converges (n_long)
  int32_t n_long;    // paths with enough terms for that: single ones and pairs
  int64_t row;       // 3 n_surface + n_parameters
  double *value[2];  // degrees 2 and 3: surface, then forces (n_paths, row)
  double *u;         // terms of some paths    (RADIUS_TERMS, RF_CONTROL_PATHS, n_nodes, 3)
  double *load;      //                        (RF_CONTROL_PATHS, n_nodes, 3)
  double *lanes;     // the terms, LANES paths side by side  (RADIUS_TERMS, PATHS, n_nodes, 3)
  double *forces;    // of them                              (PATHS, n_nodes, 3)
  double *moved;     // parameters of b_n      (RADIUS_TERMS, RF_CONTROL_PATHS, n_parameters)
} series;

void rf_control_make_inertia(rf_control *c) {
  double I[9] = {0}, transposed[9];
  for (int32_t g = 0; g < c->n_groups; ++g) {
    const rf_control_group *group = c->group + g;
    double d[3], J[9];
    rf_vec3_sub(group->mean, c->centre, d);
    for (int i = 0; i < 9; ++i) J[i] = group->moment[i] + group->count * d[i / 3] * d[i % 3];
    for (int i = 0; i < 9; ++i) I[i] += (i % 4 ? 0.0 : J[0] + J[4] + J[8]) - J[i];
  }
  (void)rf_mat3_inverse_transposed(I, transposed);
  for (int i = 0; i < 9; ++i) c->inverse[i] = transposed[i % 3 * 3 + i / 3];
}

// Column j of the basis: the pose of one group moves, then the rigid motion is taken out.
static void make_column(const series *s, int32_t j) {
  const rf_control *c = s->build->control;
  const int32_t moved = 1 + j / 6, p = c->n_relative;
  const rf_control_group *group = c->group + moved;
  double T[3] = {0}, theta[3] = {0}, d[3], moment[3] = {0}, turn[3];
  (j % 6 < 3 ? T : theta)[j % 3] = 1.0;
  rf_vec3_sub(group->mean, c->centre, d);
  rf_vec3_cross(d, T, moment);
  const double *const J = group->moment;
  for (int i = 0; i < 3; ++i)
    moment[i] =
        moment[i] * group->count + (J[0] + J[4] + J[8]) * theta[i] - rf_vec3_dot(J + 3 * i, theta);
  for (int i = 0; i < 3; ++i) turn[i] = rf_vec3_dot(c->inverse + 3 * i, moment);
  for (int32_t g = 0; g < c->n_groups; ++g) {
    double arm[3], rigid[3];
    rf_vec3_sub(c->group[g].mean, c->centre, arm);
    rf_vec3_cross(turn, arm, rigid);
    for (int i = 0; i < 3; ++i) {
      s->basis[(6 * g + i) * p + j] =
          (g == moved ? T[i] : 0.0) - rigid[i] - T[i] * group->count / c->count;
      s->basis[(6 * g + 3 + i) * p + j] = (g == moved ? theta[i] : 0.0) - turn[i];
    }
  }
}

// Parameters of b_n for poses (6 n_groups): T for n = 1, and theta~^n / n!.
static void boundary(const rf_control *c, int n, const double *poses, double *parameters) {
  for (int32_t g = 0; g < c->n_groups; ++g) {
    double *const to = parameters + P * g;
    for (int i = 0; i < 3; ++i) to[i] = n == 1 ? poses[6 * g + i] : 0.0;
    rf_control_turn_term_rt(n, poses + 6 * g + 3, to + 3);
  }
}

// The metric of relative poses, (1/V) int grad u_i : grad u_j dV of their linear solutions u.
static void make_metric(const rf_solid *s, int32_t p, const double *u, double *metric) {
  const int nodes = (int)s->mesh->type;
  const int64_t all = 3 * (int64_t)s->mesh->n_nodes;
  double H[RF_CONTROL_MOST_FIELDS / 2][9], volume = 0.0;
  memset(metric, 0, (size_t)(p * p) * sizeof *metric);
  for (int32_t e = 0; e < s->mesh->n_elements; ++e) {
    const int32_t *const corner = s->mesh->elements + (int64_t)nodes * e;
    const double *gradient = rf_solid_gradient(s, e), *const weight = rf_solid_volume(s, e);
    for (int g = 0; g < rf_solid_points(s, e); ++g, gradient += 3 * nodes) {
      volume += weight[g];
      for (int32_t i = 0; i < p; ++i) {
        gradient_of(nodes, corner, gradient, u + i * all, H[i]);
        for (int32_t j = 0; j <= i; ++j) metric[i * p + j] += weight[g] * rf_dot(9, H[i], H[j]);
      }
    }
  }
  for (int32_t i = 0; i < p * p; ++i) metric[i] /= volume;
}

// RF_ERR_MESH if relative poses exist without gradients.  `metric` is destroyed.
static rf_status require_connected(const rf_control_build *b, int32_t n, double *metric,
                                   rf_error *err) {
  const double length = rf_mesh_length(b->solid->mesh->n_nodes, b->solid->mesh->nodes);
  for (int32_t j = 0; j < n; ++j) {
    const double unit = j % 6 < 3 ? 1.0 / (length * length) : 1.0;  // shifts, then turns
    const double own = metric[j * n + j], pivot = own - rf_dot(j, metric + j * n, metric + j * n);
    if (!(pivot > SINGULAR * fmax(own, unit)))
      return rf_fail(err, RF_ERR_MESH,
                     "two handles move apart without deforming the mesh: they are on parts that "
                     "are not connected; make a solid of each part, or use order 1");
    metric[j * n + j] = sqrt(pivot);
    for (int32_t i = j + 1; i < n; ++i)
      metric[i * n + j] =
          (metric[i * n + j] - rf_dot(j, metric + i * n, metric + j * n)) / metric[j * n + j];
  }
  return RF_OK;
}

// Stationary ratios of the energy to the metric: vectors X (columns), X^T metric X = 1, in place of
// `energy`; destroys `metric`.
static rf_status find_axes(int n, double *energy, double *metric, rf_error *err) {
  rf_status st = RF_OK;
  const int itype = 1, lwork = 1 + 6 * n + 2 * n * n, liwork = 3 + 5 * n;
  double *values = NULL, *work = NULL;
  int *iwork = NULL, info = 0;
  RF_ALLOC(values, n);
  RF_ALLOC(work, lwork);
  RF_ALLOC(iwork, liwork);
  rf_blas_serial_begin();
  dsygvd_(&itype, "V", "L", &n, energy, &n, metric, &n, values, work, &lwork, iwork, &liwork,
          &info);
  rf_blas_serial_end();
  if (info != 0)
    st = rf_fail(err, RF_ERR_NO_CONVERGENCE, "principal motions of the handles not found");
done:
  rf_free(values);
  rf_free(work);
  rf_free(iwork);
  return st;
}

// Chooses coordinates s of relative poses r in which |s| is the root mean square of the gradient
// and the energy is diagonal: pull, twist and bending of a bar are axes of their own.
static rf_status make_coordinates(series *s, rf_error *err) {
  rf_status st = RF_OK;
  rf_control_build *b = s->build;
  rf_control *c = b->control;
  const int32_t p = c->n_relative;
  const int64_t all = 3 * (int64_t)b->solid->mesh->n_nodes;
  double *u = NULL, *poses = NULL, *moved = NULL, *metric = NULL, *axes = NULL, *scratch = NULL;
  RF_ALLOC(u, p * all);
  RF_ALLOC(poses, 6 * c->n_groups);
  RF_ALLOC(moved, (int64_t)p * c->n_parameters);
  RF_ALLOC(metric, p * p);
  RF_ALLOC(axes, p * p);
  RF_ALLOC(scratch, p * p + c->n_parameters);
  for (int32_t j = 0; j < p; ++j) {
    make_column(s, j);
    for (int32_t i = 0; i < 6 * c->n_groups; ++i) poses[i] = s->basis[i * p + j];
    boundary(c, 1, poses, moved + j * c->n_parameters);
    rf_control_prescribe(b, moved + j * c->n_parameters, u + j * all);
  }
  for (int32_t j = 0; j < p; j += 6) RF_TRY(rf_control_respond(b, 6, NULL, u + j * all, err));
  make_metric(b->solid, p, u, metric);
  memcpy(scratch, metric, (size_t)(p * p) * sizeof *scratch);
  RF_TRY(require_connected(b, p, scratch, err));
  for (int32_t i = 0; i < p; ++i) {
    const double *const own = moved + i * c->n_parameters;
    for (int32_t k = 0; k < c->n_parameters; ++k)
      scratch[k] = rf_dot(c->n_parameters, c->matrix + (int64_t)k * c->ld, own);
    for (int32_t j = 0; j < p; ++j)
      axes[i * p + j] = rf_dot(c->n_parameters, scratch, moved + j * c->n_parameters);
  }
  for (int32_t i = 0; i < p; ++i)
    for (int32_t j = 0; j < i; ++j) metric[j * p + i] = metric[i * p + j];
  memcpy(scratch, metric, (size_t)(p * p) * sizeof *scratch);
  RF_TRY(find_axes(p, axes, scratch, err));
  for (int32_t i = 0; i < p; ++i)
    for (int32_t j = 0; j < p; ++j)
      c->to_relative[i * p + j] = rf_dot(p, axes + i * p, metric + j * p);
  for (int32_t i = 0; i < 6 * c->n_groups; ++i) {
    memcpy(scratch, s->basis + i * p, (size_t)p * sizeof *scratch);
    for (int32_t j = 0; j < p; ++j) s->basis[i * p + j] = rf_dot(p, axes + j * p, scratch);
  }
done:
  rf_free(u);
  rf_free(poses);
  rf_free(moved);
  rf_free(metric);
  rf_free(axes);
  rf_free(scratch);
  return st;
}

static path path_of(int32_t i, int32_t j, double factor, int32_t k) {
  path p = {.index = {i, j, k}, .factor = {1.0, factor, 1.0}, .count = 1 + (j >= 0) + (k >= 0)};
  return p;
}

static int32_t choose2(int32_t n) { return n * (n - 1) / 2; }

// Number of i < j among pairs, row by row.
static int32_t pair_of(int32_t p, int32_t i, int32_t j) {
  return choose2(p) - choose2(p - i) + j - i - 1;
}

// All e_i, e_i + e_j and e_i - e_j, and of order 3 all e_i + e_j + e_k: with the first two, or with
// all, as many as forms of degree 2 or 3 have coefficients.
static void make_paths(series *s) {
  const int32_t p = s->build->control->n_relative;
  path *to = s->paths;
  for (int32_t i = 0; i < p; ++i) *to++ = path_of(i, -1, 0.0, -1);
  for (int sign = 1; sign >= -1; sign -= 2)
    for (int32_t i = 0; i < p; ++i)
      for (int32_t j = i + 1; j < p; ++j) *to++ = path_of(i, j, sign, -1);
  if (s->build->control->order > 2)
    for (int32_t i = 0; i < p; ++i)
      for (int32_t j = i + 1; j < p; ++j)
        for (int32_t k = j + 1; k < p; ++k) *to++ = path_of(i, j, 1.0, k);
}

// Poses of all groups along a path.
static void poses_of(const series *s, const path *way, double *poses) {
  const rf_control *c = s->build->control;
  for (int32_t i = 0; i < 6 * c->n_groups; ++i) {
    poses[i] = 0.0;
    for (int k = 0; k < way->count; ++k)
      poses[i] += way->factor[k] * s->basis[i * c->n_relative + way->index[k]];
  }
}

// The paths of a task are side by side in s->lanes and in its part of s->forces.
typedef struct force_task {
  const series *s;
  int n;
} force_task;

static rf_status force_of_paths(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const force_task *t = context;
  const series *s = t->s;
  const int64_t all = 3 * (int64_t)s->build->solid->mesh->n_nodes;
  const double *term[RF_CONTROL_RADIUS_TERMS];
  double *const force = s->forces + task * LANES * all;
  for (int k = 0; k < t->n; ++k) term[k] = s->lanes + (k * RF_CONTROL_PATHS + task * LANES) * all;
  rf_control_series_force(s->build->solid, t->n, term, force);
  for (int lane = 0; lane < LANES; ++lane) {
    double *const to = s->load + (task * LANES + lane) * all;
    for (int64_t i = 0; i < all; ++i) to[i] = force[i * LANES + lane];
    rf_constraints_fold_rt(s->build->solid->mesh->constraints, to);
  }
  return RF_OK;
}

static void put_in_lanes(const series *s, int n, int count) {
  const int64_t all = 3 * (int64_t)s->build->solid->mesh->n_nodes;
  for (int k = 0; k < count; ++k) {
    const double *const u = s->u + ((n - 1) * RF_CONTROL_PATHS + k) * all;
    double *const to =
        s->lanes + ((n - 1) * RF_CONTROL_PATHS + k / LANES * LANES) * all + k % LANES;
    for (int64_t i = 0; i < all; ++i) to[i * LANES] = u[i];
  }
}

// The form of degree n on a path, at the surface, and its forces: without the linear part.
static rf_status store(series *s, int32_t k, int n, int32_t in, rf_error *err) {
  rf_status st = RF_OK;
  const rf_control_build *b = s->build;
  const rf_control *c = b->control;
  const int64_t all = 3 * (int64_t)b->solid->mesh->n_nodes, surface = 3 * (int64_t)c->n_surface;
  const double *const u = s->u + ((n - 1) * RF_CONTROL_PATHS + in) * all;
  const double *const moved = s->moved + ((n - 1) * RF_CONTROL_PATHS + in) * c->n_parameters;
  double *const to = s->value[n - 2] + k * s->row, *const forces = to + surface;
  rf_control_sample(b, u, to);
  for (int32_t m = 0; m < c->n_parameters; ++m)
    for (int64_t i = 0; i < surface; ++i) to[i] -= moved[m] * b->surface[m * surface + i];
  RF_TRY(rf_solid_block_multiply(b->solid, b->run, b->blocks, 1, u, b->load, err));
  for (int64_t i = 0; i < all; ++i) b->load[i] += s->load[in * all + i];
  rf_control_gather(b, b->load, forces);
  for (int32_t m = 0; m < c->n_parameters; ++m)
    forces[m] -= rf_dot(c->n_parameters, c->matrix + (int64_t)m * c->ld, moved);
done:
  return st;
}

// Radius in multiples of the path, by ratios of terms two apart: odd and even ones may differ.
static double radius_of(int n, const double *size) {
  double radius = INFINITY;
  for (int k = 2; k < n; ++k)
    if (size[k] > ROUNDING * size[0]) radius = fmin(radius, sqrt(size[k - 2] / size[k]));
  return radius;
}

static rf_status make_terms(series *s, int32_t first, int count, int terms, rf_error *err) {
  rf_status st = RF_OK;
  rf_control_build *b = s->build;
  rf_control *c = b->control;
  const int64_t all = 3 * (int64_t)b->solid->mesh->n_nodes;
  double poses[6 * RF_CONTROL_MOST_GROUPS], size[RF_CONTROL_PATHS][RF_CONTROL_RADIUS_TERMS];
  memset(s->u, 0, (size_t)(terms * RF_CONTROL_PATHS * all) * sizeof *s->u);
  for (int n = 1; n <= terms; ++n) {
    double *const u = s->u + (n - 1) * RF_CONTROL_PATHS * all;
    for (int k = 0; k < count; ++k) {
      double *const moved = s->moved + ((n - 1) * RF_CONTROL_PATHS + k) * c->n_parameters;
      poses_of(s, s->paths + first + k, poses);
      boundary(c, n, poses, moved);
      rf_control_prescribe(b, moved, u + k * all);
    }
    if (n > 1) {
      force_task task = {s, n};
      RF_TRY(rf_run_tasks(b->run, (count + LANES - 1) / LANES, 0, force_of_paths, &task, err));
    }
    RF_TRY(rf_control_respond(b, count, n > 1 ? s->load : NULL, u, err));
    put_in_lanes(s, n, count);
    for (int k = 0; k < count; ++k) {
      size[k][n - 1] = rf_norm(all, u + k * all);
      if (n > 1 && n <= c->order) RF_TRY(store(s, first + k, n, k, err));
    }
  }
  if (terms == RF_CONTROL_RADIUS_TERMS)
    for (int k = 0; k < count; ++k) s->reach[first + k] = radius_of(terms, size[k]);
done:
  return st;
}

// The gauge that is 1 / radius^2 on every path, but for the larger one of each two pairs.
static void make_gauge(const series *s) {
  rf_control *c = s->build->control;
  const int32_t p = c->n_relative;
  for (int32_t i = 0; i < p; ++i) c->gauge[i * p + i] = 1.0 / (s->reach[i] * s->reach[i]);
  for (int32_t i = 0; i < p; ++i)
    for (int32_t j = i + 1; j < p; ++j) {
      const double *const pair = s->reach + p + pair_of(p, i, j);
      const double least = fmin(pair[0], pair[choose2(p)]);
      const double mixed =
          0.5 * (1.0 / (least * least) - c->gauge[i * p + i] - c->gauge[j * p + j]);
      c->gauge[i * p + j] = c->gauge[j * p + i] = fmax(mixed, 0.0);
    }
}

// Adds `factor` times the value on a path to one of the fields and its forces.
static void add_value(const series *s, int degree, int32_t from, double factor, int32_t to) {
  rf_control *c = s->build->control;
  const int64_t surface = 3 * (int64_t)c->n_surface;
  const double *const value = s->value[degree - 2] + from * s->row;
  double *const field = s->build->surface + (c->n_parameters + to) * surface;
  double *const forces = c->product_forces + (int64_t)to * c->ld;
  for (int64_t i = 0; i < surface; ++i) field[i] += factor * value[i];
  for (int32_t i = 0; i < c->n_parameters; ++i) forces[i] += factor * value[surface + i];
}

// Coefficients of s_i s_j, i <= j.
static int32_t polarize_pairs(const series *s) {
  const int32_t p = s->build->control->n_relative;
  int32_t to = 0;
  for (int32_t i = 0; i < p; ++i)
    for (int32_t j = i; j < p; ++j, ++to) {
      if (i < j) {
        add_value(s, 2, p + pair_of(p, i, j), 1.0, to);
        add_value(s, 2, j, -1.0, to);
      }
      add_value(s, 2, i, i < j ? -1.0 : 1.0, to);
    }
  return to;
}

// Coefficients of s_i s_j s_k, i <= j <= k, behind those of pairs.
static void polarize_triples(const series *s, int32_t to) {
  const int32_t p = s->build->control->n_relative, sum = p, difference = p + choose2(p);
  int32_t triple = difference + choose2(p);
  for (int32_t i = 0; i < p; ++i)
    for (int32_t j = i; j < p; ++j)
      for (int32_t k = j; k < p; ++k, ++to) {
        if (i < j && j < k) {
          add_value(s, 3, triple++, 1.0, to);
          const int32_t pair[3] = {pair_of(p, i, j), pair_of(p, i, k), pair_of(p, j, k)};
          const int32_t one[3] = {i, j, k};
          for (int q = 0; q < 3; ++q) {
            add_value(s, 3, sum + pair[q], -1.0, to);
            add_value(s, 3, one[q], 1.0, to);
          }
        } else if (i < k) {  // v(a + b) = iik + ikk + iii + kkk, v(a - b) = -iik + ikk + iii - kkk
          const int32_t pair = pair_of(p, i, k);
          const bool first_twice = i == j;
          add_value(s, 3, sum + pair, 0.5, to);
          add_value(s, 3, difference + pair, first_twice ? -0.5 : 0.5, to);
          add_value(s, 3, first_twice ? k : i, -1.0, to);
        } else {
          add_value(s, 3, i, 1.0, to);
        }
      }
}

rf_status rf_control_build_series(rf_control_build *b, rf_error *err) {
  rf_status st = RF_OK;
  rf_control *c = b->control;
  const int32_t p = c->n_relative, ends = c->n_groups;
  const int64_t all = 3 * (int64_t)b->solid->mesh->n_nodes;
  const int32_t longs = p * p;  // single paths and pairs of both signs
  series s = {.build = b,
              .n_long = longs,
              .n_paths = longs + (c->order > 2 ? p * (p - 1) * (p - 2) / 6 : 0),
              .row = 3 * (int64_t)c->n_surface + c->n_parameters};
  rf_control_make_inertia(c);
  RF_ALLOC(s.basis, 6 * c->n_groups * p);
  RF_ALLOC(s.paths, s.n_paths);
  RF_ALLOC(s.reach, s.n_long);
  RF_ALLOC(s.u, RF_CONTROL_RADIUS_TERMS * RF_CONTROL_PATHS * all);
  RF_ALLOC(s.load, RF_CONTROL_PATHS * all);
  RF_ALLOC(s.lanes, RF_CONTROL_RADIUS_TERMS * RF_CONTROL_PATHS * all);
  RF_ALLOC(s.forces, RF_CONTROL_PATHS * all);
  RF_ALLOC(s.moved, RF_CONTROL_RADIUS_TERMS * RF_CONTROL_PATHS * c->n_parameters);
  for (int degree = 2; degree <= c->order; ++degree)
    RF_ALLOC(s.value[degree - 2], s.n_paths * s.row);
  RF_ALLOC(c->to_relative, p * p);
  RF_ALLOC(c->gauge, p * p);
  RF_ALLOC(c->product_forces, (int64_t)(c->n_fields - c->n_parameters) * c->ld);
  RF_TRY(make_coordinates(&s, err));
  make_paths(&s);
  for (int32_t first = 0; first < s.n_paths;) {
    const bool whole = first < s.n_long;
    const int32_t end = whole ? s.n_long : s.n_paths;
    const int count = end - first < RF_CONTROL_PATHS ? end - first : RF_CONTROL_PATHS;
    RF_TRY(make_terms(&s, first, count, whole ? RF_CONTROL_RADIUS_TERMS : c->order, err));
    first += count;
    RF_TRY(rf_run_progress(b->run, (int64_t)ends * s.n_paths + first,
                           (int64_t)(ends + 1) * s.n_paths, err));
  }
  make_gauge(&s);
  const int32_t pairs = polarize_pairs(&s);
  if (c->order > 2) polarize_triples(&s, pairs);
done:
  rf_free(s.basis);
  rf_free(s.paths);
  rf_free(s.reach);
  rf_free(s.u);
  rf_free(s.load);
  rf_free(s.lanes);
  rf_free(s.forces);
  rf_free(s.moved);
  rf_free(s.value[0]);
  rf_free(s.value[1]);
  return st;
}
