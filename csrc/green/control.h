// Control elements: a solid whose handles (sets of nodes) are moved by affine maps, solved in
// advance (Nikitin et al., Real-time simulation of elastic objects in Virtual Environments, 2002),
// with K = [A B; B^T C].
//
//   b = T + M (X - mean X) on a handle, 12 parameters (T, M row by row)
//   u_k = -A^-1 B b_k for each parameter, u = sum c_k u_k
//   forces on the parameters P^T D P c, D = C - B^T A^-1 B
//
// Groups are the handles, and behind them, if the solid has any, the fixed nodes: these stay where
// they are, but move in a frame that turns.
//
// Frames.  Linear solutions are not invariant under rotations.  In the frame (R, x_c) of the best
// rigid fit of all control nodes, b' = R^T (x - x_c) - (X - c) is affine on each group, and
// u = R (X + u' - c) + x_c - X.  Forces R f' leave the derivative of R out; the consistent ones
// are the gradient of the energy d^T D d / 2, with d the parameters of b':
//
//   dE = sum h . (R^T dx) - w . m,  m the moment of h about the deformed groups,
//   (tr(S) 1 - S) w = sum (X - c) x R^T dx,  S = R^T sum (x - x_c)(X - c)^T
//
// Series.  For laws quadratic in Green's strain R(u) is a cubic polynomial.  Handles move rigidly;
// their poses in a frame are (T_g, theta_g), where the frame is the one with
//
//   sum n_g T_g = 0,  sum n_g (X_g - c) x T_g + (tr(J_g) 1 - J_g) theta_g = 0
//
// (that of the best fit up to first order), so that 6 (groups - 1) relative coordinates s remain.
// Along s the group moves by (e T_g, exp(e theta_g)), and with u = sum e^n u_n the terms follow
// from A u_n = -B b_n - f_n, f_n of the terms before.  u_n - (linear solution of b_n) is a form of
// degree n in s: fields of all products, so that handles are met exactly.  Forces are the sum of
// terms up to the order alone.
#ifndef RF_GREEN_CONTROL_H
#define RF_GREEN_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "linalg/simd.h"

struct rf_solid;  // fem/fem.h, which real-time code must not include

enum {
  RF_CONTROL_PARAMETERS = 12,  // of a handle
  RF_CONTROL_MOST_FIELDS = 512,
  RF_CONTROL_MOST_GROUPS = RF_CONTROL_MOST_FIELDS / RF_CONTROL_PARAMETERS,
  RF_CONTROL_MOST_TERMS = 16,
  RF_CONTROL_TILE_BYTES = 128  // of one component of the nodes in a tile
};

typedef struct rf_control_settings {
  int32_t n_handles;
  const int32_t *ptr;      // range of a handle in `nodes`          (n_handles + 1)
  const int32_t *nodes;    // node indices                          (ptr[n_handles])
  int32_t n_surface;       // nodes at which displacements are wanted
  const int32_t *surface;  // their indices                         (n_surface)
  int order;               // 1: linear; 2, 3: of the series
  bool single;             // fields in float
  rf_simd simd;
} rf_control_settings;

typedef struct rf_control_group {
  int32_t count;     // nodes
  double mean[3];    // of their rest places, m
  double moment[9];  // J = sum b0 b0^T, b0 = X - mean, m^2
} rf_control_group;

typedef struct rf_control {
  int32_t n_handles, n_groups, n_parameters;  // 12 n_groups
  int order;
  rf_simd simd;             // resolved
  rf_control_group *group;  // (n_groups)
  int32_t count;            // all control nodes
  double centre[3];         // mean of their rest places, m
  int32_t ld;               // of `matrix`
  double *matrix;           // P^T D P of all groups          (n_parameters, ld)
  int32_t rank;             // of the part of the handles
  // Fields at the surface, in tiles of nodes: (tiles, n_fields, 3, nodes of a tile).
  int32_t n_surface, n_fields;
  bool single;
  void *fields;  // float or double
  double *arm;   // rest places less centre, m  (tiles, 3, nodes of a tile)
  // Series, for order > 1.
  int32_t n_relative;      // p = 6 (n_groups - 1)
  double inverse[9];       // of sum n_g (|X_g-c|^2 1 - (X_g-c)(X_g-c)^T) + tr(J_g) 1 - J_g
  double *to_relative;     // s = this times the poses relative to the first group  (p, p)
  double *product_forces;  // on the parameters, of each product (n_fields - n_parameters, ld)
  double *gauge;           // 1 / radius^2 of s: sum gauge_ij |s_i s_j|  (p, p)
} rf_control;

RF_MUST_CHECK rf_status rf_control_create(const struct rf_solid *solid,
                                          const rf_control_settings *set, const rf_run *run,
                                          rf_control **out, rf_error *err);
void rf_control_free(rf_control *c);  // NULL is allowed
int64_t rf_control_bytes(const rf_control *c);

