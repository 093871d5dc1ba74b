// Forces, tangents and reach of contact by a barrier (barrier.h).
#include <float.h>
#include <math.h>
#include <string.h>

#include "dynamics/barrier.h"
#include "dynamics/barrier_law.h"
#include "linalg/vec3.h"

static const double KEPT = 0.1;  // part of a distance that is left by an increment
static const double ROUNDING = 8.0 * DBL_EPSILON;
static const double NUDGE = 1e-4;  // of differences of gradients, over delta
enum { MARCHES = 64 };             // queries of a field along an increment

// ---- evaluation

// Returns a row of the basis of a reduced model.
static const double *row_of(const rf_barrier *b, int64_t row) {
  return b->basis + row * b->n_coordinates;
}

// Values of a vector of the system at the points that touch (n, 3).
static void gather(const rf_barrier *b, const double *x, double *out) {
  for (int64_t i = 0; i < 3 * (int64_t)b->points.n; ++i) out[i] = rf_barrier_value_rt(b, i, x);
}

// Adds forces on these points to a vector of the system.
static void scatter(const rf_barrier *b, const double *force, double *sum) {
  const int64_t corners = b->points.corners;
  for (int64_t i = 0; i < 3 * (int64_t)b->points.n; ++i) {
    if (force[i] == 0.0) continue;
    if (b->basis) {
      const double *row = row_of(b, i);
      for (int32_t j = 0; j < b->n_coordinates; ++j) sum[j] += row[j] * force[i];
      continue;
    }
    for (int64_t a = i / 3 * corners; a < (i / 3 + 1) * corners; ++a)
      sum[3 * (int64_t)b->points.node[a] + i % 3] += b->points.weight[a] * force[i];
  }
}

// Sets distance, gradient and normal force of a pair at p; returns the law, zero where it is open.
static rf_barrier_law measure(const rf_barrier *b, const rf_barrier_obstacle *o, const double *p,
                              rf_barrier_pair *pair) {
  pair->distance = rf_field_distance_rt(o->field, p);
  pair->normal_force = 0.0;
  if (o->plane) memcpy(pair->slope, o->normal, sizeof o->normal);
  if (pair->distance >= b->set.distance_m) return (rf_barrier_law){0};
  // also for NaN
  if (!(pair->distance > 0.0)) return (rf_barrier_law){.energy = INFINITY};
  if (!o->plane) (void)rf_field_gradient_rt(o->field, p, pair->slope);
  const rf_barrier_law law = rf_barrier_law_rt(pair->distance, b->set.distance_m);
  pair->normal_force = -b->set.stiffness * law.first * rf_vec3_length(pair->slope);
  return law;
}

static void hold(rf_barrier_pair *pair) {
  const double length = rf_vec3_length(pair->slope);
  pair->held_force = pair->normal_force;
  if (pair->held_force > 0.0)
    for (int c = 0; c < 3; ++c) pair->held_normal[c] = pair->slope[c] / length;
}

// Sets the friction of a pair at the velocity v; returns its energy times the rate.
static double rub(const rf_barrier_settings *set, const double *v, rf_barrier_pair *pair) {
  const double along = rf_vec3_dot(pair->held_normal, v), most = set->friction * pair->held_force;
  for (int c = 0; c < 3; ++c) pair->sliding[c] = v[c] - along * pair->held_normal[c];
  const rf_barrier_slip law = rf_barrier_slip_rt(rf_vec3_length(pair->sliding), set->slip_m_s);
  for (int c = 0; c < 3; ++c) pair->friction[c] = -most * law.over * pair->sliding[c];
  return most * law.integral;
}

static void evaluate_pair(rf_barrier_work *w, const rf_barrier_obstacle *o, int32_t k, double rate,
                          rf_barrier_pair *pair) {
  const rf_barrier *b = w->barrier;
  const int64_t at = 3 * (int64_t)k;
  const double *p = w->place + at;
  const rf_barrier_law law = measure(b, o, p, pair);
  const bool open = pair->distance >= b->set.distance_m;
  if (w->coupled) hold(pair);
  memset(pair->friction, 0, sizeof pair->friction);
  memset(pair->sliding, 0, sizeof pair->sliding);
  if (pair->held_force > 0.0) w->energy += rub(&b->set, w->velocity + at, pair) / rate;
  for (int c = 0; c < 3; ++c) w->local[at + c] -= pair->friction[c];
  if (open) return;
  w->energy += b->set.stiffness * law.energy;
  w->noise += ROUNDING * pair->normal_force * (rf_vec3_length(p) + rf_vec3_length(b->rest + at));
  for (int c = 0; c < 3; ++c) w->local[at + c] += b->set.stiffness * law.first * pair->slope[c];
}

