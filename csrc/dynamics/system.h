// A mechanical system  M a + (alpha M + beta K(x) + D(x)) v + R(x) = f  behind a few operations.
// Time integrators (scheme.h) and statics (statics.h) use these operations only.  A new kind of
// system is one file that fills a table of them.
//
// Vectors have n values, padded with zeros to ld.  They are zero where the system cannot move
// (fixed nodes), and so are forces: sums over a vector are sums over the free unknowns. Constrained
// nodes (mesh/constraints.h) follow their masters in motions, and have no forces.
#ifndef RF_DYNAMICS_SYSTEM_H
#define RF_DYNAMICS_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "linalg/csc.h"
#include "linalg/simd.h"
#include "mesh/constraints.h"

typedef enum rf_system_steps {
  RF_STEPS_IMPLICIT,
  RF_STEPS_EXPLICIT,    // with a lumped mass where that is apt
  RF_STEPS_EXPONENTIAL  // with the consistent mass, and K
} rf_system_steps;

typedef struct rf_system rf_system;
typedef struct rf_damping rf_damping;
typedef struct rf_mesh rf_mesh;
typedef struct rf_reduced rf_reduced;

// Matrices of a dense system, rows of ld: those of the last evaluation and factorization.
typedef struct rf_system_dense {
  const double *mass, *stiffness;
  const double *factor, *mass_factor;  // of linalg/dense_rt.h; NULL: not of these steps
} rf_system_dense;

// Operations of a sparse system for many vectors, as rf_blocks_mass and so on (blocks.h).
typedef struct rf_system_blocks {
  rf_status (*reserve)(rf_system *s, int32_t most, rf_error *err);  // for so many at once
  rf_status (*mass)(rf_system *s, int32_t count, const double *x, double *y);
  rf_status (*stiffness)(rf_system *s, int32_t count, const double *x, double *y);
  rf_status (*solve)(rf_system *s, int32_t count, const double *x, double *y);
} rf_system_blocks;

// Symmetric matrices of four nodes each, and the pairs of nodes without an element in common that
// they may couple.  Fixed nodes in them are skipped.
typedef struct rf_system_coupling {
  int32_t n_pairs;
  const int32_t *pair;  // free nodes, ascending            (n_pairs, 2)
  int32_t n;
  const int32_t *node;   //                                  (n, 4)
  const double *matrix;  //                                  (n, 12, 12)
} rf_system_coupling;

// Points that move with nodes: a node itself, or a weighted sum of nodes of one element.
typedef struct rf_system_points {
  int32_t n, corners;
  int32_t *node;   // those of each                        (n, corners)
  double *weight;  // of these, 1 for a node itself        (n, corners)
} rf_system_points;

