#include "dynamics/primitives.h"

#include <math.h>
#include <string.h>

#include "dynamics/barrier_law.h"
#include "linalg/vec3.h"

static const double FLAT = 1e-14;  // squared sine below which vectors count as parallel
static const double KEPT = 0.1;    // part of a distance that is left by an increment
enum { MARCHES = 256 };            // queries along an increment

// ---- nearest points

// r = sum w_i x_i, from differences: the weights add up to zero
static void combine(const rf_primitive *p, const double *w, double *r) {
  for (int c = 0; c < 3; ++c) {
    r[c] = 0.0;
    for (int i = 1; i < 4; ++i) r[c] += w[i] * (p->x[i][c] - p->x[0][c]);
  }
}

// Adds a dimension in which the weights change by w; tangents become orthonormal.
static void add_dimension(const rf_primitive *p, const double w[4], rf_primitive_nearest *out) {
  double *t = out->along[out->moving], *moved = out->moved[out->moving];
  combine(p, w, t);
  memcpy(moved, w, 4 * sizeof *w);
  for (int k = 0; k < out->moving; ++k) {
    const double part = rf_vec3_dot(t, out->along[k]);
    for (int c = 0; c < 3; ++c) t[c] -= part * out->along[k][c];
    for (int i = 0; i < 4; ++i) moved[i] -= part * out->moved[k][i];
  }
  const double inverse = 1.0 / rf_vec3_length(t);
  for (int c = 0; c < 3; ++c) t[c] *= inverse;
  for (int i = 0; i < 4; ++i) moved[i] *= inverse;
  ++out->moving;
}

// Takes the weights if the points they name are nearer than those before.
static bool take_nearer(const rf_primitive *p, const double w[4], rf_primitive_nearest *out) {
  double r[3];
  combine(p, w, r);
  const double d = rf_vec3_length(r);
  if (!(d < out->distance)) return false;
  out->distance = d;
  out->moving = 0;
  memcpy(out->weight, w, 4 * sizeof *w);
  for (int c = 0; c < 3; ++c) out->normal[c] = d > 0.0 ? r[c] / d : 0.0;
  return true;
}

// Point i and the side from j to k; sign: of the weight of the point.
static void try_side(const rf_primitive *p, int i, int j, int k, double sign,
                     rf_primitive_nearest *out) {
  double side[3], to[3], w[4] = {0.0};
  rf_vec3_sub(p->x[k], p->x[j], side);
  rf_vec3_sub(p->x[i], p->x[j], to);
  const double square = rf_vec3_dot(side, side);
  const double at = square > 0.0 ? rf_vec3_dot(side, to) / square : 0.0;
  const double part = fmin(fmax(at, 0.0), 1.0);
  w[i] = sign;
  w[j] = -sign * (1.0 - part);
  w[k] = -sign * part;
  if (!take_nearer(p, w, out) || !(at > 0.0 && at < 1.0)) return;
  double moved[4] = {0.0};
  moved[j] = sign;
  moved[k] = -sign;
  add_dimension(p, moved, out);
}

// Least |to - s u + t v|^2 over s and t; false if u and v are parallel.
static bool least_in_plane(const double *u, const double *v, const double *to, double *s,
                           double *t) {
  const double uu = rf_vec3_dot(u, u), uv = rf_vec3_dot(u, v), vv = rf_vec3_dot(v, v);
  const double u_to = rf_vec3_dot(u, to), v_to = rf_vec3_dot(v, to);
  double cross[3];
  rf_vec3_cross(u, v, cross);
  const double det = rf_vec3_dot(cross, cross);
  if (!(det > FLAT * uu * vv)) return false;
  *s = (vv * u_to - uv * v_to) / det;
  *t = (uv * u_to - uu * v_to) / det;
  return true;
}

