#include "touch/explicit_secant.h"

#include <math.h>
#include <string.h>

#include "linalg/vec3.h"

static const double MOST = 2.0;       // times the force over the depth
static const double COMES_IN = 0.25;  // part of a change of what is used, by state
enum { SWEEPS = 6 };                  // of Jacobi's method, whose error is squared in each

static void clear(rf_explicit_secant *s) {
  s->states = s->open = s->held = 0;
  memset(s->towards, 0, sizeof s->towards);
  memset(s->ways, 0, sizeof s->ways);
  memset(s->changes, 0, sizeof s->changes);
  memset(s->stiffness, 0, sizeof s->stiffness);
  memset(s->used, 0, sizeof s->used);
}

void rf_explicit_secant_forget_rt(rf_explicit_secant *s) {
  clear(s);
  s->placed = false;
}

// Turns rows and columns p and q of the symmetric matrix a so that a_pq vanishes, and the columns
// of v.
static void turn(double a[9], double v[9], int p, int q) {
  const double off = a[3 * p + q];
  if (off == 0.0) return;
  const double half = 0.5 * (a[4 * q] - a[4 * p]);
  const double t = off / (half + copysign(hypot(half, off), half));
  const double c = 1.0 / sqrt(1.0 + t * t), s = t * c;
  for (int k = 0; k < 3; ++k) {
    const double x = a[3 * k + p], y = a[3 * k + q];
    a[3 * k + p] = c * x - s * y;
    a[3 * k + q] = s * x + c * y;
  }
  for (int k = 0; k < 3; ++k) {
    const double x = a[3 * p + k], y = a[3 * q + k];
    a[3 * p + k] = c * x - s * y;
    a[3 * q + k] = s * x + c * y;
  }
  for (int k = 0; k < 3; ++k) {
    const double x = v[3 * k + p], y = v[3 * k + q];
    v[3 * k + p] = c * x - s * y;
    v[3 * k + q] = s * x + c * y;
  }
}

// Diagonalizes a = V D V^T: D on the diagonal of a, eigenvectors in the columns of v.
static void diagonalize(double a[9], double v[9]) {
  for (int i = 0; i < 9; ++i) v[i] = i % 4 == 0;
  for (int k = 0; k < SWEEPS; ++k) {
    turn(a, v, 0, 1);
    turn(a, v, 0, 2);
    turn(a, v, 1, 2);
  }
}

static void clamp(double matrix[9], double most) {
  double v[9], a[9];
  memcpy(a, matrix, sizeof a);
  diagonalize(a, v);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      matrix[3 * i + j] = 0.0;
      for (int k = 0; k < 3; ++k)
        matrix[3 * i + j] += fmin(fmax(a[4 * k], 0.0), most) * v[3 * i + k] * v[3 * j + k];
    }
}

static void estimate(rf_explicit_secant *s, double most_n_per_m) {
  double sum[9], inverse[9], known[9], raw[9], k[9];  // the first three are symmetric
  memcpy(sum, s->ways, sizeof sum);
  for (int i = 0; i < 3; ++i) sum[4 * i] += s->noise_m * s->noise_m;
  rf_mat3_inverse_transposed(sum, inverse);
  rf_mat3_abt(s->ways, inverse, known);
  rf_mat3_abt(s->changes, inverse, raw);
  rf_mat3_atb(known, raw, k);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) s->stiffness[3 * i + j] = 0.5 * (k[3 * i + j] + k[3 * j + i]);
  clamp(s->stiffness, most_n_per_m);
}

// Shows all of the stiffness, or its part along the normal.
static void show(rf_explicit_secant *s, const double normal_n[3]) {
  if (rf_explicit_secant_sticks_rt(s)) {
    memcpy(s->used, s->stiffness, sizeof s->used);
    return;
  }
  const double length = rf_vec3_length(normal_n);
  double n[3] = {0.0, 0.0, 0.0}, along = 0.0;
  for (int i = 0; i < 3 && length > 0.0; ++i) n[i] = normal_n[i] / length;
  for (int i = 0; i < 3; ++i) along += n[i] * rf_vec3_dot(s->stiffness + 3 * i, n);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) s->used[3 * i + j] = along * n[i] * n[j];
}

// Returns the largest stiffness allowed for a force.
static double limit(const rf_explicit_secant *s, const double force_n[3]) {
  return s->depth_m > s->noise_m ? MOST * rf_vec3_length(force_n) / s->depth_m : 0.0;
}

// Adds a way of the tool against the force to the depth.
static void deepen(rf_explicit_secant *s, const double place_m[3], const double force_n[3]) {
  double way[3] = {0};
  if (s->states == 0) s->depth_m = s->placed ? 0.0 : INFINITY;
  if (s->placed) rf_vec3_sub(place_m, s->place_m, way);
  const double length = rf_vec3_length(force_n);
  for (int i = 0; i < 3 && length > 0.0; ++i) s->towards[i] = force_n[i] / length;
  s->depth_m = fmax(s->depth_m - rf_vec3_dot(s->towards, way), 0.0);
}

// Adds the way from the last state in contact.
static void add(rf_explicit_secant *s, const double place_m[3], const double force_n[3]) {
  double way[3], change[3], missed[3];
  rf_vec3_sub(place_m, s->place_m, way);
  rf_vec3_sub(s->force_n, force_n, change);
  const double square = rf_vec3_dot(way, way), noise = s->noise_m * s->noise_m;
  const double kept = 1.0 - (1.0 - s->memory) * square / (square + noise);
  for (int i = 0; i < 3; ++i) {
    missed[i] = change[i] - rf_vec3_dot(s->used + 3 * i, way);
    for (int j = 0; j < 3; ++j) {
      s->ways[3 * i + j] = kept * s->ways[3 * i + j] + way[i] * way[j];
      s->changes[3 * i + j] = kept * s->changes[3 * i + j] + change[i] * way[j];
    }
  }
  s->changed_n2 += rf_vec3_dot(change, change);
  s->missed_n2 += rf_vec3_dot(missed, missed);
}

void rf_explicit_secant_take_rt(rf_explicit_secant *s, const rf_explicit_touch *now) {
  if (!now->touching && s->states > 0 && ++s->open < s->most_open) {
    memset(s->stiffness, 0, sizeof s->stiffness);
    memset(s->used, 0, sizeof s->used);
    s->held = 0;
    return;
  }
  if (now->touching) {
    s->held = !now->held ? 0 : s->held < s->sticks_after ? s->held + 1 : s->held;
    deepen(s, now->place_m, now->force_n);
    if (s->states > 0) {
      add(s, now->place_m, now->force_n);
      const double most = limit(s, now->force_n);
      double before[9];
      memcpy(before, s->used, sizeof before);
      estimate(s, most);
      show(s, now->normal_n);
      for (int i = 0; i < 9; ++i) s->used[i] = before[i] + COMES_IN * (s->used[i] - before[i]);
      clamp(s->used, most);
    }
    ++s->states;
    s->open = 0;
  } else {
    clear(s);
  }
  s->placed = true;
  memcpy(s->place_m, now->place_m, sizeof s->place_m);
  memcpy(s->force_n, now->force_n, sizeof s->force_n);
}

double rf_explicit_secant_most_rt(const rf_explicit_secant *s) {
  double a[9], v[9];
  memcpy(a, s->stiffness, sizeof a);
  diagonalize(a, v);
  return fmax(fmax(a[0], a[4]), a[8]);
}