// Evaluations are kept inside: `balance` and `factorize` use R, K and D of the last `evaluate`.
typedef struct rf_system_operations {
  // Evaluates R (force, with reactions where nothing can move), W (energy, nullable) and, if asked
  // for, K and D at x.
  rf_status (*evaluate)(rf_system *s, const double *x, bool tangent, double *energy, double *force);
  // K at x, as factorizations read it, becomes semidefinite: the sum of the nearest semidefinite
  // matrices of the points at which the law is evaluated.  Nullable: there are no such points.
  rf_status (*make_definite)(rf_system *s, const double *x);
  // out = M w + (beta K + D) v + force - load, with R(x) for `force`; w nullable: zero.
  rf_status (*balance)(rf_system *s, const double *x, const double *v, const double *w,
                       const double *force, const double *load, double *out);
  // Factor of  mass M + stiffness K + damping D + added.  RF_ERR_SINGULAR unless it is positive
  // definite.  added: symmetric, ld rows of ld, nullable; of dense systems only.
  rf_status (*factorize)(rf_system *s, double mass, double stiffness, double damping,
                         const double *added);
  // Joins symmetric blocks (n, 3, 3) of points, and those of a coupling (nullable) to the matrix of
  // the next `factorize`; borrowed until then.  Another list of pairs than that before costs an
  // analysis of the matrix.  Nullable: nodes are not the unknowns.
  void (*add_blocks)(rf_system *s, const rf_system_points *points, const double *blocks,
                     const rf_system_coupling *coupling);
  // x = A^-1 b by the last factor; x and b may be the same.
  rf_status (*solve)(rf_system *s, const double *b, double *x);
  // B (n rows of ld, a multiple of RF_DENSE_PAD) becomes L^-1 B, L L^T the last matrix factored.
  // Nullable: not a dense system.
  void (*half_solve)(rf_system *s, int32_t ld, double *b);
  // x = M^-1 b of explicit steps; x and b may be the same.
  rf_status (*mass_solve)(rf_system *s, const double *b, double *x);
  // Of explicit steps with damping inside, D all damping at rest, with the mass: out = D v, and
  // x = (M + h/2 D)^-1 b.  Nullable: not of this kind.
  rf_status (*damp)(rf_system *s, const double *v, double *out);
  rf_status (*damped_solve)(rf_system *s, double dt_s, const double *b, double *x);
  // x (3, n) = (M + h/2 D)^-1 of unit vectors, entries i to i + 2, of a step with a factor of its
  // own.  Nullable: not of a solid.
  rf_status (*damped_response)(rf_system *s, double dt_s, int32_t i, double *x);
  // Size of the displacements at x, m: of a reduced model an upper bound of them; of solids
  // their largest difference within an element.
  double (*farthest)(const rf_system *s, const double *x);
  // Largest Green strain at x of a few points of a cubature, of others at each call.  Nullable.
  double (*strain)(rf_system *s, const double *x);
  // out = K x, and the size of the rounding error of R at x: eps sum |K_ij| |x_j|.
  rf_status (*multiply)(rf_system *s, const double *x, double *out);
  double (*rounding)(const rf_system *s, const double *x);
  rf_system_dense (*dense)(const rf_system *s);  // nullable: sparse
  const rf_system_blocks *blocks;                // nullable: dense
  // Ratio of K to the mass.
  double (*stiffness_per_mass)(const rf_system *s);
} rf_system_operations;

// Operations that real-time code never calls.
typedef struct rf_system_life {
  void (*release)(rf_system *s);
  // RF_ERR_ARG, naming the first value of a state vector that the system cannot have.  Nullable.
  rf_status (*check)(const rf_system *s, const double *x, const char *name, rf_error *err);
  // RF_ERR_ARG, naming `subject` (that moves it to x), unless R is defined at x.  Nullable: it is.
  rf_status (*require_defined)(rf_system *s, const double *x, const char *subject, rf_error *err);
  // Explains that K at rest has no factor; returns RF_ERR_SINGULAR.  Nullable.
  rf_status (*explain_singular)(const rf_system *s, rf_error *err);
  // Another system of the same model.  Nullable: not for sessions.
  rf_status (*copy)(const rf_system *s, rf_system **out, rf_error *err);
} rf_system_life;

// First member of each kind.
struct rf_system {
  const rf_system_operations *operations;
  const rf_system_life *life;
  const void *model;     // borrowed: must outlive this; systems of one model share states
  int32_t n;             // values of a vector
  int64_t ld;            // values with padding
  const int32_t *fixed;  // nodes of three values each that stay zero, borrowed  (n_fixed)
  int32_t n_fixed;
  const rf_constraints *constraints;  // nodes that follow others, borrowed; NULL: none
  double step_numbers;   // numbers that an evaluation reads, of a real-time system; else 0
  double damping_mass;   // alpha, 1/s
  double damping_stiff;  // beta, s
  double length_m;       // diagonal of the body's box; INFINITY: not known
  bool explicit_steps;   // mass_solve is there
  bool cubic_force;      // R is cubic along every line
  bool no_energy;        // W is not known; along lines it follows from R
  bool own_damping;      // there is D besides Rayleigh's damping
  bool inside;           // `damp` and `damped_solve` have all damping; the three above are zero
  bool factor_is_dear;   // factors cost far more than evaluations and solves
  rf_simd simd;
  int64_t iterations;  // of conjugate gradients since the last reset of a motion
  // of the call under way, set by the caller of systems that are not real-time
  const rf_run *run;
  rf_error *err;
};

typedef struct rf_system_damping {
  double mass;                    // Rayleigh's alpha, 1/s, >= 0
  double stiffness;               // and beta, s, >= 0
  const rf_damping *strain_rate;  // of a reduced model, borrowed; NULL: none
  const double *viscosity;        // phi and psi of each material, Pa s, copied; NULL: none
  double inside_s;  // length of most steps, s, where explicit steps take the damping inside; else 0
} rf_system_damping;

