// Contact of points of a solid, or of a reduced model, with fixed obstacles, by a logarithmic
// barrier and smoothed friction (Ascher et al. 2021, section 5; the barrier is that of
// incremental potential contact).  Points are nodes, or on cut cells, whose nodes stand out of the
// body, vertices of its surface, which move by the shape functions of their cells.
//
// A point at the distance d < delta of an obstacle has the energy kappa b(d),
//   b = -(d - delta)^2 ln(d / delta),
// which is infinite at d = 0, and the normal force lambda = -kappa b'.  Friction opposes the
// velocity vbar along the obstacle with mu lambda s(|vbar|), s(x) = 2 x/eps - x^2/eps^2 up to the
// slip velocity eps, then 1: its energy in a step is mu lambda S(|vbar|) / rate, S' = s, rate =
// d vbar / dx, so that the contact in a step has a potential.  For that lambda and the tangential
// plane are those of the beginning of the step (lagged); or of its end, once the lagged step is
// solved: then the matrix has the unsymmetric part mu s/|vbar| vbar (d lambda / dx)^T, and for
// parts the derivatives of tangential planes and nearest points (rubbing.h).
//
// No increment crosses a barrier: each is cut where a point has used up nine tenths of its
// distance. On planes that is exact; on other fields it follows from their Lipschitz constant, so
// that fields need not be true distances.  Forces of obstacles act at these points only.  Parts of
// a solid may touch each other too: barrier_parts.h.
#ifndef RF_DYNAMICS_BARRIER_H
#define RF_DYNAMICS_BARRIER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/settings.h"
#include "base/status.h"
#include "dynamics/system.h"
#include "sdf/field.h"

enum { RF_BARRIER_KRYLOV = 20 };  // vectors of a solve with the unsymmetric part

typedef struct rf_barrier_settings {
  double distance_m;  // delta, at which the barrier begins, > 0
  double stiffness;   // kappa, N/m, > 0
  double friction;    // coefficient mu, >= 0
  double slip_m_s;    // eps: friction is less than mu lambda below this velocity, > 0
  bool lagged;        // friction by the normal forces at the beginning of a step
} rf_barrier_settings;

extern const rf_setting rf_barrier_settings_table[];

// Contact of the parts of a solid with one another (barrier_parts.h), beside that with obstacles.
// It allocates, so functions here reach it through a table only.
typedef struct rf_barrier_parts rf_barrier_parts;  // surfaces
typedef struct rf_barrier_touch rf_barrier_touch;  // contact of one motion

typedef struct rf_barrier_parts_operations {
  void (*release)(rf_barrier_parts *p);  // NULL is fine, here and below
  rf_status (*require_apart)(const rf_barrier_parts *p, const double *x, rf_error *err);
  rf_status (*create_touch)(const rf_barrier_parts *p, const rf_barrier_settings *set,
                            rf_barrier_touch **out, rf_error *err);
  void (*release_touch)(rf_barrier_touch *t);
  // Finds the pairs that may touch at x; rf_barrier_begin_rt then evaluates them.
  rf_status (*begin)(rf_barrier_touch *t, const double *x);
  // As the functions rf_barrier_*_rt.
  void (*evaluate)(rf_barrier_touch *t, const double *x, const double *v, double rate,
                   double *residual);
  rf_status (*linearize)(rf_barrier_touch *t, double rate);
  void (*turn)(const rf_barrier_touch *t, const double *x, double *out);
  double (*slope)(const rf_barrier_touch *t, const double *increment);
  // *part: requested part of the increment; becomes the largest one without contact.
  rf_status (*reach)(rf_barrier_touch *t, const double *increment, double *part);
} rf_barrier_parts_operations;

struct rf_barrier_parts {
  const rf_barrier_parts_operations *operations;
};

struct rf_barrier_touch {
  const rf_barrier_parts *parts;
  const rf_system *system;  // for its run and error; NULL: one thread, and the error below
  rf_error *err;
  bool definite;                // matrices of pairs contribute positive parts only
  bool coupled;                 // friction follows each evaluation
  double energy, noise;         // of the last evaluation
  rf_system_coupling coupling;  // of the last linearization
  int32_t n_turning;  // the first matrices of the coupling have an unsymmetric rest if coupled
  double *turning;    // (n_turning, 12, 12)
};

typedef struct rf_barrier_obstacle {
  const rf_field *field;  // borrowed
  bool plane;             // its distance is linear
  double normal[3];       // of a plane
  bool curved;            // has second derivatives: shapes with a formula, no plane
} rf_barrier_obstacle;

// Immutable; shared by motions.
typedef struct rf_barrier {
  rf_barrier_settings set;
  int32_t n_all;            // nodes of the solid
  rf_system_points points;  // that touch (n)
  int32_t *name;            // of each point, as in rf_barrier_points (n)
  double *rest;             // positions, m (n, 3)
  int32_t n_obstacles;
  rf_barrier_obstacle *obstacle;  // (n_obstacles)
  int32_t n_coordinates;          // of a reduced model; 0: displacements are the unknowns
  double *basis;                  // its basis at the points                 (n, 3, n_coordinates)
  rf_barrier_parts *parts;        // owned; NULL: parts pass through each other
} rf_barrier;