void rf_barrier_evaluate_rt(rf_barrier_work *w, const double *x, const double *v, double rate,
                            double *residual) {
  const rf_barrier *b = w->barrier;
  rf_barrier_pair *pair = w->pair;
  w->energy = w->noise = 0.0;
  gather(b, x, w->place);
  gather(b, v, w->velocity);
  for (int64_t i = 0; i < 3 * (int64_t)b->points.n; ++i) w->place[i] += b->rest[i];
  memset(w->local, 0, 3 * (size_t)b->points.n * sizeof *w->local);
  for (int32_t o = 0; o < b->n_obstacles; ++o)
    for (int32_t k = 0; k < b->points.n; ++k) evaluate_pair(w, b->obstacle + o, k, rate, pair++);
  if (residual) scatter(b, w->local, residual);
  if (!w->touch) return;
  w->touch->coupled = w->coupled;
  w->touch->parts->operations->evaluate(w->touch, x, v, rate, residual);
  w->energy += w->touch->energy;
  w->noise += w->touch->noise;
}

rf_status rf_barrier_begin_rt(rf_barrier_work *w, const double *x, const double *v) {
  const rf_status st = w->touch ? w->touch->parts->operations->begin(w->touch, x) : RF_OK;
  w->coupled = true;
  rf_barrier_evaluate_rt(w, x, v, 1.0, NULL);
  w->coupled = false;
  return st;
}

double rf_barrier_slope_rt(rf_barrier_work *w, const double *increment) {
  const rf_barrier *b = w->barrier;
  const rf_barrier_pair *pair = w->pair;
  double sum = 0.0;
  gather(b, increment, w->local);
  for (int32_t o = 0; o < b->n_obstacles; ++o)
    for (int32_t k = 0; k < b->points.n; ++k, ++pair) {
      const double *dx = w->local + 3 * (int64_t)k;
      sum -= rf_vec3_dot(pair->friction, dx);
      if (!(pair->normal_force > 0.0)) continue;
      const double length = rf_vec3_length(pair->slope);
      sum -= pair->normal_force / length * rf_vec3_dot(pair->slope, dx);
    }
  if (w->touch) sum += w->touch->parts->operations->slope(w->touch, increment);
  return sum;
}

// ---- tangents

// out += factor a b^T
static void add_outer(double factor, const double *a, const double *b, double *out) {
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) out[3 * i + j] += factor * a[i] * b[j];
}

// Derivative of the gradient of a field along a unit vector t.
static void differentiate(const rf_field *field, const double *p, const double *t, double step,
                          double *out) {
  double ahead[3], behind[3], low[3], high[3];
  for (int c = 0; c < 3; ++c) {
    ahead[c] = p[c] + step * t[c];
    behind[c] = p[c] - step * t[c];
  }
  (void)rf_field_gradient_rt(field, ahead, high);
  (void)rf_field_gradient_rt(field, behind, low);
  for (int c = 0; c < 3; ++c) out[c] = (high[c] - low[c]) / (2.0 * step);
}

// Adds the positive part of factor (second derivative of the distance), which acts along the
// obstacle only.
static void add_curvature(const rf_field *field, const double *p, const double *slope,
                          double factor, double delta, double *out) {
  const double length = rf_vec3_length(slope);
  double n[3], a[3], b[3], along_a[3], along_b[3];
  for (int c = 0; c < 3; ++c) n[c] = slope[c] / length;
  rf_vec3_tangents(n, a, b);
  differentiate(field, p, a, NUDGE * delta, along_a);
  differentiate(field, p, b, NUDGE * delta, along_b);
  const double aa = factor * rf_vec3_dot(a, along_a), bb = factor * rf_vec3_dot(b, along_b);
  const double ab = 0.5 * factor * (rf_vec3_dot(a, along_b) + rf_vec3_dot(b, along_a));
  const double middle = 0.5 * (aa + bb), radius = hypot(0.5 * (aa - bb), ab);
  const double low = middle - radius, high = middle + radius;
  if (!(high > 0.0)) return;
  // of both eigenvalues, or of the higher one
  const double part = low >= 0.0 ? 1.0 : high / (2.0 * radius), less = low >= 0.0 ? 0.0 : low;
  add_outer(part * (aa - less), a, a, out);
  add_outer(part * (bb - less), b, b, out);
  add_outer(part * ab, a, b, out);
  add_outer(part * ab, b, a, out);
}

static void add_friction(const rf_barrier_settings *set, const rf_barrier_pair *pair, double rate,
                         double *out) {
  const rf_barrier_slip law = rf_barrier_slip_rt(rf_vec3_length(pair->sliding), set->slip_m_s);
  const double factor = rate * set->friction * pair->held_force;
  for (int c = 0; c < 3; ++c) out[4 * c] += factor * law.over;
  add_outer(-factor * law.over, pair->held_normal, pair->held_normal, out);
  add_outer(factor * law.outer, pair->sliding, pair->sliding, out);
}

// Derivative of friction by the normal force, which follows the distance.
static void add_turning(const rf_barrier_settings *set, const rf_barrier_law *law,
                        const rf_barrier_pair *pair, double *out) {
  const rf_barrier_slip slip = rf_barrier_slip_rt(rf_vec3_length(pair->sliding), set->slip_m_s);
  const double force = -set->stiffness * law->second * rf_vec3_length(pair->slope);
  add_outer(set->friction * slip.over * force, pair->sliding, pair->slope, out);
}