// Distance and normal as the part of `to`, towards the first side, along u x v: this has none of
// the rounding of the weights.
static void refine(const double *u, const double *v, const double *to, double sign,
                   rf_primitive_nearest *out) {
  double n[3];
  rf_vec3_cross(u, v, n);
  const double along = sign * rf_vec3_dot(n, to), length = rf_vec3_length(n);
  out->distance = fabs(along) / length;
  for (int c = 0; c < 3; ++c) out->normal[c] = (along < 0.0 ? -n[c] : n[c]) / length;
}

static bool inside(double s) { return s > 0.0 && s < 1.0; }

static void find_of_triangle(const rf_primitive *p, rf_primitive_nearest *out) {
  double u[3], v[3], to[3], s, t;
  rf_vec3_sub(p->x[2], p->x[1], u);
  rf_vec3_sub(p->x[3], p->x[1], v);
  rf_vec3_sub(p->x[0], p->x[1], to);
  if (least_in_plane(u, v, to, &s, &t) && s > 0.0 && t < 0.0 && s - t < 1.0) {
    (void)take_nearer(p, (double[]){1.0, s - t - 1.0, -s, t}, out);
    add_dimension(p, (double[]){0.0, 1.0, -1.0, 0.0}, out);
    add_dimension(p, (double[]){0.0, 1.0, 0.0, -1.0}, out);
    refine(u, v, to, 1.0, out);
    return;
  }
  try_side(p, 0, 1, 2, 1.0, out);
  try_side(p, 0, 2, 3, 1.0, out);
  try_side(p, 0, 3, 1, 1.0, out);
}

static void find_of_edges(const rf_primitive *p, rf_primitive_nearest *out) {
  double u[3], v[3], to[3], s, t;
  rf_vec3_sub(p->x[1], p->x[0], u);
  rf_vec3_sub(p->x[3], p->x[2], v);
  rf_vec3_sub(p->x[2], p->x[0], to);
  if (least_in_plane(u, v, to, &s, &t) && inside(s) && inside(t)) {
    (void)take_nearer(p, (double[]){1.0 - s, s, t - 1.0, -t}, out);
    add_dimension(p, (double[]){-1.0, 1.0, 0.0, 0.0}, out);
    add_dimension(p, (double[]){0.0, 0.0, 1.0, -1.0}, out);
    refine(u, v, to, -1.0, out);
    return;
  }
  try_side(p, 0, 2, 3, 1.0, out);
  try_side(p, 1, 2, 3, 1.0, out);
  try_side(p, 2, 0, 1, -1.0, out);
  try_side(p, 3, 0, 1, -1.0, out);
}

void rf_primitive_find(const rf_primitive *p, rf_primitive_nearest *out) {
  *out = (rf_primitive_nearest){.distance = INFINITY};
  if (p->edges)
    find_of_edges(p, out);
  else
    find_of_triangle(p, out);
}

// ---- energy

// m(c) with its first two derivatives by c, and the gradient of c.
typedef struct mollifier {
  double value, first, second;
  double u[3], v[3], z[3];  // edges, and their product
  double gradient[12];
} mollifier;

// Rows of a vector (4, 3) by those for u = x_1 - x_0 and v = x_3 - x_2.
static void spread(const double *by_u, const double *by_v, double *out) {
  for (int c = 0; c < 3; ++c) {
    out[c] = -by_u[c];
    out[3 + c] = by_u[c];
    out[6 + c] = -by_v[c];
    out[9 + c] = by_v[c];
  }
}

static mollifier mollify(const rf_primitive *p) {
  mollifier m = {.value = 1.0};
  double by_u[3], by_v[3];
  if (!p->edges) return m;
  rf_vec3_sub(p->x[1], p->x[0], m.u);
  rf_vec3_sub(p->x[3], p->x[2], m.v);
  rf_vec3_cross(m.u, m.v, m.z);
  const double c = rf_vec3_dot(m.z, m.z), eps = p->parallel;
  if (c >= eps) return m;
  m.value = (2.0 - c / eps) * c / eps;
  m.first = 2.0 * (1.0 - c / eps) / eps;
  m.second = -2.0 / (eps * eps);
  rf_vec3_cross(m.v, m.z, by_u);
  rf_vec3_cross(m.z, m.u, by_v);
  spread(by_u, by_v, m.gradient);
  for (int i = 0; i < 12; ++i) m.gradient[i] *= 2.0;
  return m;
}