// Points that touch; without weights these are the nodes `name`, and the fields below are unused.
typedef struct rf_barrier_points {
  int32_t n;
  const int32_t *name;   // nodes, or vertices of a surface, ascending    (n)
  const double *weight;  // of each node of a point                       (n, corners)
  const int32_t *node;   // of one element                                (n, corners)
  const double *rest;    // positions, m                                  (n, 3)
  int32_t corners;
} rf_barrier_points;

// A point and an obstacle.
typedef struct rf_barrier_pair {
  double distance;        // m
  double slope[3];        // gradient of it, where it is less than delta or the obstacle is a plane
  double normal_force;    // lambda |gradient|, N
  double sliding[3];      // vbar, m/s
  double friction[3];     // force on the point, N
  double held_force;      // normal force with which friction is computed, N
  double held_normal[3];  // and unit normal
} rf_barrier_pair;

// Contact of one motion.
typedef struct rf_barrier_work {
  const rf_barrier *barrier;
  rf_barrier_pair *pair;    // pairs in the order of obstacles, then points
  bool coupled;             // friction follows the normal forces of each evaluation
  double energy;            // J, of the last evaluation
  double noise;             // its rounding error
  double *place;            // positions of the points                   (n, 3)
  double *velocity;         // and velocities                            (n, 3)
  double *local;            // forces, or changes of positions           (n, 3)
  double *blocks;           // derivative of minus the force, its symmetric part (n, 3, 3)
  double *turning;          // and the rest, where coupled               (n, 3, 3)
  double *added;            // blocks in reduced coordinates             (n_coordinates, ld)
  double *krylov;           // vectors of a solve, unless lagged
  rf_barrier_touch *touch;  // of parts; NULL: none
} rf_barrier_work;

// basis: fields of a reduced model (n_coordinates, n_all, 3); NULL: none.
// rest: positions of all nodes (n_all, 3).
// parts: taken over, also on failure; NULL: there is contact with obstacles only.
// RF_ERR_ARG: a setting is out of range, a field's box ends within delta of its object, or parts
// touch in a reduced model.
RF_MUST_CHECK rf_status rf_barrier_create(const rf_barrier_settings *set, int32_t n_obstacles,
                                          const rf_field *const *fields, int32_t n_all,
                                          const double *rest, const rf_barrier_points *points,
                                          int32_t n_coordinates, const double *basis,
                                          rf_barrier_parts *parts, rf_barrier **out, rf_error *err);
void rf_barrier_free(rf_barrier *barrier);  // NULL is fine

// ld: length of the vectors of the system.
RF_MUST_CHECK rf_status rf_barrier_work_create(const rf_barrier *barrier, int64_t ld,
                                               rf_barrier_work **out, rf_error *err);
void rf_barrier_work_free(rf_barrier_work *work);  // NULL is fine

// RF_ERR_ARG, naming the deepest point, two triangles or two parts, unless all points are outside
// of all obstacles, no parts cross and none is inside another at the unknowns x (NULL: at rest).
RF_MUST_CHECK rf_status rf_barrier_require_apart(const rf_barrier *barrier, const double *x,
                                                 rf_error *err);

static inline int64_t rf_barrier_pairs(const rf_barrier *b) {
  return (int64_t)b->n_obstacles * b->points.n;
}

// Returns coordinate i % 3 of point i / 3 in a vector of the system, such as its displacement.
static inline double rf_barrier_value_rt(const rf_barrier *b, int64_t i, const double *x) {
  const int64_t corners = b->points.corners, first = i / 3 * corners;
  double sum = 0.0;
  if (b->basis) {
    const double *row = b->basis + i * b->n_coordinates;
    for (int32_t j = 0; j < b->n_coordinates; ++j) sum += row[j] * x[j];
  } else {
    for (int64_t a = first; a < first + corners; ++a)
      sum += b->points.weight[a] * x[3 * (int64_t)b->points.node[a] + i % 3];
  }
  return sum;
}

// Evaluates all pairs at unknowns x and their rates v, and adds the gradient of the energy to
// `residual` (nullable).
void rf_barrier_evaluate_rt(rf_barrier_work *w, const double *x, const double *v, double rate,
                            double *residual);
// Begins a step: evaluates, and holds normal forces and directions for friction.  Where parts
// touch, this and the functions below may run out of memory.
RF_MUST_CHECK rf_status rf_barrier_begin_rt(rf_barrier_work *w, const double *x, const double *v);
// Computes the blocks, and the coupling of parts, at the last evaluation.
RF_MUST_CHECK rf_status rf_barrier_linearize_rt(rf_barrier_work *w, double rate);
// Computes and returns their matrix in reduced coordinates, n_coordinates rows of ld.
const double *rf_barrier_reduce_rt(rf_barrier_work *w, int64_t ld);
// out += the unsymmetric part times x.
void rf_barrier_turn_rt(rf_barrier_work *w, const double *x, double *out);
// Returns the derivative of the energy along an increment at the last evaluation.
double rf_barrier_slope_rt(rf_barrier_work *w, const double *increment);
// Computes the largest part, up to 1, of an increment from the place of the last evaluation without
// contact.  Evaluations up to the next beginning or reach must lie along it.
RF_MUST_CHECK rf_status rf_barrier_reach_rt(rf_barrier_work *w, const double *increment,
                                            double *part);
// Turns the solution A^-1 b of the symmetric part into that of the whole matrix, by GMRES with A^-1
// as preconditioner.
RF_MUST_CHECK rf_status rf_barrier_solve_rt(rf_barrier_work *w, rf_system *s, double *increment);

#endif