static void add_pair(rf_barrier_work *w, const rf_barrier_obstacle *o, int32_t k, double rate,
                     const rf_barrier_pair *pair) {
  const rf_barrier *b = w->barrier;
  double *block = w->blocks + 9 * (int64_t)k;
  if (pair->held_force > 0.0 && rate > 0.0) add_friction(&b->set, pair, rate, block);
  if (!(pair->normal_force > 0.0)) return;
  const rf_barrier_law law = rf_barrier_law_rt(pair->distance, b->set.distance_m);
  add_outer(b->set.stiffness * law.second, pair->slope, pair->slope, block);
  if (w->coupled) add_turning(&b->set, &law, pair, w->turning + 9 * (int64_t)k);
  if (!o->curved) return;
  add_curvature(o->field, w->place + 3 * (int64_t)k, pair->slope, b->set.stiffness * law.first,
                b->set.distance_m, block);
}

rf_status rf_barrier_linearize_rt(rf_barrier_work *w, double rate) {
  const rf_barrier *b = w->barrier;
  const rf_barrier_pair *pair = w->pair;
  memset(w->blocks, 0, 9 * (size_t)b->points.n * sizeof *w->blocks);
  memset(w->turning, 0, 9 * (size_t)b->points.n * sizeof *w->turning);
  for (int32_t o = 0; o < b->n_obstacles; ++o)
    for (int32_t k = 0; k < b->points.n; ++k) add_pair(w, b->obstacle + o, k, rate, pair++);
  return w->touch ? w->touch->parts->operations->linearize(w->touch, rate) : RF_OK;
}

const double *rf_barrier_reduce_rt(rf_barrier_work *w, int64_t ld) {
  const rf_barrier *b = w->barrier;
  const int32_t n = b->n_coordinates;
  memset(w->added, 0, (size_t)(n * ld) * sizeof *w->added);
  for (int64_t k = 0; k < b->points.n; ++k)
    for (int i = 0; i < 9; ++i) {
      const double value = w->blocks[9 * k + i];
      const double *left = row_of(b, 3 * k + i / 3), *right = row_of(b, 3 * k + i % 3);
      for (int32_t r = 0; value != 0.0 && r < n; ++r)
        for (int32_t c = 0; c < n; ++c) w->added[r * ld + c] += left[r] * value * right[c];
    }
  // rounding of the two triangles differs
  for (int32_t r = 0; r < n; ++r)
    for (int32_t c = 0; c < r; ++c) w->added[c * ld + r] = w->added[r * ld + c];
  return w->added;
}

void rf_barrier_turn_rt(rf_barrier_work *w, const double *x, double *out) {
  const rf_barrier *b = w->barrier;
  gather(b, x, w->local);
  for (int64_t k = 0; k < b->points.n; ++k) {
    const double *block = w->turning + 9 * k;
    double *f = w->local + 3 * k, from[3] = {f[0], f[1], f[2]};
    for (int r = 0; r < 3; ++r) f[r] = rf_vec3_dot(block + 3 * r, from);
  }
  scatter(b, w->local, out);
  if (w->touch) w->touch->parts->operations->turn(w->touch, x, out);
}

// ---- reach

static double reach_to_plane(const rf_barrier_pair *pair, const double *dx) {
  const double nearing = -rf_vec3_dot(pair->slope, dx);
  return nearing > 0.0 ? (1.0 - KEPT) * pair->distance / nearing : INFINITY;
}

// Marches along dx from p by what each distance allows.
static double reach_to_field(const rf_field *field, double d, const double *p, const double *dx) {
  const double speed = field->lipschitz * rf_vec3_length(dx), least = KEPT * d;
  double part = 0.0, at[3];
  for (int i = 0; i < MARCHES && part < 1.0; ++i) {
    part += (1.0 - KEPT) * d / speed;
    for (int c = 0; c < 3; ++c) at[c] = p[c] + part * dx[c];
    if (part < 1.0) d = rf_field_distance_rt(field, at);
    if (!(d > least)) return part;
  }
  return part;
}

rf_status rf_barrier_reach_rt(rf_barrier_work *w, const double *increment, double *part) {
  const rf_barrier *b = w->barrier;
  const rf_barrier_pair *pair = w->pair;
  *part = 1.0;
  gather(b, increment, w->local);
  for (int32_t i = 0; i < b->n_obstacles; ++i)
    for (int32_t k = 0; k < b->points.n; ++k, ++pair) {
      const rf_barrier_obstacle *o = b->obstacle + i;
      const double *dx = w->local + 3 * (int64_t)k, *p = w->place + 3 * (int64_t)k;
      const double reach =
          o->plane ? reach_to_plane(pair, dx) : reach_to_field(o->field, pair->distance, p, dx);
      if (reach < *part) *part = reach;
    }
  return w->touch ? w->touch->parts->operations->reach(w->touch, increment, part) : RF_OK;
}