// w (x) v
static void product(const double w[4], const double v[3], double *out) {
  for (int i = 0; i < 12; ++i) out[i] = w[i / 3] * v[i % 3];
}

void rf_primitive_evaluate(const rf_primitive *p, const rf_primitive_nearest *at, double kappa,
                           double delta, rf_primitive_energy *out) {
  const rf_barrier_law b = rf_barrier_law_rt(at->distance, delta);
  const mollifier m = mollify(p);
  out->value = m.value * kappa * b.energy;
  out->normal_force = -m.value * kappa * b.first;
  product(at->weight, at->normal, out->gradient);
  for (int i = 0; i < 12; ++i)
    out->gradient[i] =
        kappa * m.first * b.energy * m.gradient[i] - out->normal_force * out->gradient[i];
}

void rf_primitive_force_slope(const rf_primitive *p, const rf_primitive_nearest *at, double kappa,
                              double delta, double *out) {
  const rf_barrier_law b = rf_barrier_law_rt(at->distance, delta);
  const mollifier m = mollify(p);
  product(at->weight, at->normal, out);
  for (int i = 0; i < 12; ++i)
    out[i] = -kappa * (m.value * b.second * out[i] + m.first * b.first * m.gradient[i]);
}

// ---- tangent

// out += aa a a^T + ab (a b^T + b a^T) + bb b b^T, or the positive part of it.
static void add_form(const double *a, const double *b, double aa, double ab, double bb,
                     bool definite, double *out) {
  if (definite) {
    double square_a = 0.0, square_b = 0.0;
    for (int i = 0; i < 12; ++i) square_a += a[i] * a[i];
    for (int i = 0; i < 12; ++i) square_b += b[i] * b[i];
    const double scale = sqrt(square_a * square_b);
    const double high = aa * square_a, low = bb * square_b, side = ab * scale;
    const double middle = 0.5 * (high + low), radius = hypot(0.5 * (high - low), side);
    if (!(middle + radius > 0.0)) return;
    if (middle < radius) {  // one negative eigenvalue: the other one's projector is left
      const double part = (middle + radius) / (2.0 * radius), less = middle - radius;
      aa = square_a > 0.0 ? part * (high - less) / square_a : 0.0;
      bb = square_b > 0.0 ? part * (low - less) / square_b : 0.0;
      ab = scale > 0.0 ? part * side / scale : 0.0;
    }
  }
  for (int i = 0; i < 12; ++i)
    for (int j = 0; j < 12; ++j)
      out[12 * i + j] += aa * a[i] * a[j] + ab * (a[i] * b[j] + b[i] * a[j]) + bb * b[i] * b[j];
}

void rf_primitive_tangents(const rf_primitive_nearest *at, double t[2][3]) {
  memcpy(t, at->along, sizeof at->along);
  if (at->moving == 0) {
    const int least = fabs(at->normal[0]) < fabs(at->normal[1])
                          ? (fabs(at->normal[0]) < fabs(at->normal[2]) ? 0 : 2)
                          : (fabs(at->normal[1]) < fabs(at->normal[2]) ? 1 : 2);
    rf_vec3_cross(at->normal, (double[]){least == 0, least == 1, least == 2}, t[0]);
    const double length = rf_vec3_length(t[0]);
    for (int i = 0; i < 3; ++i) t[0][i] /= length;
  }
  if (at->moving < 2) rf_vec3_cross(at->normal, t[0], t[1]);
}