// RF_ERR_ARG unless alpha and beta are finite and not negative.
RF_MUST_CHECK rf_status rf_system_damping_check(const rf_system_damping *damping, rf_error *err);

// The registry: one row per kind, which rf_system_NAME makes of the model of that name.
// Its stable step is rf_stable_step_NAME.
#define RF_SYSTEMS(ROW)                                                        \
  ROW(reduced)   /* rf_reduced: dense, real-time */                            \
  ROW(projected) /* rf_projected: the same equations, evaluated on the mesh */ \
  ROW(solid)     /* rf_solid: sparse, three unknowns a free node */            \
  ROW(matrices)  /* rf_matrices: sparse; R = K x, or a law of the caller's */

// model: of the type in the row, borrowed.  Steps that are not implicit need mass_solve, which only
// then takes a `run`; else it may be NULL.
typedef rf_status rf_system_create(const void *model, const rf_run *run,
                                   const rf_system_damping *damping, rf_system_steps steps,
                                   rf_system **out, rf_error *err);
// Largest stable step of central differences at x (NULL: rest), s; see spectrum.h.
typedef rf_status rf_system_stable_step(const void *model, const rf_run *run, const double *x,
                                        const rf_system_damping *damping, double *step,
                                        rf_error *err);
#define RF_SYSTEM_DECLARE(name)                    \
  rf_system_create rf_system_##name RF_MUST_CHECK; \
  rf_system_stable_step rf_stable_step_##name RF_MUST_CHECK;
RF_SYSTEMS(RF_SYSTEM_DECLARE)
#undef RF_SYSTEM_DECLARE

// A force C(x) that the caller computes, C(0) = 0, each function on one thread at a time.
typedef struct rf_force_law {
  rf_status (*force)(void *self, const double *x, double *force, rf_error *err);
  // dC/dx, symmetric, on the pattern of the stiffness.  Nullable: not for implicit steps.
  rf_status (*tangent)(void *self, const double *x, double *values, rf_error *err);
  rf_status (*energy)(void *self, const double *x, double *energy, rf_error *err);  // nullable
} rf_force_law;

// Lower triangles of one size.
typedef struct rf_matrices {
  rf_csc mass, stiffness, damping;  // damping without columns: none
  const rf_force_law *law;          // borrowed, and the first argument of its functions; NULL:
  void *law_self;                   // linear
} rf_matrices;

void rf_system_free(rf_system *s);  // NULL is fine

static inline rf_status rf_system_require_defined(rf_system *s, const double *x,
                                                  const char *subject, rf_error *err) {
  return s->life->require_defined ? s->life->require_defined(s, x, subject, err) : RF_OK;
}

// Returns the number of unknowns: without fixed and constrained nodes.
static inline int64_t rf_system_unknowns(const rf_system *s) {
  const int32_t others = s->n_fixed + (s->constraints ? s->constraints->n : 0);
  return s->n - 3 * (int64_t)others;
}

// False if all nodes are fixed.
static inline bool rf_system_moves(const rf_system *s) {
  return s->n_fixed == 0 || rf_system_unknowns(s) > 0;
}

// Sets the motion of fixed nodes to zero.
static inline void rf_system_clear_fixed_rt(const rf_system *s, double *x) {
  for (int32_t i = 0; i < s->n_fixed; ++i)
    for (int64_t c = 0; c < 3; ++c) x[3 * (int64_t)s->fixed[i] + c] = 0.0;
}

// Moves forces on constrained nodes to their masters, and sets those on fixed nodes to zero.
static inline void rf_system_keep_free_rt(const rf_system *s, double *force) {
  rf_constraints_fold_rt(s->constraints, force);
  rf_system_clear_fixed_rt(s, force);
}

// Returns the largest difference of two displacements (n_nodes, 3) within an element, m.  Bodies
// and loose parts may translate by any distance.
double rf_system_largest_stretch(const rf_mesh *mesh, const double *displacement);

// RF_ERR_ARG unless the damping (nullable) has as many coordinates as the model.
RF_MUST_CHECK rf_status rf_system_damping_fits(const rf_damping *damping, const rf_reduced *model,
                                               rf_error *err);

#endif