// Parts of control elements, as kept in files; those of the series are NULL in order 1.
typedef struct rf_control_parts {
  int32_t n_handles, n_groups, order, rank, n_surface;
  bool single;
  const int32_t *count;               // of groups                          (n_groups)
  const double *mean, *moment;        // (n_groups, 3), (n_groups, 9)
  const double *matrix;               // (n_parameters, n_parameters)
  const void *fields;                 // as of rf_control
  const double *arm;                  // as of rf_control
  const double *to_relative, *gauge;  // (p, p)
  const double *product_forces;       // (products, n_parameters)
} rf_control_parts;
// RF_ERR_ARG where they do not belong together.
RF_MUST_CHECK rf_status rf_control_of_parts(const rf_control_parts *parts, rf_control **out,
                                            rf_error *err);

// Computes the first `terms` fields u_n (terms, n_nodes, 3) of the motion e b, b by c
// (12 n_handles).  Ignores surface and order of `set`.
RF_MUST_CHECK rf_status rf_control_terms(const struct rf_solid *solid,
                                         const rf_control_settings *set, const rf_run *run,
                                         const double *c, int32_t terms, double *u, rf_error *err);

typedef enum rf_control_frame_kind {
  RF_CONTROL_REST,  // no frame: the linear solution
  RF_CONTROL_FIT    // of the best fit, and of order > 1 the mean frame of the series
} rf_control_frame_kind;

typedef enum rf_control_end {
  RF_CONTROL_DONE,
  RF_CONTROL_NO_FIT,     // the best rotation is not unique
  RF_CONTROL_NOT_RIGID,  // of order > 1: a handle is not turned, but deformed
  RF_CONTROL_FAR,        // of order > 1: poses differ so much that they have no mean
  RF_CONTROL_BEYOND      // of order > 1: the series need not converge
} rf_control_end;

typedef struct rf_control_state {
  double turn[9];     // R
  double place[3];    // x_c, m
  double stretch[9];  // S
  double radius;      // multiple of s up to which the series converges; infinite of order 1
  int32_t handle;     // first handle that is not rigid
  // Parameters of the forces in the frame: of order > 1 those of b_1 + ... + b_order, because the
  // forces of later ones would not be balanced by those of products.
  double acting[RF_CONTROL_MOST_FIELDS];
  // parameters in the frame, then products of s
  double coefficient[RF_CONTROL_MOST_FIELDS];
} rf_control_state;

// Computes the state of c (12 n_handles): everything but the sum over the fields.
rf_control_end rf_control_state_rt(const rf_control *control, rf_control_frame_kind kind,
                                   const double *c, rf_control_state *state);

// Rotations of groups, rad; zero if all are small.
typedef struct rf_control_turns {
  double most;      // in the frame
  double apart;     // of two groups relative to each other
  int32_t pair[2];  // these, ascending; the fixed nodes are the group behind the handles
} rf_control_turns;

rf_control_turns rf_control_turns_rt(const rf_control *control, const rf_control_state *state);
// Computes theta~^n / n!, the term of a rotation by the vector theta (3, 3).
void rf_control_turn_term_rt(int n, const double theta[3], double term[9]);
// Computes the displacements of the surface (n_surface, 3), m.
void rf_control_displacement_rt(const rf_control *control, const rf_control_state *state,
                                double *u);
// Computes the forces on the parameters (12 n_handles); with `consistent`, which is for order 1,
// they include the derivative of R.
void rf_control_forces_rt(const rf_control *control, const rf_control_state *state, bool consistent,
                          double *forces);
// Computes the linear energy in the frame, J; of order 1.
double rf_control_energy_rt(const rf_control *control, const rf_control_state *state);
// Computes force and torque about the moved mean of each handle (n_handles, 6).
void rf_control_wrench_rt(const rf_control *control, const double *c, const double *forces,
                          double *wrench);

// Returns the number of products of 2, and with order 3 also of 3, of p coordinates.
static inline int32_t rf_control_products(int order, int32_t p) {
  const int32_t pairs = p * (p + 1) / 2;
  return order < 2 ? 0 : order < 3 ? pairs : pairs + pairs * (p + 2) / 3;
}

// Nodes in a tile.
static inline int32_t rf_control_tile(bool single) {
  return RF_CONTROL_TILE_BYTES / (int32_t)(single ? sizeof(float) : sizeof(double));
}
static inline int32_t rf_control_tiles(const rf_control *c) {
  const int32_t tile = rf_control_tile(c->single);
  return (c->n_surface + tile - 1) / tile;
}

typedef void rf_control_combine_fn(const rf_control *control, const rf_control_state *state,
                                   double *u);
RF_SIMD_DECLARE(rf_control_combine_fn, rf_control_combine_single);
RF_SIMD_DECLARE(rf_control_combine_fn, rf_control_combine_double);

#endif