// Adds `factor` times the Hessian of the distance.
static void add_distance(const rf_primitive_nearest *at, double factor, bool definite,
                         double *out) {
  double a[12], c[12], t[2][3];
  rf_primitive_tangents(at, t);
  for (int k = 0; k < 2; ++k) {
    product(at->weight, t[k], a);
    if (k < at->moving)
      product(at->moved[k], at->normal, c);
    else
      memset(c, 0, sizeof c);
    if (k < at->moving)
      add_form(a, c, 0.0, -factor, -factor * at->distance, definite, out);
    else
      add_form(a, c, factor / at->distance, 0.0, 0.0, definite, out);
  }
}

// Adds `factor` > 0 times the Hessian of c = |z|^2, z = u x v: 2 J^T J with J = dz, and that of
// 2 z . z, which couples two directions normal to z of the one edge and the other.
static void add_parallel(const mollifier *m, double factor, bool definite, double *out) {
  static const double none[12] = {0.0}, still[3] = {0.0};
  double a[12], b[12], one[3], two[3];
  for (int k = 0; k < 3; ++k) {
    const double axis[3] = {k == 0, k == 1, k == 2};
    rf_vec3_cross(m->v, axis, one);
    rf_vec3_cross(axis, m->u, two);
    spread(one, two, a);
    add_form(a, none, 2.0 * factor, 0.0, 0.0, false, out);
  }
  const double size = rf_vec3_length(m->z), length = rf_vec3_length(m->u);
  if (!(size > 0.0)) return;
  for (int c = 0; c < 3; ++c) one[c] = m->u[c] / length;
  rf_vec3_cross(m->z, one, two);
  for (int c = 0; c < 3; ++c) two[c] /= size;
  spread(one, still, a);
  spread(still, two, b);
  add_form(a, b, 0.0, 2.0 * factor * size, 0.0, definite, out);
  spread(two, still, a);
  spread(still, one, b);
  add_form(a, b, 0.0, -2.0 * factor * size, 0.0, definite, out);
}

void rf_primitive_linearize(const rf_primitive *p, const rf_primitive_nearest *at, double kappa,
                            double delta, bool definite, double *out) {
  const rf_barrier_law b = rf_barrier_law_rt(at->distance, delta);
  const mollifier m = mollify(p);
  double slope[12];
  memset(out, 0, 144 * sizeof *out);
  product(at->weight, at->normal, slope);
  add_form(slope, m.gradient, kappa * m.value * b.second, kappa * m.first * b.first,
           kappa * m.second * b.energy, definite, out);
  add_distance(at, kappa * m.value * b.first, definite, out);
  if (m.first > 0.0) add_parallel(&m, kappa * m.first * b.energy, definite, out);
}

// ---- reach

double rf_primitive_nearing(bool edges, const double dx[4][3]) {
  const int first = edges ? 2 : 1;  // points of the first side
  double mean[3], side[2] = {0.0};
  for (int c = 0; c < 3; ++c) mean[c] = 0.25 * (dx[0][c] + dx[1][c] + dx[2][c] + dx[3][c]);
  for (int i = 0; i < 4; ++i) {
    double own[3];
    rf_vec3_sub(dx[i], mean, own);
    side[i >= first] = fmax(side[i >= first], rf_vec3_length(own));
  }
  return side[0] + side[1];
}

double rf_primitive_reach(const rf_primitive *p, const double dx[4][3], double most) {
  const double speed = rf_primitive_nearing(p->edges, dx);
  rf_primitive moved = *p;
  rf_primitive_nearest at;
  rf_primitive_find(p, &at);
  const double least = KEPT * at.distance;
  double part = 0.0;
  for (int k = 0; k < MARCHES && part < most; ++k) {
    part += (1.0 - KEPT) * at.distance / speed;
    if (!(part < most)) return most;
    for (int i = 0; i < 12; ++i)
      moved.x[i / 3][i % 3] = p->x[i / 3][i % 3] + part * dx[i / 3][i % 3];
    rf_primitive_find(&moved, &at);
    if (!(at.distance > least)) return part;
  }
  return part;
}
